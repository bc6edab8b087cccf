"""The part of the graph that a batch touches, as objects: loaded when first asked for, written behind through `Rows`.

An object is loaded whole and changed only here in memory until the flush, so a row in the database is never newer than
its object. Where a query must see what is not yet written, it flushes first. A graph built from nothing has everything
in memory until it is let go (`forget`), and asks the database nothing: `complete`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from ctxsync.engine.graph import nodes
from ctxsync.engine.graph.facts import Evidence, FactSpan
from ctxsync.engine.graph.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

Naming = tuple[str, str]  # a name and a type


class Node:
    """An identity node: see the table of that name. `entity` is 0 while nothing names it; `row` is its identity row."""

    __slots__ = (
        "anchor",
        "entity",
        "evident",
        "followers",
        "full",
        "id",
        "kind",
        "names",
        "refs",
        "rep",
        "row",
        "text",
        "ties",
    )

    def __init__(self, id_: int, text: str) -> None:
        self.id = id_
        self.text = text
        self.kind = nodes.kind_of(text)
        self.refs = 0
        self.rep = 0
        self.anchor = 0
        self.entity = 0
        self.row = 0
        self.names: dict[Naming, tuple[int, int]] = {}  # count, weight
        self.full: dict[str, int] = {}  # full normal names of a person's key, with how many namings have each
        self.ties: dict[int, int] = {}
        self.followers: set[int] = set()
        self.evident = True  # evidence may touch it


class Entity:
    """An entity as it is shown: `names` sums the namings of its nodes; the rest are its open rows."""

    __slots__ = ("id", "key_rows", "name_rows", "names", "nodes", "shown", "shown_row", "text", "touched")

    def __init__(self, id_: int, text: str) -> None:
        self.id = id_
        self.text = text
        self.nodes: set[int] = set()
        self.touched: set[int] = set()  # nodes that came or went since it was last written
        self.names: dict[tuple[str, str, str], tuple[int, int]] = {}  # name, type, kind of node
        self.shown: Naming | None = None
        self.shown_row = 0
        self.name_rows: dict[str, int] = {}
        self.key_rows: dict[int, int] = {}


class Episode:
    """What must be known of an episode to count its extraction; `counted` as in the table."""

    __slots__ = ("author_keys", "counted", "held", "id", "item", "kind", "occurred_at", "scope", "source", "text")

    def __init__(self, id_: int, text: str, item: int, source: str, kind: str, occurred_at: int, scope: str) -> None:
        self.id = id_
        self.text = text
        self.item = item
        self.source = source
        self.kind = kind
        self.occurred_at = occurred_at
        self.scope = scope
        self.author_keys: tuple[str, ...] = ()
        self.held = False
        self.counted = 0


class Shown(NamedTuple):
    """What a source last showed of an item, and where in the log it did."""

    position: int
    sections: list[tuple[str, int]]  # episode, line
    title: str
    names: list[str]
    keys: list[str]
    entries: list[dict[str, Any]]  # of a mailmap


class Item:
    """An item: where it is seen, what each source last showed, and what is held of it (`held`: line and row)."""

    __slots__ = ("about", "flags", "held", "id", "kind", "meta", "replaced_by", "shown", "sightings", "text", "title")

    def __init__(self, id_: int, text: str) -> None:
        self.id = id_
        self.text = text
        self.kind = ""
        self.title = ""
        self.meta = "{}"
        self.flags = "[]"
        self.replaced_by: str | None = None
        self.sightings: dict[tuple[str, str], int] = {}
        self.shown: dict[str, Shown] = {}
        self.held: dict[str, tuple[int, int]] = {}
        self.about: frozenset[tuple[str, ...]] = frozenset()


class Fact:
    """A fact with its open rows. `support`: row by evidence and role."""

    __slots__ = ("id", "spans", "support", "tail", "text")

    def __init__(self, id_: int, text: str, tail: int) -> None:
        self.id = id_
        self.text = text
        self.tail = tail
        self.spans: dict[FactSpan, int] = {}
        self.support: dict[tuple[int, str], int] = {}


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
FIRST_NAME = "SELECT scope, normal, source FROM first_name WHERE node = ?"
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
ITEM_BY_ID = "SELECT item FROM item WHERE id = ?"
ITEM_SIGHTINGS = "SELECT source, place, rowid FROM sighting WHERE item = ? AND until IS NULL"
ITEM_SHOWN = "SELECT source, position, body FROM observed WHERE item = ?"
ITEM_HELD = """
SELECT e.episode, h.line, h.rowid FROM episode AS e JOIN holding AS h ON h.episode = e.id
WHERE e.item = ? AND h.until IS NULL
"""
EPISODE = """
SELECT id, episode, item, source, kind, occurred_at, scope, author_keys, counted,
       EXISTS (SELECT 1 FROM holding WHERE holding.episode = episode.id AND until IS NULL)
