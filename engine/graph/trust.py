"""Whose word a source's text is: what is one's own outranks what others wrote. Knows no fact and no identity.

An item that is seen in several places, or by several sources, is believed as its most trusted sighting allows. So trust
is a function of where the item is seen now: it comes and goes with sightings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ctxsync.engine.graph.memory import loads
from ctxsync.engine.graph.rows import query

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

    from ctxsync.engine.graph.records import Episode, Item

OWN: Final = 2
OTHERS: Final = 1
SENT: Final = "sent"
"""The role of a place that holds what the owner of its source sent: see `ctxsync.connectors.base.Sighted`."""

MAIL: Final = "mail"
SEEN_ALIKE: Final = frozenset({MAIL, "slack"})
"""Kinds of item that several sources show alike: a mailbox and its archive, a workspace and its export."""

SOURCES = "SELECT name, trust, removed, identity FROM source"
SENT_AT = "SELECT source, place FROM sent WHERE item = ?"
SEND = "INSERT OR IGNORE INTO sent (item, source, place) VALUES (?, ?, ?)"
UNSEND = "DELETE FROM sent WHERE item = ? AND source = ? AND place = ?"

_UNKNOWN: tuple[int, frozenset[str]] = (OTHERS, frozenset())


class Trust:
    """Says how far episodes are trusted.

    Args:
        db: The graph, inside a transaction of the caller's.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.sources: dict[str, tuple[int, frozenset[str]]] = {}
        for name, trust, _, identity in query(db, SOURCES):
            self.sources[name] = (OWN if trust == "own" else OTHERS, frozenset(loads(identity)["keys"]))

    def configured(self, payload: Mapping[str, Any]) -> bool:
        """Take a source's settings; return whether they changed how it is trusted."""
        before = self.sources.get(payload["name"], _UNKNOWN)
        after = (OWN if payload["trust"] == "own" else OTHERS, frozenset(payload.get("identity_keys") or ()))
        self.sources[payload["name"]] = after
        return before != after

    def of(self, episode: Episode, item: Item | None) -> int:
        """Return the trust in an episode; `item` is needed of the kinds that are seen alike.

        A repository and a workspace vouch for who wrote what is in them, so what one wrote there oneself is one's own. A
        mail's From line is whatever its sender typed: only a folder of sent mail says that a mail is one's own.
        """
        if item is None:
            return self._by(episode.source, episode)
        trust = max((self._by(source, episode) for source, _ in item.sightings), default=OTHERS)
        if trust == OTHERS and episode.kind == MAIL and item.sightings:
            sent: list[tuple[Any, ...]] = query(self.db, SENT_AT, (item.text,))
            return OWN if any(place in item.sightings for place in sent) else OTHERS
        return trust

    def _by(self, source: str, episode: Episode) -> int:
        trust, identity = self.sources.get(source, _UNKNOWN)
        if trust == OTHERS and episode.kind in ("commit", "slack") and not identity.isdisjoint(episode.author_keys):
            return OWN
        return trust

    def sighted(self, item: Item, source: str, place: str, role: str) -> None:
        """Note what a place means for an item that a source sees there."""
        if role == SENT:
            self.db.execute(SEND, (item.text, source, place))
        elif item.kind == MAIL and (source, place) in item.sightings:
            self.db.execute(UNSEND, (item.text, source, place))

    def unsighted(self, item: Item, source: str, place: str) -> None:
        """Note that a source no longer sees an item at a place."""
        if item.kind == MAIL:
            self.db.execute(UNSEND, (item.text, source, place))
