"""The part of the graph that a batch touches, as objects: loaded when first asked for, written behind through `Rows`.

An object is loaded whole and changed only here in memory until the flush, so a row in the database is never newer than
its object. Where a query must see what is not yet written, it flushes first. A graph built from nothing has everything
in memory until it is let go (`forget`), and asks the database nothing: `complete`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from ctxsync.engine.graph import nodes
from ctxsync.engine.graph.facts import FactSpan
from ctxsync.engine.graph.records import Entity, Episode, Fact, Item, Node, Shown, add_name
from ctxsync.engine.graph.rows import Rows, first, query

if TYPE_CHECKING:
    import apsw

NODE_BY_TEXT = "SELECT id, node, refs, rep, anchor FROM node WHERE node = ?"
NODE_BY_ID = "SELECT id, node, refs, rep, anchor FROM node WHERE id = ?"
NODE_IDENTITY = "SELECT rowid, entity FROM identity WHERE node = ? AND until IS NULL"
NODE_NAMES = "SELECT name, type, count, weight FROM naming WHERE node = ?"
NODE_TIES = "SELECT other, count FROM tie WHERE node = ?"
NODE_FOLLOWERS = "SELECT id FROM node WHERE anchor = ? AND anchor > 0"
CLAIMS = "SELECT node, source, count FROM claim WHERE normal = ?"
CLAIMED = "SELECT normal FROM claim WHERE node = ?"
BEARERS = "SELECT node FROM bearer WHERE normal = ?"
WATCHERS = "SELECT first FROM candidate WHERE node = ?"
WATCHED = "SELECT node FROM candidate WHERE first = ?"
FIRSTS_IN = "SELECT node FROM first_name WHERE scope = ?"
FIRSTS_NAMED = "SELECT node FROM first_name WHERE normal = ?"
ENTITY_BY_TEXT = "SELECT id, entity FROM entity WHERE entity = ?"
ENTITY_BY_ID = "SELECT id, entity FROM entity WHERE id = ?"
ENTITY_NODES = "SELECT node FROM identity WHERE entity = ? AND until IS NULL"
ENTITY_NAMINGS = """
SELECT g.name, g.type, substr(n.node, 1, instr(n.node, ':') - 1) AS kind, sum(g.count), sum(g.weight)
FROM identity AS i JOIN node AS n ON n.id = i.node JOIN naming AS g ON g.node = i.node
WHERE i.entity = ? AND i.until IS NULL GROUP BY g.name, g.type, kind
"""
ENTITY_SHOWN = "SELECT rowid, name, type FROM entity_version WHERE entity = ? AND until IS NULL"
ENTITY_NAMES = "SELECT name, rowid FROM name WHERE entity = ? AND until IS NULL"
ENTITY_KEYS = """
SELECT n.id, k.rowid FROM identity_key AS k JOIN node AS n ON n.node = k.kind || ':' || k.value
WHERE k.entity = ? AND k.until IS NULL
"""
ITEM = "SELECT id, kind, title, attributes, flags, replaced_by FROM item WHERE item = ?"
ITEM_SIGHTINGS = "SELECT source, place, rowid FROM sighting WHERE item = ? AND until IS NULL"
ITEM_SHOWN = "SELECT source, position, body FROM observed WHERE item = ? ORDER BY position"
ITEM_HELD = """
SELECT e.episode, h.line, h.rowid FROM episode AS e JOIN holding AS h ON h.episode = e.id
WHERE e.item = ? AND h.until IS NULL
"""
EPISODE = """
SELECT e.id, i.item, e.source, e.kind, e.occurred_at, e.scope, e.author_keys, e.counted
FROM episode AS e JOIN item AS i ON i.id = e.item WHERE e.episode = ?
"""
RUNS = "SELECT run, tier, position FROM extraction WHERE episode = ? ORDER BY position"
TRIALS = "SELECT run, tier, position FROM trial WHERE episode = ? ORDER BY position"
FACT = "SELECT id, tail FROM fact WHERE fact = ?"
FACT_SPANS = """
SELECT phrase, valid_from, valid_to, confidence, f.tail, v.reason, v.rowid
FROM fact_version AS v LEFT JOIN fact AS f ON f.id = v.superseded_by WHERE v.fact = ? AND v.until IS NULL
"""
FACT_SUPPORT = "SELECT evidence, role, rowid FROM support WHERE fact = ? AND until IS NULL"


def loads(text: str) -> Any:
    """Read JSON."""
    return orjson.loads(text)


class Memory:
    """Objects by what names them.

    Args:
        db: The graph; its transaction is the caller's.
        complete: The graph is empty: nothing is to be found in the database.
    """

    def __init__(self, db: apsw.Connection, *, complete: bool) -> None:
        self.db = db
        self.rows = Rows(db)
        self.complete = complete
        self._clear()

    def _clear(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._node_ids: dict[int, Node] = {}
        self._entities: dict[str, Entity] = {}
        self._entity_ids: dict[int, Entity] = {}
        self._items: dict[str, Item] = {}
        self._episodes: dict[str, Episode] = {}
        self._facts: dict[str, Fact | None] = {}
        self._runs: dict[str, list[tuple[str, int, int]]] = {}
        self._trials: dict[str, list[tuple[str, int, int]]] = {}
        self._claims: dict[str, dict[tuple[int, str], int]] = {}
        self._bearers: dict[str, set[int]] = {}
        self._watchers: dict[int, set[int]] = {}
        self._watched: dict[int, set[int]] = {}
        self._firsts_in: dict[str, set[int]] = {}
        self._firsts_named: dict[str, set[int]] = {}
        self.dirty: set[int] = set()

    @property
    def size(self) -> int:
        """How many objects are held."""
        return len(self._nodes) + len(self._entities) + len(self._items) + len(self._episodes) + len(self._facts)

    def flush(self) -> None:
        """Write everything that waits."""
        rows = self.rows
        for id_ in sorted(self.dirty):
            node = self._node_ids[id_]
            rows.add("node", id_, node.text, node.refs, node.rep, node.anchor)
        self.dirty.clear()
        rows.flush()

    def forget(self) -> None:
        """Let go of all objects; call it after a flush only."""
        self._clear()
        self.complete = False

    def _column(self, sql: str, value: object) -> list[Any]:
        return [] if self.complete else [row[0] for row in query(self.db, sql, (value,))]

    def _pairs(self, sql: str, value: object) -> list[tuple[Any, ...]]:
        return [] if self.complete else query(self.db, sql, (value,))

    # Nodes

    def find_node(self, text: str) -> Node | None:
        """Return a node that was named before, or None."""
        node = self._nodes.get(text)
        if node is None and not self.complete:
            row = first(self.db, NODE_BY_TEXT, (text,))
            node = None if row is None else self._load_node(*row)
        return node

    def node(self, text: str) -> Node:
        """Return the node of a text, new if it must be."""
        node = self._nodes.get(text) or self.find_node(text)
        if node is None:
            id_ = self.rows.last["node"] = self.rows.last["node"] + 1
            node = self._nodes[text] = self._node_ids[id_] = Node(id_, text)
            node.rep, node.evident = id_, False
            self.dirty.add(id_)
        return node

    def node_at(self, id_: int) -> Node:
        """Return the node of an id."""
        node = self._node_ids.get(id_)
        return node or self._load_node(*first(self.db, NODE_BY_ID, (id_,)))

    def _load_node(self, id_: int, text: str, refs: int, rep: int, anchor: int) -> Node:
        node = self._nodes[text] = self._node_ids[id_] = Node(id_, text)
        node.refs, node.rep, node.anchor = refs, rep, anchor
        row = first(self.db, NODE_IDENTITY, (id_,))
        node.row, node.entity = row or (0, 0)
        for name, type_, count, weight in query(self.db, NODE_NAMES, (id_,)):
            node.names[name, type_] = (count, weight)
            plain = nodes.normal(name)
            if nodes.is_person_kind(node.kind) and nodes.is_full(plain):
                node.full[plain] = node.full.get(plain, 0) + 1
        node.ties = dict(query(self.db, NODE_TIES, (id_,)))
        node.followers = set(self._column(NODE_FOLLOWERS, id_))
        return node

    # What is looked up by name. `change` asks for a set that may be changed; without it, absence costs no memory.

    def claims(self, plain: str, *, change: bool = False) -> dict[tuple[int, str], int]:
        """Return the notes that claim a normal name: count by (node, source)."""
        found = self._claims.get(plain)
        if found is None:
            if self.complete and not change:
                return {}
            found = self._claims[plain] = {(n, s): c for n, s, c in self._pairs(CLAIMS, plain)}
        return found

    def claimed(self, node: Node) -> set[str]:
        """Return the normal names that a note claims."""
        names = {nodes.normal(name) for name, _ in node.names}
        return {plain for plain in names if any(n == node.id for n, _ in self.claims(plain))}

    def _ids(self, kept: dict[Any, set[int]], key: object, sql: str, *, change: bool) -> set[int]:
        found = kept.get(key)
        if found is None:
            if self.complete and not change:
                return set()
            found = kept[key] = set(self._column(sql, key))
        return found

    def bearers(self, plain: str, *, change: bool = False) -> set[int]:
        """Return the people's keys that bear a full normal name."""
        return self._ids(self._bearers, plain, BEARERS, change=change)

    def watchers(self, node: int, *, change: bool = False) -> set[int]:
        """Return the first names that may mean this node."""
        return self._ids(self._watchers, node, WATCHERS, change=change)

    def watched(self, first: int) -> set[int]:
        """Return the nodes that a first name may mean."""
        return self._ids(self._watched, first, WATCHED, change=True)

    def firsts_in(self, scope: str, *, change: bool = False) -> set[int]:
        """Return the first-name nodes of a scope."""
        return self._ids(self._firsts_in, scope, FIRSTS_IN, change=change)

    def firsts_named(self, plain: str, *, change: bool = False) -> set[int]:
        """Return the first-name nodes of a normal name."""
        return self._ids(self._firsts_named, plain, FIRSTS_NAMED, change=change)

    # Entities

    def entity(self, text: str) -> Entity:
        """Return the entity of a public id, new if it must be."""
        entity = self._entities.get(text)
        if entity is not None:
            return entity
        row = None if self.complete else first(self.db, ENTITY_BY_TEXT, (text,))
        if row is not None:
            return self._load_entity(*row)
        id_ = self.rows.insert("entity", text)
        entity = self._entities[text] = self._entity_ids[id_] = Entity(id_, text)
        return entity

    def entity_at(self, id_: int) -> Entity:
        """Return the entity of an id."""
        entity = self._entity_ids.get(id_)
        return entity or self._load_entity(*first(self.db, ENTITY_BY_ID, (id_,)))

    def _load_entity(self, id_: int, text: str) -> Entity:
        entity = self._entities[text] = self._entity_ids[id_] = Entity(id_, text)
        row = first(self.db, ENTITY_SHOWN, (id_,))
        if row is not None:
            entity.shown_row, entity.shown = row[0], (row[1], row[2])
        entity.nodes = set(self._column(ENTITY_NODES, id_))
        for name, type_, kind, count, weight in query(self.db, ENTITY_NAMINGS, (id_,)):
            entity.names[name, type_, kind] = (count, weight)
        entity.name_rows = dict(query(self.db, ENTITY_NAMES, (id_,)))
        entity.key_rows = dict(query(self.db, ENTITY_KEYS, (id_,)))
        return entity

    @staticmethod
    def sum_names(entity: Entity, node: Node, sign: int) -> None:
        """Add a node's namings to its entity's, or take them away (`sign` -1)."""
        kind = node.kind
        for (name, type_), (count, weight) in node.names.items():
            add_name(entity, (name, type_, kind), sign * count, sign * weight)

    # Items and episodes

    def item(self, text: str) -> Item:
        """Return an item, new if it must be."""
        item = self._items.get(text)
        if item is not None:
            return item
        row = None if self.complete else first(self.db, ITEM, (text,))
        if row is None:
            id_ = self.rows.last["item"] = self.rows.last["item"] + 1
            item = self._items[text] = Item(id_, text)
            return item
        item = self._items[text] = Item(row[0], text)
        _, item.kind, item.title, item.meta, item.flags, item.replaced_by = row
        item.sightings = {(s, p): r for s, p, r in query(self.db, ITEM_SIGHTINGS, (item.id,))}
        for source, position, body in query(self.db, ITEM_SHOWN, (item.id,)):
            item.shown.setdefault(source, []).append(Shown(position, *loads(body)))
        item.held = {e: (line, r) for e, line, r in query(self.db, ITEM_HELD, (item.id,))}
        return item

    def find_episode(self, text: str) -> Episode | None:
        """Return an episode that was observed, or None."""
        episode = self._episodes.get(text)
        if episode is None and not self.complete:
            row = first(self.db, EPISODE, (text,))
            if row is not None:
                id_, item, source, kind, at, scope, keys, counted = row
                episode = self._episodes[text] = Episode(
                    id_=id_, text=text, item=item, source=source, kind=kind, occurred_at=at, scope=scope
                )
                episode.author_keys, episode.counted = tuple(loads(keys)), counted
                # Without an extraction that counts, whether it is believed matters first when one comes.
                episode.believed = counted > 0
        return episode

    def remember(self, episode: Episode) -> None:
        """Keep a new episode."""
        self._episodes[episode.text] = episode

    def runs(self, episode: str) -> list[tuple[str, int, int]]:
        """Return the extractions of an episode as (run, tier, position), in log order; trials are not among them."""
        return self._extractions(self._runs, RUNS, episode)

    def trials(self, episode: str) -> list[tuple[str, int, int]]:
        """Return what trials made of an episode, in the same form."""
        return self._extractions(self._trials, TRIALS, episode)

    def _extractions(
        self, kept: dict[str, list[tuple[str, int, int]]], sql: str, episode: str
    ) -> list[tuple[str, int, int]]:
        found = kept.get(episode)
        if found is None:
            found = kept[episode] = [(run, tier, at) for run, tier, at in self._pairs(sql, episode)]
        return found

    # Facts

    def find_fact(self, text: str) -> Fact | None:
        """Return a fact that was stated before, or None."""
        fact = self._facts.get(text)
        if fact is None and not self.complete and text not in self._facts:
            row = first(self.db, FACT, (text,))
            if row is not None:
                fact = Fact(row[0], text, row[1])
                for phrase, start, end, confidence, by, reason, rowid in query(self.db, FACT_SPANS, (fact.id,)):
                    fact.spans[FactSpan(fact.tail, phrase, start, end, confidence, by, reason)] = rowid
                fact.support = {(e, role): r for e, role, r in query(self.db, FACT_SUPPORT, (fact.id,))}
            self._facts[text] = fact
        return fact

    def fact(self, text: str, head: int, relation: str, phrase_class: str, tail: int) -> Fact:
        """Return a fact, new if it must be."""
        fact = self.find_fact(text)
        if fact is None:
            id_ = self.rows.insert("fact", text, head, relation, phrase_class, tail)
            fact = self._facts[text] = Fact(id_, text, tail)
        return fact
