"""What a model says a text ends, by the ids of facts that it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.extraction.base import Entity, Extraction, Relation
from tests.engine.extraction.escalating import AT, DAY, Bench, Scripted, found, works_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.note("rosa", "Rosa Quint at Acme", at=AT)
    made.lower()
    yield made
    made.close()


def ending(
    bench: Bench, *, ids: Any = None, relations: Any = ((), ()), names: tuple[str, ...] = ("Rosa Quint",)
) -> Any:
    """Let a tier that is given facts about `names` end those of `ids`, else all; return what is stored."""
    facts = bench.facts()

    def answer(episode: Any, _: Any) -> Extraction:
        given = [fact.id for fact in facts.about(names) if fact.phrase == "works at"]
        entities, stated = relations
        gone = given if ids is None else ids
        return Extraction(episode.id, 2, "model", list(entities), list(stated), list(gone), confidence=0.8)

    return bench.read(bench.step(Scripted(answer), statements=facts.statement))


def test_an_id_ends_its_fact_at_the_date_of_the_text(bench: Bench) -> None:
    bench.note("news", "hard: she is gone", at=AT + 30 * DAY)
    bench.lower()
    payload = ending(bench)
    (stated,) = [relation for relation in payload.relations if relation.ends]
    assert (stated.relation, stated.phrase_class, stated.phrase) == ("part_of", "employment", "works at")
    assert (stated.quote, stated.confidence, stated.tier) == ("", 0.4, 2)
    assert payload.invalidates
    assert bench.believed() == ["Rosa Quint works at Acme to 30"]


def test_the_words_of_the_statement_that_took_over_stand_for_the_end(bench: Bench) -> None:
    bench.note("news", "hard: she went to Globex", at=AT + 30 * DAY)
    bench.lower()
    entities = [Entity("a", "Rosa Quint", "Person", tier=2), Entity("b", "Globex", "Organization", tier=2)]
    took = Relation("a", "part_of", "b", "is a member of", "membership", "she went to Globex", (6, 24), 0.7, tier=2)
    payload = ending(bench, relations=(entities, [took]))
    (stated,) = [relation for relation in payload.relations if relation.ends]
    assert (stated.head, stated.quote, stated.span, stated.confidence) == ("a", "she went to Globex", (6, 24), 0.7)
    assert [entity.name for entity in payload.entities if entity.tier == 2] == ["Rosa Quint", "Globex", "Acme"]


def test_a_sentence_a_wrong_id_and_one_that_was_not_given_end_nothing(bench: Bench) -> None:
    bench.note("boris", "Boris Vian at Acme")
    bench.note("news", "hard: all are gone", at=AT + 30 * DAY)
    bench.lower()
    facts = bench.facts()
    other = [fact.id for fact in facts.about(["Boris Vian"]) if fact.phrase == "works at"]
    payload = ending(bench, ids=["She left them all.", "0" * 32, *other])
    assert not any(relation.ends for relation in payload.relations)
    assert payload.invalidates == ("She left them all.", "0" * 32, *other)
    assert bench.believed() == ["Boris Vian works at Acme", "Rosa Quint works at Acme"]


def test_what_others_wrote_ends_nothing_that_ones_own_notes_say(bench: Bench) -> None:
    bench.source("mail", "others")
    bench.note("news", "hard: she is gone", source="mail", at=AT + 30 * DAY)
    bench.lower()
    payload = ending(bench)
    assert any(relation.ends for relation in payload.relations)
    assert bench.believed() == ["Rosa Quint works at Acme"]


def test_an_end_that_the_model_states_itself_is_not_said_twice(bench: Bench) -> None:
    bench.note("news", "hard: she left Acme", at=AT + 30 * DAY)
    bench.lower()
    payload = ending(bench, relations=works_at("Rosa Quint", "Acme", 2, ends=True, phrase="left"))
    assert [relation.phrase for relation in payload.relations if relation.ends] == ["left"]


def test_a_model_is_given_the_current_facts_of_each_name_and_no_ended_ones(bench: Bench) -> None:
    bench.note("boris", "Boris Vian at Acme", at=AT)
    bench.note("news", "hard: she is gone", at=AT + 30 * DAY)
    bench.lower()
    known = bench.facts().about(["acme", "Nobody"])
    employed = {(fact.head, fact.relation, fact.tail, fact.valid_from) for fact in known if fact.phrase == "works at"}
    assert employed == {
        ("Rosa Quint", "part_of", "Acme", "2025-06-15"),
        ("Boris Vian", "part_of", "Acme", "2025-06-15"),
    }
    ending(bench)
    assert {fact.head for fact in bench.facts().about(["Acme"]) if fact.phrase == "works at"} == {"Boris Vian"}


def test_a_name_with_many_facts_gives_eight(bench: Bench) -> None:
    for number in range(20):
        bench.note(f"n{number}", f"Rosa Quint{'abcdefghijklmnopqrst'[number]} at Acme", at=AT + number)
    bench.lower()
    assert len(bench.facts().about(["Acme"])) == 8


def test_a_result_without_ids_is_left_as_it_is(bench: Bench) -> None:
    bench.note("news", "hard", at=AT + 30 * DAY)
    bench.lower()
    facts = bench.facts()
    payload = bench.read(bench.step(Scripted(lambda episode, _: found(episode)), statements=facts.statement))
    assert not any(relation.ends for relation in payload.relations)


def test_a_model_elsewhere_is_told_nothing_that_a_closed_source_says(bench: Bench) -> None:
    bench.source("diary", "own")
    bench.note("secret", "Lia Brandt at Acme", source="diary")
    bench.note("shared", "Tom Adler at Acme")
    bench.note("shared", "Tom Adler at Acme", source="diary")
    bench.lower()
    facts = bench.facts()

    def told(**more: Any) -> set[str]:
        names = ["Acme", "Lia Brandt", "Tom Adler", "Rosa Quint"]
        return {fact.head for fact in facts.about(names, **more) if fact.phrase == "works at"}

    assert told() == {"Rosa Quint", "Lia Brandt", "Tom Adler"}
    assert told(allowed=lambda source: source != "diary") == {"Rosa Quint"}
