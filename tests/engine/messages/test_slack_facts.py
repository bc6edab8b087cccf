"""What Slack messages and a workspace's directory state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.connectors.base import Link
from tests.engine.messages.world import directory, said, who

if TYPE_CHECKING:
    from tests.engine.messages.world import World

PEOPLE = (("U1", "Nadia Okoro", "nadia@example.com"), ("U2", "Tom Brandt", "tom@example.com"))


def test_a_message_says_who_wrote_it_where_and_in_answer_to_what(world: World) -> None:
    world.show("work", directory(*PEOPLE), ".directory")
    world.show("work", said("1772000000.000100", "The plan", channel="C1"), "C1")
    world.show("work", said("1772000060.000200", "Agreed", thread_ts="1772000000.000100", user="U2", name="Tom"), "C1")
    facts = world.facts(tiers=True)
    assert "Nadia Okoro -authored-> The plan" in facts
    assert "The plan -was posted in-> #general" in facts
    assert "Agreed -replies to-> The plan" in facts
    assert "Tom Brandt -authored-> Agreed" in facts


def test_an_answer_to_a_message_that_is_not_there_stands_for_it_until_it_comes(world: World) -> None:
    world.show("work", said("1772000060.000200", "Agreed", thread_ts="1772000000.000100"), "C1")
    assert "Agreed -replies to-> message of 2026-02-25 06:13 UTC" in world.facts(tiers=True)
    world.show("work", said("1772000000.000100", "The plan"), "C1")
    assert "Agreed -replies to-> The plan" in world.facts(tiers=True)


def test_mentions_links_files_and_channels_are_stated_and_reactions_are_no_facts(world: World) -> None:
    stated: dict[str, Any] = {
        "mentions": [who("Tom Brandt", "slack:T1:U2")],
        "channels": ["C2"],
        "reactions": {"tada": 3},
        "files": [{"name": "plan.pdf", "type": "pdf", "size": 1}, {"name": "me.png", "type": "png", "size": 1}],
    }
    links = (Link("https://example.com/plan", "url", "here"),)
    world.show("work", directory(*PEOPLE, channels=(("C1", "general"), ("C2", "ops"))), ".directory")
    world.show("work", said("1772000000.000100", "The plan", links=links, **stated), "C1")
    assert world.facts(tiers=True) == [
        "Nadia Okoro -authored-> The plan",
        "The plan -was posted in-> #general",
        "The plan -refers to-> #ops",
        "The plan -links to-> https://example.com/plan",
        "The plan -attaches-> plan.pdf",
        "Tom Brandt -is mentioned in-> The plan",
    ]
    (event,) = world.store.read(types=("episode.extracted",))
    assert event.payload["entities"][0]["attributes"] == {"reactions": {"tada": 3}}


def test_a_channel_keeps_its_history_when_it_gets_another_name(world: World) -> None:
    world.show("work", said("1772000000.000100", "The plan"), "C1")
    world.show("work", directory(), ".directory")
    assert "The plan -was posted in-> #general" in world.facts(tiers=True)
    world.show("work", directory(channels=(("C1", "everyone"),)), ".directory")
    assert "The plan -was posted in-> #everyone" in world.facts(tiers=True)


def test_a_bot_is_a_thing_and_tier_0_is_all_that_is_made_of_its_words(reading: World) -> None:
    bot = said("1772000000.000100", "Tom Brandt works at Globex.", user="B1", name="Deploy Bot", automated=True)
    reading.show("work", directory(bots=[("B1", "Deploy Bot", "nadia@example.com")]), ".directory")
    reading.show("work", bot, "C1")
    assert "Globex" not in " ".join(fact for fact in reading.facts() if "employment" in fact)
    shown = reading.entities()
    assert shown["address:slack:T1:B1"] == ("Deploy Bot", "Artifact")
    assert "Person" not in {kind for _, kind in shown.values()}


def test_prose_in_slack_is_read_and_i_is_who_wrote_it(reading: World) -> None:
    reading.show("work", directory(*PEOPLE), ".directory")
    reading.show("work", said("1772000000.000100", "I joined Globex in January 2026. Tom leads Project Heron."), "C1")
    facts = reading.facts()
    assert "Nadia Okoro employment Globex" in facts
    assert "Project Heron responsibility Tom" in facts


def test_what_another_said_in_a_shared_message_gives_no_facts(reading: World) -> None:
    own = "Nadia leads Project Heron."
    shared = "Alice Moss works at Acme."
    text = f"{own}\n{shared}"
    reading.show("work", said("1772000000.000100", text, quoted=((len(own) + 1, len(text)),)), "C1")
    assert "Acme" not in " ".join(fact for fact in reading.facts() if "employment" in fact)
    assert "Project Heron responsibility Nadia" in " ".join(reading.facts())


def test_an_edit_withdraws_what_it_no_longer_says(reading: World) -> None:
    reading.show("work", said("1772000000.000100", "Tom Brandt works at Globex."), "C1")
    assert "Tom Brandt employment Globex" in reading.facts()
    reading.show("work", said("1772000000.000100", "Tom Brandt works at Initech.", edited=True), "C1")
    facts = reading.facts()
    assert "Tom Brandt employment Initech" in facts
    assert "Tom Brandt employment Globex" not in facts


def test_what_is_too_short_to_state_anything_is_not_parsed(reading: World) -> None:
    reading.show("work", said("1772000000.000100", "Thanks Tom!"), "C1")
    reading.read().close()
    (event,) = reading.store.read(types=("episode.extracted",))
    assert event.payload["gate"] == ["tier0:short"]
