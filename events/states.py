"""What the log makes true, one row a subject: loaded for a batch, changed by it, stored with it. Knows no event types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from ctxsync.events.envelope import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import apsw

Pair = tuple[str, str]
"""Subject and source."""

VERSION: Final = "version:"
"""What the key of each version that a subject has had at a source starts with."""

SELECT_STATES: Final = """
SELECT state.subject, state.source, state.seq, state.value FROM json_each(?) AS wanted
CROSS JOIN state ON state.subject = wanted.value
"""
SET_STATE: Final = "INSERT OR REPLACE INTO state (subject, source, seq, value) VALUES (?, ?, ?, ?)"
SELECT_VALUE: Final = "SELECT value FROM state WHERE subject = ? AND source = ?"
SELECT_VALUES: Final = """
SELECT subject, value FROM state WHERE subject >= ?1 AND subject < ?1 || char(1114111) AND source = ?2 ORDER BY subject
"""


class State:
    """What the log makes true of one subject at one source: its last seq, and the value of each key."""

    __slots__ = ("seq", "values")

    def __init__(self) -> None:
        self.seq = 0
        self.values: dict[str, str] = {}

    def add(self, said: Mapping[str, str], fingerprint: str) -> None:
        """Take what the subject's next event says, and its fingerprint, where it has one."""
        self.seq += 1
        self.values.update(said)
        if fingerprint:
            self.values[VERSION + fingerprint] = "seen"


def load(db: apsw.Connection, subjects: Iterable[str]) -> dict[Pair, State]:
    """Return the state of these subjects at every source that the log knows them from."""
    found: dict[Pair, State] = {}
    for subject, source, seq, text in db.execute(SELECT_STATES, (canonical(sorted(set(subjects))),)):
        found[subject, source] = state = State()
        state.seq, state.values = seq, orjson.loads(text)
    return found


def store(db: apsw.Connection, states: Mapping[Pair, State]) -> None:
    """Store states, in the order in which they stand: what is near shares pages."""
    db.executemany(SET_STATE, [(*pair, state.seq, canonical(state.values)) for pair, state in sorted(states.items())])


def value(db: apsw.Connection, source: str, subject: str, key: str) -> str | None:
    """Return the value of a key; None when nothing set it."""
    found = db.execute(SELECT_VALUE, (subject, source)).get
    return None if found is None else orjson.loads(found).get(key)


def values(db: apsw.Connection, source: str, subjects: str, keys: str) -> list[tuple[str, str, str]]:
    """Return (subject, key, value) wherever subject and key start like this, sorted."""
    return [
        (subject, key, value)
        for subject, text in db.execute(SELECT_VALUES, (subjects, source))
        for key, value in orjson.loads(text).items()
        if key.startswith(keys)
    ]
