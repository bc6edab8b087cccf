"""What waits at a source: streams that are paused, and places in quarantine. Knows no item.

Neither is anyone's concern while the source is removed. The log tells nothing twice, so what waited then is kept aside,
and waits again when the source is back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ctxsync.engine.graph.rows import query

if TYPE_CHECKING:
    import apsw

    from ctxsync.events.store import Event

SET_PAUSED = "INSERT OR REPLACE INTO paused (source, stream, reason, since) VALUES (?, ?, ?, ?)"
CLEAR_PAUSED = "DELETE FROM paused WHERE source = ? AND stream = ?"
SET_QUARANTINE = "INSERT OR REPLACE INTO quarantine (source, place, error, since) VALUES (?, ?, ?, ?)"
CLEAR_QUARANTINE = "DELETE FROM quarantine WHERE source = ? AND place = ?"
WAIT = {
    "paused": (
        "SELECT stream, reason, since FROM paused WHERE source = ? ORDER BY stream",
        "DELETE FROM paused WHERE source = ?",
        SET_PAUSED,
    ),
    "quarantine": (
        "SELECT place, error, since FROM quarantine WHERE source = ? ORDER BY place",
        "DELETE FROM quarantine WHERE source = ?",
        SET_QUARANTINE,
    ),
}
META = "SELECT value FROM meta WHERE key = ?"
SET_META = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
DROP_META = "DELETE FROM meta WHERE key = ?"


class Waiting:
    """Applies the events of what waits.

    Args:
        db: The graph, inside a transaction of the caller's.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.handlers = {
            "item.quarantined": self._quarantined,
            "item.released": self._released,
            "source.paused": self._paused,
            "source.resumed": self._resumed,
        }

    def set_aside(self, source: str) -> None:
        """Let nothing wait at a source, for it is removed."""
        for table, (select, clear, _) in WAIT.items():
            rows = query(self.db, select, (source,))
            if rows:
                self.db.execute(SET_META, (f"{table}:{source}", orjson.dumps(rows).decode()))
                self.db.execute(clear, (source,))

    def bring_back(self, source: str) -> None:
        """Let wait again what waited when the source was removed."""
        for table, (*_, put) in WAIT.items():
            held = self.db.execute(META, (f"{table}:{source}",)).get
            for row in orjson.loads(held) if held else ():
                self.db.execute(put, (source, *row))
            self.db.execute(DROP_META, (f"{table}:{source}",))

    def _quarantined(self, event: Event) -> None:
        payload = event.payload
        self.db.execute(SET_QUARANTINE, (event.source, payload["place"], payload["error"], event.position))

    def _released(self, event: Event) -> None:
        self.db.execute(CLEAR_QUARANTINE, (event.source, event.payload["place"]))

    def _paused(self, event: Event) -> None:
        payload = event.payload
        self.db.execute(SET_PAUSED, (payload["name"], payload["stream"], payload["reason"], event.position))

    def _resumed(self, event: Event) -> None:
        self.db.execute(CLEAR_PAUSED, (event.payload["name"], event.payload["stream"]))
