"""The files that hold messages, each as the messages in it; knows the formats, and nothing of what a message says.

A day of an export and a dump are JSON that is parsed as a whole; slackdump's chunks are JSON a line, gzipped, and its
database has a row a message: those stream.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

import orjson

from ctxsync.connectors.slack_export.files import MAX_BYTES, MAX_RATIO, UNREADABLE
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ctxsync.connectors.slack_export.files import File

THREAD_REPLIES: Final = "slackdump_thread_replies"
_MAX_LINE: Final = 64_000_000  # bytes: a chunk is one answer of the API, of 1,000 messages at most
_HEAD: Final = 4096
_CHANNEL_ID: Final = re.compile(rb'\s*\{\s*"channel_id"\s*:\s*"([A-Z0-9]{2,40})"')
_NAME: Final = re.compile(rb'"name"\s*:\s*("(?:[^"\\]|\\.){0,200}")')
_TABLES: Final = ("S_USER", "CHANNEL", "WORKSPACE", "MESSAGE")
_KIND: Final = (
    "SELECT CASE WHEN sql LIKE 'CREATE VIRTUAL%' THEN 'virtual' ELSE type END FROM sqlite_master "
    "WHERE name = ? COLLATE NOCASE"
)
_COPY: Final = "Copy the export again: it may be incomplete."


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or a part of one, that holds messages of one channel.

    Args:
        name: What the cursor calls it, the same in a newer export: `2024-02-29`, a file's name.
        kind: `day`, `dump`, `chunks` or `rows`.
        file: The file.
        channel: The channel's id.
        stamp: Changes when what it holds does.
    """

    name: str
    kind: Literal["day", "dump", "chunks", "rows"]
    file: File
    channel: str
    stamp: str

    def messages(self) -> Iterator[object]:
        """Yield what it holds as messages; raises `BadItem` where it is broken."""
        if self.kind == "rows":
            if self.file.disk is not None:
                yield from _rows(self.file.disk, self.channel)
        elif self.kind == "chunks":
            for chunk in chunks(self.file):
                if chunk.get("t") in (0, 1) and chunk.get("id", self.channel) == self.channel:
                    yield from (message for message in (chunk.get("p"), *_list(chunk.get("m"))) if message)
        elif self.kind == "day":
            yield from _whole(self.file)
        else:
            for message in _whole(self.file):
                yield message
                if isinstance(message, dict) and message.get(THREAD_REPLIES):
                    yield from _list(message[THREAD_REPLIES])


def parse(file: File) -> Any:
    """Return a file's JSON; raises `BadItem` when it is none."""
    return _loads(file.read(), file.path)


def chunks(file: File, most: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of a chunk file, the first so many where `most` is given; raises `BadItem` where one is broken."""
    try:
        with file.opener() as packed, gzip.open(packed) as opened:
            limit = max(MAX_BYTES, MAX_RATIO * file.size)
            read = 0
            number = 0
            while line := opened.readline(_MAX_LINE + 1):
                number += 1
                read += len(line)
                if len(line) > _MAX_LINE or read > limit:
                    raise BadItem(f"{file.path} unpacks to more than any archive does (line {number}).", remedy=_COPY)
                value = _loads(line, f"{file.path}, line {number}")
                if isinstance(value, Mapping):
                    yield value
                if number == most:
                    return
    except UNREADABLE as error:
        raise BadItem(f"{file.path} cannot be read: {error}.", remedy=_COPY) from error


def database(path: Path) -> closing[sqlite3.Connection]:
    """Open slackdump's database without a trace beside it; raises `sqlite3.Error` when it is none.

    A database can hold programs: a view that never ends, a column that is a gigabyte whenever it is looked at. What is read
    of it are tables of plain columns, and no value is longer than an answer of Slack's.
    """
    db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)
    try:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_LINE)
        for table in _TABLES:
            kinds = [kind for (kind,) in db.execute(_KIND, (table,))]
            hidden = [column for column in db.execute(f"PRAGMA table_xinfo({table})") if column[6]]
            if kinds != ["table"] or hidden:
                raise sqlite3.DatabaseError(f"{table} is no plain table")
    except sqlite3.Error:
        db.close()
        raise
    return closing(db)


def head(file: File) -> tuple[str, str]:
    """Return the channel's id and name from the beginning of a dump; empty where it does not say."""
    try:
        with file.opener() as opened:
            begins = opened.read(_HEAD)
    except UNREADABLE:
        return "", ""
    begins = begins.partition(b'"messages"')[0]
    found, named = _CHANNEL_ID.match(begins), _NAME.search(begins)
    try:
        name = str(json.loads(named[1])) if named else ""
    except ValueError:
        name = ""
    return found[1].decode() if found else "", name


def _whole(file: File) -> list[object]:
    """Return the messages of a day, of a dump, or of a list of messages."""
    value = parse(file)
    if isinstance(value, Mapping):
        value = value.get("messages", "")
    if value is None:  # how an empty list is written in Go
        return []
    if not isinstance(value, list):
        raise BadItem(f"{file.path} holds no list of messages.", remedy=_COPY)
    return value


def _rows(path: Path, channel: str) -> Iterator[object]:
    """Yield a channel's messages of the database, each as it was last archived."""
    query = "SELECT ID, DATA FROM MESSAGE WHERE CHANNEL_ID = ? ORDER BY ID, CHUNK_ID"
    try:
        with database(path) as db:
            last: tuple[object, bytes] | None = None
            for row in db.execute(query, (channel,)):
                if last is not None and last[0] != row[0]:
                    yield _loads(last[1], path.name)
                last = row
            if last is not None:
                yield _loads(last[1], path.name)
    except sqlite3.Error as error:
        raise BadItem(f"{path.name} cannot be read: {error}.", remedy=_COPY) from error


def _loads(data: bytes | str, name: str) -> Any:
    """Return the JSON of some bytes: strictly and fast where that works, else tolerantly."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if not isinstance(data, bytes | str):
            raise BadItem(f"{name} is no JSON.", remedy=_COPY) from None
    try:
        text = data.decode("utf-8-sig", "replace") if isinstance(data, bytes) else data
        return json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadItem(f"{name} is no JSON: {why}.", remedy=_COPY) from error


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
