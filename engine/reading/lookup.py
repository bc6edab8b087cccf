"""Run a plan: attempts in order against the facts, within a window of valid time; knows no words of a question.

A fact answers when its relation, class, direction and named ends are those of the attempt, some support comes from
the sources and the person asked for, and its valid time fits. Current ones first, then the surest, then the latest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ctxsync.engine.reading import browse, senses, shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.reading.plan import Attempt, Plan
    from ctxsync.engine.reading.reader import AsOf, Reader
    from ctxsync.engine.reading.shapes import Shape

_CONDITIONS = """
  AND v.since <= :p AND (v.until IS NULL OR v.until > :p)
  AND (:start_min IS NULL OR v.valid_from >= :start_min)
  AND (:start_max IS NULL OR v.valid_from < :start_max)
  AND (NOT :ended OR v.valid_to IS NOT NULL)
  AND (:end_min IS NULL OR v.valid_to IS NULL OR v.valid_to > :end_min)
  AND (:end_max IS NULL OR v.valid_to <= :end_max)
  AND (:any_type OR EXISTS (
        SELECT 1 FROM entity_version AS t WHERE t.entity = {asked} AND t.since <= :p AND (t.until IS NULL OR t.until > :p)
        AND t.type IN (SELECT value FROM json_each(:types))))
  AND (:key = '' OR EXISTS (
        SELECT 1 FROM identity_key AS k WHERE k.entity = {asked} AND k.kind = :key
        AND k.since <= :p AND (k.until IS NULL OR k.until > :p)))
  AND (:anyone OR EXISTS (
        SELECT 1 FROM support AS s JOIN evidence AS e ON e.id = s.evidence JOIN episode AS ep ON ep.id = e.episode
        WHERE s.fact = f.id AND s.since <= :p AND (s.until IS NULL OR s.until > :p)
        AND (:any_source OR ep.source IN (SELECT value FROM json_each(:sources)) OR EXISTS (
            SELECT 1 FROM sighting AS o WHERE o.item = ep.item AND o.source IN (SELECT value FROM json_each(:sources))
            AND o.since <= :p AND (o.until IS NULL OR o.until > :p)))
        AND (:any_speaker OR EXISTS (
            SELECT 1 FROM identity AS y WHERE y.node = ep.author_node AND y.since <= :p AND (y.until IS NULL OR y.until > :p)
            AND y.entity IN (SELECT value FROM json_each(:speakers))))))
"""
_ORDER = """
ORDER BY CASE :mode WHEN 'first' THEN v.valid_from WHEN 'latest' THEN -v.valid_from END,
  (v.valid_from <= :at AND (v.valid_to IS NULL OR v.valid_to > :at)) DESC, v.confidence DESC, v.valid_from DESC, f.fact
LIMIT :limit
"""
# The + keeps SQLite off the index on relation and class, which leads through every fact of the class.
_FROM_HEAD = """
FROM json_each(:heads) AS j CROSS JOIN fact AS f ON f.head = j.value AND f.relation = :relation
CROSS JOIN fact_version AS v ON v.fact = f.id
WHERE +f.phrase_class IN (SELECT value FROM json_each(:classes))
  AND (:any_other OR f.tail IN (SELECT value FROM json_each(:tails)))
""" + _CONDITIONS.replace("{asked}", "f.tail")  # noqa: S608 - constant parts
_FROM_TAIL = """
FROM json_each(:tails) AS j CROSS JOIN fact AS f ON f.tail = j.value AND f.relation = :relation
CROSS JOIN fact_version AS v ON v.fact = f.id
WHERE +f.phrase_class IN (SELECT value FROM json_each(:classes))
  AND (:any_other OR f.head IN (SELECT value FROM json_each(:heads)))
