"""Look-ups and time travel on both axes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.reading import counts, entity, facts, history, timeline, why
from ctxsync.errors import UsageError

if TYPE_CHECKING:
    from tests.engine.reading.conftest import Builder


NOW = 1_780_000_000_000


@pytest.fixture
def moving(graph: Builder) -> Builder:
    """Wen works at Acme, then (learned at position 10) at Globex since 2024; a note about Lisbon comes and goes."""
    graph.people("Wen Li", "Ann")
    graph.entity("Acme", "Organization")
    graph.entity("Globex", "Organization")
    graph.entity("Lisbon", "Place")
    old = graph.episode("Wen Li works at Acme.", item="note:1", place="old.md", at="2023-01-01")
    new = graph.episode("\nWen Li joined Globex.", item="note:2", place="new.md", line=5, at="2024-01-01", since=10)
    gone = graph.episode("Wen Li lives in Lisbon.", item="note:3", place="gone.md", since=2, until=8)
    graph.fact("Wen Li", "works at", "Acme", start="2023-01-01", until=10, episode=old, quote="Wen Li works at Acme")
    globex = graph.fact(
        "Wen Li", "works at", "Globex", start="2024-01-01", since=10, episode=new, quote="joined Globex"
    )
    graph.fact(
        "Wen Li", "works at", "Acme", start="2023-01-01", end="2024-01-01", since=10, superseded_by=globex,
        reason="superseded", ended_in=new,
    )  # fmt: skip
    graph.fact("Wen Li", "lives in", "Lisbon", since=2, until=8, episode=gone, quote="lives in Lisbon")
    return graph


def tails(shapes: list[dict[str, Any]]) -> list[str]:
    return [shape["tail"]["name"] for shape in shapes]


def test_valid_at_reads_what_held_then(moving: Builder) -> None:
    assert moving.ask("where does Wen Li work?")["values"] == ["Globex"]
    assert moving.ask("where does Wen Li work?", valid_at=1_690_000_000_000)["values"] == ["Acme"]
    assert moving.ask("where does Wen Li work?", valid_at=1_600_000_000_000)["values"] == []


def test_known_at_reads_what_was_believed_then(moving: Builder) -> None:
    assert moving.ask("where does Wen Li work?", known_at=moving.recorded(9))["values"] == ["Acme"]
    assert moving.ask("where does Wen Li live?", known_at=moving.recorded(7))["values"] == ["Lisbon"]
    assert moving.ask("where does Wen Li live?")["values"] == []
    assert moving.ask("where does Wen Li work?", known_at=0)["values"] == []


def test_both_axes_work_together(moving: Builder) -> None:
    then = {"known_at": moving.recorded(9), "valid_at": 1_720_000_000_000}
    (fact,) = moving.ask("where does Wen Li work?", **then)["answers"]
    assert (fact["tail"]["name"], fact["valid_to"], fact["retracted_at"]) == ("Acme", None, None)


def test_facts_are_what_holds_now_and_with_past_also_what_held(moving: Builder) -> None:
    reader = moving.reader()
    assert tails(facts(reader, head="Wen Li", now=NOW)["facts"]) == ["Globex"]
    assert tails(facts(reader, head="wen li", past=True, now=NOW)["facts"]) == ["Globex", "Acme"]
    assert tails(facts(reader, tail="Acme", past=True, now=NOW)["facts"]) == ["Acme"]
    assert tails(facts(reader, head="Wen Li", valid_at=1_690_000_000_000, now=NOW)["facts"]) == ["Acme"]
    assert tails(facts(reader, relation="part_of", type="Organization", now=NOW)["facts"]) == ["Globex"]
    assert facts(reader, type="Place", now=NOW)["facts"] == []
    assert facts(reader, head="Nobody", now=NOW)["facts"] == []
    assert tails(facts(reader, source="vault", now=NOW)["facts"]) == ["Globex"]
    assert facts(reader, source="code", now=NOW)["facts"] == []
    reader.close()


def test_a_relation_that_does_not_exist_is_refused_by_name(moving: Builder) -> None:
    with pytest.raises(UsageError, match="part_of"):
        facts(moving.reader(), relation="works_at", now=NOW)


def test_history_shows_every_version_on_both_axes(moving: Builder) -> None:
    told = history(moving.reader(), "Wen Li", now=NOW)["facts"]
    assert [(shape["tail"]["name"], shape["valid_to"], shape["retracted_at"] is None) for shape in told] == [
        ("Acme", None, False),
        ("Lisbon", None, False),
        ("Acme", "2024-01-01T00:00:00Z", True),
        ("Globex", None, True),
    ]
    assert told[1]["support"][0]["locator"] == "gone.md:1"
    before = history(moving.reader(), "Wen Li", now=NOW, known_at=moving.recorded(9))["facts"]
    assert [(shape["tail"]["name"], shape["retracted_at"] is None) for shape in before] == [
        ("Acme", True),
        ("Lisbon", False),
    ]


def test_history_of_a_fact_is_its_own_versions(moving: Builder) -> None:
    (acme,) = facts(moving.reader(), tail="Acme", past=True, now=NOW)["facts"]
    assert [shape["valid_to"] for shape in history(moving.reader(), acme["id"], now=NOW)["facts"]] == [
        None,
        "2024-01-01T00:00:00Z",
    ]


def test_why_names_the_words_the_rule_and_what_took_over(moving: Builder) -> None:
    (acme,) = facts(moving.reader(), tail="Acme", past=True, now=NOW)["facts"]
    told = why(moving.reader(), acme["id"][:10], now=NOW)
    (fact,) = told["facts"]
    assert fact["reason"] == "superseded"
    assert fact["ended_by"][0]["locator"] == "new.md:5"
    assert tails(told["superseded_by"]) == ["Globex"]
    assert fact["superseded_by"] == told["superseded_by"][0]["id"]


def test_why_of_a_withdrawn_fact_tells_what_it_rested_on(moving: Builder) -> None:
    lisbon = next(shape for shape in history(moving.reader(), "Lisbon", now=NOW)["facts"])
    (fact,) = why(moving.reader(), lisbon["id"], now=NOW)["facts"]
    assert fact["retracted_at"] is not None
    assert not fact["current"]
    assert fact["support"][0]["quote"] == "lives in Lisbon"


def test_why_of_an_unknown_fact_says_where_ids_come_from(moving: Builder) -> None:
    with pytest.raises(UsageError, match="ctxsync facts"):
        why(moving.reader(), "beef", now=NOW)


def test_the_line_of_a_quote_counts_from_where_its_section_stands(moving: Builder) -> None:
    (fact,) = facts(moving.reader(), tail="Globex", now=NOW)["facts"]
    assert fact["support"][0]["locator"] == "new.md:6"


def test_a_shared_name_lists_everyone_who_bears_it(graph: Builder) -> None:
    graph.entity("Sam Reed", "Person", keys=("email:sam@example.com",), label="one")
    graph.entity("Sam Reed", "Person", keys=("email:reed@example.com",), label="two")
    told = entity(graph.reader(), "Sam Reed", now=NOW)["entities"]
    assert [shape["keys"] for shape in told] == [{"email": ["sam@example.com"]}, {"email": ["reed@example.com"]}]
    (one,) = entity(graph.reader(), "sam@example.com", now=NOW)["entities"]
    assert one["id"] == told[0]["id"]
    assert entity(graph.reader(), told[1]["id"], now=NOW)["entities"] == [told[1]]
    assert entity(graph.reader(), "email:reed@example.com", now=NOW)["entities"] == [told[1]]


def test_an_ambiguous_name_in_a_question_is_owned_up_to(graph: Builder) -> None:
    graph.entity("Sam Reed", "Person", label="one")
    graph.entity("Sam Hill", "Person", label="two")
    graph.entity("Acme", "Organization")
    graph.entity("Globex", "Organization")
    graph.fact("one", "works at", "Acme")
    graph.fact("two", "works at", "Globex")
    found = graph.ask("where does Sam work?")
    assert sorted(found["values"]) == ["Acme", "Globex"]
    assert "Sam Hill" in found["note"]
    assert "Sam Reed" in found["note"]


def test_a_first_name_means_the_fuller_name_when_the_bare_one_knows_nothing(graph: Builder) -> None:
    graph.entity("Sam", "Person", label="bare")
    graph.entity("Sam Hill", "Person")
    graph.entity("Globex", "Organization")
    graph.fact("Sam Hill", "works at", "Globex")
    assert graph.ask("where does Sam work?")["values"] == ["Globex"]


def test_the_timeline_of_an_entity_runs_forward(moving: Builder) -> None:
    told = timeline(moving.reader(), "Wen Li", now=NOW)
    times = [entry["at"] for entry in told["timeline"]]
    assert times == sorted(times)
    assert [entry["kind"] for entry in told["timeline"]] == ["starts", "ends", "starts"]


def test_counts_are_of_what_stands(moving: Builder) -> None:
    assert counts(moving.reader(), now=NOW) == {
        "episodes": 2, "episodes_all": 3, "entities": 5, "facts": {"current": 1, "all": 2},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("who designed the spec?", ["Ann"]),
        ("who wrote the spec?", ["Wen Li"]),
        ("who works on the spec?", ["Ann", "Wen Li"]),
        ("who painted the spec?", []),
        ("what is Wen Li allergic to?", ["peanuts"]),
        ("what does Wen Li like?", ["tea"]),
        ("who is Wen Li's sister?", ["Mei"]),
        ("who is Wen Li's mother?", []),
        ("who is the ceo of Acme?", ["Ann"]),
        ("who works at Acme?", ["Ann", "Wen Li"]),
        ("who is married to Bo?", ["Ann"]),
        ("who is Ann married to?", ["Bo"]),
    ],
)
def test_one_class_of_phrases_does_not_make_two_verbs_one(graph: Builder, asked: str, expected: Any) -> None:
    graph.people("Wen Li", "Ann", "Mei", "Bo")
    graph.entity("Acme", "Organization")
    for name in ("spec", "peanuts", "tea"):
        graph.entity(name, "Artifact" if name == "spec" else "Concept")
    graph.fact("Wen Li", "wrote", "spec")
    graph.fact("Ann", "designed", "spec")
    graph.fact("Wen Li", "is allergic to", "peanuts")
    graph.fact("Wen Li", "likes", "tea")
    graph.fact("Wen Li", "sister", "Mei")
    graph.fact("Wen Li", "works at", "Acme")
    graph.fact("Ann", "is the CEO of", "Acme")
    graph.fact("Ann", "is married to", "Bo")
    assert sorted(graph.ask(asked)["values"]) == sorted(expected)


def test_reading_loads_no_model_and_no_validation() -> None:
    code = "import sys, ctxsync.engine.reading; print([m for m in ('pydantic', 'spacy', 'onnxruntime', 'numpy', 'rapidfuzz') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
