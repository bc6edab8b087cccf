"""Run a plan: attempts in order against the facts, within a window of valid time; knows no words of a question.

A fact answers when its relation, class, direction and named ends are those of the attempt, some support comes from
the sources and the person asked for, and its valid time fits. Current ones first, then the surest, then the latest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ctxsync.engine.reading import browse, shapes

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
        AND (:any_source OR ep.source IN (SELECT value FROM json_each(:sources)))
        AND (:any_speaker OR EXISTS (
            SELECT 1 FROM identity AS y WHERE y.node = ep.author_node AND y.since <= :p AND (y.until IS NULL OR y.until > :p)
            AND y.entity IN (SELECT value FROM json_each(:speakers))))))
"""
_ORDER = """
ORDER BY (v.valid_from <= :at AND (v.valid_to IS NULL OR v.valid_to > :at)) DESC, v.confidence DESC, v.valid_from DESC, f.fact
LIMIT :limit
"""
_FROM_HEAD = """
FROM json_each(:heads) AS j CROSS JOIN fact AS f ON f.head = j.value AND f.relation = :relation
CROSS JOIN fact_version AS v ON v.fact = f.id
WHERE f.phrase_class IN (SELECT value FROM json_each(:classes))
  AND (:any_other OR f.tail IN (SELECT value FROM json_each(:tails)))
""" + _CONDITIONS.format(asked="f.tail")
_FROM_TAIL = """
FROM json_each(:tails) AS j CROSS JOIN fact AS f ON f.tail = j.value AND f.relation = :relation
CROSS JOIN fact_version AS v ON v.fact = f.id
WHERE f.phrase_class IN (SELECT value FROM json_each(:classes))
  AND (:any_other OR f.head IN (SELECT value FROM json_each(:heads)))
""" + _CONDITIONS.format(asked="f.head")
_ROW = "SELECT v.rowid, f.head, f.tail, v.valid_from, v.valid_to, f.phrase_class "

BY_HEAD = _ROW + _FROM_HEAD + _ORDER
BY_TAIL = _ROW + _FROM_TAIL + _ORDER
COUNT_BY_HEAD = "SELECT count(DISTINCT f.tail) " + _FROM_HEAD
COUNT_BY_TAIL = "SELECT count(DISTINCT f.head) " + _FROM_TAIL

# The people behind the commits of a repository, a path or an issue: of each the latest commit.
PEOPLE_BEHIND = """
SELECT v.rowid, f.head, f.tail, max(v.valid_from), v.valid_to, f.phrase_class
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

# How many facts are read where the order is not by rank, or a pivot has to be found among them.
MANY = 1000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on a fact's valid time, milliseconds; None is no limit. Starts in [start_min, start_max), ends in (end_min, end_max]."""

    start_min: int | None = None
    start_max: int | None = None
    ended: bool = False
    end_min: int | None = None
    end_max: int | None = None


Row = tuple[int, int, int, int, int | None, str]


def run(reader: Reader, plan: Plan, as_of: AsOf, limit: int) -> Shape:
    """Return `answers` and, as they apply, `values`, `past`, `verdict`, `count` and `note`."""
    marks = plan.question.marks
    unnamed = [mark.text for mark in marks if not mark.entities]
    if plan.question.speaker is not None and not plan.question.speaker.entities:
        unnamed.append(plan.question.speaker.text)
    if unnamed:
        return {"answers": [], "note": f"Nothing here is called {_quoted(unnamed)}."}
    guesses = [f"Read {mark.text!r} as {mark.guessed!r}." for mark in marks if mark.guessed]
    steps = {"about": _about, "check": _check, "count": _count, "traverse": _people}
    found = steps.get(plan.op, _answers)(reader, plan, as_of, limit)
    found["note"] = " ".join([*guesses, found.get("note", "")]).strip()
    return found


