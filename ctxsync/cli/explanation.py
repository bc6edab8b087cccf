"""What the log says of how an episode was extracted, and what it still waits for; reads graph and log, prints nothing."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ctxsync.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.app import App
    from ctxsync.engine.reading import Reader
    from ctxsync.events.store import EventStore

_LATEST = 2**62
_MOST = 10
_HEX = frozenset("0123456789abcdef")

BY_ID = """
SELECT id, episode, source FROM episode WHERE episode >= :id AND episode < :id || 'g' ORDER BY episode LIMIT :most
"""
BY_PLACE = """
SELECT e.id, e.episode, e.source, h.line FROM sighting AS s
JOIN episode AS e ON e.item = s.item JOIN holding AS h ON h.episode = e.id AND h.until IS NULL
WHERE s.place = :place AND s.until IS NULL ORDER BY h.line, e.id LIMIT :most
"""
BY_ITEM = """
SELECT e.id, e.episode, e.source, h.line FROM json_each(:items) AS j JOIN item AS i ON i.item = j.value
JOIN episode AS e ON e.item = i.id JOIN holding AS h ON h.episode = e.id AND h.until IS NULL ORDER BY e.id LIMIT :most
"""
PLACES = "SELECT DISTINCT place FROM sighting WHERE until IS NULL ORDER BY rowid DESC LIMIT :most"
_MOST_PLACES = 5_000
COUNTED = "SELECT counted FROM episode WHERE id = :id"
POSITIONS = """
SELECT position FROM event WHERE source = :source AND subject = :subject
AND type IN ('episode.extracted', 'extraction.failed') ORDER BY position
"""


def explain(app: App, subject: str) -> dict[str, Any]:
    """Return how the episodes that `subject` names were extracted.

    Args:
        app: The home.
        subject: An episode's id or the beginning of one (six characters or more), a place (`People/Nadia.md`), a place
            and a line (`People/Nadia.md:12`), a mail's `<message-id>`, or the link of a Slack message.

    Returns:
        `{"episodes": [{"episode", "source", "locator", "title", "text", "occurred_at", "extractions": [payload of
        episode.extracted + "recorded_at"], "failures": [payload of extraction.failed + "recorded_at"], "runs": [Run],
        "waits": [{"tier", "until", "why"}]}]}`. A Run is one of these events, in the order of the log: `outcome`
        (`extracted` or `failed`), `tier`, `model`, `run`, `recorded_at`, `counts` (it is what the graph believes), `why`
        (the gate's decisions in words), `gate`, `entities` and `relations` (numbers), `tokens_in`, `tokens_out`,
        `cost_usd`, `ms`; of a failed one `error`, `reason`, `attempt`, `retry_at`.

    Raises:
        UsageError: No held episode is named so; the nearest name is told.
    """
    from ctxsync.engine.reading import shapes

    reader = app.reader()
    found = list(_named(reader, subject))
    if not found:
        raise UsageError(
            f"No episode is called {subject!r}, and nothing is at such a place.{_nearest(reader, subject.strip())}",
            remedy="Take an episode's id or a locator from `ctxsync search --json` or `ctxsync why --json`.",
        )
    told = shapes.episodes(reader, [(row, _LATEST) for row, _, _ in found])
    with closing(app.store()) as store:
        episodes = []
        for row, episode, source in found:
            about = told[row, _LATEST]
            events = list(_extractions(store, source, episode))
            counted = reader.rows(COUNTED, {"id": row})[0][0]
            episodes.append(
                {
                    "episode": episode,
                    "source": source,
                    "locator": shapes.locator(about),
                    "title": about["title"],
                    "heading": about["heading"],
                    "text": about["text"],
                    "extractions": [body for kind, body in events if kind == "episode.extracted"],
                    "failures": [body for kind, body in events if kind == "extraction.failed"],
                    "runs": [_run(kind, body, counts=body["position"] == counted) for kind, body in events],
                    "waits": _waits(app, episode),
                }
            )
    return {"episodes": episodes}


def _named(reader: Reader, subject: str) -> Iterator[tuple[int, str, str]]:
    from ctxsync.engine.reading import linking

    word = subject.strip()
    if len(word) >= 6 and set(word.lower()) <= _HEX:
        yield from ((row[0], row[1], row[2]) for row in reader.rows(BY_ID, {"id": word.lower(), "most": _MOST}))
        return
    rows = reader.rows(BY_PLACE, {"place": word, "most": _MOST})
    place, colon, line = word.rpartition(":")
    if not rows and colon and line.isdecimal():
        above = [row for row in reader.rows(BY_PLACE, {"place": place, "most": _LATEST}) if row[3] <= int(line)]
        rows = above[-1:]
    if not rows:
        rows = reader.rows(BY_ITEM, {"items": json.dumps(linking.items_at(reader, word, _LATEST)), "most": _MOST})
    yield from ((row[0], row[1], row[2]) for row in rows)


def _extractions(store: EventStore, source: str, episode: str) -> Iterator[tuple[str, dict[str, Any]]]:
    from datetime import UTC, datetime

    rows = store.db.execute(POSITIONS, {"source": source, "subject": f"episode:{episode}"}).fetchall()
    for position in (int(str(row[0])) for row in rows):
        for event in store.read(position - 1, upto=position):
            recorded = datetime.fromtimestamp(event.recorded_at / 1000, UTC).isoformat(timespec="milliseconds")
            told = {"recorded_at": recorded.replace("+00:00", "Z"), "position": position}
            yield event.type, {**event.payload, **told}


def _run(kind: str, body: dict[str, Any], *, counts: bool) -> dict[str, Any]:
    from ctxsync.cli.gate_words import in_words

    known = {key: body[key] for key in ("tier", "model", "run", "recorded_at")}
    if kind == "extraction.failed":
        failed = {key: body.get(key, absent) for key, absent in (("error", ""), ("reason", ""), ("attempt", 0))}
        again = body.get("retry_at") or 0
        ended = {"retry_at": _rfc3339(again) if again else None, "ms": body.get("ms", 0.0)}
        return {"outcome": "failed", **known, "counts": False, **failed, **ended}
    gate = list(body.get("gate") or ())
    figures = {key: body.get(key, 0) for key in ("tokens_in", "tokens_out", "cost_usd", "ms")}
    numbers = {key: len(body[key]) for key in ("entities", "relations")}
    why = {"why": [in_words(entry) for entry in gate], "gate": gate}
    return {"outcome": "extracted", **known, "counts": counts, **why, **numbers, **figures}


def _waits(app: App, episode: str) -> list[dict[str, Any]]:
    """Return the tiers that an episode waits for, as they were when one was last at work."""
    from ctxsync.engine.extraction.escalation import Place, waits
    from ctxsync.escalation_notes import closed_sources, may_escalate, noted, resting

    if not may_escalate(app):
        return []
    now = app.clock()
    rests = {rest["tier"]: rest for rest in resting(app)}
    found = []
    with closing(app.graph()) as graph:
        for step in noted(app).get("steps") or ():
            place = Place(step["run"], step["lowest"], step["highest"], step["every"], tuple(step["below"]))
            closed = closed_sources(app, graph.db, cloud=step["cloud"])
            if waits(graph.db, place, closed, episode, now=now):
                rest = rests.get(place.lowest, {})
                why = rest.get("why") or "Its turn has not come."
                found.append({"tier": place.lowest, "until": rest.get("until"), "why": why})
    return found


def _nearest(reader: Reader, word: str) -> str:
    """Return a question for the place, or the id, that a word may have been meant for; nothing where none is near."""
    from difflib import get_close_matches

    if len(word) >= 6 and set(word.lower()) <= _HEX:
        for length in range(len(word) - 1, 5, -1):
            rows = reader.rows(BY_ID, {"id": word[:length].lower(), "most": 1})
            if rows:
                return f" Did you mean {rows[0][1]}?"
        return ""
    place = word.rpartition(":")[0] if word.rpartition(":")[2].isdecimal() else word
    places = [row[0] for row in reader.rows(PLACES, {"most": _MOST_PLACES})]
    near = get_close_matches(place, places, 1, 0.6)
    if not near:
        names = {path.rpartition("/")[2]: path for path in places}
        near = [names[name] for name in get_close_matches(place.rpartition("/")[2], list(names), 1, 0.6)]
    return f" Did you mean {near[0]}?" if near else ""


def _rfc3339(moment: int) -> str:
    from ctxsync.status import rfc3339

    return rfc3339(moment)
