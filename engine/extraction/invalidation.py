"""Facts that a model says a text ends, by their ids, become statements of that text; knows how the graph names things.

So nothing but statements ends a fact: the graph weighs them, and a text of others ends nothing that a text of one's own
says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from ctxsync.engine.extraction.base import Entity, Extraction, Relation
from ctxsync.engine.extraction.llm.context import KnownFact
from ctxsync.engine.graph import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

EACH: Final = 8
"""Facts given of each thing named (SPEC: 5 to 10)."""
ALIKE: Final = 3
"""Things of one name whose facts are given."""
UNQUOTED: Final = 0.5
"""What an end is worth of which no statement of the same text gives the words."""

SOURCES = "SELECT name FROM source ORDER BY name"
NAMED = """
SELECT DISTINCT n.entity FROM name AS n WHERE n.normal = :normal AND n.until IS NULL AND EXISTS (
    SELECT 1 FROM identity AS d JOIN node AS k ON k.id = d.node
    WHERE d.entity = n.entity AND d.until IS NULL AND k.node NOT LIKE 'first:%')
ORDER BY n.entity LIMIT :most
"""
TOUCHING = """
SELECT f.fact, h.name, f.relation, t.name, v.phrase, v.valid_from
FROM (SELECT id FROM fact WHERE head = :entity UNION SELECT id FROM fact WHERE tail = :entity) AS touching
JOIN fact AS f ON f.id = touching.id
JOIN fact_version AS v ON v.fact = f.id AND v.until IS NULL AND (v.valid_to IS NULL OR v.valid_to > :now)
JOIN entity_version AS h ON h.entity = f.head AND h.until IS NULL
JOIN entity_version AS t ON t.entity = f.tail AND t.until IS NULL
WHERE :closed = '[]' OR NOT EXISTS (
    SELECT 1 FROM support AS s JOIN evidence AS x ON x.id = s.evidence JOIN episode AS e ON e.id = x.episode
    WHERE s.fact = f.id AND s.until IS NULL AND EXISTS (
        SELECT 1 FROM json_each(:closed) AS c WHERE c.value = e.source
        OR EXISTS (SELECT 1 FROM sighting AS g WHERE g.item = e.item AND g.source = c.value AND g.until IS NULL)))
ORDER BY f.relation IN ('mentions', 'references', 'related_to'), v.valid_from DESC, f.fact LIMIT :most
"""
FACT = """
SELECT f.head, f.relation, f.phrase_class, f.tail, v.phrase FROM fact AS f
JOIN fact_version AS v ON v.fact = f.id AND v.until IS NULL AND (v.valid_to IS NULL OR v.valid_to > :now)
WHERE f.fact = :fact ORDER BY v.valid_from DESC LIMIT 1
"""
NODES = "SELECT n.node FROM identity AS d JOIN node AS n ON n.id = d.node WHERE d.entity = ? AND d.until IS NULL"
NAMINGS = """
SELECT g.name, g.type FROM naming AS g JOIN node AS n ON n.id = g.node WHERE n.node = ? ORDER BY g.weight DESC, g.name
"""


@dataclass(frozen=True, slots=True)
class End:
    """A fact's end as a text can name it so that the graph takes it for the same thing: a name, a type, maybe a key."""

    name: str
    type: str
    keys: tuple[str, ...]
    node: str


@dataclass(frozen=True, slots=True)
class Statement:
    """What a current fact states."""

    head: End
    relation: str
    phrase_class: str
    tail: End
    phrase: str


class Statements(Protocol):
    """Looks current facts up."""

    def __call__(self, fact: str) -> Statement | None:
        """Return what a fact states; None for one that was not given, holds no more, or cannot be named from afar."""
        ...


