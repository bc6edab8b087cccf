"""Look-ups without a question: entities, facts, history, timeline, the why of a fact, and counts; plain dicts out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ctxsync.engine.reading import linking, shapes
from ctxsync.engine.reading.clock import rfc3339
from ctxsync.engine.reading.reader import bounded
from ctxsync.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.reading.reader import AsOf, Reader
    from ctxsync.engine.reading.shapes import Shape

# `why` shows every statement that a person would read through.
ALL_SUPPORTS = 200

# An empty list of heads, tails or relations means any. Current ones first, then the surest, then the latest.
FACTS = """
SELECT v.rowid FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
WHERE v.since <= :p AND (v.until IS NULL OR v.until > :p)
  AND (:any_head OR f.head IN (SELECT value FROM json_each(:heads)))
  AND (:any_tail OR f.tail IN (SELECT value FROM json_each(:tails)))
  AND (:relation = '' OR f.relation = :relation)
  AND (:past OR (v.valid_from <= :at AND (v.valid_to IS NULL OR v.valid_to > :at)))
  AND (:type = '' OR EXISTS (
        SELECT 1 FROM entity_version AS t WHERE t.entity IN (f.head, f.tail) AND t.type = :type
        AND t.since <= :p AND (t.until IS NULL OR t.until > :p)))
  AND (:source = '' OR EXISTS (
        SELECT 1 FROM support AS s JOIN evidence AS e ON e.id = s.evidence JOIN episode AS ep ON ep.id = e.episode
        WHERE s.fact = f.id AND s.since <= :p AND (s.until IS NULL OR s.until > :p) AND (ep.source = :source OR EXISTS (
            SELECT 1 FROM sighting AS o WHERE o.item = ep.item AND o.source = :source
            AND o.since <= :p AND (o.until IS NULL OR o.until > :p)))))
ORDER BY (v.valid_from <= :at AND (v.valid_to IS NULL OR v.valid_to > :at)) DESC, v.confidence DESC, v.valid_from DESC, f.fact
LIMIT :limit
"""
# The same from one end, so that the index on that end leads; links, tags and each of the messages that somebody wrote or
# got say least and come last.
OF_ENTITY = """
WITH near AS (
    SELECT id, relation, phrase_class FROM fact WHERE head IN (SELECT value FROM json_each(:ids))
    UNION SELECT id, relation, phrase_class FROM fact WHERE tail IN (SELECT value FROM json_each(:ids))
)
SELECT v.rowid FROM near JOIN fact_version AS v ON v.fact = near.id
WHERE v.since <= :p AND (:every OR v.until IS NULL OR v.until > :p)
  AND (:past OR (v.valid_from <= :at AND (v.valid_to IS NULL OR v.valid_to > :at)))
  AND (:source = '' OR EXISTS (
        SELECT 1 FROM support AS s JOIN evidence AS e ON e.id = s.evidence JOIN episode AS ep ON ep.id = e.episode
        WHERE s.fact = near.id AND s.since <= :p AND (:every OR s.until IS NULL OR s.until > :p) AND (ep.source = :source OR EXISTS (
            SELECT 1 FROM sighting AS o WHERE o.item = ep.item AND o.source = :source
            AND o.since <= :p AND (o.until IS NULL OR o.until > :p)))))
ORDER BY (v.valid_from <= :at AND (v.valid_to IS NULL OR v.valid_to > :at)) DESC,
    near.relation IN ('references', 'mentions') OR near.phrase_class IN ('tag', 'authorship') OR v.phrase IN ('received', 'sent'),
    v.confidence DESC, v.valid_from DESC, v.rowid
LIMIT :limit
"""
FACT_BY_ID = "SELECT id FROM fact WHERE fact = :fact"
FACTS_BY_START = "SELECT id FROM fact WHERE fact >= :start AND fact < :start || 'g' LIMIT 2"
FACT_VERSIONS = """
SELECT rowid FROM fact_version WHERE fact = :fact AND since <= :p ORDER BY since, valid_from, rowid
"""
BELIEVED = """
SELECT rowid FROM fact_version WHERE fact = :fact AND since <= :p AND (until IS NULL OR until > :p)
ORDER BY valid_from DESC, rowid
"""
EPISODES_OF = """
SELECT DISTINCT ep.id FROM identity AS y JOIN mention AS m ON m.node = y.node JOIN episode AS ep ON ep.id = m.episode
WHERE y.entity IN (SELECT value FROM json_each(:ids)) AND y.since <= :p AND (y.until IS NULL OR y.until > :p)
  AND m.since <= :p AND (m.until IS NULL OR m.until > :p) AND (:source = '' OR ep.source = :source OR EXISTS (
        SELECT 1 FROM sighting AS o WHERE o.item = ep.item AND o.source = :source
        AND o.since <= :p AND (o.until IS NULL OR o.until > :p)))
