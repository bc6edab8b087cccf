"""Reading the log: ranges, times, state, old versions."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.errors import StoreCorrupt, StoreTooNew
from ctxsync.events.model import PAYLOADS
from ctxsync.events.store import PAGE, EventStore
from ctxsync.events.upcast import VERSIONS, Versions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ctxsync.events.store import Event
    from tests.events.conftest import Clock, Make


def positions(events: Iterable[Event]) -> Any:
    return [event.position for event in events]


def test_a_read_takes_what_lies_behind_a_position_up_to_another(store: EventStore, make: Make) -> None:
    store.append([make.renamed(str(n)) for n in range(10)])
    assert positions(store.read()) == list(range(1, 11))
    assert positions(store.read(after=7)) == [8, 9, 10]
    assert positions(store.read(after=2, upto=4)) == [3, 4]
    assert positions(store.read(upto=99)) == list(range(1, 11))
    assert positions(store.read(after=3, limit=2)) == [4, 5]
    assert positions(store.read(after=10)) == []
    assert positions(store.read(limit=0)) == []


def test_a_read_can_take_some_types_only(store: EventStore, make: Make) -> None:
    store.append([make.observed(), make.sighted(), make.renamed("x"), make.unsighted()])
    assert positions(store.read(types=("item.observed", "item.unsighted"))) == [1, 4]
    assert positions(store.read(types={"item.sighted"}, after=2)) == []
    assert positions(store.read(types={"entity.renamed"}, limit=1)) == [3]


def test_a_log_longer_than_a_page_is_read_whole_and_in_order(store: EventStore, make: Make) -> None:
    count = 2 * PAGE + 1
    store.append([make.renamed(str(n)) for n in range(count)])
    events = list(store.read())
    assert positions(events) == list(range(1, count + 1))
    assert [event.payload["name"] for event in events] == [str(n) for n in range(count)]
    assert len(list(store.read(limit=PAGE + 1))) == PAGE + 1


def test_what_is_appended_during_a_read_is_left_to_the_next_one(store: EventStore, make: Make) -> None:
    store.append([make.renamed(str(n)) for n in range(3)])
    seen = []
    for event in store.read():
        seen.append(event.position)
        store.append([make.renamed("more")])
    assert seen == [1, 2, 3]
    assert store.count() == 6


def test_the_head_of_an_empty_log_is_its_genesis(store: EventStore) -> None:
    assert store.head() == (0, store.hash_at(0))
    assert list(store.read()) == []
    assert store.count() == 0


def test_the_hash_at_a_position_is_that_events_and_empty_where_there_is_none(store: EventStore, make: Make) -> None:
    store.append([make.observed(), make.sighted()])
    assert [store.hash_at(1), store.hash_at(2)] == [event.hash for event in store.read()]
    assert store.head() == (2, store.hash_at(2))
    assert store.hash_at(3) == ""


def test_a_time_names_the_last_position_recorded_by_then(store: EventStore, make: Make, clock: Clock) -> None:
    start = clock.now
    assert store.position_at(start) == 0
    for number in range(7):
        clock.now = start + 10 * number
        store.append([make.renamed("a"), make.renamed("b")])
    assert store.position_at(start - 1) == 0
    assert [store.position_at(start + 10 * number) for number in range(7)] == [2, 4, 6, 8, 10, 12, 14]
    assert store.position_at(start + 15) == 4
    assert store.position_at(start + 10**9) == 14


def test_state_that_nothing_has_set_is_none(store: EventStore, make: Make) -> None:
    store.append([make.observed()])
    assert store.state("vault", "note:n1", "content") == "a"
    assert store.state("copy", "note:n1", "content") is None


def test_every_type_has_a_version_that_reading_knows() -> None:
    assert {name: model.version for name, model in PAYLOADS.items()} == dict(VERSIONS)


def test_an_old_version_is_read_as_the_newest_through_every_step(path: Path, make: Make) -> None:
    with EventStore.open(path, write=True) as store:
        store.append([make.renamed("ACME")])

    def second(payload: dict[str, Any]) -> Any:
        return {"node": payload["node"], "names": [payload["name"]]}

    def third(payload: dict[str, Any]) -> Any:
        return payload | {"by": "person"}

    versions = Versions(
        dict(VERSIONS) | {"entity.renamed": 3}, {("entity.renamed", 1): second, ("entity.renamed", 2): third}
    )
    with EventStore.open(path, versions=versions) as store:
        (event,) = store.read()
        assert event.version == 3
        assert event.payload == {"node": "n", "names": ["ACME"], "by": "person"}
        assert store.verify().ok


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"entity.renamed": 0}, "version 1 of entity.renamed"),
        ({}, "events of type entity.renamed"),
    ],
)
def test_an_event_of_a_newer_ctxsync_is_named_and_asks_for_an_upgrade(
    path: Path, make: Make, known: dict[str, int], said: str
) -> None:
    with EventStore.open(path, write=True) as store:
        store.append([make.renamed("ACME")])
    with EventStore.open(path, versions=Versions(known, {})) as store, pytest.raises(StoreTooNew) as caught:
        list(store.read())
    assert said in caught.value.message
    assert "pip install --upgrade ctxsync" in caught.value.remedy


def test_a_payload_that_is_no_json_names_its_position(store: EventStore, make: Make) -> None:
    store.append([make.observed(), make.sighted()])
    store.db.execute("DROP TRIGGER event_update")
    store.db.execute("UPDATE event SET payload = '{' WHERE position = 2")
    events = store.read()
    assert next(events).position == 1
    with pytest.raises(StoreCorrupt, match="position 2"):
        next(events)


def test_reading_the_log_costs_no_models() -> None:
    code = (
        "import sys; import ctxsync.events.store, ctxsync.events.lock; "
        "sys.exit(any(name.partition('.')[0] in {'pydantic', 'jsonschema', 'numpy', 'spacy'} for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
