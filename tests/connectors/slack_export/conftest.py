"""Exports written on this disk as Slack and slackdump write them, and a reader that keeps cursors as the runner does."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Observed, Options, Quarantined, Sighted, Unsighted
from ctxsync.connectors.slack_export import SlackExportConnector

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Change, Item, Json

NOW = 1_750_000_000_000
USERS: list[dict[str, Any]] = [
    {
        "id": "U1ROBIN",
        "team_id": "T1",
        "name": "robin",
        "profile": {"real_name": "Robin Vale", "email": "robin@example.com"},
    },
    {"id": "U2ROSA", "team_id": "T1", "name": "rosa", "profile": {"real_name": "Rosa Quint"}},
    {"id": "U3OTHER", "team_id": "T2", "name": "guest", "is_stranger": True, "real_name": "Guest Example"},
]
CHANNELS: list[dict[str, Any]] = [
    {"id": "C1GARDEN", "name": "garden", "topic": {"value": "Beds"}},
    {"id": "C2SHED", "name": "shed"},
]
DAYS = {"2023-11-15": 1_700_006_400, "2023-11-16": 1_700_092_800, "2023-11-17": 1_700_179_200}


def message(day: str, number: int, **more: Any) -> dict[str, Any]:
    """Return a message of a day; the number is its second."""
    said = {"type": "message", "user": "U1ROBIN", "team": "T1", "text": f"Message {number} of {day}"}
    return {**said, "ts": f"{DAYS[day] + number}.000{number:03}", **more}


def official(**channels: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the files of an export by path: days of messages by channel folder."""
    files: dict[str, Any] = {
        "channels.json": CHANNELS,
        "users.json": USERS,
        "groups.json": [],
        "dms.json": [],
        "mpims.json": [],
    }
    for folder, days in channels.items():
        files |= {f"{folder}/{day}.json": messages for day, messages in days.items()}
    return files


def as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@dataclass
class Source:
    """A path that is read again and again. `cursors` is what the runner keeps."""

    path: Path
    settings: dict[str, Any] = field(default_factory=dict)
    cursors: dict[str, dict[str, Json]] = field(default_factory=dict)
    clock: int = 1_700_500_000

    def folder(self, files: dict[str, Any], under: str = "") -> None:
        """Write an export as a folder; what was there before goes."""
        for old in sorted(self.path.rglob("*"), reverse=True) if self.path.is_dir() else ():
            old.rmdir() if old.is_dir() else old.unlink()
        for name, value in files.items():
            self.put(f"{under}{name}", value)

    def put(self, name: str, value: Any) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(value))
        self.clock += 1
        os.utime(path, (self.clock, self.clock))

    def zip(self, files: dict[str, Any], under: str = "") -> None:
        """Write an export as a zip."""
        with zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, value in files.items():
                archive.writestr(f"{under}{name}", as_bytes(value))

    def read(self, **options: Any) -> list[Change]:
        """Read every stream once; return all changes."""
        connector = SlackExportConnector(
            "work", {"path": str(self.path), **self.settings}, Options(**{"now": NOW, **options})
        )
        changes: list[Change] = []
        for stream in connector.discover():
            cursor = self.cursors.setdefault(stream.name, {})
            for batch in connector.read(stream, dict(cursor) or None):
                changes += batch.changes
                cursor.update(batch.cursor)
                for key in [key for key, value in batch.cursor.items() if value is None]:
                    del cursor[key]
        return changes

    def items(self, **options: Any) -> list[Item]:
        """Read once; return the messages that are observed."""
        found = [change.item for change in self.read(**options) if isinstance(change, Observed)]
        return [item for item in found if item.kind == "slack"]

    def says(self, **options: Any) -> list[str]:
        """Read once; return the changes, each as a kind and the end of an id, or a place."""
        return [told(change) for change in self.read(**options) if getattr(change, "place", "") != ".directory"]


def told(change: Change) -> str:
    if isinstance(change, Observed):
        return f"observed {change.item.title}"
    if isinstance(change, Quarantined):
        return f"quarantined {change.place}"
    if isinstance(change, Unsighted):
        return f"unsighted {change.item.rpartition('/')[2]} {change.reason}"
    if isinstance(change, Sighted):
        return f"sighted {change.item.rpartition('/')[2]}"
    return f"{type(change).__name__.lower()} {getattr(change, 'place', '')}"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path / "export")