""" + _CONDITIONS.replace("{asked}", "f.head")  # noqa: S608 - constant parts
_ROW = "SELECT v.rowid, f.head, f.tail, v.valid_from, v.valid_to, f.phrase_class, v.phrase, f.id "

BY_HEAD = _ROW + _FROM_HEAD + _ORDER
BY_TAIL = _ROW + _FROM_TAIL + _ORDER
COUNT_BY_HEAD = "SELECT count(DISTINCT f.tail) " + _FROM_HEAD
COUNT_BY_TAIL = "SELECT count(DISTINCT f.head) " + _FROM_TAIL

# The people behind the commits of a repository, a path or an issue: of each the latest commit.
PEOPLE_BEHIND = """
SELECT v.rowid, f.head, f.tail, max(v.valid_from), v.valid_to, f.phrase_class, v.phrase, f.id
FROM json_each(:ids) AS j
CROSS JOIN fact AS g ON g.tail = j.value AND g.relation IN (SELECT value FROM json_each(:relations))
     AND g.phrase_class IN (SELECT value FROM json_each(:classes))
CROSS JOIN fact AS f ON f.tail = g.head AND f.relation = 'participated_in' AND f.phrase_class = 'authorship'
CROSS JOIN fact_version AS v ON v.fact = f.id
WHERE v.since <= :p AND (v.until IS NULL OR v.until > :p)
  AND EXISTS (SELECT 1 FROM fact_version AS w WHERE w.fact = g.id AND w.since <= :p AND (w.until IS NULL OR w.until > :p))
  AND (:start_min IS NULL OR v.valid_from >= :start_min) AND (:start_max IS NULL OR v.valid_from < :start_max)
GROUP BY f.head ORDER BY max(v.valid_from) DESC, f.fact LIMIT :limit
"""

PHRASES = """
SELECT s.fact, e.phrase FROM json_each(:facts) AS j JOIN support AS s ON s.fact = j.value
JOIN evidence AS e ON e.id = s.evidence
WHERE s.role = 'states' AND s.since <= :p AND (s.until IS NULL OR s.until > :p)
"""

# How many facts are read where rank alone does not choose among them.
MANY = 1000
# The most that are counted one by one.
COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on a fact's valid time in milliseconds, None is no limit: it starts in [start_min, start_max), ends in (end_min, end_max]."""

    start_min: int | None = None
    start_max: int | None = None
    ended: bool = False
    end_min: int | None = None
    end_max: int | None = None


Row = tuple[int, int, int, int, int | None, str, str, int]


@dataclass(frozen=True, slots=True)
class Look:
    """One plan run against one state of the graph; at most `limit` facts answer."""

    reader: Reader
    plan: Plan
    as_of: AsOf
    limit: int


def run(reader: Reader, plan: Plan, as_of: AsOf, limit: int) -> Shape:
    """Return `answers` and, as they apply, `values`, `past`, `verdict`, `count` and `note`."""
    marks = plan.question.marks
    unnamed = [mark.text for mark in marks if not mark.entities]
    if plan.question.speaker is not None and not plan.question.speaker.entities:
        unnamed.append(plan.question.speaker.text)
    if unnamed:
        return {"answers": [], "note": f"Nothing here is called {' or '.join(repr(name) for name in unnamed)}."}
    steps = {"about": _about, "check": _check, "count": _count, "traverse": _people}
    return steps.get(plan.op, _answers)(Look(reader, plan, as_of, max(limit, 1)))


def _about(look: Look) -> Shape:
    entities = look.plan.question.marks[look.plan.asked.left or 0].entities
    source = look.plan.question.sources[0] if look.plan.question.sources else None
    rows = browse.of_entity(look.reader, entities, look.as_of, source, look.limit, past=False)
    if not rows and look.as_of.valid_at is None:
        rows = browse.of_entity(look.reader, entities, look.as_of, source, look.limit, past=True)
        note = "Nothing holds now; what did is under past." if rows else "It is named here, and no fact is known of it."
        return {"answers": [], "past": shapes.facts(look.reader, rows, look.as_of), "note": note}
    return {"answers": shapes.facts(look.reader, rows, look.as_of)}


