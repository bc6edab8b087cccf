"""Going back to an earlier end of the log: a copy up to a position. The log itself is never cut; knows no backups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.errors import StoreError
from ctxsync.events import cursors
from ctxsync.events.database import connect, transaction, translated
from ctxsync.events.envelope import NewEvent
from ctxsync.events.model import ErasureRequested, SubjectErased
from ctxsync.events.replay import records, replay
from ctxsync.events.writing import append_events, set_log_id

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.events.store import EventStore


def cut(store: EventStore, position: int, path: Path) -> None:
    """Write a new log of the same id that ends at `position`, its cursors as they stood there.

    What was erased stays erased: when the request lies behind the cut, a new request and receipt stand at the end.
    Damage behind the position does not matter, damage before it is found.

    Args:
        store: The log; not changed.
        position: The last position to keep; `verify().position` is the last sound one.
        path: Where the new log goes; must not exist.

    Raises:
        StoreError: Something exists at `path`.
        StoreCorrupt: The log is damaged before the position.
    """
    if path.exists():
        raise StoreError(f"{path} exists already.", remedy="Name a file that does not exist.")
    db = connect(path, write=True)
    try:
        with translated(path), transaction(db):
            set_log_id(db, store.log_id)
            _, unnamed = replay(
                db, ((f"position {row.position}", row) for row in records(store.db, position)), store.versions
            )
            for source, stream, key, value, at in cursors.at(store.db, position):
                db.execute(cursors.SET_KEY, (source, stream, key, value, at))
            if unnamed:
                request = ErasureRequested(positions=tuple(unnamed), reason="kept from an erasure behind the cut")
                for payload in (request, SubjectErased(count=len(unnamed))):
                    new = NewEvent("ctxsync", "job:forget", payload, store.clock())
                    append_events(db, [new], clock=store.clock, expected=None)
    except BaseException:
        db.close()
        path.unlink()
        raise
    db.close()
