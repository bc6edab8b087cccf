"""Answer a question: read it, plan it, look it up, and say plainly when there is nothing; no model ever decides.

Only facts of the asked relation and direction, with the ends that were named, are answers. What no longer holds is
told apart (`past`), never in place of what holds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ctxsync.engine.reading import linking, lookup, saying, shapes, telling
from ctxsync.engine.reading import plan as planning
from ctxsync.engine.reading import question as questions
from ctxsync.engine.reading.clock import rfc3339
from ctxsync.engine.reading.searching import passages as nearest

if TYPE_CHECKING:
    from ctxsync.engine.reading.plan import Plan
    from ctxsync.engine.reading.reader import AsOf, Reader
    from ctxsync.engine.reading.saying import Said
    from ctxsync.engine.reading.shapes import Shape


def ask(
    reader: Reader,
    question: str,
    *,
    now: int,
    valid_at: int | None = None,
    known_at: int | None = None,
    source: str | None = None,
    limit: int = 10,
    vectors: bool = True,
) -> Shape:
    """Answer a question as of `valid_at` (what held then) and `known_at` (what was recorded by then), both ms UTC.

    Returns DESIGN's shape, with these extra keys: `values` (what was asked for, as text: names, dates, a number, `yes`,
    `no`), `past` (facts that answered once and hold no longer), `verdict` (`yes`, `no` or None, of a yes-or-no
    question), `count` (of a `how many`) and `note` (why there is no answer, how a name was read).
    """
    started = time.perf_counter()
    with reader.snapshot():
        as_of = reader.as_of(now=now, valid_at=valid_at, known_at=known_at)
        plan, said = _plan(reader, question, as_of)
        if said is not None:
            answer = telling.told(reader, said, as_of, source=source, limit=limit, vectors=vectors)
        elif plan is None:
            answer = {
                "plan": telling.plan([source] if source else []),
                "answers": [],
                "note": "Read as a search: no single look-up answers it.",
            }
        else:
            if source:
                plan.question.sources = [source]
            answer = {"plan": _described(plan), **_answered(reader, plan, as_of, limit)}
        passages = answer.pop("passages", [])
        if said is None and not answer["answers"] and answer.get("count") is None and answer.get("verdict") is None:
            passages = nearest(reader, question, as_of, source=source, limit=limit, vectors=vectors)
            if plan is None and not passages:
                answer["note"] = "Nothing here says anything about that."
    return {
        "question": question,
        "plan": answer.pop("plan"),
        "answers": answer.pop("answers"),
        "passages": passages,
        "llm_calls": 0,
        "took_ms": round((time.perf_counter() - started) * 1000, 3),
        "values": answer.pop("values", []),
        "past": answer.pop("past", []),
        "verdict": answer.pop("verdict", None),
        "count": answer.pop("count", None),
        "note": answer.pop("note", ""),
    }


def _plan(reader: Reader, text: str, as_of: AsOf) -> tuple[Plan | None, Said | None]:
    """Return the first reading that makes a plan or asks what was said, those whose names are all known first."""
    unnamed: tuple[Plan | None, Said | None] = None, None
    for reading in questions.read(reader, text, as_of):
        ids = [entity for mark in reading.marks for entity in mark.entities]
        told = shapes.entities(reader, ids, as_of.position)
        for mark in reading.marks:
            known = [told[entity] for entity in mark.entities if entity in told]
            mark.types = tuple(sorted({shape["type"] for shape in known}))
            mark.keys = tuple(sorted({kind for shape in known for kind in shape["keys"]}))
        said = saying.make(reading)
        if said is not None and (said.speaker is None or said.speaker.entities):
            return None, said
        plan = None if said is not None else planning.make(reader.language, reading)
        if plan is None and said is None:
            continue
        if plan is not None and all(mark.entities for mark in reading.marks):
            return plan, None
        unnamed = unnamed if any(unnamed) else (plan, said)
    return unnamed


def _answered(reader: Reader, plan: Plan, as_of: AsOf, limit: int) -> Shape:
    """Run the plan; where it finds nothing, once more with names read as subjects and first names."""
    marks = plan.question.marks
    answer = lookup.run(reader, plan, as_of, limit)
    if _empty(answer):
        wider = [linking.widened(reader, mark.gram, mark.entities, as_of.position) for mark in marks]
        if wider != [mark.entities for mark in marks]:
            for mark, entities in zip(marks, wider, strict=True):
                mark.entities = entities
            answer = lookup.run(reader, plan, as_of, limit)
    guesses = [f"Read {mark.text!r} as {mark.guessed!r}." for mark in marks if mark.guessed and mark.entities]
    answer["note"] = " ".join([*guesses, answer.get("note", "")]).strip()
    return answer


def _empty(answer: Shape) -> bool:
    return not answer["answers"] and not answer.get("past") and answer.get("verdict") is None


def _described(plan: Plan) -> Shape:
    asked, marks, window = plan.asked, plan.question.marks, plan.question.window
    first = plan.attempts[0] if plan.attempts else None
    filters: dict[str, Any] = {
        "entity_type": plan.types[0] if plan.types else None,
        "time_after": rfc3339(window.after),
        "time_before": rfc3339(window.before),
    }
    if window.mode:
        filters["time"] = window.mode
    if plan.question.sources:
        filters["source"] = plan.question.sources
    if plan.question.speaker is not None:
        filters["person"] = plan.question.speaker.text
    if first is not None:
        filters["phrase_class"] = first.classes[0]
    if asked.relative and asked.pivot is not None:
        filters[asked.relative] = marks[asked.pivot].text
    head = first.head if first is not None else asked.left
    tail = first.tail if first is not None else asked.right
    return {
        "op": plan.op,
        "head": None if head is None else marks[head].text,
        "relation": None if first is None else first.relation,
        "direction": None if first is None else first.direction,
        "tail": None if tail is None else marks[tail].text,
        "filters": {key: value for key, value in filters.items() if value is not None},
        "route": "complex" if plan.op == "traverse" or asked.relative else "simple",
        "asked": asked.want,
    }
