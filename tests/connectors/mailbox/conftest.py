"""A mailbox on disk and what reading it says, pass after pass."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Batch, Moved, Observed, Options, Quarantined, Released, Sighted, Stream, Unsighted
from ctxsync.connectors.mailbox import MailboxConnector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxsync.connectors.base import Json

NOW = 1_790_000_000_000


class Desk:
    """A source in a folder, with its cursor as the runner would keep it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "mail"
        self.root.mkdir()
        self.cursor: dict[str, Json] = {}
        self.settings: dict[str, Json] = {}
        self.clock = 1_700_000_000
        self.skipped: dict[str, int] = {}

    def put(self, path: str, data: bytes) -> Path:
        """Write a file, with an mtime of its own."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        self.clock += 10
        os.utime(file, (self.clock, self.clock))
        return file

    def read(
        self, *, path: Path | None = None, batch: int = 3, most: int | None = None, **options: Any
    ) -> list[tuple[str, ...]]:
        """Read once, or `most` batches of it; return each change as its name and what it is of, items by titles."""
        return list(map(self.told, self.changes(path=path, batch=batch, most=most, **options)))

    def changes(
        self, *, path: Path | None = None, batch: int = 3, most: int | None = None, **options: Any
    ) -> list[Any]:
        settings = {"path": str(path or self.root), **self.settings}
        connector = MailboxConnector("mine", settings, Options(**{"now": NOW, **options}), batch=batch)
        (stream,) = connector.discover()
        assert stream == Stream("mine")
        found: list[Any] = []
        for each in islice(connector.read(stream, dict(self.cursor) or None), most):
            self.keep(each)
            found += each.changes
        return found

    def keep(self, batch: Batch) -> None:
        self.skipped = dict(batch.skipped) or self.skipped
        for key, value in batch.cursor.items():
            if value is None:
                self.cursor.pop(key, None)
            else:
                self.cursor[key] = value

    titles: dict[str, str] = {}  # noqa: RUF012 (ids are the same in every test)

    def told(self, change: Any) -> tuple[str, ...]:
        match change:
            case Observed(item, place):
                self.titles[item.id] = item.title
                return ("observed", item.title, place)
            case Sighted(item, place, role):
                return ("sighted", self.titles[item], place, *([role] if role else []))
            case Unsighted(item, place, reason):
                return ("unsighted", self.titles[item], place, reason)
            case Moved(item, place, to):
                return ("moved", self.titles[item], place, to)
            case Quarantined(place):
                return ("quarantined", place)
            case Released(place):
                return ("released", place)
        raise AssertionError(change)


def mbox(messages: Sequence[bytes]) -> bytes:
    """Return messages as an mbox without any munging: give it none with lines `From `."""
    return b"".join(b"From rosa@example.com Mon Mar  3 10:00:00 2025\n" + data + b"\n" for data in messages)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
