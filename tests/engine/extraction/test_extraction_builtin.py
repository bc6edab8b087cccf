from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from tests.engine.extraction.conftest import Reads


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Nadia left Borealis in May and joined Fennel Labs.",
         ["Nadia part_of Borealis ended to 2026-05", "Nadia part_of Fennel Labs from 2026-05"]),
        ("The orders service now stores its data in Postgres instead of MySQL.",
         ["orders service depends_on MySQL ended", "orders service depends_on Postgres"]),
        ("We moved the billing pipeline from RabbitMQ to Kafka on 12 May.",
         ["billing pipeline depends_on Kafka from 2026-05-12", "billing pipeline depends_on RabbitMQ ended to 2026-05-12"]),
        ("Tom is leading the Heron project.", ["Heron project owned_by Tom"]),
        ("Alice lives in Lisbon.", ["Alice located_at Lisbon"]),
        ("The outage was caused by an expired certificate.", ["expired certificate caused outage"]),
        ("Heron depends on the ingest service.", ["Heron depends_on ingest service"]),
        ("Project Heron is now called Osprey.", ["Project Heron related_to Osprey"]),
        ("Maya took over the search team from Tom.", ["search team owned_by Maya", "search team owned_by Tom ended"]),
        ("The API is maintained by Priya.", ["API owned_by Priya"]),
        ("I met with Dr. Okafor at the clinic on Tuesday.", ["Robin Vale related_to Okafor from 2026-05-19"]),
        ("Since March, Ines Duarte has been working for Copperline.", ["Ines Duarte part_of Copperline from 2026-03"]),
        ("Hannah Osei, the CTO of Brightwater Group, founded Tidepool.",
         ["Hannah Osei part_of Brightwater Group", "Tidepool owned_by Hannah Osei"]),
        ("Greta joined Copperline in January 2025. She maintains the export job.",
         ["Greta part_of Copperline from 2025-01", "export job owned_by Greta"]),
        ("Nils moved from Bergen to Porto in 2023.",
         ["Nils located_at Bergen ended to 2023", "Nils located_at Porto from 2023"]),
        ("Nils moved from Copperline to Fennel Labs.", ["Nils part_of Copperline ended", "Nils part_of Fennel Labs"]),
        ("Alice worked at Acme until March 2026.", ["Alice part_of Acme ended to 2026-03"]),
        ("Ada worked at Acme from 2019 to 2021.", ["Ada part_of Acme from 2019 to 2021"]),
    ],
)  # fmt: skip
def test_a_plain_statement_has_its_ends_direction_and_dates(
    rules: Reads, reads: Reads, text: str, facts: list[str]
) -> None:
    assert rules.facts(text) == facts
    assert set(reads.facts(text)) >= set(facts)


@pytest.mark.parametrize(
    "text",
    [
        "Alice does not work at Copperline.",
        "If Alice joins Copperline, Tom will be delighted.",
        "Alice might move to Berlin next year.",
        "Does the gateway depend on Consul?",
        "We should migrate the ledger to Postgres.",
        "Tom plans to leave Borealis in August.",
        "I wonder whether Ines still works at Copperline.",
        "Nobody uses the fax gateway.",
        "- [ ] Alice joins Copperline",
        "> Alice works at Copperline.",
        "```\nAlice works at Copperline.\n```",
        "Alice ~~works at Copperline~~ sails.",
    ],
)
def test_what_is_denied_supposed_planned_asked_or_quoted_is_no_fact(reads: Reads, text: str) -> None:
    assert reads.facts(text) == []


def test_an_announced_change_with_a_date_is_a_less_certain_fact_of_the_future(reads: Reads) -> None:
    found = reads.extract("Alice will join Copperline in August 2026.")
    assert reads.lines(found) == ["Alice part_of Copperline from 2026-08"]
    assert found.relations[0].confidence < 0.6


