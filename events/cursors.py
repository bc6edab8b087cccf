"""Where the reading of each stream stands, now and at any position of the log; knows nothing of what the values mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from ctxsync.events.envelope import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import apsw

    from ctxsync.events.envelope import Json

SELECT_STREAM: Final = "SELECT key, value FROM cursor WHERE source = ? AND stream = ? ORDER BY key"
SELECT_KEY: Final = "SELECT value, position FROM cursor WHERE source = ? AND stream = ? AND key = ?"
KEEP_OLD: Final = "INSERT INTO cursor_was (source, stream, key, value, position, until) VALUES (?, ?, ?, ?, ?, ?)"
REMOVE_KEY: Final = "DELETE FROM cursor WHERE source = ? AND stream = ? AND key = ?"
SET_KEY: Final = """
INSERT INTO cursor (source, stream, key, value, position) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET value = excluded.value, position = excluded.position
"""
SELECT_AT: Final = """
SELECT source, stream, key, value, position FROM cursor WHERE position <= ?1
UNION ALL
SELECT source, stream, key, value, position FROM cursor_was WHERE until > ?1 AND position <= ?1
ORDER BY source, stream, key
"""


def current(db: apsw.Connection, source: str, stream: str) -> dict[str, Json]:
    """Return a stream's cursor; empty before its first patch."""
    return {key: orjson.loads(value) for key, value in db.execute(SELECT_STREAM, (source, stream))}


def patch(db: apsw.Connection, source: str, stream: str, changes: Mapping[str, Json], position: int) -> bool:
    """Apply a patch as of a position, and say whether anything changed. None removes a key.

    A value keeps its history by position only: two patches at one position leave the later one.
    """
    changed = False
    for key in sorted(changes):
        value = changes[key]
        old = db.execute(SELECT_KEY, (source, stream, key)).get
        new = None if value is None else canonical(value)
        if new == (None if old is None else old[0]):
            continue
        changed = True
        if old is not None and old[1] < position:
            db.execute(KEEP_OLD, (source, stream, key, *old, position))
        if new is None:
            db.execute(REMOVE_KEY, (source, stream, key))
        else:
            db.execute(SET_KEY, (source, stream, key, new, position))
    return changed


def at(db: apsw.Connection, position: int) -> Iterator[tuple[str, str, str, str, int]]:
    """Yield all cursors as they stood when the log ended at a position: source, stream, key, JSON text, position."""
    yield from db.execute(SELECT_AT, (position,))