@dataclass(slots=True)
class GraphFacts:
    """The current facts of a graph, for a model to know and to end.

    Args:
        open: Returns the graph to look in.
        clock: ms UTC.
        given: The ids that were given; no other fact may be ended by its id.
    """

    open: Callable[[], apsw.Connection]
    clock: Callable[[], int]
    given: set[str] = field(default_factory=set)

    def about(self, names: Sequence[str], allowed: Callable[[str], bool] = lambda _: True) -> list[KnownFact]:
        """Return current facts that touch things of these names, some of each: `CurrentFacts`.

        Args:
            names: What the things are called.
            allowed: Whether what a source says may be given. A fact that any other source says as well is left out, for
                its words and dates may be that one's.
        """
        self.given.clear()
        db, now = self.open(), self.clock()
        closed = json.dumps([name for (name,) in db.execute(SOURCES) if not allowed(name)])
        found: dict[str, KnownFact] = {}
        for name in names:
            for (entity,) in db.execute(NAMED, {"normal": nodes.normal(name), "most": ALIKE}).fetchall():
                for fact, head, relation, tail, phrase, start in db.execute(
                    TOUCHING, {"entity": entity, "now": now, "most": EACH, "closed": closed}
                ):
                    found[fact] = KnownFact(fact, head, relation, tail, phrase, _day(start))
        self.given.update(found)
        return list(found.values())

    def statement(self, fact: str) -> Statement | None:
        """Return what a fact that was given states: `Statements`."""
        if fact not in self.given:
            return None
        db = self.open()
        row = db.execute(FACT, {"fact": fact, "now": self.clock()}).fetchone()
        if row is None:
            return None
        head, tail = self._end(db, row[0]), self._end(db, row[3])
        return Statement(head, row[1], row[2], tail, row[4]) if head and tail else None

    def _end(self, db: apsw.Connection, entity: int) -> End | None:
        """Return how to name an entity; None where only its own thread can."""
        known = sorted((node for (node,) in db.execute(NODES, (entity,))), key=nodes.rank)
        for node in known:
            for name, type_ in ((str(name), str(type_)) for name, type_ in db.execute(NAMINGS, (node,)).fetchall()):
                if nodes.is_key(node):
                    return End(name, type_, (node,), node)
                if nodes.node_of(name, type_, "") == node:
                    return End(name, type_, (), node)
        return None


def with_ends(upper: Extraction, lower: Extraction, statements: Statements) -> Extraction:
    """Return a result in which every id of a fact that it invalidates is a statement as well that the fact ended.

    The statement has the words of the nearest one that the text makes itself: of the same head and relation, else of
    either end. Without one it has none, and is worth half.
    """
    ends = [(fact, statement) for fact in upper.invalidates if (statement := statements(fact))]
    if not ends:
        return upper
    entities = list(upper.entities)
    relations = list(upper.relations)
    for _, statement in ends:
        head = _entity(statement.head, entities, lower, upper.tier)
        tail = _entity(statement.tail, entities, lower, upper.tier)
        said = (head, statement.relation, tail)
        if any((r.head, r.relation, r.tail) == said and r.ends for r in relations):
            continue
        near = _nearest(upper.relations, head, statement.relation, tail)
        relations.append(
            Relation(
                head,
                statement.relation,
                tail,
                statement.phrase,
                statement.phrase_class,
                near.quote if near else "",
                near.span if near else None,
                near.confidence if near else upper.confidence * UNQUOTED,
                valid_to=near.valid_from
                if near and near.head == head and near.relation == statement.relation
                else None,
                ends=True,
                tier=upper.tier,
            )
        )
    return replace(upper, entities=entities, relations=relations)


def _entity(end: End, entities: list[Entity], lower: Extraction, tier: int) -> str:
    """Return the id of the entity that an end is, added where neither tier named it."""
    for entity in (*entities, *lower.entities):
        if set(end.keys) & set(entity.keys):
            return entity.id
        if not entity.keys and not end.keys and nodes.node_of(entity.name, entity.type, "") == end.node:
            return entity.id
    made = Entity(f"known:{end.node}", end.name, end.type, end.keys, tier=tier)
    entities.append(made)
    return made.id


def _nearest(relations: Sequence[Relation], head: str, relation: str, tail: str) -> Relation | None:
    def distance(one: Relation) -> int:
        if one.head == head and one.relation == relation:
            return 0
        return 1 if {one.head, one.tail} & {head, tail} else 2

    best = min(relations, key=distance, default=None)
    return best if best is not None and distance(best) < 2 else None


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, UTC).date().isoformat()
