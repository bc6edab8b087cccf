"""Pseudonyms under arbitrary texts: everything comes back, and nothing personal is left in what leaves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from ctxsync.engine.privacy.analysis import Analyzer, Found
from ctxsync.engine.privacy.coining import NUMBER, word
from ctxsync.engine.privacy.scrub import Scrubber

if TYPE_CHECKING:
    from collections.abc import Sequence

ANALYZER = Analyzer()

names = st.lists(
    st.text(st.characters(categories=("Lu", "Ll", "Lo", "Mn")), min_size=2, max_size=8), min_size=1, max_size=3
).map(" ".join)
known_names = st.sampled_from(
    ["Rosa Amsel", "Will Stone", "Jürgen Öztürk", "王伟", "Anne-Marie O'Neil", "McDonald", "Mcdonald"]
)
numbers = st.sampled_from(
    [
        ("+49 30 1234567", "phone"),
        ("10.20.30.40", "ip"),
        ("10.20.30.4", "ip"),
        ("DE89370400440532013000", "iban"),
        ("4111111111111111", "card"),
        ("U01ABCDEF9", "slack"),
        ("rosa.amsel@acme.example", "email"),
        ("rosa@acme.example", "email"),
        ("Rosa@acme.example", "email"),
    ]
)
fillers = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [" met ", "\n", ", ", "'s ", "_", " <", "> ", "velvaran", " Mevhotig ", "+999 000004", "\\n", '{"a": "', '"}']
    ),
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    """A text, and what in it is personal."""
    people = draw(st.lists(st.one_of(names, known_names), max_size=3))
    values = [(name, "person") for name in people] + draw(st.lists(numbers, max_size=3))
    said = [
        form
        for value, kind in values
        for form in ((value, value.upper(), value.lower(), *value.split()) if kind == "person" else (value,))
    ]
    parts = draw(st.lists(st.one_of(fillers, st.sampled_from(said) if said else fillers), max_size=12))
    return "".join(parts), values


def finder(values: Sequence[tuple[str, str]]) -> Scrubber:
    """A scrubber that finds these values and nothing else: what finds them is on trial elsewhere."""

    def analyze(text: str) -> list[Found]:
        return [Found(*found.span(), kind) for value, kind in values for found in re.finditer(re.escape(value), text)]

    return Scrubber(analyze=analyze)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds())
def test_what_was_scrubbed_comes_back(world: tuple[str, list[tuple[str, str]]]) -> None:
    text, values = world
    pseudonyms = finder(values).pseudonyms([text], people=[value for value, kind in values if kind == "person"])

    assert pseudonyms.restore(pseudonyms.scrub(text)) == text


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds())
def test_no_number_address_or_known_name_is_left(world: tuple[str, list[tuple[str, str]]]) -> None:
    text, values = world
    left = finder(values).pseudonyms([text]).scrub(text)

    for value, kind in values:
        if kind != "person" and value in text and not any(value in other for other, _ in values if other != value):
            assert value not in left
    for name in ("Rosa Amsel", "Jürgen Öztürk", "王伟", "McDonald"):
        if (name, "person") in values:
            assert not re.search(rf"(?<![^\W_]){name}(?![^\W_])", left)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds(), worlds())
def test_over_several_calls_of_one_process_all_comes_back(
    one: tuple[str, list[tuple[str, str]]], two: tuple[str, list[tuple[str, str]]]
) -> None:
    scrubber = finder(one[1] + two[1])
    for text in (one[0], two[0], one[0] + two[0]):
        pseudonyms = scrubber.pseudonyms([text])
        scrubbed = pseudonyms.scrub(text)
        assert pseudonyms.restore(scrubbed) == text
        again = scrubber.pseudonyms([scrubbed + text])
        assert again.restore(again.scrub(scrubbed + text)) == scrubbed + text


LETTER = """From: Rosa Amsel <rosa.amsel@acme.example>
Hi Tomás,
Call me at +49 30 1234567 or (212) 555-0188. My card is 4111 1111 1111 1111, IBAN DE89 3704 0044 0532 0130 00, server
10.20.30.40. Nadia Okoro joined Fennel Labs on 2025-03-14; Kafka replaced RabbitMQ in 3.8.18. Ask <@U01ABCDEF9>.
Imani Achterberg and Jürgen Öztürk met Priya Raman in Lisbon. rosa will call.
Best,
Jonas
"""


def test_presidio_and_the_patterns_find_what_a_letter_holds() -> None:
    pseudonyms = Scrubber(analyze=ANALYZER).pseudonyms([LETTER])
    left = pseudonyms.scrub(LETTER)

    for personal in (
        *("rosa", "amsel", "acme.example", "tomás", "1234567", "0188", "4111", "3704", "10.20.30.40", "nadia", "okoro"),
        *("u01abcdef9", "imani", "achterberg", "jürgen", "öztürk", "priya", "raman", "jonas"),
    ):
        assert personal not in left.lower()
    for kept in (" Labs", "2025-03-14", "Kafka", "RabbitMQ", "3.8.18", "Lisbon"):
        assert kept in left
    assert pseudonyms.restore(left) == LETTER


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("now it belongs to Dolores in rev ops", "Dolores"),
        ("See you on Friday.\n\nAisling", "Aisling"),
        ("we asked Ottavia and Odd", "Odd"),
        ("lunch with tomas at noon", "tomas"),
        ("Pilar Quesada moved to the search team", "Quesada"),
    ],
)
def test_whoever_is_not_known_to_be_a_thing_may_be_a_person(text: str, person: str) -> None:
    assert person not in Scrubber(analyze=ANALYZER).pseudonyms([text]).scrub(text)


def test_the_same_name_has_the_same_pseudonym_in_every_call_of_a_process() -> None:
    scrubber = finder([("Rosa Amsel", "person"), ("Rosa Quint", "person")])

    one = scrubber.pseudonyms(["Rosa Amsel"]).scrub("Rosa Amsel")
    two = scrubber.pseudonyms(["Rosa Quint met Rosa Amsel."]).scrub("Rosa Quint met Rosa Amsel.")

    assert two.endswith(f" met {one}.")
    assert two.split()[0] == one.split()[0]


def test_an_address_and_a_name_stay_one_persons() -> None:
    pseudonyms = finder([("Rosa Amsel", "person"), ("rosa.amsel@acme.example", "email")]).pseudonyms(
        ["Rosa Amsel rosa.amsel@acme.example"]
    )

    name, address = pseudonyms.scrub("Rosa Amsel"), pseudonyms.scrub("rosa.amsel@acme.example")

    assert address.startswith(name.lower().replace(" ", "."))


def test_a_name_that_is_a_word_too_is_a_name_only_with_a_capital() -> None:
    pseudonyms = finder([("Will Stone", "person")]).pseudonyms(["Will Stone will come."])

    assert pseudonyms.scrub("Will Stone will come.").endswith(" will come.")


def test_only_what_was_given_in_a_call_is_put_back_in_it() -> None:
    scrubber = finder([("Rosa", "person"), ("Tomas", "person")])
    rosa = scrubber.pseudonyms(["Rosa"]).scrub("Rosa")
    tomas = scrubber.pseudonyms(["Tomas"])
    tomas.scrub("Tomas")

    assert tomas.restore(f"{rosa} left") == f"{rosa} left"


def test_a_longer_word_that_begins_as_a_pseudonym_is_not_put_back() -> None:
    pseudonyms = finder([("Rosa", "person")]).pseudonyms(["Rosa"])
    coined = pseudonyms.scrub("Rosa")

    assert (
        pseudonyms.restore(f"{coined}ia un{coined} {coined.upper()} {coined}'s") == f"{coined}ia un{coined} ROSA Rosa's"
    )


def test_a_coined_word_that_the_text_holds_already_is_not_given_out() -> None:
    first = word(0)
    pseudonyms = finder([("Rosa", "person")]).pseudonyms([f"Rosa met {first}."])

    assert pseudonyms.restore(pseudonyms.scrub(f"Rosa met {first}.")) == f"Rosa met {first}."
    assert pseudonyms.scrub("Rosa") != first


def test_no_two_coined_words_are_equal_or_begin_with_each_other() -> None:
    words = [word(index) for index in range(2 * NUMBER)]

    assert len(set(words)) == len(words)
    assert {len(one) for one in words[:NUMBER]} == {8}


@pytest.mark.parametrize(
    "text", ["2025-03-14 10:20", "version 3.8.18", "ticket 1234567", "in 2024 and 2025", "1,234,567 tokens"]
)
def test_dates_and_versions_are_left_alone(text: str) -> None:
    assert Scrubber(analyze=ANALYZER).pseudonyms([text]).scrub(text) == text