def _answers(look: Look) -> Shape:
    """Look one end, or the time, of a relation up."""
    for attempt in look.plan.attempts:
        rows = _rows(look, attempt, bounds(look.plan, attempt, look.as_of))
        if rows:
            return _told(look, attempt, rows[: look.limit])
        if _present(look) and not attempt.ends:
            past = _rows(look, attempt, Bounds(ended=True, end_max=look.as_of.now))
            if past:
                # What was true of exactly this says more than a class nearby would.
                facts = shapes.facts(look.reader, [row[0] for row in past[: look.limit]], look.as_of)
                return {"answers": [], "past": facts, "note": "Nothing holds now; what did is under past."}
            meets = attempt.event or attempt.classes[0] == "site"
            ahead = _rows(look, attempt, Bounds(start_min=look.as_of.now + 1)) if meets else []
            if ahead:
                return {**_told(look, attempt, ahead[: look.limit]), "note": "This is still to come."}
    return {"answers": [], "note": "No fact here says that."}


def _present(look: Look) -> bool:
    window = look.plan.question.window
    dated = look.as_of.valid_at is not None or window.bounded
    return not dated and window.mode in ("", "now") and not look.plan.past


def bounds(plan: Plan, attempt: Attempt, as_of: AsOf) -> Bounds:
    """Return which valid times answer: of what is about a moment, when it was; of a state, while it held."""
    window = plan.question.window
    if window.bounded:
        if attempt.ends:
            return Bounds(ended=True, end_min=None if window.after is None else window.after - 1, end_max=window.before)
        if attempt.event or attempt.begins:
            return Bounds(start_min=window.after, start_max=window.before)
        return Bounds(start_max=window.before, end_min=window.after, ended=window.mode == "past")
    if attempt.ends or window.mode == "past":
        return Bounds(ended=True, end_max=as_of.at)
    if plan.asked.relative or plan.asked.want == "when" or window.mode in ("first", "latest"):
        return Bounds(start_max=None if as_of.valid_at is None else as_of.at + 1)
    if plan.past and as_of.valid_at is None and window.mode != "now":
        return Bounds()
    return Bounds(start_max=as_of.at + 1, end_min=as_of.at)


def _rows(look: Look, attempt: Attempt, limits: Bounds, most: int = 0) -> list[Row]:
    """Look up one attempt, with the types asked for and, where they find nothing, the type of anything ambiguous."""
    ordered = look.plan.asked.relative or look.plan.question.window.mode in ("first", "latest")
    sensed = any(senses.matters(attempt.phrase, name) for name in attempt.classes)
    for types in _types(look.plan, attempt):
        bindings = _bindings(look, attempt, limits, types)
        # Facts of a sense may be rare among the many of their class; those to be left out are rare themselves.
        choosy = ordered or any(senses.sense(attempt.phrase, name) for name in attempt.classes)
        bindings["limit"] = max(most, MANY if choosy else look.limit * 5 if sensed else look.limit)
        found: list[Any] = look.reader.rows(BY_HEAD if attempt.head is not None else BY_TAIL, bindings)
        rows = _chosen(look.plan, attempt, _agreeing(look, attempt, found) if sensed else found)
        if rows:
            return rows
    return []


def _types(plan: Plan, attempt: Attempt) -> list[tuple[str, ...]]:
    if attempt.relation == "depends_on" and plan.asked.wh == "who":
        return [()]  # Who uses Kafka: things do, and people say who.
    return list(dict.fromkeys((plan.types, (*plan.types, "Concept")))) if plan.types else [()]


