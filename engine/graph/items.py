"""Items: where they are seen, what is held of them, and what a held note or mailmap says of identities. Knows no facts.

HELD     a section of the version that a source last showed, while that source sees the item somewhere. A source that
         sees an item it never showed holds the version shown last by any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ctxsync.engine.graph import nodes
from ctxsync.engine.graph.entities import UNTYPED
from ctxsync.engine.graph.records import Episode, Item, Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ctxsync.engine.graph.identity import Identity
    from ctxsync.engine.graph.memory import Memory
    from ctxsync.events.store import Event


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def held(item: Item) -> list[tuple[str, Shown]]:
    """Return the versions that are held, by source."""
    if not item.shown:
        return []
    latest = max(item.shown.values(), key=lambda k: k.position)
    return [(source, item.shown.get(source, latest)) for source in sorted({s for s, _ in item.sightings})]


def about(item: Item) -> frozenset[tuple[str, ...]]:
    """Return what an item's held versions say of identities.

    (`call`, node, name, type), (`tie`, node, node), (`claim`, normal name, node, source).
    """
    said: set[tuple[str, ...]] = set()
    if item.kind not in {nodes.NOTE, "mailmap"}:
        return frozenset()
    for source, shown in held(item):
        if item.kind == nodes.NOTE:
            for name in (shown.title, *shown.names):
                plain = nodes.normal(name)
                if plain:
                    said.add(("call", item.text, " ".join(name.split()), UNTYPED))
                    said.add(("claim", plain, item.text, source))
            said.update(("tie", item.text, key) for key in shown.keys if nodes.is_key(key) and key != item.text)
        for entry in shown.entries:
            said |= _mapped(entry)
    return frozenset(said)


def _mapped(entry: Mapping[str, Any]) -> set[tuple[str, ...]]:
    new, old = (str(entry.get(k) or "").strip().lower() for k in ("email", "old_email"))
    name = " ".join(str(entry.get("name") or "").split())
    said: set[tuple[str, ...]] = set()
    if new and name:
        said.add(("call", f"email:{new}", name, UNTYPED))
    if new and old and new != old:
        said.add(("tie", f"email:{new}", f"email:{old}"))
    return said


class Items:
    """Applies the events of items.

    Args:
        memory: The objects of the batch.
        identity: Told of names, ties and claims.
        hold: Called when an episode came to be held or was let go, with the position.
    """

    def __init__(self, memory: Memory, identity: Identity, hold: Callable[[Episode, int], None]) -> None:
        self.memory = memory
        self.identity = identity
        self.hold = hold

    def _item(self, text: str) -> Item:
        item = self.memory.item(text)
        if item.held and not item.about:
            item.about = about(item)
        return item

    def _save(self, item: Item) -> None:
        self.memory.rows.add("item", item.id, item.text, item.kind, item.title, item.meta, item.flags, item.replaced_by)

    def observed(self, event: Event) -> None:
        """Take a new version of an item."""
        payload = event.payload
        item = self._item(payload["item"])
        kind, title = payload["kind"], payload["title"]
        item.kind, item.title = kind, title
        item.meta, item.flags = _json(payload.get("attributes") or {}), _json(payload.get("flags") or [])
        self._save(item)
        sections: dict[str, int] = {}
        for section in payload["sections"]:
            text = section["episode"]
            sections.setdefault(text, section.get("line") or 0)
            if self.memory.find_episode(text) is None:
                self._episode(event, item, section)
        names = [title, *(payload.get("names") or ())]
        entries = (payload.get("attributes") or {}).get("entries") or [] if kind == "mailmap" else []
        shown = Shown(
            event.position, list(sections.items()), title, names[1:], list(payload.get("keys") or ()), entries
        )
        item.shown[event.source] = shown
        self.memory.rows.add("observed", item.id, event.source, event.position, _json(shown[1:]))
        self._refresh(item, event.position)

    def _episode(self, event: Event, item: Item, section: Mapping[str, Any]) -> None:
        rows = self.memory.rows
        author = section.get("author") or {}
        keys = tuple(k for k in author.get("keys") or () if nodes.is_key(k))
        thread = section.get("thread") or ""
        id_ = rows.last["episode"] = rows.last["episode"] + 1
        at = section["occurred_at"]
        episode = Episode(
            id_=id_,
            text=section["episode"],
            item=item.id,
            source=event.source,
            kind=item.kind,
            occurred_at=at,
            scope=thread or item.text,
        )
        episode.author_keys = keys
        node = self.memory.node(min(keys, key=nodes.rank)).id if keys else None
        heading = section.get("heading") or []
        rows.add(
            "episode",
            id_,
            episode.text,
            item.id,
            event.source,
            item.kind,
            section["key"],
            _json(heading),
            item.title,
            section["text"],
            at,
            author.get("name") or "",
            node,
            thread,
            _json(section.get("tags") or []),
            event.position,
            episode.scope,
            _json(keys),
        )
        rows.add("passage", id_, item.title, " > ".join(heading), section["text"])
        self.memory.remember(episode)

    def sighted(self, event: Event) -> None:
        """See an item at a place."""
        self._see(self._item(event.payload["item"]), event.source, event.payload["place"], event.position)

    def unsighted(self, event: Event) -> None:
        """No longer see an item at a place."""
        self._lose(self._item(event.payload["item"]), event.source, event.payload["place"], event.position)

    def moved(self, event: Event) -> None:
        """See an item at another place."""
        item = self._item(event.payload["item"])
        self._lose(item, event.source, event.payload["place"], event.position, refresh=False)
        self._see(item, event.source, event.payload["to"], event.position)

    def replaced(self, event: Event) -> None:
        """Note an item's successor."""
        item = self._item(event.payload["item"])
        item.replaced_by = event.payload["by"]
        self._save(item)

    def remove_source(self, text: str, source: str, position: int) -> None:
        """Lose sight of an item wherever a source saw it."""
        item = self._item(text)
        for _, place in sorted(k for k in item.sightings if k[0] == source):
            self._lose(item, source, place, position, refresh=False)
        self._refresh(item, position)

    def restore(self, text: str, source: str, place: str, position: int) -> None:
        """See an item again at a place of a source that was removed and is back."""
        self._see(self._item(text), source, place, position)

    def _see(self, item: Item, source: str, place: str, position: int) -> None:
        if not item.kind:
            self._save(item)
        if (source, place) not in item.sightings:
            item.sightings[source, place] = self.memory.rows.insert("sighting", item.id, source, place, position)
        self._refresh(item, position)

    def _lose(self, item: Item, source: str, place: str, position: int, *, refresh: bool = True) -> None:
        row = item.sightings.pop((source, place), None)
        if row is not None:
            self.memory.rows.add("sighting_until", position, row)
        if refresh:
            self._refresh(item, position)

    def _refresh(self, item: Item, position: int) -> None:
        """Hold what is to be held now, and let the rest go."""
        wanted: dict[str, int] = {}
        for _, shown in held(item):
            for text, line in shown.sections:
                wanted.setdefault(text, line)
        rows = self.memory.rows
        self._say(item, about(item))
        for text in [k for k in item.held if k not in wanted]:
            rows.add("holding_until", position, item.held.pop(text)[1])
            self._change(text, position, held=False)
        for text, line in wanted.items():
            known = item.held.get(text)
            if known is None:
                episode = self.memory.find_episode(text)
                if episode is None:
                    continue
                item.held[text] = (line, rows.insert("holding", episode.id, line, position))
                self._change(text, position, held=True)
            elif known[0] != line:
                rows.add("holding_line", line, known[1])
                item.held[text] = (line, known[1])

    def _change(self, text: str, position: int, *, held: bool) -> None:
        episode = self.memory.find_episode(text)
        if episode is not None:
            episode.held = held
            self.hold(episode, position)

    def _say(self, item: Item, said: frozenset[tuple[str, ...]]) -> None:
        before = item.about
        if said == before:
            return
        for one in sorted(said - before):
            self._tell(one, 1)
        for one in sorted(before - said):
            self._tell(one, -1)
        item.about = said

    def _tell(self, said: tuple[str, ...], change: int) -> None:
        memory, identity = self.memory, self.identity
        if said[0] == "call":
            node = memory.node(said[1])
            identity.refer(node, change)
            identity.call(node, said[2], said[3], change, 0)
        elif said[0] == "claim":
            identity.claim(said[1], memory.node(said[2]), said[3], change)
        else:
            one, other = memory.node(said[1]), memory.node(said[2])
            identity.refer(one, change)
            identity.refer(other, change)
            identity.tie(one, other, change)