FROM episode WHERE episode = ?
"""
RUNS = "SELECT run, tier, position FROM extraction WHERE episode = ? ORDER BY position"
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
        return [] if self.complete else [row[0] for row in self.db.execute(sql, (value,))]

    def _pairs(self, sql: str, value: object) -> list[tuple[Any, ...]]:
        return [] if self.complete else list(self.db.execute(sql, (value,)))

    # Nodes

    def find_node(self, text: str) -> Node | None:
        """Return a node that was named before, or None."""
        node = self._nodes.get(text)
        if node is None and not self.complete:
            row = self.db.execute(NODE_BY_TEXT, (text,)).fetchone()
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
        return node or self._load_node(*self.db.execute(NODE_BY_ID, (id_,)).fetchone())

    def _load_node(self, id_: int, text: str, refs: int, rep: int, anchor: int) -> Node:
        node = self._nodes[text] = self._node_ids[id_] = Node(id_, text)
        node.refs, node.rep, node.anchor = refs, rep, anchor
        row = self.db.execute(NODE_IDENTITY, (id_,)).fetchone()
        node.row, node.entity = row or (0, 0)
        for name, type_, count, weight in self.db.execute(NODE_NAMES, (id_,)):
            node.names[name, type_] = (count, weight)
            plain = nodes.normal(name)
            if nodes.is_person_kind(node.kind) and nodes.is_full(plain):
                node.full[plain] = node.full.get(plain, 0) + 1
        node.ties = dict(self.db.execute(NODE_TIES, (id_,)))
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
        row = None if self.complete else self.db.execute(ENTITY_BY_TEXT, (text,)).fetchone()
        if row is not None:
            return self._load_entity(*row)
        id_ = self.rows.insert("entity", text)
        entity = self._entities[text] = self._entity_ids[id_] = Entity(id_, text)
        return entity

    def entity_at(self, id_: int) -> Entity:
        """Return the entity of an id."""
        entity = self._entity_ids.get(id_)
        return entity or self._load_entity(*self.db.execute(ENTITY_BY_ID, (id_,)).fetchone())

    def _load_entity(self, id_: int, text: str) -> Entity:
        entity = self._entities[text] = self._entity_ids[id_] = Entity(id_, text)
        row = self.db.execute(ENTITY_SHOWN, (id_,)).fetchone()
        if row is not None:
            entity.shown_row, entity.shown = row[0], (row[1], row[2])
        entity.nodes = set(self._column(ENTITY_NODES, id_))
        for name, type_, kind, count, weight in self.db.execute(ENTITY_NAMINGS, (id_,)):
            entity.names[name, type_, kind] = (count, weight)
        entity.name_rows = dict(self.db.execute(ENTITY_NAMES, (id_,)))
        entity.key_rows = dict(self.db.execute(ENTITY_KEYS, (id_,)))
        return entity

    @staticmethod
    def sum_names(entity: Entity, node: Node, sign: int) -> None:
        """Add a node's namings to its entity's, or take them away (`sign` -1)."""
        kind = node.kind
        for (name, type_), (count, weight) in node.names.items():
            add_name(entity, name, type_, kind, sign * count, sign * weight)

    # Items and episodes

    def item(self, text: str) -> Item:
        """Return an item, new if it must be."""
        item = self._items.get(text)
        if item is not None:
            return item
        row = None if self.complete else self.db.execute(ITEM, (text,)).fetchone()
        if row is None:
            id_ = self.rows.last["item"] = self.rows.last["item"] + 1
            item = self._items[text] = Item(id_, text)
            return item
        item = self._items[text] = Item(row[0], text)
        _, item.kind, item.title, item.meta, item.flags, item.replaced_by = row
        item.sightings = {(s, p): r for s, p, r in self.db.execute(ITEM_SIGHTINGS, (item.id,))}
        for source, position, body in self.db.execute(ITEM_SHOWN, (item.id,)):
            item.shown[source] = Shown(position, *loads(body))
        item.held = {e: (line, r) for e, line, r in self.db.execute(ITEM_HELD, (item.id,))}
        return item

    def item_at(self, id_: int) -> Item:
        """Return the item of an id."""
        return self.item(self.db.execute(ITEM_BY_ID, (id_,)).get)

    def find_episode(self, text: str) -> Episode | None:
        """Return an episode that was observed, or None."""
        episode = self._episodes.get(text)
        if episode is None and not self.complete:
            row = self.db.execute(EPISODE, (text,)).fetchone()
            if row is not None:
                episode = self._episodes[text] = Episode(*row[:2], *row[2:7])
                episode.author_keys, episode.counted, episode.held = tuple(loads(row[7])), row[8], bool(row[9])
        return episode

    def remember(self, episode: Episode) -> None:
        """Keep a new episode."""
        self._episodes[episode.text] = episode

    def runs(self, episode: str) -> list[tuple[str, int, int]]:
        """Return the extractions of an episode as (run, tier, position), in log order."""
        found = self._runs.get(episode)
        if found is None:
            found = self._runs[episode] = self._pairs(RUNS, episode)  # type: ignore[assignment]
        return found

    # Facts

    def find_fact(self, text: str) -> Fact | None:
        """Return a fact that was stated before, or None."""
        fact = self._facts.get(text)
        if fact is None and not self.complete and text not in self._facts:
            row = self.db.execute(FACT, (text,)).fetchone()
            if row is not None:
                fact = Fact(row[0], text, row[1])
                for phrase, start, end, confidence, by, reason, rowid in self.db.execute(FACT_SPANS, (fact.id,)):
                    fact.spans[FactSpan(fact.tail, phrase, start, end, confidence, by, reason)] = rowid
                fact.support = {(e, role): r for e, role, r in self.db.execute(FACT_SUPPORT, (fact.id,))}
            self._facts[text] = fact
        return fact

    def fact(self, text: str, head: int, relation: str, phrase_class: str, tail: int) -> Fact:
        """Return a fact, new if it must be."""
        fact = self.find_fact(text)
        if fact is None:
            id_ = self.rows.insert("fact", text, head, relation, phrase_class, tail)
            fact = self._facts[text] = Fact(id_, text, tail)
        return fact


def add_name(entity: Entity, name: str, type_: str, kind: str, count: int, weight: int) -> bool:
    """Change how often an entity is called something; say whether it was before."""
    key = (name, type_, kind)
    old = entity.names.get(key, (0, 0))
    new = (old[0] + count, old[1] + weight)
    if new[0]:
        entity.names[key] = new
    else:
        entity.names.pop(key, None)
    return old[0] > 0
