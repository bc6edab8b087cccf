"""What the log says of how an episode was extracted; reads graph and log, prints nothing."""

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
        episode.extracted + "recorded_at"], "failures": [payload of extraction.failed + "recorded_at"]}]}`.

    Raises:
        UsageError: No held episode is named so.
    """
    from ctxsync.engine.reading import shapes

    reader = app.reader()
    found = list(_named(reader, subject))
    if not found:
        raise UsageError(
            f"No episode is called {subject!r}, and nothing is at such a place.",
            remedy="Take an episode's id or a locator from `ctxsync search --json` or `ctxsync why --json`.",
        )
    told = shapes.episodes(reader, [(row, _LATEST) for row, _, _ in found])
    with closing(app.store()) as store:
        episodes = []
        for row, episode, source in found:
            about = told[row, _LATEST]
            events = list(_extractions(store, source, episode))
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
            yield event.type, {**event.payload, "recorded_at": recorded.replace("+00:00", "Z")}
