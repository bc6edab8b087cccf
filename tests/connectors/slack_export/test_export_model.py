"""Exports one over the other, read to their end or cut short anywhere: what is held is what the last ones show."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsync.connectors.base import Observed, Options, Sighted, Stream, Unsighted
from ctxsync.connectors.slack_export import SlackExportConnector
from tests.connectors.slack_export.conftest import DAYS, NOW, Source, message

if TYPE_CHECKING:
    from ctxsync.connectors.base import Json

CHANNEL = "C1GARDEN"
FIRST, MIDDLE, LAST = DAYS
NUMBERS = st.sets(st.integers(0, 9), max_size=8)
EXPORT = st.fixed_dictionaries({FIRST: NUMBERS, LAST: NUMBERS}, optional={MIDDLE: NUMBERS})
EDITED = st.sampled_from(["as it was", "edited"])


class Held:
    """What the log would hold: texts by the end of an id, of what is sighted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cursor: dict[str, Json] = {}
        self.texts: dict[str, str] = {}
        self.sighted: set[str] = set()

    def read(self, batches: int | None) -> int:
        """Read, at most so many batches; return how many changes there were."""
        options = Options(now=NOW, allow_deletes=True)
        connector = SlackExportConnector("work", {"path": str(self.path), "team": "T1"}, options, batch=3)
        changes = 0
        for number, batch in enumerate(connector.read(Stream("work", CHANNEL), dict(self.cursor) or None)):
            if number == batches:
                break
            self.cursor |= batch.cursor
            self.cursor = {key: value for key, value in self.cursor.items() if value is not None}
            for change in batch.changes:
                changes += 1
                if isinstance(change, Observed):
                    self.texts[change.item.id] = change.item.sections[0].text
                elif isinstance(change, Sighted):
                    self.sighted.add(change.item)
                elif isinstance(change, Unsighted):
                    assert change.item in self.sighted
                    self.sighted.remove(change.item)
        return changes


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(EXPORT, EDITED, st.none() | st.integers(0, 4)), min_size=1, max_size=4))
def test_what_is_held_is_what_the_last_export_of_each_day_shows(
    passes: list[tuple[dict[str, set[int]], str, Any]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, held = Source(Path(folder)), Held(Path(folder))
        shown: dict[str, dict[str, str]] = {}
        for days, text, cut in passes:
            for day, numbers in days.items():
                said = [message(day, number, text=text if number % 2 else "always") for number in sorted(numbers)]
                shown[day] = {f"slack:T1/{CHANNEL}/{one['ts']}": one["text"] for one in said}
                source.put(f"{CHANNEL}/{day}.json", said)
            if MIDDLE not in days:
                (source.path / CHANNEL / f"{MIDDLE}.json").unlink(missing_ok=True)
            if cut is not None:
                held.read(cut)
            held.read(None)
            expected = {id_: text for day in shown.values() for id_, text in day.items()}
            assert held.sighted == set(expected)
            assert {id_: held.texts[id_] for id_ in held.sighted} == expected
            assert held.read(None) == 0