def test_a_list_line_speaks_of_what_its_note_is_about(rules: Reads) -> None:
    links = ({"target": "Acme", "kind": "wikilink", "start": 11, "end": 19},)
    found = rules.facts(
        "- works at [[Acme]] since 2024-03\n- Manager: Tom Berg\n- lives in Lisbon", title="Alice", links=links
    )
    assert found == ["Alice located_at Lisbon", "Alice part_of Acme from 2024-03", "Alice part_of Tom Berg"]


def test_what_one_does_with_people_is_ones_own_even_in_their_note(reads: Reads) -> None:
    assert reads.facts("- met with [[Priya Raman]] yesterday", title="Alice") == [
        "Robin Vale related_to Priya Raman from 2026-05-19"
    ]


def test_the_note_and_its_alias_are_one(reads: Reads) -> None:
    found = reads.extract(
        "Nadia works at Harbourlight. She lives in Porto.", title="Nadia Okoro", item_names=("Nadia",)
    )
    assert reads.lines(found) == ["Nadia Okoro located_at Porto", "Nadia Okoro part_of Harbourlight"]
    topic = next(entity for entity in found.entities if entity.name == "Nadia Okoro")
    assert topic.keys == ("note:1",)


def test_the_first_person_is_the_owner_with_their_keys_and_otherwise_the_author(reads: Reads) -> None:
    mine = reads.extract("I work at Copperline.")
    assert next(e.keys for e in mine.entities if e.type == "Person") == ("email:robin@example.com",)
    theirs = reads.extract(
        "I work at Copperline.", author_name="Tom Berg", author_keys=("email:tom@example.com",), own=False
    )
    assert reads.lines(theirs) == ["Tom Berg part_of Copperline"]
    assert reads.extract("I work at Copperline.", own=False).relations == []


@pytest.mark.parametrize("text", ["If Alice joins Copperline, Tom will be delighted.", "- [ ] Alice joins Copperline"])
def test_what_is_supposed_is_no_fact_about_what_the_note_is_about_either(reads: Reads, text: str) -> None:
    assert reads.facts(text, title="Ines Quill") == []


