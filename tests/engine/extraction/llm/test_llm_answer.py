from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.engine.extraction.base import Entity, Episode, Extraction
from ctxsync.engine.extraction.lexicon import Lexicon
from ctxsync.engine.extraction.llm.answer import Meaning
from ctxsync.engine.extraction.llm.context import KnownFact, numbered
from ctxsync.engine.extraction.llm.repair import parse
from ctxsync.engine.schema import universal
from ctxsync.errors import BadReply
from ctxsync.events.model import EpisodeExtracted

TEXT = (
    "Ben left Orbit in April.\nHe now works at Tally\N{RIGHT SINGLE QUOTATION MARK}s  Labs, which runs on `kestrel-db`."
)
LEXICON = Lexicon(universal())
FACTS = numbered(
    [KnownFact("f-17", "Ben", "part_of", "Orbit", "works at"), KnownFact("f-18", "Ben", "owned_by", "Ana")]
)


def entity(number: int, name: str, kind: str = "Concept", **more: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "name": name, "type": kind, **more}


def relation(head: Any, name: str, tail: Any, **more: Any) -> dict[str, Any]:
    return {"head": head, "relation": name, "tail": tail, "phrase": "", "quote": "", "confidence": 0.8, **more}


BEN, ORBIT, LABS = (
    entity(1, "Ben", "Person"),
    entity(2, "Orbit", "Organization"),
    entity(3, "Tally's Labs", "Organization"),
)


def read(
    entities: list[Any],
    relations: list[Any] = [],  # noqa: B006 - never changed
    *,
    text: str = TEXT,
    lower: list[Entity] = [],  # noqa: B006 - never changed
    strict: bool = False,
    episode: dict[str, Any] | None = None,
    **more: Any,
) -> Extraction:
    content = json.dumps({"entities": entities, "relations": relations, **more})
    return meaning(content, text, lower, strict, episode or {})


def meaning(content: str, text: str, lower: list[Entity], strict: bool, fields: dict[str, Any]) -> Extraction:
    return Meaning(universal(), LEXICON, strict=strict).read(
        parse(content),
        Episode(
            **{"id": "x", "item": "note:1", "kind": "note", "title": "Weekly", "text": text, "occurred_at": 0, **fields}
        ),
        Extraction("x", 1, "lower", list(lower)),
        facts=FACTS,
        author=("Robin Vale", ("email:robin@example.com",)),
        tier=2,
        model="m",
    )


def said(found: Extraction) -> list[str]:
    names = {one.id: one.name for one in found.entities}
    return [f"{names[r.head]} {r.relation} {names[r.tail]}" for r in found.relations]


def test_a_quote_is_found_in_the_text_whatever_its_case_space_and_marks() -> None:
    found = read([BEN, LABS], [relation("e1", "part_of", "e3", phrase="works at", quote="now WORKS at Tally's Labs")])
    [stated] = found.relations
    assert stated.span
    assert TEXT[slice(*stated.span)] == stated.quote == "now works at Tally\N{RIGHT SINGLE QUOTATION MARK}s  Labs"
    assert (stated.phrase_class, stated.confidence, stated.tier) == ("employment", 0.8, 2)


def test_a_quote_with_a_slip_is_found_and_one_that_is_not_there_halves_the_confidence() -> None:
    slip = relation("e1", "part_of", "e3", quote="He now work at Tally's Labs, which")
    invented = relation("e1", "part_of", "e2", quote="Ben is the chief of Orbit and proud of it")
    near, unfound = read([BEN, ORBIT, LABS], [slip, invented]).relations
    assert near.span
    assert TEXT[slice(*near.span)].startswith("He now works at")
    assert 0.4 < near.confidence < 0.8
    assert (unfound.span, unfound.confidence) == (None, 0.4)


@pytest.mark.parametrize("field", ["quoted", "code"])
def test_what_others_words_or_code_say_is_dropped(field: str) -> None:
    where = (0, TEXT.index("\n"))
    found = read([BEN, ORBIT], [relation("e1", "part_of", "e2", quote="Ben left Orbit")], episode={field: (where,)})
    assert not found.relations
    assert "llm:dropped:quoted=1" in found.gate


def test_a_quote_that_stands_outside_of_a_quotation_as_well_is_the_authors() -> None:
    text = "> Ben left Orbit\nYes, Ben left Orbit."
    found = read(
        [BEN, ORBIT],
        [relation("e1", "part_of", "e2", quote="Ben left Orbit")],
        text=text,
        episode={"quoted": ((0, 16),)},
    )
    assert found.relations[0].span == (22, 36)


