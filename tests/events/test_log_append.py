"""What an append stores, and what it leaves out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from ctxsync.errors import PositionConflict
from ctxsync.events import model
from ctxsync.events.envelope import uuid7s
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.events.envelope import Json
    from ctxsync.events.model import Payload
    from tests.events.conftest import Clock, Make


def types(store: EventStore) -> Any:
    return [event.type for event in store.read()]


def test_what_is_appended_is_read_back_as_it_was(store: EventStore, examples: list[Payload]) -> None:
    given = [
        NewEvent("vault", f"about:{payload.type}", payload, 1000 + number)
        for number, payload in enumerate(examples)
        if payload.type not in {"erasure.requested", "subject.erased"}
    ]
    # A release, a resumption and a disappearance say something only after their opposite.
    first = {"item.released", "source.resumed", "item.unsighted"}
    opposites = {
        "item.released": model.ItemQuarantined(place="x.md", error="not UTF-8"),
        "source.resumed": model.SourcePaused(name="vault", stream=".", reason="30 of 40 vanished"),
        "item.unsighted": model.ItemSighted(item="note:n1", place="a.md"),
    }
    before = [NewEvent("vault", f"about:{name}", opposites[name], 5) for name in sorted(first)]
    appended = store.append([*before, *given])
    assert appended.skipped == 0
    found = list(store.read(after=len(before)))
    assert [event.payload for event in found] == [event.payload.model_dump(mode="json") for event in given]
    assert [(event.source, event.subject, event.type, event.occurred_at) for event in found] == [
        (event.source, event.subject, event.payload.type, event.occurred_at) for event in given
    ]


def test_a_version_that_equals_the_latest_is_not_stored_again(store: EventStore, make: Make) -> None:
    assert store.append([make.observed()]).positions == (1,)
    again = store.append([make.observed()])
    assert again.positions == ()
    assert again.skipped == 1
    assert store.count() == 1


def test_going_back_to_an_earlier_version_is_a_third_event(store: EventStore, make: Make) -> None:
    for content in ("a", "b", "a"):
        store.append([make.observed(content=content)])
    assert [event.payload["content"] for event in store.read()] == ["a", "b", "a"]


def test_repetitions_within_one_batch_are_left_out(store: EventStore, make: Make) -> None:
    appended = store.append(
        [make.observed(), make.sighted(), make.observed(), make.sighted(), make.observed(content="b")]
    )
    assert appended.positions == (1, 2, 3)
    assert appended.skipped == 2


def test_a_source_that_shows_for_the_first_time_what_another_has_shown_adds_nothing(
    store: EventStore, make: Make
) -> None:
    store.append([make.observed(content="a"), make.observed(content="b")])
    assert store.append([make.observed(content="a", source="copy")]).skipped == 1
    assert store.append([make.observed(content="b", source="copy")]).skipped == 1


def test_a_first_sight_counts_even_after_the_item_was_sighted_there(store: EventStore, make: Make) -> None:
    store.append([make.observed()])
    store.append([make.sighted(source="copy")])
    assert store.append([make.observed(source="copy")]).skipped == 1


def test_two_sources_in_one_batch_store_a_version_once(store: EventStore, make: Make) -> None:
    assert store.append([make.observed(), make.observed(source="copy")]).positions == (1,)


def test_once_a_source_has_its_own_version_an_old_one_of_another_source_is_news(store: EventStore, make: Make) -> None:
    store.append([make.observed(content="a")])
    store.append([make.observed(content="b", source="copy")])
    assert store.append([make.observed(content="a", source="copy")]).positions == (3,)


def test_a_source_gets_its_own_version_within_a_batch_too(store: EventStore, make: Make) -> None:
    store.append([make.observed(content="a")])
    batch = [make.observed(content=content, source="copy") for content in "aba"]
    assert store.append(batch).positions == (2, 3)
    assert [event.payload["content"] for event in store.read(after=1)] == ["b", "a"]


def test_presence_is_stored_only_when_it_changes(store: EventStore, make: Make) -> None:
    for event in (make.sighted(), make.sighted(), make.unsighted(), make.unsighted(), make.sighted()):
        store.append([event])
    assert types(store) == ["item.sighted", "item.unsighted", "item.sighted"]


def test_each_place_has_its_own_presence(store: EventStore, make: Make) -> None:
    store.append([make.sighted(place="a.md"), make.sighted(place="b.md"), make.unsighted(place="a.md")])
    assert store.append([make.sighted(place="b.md")]).skipped == 1
    assert store.state("vault", "note:n1", "place:a.md") == "absent"
    assert store.states("vault", "place:") == [
        ("note:n1", "place:a.md", "absent"),
        ("note:n1", "place:b.md", "present"),
    ]


def test_vanishing_from_a_place_never_seen_says_nothing(store: EventStore, make: Make) -> None:
    assert store.append([make.unsighted()]).skipped == 1


def test_a_move_from_a_place_never_seen_still_brings_the_item_to_where_it_is(store: EventStore, make: Make) -> None:
    assert store.append([make.moved("old.md", "new.md")]).positions == (1,)
    assert store.state("vault", "note:n1", "place:new.md") == "present"
    assert store.append([make.sighted(place="new.md"), make.moved("old.md", "new.md")]).skipped == 2


def test_a_move_leaves_one_place_and_takes_another(store: EventStore, make: Make) -> None:
    store.append([make.sighted(place="a.md"), make.moved("a.md", "b.md")])
    assert store.append([make.unsighted(place="a.md"), make.sighted(place="b.md")]).skipped == 2


def test_releasing_or_resuming_what_was_never_stopped_says_nothing(store: EventStore) -> None:
    released = NewEvent("vault", "place:x.md", model.ItemReleased(place="x.md"), 1)
    resumed = NewEvent("ctxsync", "source:vault", model.SourceResumed(name="vault", stream="."), 1)
    assert store.append([released, resumed]).skipped == 2


def test_the_same_failure_again_is_no_event_and_other_bytes_are(store: EventStore) -> None:
    def quarantined(digest: str) -> Any:
        return NewEvent(
            "vault", "place:x.md", model.ItemQuarantined(place="x.md", error="not UTF-8", raw_digest=digest), 1
        )

    assert store.append([quarantined("1"), quarantined("1"), quarantined("2")]).positions == (1, 2)


def test_an_event_without_state_is_stored_every_time(store: EventStore, make: Make) -> None:
    assert store.append([make.renamed("ACME"), make.renamed("ACME")]).positions == (1, 2)


def test_events_of_a_subject_are_numbered_within_their_source(store: EventStore, make: Make) -> None:
    store.append([make.observed("n1"), make.observed("n2"), make.sighted("n1")])
    store.append([make.observed("n1", "b"), make.sighted("n1", source="copy")])
    assert [(event.source, event.subject, event.seq) for event in store.read()] == [
        ("vault", "note:n1", 1),
        ("vault", "note:n2", 1),
        ("vault", "note:n1", 2),
        ("vault", "note:n1", 3),
        ("copy", "note:n1", 1),
    ]


def test_recorded_times_never_fall_when_the_clock_steps_back(store: EventStore, make: Make, clock: Clock) -> None:
    store.append([make.renamed("1")])
    clock.now += 50
    store.append([make.renamed("2")])
    clock.now -= 10_000
    store.append([make.renamed("3")])
    times = [event.recorded_at for event in store.read()]
    assert times == sorted(times)
    assert times[2] == times[1] == times[0] + 50


def test_event_ids_are_version_7_and_rise_even_within_one_millisecond(
    store: EventStore, make: Make, clock: Clock
) -> None:
    for number in range(5):
        clock.now -= number
        store.append([make.renamed(str(n)) for n in range(50)])
    ids = [event.event_id for event in store.read()]
    assert ids == sorted(set(ids))
    assert {UUID(event_id).version for event_id in ids} == {7}
    assert {UUID(event_id).variant for event_id in ids} == {"specified in RFC 4122"}


def test_an_event_id_holds_the_time_in_its_first_48_bits() -> None:
    (event_id,) = uuid7s(1, 1_750_000_000_000)
    assert UUID(event_id).int >> 80 == 1_750_000_000_000


def test_event_ids_go_on_into_the_next_millisecond_when_one_is_used_up() -> None:
    full = "00000000-0001-7fff-bfff-ffffffffffff"
    (event_id,) = uuid7s(1, 1, full)
    assert event_id > full
    assert UUID(event_id).version == 7
    assert UUID(event_id).int >> 80 == 2


def test_an_append_that_expects_another_end_stores_nothing(store: EventStore, make: Make) -> None:
    store.append([make.observed()])
    with pytest.raises(PositionConflict, match="ends at 1, not at 0"):
        store.append([make.sighted()], cursors={("vault", "."): {"a": 1}}, expected=0)
    assert store.count() == 1
    assert store.cursor("vault", ".") == {}
    assert store.append([make.sighted()], expected=1).positions == (2,)


def test_a_time_that_cannot_be_written_stops_the_whole_batch(store: EventStore, make: Make) -> None:
    late = replace(make.observed("n2"), occurred_at=10**15)
    with pytest.raises(ValueError, match="years 1 to 9999"):
        store.append([make.observed(), late])
    assert store.count() == 0


def test_an_erasure_cannot_be_slipped_in_by_an_append(store: EventStore, examples: list[Payload]) -> None:
    for payload in examples:
        if payload.type in {"erasure.requested", "subject.erased"}:
            with pytest.raises(ValueError, match="erasure only"):
                store.append([NewEvent("ctxsync", "job:forget", payload, 1)])


def test_an_empty_append_changes_nothing(store: EventStore) -> None:
    assert store.append([]).positions == ()
    assert store.head()[0] == 0


def test_a_cursor_patch_sets_changes_and_removes_keys(store: EventStore) -> None:
    where: dict[tuple[str, str], dict[str, Json]] = {("vault", "."): {"a": 1, "b": [1, {"c": None}], "gone": "x"}}
    store.append([], cursors=where)
    store.append([], cursors={("vault", "."): {"a": 2, "gone": None, "never": None}})
    assert store.cursor("vault", ".") == {"a": 2, "b": [1, {"c": None}]}
    assert store.cursor("vault", "other") == {}


def test_cursors_of_streams_and_sources_are_apart(store: EventStore) -> None:
    store.append([], cursors={("vault", "."): {"k": 1}, ("vault", "x"): {"k": 2}, ("code", "."): {"k": 3}})
    assert [store.cursor(*where)["k"] for where in (("vault", "."), ("vault", "x"), ("code", "."))] == [1, 2, 3]


def test_the_history_of_a_cursor_does_not_grow_while_nothing_is_stored(store: EventStore) -> None:
    for number in range(50):
        store.append([], cursors={("vault", "."): {"polled": number}})
    assert store.db.execute("SELECT count(*) FROM cursor_was").get == 0
    assert store.cursor("vault", ".") == {"polled": 49}


@pytest.mark.parametrize("where", ["append", "cursor"])
def test_a_failure_at_a_checkpoint_leaves_neither_events_nor_cursor(path: Path, make: Make, where: str) -> None:
    def fail(name: str) -> None:
        if name == where:
            raise KeyboardInterrupt

    with EventStore.open(path, write=True, checkpoint=fail) as store:
        with pytest.raises(KeyboardInterrupt):
            store.append([make.observed()], cursors={("vault", "."): {"a": 1}})
        assert store.count() == 0
        assert store.cursor("vault", ".") == {}
        store.checkpoint = lambda _: None
        assert store.append([make.observed()]).positions == (1,)


def test_checkpoints_come_after_the_rows_and_after_the_cursor(path: Path, make: Make) -> None:
    seen = []

    def look(name: str) -> None:
        seen.append((name, store.count(), store.cursor("vault", "."), store.db.in_transaction))

    with EventStore.open(path, write=True, checkpoint=look) as store:
        store.append([make.observed()], cursors={("vault", "."): {"a": 1}})
    assert seen == [("append", 1, {}, True), ("cursor", 1, {"a": 1}, True)]
