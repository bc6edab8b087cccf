"""Erasing: content goes for good, the chain stays; knows nothing of why, nor of what else must be forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import apsw

from ctxsync.errors import StoreError
from ctxsync.events.database import transaction, translated
from ctxsync.events.envelope import NewEvent, canonical
from ctxsync.events.model import ErasureRequested, SubjectErased
from ctxsync.events.replay import null_content
from ctxsync.events.writing import append_events

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ctxsync.events.store import EventStore

SELECT_UNERASABLE: Final = """
SELECT wanted.value FROM json_each(?) AS wanted LEFT JOIN event ON event.position = wanted.value
WHERE event.position IS NULL OR event.type IN ('erasure.requested', 'subject.erased') ORDER BY 1 LIMIT 1
"""


def erase(
    store: EventStore,
    positions: Collection[int],
    *,
    source: str = "ctxsync",
    subject: str = "job:forget",
    reason: str = "",
    suppressed: Sequence[str] = (),
) -> tuple[int, int]:
    """Null payload, subject, fingerprint and salt at the positions, in one transaction with request and receipt.

    The bytes are overwritten in the file and in its WAL. Cursors are not touched: they are the connector's words.

    Args:
        store: Open for writing.
        positions: What to erase; already erased ones are fine.
        source: Whose events request and receipt are.
        subject: Their subject.
        reason: Kept in the log: must not name what is forgotten.
        suppressed: Keyed hashes of what must not come back, for the receipt.

    Returns:
        The positions of the request and of the receipt.

    Raises:
        StoreError: A position does not exist, or is itself part of an erasure; nothing was erased.
        StoreLocked: It is erased, but a reader at work still needs the old bytes in the WAL: erase again after it.
    """
    named = tuple(sorted(set(positions)))
    with translated(store.path):
        refused = store.db.execute(SELECT_UNERASABLE, (canonical(named),)).fetchone()
        if refused is not None:
            raise StoreError(f"Position {refused[0]} cannot be erased: no event there, or an erasure's own.")
        store.db.pragma("secure_delete", "on")
        with transaction(store.db):
            now = store.clock()
            request = ErasureRequested(positions=named, reason=reason)
            receipt = SubjectErased(count=len(named), suppressed=tuple(suppressed))
            (first,), _ = append_events(
                store.db, [NewEvent(source, subject, request, now)], clock=store.clock, expected=None
            )
            null_content(store.db, named, store.versions)
            store.checkpoint("erase")
            (last,), _ = append_events(
                store.db, [NewEvent(source, subject, receipt, now)], clock=store.clock, expected=None
            )
        store.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return first, last
