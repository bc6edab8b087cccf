"""Meetings: invitations, updates and cancellations, in whatever order they come."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

from ctxsync.events.store import EventStore
from tests.engine.messages.world import ME, NADIA, World, mail, who

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Item


def invitation(sequence: int = 0, start: str = "2026-03-10T10:00:00Z", end: str = "2026-03-10T11:00:00Z", **more: Any) -> dict[str, Any]:  # fmt: skip
    return {
        "uid": "kick-off@example.com",
        "method": "REQUEST",
        "sequence": sequence,
        "title": "Kick-off",
        "start": start,
        "end": end,
        "location": "Room 4",
        "organizer": NADIA,
        "attendees": [ME, NADIA],
        **more,
    }


INVITED = mail("a", subject="Invitation: Kick-off", at="2026-03-01T09:00", invitations=[invitation()])
UPDATED = mail("b", subject="Updated: Kick-off", at="2026-03-02T09:00", invitations=[invitation(1, "2026-03-12T10:00:00Z", "2026-03-12T11:00:00Z")])  # fmt: skip
CANCELLED = mail("c", subject="Cancelled: Kick-off", at="2026-03-03T09:00", invitations=[invitation(2, method="CANCEL", status="CANCELLED")])  # fmt: skip
FORGED = mail("d", subject="Cancelled: Kick-off", at="2026-03-04T09:00", sender=who("Eve", "email:eve@example.com"), invitations=[invitation(9, method="CANCEL")])  # fmt: skip


def of_the_meeting(world: World) -> list[tuple[str, str, str]]:
    """Return who takes part from when, and where it is."""
    found = world.spans("participation") + world.spans("site") + world.spans("responsibility")
    return sorted((h, t, str(start)) for h, t, start, _ in found if "Kick-off" in (h, t))


def test_an_invitation_is_an_event_with_times_place_organizer_and_attendees(world: World) -> None:
    world.show("box", INVITED)
    at = ("2026-03-10T10:00", "2026-03-10T11:00")
    assert ("Kick-off", "Room 4", *at) in world.spans("site")
    assert ("Kick-off", "Nadia Okoro", *at) in world.spans("responsibility")
    assert ("Robin Vale", "Kick-off", *at) in world.spans("participation")
    assert world.entities()["ical:kick-off@example.com"] == ("Kick-off", "Event")


def test_an_update_takes_the_place_of_the_invitation(world: World) -> None:
    world.show("box", INVITED)
    world.show("box", UPDATED)
    assert {start for _, _, start in of_the_meeting(world)} == {"2026-03-12T10:00"}
    world.lose("box", UPDATED.id)
    assert {start for _, _, start in of_the_meeting(world)} == {"2026-03-10T10:00"}


def test_a_cancelled_meeting_has_nobody_and_its_mails_stay(world: World) -> None:
    for item in (INVITED, UPDATED, CANCELLED):
        world.show("box", item)
    assert of_the_meeting(world) == []
    assert "Cancelled: Kick-off -cancels-> Kick-off" in world.facts(tiers=True)
    assert "Invitation: Kick-off -invites to-> Kick-off" in world.facts(tiers=True)


def test_only_the_organizer_cancels(world: World) -> None:
    world.show("box", INVITED)
    world.show("box", FORGED)
    assert {start for _, _, start in of_the_meeting(world)} == {"2026-03-10T10:00"}


def test_an_answer_to_an_invitation_changes_nothing_of_it(world: World) -> None:
    world.show("box", INVITED)
    answer = invitation(5, method="REPLY", attendees=[ME])
    world.show("box", mail("e", sender=ME, subject="Accepted: Kick-off", invitations=[answer]))
    assert {start for _, _, start in of_the_meeting(world)} == {"2026-03-10T10:00"}


def test_a_day_long_event_ends_with_its_last_day(world: World) -> None:
    stated = invitation(start="2026-03-10", end="2026-03-12", all_day=True)
    world.show("box", mail("a", invitations=[stated]))
    assert ("Kick-off", "Room 4", "2026-03-10T00:00", "2026-03-12T00:00") in world.spans("site")


def test_the_order_of_invitations_changes_nothing(tmp_path: Path, plain_chain: Any) -> None:
    def state(number: int, items: tuple[Item, ...]) -> str:
        root = tmp_path / str(number)
        root.mkdir()
        with EventStore.open(root / "events.db", write=True) as store:
            world = World(root, plain_chain, store)
            world.source("box")
            for item in items:
                world.show("box", item)
                if number % 2:
                    world.read().close()
            with world.read() as graph:
                return graph.state_hash()

    orders = list(permutations((INVITED, UPDATED, CANCELLED, FORGED)))
    assert len({state(n, items) for n, items in enumerate(orders[::2])}) == 1
    assert len({state(100 + n, items[:2]) for n, items in enumerate([(INVITED, UPDATED), (UPDATED, INVITED)])}) == 1
