"""What every connector owes its runner: one suite, run against each, with a real source and a real log."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.changes import to_events
from ctxsync.connectors.base import (
    Observed,
    Quarantined,
    Released,
    Sighted,
    Unsighted,
    episode_id,
    item_fingerprint,
)
from ctxsync.errors import SuspiciousDeletion
from ctxsync.events.model import PAYLOADS
from ctxsync.events.store import EventStore
from ctxsync.events.writing import payload_json
from ctxsync.sync import SourceReport, read_source
from tests.connectors.contract.conftest import BATCH, NAME, NOW, WORLDS, registered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ctxsync.connectors.base import Batch, Change, Json
    from tests.connectors.contract.conftest import World


class Log:
    """A log on disk and the runner over it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def sync(
        self, world: World, *, checkpoint: Callable[[str], None] = lambda _: None, **options: Any
    ) -> tuple[list[str], SourceReport]:
        """Read once; return the types of the events that this stored, and the report."""
        report = SourceReport(NAME)
        with EventStore.open(self.path, write=True, checkpoint=checkpoint) as store:
            before = store.head()[0]
            read_source(store, world.connector(**options), NOW, report)
            return [event.type for event in store.read(before)], report

    def says(self) -> dict[str, list[tuple[str, str]]]:
        """Return all that the log says, by source and subject, in order."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        with EventStore.open(self.path) as store:
            store.verify()
            for event in store.read():
                found[f"{event.source} {event.subject}"].append((event.type, json.dumps(event.payload, sort_keys=True)))
        return dict(found)

    def held(self) -> set[str]:
        """Return the items that are sighted somewhere."""
        places: dict[str, set[str]] = defaultdict(set)
        with EventStore.open(self.path) as store:
            for event in store.read():
                item, place = event.payload.get("item", ""), event.payload.get("place", "")
                if event.type == "item.sighted":
                    places[item].add(place)
                elif event.type == "item.unsighted":
                    places[item].discard(place)
                elif event.type == "item.moved":
                    places[item] ^= {place, event.payload["to"]}
        return {item for item, at in places.items() if at}

    def quarantined(self) -> list[str]:
        with EventStore.open(self.path) as store:
            return [
                subject for subject, key, value in store.states(NAME, "quarantine") if key == "quarantine" and value
            ]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "events.db")


def batches(world: World, cursors: dict[str, dict[str, Json]] | None = None, **options: Any) -> Iterator[Batch]:
    """Yield the batches of every stream, keeping the cursors as the runner does."""
    cursors = {} if cursors is None else cursors
    connector = world.connector(**options)
    for stream in connector.discover():
        cursor = cursors.setdefault(stream.name, {})
        for batch in connector.read(stream, dict(cursor) or None):
            cursor.update(batch.cursor)
            for key in [key for key, value in batch.cursor.items() if value is None]:
                del cursor[key]
            yield batch


def changes(world: World, cursors: dict[str, dict[str, Json]] | None = None, **options: Any) -> list[Change]:
    return [change for batch in batches(world, cursors, **options) for change in batch.changes]


def test_every_connector_that_ctxsync_registers_is_under_this_contract() -> None:
    assert registered() == {kind.partition(" ")[0] for kind in WORLDS}  # some in more than one form


def test_streams_are_named_once_and_belong_to_the_source(world: World) -> None:
    world.add(1)
    for _ in range(2):
        streams = list(world.connector().discover())
        assert len({stream.name for stream in streams}) == len(streams) > 0
        assert {stream.source for stream in streams} == {NAME}


def test_a_first_read_observes_and_sights_each_item_once_at_one_place(world: World) -> None:
    world.add(7)
    found = changes(world)
    observed = [change for change in found if isinstance(change, Observed)]
    sighted = [change for change in found if isinstance(change, Sighted)]
    assert len(observed) + len(sighted) == len(found)
    assert [(change.item.id, change.place) for change in observed] == [
        (change.item, change.place) for change in sighted
    ]
    assert len({change.item for change in sighted}) == 7


def test_items_say_what_they_are_and_their_sections_have_keys_of_their_own(world: World) -> None:
    world.add(5)
    for change in changes(world):
        if isinstance(change, Observed):
            item = change.item
            kind, _, value = item.id.partition(":")
            assert kind
            assert value
            assert item.kind
            assert item.title
            assert len({section.key for section in item.sections}) == len(item.sections) > 0
            for section in item.sections:
                assert 0 < section.occurred_at <= NOW
                assert "\r" not in section.text


def test_a_second_read_says_nothing_and_leaves_the_cursor_and_the_log_alone(world: World, log: Log) -> None:
    world.add(7)
    cursors: dict[str, dict[str, Json]] = {}
    list(batches(world, cursors))
    for batch in batches(world, cursors):
        assert (batch.changes, dict(batch.cursor)) == ((), {})
        assert batch.seen == batch.unchanged
    log.sync(world)
    for _ in range(2):
        types, report = log.sync(world)
        assert types == []
        assert report.unchanged == 7


def test_what_is_no_content_writes_no_event(world: World, log: Log) -> None:
    world.add(7)
    log.sync(world)
    world.stir()
    assert log.sync(world)[0] == []
    assert log.sync(world)[1].unchanged == 7


def test_a_lost_cursor_finds_the_same_items_and_writes_no_event(world: World, log: Log) -> None:
    world.add(7)
    log.sync(world)
    with EventStore.open(log.path, write=True) as store:
        for stream in world.connector().discover():
            store.append([], cursors={(NAME, stream.name): dict.fromkeys(store.cursor(NAME, stream.name))})
            assert store.cursor(NAME, stream.name) == {}
    types, report = log.sync(world)
    assert types == []
    assert (report.seen, report.observed) == (7, 0)


def test_the_same_content_has_the_same_fingerprint_and_episodes_whenever_it_is_read(world: World) -> None:
    world.add(4)

    def prints() -> list[tuple[str, list[str]]]:
        items = [change.item for change in changes(world) if isinstance(change, Observed)]
        return sorted((item_fingerprint(item), [episode_id(item.id, part) for part in item.sections]) for item in items)

    before = prints()
    assert len({fingerprint for fingerprint, _ in before}) == 4
    world.stir()
    assert prints() == before
    world.edit()
    assert len(set(map(str, prints())) & set(map(str, before))) == 3


def test_batches_are_bounded_and_so_are_their_cursor_patches(world: World) -> None:
    world.add(20)
    cursors: dict[str, dict[str, Json]] = {}
    found = list(batches(world, cursors))
    assert len([batch for batch in found if batch.changes]) >= 20 // BATCH
    world.remove(10)
    world.add(5)
    found += batches(world, cursors)
    for batch in found:
        assert sum(isinstance(change, Observed | Unsighted) for change in batch.changes) <= BATCH
        assert len(batch.cursor) <= 4 * BATCH + 4
        assert len(json.dumps(dict(batch.cursor))) < 2_000 + 1_000 * BATCH


def test_a_read_is_lazy_so_that_memory_holds_one_batch(world: World) -> None:
    world.add(8)
    connector = world.connector()
    (stream,) = connector.discover()
    reading = connector.read(stream, None)
    first = next(reading)
    assert len([change for change in first.changes if isinstance(change, Observed)]) <= BATCH
    reading.close()  # type: ignore[attr-defined]  # contracts say Iterator; ours are generators


def test_cursors_are_json_and_a_small_change_patches_little(world: World) -> None:
    world.add(40)
    cursors: dict[str, dict[str, Json]] = {}
    for batch in batches(world, cursors):
        assert json.loads(json.dumps(dict(batch.cursor))) == dict(batch.cursor)
        assert all(isinstance(key, str) and key for key in batch.cursor)
    # As they come back from the log.
    cursors = json.loads(json.dumps(cursors))
    world.edit()
    patches = [dict(batch.cursor) for batch in batches(world, cursors)]
    assert sum(map(len, patches)) <= 20
    assert len(json.dumps(patches)) < 3_000


def test_every_change_is_an_event_that_the_models_accept_unchanged(world: World) -> None:
    world.add(6)
    world.shock()
    world.spoil()
    cursors: dict[str, dict[str, Json]] = {}
    found = changes(world, cursors)
    world.mend()
    world.edit()
    found += changes(world, cursors, retry_quarantined=True)
    world.remove(2)
    found += changes(world, cursors)
    assert {Observed, Sighted, Unsighted, Quarantined, Released} <= set(map(type, found))
    events = list(to_events(NAME, found, NOW))
    assert len(events) == len(found)
    for event in events:
        text = payload_json(event.payload)
        text.decode()  # no lone surrogate
        assert payload_json(PAYLOADS[event.payload.type].model_validate_json(text)) == text
        assert event.subject
        assert 0 <= event.occurred_at <= NOW


def test_the_worst_bytes_are_an_item_like_others(world: World, log: Log) -> None:
    world.add(2)
    world.shock()
    types, report = log.sync(world)
    assert types == ["item.observed", "item.sighted"] * 3
    assert report.problems == []


def test_an_unreadable_root_pauses_deletes_nothing_and_its_return_changes_nothing(world: World, log: Log) -> None:
    world.add(5)
    log.sync(world)
    held = log.held()
    away = world.root.with_name("away")
    world.root.rename(away)
    types, report = log.sync(world)
    assert types == ["source.paused"]
    assert str(world.root) in str(report.paused)
    assert f"ctxsync sync {NAME}" in str(report.problems[0]["remedy"])
    assert log.sync(world)[0] == []  # paused already
    world.root.write_text("no folder any more")
    log.sync(world)
    world.root.unlink()
    world.root.mkdir()
    assert "item.unsighted" not in log.sync(world)[0]  # an empty mount point
    assert log.held() == held
    world.root.rmdir()
    away.rename(world.root)
    types, report = log.sync(world)
    assert set(types) == {"source.resumed"}
    assert report.paused is None


def test_too_much_vanishing_pauses_until_it_is_allowed_and_additions_go_on(world: World, log: Log) -> None:
    world.add(20, "kept")
    world.add(25)
    log.sync(world)
    world.remove(25)
    world.add(1)
    types, report = log.sync(world)
    assert types == ["item.observed", "item.sighted", "source.paused"]
    assert "25 of 45" in str(report.paused)
    assert f"ctxsync sync --allow-deletes {NAME}" in str(report.problems[0]["remedy"])
    assert len(log.held()) == 46
    types, report = log.sync(world)
    assert types == []
    assert report.paused
    types, report = log.sync(world, allow_deletes=True)
    assert types == ["item.unsighted"] * 25 + ["source.resumed"]
    assert len(log.held()) == 21
    assert log.sync(world)[0] == []


def test_no_addition_talks_the_breaker_down(world: World, log: Log) -> None:
    """What comes while a source is paused makes the share that vanished no smaller: it may be another disk's."""
    world.add(5, "kept")
    world.add(20)
    log.sync(world)
    world.remove(20)
    world.add(20)
    for _ in range(3):
        types, report = log.sync(world, max_delete_ratio=0.5)
        assert "item.unsighted" not in types
        assert report.paused
    assert types == []


