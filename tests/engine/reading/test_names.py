"""The one normal form of names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.engine.names import normal


@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        (
            (
                "Robin Vale",
                "robin vale",
                " Robin\u00a0 Vale ",
                "ROBIN VALE",
                "Robin-Vale",
                "robin_vale",
                "Robin Vale's",
            ),
            "robin vale",
        ),
        (
            ("The Heron", "heron", "“Heron”", "Heron.", "(heron)", "Heron\N{RIGHT SINGLE QUOTATION MARK}s", "a heron"),
            "heron",
        ),
        (("C++", "c++"), "c++"),
        (("C#",), "c#"),
        ((".NET", ".net"), ".net"),
        (("Straße", "STRASSE"), "strasse"),
        (("Cafe\u0301", "Café"), "café"),
        (("Payments-API", "payments api", "payments_api"), "payments api"),
        (("A", "a"), "a"),
        (("The The",), "the"),
        (("The",), "the"),
    ],
)
def test_spellings_of_one_name_compare_equal(spellings: tuple[str, ...], expected: Any) -> None:
    assert {normal(spelling) for spelling in spellings} == {expected}


def test_a_name_of_punctuation_alone_keeps_something_to_be_known_by() -> None:
    assert normal("???") == "???"
    assert normal("🦊") == "🦊"
    assert normal("  ") == ""


@given(st.text())
def test_normalising_twice_changes_nothing(name: str) -> None:
    assert normal(normal(name)) == normal(name)


@given(st.text(alphabet="aAsS'\N{RIGHT SINGLE QUOTATION MARK} -_the.\"+#İß\u0345\u0301", max_size=12))
def test_normalising_twice_changes_nothing_for_awkward_names(name: str) -> None:
    assert normal(normal(name)) == normal(name)


@given(st.text())
def test_a_normal_name_is_empty_only_for_a_name_of_space(name: str) -> None:
    assert bool(normal(name)) == bool(normal(name).strip())