ORDER BY ep.occurred_at DESC, ep.episode LIMIT :limit
"""
COUNTS = """
SELECT
    (SELECT count(DISTINCT episode) FROM holding WHERE until IS NULL),
    (SELECT count(*) FROM episode),
    (SELECT count(*) FROM entity_version WHERE until IS NULL),
    (SELECT count(DISTINCT fact) FROM fact_version WHERE until IS NULL AND valid_from <= :now
        AND (valid_to IS NULL OR valid_to > :now)),
    (SELECT count(DISTINCT fact) FROM fact_version WHERE until IS NULL)
"""


def entity(
    reader: Reader,
    name: str,
    *,
    now: int,
    valid_at: int | None = None,
    known_at: int | None = None,
    source: str | None = None,
    limit: int = 50,
) -> Shape:
    """Return `{"entities": [Entity + "facts"]}`: everyone that the name, id or key may mean.

    Facts are those that hold (at `valid_at` where given) and, with no `valid_at`, past ones behind them.
    """
    with reader.snapshot():
        as_of = reader.as_of(now=now, valid_at=valid_at, known_at=known_at)
        ids = linking.resolve(reader, name, as_of.position)
        told = shapes.entities(reader, ids, as_of.position)
        return {
            "entities": [
                {
                    **told[row],
                    "facts": shapes.facts(
                        reader, of_entity(reader, [row], as_of, source, limit, past=valid_at is None), as_of
                    ),
                }
                for row in ids
                if row in told
            ]
        }


def facts(
    reader: Reader,
    *,
    now: int,
    head: str | None = None,
    relation: str | None = None,
    tail: str | None = None,
    type: str | None = None,  # noqa: A002 - the word of the schema and of the command line
    source: str | None = None,
    valid_at: int | None = None,
    known_at: int | None = None,
    past: bool = False,
    limit: int = 50,
) -> Shape:
    """Return `{"facts": [Fact]}`: what holds, or with `past` also what no longer does, filtered.

    `head` and `tail` are names, ids or keys; `type` is an entity type that either end has. Raises `UsageError` for a
    relation that the schema lacks.
    """
    if relation and relation not in reader.schema.relations:
        raise UsageError(
            f"There is no relation {relation!r}.", remedy=f"One of: {', '.join(sorted(reader.schema.relations))}."
        )
    with reader.snapshot():
        as_of = reader.as_of(now=now, valid_at=valid_at, known_at=known_at)
        heads = linking.resolve(reader, head, as_of.position) if head else []
        tails = linking.resolve(reader, tail, as_of.position) if tail else []
        bindings = {
            "p": as_of.position,
            "at": as_of.at,
            "any_head": not head,
            "heads": json.dumps(heads),
            "any_tail": not tail,
            "tails": json.dumps(tails),
            "relation": relation or "",
            "type": type or "",
            "source": source or "",
            "past": past,
            "limit": limit,
        }
        return {"facts": shapes.facts(reader, [row[0] for row in reader.rows(FACTS, bindings)], as_of)}


def history(
    reader: Reader, what: str, *, now: int, known_at: int | None = None, source: str | None = None, limit: int = 200
) -> Shape:
    """Return every version on both axes of a fact (by id) or of all facts of an entity, oldest belief first.

    `{"entities": [Entity], "facts": [Fact]}`; a Fact here is one version: what it said from `recorded_at` to `retracted_at`.
    """
    with reader.snapshot():
        as_of = reader.as_of(now=now, known_at=known_at)
        fact = _fact(reader, what)
        if fact is not None:
            rows = [row[0] for row in reader.rows(FACT_VERSIONS, {"fact": fact, "p": as_of.position})]
            return {"entities": [], "facts": shapes.facts(reader, rows, as_of)}
        ids = linking.resolve(reader, what, as_of.position)
        told = shapes.entities(reader, ids, as_of.position)
        rows = of_entity(reader, ids, as_of, source, limit, past=True, every=True)
        found = shapes.facts(reader, rows, as_of)
        found.sort(key=lambda shape: (shape["recorded_at"] or "", shape["valid_from"] or "", shape["id"]))
        return {"entities": [told[row] for row in ids if row in told], "facts": found}


def timeline(
    reader: Reader,
    name: str,
    *,
    now: int,
    valid_at: int | None = None,
    known_at: int | None = None,
    source: str | None = None,
    limit: int = 100,
) -> Shape:
    """Return an entity's facts and the episodes that name it, by time: `{"entities", "timeline": [{"at", "kind", …}]}`.

    A fact stands at its start (`kind` starts) and, where it ended, at its end (`ends`); an episode when it was said.
    """
    with reader.snapshot():
        as_of = reader.as_of(now=now, valid_at=valid_at, known_at=known_at)
        ids = linking.resolve(reader, name, as_of.position)
        told = shapes.entities(reader, ids, as_of.position)
        rows = of_entity(reader, ids, as_of, source, limit, past=valid_at is None)
        entries: list[dict[str, Any]] = []
        for fact in shapes.facts(reader, rows, as_of):
            entries.append({"at": fact["valid_from"], "kind": "starts", "fact": fact})
            if fact["valid_to"] is not None:
                entries.append({"at": fact["valid_to"], "kind": "ends", "fact": fact})
        bindings = {"ids": json.dumps(ids), "p": as_of.position, "source": source or "", "limit": limit}
        pairs = [(row[0], as_of.position) for row in reader.rows(EPISODES_OF, bindings)]
        said = shapes.episodes(reader, pairs)
        entries += [
            {
                "at": rfc3339(said[pair]["occurred_at"]),
                "kind": "episode",
                "passage": shapes.passage(said[pair], score=0.0, lanes={}),
            }
            for pair in pairs
        ]
        entries.sort(key=lambda entry: (entry["at"] or "", entry["kind"] == "episode", entry["kind"]))
        return {"entities": [told[row] for row in ids if row in told], "timeline": entries[-limit:]}


def why(reader: Reader, fact: str, *, now: int, known_at: int | None = None) -> Shape:
    """Return why a fact is believed and what ended it: `{"facts": [Fact with all its support], "superseded_by": [Fact]}`.

    `fact` is its id or the start of it. A fact that is no longer believed is told as it was last. Raises `UsageError`
    where there is none of that id.
    """
    with reader.snapshot():
        as_of = reader.as_of(now=now, known_at=known_at)
        row = _fact(reader, fact)
        if row is None:
            raise UsageError(f"There is no fact {fact!r}.", remedy="Take an id that `ctxsync facts` prints.")
        bindings = {"fact": row, "p": as_of.position}
        rows = [found[0] for found in reader.rows(BELIEVED, bindings)]
        rows = rows or [found[0] for found in reader.rows(FACT_VERSIONS, bindings)][-1:]
        told = shapes.facts(reader, rows, as_of, supports=ALL_SUPPORTS)
        successors = [_fact(reader, shape["superseded_by"]) for shape in told if shape["superseded_by"]]
        after = [
            found[0]
            for successor in dict.fromkeys(successors)
            if successor is not None
            for found in reader.rows(BELIEVED, {"fact": successor, "p": as_of.position})[:1]
        ]
        return {"facts": told, "superseded_by": shapes.facts(reader, after, as_of)}


def counts(reader: Reader, *, now: int) -> Shape:
    """Return `{"episodes", "episodes_all", "entities", "facts": {"current", "all"}}` as the graph stands."""
    with reader.snapshot():
        held, episodes, entities, current, known = reader.rows(COUNTS, {"now": bounded(now)})[0]
    return {
        "episodes": held,
        "episodes_all": episodes,
        "entities": entities,
        "facts": {"current": current, "all": known},
    }


def _fact(reader: Reader, text: str) -> int | None:
    """Return the row of the fact with this id, or of the only one whose id starts so (eight characters at least)."""
    rows = reader.rows(FACT_BY_ID, {"fact": text})
    if not rows and len(text) >= 8:
        rows = reader.rows(FACTS_BY_START, {"start": text.lower()})
    return rows[0][0] if len(rows) == 1 else None


def of_entity(
    reader: Reader,
    ids: Sequence[int],
    as_of: AsOf,
    source: str | None,
    limit: int,
    *,
    past: bool,
    every: bool = False,
) -> list[int]:
    """Return rows of `fact_version` at either end of these entities: with `past` ended ones too, with `every` withdrawn ones."""
    bindings = {
        "ids": json.dumps(list(ids)),
        "p": as_of.position,
        "at": as_of.at,
        "past": past,
        "every": every,
        "source": source or "",
        "limit": limit,
    }
    return [row[0] for row in reader.rows(OF_ENTITY, bindings)]