@pytest.mark.parametrize(("count", "pauses"), [(19, False), (20, True)])
def test_the_breaker_needs_twenty_items(world: World, count: int, pauses: bool) -> None:
    world.add(50)
    cursors: dict[str, dict[str, Json]] = {}
    changes(world, cursors)
    world.remove(count)
    if pauses:
        with pytest.raises(SuspiciousDeletion) as caught:
            changes(world, cursors)
        assert (caught.value.vanished, caught.value.known) == (count, 50)
    else:
        assert len(changes(world, cursors)) == count


def test_the_breaker_needs_more_than_the_configured_share(world: World) -> None:
    world.add(50)
    cursors: dict[str, dict[str, Json]] = {}
    changes(world, cursors)
    world.remove(20)
    with pytest.raises(SuspiciousDeletion):
        changes(world, cursors, max_delete_ratio=0.39)
    assert len(changes(world, cursors, max_delete_ratio=0.4)) == 20


def test_one_bad_item_is_quarantined_once_and_stops_no_other(world: World, log: Log) -> None:
    world.add(4)
    world.spoil()
    types, report = log.sync(world)
    assert types.count("item.quarantined") == 1
    assert types.count("item.observed") >= 4
    assert (report.paused, report.quarantined) == (None, 1)
    assert len(log.quarantined()) == 1
    assert log.sync(world)[0] == []
    assert log.sync(world, retry_quarantined=True)[0] == []  # tried again, and as bad as before
    world.add(1)
    assert log.sync(world)[0] == ["item.observed", "item.sighted"]
    world.mend()
    types, _ = log.sync(world, retry_quarantined=True)
    assert types.count("item.released") == 1
    assert "item.observed" in types
    assert log.quarantined() == []
    assert log.sync(world)[0] == []