def test_types_and_relations_count_whatever_their_case_and_joints() -> None:
    found = read([entity(1, "Ben", "PERSON"), entity(2, "Orbit", "organization")], [relation("e1", "Part of", "e2")])
    assert [one.type for one in found.entities] == ["Person", "Organization"]
    assert said(found) == ["Ben part_of Orbit"]


def test_what_the_schema_lacks_is_kept_vaguely_and_suggested_when_open() -> None:
    found = read([entity(1, "Ben", "Employee"), ORBIT], [relation("e1", "admires", "e2")])
    assert [(one.type, one.confidence) for one in found.entities] == [("Concept", 0.6), ("Organization", 1.0)]
    assert said(found) == ["Ben related_to Orbit"]
    assert found.relations[0].confidence < 0.3
    assert {(s["kind"], s["name"]) for s in found.suggestions} == {
        ("entity_type", "Employee"),
        ("relation_type", "admires"),
    }


def test_what_the_schema_lacks_is_dropped_when_strict() -> None:
    found = read([entity(1, "Ben", "Employee"), ORBIT, LABS], [relation("e2", "admires", "e3")], strict=True)
    assert [one.name for one in found.entities] == ["Orbit", "Tally's Labs"]
    assert not found.relations
    assert not found.suggestions


def test_a_relation_named_by_a_phrase_of_the_schema_is_turned_the_right_way() -> None:
    assert said(read([BEN, ORBIT], [relation("e2", "employs", "e1")])) == ["Ben part_of Orbit"]


def test_a_phrase_that_says_another_relation_gives_no_class() -> None:
    [stated] = read([BEN, ORBIT], [relation("e1", "caused", "e2", phrase="works at")]).relations
    assert (stated.relation, stated.phrase, stated.phrase_class) == ("caused", "works at", "")


def test_an_end_may_be_a_name_and_one_that_is_nothing_drops_its_relation() -> None:
    found = read(
        [BEN, ORBIT],
        [relation("ben", "part_of", "ORBIT"), relation("e1", "part_of", "e9"), relation("e1", "caused", "e1")],
    )
    assert said(found) == ["Ben part_of Orbit"]
    assert {"llm:dropped:dangling=1", "llm:dropped:self=1"} <= set(found.gate)


def test_an_entity_listed_twice_is_one_and_a_statement_made_twice_is_one() -> None:
    twice = [relation("e1", "part_of", "e2", confidence=0.5), relation("e4", "part_of", "e2", confidence=0.7)]
    found = read([BEN, ORBIT, entity(4, "BEN", "Person")], twice)
    assert len(found.entities) == 2
    assert [r.confidence for r in found.relations] == [0.35]


def test_names_that_are_not_in_the_text_are_dropped_and_words_apart_are_worth_less() -> None:
    found = read(
        [BEN, entity(2, "Marta Quill", "Person"), entity(3, "Orbit Labs", "Organization"), entity(4, "Weekly")]
    )
    assert {one.name: one.confidence for one in found.entities} == {"Ben": 1.0, "Orbit Labs": 0.6, "Weekly": 1.0}
    assert "llm:dropped:not-in-text=1" in found.gate


def test_an_answer_about_another_text_is_a_bad_reply() -> None:
    with pytest.raises(BadReply, match="Nothing in the answer"):
        read([entity(1, "Marta Quill", "Person")], [relation("e1", "part_of", "e1")])


def test_nothing_to_say_is_legal() -> None:
    found = read([])
    assert (found.entities, found.relations, found.gate) == ([], [], [])


def test_what_lower_tiers_know_keeps_its_id_and_keys() -> None:
    known = [Entity("s1", "ben", "Person", ("email:ben@example.com",)), Entity("b1", "Orbit", "Concept", tier=1)]
    found = read([entity(1, "Ben", "Artifact"), ORBIT], [relation("e1", "part_of", "e2")], lower=known)
    assert [(one.id, one.type, one.keys) for one in found.entities] == [
        ("s1", "Person", ("email:ben@example.com",)),  # structure knows what it is
        ("b1", "Organization", ()),
    ]
    assert (found.relations[0].head, found.relations[0].tail) == ("s1", "b1")
    assert known[1].type == "Concept"


def test_a_relation_may_name_what_only_lower_tiers_listed() -> None:
    found = read([BEN], [relation("e1", "part_of", "Orbit")], lower=[Entity("s1", "Orbit", "Organization")])
    assert said(found) == ["Ben part_of Orbit"]


def test_i_is_the_author() -> None:
    found = read([entity(1, "I", "Concept"), ORBIT], [relation("e1", "part_of", "e2")], text="I joined Orbit.")
    assert next((one.name, one.type, one.keys) for one in found.entities) == (
        "Robin Vale",
        "Person",
        ("email:robin@example.com",),
    )


