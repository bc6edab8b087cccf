"""A vault on a real disk with the runner's part in small: it keeps the cursor and folds the changes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pytest

from ctxsync.connectors.base import (
    Batch,
    Change,
    Item,
    Json,
    Moved,
    Observed,
    Options,
    Quarantined,
    Released,
    Section,
    Sighted,
    Stream,
    Unsighted,
)
from ctxsync.connectors.notes import NotesConnector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ctxsync.connectors.notes.disk import Disk

Seconds: TypeAlias = "Callable[[Callable[[], object]], float]"


class Read(Protocol):
    """Write a note, pull, and return what came out."""

    def __call__(self, text: str, path: str = ..., **options: object) -> Item: ...


LONG_AGO = 1_700_000_000_000_000_000  # nanoseconds; stamps of files this old are never racy


@dataclass
class Vault:
    """`held` maps places to items as the changes so far say; `versions` maps items to their last version."""

    root: Path
    settings: dict[str, Json] = field(default_factory=dict)
    disk: Disk | None = None
    cursor: dict[str, Json] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    versions: dict[str, Item] = field(default_factory=dict)
    bad: dict[str, Quarantined] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)
    ticks: int = 0

    def write(self, path: str, text: str | bytes = "words", *, mtime: int | None = None) -> Path:
        """Write a file with an mtime (seconds) in the past, later than that of the file written before."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        self.ticks += 1
        at = LONG_AGO + self.ticks * 1_000_000_007 if mtime is None else mtime * 1_000_000_000
        os.utime(target, ns=(at, at))
        return target

    def move(self, path: str, to: str) -> None:
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).rename(self.root / to)

    def connector(self, **options: object) -> NotesConnector:
        settings: Mapping[str, Json] = {"path": str(self.root), **self.settings}
        return NotesConnector("vault", settings, Options(**options), disk=self.disk)  # type: ignore[arg-type]  # JSON or keyword values whose types the test chose

    def pull(self, **options: object) -> list[Change]:
        """Read once; what a batch brought stays when the read then raises."""
        changes: list[Change] = []
        self.batches = []
        for batch in self.connector(**options).read(Stream("vault"), dict(self.cursor)):
            self.batches.append(batch)
            self.apply(batch)
            changes += batch.changes
        return changes

    def apply(self, batch: Batch) -> None:
        for key, value in batch.cursor.items():
            if value is None:
                self.cursor.pop(key, None)
            else:
                self.cursor[key] = value
        # A batch is stored as one: a swap leaves and takes the same places.
        for change in batch.changes:
            if isinstance(change, Moved | Unsighted):
                assert self.held.pop(change.place) == change.item
        for change in batch.changes:
            match change:
                case Observed(item, _):
                    self.versions[item.id] = item
                case Sighted(item, place) | Moved(item, _, place):
                    assert place not in self.held
                    self.held[place] = item
                case Quarantined(place):
                    self.bad[place] = change
                case Released(place):
                    del self.bad[place]
                case _:
                    pass

    def note(self, path: str) -> Item:
        return self.versions[self.held[path]]

    def sections(self, path: str) -> tuple[Section, ...]:
        return self.note(path).sections

    def text(self, path: str) -> str:
        return "\n\n".join(section.text for section in self.sections(path))


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    root = tmp_path / "vault"
    root.mkdir()
    return Vault(root)


@pytest.fixture
def benchmark_seconds() -> Seconds:
    def measure(call: Callable[[], object]) -> float:
        begun = time.process_time()
        call()
        return time.process_time() - begun

    return measure