def _bindings(look: Look, attempt: Attempt, limits: Bounds, types: Sequence[str]) -> dict[str, Any]:
    question = look.plan.question
    marks, speaker, sources = question.marks, question.speaker, question.sources
    one_end = attempt.head is None or attempt.tail is None
    return {
        "p": look.as_of.position,
        "at": look.as_of.at,
        "mode": question.window.mode,
        "relation": attempt.relation,
        "classes": json.dumps(attempt.classes),
        "heads": json.dumps(marks[attempt.head].entities if attempt.head is not None else []),
        "tails": json.dumps(marks[attempt.tail].entities if attempt.tail is not None else []),
        "any_other": one_end,
        "start_min": limits.start_min,
        "start_max": limits.start_max,
        "ended": limits.ended,
        "end_min": limits.end_min,
        "end_max": limits.end_max,
        "any_type": not types or not one_end,
        "types": json.dumps(types),
        "key": look.plan.key if one_end else "",
        "anyone": not sources and speaker is None,
        "any_source": not sources,
        "sources": json.dumps(sources),
        "any_speaker": speaker is None,
        "speakers": json.dumps(speaker.entities if speaker is not None else []),
    }


def _agreeing(look: Look, attempt: Attempt, rows: list[Row]) -> list[Row]:
    """Keep the facts that were put in words of the sense that was asked for, in their own or any source's words."""
    kept = {row[0] for row in rows if senses.agrees(attempt.phrase, row[5], (row[6],))}
    others = [row[7] for row in rows if row[0] not in kept]
    if others and senses.sense(attempt.phrase, attempt.classes[0]):
        said: dict[int, list[str]] = {}
        for fact, phrase in look.reader.rows(PHRASES, {"facts": json.dumps(others), "p": look.as_of.position}):
            said.setdefault(fact, []).append(phrase)
        kept |= {row[0] for row in rows if row[7] in said and senses.agrees(attempt.phrase, row[5], said[row[7]])}
    return [row for row in rows if row[0] in kept]


def _chosen(plan: Plan, attempt: Attempt, rows: list[Row]) -> list[Row]:
    """Pick by order in time: the first, the latest, or what came just before or after the pivot."""
    mode = plan.question.window.mode
    if plan.asked.relative and plan.asked.pivot is not None:
        pivots = set(plan.question.marks[plan.asked.pivot].entities)
        end = 2 if attempt.head is not None else 1
        starts = [row[3] for row in rows if row[end] in pivots]
        if not starts:
            return []
        if plan.asked.relative == "before":
            earlier = [row for row in rows if row[3] < min(starts) and row[end] not in pivots]
            return [max(earlier, key=lambda row: (row[3], row[0]))] if earlier else []
        later = [row for row in rows if row[3] > max(starts) and row[end] not in pivots]
        return [min(later, key=lambda row: (row[3], row[0]))] if later else []
    if mode == "first":
        return sorted(rows, key=lambda row: (row[3], row[0]))[:1]
    if mode == "latest":
        return sorted(rows, key=lambda row: (-row[3], row[0]))[: 1 if plan.op == "lookup" else None]
    return rows


def _told(look: Look, attempt: Attempt, rows: Sequence[Row]) -> Shape:
    answers = shapes.facts(look.reader, [row[0] for row in rows], look.as_of)
    if look.plan.asked.want == "when":
        values = [fact["valid_to" if attempt.ends else "valid_from"] for fact in answers]
    else:
        asked, named = ("tail", "head") if attempt.head is not None else ("head", "tail")
        values = [fact[asked]["name"] for fact in answers]
        meant = sorted({(fact[named]["name"], fact[named]["id"]) for fact in answers})
        if len(meant) > 1:
            names = ", ".join(name for name, _ in meant)
            return {"answers": answers, "values": _unique(values), "note": f"Several are meant by that name: {names}."}
    found: Shape = {"answers": answers, "values": _unique(values)}
    undated = look.as_of.valid_at is None and look.plan.asked.want != "when"
    if undated and not any(fact["current"] for fact in answers):
        found["note"] = "This no longer holds."
    return found


