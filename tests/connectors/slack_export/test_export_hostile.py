"""Exports made to hang a pass or to break it: each is refused or quarantined, with a message."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from ctxsync.connectors.base import Observed, Options, Quarantined
from ctxsync.connectors.slack_export import SlackExportConnector
from ctxsync.errors import Unavailable

if TYPE_CHECKING:
    from pathlib import Path

MESSAGE = {"type": "message", "user": "U1", "text": "hi", "ts": "1700000000.000100"}
TABLES = {
    "S_USER": "CREATE TABLE S_USER (DATA, CHUNK_ID, IDX)",
    "CHANNEL": "CREATE TABLE CHANNEL (DATA, CHUNK_ID, IDX)",
    "WORKSPACE": "CREATE TABLE WORKSPACE (ID, TEAM_ID)",
    "MESSAGE": "CREATE TABLE MESSAGE (ID, CHUNK_ID, CHANNEL_ID, DATA)",
}


def archive(folder: Path, *statements: str, **tables: str) -> Path:
    path = folder / "slackdump.sqlite"
    with closing(sqlite3.connect(path)) as db:
        for statement in (*(TABLES | tables).values(), *statements):
            db.execute(statement)
        db.commit()
    return path


def changes(path: Path) -> list[Any]:
    connector = SlackExportConnector("team", {"path": str(path)}, Options(now=1_800_000_000_000))
    return [
        change for stream in connector.discover() for batch in connector.read(stream, None) for change in batch.changes
    ]


ENDLESS = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


@pytest.mark.parametrize(
    "tables",
    [
        {"S_USER": f"CREATE VIEW S_USER AS {ENDLESS} SELECT '{{}}' AS DATA, 1 AS CHUNK_ID, x AS IDX FROM c"},
        {"MESSAGE": "CREATE TABLE MESSAGE (ID, CHUNK_ID, CHANNEL_ID, DATA AS (zeroblob(900000000)))"},
        {"WORKSPACE": "CREATE VIRTUAL TABLE WORKSPACE USING fts5(ID, TEAM_ID)"},
    ],
    ids=["a view without end", "a column of a gigabyte", "a table of a module"],
)
def test_a_database_that_holds_programs_is_not_run(tmp_path: Path, tables: dict[str, str]) -> None:
    path = archive(tmp_path, **tables)
    with pytest.raises(Unavailable, match="is no plain table"):
        changes(path)


@pytest.mark.parametrize("value", ["5", "NULL", "1.5"])
def test_a_message_of_a_database_that_is_no_text_is_quarantined(tmp_path: Path, value: str) -> None:
    path = archive(tmp_path, f"INSERT INTO MESSAGE VALUES (1, 1, 'C01', {value})")
    (bad,) = [change for change in changes(path) if isinstance(change, Quarantined)]
    assert "is no JSON" in bad.error


@pytest.mark.parametrize("count", [10**30, -(10**30), -1])
def test_a_count_that_no_event_can_hold_counts_nothing(tmp_path: Path, count: int) -> None:
    (tmp_path / "general").mkdir()
    (tmp_path / "channels.json").write_text('[{"id": "C01", "name": "general"}]')
    message = json.dumps({**MESSAGE, "reactions": [{"name": "tada", "count": count}]})
    # What is no strict JSON is read tolerantly, and integers have any length there.
    (tmp_path / "general" / "2024-01-01.json").write_text(f"[NaN, {message}]")
    (item,) = [each.item for each in changes(tmp_path) if isinstance(each, Observed) and each.item.kind == "slack"]
    assert item.sections[0].attributes["reactions"] == {"tada": 0}
    orjson.dumps(dict(item.sections[0].attributes))
