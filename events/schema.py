"""The JSON Schemas of the payloads: `python -m ctxsync.events.schema` writes `schemas/events/`; knows no log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from pydantic.json_schema import GenerateJsonSchema

from ctxsync.events.model import PAYLOADS

if TYPE_CHECKING:
    from ctxsync.events.model import Payload

FOLDER = Path(__file__).parent.parent / "schemas" / "events"


def file_name(model: type[Payload]) -> str:
    """Return the file of a type's version."""
    return f"{model.type}.v{model.version}.json"


def schema_text(model: type[Payload]) -> bytes:
    """Return the JSON Schema (2020-12) of a payload as stored, keys sorted, indented by two."""
    schema = model.model_json_schema(mode="serialization")
    schema |= {"$schema": GenerateJsonSchema.schema_dialect, "title": f"{model.type} version {model.version}"}
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def write_schemas(folder: Path = FOLDER) -> list[Path]:
    """Write the newest version of every type; files of older versions stay. Return what changed."""
    folder.mkdir(parents=True, exist_ok=True)
    changed: list[Path] = []
    for model in PAYLOADS.values():
        path, text = folder / file_name(model), schema_text(model)
        if not path.exists() or path.read_bytes() != text:
            path.write_bytes(text)
            changed.append(path)
    return changed


if __name__ == "__main__":
    for written in write_schemas():
        sys.stdout.write(f"{written}\n")