def _unique(values: Sequence[str | None]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value))


def _count(look: Look) -> Shape:
    known = False
    for attempt in look.plan.attempts:
        limits = bounds(look.plan, attempt, look.as_of)
        rows = _rows(look, attempt, limits)
        if not rows:
            known = known or bool(_rows(look, attempt, Bounds()))
            continue
        count = _counted(look, attempt, limits)
        answers = shapes.facts(look.reader, [row[0] for row in rows[: look.limit]], look.as_of)
        return {"answers": answers, "count": count, "values": [str(count)]}
    if known:
        return {"answers": [], "count": 0, "values": ["0"], "note": "None at that time."}
    return {"answers": [], "note": "No fact here says so, which is not to say that there are none."}


def _counted(look: Look, attempt: Attempt, limits: Bounds) -> int:
    """Count the things at the end asked for."""
    end = 2 if attempt.head is not None else 1
    if any(senses.matters(attempt.phrase, name) for name in attempt.classes):
        return len({row[end] for row in _rows(look, attempt, limits, COUNTED)})
    for types in _types(look.plan, attempt):
        bindings = _bindings(look, attempt, limits, types)
        count: int = look.reader.rows(COUNT_BY_HEAD if attempt.head is not None else COUNT_BY_TAIL, bindings)[0][0]
        if count:
            return count
    return 0


def _check(look: Look) -> Shape:
    """Decide whether a fact holds, with the fact that decides; the class asked for speaks before one nearby."""
    for near in (False, True):
        attempts = [attempt for attempt in look.plan.attempts if attempt.near == near]
        for attempt in attempts:
            rows = _rows(look, attempt, bounds(look.plan, attempt, look.as_of))
            if rows:
                return _verdict(look, rows, "yes")
        for attempt in attempts:
            if look.plan.asked.past and not look.plan.question.window.bounded and not attempt.ends:
                continue
            rows = _rows(look, attempt, Bounds())
            if rows:
                # It held at another time than the one asked for; of an end: it holds still.
                return _verdict(look, rows, "no")
        for attempt in attempts:
            if near or attempt.ends or attempt.head is None or not look.reader.schema.is_single(attempt.classes[0]):
                continue
            rows = _rows(look, replace(attempt, tail=None), bounds(look.plan, attempt, look.as_of))
            if rows and not look.plan.past:
                # One head has one tail at a time, and it is another one.
                return _verdict(look, rows, "no")
    return {"answers": [], "note": "No fact here says so, nor the contrary."}


def _verdict(look: Look, rows: Sequence[Row], verdict: str) -> Shape:
    answers = shapes.facts(look.reader, [row[0] for row in rows[: look.limit]], look.as_of)
    return {"answers": answers, "verdict": verdict, "values": [verdict]}


def _people(look: Look) -> Shape:
    plan, attempt = look.plan, look.plan.attempts[0]
    direct = attempt.relation == "references"
    behind = ["component", "change", "fix"]
    if {"file", "url"} & set(plan.question.marks[plan.asked.right or 0].keys):
        behind = ["link"]  # what a message attaches or links to
    bindings = {
        "ids": json.dumps(plan.question.marks[plan.asked.right or 0].entities),
        "relations": json.dumps(["references"] if direct else ["part_of", "references"]),
        "classes": json.dumps(list(attempt.classes) if direct else behind),
        "p": look.as_of.position,
        "start_min": plan.question.window.after,
        "start_max": plan.question.window.before if look.as_of.valid_at is None else look.as_of.valid_at + 1,
        "limit": look.limit,
    }
    rows = look.reader.rows(PEOPLE_BEHIND, bindings)
    if not rows:
        return {"answers": [], "note": "Nothing here says that."}
    answers = shapes.facts(look.reader, [row[0] for row in rows], look.as_of)
    return {"answers": answers, "values": _unique([fact["head"]["name"] for fact in answers])}
