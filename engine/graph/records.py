"""What the projection keeps in memory of the graph's rows, as plain objects; knows no table and no rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ctxsync.engine.graph import nodes

if TYPE_CHECKING:
    from ctxsync.engine.graph.facts import FactSpan

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

    __slots__ = ("author_keys", "believed", "counted", "id", "item", "kind", "occurred_at", "scope", "source", "text")

    def __init__(self, *, id_: int, text: str, item: str, source: str, kind: str, occurred_at: int, scope: str) -> None:
        self.id = id_
        self.text = text
        self.item = item
        self.source = source
        self.kind = kind
        self.occurred_at = occurred_at
        self.scope = scope
        self.author_keys: tuple[str, ...] = ()
        self.believed = False
        self.counted = 0


class Shown(NamedTuple):
    """A version that a source showed of an item, and where in the log it did."""

    position: int
    sections: list[tuple[str, int]]  # episode, line
    title: str
    names: list[str]
    keys: list[str]
    entries: list[dict[str, Any]]  # of a mailmap
    since: dict[str, int]  # when a run of versions began to make a statement that this one may go on with


class Item:
    """An item: where it is seen, what is held of it (`held`: line and row), and the versions that each source showed."""

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
        self.shown: dict[str, list[Shown]] = {}
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


def add_name(entity: Entity, key: tuple[str, str, str], count: int, weight: int) -> bool:
    """Change how often an entity is called something (name, type, kind of node); say whether it was before."""
    old = entity.names.get(key, (0, 0))
    new = (old[0] + count, old[1] + weight)
    if new[0]:
        entity.names[key] = new
    else:
        entity.names.pop(key, None)
    return old[0] > 0
