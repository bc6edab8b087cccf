"""Whatever happened to mail and Slack on the way, the graph says what is to be seen now: no more, no less."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.extraction.reactor import extract_pending
from ctxsync.engine.graph import Graph, catch_up
from ctxsync.events.store import EventStore
from tests.engine.messages.world import ME, NADIA, World, commit, directory, mail, note, said, who

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Item

EVE = who("Eve Marsh", "email:eve@example.com")
STEPS = 60


def invitation(sequence: int, organizer: dict[str, Any], method: str = "REQUEST") -> dict[str, Any]:
    start = f"2026-03-{10 + sequence}T10:00:00Z"
    return {"uid": "k", "method": method, "sequence": sequence, "title": "Kick-off", "start": start,
            "organizer": organizer, "attendees": [ME, NADIA]}  # fmt: skip


MAILS = [
    mail("a", sender=NADIA, invitations=[invitation(0, NADIA)]),
    mail("b", sender=NADIA, subject="Re: Lunch", thread="a@example.com", in_reply_to="a@example.com", invitations=[invitation(1, NADIA)]),
    mail("c", sender=EVE, subject="Cancelled", invitations=[invitation(7, NADIA, "CANCEL")]),
    mail("d", sender=ME, to=[NADIA], subject="Re: Lunch", thread="a@example.com", in_reply_to="b@example.com", invitations=[invitation(2, ME)]),
    mail("e", sender=NADIA, subject="Cancelled", invitations=[invitation(3, NADIA, "CANCEL")]),
    mail("f", sender=who("Nadia Okoro", "email:other@example.com"), to=[who("Desk", "address:desk@example.com")]),
]  # fmt: skip
POSTS = [
    said("1772000000.000100", "The plan"),
    said("1772000060.000200", "Agreed", thread_ts="1772000000.000100", user="U2", name="Robin Vale"),
]
DIRECTORIES = [
    directory(("U1", "Nadia Okoro", "nadia@example.com"), ("U2", "Robin Vale", "robin@example.com")),
    directory(("U1", "Nadia Okoro", "other@example.com"), channels=(("C1", "everyone"),)),
    directory(("U2", "Eve", "eve@example.com"), bots=[("U9", "Bot", "nadia@example.com")]),
]
OTHERS = [note("Nadia Okoro", "x", keys=["email:nadia@example.com"]), commit("c1", "Start", author=NADIA)]


class Seen:
    """What is to be seen in the end: the sightings with their roles, the versions, the sources' trust."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str, str], str] = {}
        self.shown: dict[tuple[str, str], Item] = {}
        self.trust: dict[str, str] = {}


def wander(world: World, seen: Seen, rng: random.Random) -> None:
    """Take one step of a history."""
    box = rng.choice(["box", "archive"])
    item = rng.choice(MAILS)
    place = rng.choice(["INBOX", "Sent", "Old"])
    step = rng.random()
    here = [key for key in seen.places if key[0] == box and key[2].startswith(("INBOX", "Sent", "Old"))]
    if step < 0.4 or not here:
        role = rng.choice(["sent", "sent", ""]) if place == "Sent" else ""
        world.show(box, item, place, role)
        seen.places[box, item.id, place] = role
        seen.shown[box, item.id] = item
    elif step < 0.6:
        source, id_, at = rng.choice(here)
        world.lose(source, id_, at)
        del seen.places[source, id_, at]
    elif step < 0.7:
        source, id_, at = rng.choice(here)
        to = rng.choice([place for place in ("INBOX", "Sent", "Old") if place != at])
        world.move(source, id_, at, to)
        del seen.places[source, id_, at]
        # The place that it came to may have been known to hold it, and in what role.
        seen.places.setdefault((source, id_, to), "")
    elif step < 0.8:
        listed = rng.choice(DIRECTORIES)
        world.show("work", listed, ".directory")
        seen.places["work", listed.id, ".directory"] = ""
        seen.shown["work", listed.id] = listed
    elif step < 0.9:
        post, source = rng.choice(POSTS), rng.choice(["work", "export"])
        world.show(source, post, "C1")
        seen.places[source, post.id, "C1"] = ""
        seen.shown[source, post.id] = post
    elif step < 0.95:
        trust = rng.choice(["own", "others"])
        world.source(box, trust=trust)
        seen.trust[box] = trust
    else:
        world.source(box, trust=world.known[box], removed=True)
        world.source(box, trust=world.known[box])


@pytest.mark.parametrize("seed", range(10))
def test_the_graph_is_a_function_of_what_is_to_be_seen_now(seed: int, tmp_path: Path, plain_chain: Any) -> None:
    rng = random.Random(seed)
    seen = Seen()
    sources = {
        "box": "others",
        "archive": "others",
        "work": "others",
        "export": "others",
        "vault": "own",
        "code": "others",
    }
    states = []
    for root in (tmp_path / "lived", tmp_path / "fresh"):
        root.mkdir()
        with EventStore.open(root / "events.db", write=True) as store:
            world = World(root, plain_chain, store)
            for name, trust in {**sources, **seen.trust}.items():
                world.source(name, trust=trust)
            if root.name == "lived":
                for step in range(STEPS):
                    wander(world, seen, rng)
                    if rng.random() < 0.3:
                        extract_pending(store, plain_chain)
                    if rng.random() < 0.3 or step == STEPS // 2:
                        with Graph.open(root / "graph.db", write=True) as graph:
                            catch_up(store, graph, batch=rng.choice([1, 3, 50]), kept=rng.choice([0, 0, 1000]))
            else:
                places = list(seen.places.items())
                rng.shuffle(places)
                for (source, id_, place), role in places:
                    world.show(source, seen.shown[source, id_], place, role)
            for number, item in enumerate(OTHERS):
                world.show(("vault", "code")[number], item, "x")
            with world.read() as graph:
                states.append(graph.state_hash())
    assert states[0] == states[1]