def test_a_connector_leaves_no_trace_in_its_source(world: World) -> None:
    world.add(3)

    def trace() -> list[tuple[str, int, bytes]]:
        files = sorted(path for path in world.root.rglob("*") if path.is_file())
        return [(str(path), path.stat().st_mtime_ns, path.read_bytes()) for path in files]

    before = trace()
    changes(world)
    assert trace() == before


class Killed(BaseException):
    """The process dies here."""


def dies_at(number: int) -> Callable[[str], None]:
    passed = 0

    def checkpoint(_: str) -> None:
        nonlocal passed
        passed += 1
        if passed == number:
            raise Killed

    return checkpoint


def test_dying_anywhere_in_any_pass_loses_and_doubles_nothing(world: World, tmp_path: Path) -> None:
    """At each point of each transaction: behind the events, and behind the cursor just before the commit."""
    world.add(8)
    before = Log(tmp_path / "before.db")
    dying = Log(tmp_path / "dying.db")
    for change in (False, True):
        if change:
            all_kinds_of_changes(world)
        start = before.path.read_bytes() if before.path.exists() else None
        points = count_points(before, world)
        assert points > 6
        for number in range(1, points + 1):
            for file in tmp_path.glob("dying.db*"):
                file.unlink()
            if start is not None:
                dying.path.write_bytes(start)
            with pytest.raises(Killed):
                dying.sync(world, checkpoint=dies_at(number))
            dying.sync(world)
            assert dying.says() == before.says(), f"died at point {number}"
            assert dying.sync(world)[0] == []


def all_kinds_of_changes(world: World) -> None:
    world.remove(4)
    world.edit()
    world.spoil()
    world.add(4, "another")


def count_points(log: Log, world: World) -> int:
    """Do one undisturbed pass and return how many points it goes by; its log is one file afterwards."""
    points: list[str] = []
    log.sync(world, checkpoint=points.append)
    with EventStore.open(log.path, write=True) as store:
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return len(points)
