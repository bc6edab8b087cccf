"""What the first tiers suggest to the schema, from a few patterns; and that each suggestion stands in the log once."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.extraction import escalation, reactor
from ctxsync.engine.extraction.base import Entity, Episode, Extraction, Identity, Relation
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.suggesting import MOST, context_of, suggester
from ctxsync.engine.schema import universal
from ctxsync.events.model import SchemaSuggested, Suggestion
from ctxsync.events.runs import TRIAL
from ctxsync.events.store import NewEvent
from tests.engine.extraction.escalating import AT, Bench, Scripted, found

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def suggested(text: str, *names: str, type_: str = "Concept", **more: Any) -> list[tuple[str, str]]:
    """Return (kind, name) of what is suggested of a text in which these names were found."""
    return [(str(one["kind"]), str(one["name"])) for one in suggestions(text, *names, type_=type_, **more)]


def suggestions(text: str, *names: str, type_: str = "Concept", **more: Any) -> list[dict[str, Any]]:
    entities = []
    for number, name in enumerate(names):
        start = text.index(name)
        entities.append(Entity(f"e{number}", name, type_, span=(start, start + len(name)), tier=1))
    episode = Episode("ep", "note:1", "note", "", text, AT, **more)
    return list(suggester(universal()).suggest(Extraction("ep", 1, "m", entities), episode))


@pytest.mark.parametrize(
    ("text", "name", "noun"),
    [
        ("Saffron is a spice.", "Saffron", "Spice"),
        ("Saffron is an expensive red spice, and rare.", "Saffron", "Spice"),
        ("Taleggio is a kind of cheese from the Alps.", "Taleggio", "Cheese"),
        ("We hired the freighter Mazowsze for May.", "Mazowsze", "Freighter"),
        ("They bought a second trawler called Havdis.", "Havdis", "Trawler"),
        ("the opera [[Der Brunnen]] is on", "Der Brunnen", "Opera"),
    ],
)
def test_a_noun_that_says_what_a_named_thing_is_becomes_a_type(text: str, name: str, noun: str) -> None:
    assert suggested(text, name) == [("entity_type", noun)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Kestrel is a service.", "Kestrel"),  # a word for an Artifact
        ("Saffron is a thing.", "Saffron"),
        ("Saffron is used in rice.", "Saffron"),
        ("the old Mazowsze is here", "Mazowsze"),
        ("the cake Nadia baked", "Nadia"),
        ("the freighters Mazowsze and Gdynia", "Mazowsze"),
        ("Spice Road is a road.", "Spice Road"),
        ("Saffron is a concept.", "Saffron"),
    ],
)
def test_what_is_known_vague_or_no_noun_is_not_suggested(text: str, name: str) -> None:
    assert suggested(text, name) == []


def test_only_things_of_a_wide_type_need_another() -> None:
    assert suggested("Nadia is a beekeeper.", "Nadia", type_="Person") == []
    assert suggested("Havdis is a trawler.", "Havdis", type_="Artifact") == [("entity_type", "Trawler")]


@pytest.mark.parametrize(
    ("text", "names", "relation"),
    [
        ("Luke dives with Harbour Divers.", ("Luke", "Harbour Divers"), "dives_with"),
        ("Kinross recalled the GlucoTest.", ("Kinross", "GlucoTest"), "recalls"),
        ("The GlucoTest was recalled by Kinross.", ("GlucoTest", "Kinross"), "recalls"),
        ("[[Hugh Vane]] represents **Acme**.", ("Hugh Vane", "Acme"), "represents"),
    ],
)
def test_a_verb_between_two_names_that_no_list_has_becomes_a_relation(
    text: str, names: tuple[str, str], relation: str
) -> None:
    assert suggested(text, *names, type_="Organization") == [("relation_type", relation)]


def test_a_passive_is_turned_around() -> None:
    (one,) = suggestions("The GlucoTest was recalled by Kinross.", "GlucoTest", "Kinross", type_="Organization")
    assert (one["head_id"], one["tail_id"], one["rationale"]) == ("e1", "e0", "Kinross recalls GlucoTest")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Kinross owns Acme.", ("Kinross", "Acme")),
        ("Kinross uses Acme.", ("Kinross", "Acme")),
        ("Luke dives in Lisbon.", ("Luke", "Lisbon")),  # where, and no more
        ("Kinross meetings with Acme.", ("Kinross", "Acme")),
        ("Kinross never recalled Acme.", ("Kinross", "Acme")),
        ("Kinross is very recalled Acme.", ("Kinross", "Acme")),
        ("Luke dives. Acme is here.", ("Luke", "Acme")),
    ],
)
def test_known_verbs_places_nouns_and_denials_suggest_nothing(text: str, names: tuple[str, str]) -> None:
    assert suggested(text, *names, type_="Organization") == []


def test_code_and_what_others_said_suggest_nothing() -> None:
    text = "Saffron is a spice."
    assert suggested(text, "Saffron", quoted=((0, 19),)) == []
    assert suggested(text, "Saffron", code=((0, 5), (14, 19))) == []
    assert suggested(text, "Saffron", quoted=((8, 19),)) == [("entity_type", "Spice")]


def test_a_fallback_relation_suggests_its_verb() -> None:
    ends = [Entity("a", "Luke", "Person", tier=1), Entity("b", "Acme", "Organization", tier=1)]
    result = Extraction("ep", 1, "m", ends, [Relation("a", "related_to", "b", "dives with", tier=1)])
    episode = Episode("ep", "note:1", "note", "", "", AT)
    assert [one["name"] for one in suggester(universal()).suggest(result, episode)] == ["dives_with"]


def test_an_episode_suggests_little_and_tier_0_nothing() -> None:
    names = [f"Name{letter}" for letter in "ABCDEF"]
    nouns = ("spice", "cheese", "trawler", "opera", "clan", "pony")
    text = " ".join(f"{name} is a {noun}." for name, noun in zip(names, nouns, strict=True))
    assert len(suggested(text, *names)) == MOST
    entity = Entity("a", "Saffron", "Concept", span=(0, 7))
    episode = Episode("ep", "note:1", "note", "", "Saffron is a spice.", AT)
    assert suggester(universal()).suggest(Extraction("ep", 0, "m", [entity]), episode) == []


@pytest.mark.parametrize(
    ("kind", "place", "context"),
    [
        ("note", "People/Work/Nadia.md", "s/People/Work"),
        ("note", "Nadia.md", "s"),
        ("mail", "INBOX", "s/INBOX"),
        ("slack", "C123", "s/C123"),
        ("log", "2026-05-20", "s"),
    ],
)
def test_a_context_is_a_source_and_its_folder_or_channel(kind: str, place: str, context: str) -> None:
    assert context_of(Episode("e", "i", kind, "", "", AT, source="s", place=place)) == context


# In the log


class Names:
    """Tier 1: takes the first word for a thing."""

    tier, model = 1, "names"

    def extract(self, episodes: Any, lower: Any) -> Iterator[Extraction]:
        for episode in episodes:
            word = episode.text.split()[0]
            yield Extraction(episode.id, 1, self.model, [Entity("w", word, "Concept", span=(0, len(word)), tier=1)])


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.chain = Chain(universal(), Identity(), [Names()], gates=made.chain.gate)
    yield made
    made.close()


def said(bench: Bench) -> list[tuple[str, str, str, str]]:
    return [
        (event.subject, event.payload["episode"], event.payload["context"], event.payload["suggestion"]["kind"])
        for event in bench.store.read(types=("schema.suggested",))
    ]


def test_what_the_first_tiers_suggest_is_stored_with_the_extraction_once(bench: Bench) -> None:
    bench.note("one", "Saffron is a spice.")
    bench.lower()
    assert said(bench) == [("schema:Spice", "one-Saffron is a spice.", "vault", "entity_type")]
    kinds = [event.type for event in bench.store.read()]
    assert kinds.index("schema.suggested") == kinds.index("episode.extracted") + 1
    bench.chain.run = "newer"
    bench.lower()
    assert kinds != [event.type for event in bench.store.read()]
    assert len(said(bench)) == 1


def test_what_a_higher_tier_suggests_is_stored_and_what_tier_1_suggested_not_again(bench: Bench) -> None:
    bench.note("one", "Saffron is a spice. hard")
    bench.lower()
    more = [
        {"kind": "entity_type", "name": "Spice", "supporting_entity_ids": ["2h"], "confidence": 0.9},
        {"kind": "relation_type", "name": "contains", "head_id": "2h", "tail_id": "2t", "confidence": 0.9},
    ]
    step = bench.step(Scripted(lambda episode, _: found(episode, suggestions=more)))
    with closing(bench.graph()) as graph:
        (waiting,) = escalation.newest(graph.db, step.place, (), now=bench.now, most=9)
        outcome = escalation.read(bench.store, graph.db, step, waiting, now=bench.now)
    assert outcome is not None
    assert [event.subject for event in outcome.also] == ["schema:contains"]


def test_a_trial_s_suggestions_stay_in_its_result(bench: Bench) -> None:
    episode = Episode("e", "note:1", "note", "", "x", AT, source="vault")
    result = Extraction("e", 2, "m", suggestions=[{"kind": "entity_type", "name": "Spice", "confidence": 0.9}])
    event = reactor.extracted("vault", episode, result, run=f"{TRIAL}r", schema="s")
    assert list(reactor.suggested(bench.store, event, episode)) == []
    bench.store.append([event])
    regular = reactor.extracted("vault", episode, result, run="r", schema="s")
    assert [one.subject for one in reactor.suggested(bench.store, regular, episode)] == ["schema:Spice"]


def test_suggestions_change_nothing_in_the_graph(bench: Bench) -> None:
    bench.note("one", "Saffron is a spice.")
    bench.lower()
    with closing(bench.graph()) as graph:
        before = graph.state_hash()
    one = SchemaSuggested(suggestion=Suggestion(kind="entity_type", name="Cheese"), episode="x", context="vault")
    bench.store.append([NewEvent("vault", "schema:Cheese", one, AT)])
    bench.project()
    with closing(bench.graph()) as graph:
        assert graph.state_hash() == before
