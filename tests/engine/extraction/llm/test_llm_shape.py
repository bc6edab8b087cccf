from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from ctxsync.engine.extraction.llm.prompt import prefix
from ctxsync.engine.extraction.llm.shape import Limits, shape
from ctxsync.engine.schema import universal

BOUNDED, PORTABLE = shape(universal(), Limits.of(384)), shape(universal())


def examples() -> list[Any]:
    return [json.loads(line) for line in prefix(universal()).splitlines() if line.startswith("{")]


def keywords(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(keywords, value))
    if not isinstance(value, dict):
        return set()
    inner = [*value.get("properties", {}).values(), *(item for key, item in value.items() if key != "properties")]
    return set(value) | set().union(*map(keywords, inner))


def test_the_examples_of_the_prompt_have_the_shape_that_is_asked_for() -> None:
    assert len(examples()) == 2
    for example in examples():
        jsonschema.validate(example, BOUNDED)
        jsonschema.validate(example, PORTABLE)


def test_a_type_a_relation_or_an_id_that_is_none_does_not_fit() -> None:
    text = json.dumps(examples()[0])
    for wrong in (
        text.replace("Person", "Human"),
        text.replace("part_of", "works_at"),
        text.replace('"e1"', '"x1"', 1),
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(json.loads(wrong), BOUNDED)


def test_the_portable_form_has_only_what_every_cloud_server_takes() -> None:
    assert keywords(PORTABLE) == {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"}
    assert "pattern" not in keywords(BOUNDED)


def test_longer_answers_may_hold_more() -> None:
    small, large = Limits.of(384), Limits.of(1536)
    assert (small.entities, small.relations) == (3, 2)
    assert (large.entities, large.relations) == (15, 9)
