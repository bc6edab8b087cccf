"""What connectors say becomes events that the models accept, unchanged."""

from __future__ import annotations

import orjson
import pytest

from ctxsync.changes import observed, to_events
from ctxsync.connectors.base import Item, Link, Observed, Person, Quarantined, Section, Sighted
from ctxsync.events.model import PAYLOADS, ItemObserved
from ctxsync.events.writing import payload_json

SECTION = Section(
    key="Work#0",
    text="[[Acme]] pays.",
    occurred_at=1_700_000_000_000,
    heading=("Work",),
    line=3,
    author=Person("Ada Brook", ("email:ada@example.com",)),
    thread="t1",
    links=(Link("Acme", "wikilink", start=0, end=8),),
    tags=("a/b",),
    code=((0, 2),),
    quoted=((3, 4),),
    attributes={"tasks": [{"text": "pay", "done": False, "line": 1}]},
)
ITEM = Item(
    "note:1",
    "note",
    "Work",
    (SECTION,),
    names=("Job",),
    keys=("email:ada@example.com",),
    attributes={"n": 1},
    flags=("f",),
)


def test_an_observed_item_is_written_as_its_validated_model_would_be() -> None:
    written = payload_json(observed(ITEM, "work.md"))

    assert payload_json(ItemObserved.model_validate_json(written)) == written


def test_every_field_of_a_section_is_in_its_event() -> None:
    written = orjson.loads(payload_json(observed(ITEM, "work.md")))

    (section,) = written["sections"]
    fields = set(Section.__dataclass_fields__)
    assert fields | {"episode"} == set(section)


@pytest.mark.parametrize("bad", [{"n": object()}, {"n": "\ud800"}, {1: "number key"}])
def test_an_item_that_is_not_json_is_quarantined_and_no_other_item_suffers(bad: dict[str, object]) -> None:
    broken = Item("note:2", "note", "Broken", (SECTION,), attributes=bad)  # type: ignore[arg-type]  # what a faulty connector hands over
    changes = (
        Observed(broken, "b.md"),
        Sighted("note:2", "b.md"),
        Observed(ITEM, "work.md"),
        Sighted("note:1", "work.md"),
    )

    events = list(to_events("vault", changes, 0))

    assert [(event.payload.type, event.subject) for event in events] == [
        ("item.quarantined", "place:note:2"),
        ("item.observed", "note:1"),
        ("item.sighted", "note:1"),
    ]


def test_every_change_is_an_event_that_its_model_accepts() -> None:
    changes = (Observed(ITEM, "work.md"), Sighted("note:1", "work.md"), Quarantined("x.md", "torn"))
    for event in to_events("vault", changes, 0):
        PAYLOADS[event.payload.type].model_validate_json(payload_json(event.payload))