def test_a_commit_without_a_subject_speaks_of_its_repository(rules: Reads) -> None:
    commit = {"kind": "commit", "item": "commit:a", "title": "x", "attributes": {"repository": "tides"}}
    assert rules.facts("Migrate the ledger from MySQL to Postgres", **commit) == [
        "ledger depends_on MySQL ended",
        "ledger depends_on Postgres",
    ]
    assert rules.facts("Use Kafka for events", **commit) == ["tides depends_on Kafka"]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("The Tide API depends on Redis for its cache and on the Ingest Service for fresh readings.",
         ["Tide API depends_on Ingest Service", "Tide API depends_on Redis"]),
        ("The gateway works with Kafka, Postgres and Redis.",
         ["gateway related_to Kafka", "gateway related_to Postgres", "gateway related_to Redis"]),
        ("Jonas lives in Lisbon and works at Casa Verde.", ["Jonas located_at Lisbon", "Jonas part_of Casa Verde"]),
        ("Alice and Bob work at Acme.", ["Alice part_of Acme", "Bob part_of Acme"]),
        ("Nadia, who runs the ingest service, lives in Porto.",
         ["Nadia located_at Porto", "ingest service owned_by Nadia"]),
        ("The billing service, which Tom maintains, depends on Stripe.",
         ["billing service depends_on Stripe", "billing service owned_by Tom"]),
        ("Maya Lindqvist, head of search at Brightwater, moved to Oslo.",
         ["Maya Lindqvist located_at Oslo", "Maya Lindqvist part_of Brightwater"]),
        ("The CEO of Acme, Tom Berg, lives in Oslo.", ["Tom Berg located_at Oslo", "Tom Berg part_of Acme"]),
        ("The company Brightwater acquired Tidepool.", ["Tidepool owned_by Brightwater"]),
        ("Acme's database is Postgres.", ["Acme depends_on Postgres"]),
        ("Jonas Weber's manager is Carla Ruiz.", ["Jonas Weber part_of Carla Ruiz"]),
        ("Tom Berg, CEO of Acme, founded Fennel Labs in 2012.",
         ["Fennel Labs owned_by Tom Berg from 2012", "Tom Berg part_of Acme"]),
    ],
)  # fmt: skip
def test_joined_ends_asides_and_possessors_are_read(rules: Reads, text: str, facts: list[str]) -> None:
    assert rules.facts(text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "Open the Importer plugin using the Command palette.",
        "You can open Grafana using Firefox.",
        "Click the gateway to choose Postgres.",
        "GitHub supports signed commits.",
        "The reader removes duplicate links from Postgres.",
        "It strives for speed without breaking Kafka.",
        "Avoid using Redis.",
        "The files depend on the settings.",
        "A file called config is in the folder.",
        "The map stores its data locally, not in Postgres.",
        "Directed acyclic graph (DAG)",
    ],
)
def test_instructions_habits_and_things_without_a_name_are_no_facts(rules: Reads, text: str) -> None:
    assert rules.facts(text, title="Orchard") == []


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("## Depends on\n\n- Kafka\n- the [[Ingest Service]] (for readings)",
         ["Tide API depends_on Ingest Service", "Tide API depends_on Kafka"]),
        ("Depends on:\n- Kafka and Postgres", ["Tide API depends_on Kafka", "Tide API depends_on Postgres"]),
        ("## Dependencies\n- Kafka: for events", ["Tide API depends_on Kafka"]),
        ("Depends on: Kafka, Postgres", ["Tide API depends_on Kafka", "Tide API depends_on Postgres"]),
        ("**Owner**: Priya Raman", ["Tide API owned_by Priya Raman"]),
        ("- **Team:** [[Search Team]]", ["Tide API owned_by Search Team"]),
        ("Left: Kafka\n\n## `date()`\n- Tom Berg", []),
    ],
)  # fmt: skip
def test_lists_under_a_heading_and_labels_speak_of_the_note(rules: Reads, text: str, facts: list[str]) -> None:
    assert rules.facts(text, title="Tide API") == facts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Switch from requests to httpx", ["tides depends_on httpx", "tides depends_on requests ended"]),
        ("Bump httpcore from 0.17.1 to 0.18.0", ["tides depends_on httpcore"]),
        ("build: migrate from setuptools to hatch", ["tides depends_on hatch", "tides depends_on setuptools ended"]),
        ("Drop Python 3.6 support", ["tides depends_on Python 3.6 ended"]),
        ("Remove the chardet dependency", ["tides depends_on chardet ended"]),
        ("Use URLMatcher for proxy lookups", []),
        ("Use public API", []),
        ("Remove unused imports", []),
        ("Fix the TypeError in parse_url", []),
        ("Move helpers from utils.py to models.py", []),
        ("Drop RedirectLoop exception", []),
    ],
)
def test_of_a_change_only_what_the_repository_depends_on_lasts(rules: Reads, text: str, facts: list[str]) -> None:
    commit = {"kind": "commit", "item": "commit:a", "title": "x", "attributes": {"repository": "tides"}}
    assert rules.facts(text, **commit) == facts


def test_phrases_read_in_the_third_person(reads: Reads) -> None:
    found = reads.extract(
        "Alice and Bob work at Acme. We use Kafka. The dashboard is hosted on Heroku.", title="Acme Team"
    )
    assert {r.phrase for r in found.relations if r.tier} == {"works at", "uses", "is hosted on"}


def test_names_are_words_that_can_name(rules: Reads) -> None:
    text = (
        "Open Obsidian at 14:30 PM. The build of `c68cad97273c` took 40 MB, `true` or `for`. It runs `kafka-python` "
        "with the $x_1$ of the “Heron”."
    )
    names = {entity.name for entity in rules.extract(text).entities}
    assert {"Obsidian", "kafka-python", "Heron"} <= names
    assert not names & {"Open Obsidian", "14:30 PM", "c68cad97273c", "MB", "true", "for", "x_1"}


