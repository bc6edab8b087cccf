"""Items: where they are seen, and what is held and believed of them.

Knows no facts. Text is found by what is held; all that is read out of it follows what is believed (`versions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ctxsync.engine.graph import nodes, profiles, versions
from ctxsync.engine.graph.entities import weight
from ctxsync.engine.graph.records import Episode, Item, Shown
from ctxsync.engine.graph.trust import SEEN_ALIKE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ctxsync.engine.graph.identity import Identity
    from ctxsync.engine.graph.memory import Memory
    from ctxsync.engine.graph.trust import Trust
    from ctxsync.engine.graph.versions import Belief, States
    from ctxsync.events.store import Event


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


class Items:
    """Applies the events of items.

    Args:
        memory: The objects of the batch.
        identity: Told of names, ties and claims.
        count: Called when an episode came to be believed or no longer is, with the position; with True when its
            statements began at another time.
        stated: Returns the undated statements of an episode.
        trust: Told of sent mail; says how far an item's episodes are trusted.
    """

    def __init__(
        self,
        memory: Memory,
        identity: Identity,
        count: Callable[[Episode, int, bool], None],
        stated: States,
        trust: Trust,
    ) -> None:
        self.memory = memory
        self.identity = identity
        self.count = count
        self.stated = stated
        self.trust = trust

    def _item(self, text: str) -> Item:
        item = self.memory.item(text)
        if not item.about and (item.held or item.kind in profiles.WITHOUT_SECTIONS):
            item.about = profiles.about(item, versions.believed(self.memory, item))
        return item

    # What is believed

    def since(self, episode: Episode) -> Mapping[str, int]:
        """Return when the statements that an episode's item goes on with were first made, ms UTC."""
        item = self.memory.item(episode.item)
        if not any(shown[0].since for shown in item.shown.values()):
            return {}
        return versions.believed(self.memory, item).since

    def before_reading(self, episode: Episode) -> Belief | None:
        """Return what is believed of an episode's item before an extraction of it is known, where that may change."""
        item = self._item(episode.item)
        waits = any(len(shown) > 1 for shown in item.shown.values())
        if episode.believed and not waits:
            return None
        belief = versions.believed(self.memory, item)
        episode.believed = episode.text in belief.episodes
        return belief if waits else None

    def read(self, episode: Episode, before: Belief, position: int) -> None:
        """Believe what is read now that an extraction of an episode is known."""
        item = self.memory.item(episode.item)
        self._advance(item)
        self._believe(item, before, position)

    def _advance(self, item: Item) -> None:
        for source, shown in item.shown.items():
            gone = versions.advance(self.memory, shown, self.stated)
            if gone:
                self._drop(item, source, gone)
                self._keep(item, source, shown[0])

    def _keep(self, item: Item, source: str, shown: Shown) -> None:
        self.memory.rows.add("observed", item.id, source, shown.position, _json(shown[1:]))

    def _drop(self, item: Item, source: str, gone: list[Shown]) -> None:
        for shown in gone:
            self.memory.rows.add("observed_gone", item.id, source, shown.position)

    def _believe(self, item: Item, before: Belief, position: int) -> None:
        after = versions.believed(self.memory, item)
        self._say(item, profiles.about(item, after))
        for text in before.episodes:
            if text not in after.episodes:
                self._change(text, position, believed=False)
        for text in after.episodes:
            if text not in before.episodes:
                self._change(text, position, believed=True)
        old, new = before.since, after.since
        if old == new:
            return
        for text in after.episodes:
            said = self.stated(text) if text in before.episodes else ()
            if any(min(at, old.get(key, at)) != min(at, new.get(key, at)) for key, at in said):
                self._change(text, position, believed=True, again=True)

    def _change(self, text: str, position: int, *, believed: bool, again: bool = False) -> None:
        episode = self.memory.find_episode(text)
        if episode is not None:
            episode.believed = believed
            self.count(episode, position, again)

    # What sources say

    def _save(self, item: Item) -> None:
        self.memory.rows.add("item", item.id, item.text, item.kind, item.title, item.meta, item.flags, item.replaced_by)

    def observed(self, event: Event) -> None:
        """Take a new version of an item."""
        payload = event.payload
        item = self._item(payload["item"])
        before = versions.believed(self.memory, item)
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
        entries = profiles.entries(kind, payload.get("attributes") or {})
        shown = Shown(
            event.position, list(sections.items()), title, names[1:], list(payload.get("keys") or ()), entries, {}
        )
        item.shown.setdefault(event.source, []).append(shown)
        self._keep(item, event.source, shown)
        self._advance(item)
        self._refresh(item, before, event.position)

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
            item=item.text,
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
        """See an item at a place. What a source showed before it lost sight of the item waits no longer."""
        item = self._item(event.payload["item"])
        before = versions.believed(self.memory, item)
        shown = item.shown.get(event.source, [])
        if len(shown) > 1 and not any(source == event.source for source, _ in item.sightings):
            self._drop(item, event.source, shown[:-1])
            del shown[:-1]
        weighed = self._weighed(item, before)
        self.trust.sighted(item, event.source, event.payload["place"], event.payload.get("role") or "")
        self._see(item, event.source, event.payload["place"], event.position)
        self._refresh(item, before, event.position)
        self._weigh(item, weighed, event.position)

    def unsighted(self, event: Event) -> None:
        """No longer see an item at a place."""
        item = self._item(event.payload["item"])
        before = versions.believed(self.memory, item)
        weighed = self._weighed(item, before)
        self.trust.unsighted(item, event.source, event.payload["place"])
        self._lose(item, event.source, event.payload["place"], event.position)
        self._refresh(item, before, event.position)
        self._weigh(item, weighed, event.position)

    def moved(self, event: Event) -> None:
        """See an item at another place."""
        item = self._item(event.payload["item"])
        before = versions.believed(self.memory, item)
        weighed = self._weighed(item, before)
        self.trust.unsighted(item, event.source, event.payload["place"])
        self._lose(item, event.source, event.payload["place"], event.position)
        self._see(item, event.source, event.payload["to"], event.position)
        self._refresh(item, before, event.position)
        self._weigh(item, weighed, event.position)

    def replaced(self, event: Event) -> None:
        """Note an item's successor."""
        item = self._item(event.payload["item"])
        item.replaced_by = event.payload["by"]
        self._save(item)

    def remove_source(self, text: str, source: str, position: int) -> None:
        """Lose sight of an item wherever a source saw it."""
        item = self._item(text)
        before = versions.believed(self.memory, item)
        weighed = self._weighed(item, before)
        for _, place in sorted(k for k in item.sightings if k[0] == source):
            self._lose(item, source, place, position)
        self._refresh(item, before, position)
        self._weigh(item, weighed, position)

    def restore(self, text: str, source: str, place: str, position: int) -> None:
        """See an item again at a place of a source that was removed and is back."""
        item = self._item(text)
        before = versions.believed(self.memory, item)
        weighed = self._weighed(item, before)
        self._see(item, source, place, position)
        self._refresh(item, before, position)
        self._weigh(item, weighed, position)

    def _weighed(self, item: Item, before: Belief) -> list[tuple[Episode, int]]:
        """Return the episodes that count now whose trust may change with where the item is seen, with their trust."""
        if item.kind not in SEEN_ALIKE:
            return []
        found = filter(None, map(self.memory.find_episode, before.episodes))
        return [(episode, self.trust.of(episode, item)) for episode in found if episode.counted > 0]

    def _weigh(self, item: Item, before: list[tuple[Episode, int]], position: int) -> None:
        """Count again what still counts and is trusted otherwise than before."""
        for episode, trust in before:
            if episode.counted > 0 and self.trust.of(episode, item) != trust:
                self.count(episode, position, True)

    def _see(self, item: Item, source: str, place: str, position: int) -> None:
        if not item.kind:
            self._save(item)
        if (source, place) not in item.sightings:
            item.sightings[source, place] = self.memory.rows.insert("sighting", item.id, source, place, position)

    def _lose(self, item: Item, source: str, place: str, position: int) -> None:
        row = item.sightings.pop((source, place), None)
        if row is not None:
            self.memory.rows.add("sighting_until", position, row)

    def _refresh(self, item: Item, before: Belief, position: int) -> None:
        """Hold what is to be held now, let the rest go, and believe what is to be believed."""
        wanted: dict[str, int] = {}
        for _, shown in versions.held(item):
            for text, line in shown.sections:
                wanted.setdefault(text, line)
        rows = self.memory.rows
        for text in [k for k in item.held if k not in wanted]:
            rows.add("holding_until", position, item.held.pop(text)[1])
        for text, line in wanted.items():
            known = item.held.get(text)
            if known is None:
                episode = self.memory.find_episode(text)
                if episode is None:
                    continue
                item.held[text] = (line, rows.insert("holding", episode.id, line, position))
            elif known[0] != line:
                rows.add("holding_line", line, known[1])
                item.held[text] = (line, known[1])
        self._believe(item, before, position)

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
            identity.call(node, said[2], said[3], change, change * weight(said[3], stated=True))
        elif said[0] == "claim":
            identity.claim(said[1], memory.node(said[2]), said[3], change)
        else:
            one, other = memory.node(said[1]), memory.node(said[2])
            identity.refer(one, change)
            identity.refer(other, change)
            identity.tie(one, other, change)
