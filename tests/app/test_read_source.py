from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Batch, Item, Moved, Observed, Quarantined, Section, Sighted, Stream, Unsighted
from ctxsync.errors import AuthError, CursorExpired, RateLimited, StoreFull, SuspiciousDeletion, Unavailable
from ctxsync.events.store import EventStore
from ctxsync.sync import SourceReport, Step, no_progress, preview_source, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

NOW = 1_700_000_000_000


class Scripted:
    """A source that says what a test tells it to."""

    def __init__(self, *streams: str) -> None:
        self.name = "vault"
        self.streams = streams or (".",)
        self.refused: Exception | None = None
        self.script: dict[str, list[Batch | Exception]] = {}
        self.cursors: list[Mapping[str, Any] | None] = []

    def discover(self) -> Iterator[Stream]:
        if self.refused:
            raise self.refused
        for name in self.streams:
            yield Stream(self.name, name)

    def read(self, stream: Stream, cursor: Mapping[str, Any] | None) -> Iterator[Batch]:
        self.cursors.append(cursor)
        for step in self.script.get(stream.name, []):
            if isinstance(step, Exception):
                raise step
            yield step


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EventStore]:
    with EventStore.open(tmp_path / "events.db", write=True) as store:
        yield store


def read(store: EventStore, source: Scripted, progress: Callable[[Step], None] = no_progress) -> SourceReport:
    report = SourceReport(source.name)
    read_source(store, source, NOW, report, progress=progress)
    return report


def note(name: str, text: str = "Rosa lives in Lyon.", **more: Any) -> tuple[Observed, Sighted]:
    item = Item(f"note:{name}", "note", name, (Section("", text, NOW - 5, line=1, **more),))
    return Observed(item, f"{name}.md"), Sighted(item.id, f"{name}.md")


def types(store: EventStore) -> list[str]:
    return [event.type for event in store.read()]


def test_a_batch_and_its_cursor_are_stored_and_counted(store: EventStore) -> None:
    source = Scripted()
    known = (*note("b"), *note("d"))
    changes = (*note("a"), Moved("note:b", "b.md", "c.md"), Unsighted("note:d", "d.md"), Quarantined("e.md", "locked"))
    source.script["."] = [Batch(known)]
    read(store, source)
    source.script["."] = [Batch(changes, {"mark": 1}, seen=9, unchanged=4, skipped={".pdf": 2})]
    steps: list[Step] = []
    report = read(store, source, steps.append)
    expected = {"seen": 9, "observed": 1, "moved": 1, "retracted": 1, "quarantined": 1, "unchanged": 4}
    assert expected.items() <= report.as_json().items()
    assert report.skipped == {".pdf": 2}
    assert store.cursor("vault", ".") == {"mark": 1}
    expected_types = ["item.observed", "item.sighted", "item.moved", "item.unsighted", "item.quarantined"]
    assert types(store)[4:] == expected_types
    assert steps == [Step("read", 9, None, "vault")]


def test_a_first_read_has_no_cursor_and_a_second_one_has_the_stored_one(store: EventStore) -> None:
    source = Scripted()
    source.script["."] = [Batch((), {"mark": 1})]
    read(store, source)
    read(store, source)
    assert source.cursors == [None, {"mark": 1}]


def test_reading_the_same_again_stores_nothing(store: EventStore) -> None:
    source = Scripted()
    source.script["."] = [Batch(note("a"))]
    read(store, source)
    head = store.head()
    read(store, source)
    assert store.head() == head


@pytest.mark.parametrize("error", [Unavailable("The folder is gone."), AuthError("No."), RuntimeError("a defect")])
def test_one_stream_that_fails_keeps_what_it_gave_and_stops_no_other(store: EventStore, error: Exception) -> None:
    source = Scripted("one", "two")
    source.script = {"one": [Batch(note("a"), {"mark": 1}), error], "two": [Batch(note("b"))]}
    report = read(store, source)
    assert types(store).count("item.observed") == 2
    assert store.cursor("vault", "one") == {"mark": 1}
    (problem,) = report.problems
    assert (problem["kind"], problem["source"], problem["place"]) == ("paused", "vault", "one")
    assert report.paused == problem["message"]


@pytest.mark.parametrize(
    ("error", "patience", "asked"),
    [
        (RateLimited("Slow down.", retry_after=60), 10.0, ["one"]),
        (Unavailable("Nobody answers."), -1.0, ["one"]),
        (Unavailable("That folder is closed."), 10.0, ["one", "two"]),
    ],
)
def test_a_server_that_answers_nothing_is_not_waited_for_once_more_for_every_stream(
    store: EventStore, monkeypatch: pytest.MonkeyPatch, error: Exception, patience: float, asked: list[str]
) -> None:
    monkeypatch.setattr("ctxsync.sync.PATIENCE", patience)
    source = Scripted("one", "two")
    source.script = {"one": [error], "two": []}
    report = read(store, source)
    assert len(source.cursors) == len(asked)
    assert [problem["place"] for problem in report.problems] == ["one"]