def test_a_link_whose_words_are_not_the_notes_only_leads_on(rules: Reads) -> None:
    assert rules.facts("The archive depends on your [[Pricing|Sync tier]].") == []
    assert rules.facts("Nadia works at [[Acme Corp|the firm]].") == ["Nadia part_of Acme Corp"]


def test_every_quote_and_span_is_cut_from_the_text_itself(reads: Reads) -> None:
    text = (
        "# Team\n\n**Nadia Okoro** works at [[Companies/Acme|Acme]]\nsince *March 2024*. She leads the `ingest-api`.\n"
    )
    found = reads.extract(text)
    assert len([r for r in found.relations if r.tier]) >= 2
    for relation in found.relations:
        assert relation.span is not None
        assert relation.quote == text[slice(*relation.span)] != ""
    spans = {e.name: text[slice(*e.span)] for e in found.entities if e.span and e.tier}
    assert spans == {name: name for name in ("Nadia Okoro", "Acme", "ingest-api", "March 2024")}


def test_a_statement_tells_the_type_of_a_name_that_nothing_else_tells(reads: Reads) -> None:
    types = reads.types("Zorvan works at Quillby.")
    assert (types["Zorvan"], types["Quillby"]) == ("Person", "Organization")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Hello Maya,\n\nInes Quill works at Fennel Labs.", "Maya"),
        ("Hi Maya,\n\nInes Quill works at Fennel Labs.", "Maya"),
        ("Dear Maya Lindqvist,\nInes Quill works at Fennel Labs.", "Maya Lindqvist"),
        ("Hello Maya, Ines Quill works at Fennel Labs.", "Maya"),
        ("Thanks Maya! Ines Quill works at Fennel Labs.", "Maya"),
        ("Ines Quill works at Fennel Labs.\n\nCheers\nMaya", "Maya"),
        ("Ines Quill works at Fennel Labs.\n\nKind regards,\nMaya", "Maya"),
    ],
)
def test_a_greeting_is_no_part_of_a_name(reads: Reads, text: str, named: str) -> None:
    types = reads.types(text, kind="mail")
    assert types.pop(named, "Person") == "Person"  # who signs is the author, and need not be named once more
    assert types == {"Ines Quill": "Person", "Fennel Labs": "Organization"}
    assert reads.facts(text, kind="mail") == ["Ines Quill part_of Fennel Labs"]


def test_where_somebody_works_is_no_event_for_all_that_the_model_takes_it_for(reads: Reads) -> None:
    text = "Tobias Renn works at Harbourlight."
    assert reads.facts(text) == ["Tobias Renn part_of Harbourlight"]
    assert reads.types(text)["Harbourlight"] == "Organization"


def test_technical_names_are_things_whatever_the_model_takes_them_for(reads: Reads) -> None:
    types = reads.types("The gateway uses Kafka, RabbitMQ, Postgres and libcurl.")
    assert {types[name] for name in ("Kafka", "RabbitMQ", "Postgres", "libcurl")} == {"Artifact"}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=300))
def test_any_text_is_extracted_without_failing(reads: Reads, text: str) -> None:
    [(found, failures)] = reads.chain.extract([reads.episode(text)])
    assert failures == []
    ids = {entity.id for entity in found.entities}
    assert len(ids) == len(found.entities)
    for relation in found.relations:
        assert {relation.head, relation.tail} <= ids
        assert 0 <= relation.confidence <= 1


def test_loading_the_english_model_imports_nothing_that_other_packages_offer_spacy() -> None:
    """Presidio offers it a component, and importing that takes longer than the model itself."""
    code = (
        "import sys; from ctxsync.engine.extraction.builtin import load_english; load_english(); "
        "print('presidio_analyzer' in sys.modules, 'transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
