"""One person across mail, Slack, git and notes, by exact key and never by display name alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Item
from ctxsync.engine.extraction.reactor import extract_pending
from ctxsync.engine.graph import Graph, catch_up
from ctxsync.events.store import EventStore
from tests.engine.messages.world import ME, NADIA, World, commit, directory, mail, note, said, who

if TYPE_CHECKING:
    from pathlib import Path


def mailmap(*entries: tuple[str, str, str]) -> Item:
    listed: list[Any] = [{"name": name, "email": new, "old_name": "", "old_email": old} for name, new, old in entries]
    return Item("mailmap:heron", "mailmap", ".mailmap", (), attributes={"entries": listed})


def persons(world: World) -> list[str]:
    return sorted(keys for keys, (_, kind) in world.entities().items() if kind == "Person")


def test_one_person_has_keys_of_mail_slack_git_and_a_note(world: World) -> None:
    world.show("work", directory(("U1", "Nadia O.", "nadia@example.com")), ".directory")
    world.show("work", said("1772000000.000100", "Hello", name="Nadia O."), "C1")
    world.show("box", mail("a", to=[]))
    world.show("code", commit("c1", "Start", author=who("nadia", "email:nadia@old.example.com")), "refs")
    world.show("code", mailmap(("Nadia Okoro", "nadia@example.com", "nadia@old.example.com")), ".mailmap")
    world.show("vault", note("Nadia", "A colleague.", keys=["email:nadia@example.com"], type="person"), "Nadia.md")
    assert persons(world) == ["email:nadia@example.com email:nadia@old.example.com note:Nadia slack:T1:U1"]


def test_the_tie_goes_when_the_directory_no_longer_says_so(world: World) -> None:
    world.show("work", directory(("U1", "Nadia Okoro", "nadia@example.com")), ".directory")
    world.show("box", mail("a", to=[]))
    assert persons(world) == ["email:nadia@example.com slack:T1:U1"]
    world.show("work", directory(("U1", "Nadia Okoro", "")), ".directory")
    assert persons(world) == ["email:nadia@example.com", "slack:T1:U1"]
    world.lose("work", "slack-directory:T1", ".directory")
    assert persons(world) == ["email:nadia@example.com"]


def test_a_mailmap_of_another_version_joins_whom_that_one_joins(world: World) -> None:
    world.show("box", mail("a", to=[]))
    world.show("code", mailmap(("", "nadia@example.com", "nadia@old.example.com")), ".mailmap")
    assert persons(world) == ["email:nadia@example.com email:nadia@old.example.com"]
    world.show("code", mailmap(("", "nadia@example.com", "nadia@new.example.com")), ".mailmap")
    assert persons(world) == ["email:nadia@example.com email:nadia@new.example.com"]


def test_two_people_of_one_name_stay_two(world: World) -> None:
    world.show("box", mail("a", sender=NADIA, to=[]))
    world.show("box", mail("b", sender=who("Nadia Okoro", "email:other@example.com"), to=[]))
    world.show("work", said("1772000000.000100", "Hello"), "C1")
    assert persons(world) == ["email:nadia@example.com", "email:other@example.com", "slack:T1:U1"]


def test_one_address_is_one_person_whatever_it_is_called(world: World) -> None:
    world.show("box", mail("a", sender=NADIA, to=[]))
    world.show("box", mail("b", sender=who("N. Okoro", "email:nadia@example.com"), to=[]))
    assert persons(world) == ["email:nadia@example.com"]


def test_bots_offices_and_machines_are_nobody_in_git_either(world: World) -> None:
    world.show("code", commit("c1", "Bump", author=who("renovate[bot]", "address:1+renovate[bot]@example.com")), "refs")
    world.show("code", commit("c2", "Deploy", author=who("Robin Vale", "address:noreply@example.com")), "refs")
    world.show("code", mailmap(("Robin Vale", "robin@example.com", "noreply@example.com")), ".mailmap")
    world.show("vault", note("Help desk", "Open all day.", keys=["email:support@example.com"]), "Help desk.md")
    world.show("work", directory(("U1", "Support", "support@example.com")), ".directory")
    shown = world.entities()
    assert shown["address:1+renovate[bot]@example.com"] == ("renovate[bot]", "Artifact")
    assert shown["address:noreply@example.com"] == ("noreply@example.com", "Organization")
    assert shown["note:Help desk"][1] != "Person"
    assert persons(world) == ["slack:T1:U1"]
    assert not [keys for keys in shown if "email:noreply" in keys or "email:support" in keys]


def _everything() -> list[tuple[str, Any, str, str]]:
    nadia = who("Nadia Okoro", "email:nadia@example.com")
    namesake = who("Nadia Okoro", "email:other@example.com")
    noreply = who("Nadia Okoro", "address:noreply@example.com")
    return [
        ("work", directory(("U1", "Nadia Okoro", "nadia@example.com"), ("U2", "Tom", "")), ".directory", ""),
        ("export", directory(("U1", "nadia", "nadia@example.com"), bots=[("B1", "Bot", "")]), ".directory", ""),
        ("work", said("1772000000.000100", "The plan", reactions={"tada": 1}), "C1", ""),
        ("export", said("1772000000.000100", "The plan", reactions={"tada": 1}), "C1", ""),
        ("work", said("1772000060.000200", "Agreed", thread_ts="1772000000.000100", user="U2", name="Tom"), "C1", ""),
        ("box", mail("a", sender=nadia), "INBOX", ""),
        ("archive", mail("a", sender=nadia), "old.mbox", ""),
        ("box", mail("b", sender=namesake, subject="Re: Lunch", thread="a@example.com", in_reply_to="a@example.com"), "INBOX", ""),
        ("box", mail("c", sender=ME, to=[nadia, noreply]), "Sent", "sent"),
        ("archive", mail("c", sender=ME, to=[nadia, noreply]), "old.mbox", ""),
        ("box", mail("d", sender=noreply, list={"id": "gardens.example.org", "address": "gardens@example.org"}), "INBOX", ""),
        ("code", commit("c1", "Start", author=who("N", "email:nadia@old.example.com")), "refs", ""),
        ("code", mailmap(("Nadia Okoro", "nadia@example.com", "nadia@old.example.com")), ".mailmap", ""),
        ("vault", note("Nadia", "A colleague.", keys=["email:nadia@example.com"], names=["Nadia Okoro"]), "Nadia.md", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_the_order_in_which_sources_come_changes_nothing(seed: int, tmp_path: Path, plain_chain: Any) -> None:
    rng = random.Random(seed)
    states = set()
    for attempt in range(2):
        root = tmp_path / str(attempt)
        root.mkdir()
        with EventStore.open(root / "events.db", write=True) as store:
            world = World(root, plain_chain, store)
            for name, trust in {
                "vault": "own",
                **dict.fromkeys(("work", "export", "box", "archive", "code"), "others"),
            }.items():
                world.source(name, trust=trust)
            shown = _everything()
            rng.shuffle(shown)
            for source, item, place, role in shown:
                world.show(source, item, place, role)
                if rng.random() < 0.3:
                    extract_pending(store, plain_chain)
                    with Graph.open(root / "graph.db", write=True) as graph:
                        catch_up(store, graph, batch=rng.choice([1, 7]), kept=rng.choice([0, 1000]))
            with world.read() as graph:
                states.add(graph.state_hash())
    assert len(states) == 1
