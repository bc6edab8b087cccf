"""The committed JSON Schemas, the models and the examples agree."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from ctxsync.events.model import PAYLOADS
from ctxsync.events.schema import file_name, schema_text, write_schemas
from ctxsync.events.writing import payload_json

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.events.model import Payload

COMMITTED = resources.files("ctxsync.schemas") / "events"


def committed(model: type[Payload]) -> Any:
    return (COMMITTED / file_name(model)).read_bytes()


@pytest.mark.parametrize("model", PAYLOADS.values(), ids=PAYLOADS)
def test_the_committed_schema_is_that_of_the_model(model: type[Payload]) -> None:
    assert committed(model) == schema_text(model), "run: python -m ctxsync.events.schema"


def test_every_committed_schema_is_of_a_known_type_and_version() -> None:
    for file in COMMITTED.iterdir():
        name, _, version = file.name.removesuffix(".json").rpartition(".v")
        assert 1 <= int(version) <= PAYLOADS[name].version


def test_every_type_has_an_example(examples: list[Payload]) -> None:
    assert [type(payload) for payload in examples] == list(PAYLOADS.values())


def test_every_example_validates_against_schema_and_model_as_it_is_stored(examples: list[Payload]) -> None:
    for payload in examples:
        stored = payload_json(payload)
        Draft202012Validator(orjson.loads(committed(type(payload)))).validate(orjson.loads(stored))
        assert type(payload).model_validate_json(stored) == payload


def test_schemas_are_valid_themselves() -> None:
    for model in PAYLOADS.values():
        Draft202012Validator.check_schema(orjson.loads(committed(model)))


def test_schema_and_model_refuse_a_field_they_do_not_know(examples: list[Payload]) -> None:
    for payload in examples:
        wrong = orjson.loads(payload_json(payload)) | {"surprise": 1}
        assert not Draft202012Validator(orjson.loads(committed(type(payload)))).is_valid(wrong)
        with pytest.raises(ValidationError):
            type(payload).model_validate_json(orjson.dumps(wrong))


def test_what_is_stored_is_the_models_json_with_sorted_keys(examples: list[Payload]) -> None:
    for payload in examples:
        expected = orjson.dumps(orjson.loads(payload.model_dump_json()), option=orjson.OPT_SORT_KEYS)
        assert payload_json(payload) == expected


def test_writing_the_schemas_again_changes_nothing(tmp_path: Path) -> None:
    assert len(write_schemas(tmp_path)) == len(PAYLOADS)
    assert write_schemas(tmp_path) == []
    (tmp_path / "item.moved.v1.json").write_text("{}")
    assert [path.name for path in write_schemas(tmp_path)] == ["item.moved.v1.json"]