def _quoted(names: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _about(reader: Reader, plan: Plan, as_of: AsOf, limit: int) -> Shape:
    entities = plan.question.marks[plan.asked.left or 0].entities
    rows = browse.of_entity(reader, entities, as_of, None, limit, past=False)
    if not rows and as_of.valid_at is None:
        rows = browse.of_entity(reader, entities, as_of, None, limit, past=True)
        note = "Nothing holds now; this is what did." if rows else "It is named here, and no fact is known of it."
        return {"answers": [], "past": shapes.facts(reader, rows, as_of), "note": note}
    return {"answers": shapes.facts(reader, rows, as_of)}


def _answers(reader: Reader, plan: Plan, as_of: AsOf, limit: int) -> Shape:
    """Look one end, or the time, of a relation up."""
    past: list[Row] = []
    for attempt in plan.attempts:
        rows = _rows(reader, plan, attempt, bounds(plan, attempt, as_of), as_of, limit)
        if rows:
            return _told(reader, plan, attempt, rows[:limit], as_of)
        if not past and _present(plan, as_of) and not attempt.ends:
            past = _rows(reader, plan, attempt, Bounds(ended=True, end_max=as_of.now), as_of, limit)
            if past:
                # What was true of exactly this says more than a nearby class would.
                break
    if past:
        facts = shapes.facts(reader, [row[0] for row in past], as_of)
        return {"answers": [], "past": facts, "note": "Nothing holds now; what did is under past."}
    return {"answers": [], "note": "No fact here says that."}


def _present(plan: Plan, as_of: AsOf) -> bool:
    window = plan.question.window
    return (
        as_of.valid_at is None
        and not window.bounded
        and window.mode in ("", "now", "first", "latest")
        and not plan.past
    )


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


def _rows(reader: Reader, plan: Plan, attempt: Attempt, limits: Bounds, as_of: AsOf, limit: int) -> list[Row]:
    """Look up one attempt, with the types asked for and, where they find nothing, the type of anything ambiguous."""
    ordered = plan.asked.relative or plan.question.window.mode in ("first", "latest")
    for types in dict.fromkeys((plan.types, (*plan.types, "Concept") if plan.types else ())):
        bindings = _bindings(plan, attempt, limits, as_of, types, MANY if ordered else limit)
        rows: list[Any] = reader.rows(BY_HEAD if attempt.head is not None else BY_TAIL, bindings)
        rows = _chosen(plan, attempt, rows)
        if rows:
            return rows
    return []


def _bindings(
    plan: Plan, attempt: Attempt, limits: Bounds, as_of: AsOf, types: Sequence[str], limit: int
) -> dict[str, Any]:
    marks, speaker, sources = plan.question.marks, plan.question.speaker, plan.question.sources
    one_end = attempt.head is None or attempt.tail is None
    return {
        "p": as_of.position,
        "at": as_of.at,
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
        "key": plan.key if one_end else "",
        "anyone": not sources and speaker is None,
        "any_source": not sources,
        "sources": json.dumps(sources),
        "any_speaker": speaker is None,
        "speakers": json.dumps(speaker.entities if speaker is not None else []),
        "limit": limit,
    }


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


def _told(reader: Reader, plan: Plan, attempt: Attempt, rows: Sequence[Row], as_of: AsOf) -> Shape:
    answers = shapes.facts(reader, [row[0] for row in rows], as_of)
    if plan.asked.want == "when":
        values = [fact["valid_to" if attempt.ends else "valid_from"] for fact in answers]
    else:
        end = "tail" if attempt.head is not None else "head"
        values = [fact[end]["name"] for fact in answers]
    found: Shape = {"answers": answers, "values": list(dict.fromkeys(value for value in values if value))}
    if _present(plan, as_of) or plan.asked.want == "when":
        return found
    ended = [fact for fact in answers if not fact["current"]]
    if ended and len(ended) == len(answers) and as_of.valid_at is None:
        found["note"] = "This no longer holds."
    return found


def _count(reader: Reader, plan: Plan, as_of: AsOf, limit: int) -> Shape:
    for attempt in plan.attempts:
        limits = bounds(plan, attempt, as_of)
        rows = _rows(reader, plan, attempt, limits, as_of, limit)
        if not rows:
            continue
        bindings = _bindings(plan, attempt, limits, as_of, plan.types, limit)
        count = reader.rows(COUNT_BY_HEAD if attempt.head is not None else COUNT_BY_TAIL, bindings)[0][0]
        if not count:
            bindings |= {"types": json.dumps([*plan.types, "Concept"])}
            count = reader.rows(COUNT_BY_HEAD if attempt.head is not None else COUNT_BY_TAIL, bindings)[0][0]
        return {
            "answers": shapes.facts(reader, [row[0] for row in rows], as_of),
            "count": count,
            "values": [str(count)],
        }
    return {
        "answers": [],
        "count": 0,
        "values": ["0"],
        "note": "No fact here says so; that is not to say there are none.",
    }


def _check(reader: Reader, plan: Plan, as_of: AsOf, limit: int) -> Shape:
    """Decide whether a fact holds, with the fact that decides."""
    every = Bounds()
    for attempt in plan.attempts:
        rows = _rows(reader, plan, attempt, bounds(plan, attempt, as_of), as_of, limit)
        if rows:
            return _verdict(reader, rows, as_of, yes=True)
    for attempt in plan.attempts:
        rows = _rows(reader, plan, attempt, every, as_of, limit)
        if rows:
            # It held at another time than the one asked for; of an end, it holds still.
            return _verdict(reader, rows, as_of, yes=False)
    for attempt in plan.attempts:
        single = [name for name in attempt.classes if reader.schema.is_single(name)]
        if not single or attempt.ends or attempt.head is None or len(attempt.classes) > 1:
            continue
        alone = replace(attempt, tail=None)
        rows = _rows(reader, plan, alone, bounds(plan, attempt, as_of), as_of, limit)
        if rows:
            # One head has one tail at a time, and it is another one.
            return _verdict(reader, rows, as_of, yes=False)
    return {"answers": [], "verdict": None, "note": "No fact here says so, nor the contrary."}


def _verdict(reader: Reader, rows: Sequence[Row], as_of: AsOf, *, yes: bool) -> Shape:
    word = "yes" if yes else "no"
    return {"answers": shapes.facts(reader, [row[0] for row in rows], as_of), "verdict": word, "values": [word]}


def _people(reader: Reader, plan: Plan, as_of: AsOf, limit: int) -> Shape:
    attempt = plan.attempts[0]
    direct = attempt.relation == "references"
    bindings = {
        "ids": json.dumps(plan.question.marks[plan.asked.right or 0].entities),
        "relations": json.dumps(["references"] if direct else ["part_of", "references"]),
        "classes": json.dumps(list(attempt.classes) if direct else ["component", "change", "fix"]),
        "p": as_of.position,
        "start_min": plan.question.window.after,
        "start_max": plan.question.window.before if as_of.valid_at is None else as_of.valid_at + 1,
        "limit": limit,
    }
    rows = reader.rows(PEOPLE_BEHIND, bindings)
    if not rows:
        return {"answers": [], "note": "No commit here says that."}
    answers = shapes.facts(reader, [row[0] for row in rows], as_of)
    return {"answers": answers, "values": list(dict.fromkeys(fact["head"]["name"] for fact in answers))}
