"""What holds for every log, whatever was appended to it in whatever batches."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsync.events import model
from ctxsync.events.envelope import EARLIEST, LATEST, uuid7s
from ctxsync.events.erasure import erase
from ctxsync.events.jsonl import export_log, from_line, import_log, to_line
from ctxsync.events.recovery import cut
from ctxsync.events.replay import derive, records
from ctxsync.events.store import EventStore, NewEvent
from ctxsync.events.upcast import KNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxsync.events.model import Payload

SOURCES = st.sampled_from(["vault", "copy"])
ITEMS = st.sampled_from(["note:1", "note:2"])
PLACES = st.sampled_from(["a.md", "b.md", "c d/ü.md"])
CONTENTS = st.sampled_from(["x", "y", "z"])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TIMES = st.integers(EARLIEST, LATEST)


@st.composite
def events(draw: st.DrawFn) -> NewEvent:
    item, place = draw(ITEMS), draw(PLACES)
    kinds: dict[str, Callable[[], Payload]] = {
        "observed": lambda: model.ItemObserved(
            item=item,
            kind="note",
            place=place,
            title=draw(TEXTS),
            sections=(),
            content=draw(CONTENTS),
            attributes=draw(st.dictionaries(TEXTS, JSON, max_size=3)),
        ),
        "sighted": lambda: model.ItemSighted(item=item, place=place),
        "unsighted": lambda: model.ItemUnsighted(item=item, place=place),
        "moved": lambda: model.ItemMoved(item=item, place=place, to=draw(PLACES)),
        "renamed": lambda: model.EntityRenamed(node=item, name=draw(TEXTS)),
    }
    return NewEvent(draw(SOURCES), item, kinds[draw(st.sampled_from(sorted(kinds)))](), draw(TIMES))


PATCHES = st.dictionaries(
    st.tuples(SOURCES, st.sampled_from([".", "inbox"])),
    st.dictionaries(st.sampled_from("abc"), JSON, max_size=3),
    max_size=2,
)
BATCHES = st.lists(st.tuples(st.lists(events(), max_size=5), PATCHES, st.integers(-5000, 3_000_000_000)), max_size=6)
Batches = list[tuple[list[NewEvent], dict[tuple[str, str], dict[str, Any]], int]]


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    name = tempfile.mkdtemp()
    try:
        yield Path(name)
    finally:
        shutil.rmtree(name)


@contextlib.contextmanager
def log(where: Path, batches: Batches) -> Iterator[EventStore]:
    """A log of the batches, under a clock that steps back now and then."""
    now = [1_750_000_000_000]
    with EventStore.open(where / "events.db", write=True, clock=lambda: now[0]) as store:
        # What is tested here is not durability.
        store.db.pragma("synchronous", "off")
        for batch, patches, step in batches:
            now[0] += step
            store.append(batch, cursors=patches)
        yield store


def content(store: EventStore) -> list[Any]:
    tables = ("SELECT * FROM event", "SELECT * FROM state ORDER BY 1, 2, 3", "SELECT * FROM cursor ORDER BY 1, 2, 3")
    return [store.db.execute(table).fetchall() for table in tables]


class Expected:
    """The rules of an append, written plainly over lists and dictionaries."""

    def __init__(self) -> None:
        self.state: dict[tuple[str, str, str], str] = {}
        self.versions: set[tuple[str, str]] = set()
        self.stored: list[NewEvent] = []
        self.cursors: dict[tuple[str, str], dict[str, Any]] = {}

    def append(self, event: NewEvent) -> None:
        payload = event.payload
        old = {key: self.state.get((event.source, event.subject, key), payload.before) for key in payload.state()}
        if payload.state() and old == payload.state():
            return
        if isinstance(payload, model.ItemObserved):
            if old["content"] is None and (event.subject, payload.content) in self.versions:
                return
            self.versions.add((event.subject, payload.content))
        self.stored.append(event)
        for key, value in payload.state().items():
            self.state[event.source, event.subject, key] = value

    def patch(self, patches: dict[tuple[str, str], dict[str, Any]]) -> None:
        for where, patch in patches.items():
            merged = self.cursors.get(where, {}) | patch
            self.cursors[where] = {key: value for key, value in merged.items() if value is not None}


@given(BATCHES)
@settings(max_examples=50, deadline=None)
def test_an_append_stores_exactly_what_is_new_and_cursors_are_the_fold_of_their_patches(batches: Batches) -> None:
    expected = Expected()
    for batch, patches, _ in batches:
        for event in batch:
            expected.append(event)
        expected.patch(patches)
    with folder() as where, log(where, batches) as store:
        found = list(store.read())
        assert [(event.source, event.subject, event.type, event.occurred_at) for event in found] == [
            (event.source, event.subject, event.payload.type, event.occurred_at) for event in expected.stored
        ]
        assert [event.payload for event in found] == [
            event.payload.model_dump(mode="json") for event in expected.stored
        ]
        for (source, subject, key), value in expected.state.items():
            assert store.state(source, subject, key) == value
        for (source, stream), cursor in expected.cursors.items():
            assert store.cursor(source, stream) == cursor


@given(BATCHES, events())
@settings(max_examples=25, deadline=None)
def test_saying_the_same_twice_in_a_row_stores_it_at_most_once(batches: Batches, event: NewEvent) -> None:
    with folder() as where, log(where, batches) as store:
        store.append([event])
        before = store.head()
        again = store.append([event])
        assert again.skipped == (1 if event.payload.state() else 0)
        assert (store.head() == before) == bool(event.payload.state())


@given(BATCHES)
@settings(max_examples=25, deadline=None)
def test_every_log_verifies_and_its_state_derives_from_its_events(batches: Batches) -> None:
    with folder() as where, log(where, batches) as store:
        found = store.verify()
        assert found.ok, found
        assert (found.position, found.hash) == store.head()
        everything = "SELECT source, subject, seq, value FROM state ORDER BY source, subject"
        kept = store.db.execute(everything).fetchall()
        store.db.execute("DELETE FROM state")
        derive(store.db, list(records(store.db, store.count())), KNOWN)
        assert store.db.execute(everything).fetchall() == kept
        times = [event.recorded_at for event in store.read()]
        assert times == sorted(times)


@given(BATCHES, st.data())
@settings(max_examples=25, deadline=None)
def test_any_byte_changed_in_any_event_is_found_at_that_event(batches: Batches, data: st.DataObject) -> None:
    with folder() as where:
        with log(where, batches) as store:
            count = store.count()
        if count == 0:
            return
        position = data.draw(st.integers(1, count))
        column = data.draw(
            st.sampled_from(["event_id", "source", "subject", "type", "payload", "salt", "digest", "prev_hash", "hash"])
        )
        raw = apsw.Connection(str(where / "events.db"))
        raw.execute("DROP TRIGGER event_update")
        old = bytearray(raw.execute(f"SELECT CAST({column} AS BLOB) FROM event WHERE position = ?", (position,)).get)
        place = data.draw(st.integers(0, len(old) - 1))
        old[place] ^= 1 << data.draw(st.integers(0, 7))
        kind = "BLOB" if column in {"salt", "digest", "prev_hash", "hash"} else "TEXT"
        raw.execute(f"UPDATE event SET {column} = CAST(? AS {kind}) WHERE position = ?", (bytes(old), position))
        raw.close()
        with EventStore.open(where / "events.db") as store:
            assert store.verify().broken == position


@given(BATCHES, st.data())
@settings(max_examples=25, deadline=None)
def test_a_log_erased_or_not_comes_back_from_its_export_as_it_was(batches: Batches, data: st.DataObject) -> None:
    with folder() as where, log(where, batches) as store:
        count = store.count()
        if count and data.draw(st.booleans()):
            erase(store, data.draw(st.sets(st.integers(1, count), min_size=1)))
        export_log(store, where / "out")
        for record in records(store.db, store.count()):
            assert from_line(to_line(record)) == record
        with EventStore.open(where / "copy.db", write=True) as copy:
            copy.db.pragma("synchronous", "off")
            assert import_log(copy, where / "out") == store.count()
            assert content(copy) == content(store)
            assert copy.head() == store.head()
            assert copy.verify().ok
            export_log(copy, where / "again")
        for file in (where / "out").iterdir():
            assert (where / "again" / file.name).read_bytes() == file.read_bytes()


@given(BATCHES, st.data())
@settings(max_examples=30, deadline=None)
def test_a_cut_is_the_log_as_it_was_when_it_ended_there(batches: Batches, data: st.DataObject) -> None:
    with folder() as where, log(where, []) as store:
        was: dict[int, list[Any]] = {}
        for batch, patches, _ in batches:
            store.append(batch, cursors=patches)
            was[store.count()] = content(store)
        if not was:
            return
        position = data.draw(st.sampled_from(sorted(was)))
        cut(store, position, where / "cut.db")
        with EventStore.open(where / "cut.db") as back:
            assert content(back) == was[position]
            assert back.verify().ok


@given(st.lists(st.tuples(st.integers(0, 2**47), st.integers(0, 5)), max_size=20))
def test_event_ids_always_rise_whatever_the_clock_says(calls: list[tuple[int, int]]) -> None:
    last = ""
    for ms, count in calls:
        for event_id in uuid7s(count, ms, last):
            assert event_id > last
            assert UUID(event_id).version == 7
            last = event_id