def test_an_end_is_read_off_the_phrase() -> None:
    [stated] = read([BEN, ORBIT], [relation("e1", "part_of", "e2", phrase="left", valid_to="2024-04")]).relations
    assert (stated.ends, stated.valid_to) == (True, "2024-04")


@pytest.mark.parametrize(
    ("start", "end", "kept"),
    [
        ("2024", "2024-Q3", ("2024", "2024-Q3")),
        ("2024-03-05T10:00:00Z", None, ("2024-03-05T10:00:00Z", None)),
        (2024, "null", ("2024", None)),
        ("April", "2024-13", (None, None)),
        ("2024-05-32", "", (None, None)),
        ("2024-05", "2023-05", (None, None)),
        ("0000-01-01", "now", (None, None)),
    ],
)
def test_dates_are_dates_or_nothing(start: Any, end: Any, kept: tuple[Any, Any]) -> None:
    [stated] = read([BEN, ORBIT], [relation("e1", "part_of", "e2", valid_from=start, valid_to=end)]).relations
    assert (stated.valid_from, stated.valid_to) == kept


def test_only_facts_that_were_given_can_be_ended_by_id_and_sentences_stay() -> None:
    ended = ["F1", "f2.", "F9", "f-18", "e1", "[F1]", {"id": "F1"}, 7, "Ben does not work at Orbit any more"]
    found = read([BEN], invalidates=ended)
    assert found.invalidates == ["f-17", "f-18", "Ben does not work at Orbit any more"]
    assert "llm:dropped:unknown-fact=4" in found.gate


def test_suggestions_are_about_what_was_kept_and_the_schema_lacks() -> None:
    suggested = [
        {
            "kind": "entity_type",
            "name": "Employer",
            "supporting_entity_ids": ["e2", "e9"],
            "confidence": "0.7",
            "rationale": "it employs",
        },
        {"kind": "entity_type", "name": "person", "supporting_entity_ids": ["e1"]},
        {"kind": "relation_type", "name": "admires", "head_id": "e1", "tail_id": "e2"},
        {"kind": "relation_type", "name": "envies", "head_id": "e1", "tail_id": "e8"},
        {"kind": "other", "name": "x"},
        "words",
    ]
    found = read([BEN, ORBIT], suggestions=suggested)
    ids = [one.id for one in found.entities]
    assert [(s["name"], s.get("supporting_entity_ids"), s.get("head_id")) for s in found.suggestions] == [
        ("Employer", [ids[1]], None),
        ("admires", None, ids[0]),
    ]


WORDS = st.sampled_from(
    ["Ben", "Orbit", "e1", "e2", "F1", "F7", "Person", "part_of", "left", "2024-02", "\ud800", "\x00", "", "I", TEXT]
)
VALUE = st.recursive(
    st.one_of(WORDS, st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["id", "name", "type"]), inner)
    ),
    max_leaves=4,
)


def made_of(*keys: str) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(st.one_of(st.fixed_dictionaries({}, optional=dict.fromkeys(keys, VALUE)), VALUE), max_size=4), VALUE
    )


@given(
    st.fixed_dictionaries(
        {
            "entities": made_of("id", "name", "type", "confidence", "attributes"),
            "relations": made_of("head", "relation", "tail", "phrase", "quote", "confidence", "valid_from", "valid_to"),
        },
        optional={
            "invalidates": made_of("id"),
            "suggestions": made_of(
                "kind", "name", "supporting_entity_ids", "head_id", "tail_id", "confidence", "rationale"
            ),
            "confidence": VALUE,
        },
    ),
    st.booleans(),
)
def test_whatever_a_model_says_becomes_what_the_log_takes_or_a_bad_reply(answer: Any, strict: bool) -> None:
    schema = universal()
    try:
        found = meaning(json.dumps(answer), TEXT, [Entity("s1", "Orbit", "Organization")], strict, {})
    except BadReply:
        return
    ids = {one.id for one in found.entities}
    assert len(ids) == len(found.entities)
    assert all(one.type in schema.entity_types and 0 <= one.confidence <= 1 for one in found.entities)
    for r in found.relations:
        assert r.relation in schema.relations
        assert {r.head, r.tail} <= ids
        assert r.head != r.tail
        assert not r.phrase_class or schema.classes[r.phrase_class].relation == r.relation
        assert r.span is None or TEXT[slice(*r.span)] == r.quote
    event = EpisodeExtracted.model_validate(
        {
            "episode": "x",
            "item": "note:1",
            "run": "r",
            "tier": 2,
            "model": "m",
            "entities": [plain(one) for one in found.entities],
            "relations": [plain(one) for one in found.relations],
            "invalidates": found.invalidates,
            "suggestions": found.suggestions,
            "confidence": found.confidence,
            "gate": found.gate,
        }
    )
    assert event.model_dump_json().encode()


def plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