def test_a_paused_stream_resumes_when_it_reads_again_and_says_so_once(store: EventStore) -> None:
    source = Scripted()
    source.script["."] = [Unavailable("The folder is gone.")]
    read(store, source)
    read(store, source)
    source.script["."] = [Batch(note("a"))]
    read(store, source)
    read(store, source)
    assert types(store) == ["source.paused", "item.observed", "item.sighted", "source.resumed"]


def test_a_source_that_cannot_list_its_streams_is_paused_and_resumes(store: EventStore) -> None:
    source = Scripted()
    source.refused = Unavailable("The folder is gone.")
    assert read(store, source).paused == "The folder is gone."
    source.refused = None
    assert read(store, source).paused is None
    assert types(store) == ["source.paused", "source.resumed"]


def test_a_suspicious_deletion_is_recorded_with_its_numbers_after_the_additions(store: EventStore) -> None:
    source = Scripted()
    source.script["."] = [Batch(note("a")), SuspiciousDeletion("40 of 50 vanished.", vanished=40, known=50)]
    read(store, source)
    paused = [event for event in store.read() if event.type == "source.paused"]
    assert [(event.payload["vanished"], event.payload["known"]) for event in paused] == [(40, 50)]
    assert types(store)[0] == "item.observed"


def test_an_expired_cursor_is_cleared_and_the_stream_read_from_the_start(store: EventStore) -> None:
    source = Scripted()
    source.script["."] = [Batch((), {"old": 1, "kept": 1})]
    read(store, source)
    answers: list[list[Batch | Exception]] = [[CursorExpired("gone")], [Batch(note("a"), {"new": 2, "kept": 3})]]
    source.read = lambda stream, cursor: _next(answers, cursor, source)  # type: ignore[method-assign]  # a fake that answers in turn
    report = read(store, source)
    assert report.paused is None
    assert source.cursors == [None, {"old": 1, "kept": 1}, None]
    assert store.cursor("vault", ".") == {"new": 2, "kept": 3}


def _next(
    answers: list[list[Batch | Exception]], cursor: Mapping[str, Any] | None, source: Scripted
) -> Iterator[Batch]:
    source.cursors.append(cursor)
    for step in answers.pop(0):
        if isinstance(step, Exception):
            raise step
        yield step


@pytest.mark.parametrize(
    "broken",
    [
        lambda: note("bad", "half a pair: \ud800"),
        lambda: note("bad", attributes={"when": object()}),
        lambda: note("bad", attributes={"size": 2**70}),
    ],
)
def test_an_item_that_no_event_can_hold_is_quarantined_alone_and_released_when_it_can_be(
    store: EventStore, broken: Callable[[], tuple[Observed, Sighted]]
) -> None:
    source = Scripted()
    source.script["."] = [Batch((*note("a"), *broken(), *note("c")))]
    read(store, source)
    assert types(store) == ["item.observed", "item.sighted", "item.quarantined", "item.observed", "item.sighted"]
    source.script["."] = [Batch(note("bad"))]
    read(store, source)
    assert types(store)[5:] == ["item.released", "item.observed", "item.sighted"]


def test_an_interrupt_between_batches_keeps_the_first_and_the_next_pass_does_the_rest(store: EventStore) -> None:
    source = Scripted()
    source.script["."] = [Batch(note("a"), {"mark": 1}), Batch(note("b"), {"mark": 2})]

    def interrupt(_: Step) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(store, source, interrupt)
    assert store.cursor("vault", ".") == {"mark": 1}
    source.script["."] = source.script["."][1:]
    read(store, source)
    assert types(store) == ["item.observed", "item.sighted"] * 2


def test_a_full_disk_stores_nothing_of_the_batch_and_the_next_pass_goes_on(store: EventStore) -> None:
    source = Scripted()
    source.script["."] = [Batch(note("a"), {"mark": 1}), Batch(note("b", "long " * 100_000), {"mark": 2})]
    pages = store.db.execute("PRAGMA page_count").get
    store.db.execute(f"PRAGMA max_page_count = {pages + 20}")
    with pytest.raises(StoreFull, match="full"):
        read(store, source)
    assert store.cursor("vault", ".") == {"mark": 1}
    assert types(store) == ["item.observed", "item.sighted"]
    store.db.execute("PRAGMA max_page_count = 1000000")
    assert read(store, source).paused is None
    assert store.cursor("vault", ".") == {"mark": 2}
    assert types(store) == ["item.observed", "item.sighted"] * 2


def test_a_preview_counts_what_would_happen_and_what_would_pause() -> None:
    source = Scripted("one", "two")
    source.script = {
        "one": [Batch((*note("a"), Moved("note:b", "b.md", "c.md"), Unsighted("note:d", "d.md")), seen=3)],
        "two": [SuspiciousDeletion("40 of 50 vanished.", vanished=40, known=50)],
    }
    report: SourceReport = preview_source(source, lambda _: {}, progress=lambda _: None)
    assert (report.observed, report.moved, report.retracted, report.sections) == (1, 1, 1, 1)
    assert [problem["place"] for problem in report.problems] == ["two"]
