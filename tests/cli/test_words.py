"""Times as typed and as told, and text made harmless."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.cli.inert import inert, inert_document, json_inert, one_line, typed
from ctxsync.cli.times import date_words, day_words, parse_moment, parse_start, validity_words

NOW = int(datetime(2026, 11, 30, 12, 0, tzinfo=UTC).timestamp() * 1000)


def ms(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type, misc]  # a tuple of date parts


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024", ms(2025, 1, 1) - 1),
        ("2024-03", ms(2024, 4, 1) - 1),
        ("2024-12", ms(2025, 1, 1) - 1),
        ("2024-3-5", ms(2024, 3, 6) - 1),
        ("2024-02-29", ms(2024, 3, 1) - 1),
        ("yesterday", ms(2026, 11, 30) - 1),
        ("today", ms(2026, 12, 1) - 1),
        ("now", NOW),
        ("2024-03-05T14:00:00Z", ms(2024, 3, 5, 14)),
        ("2024-03-05t14:00:00z", ms(2024, 3, 5, 14)),
        ("2024-03-05 14:00", ms(2024, 3, 5, 14)),
        ("2024-03-05T16:00:00+02:00", ms(2024, 3, 5, 14)),
    ],
)
def test_a_partial_date_is_its_last_moment_and_rfc_3339_that_instant(text: str, moment: int) -> None:
    assert parse_moment(text, now=NOW, option="--valid-at") == moment


def test_a_start_is_the_first_moment() -> None:
    assert parse_start("2024-03", now=NOW) == ms(2024, 3, 1)


@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1)))  # noqa: DTZ001 - naive is UTC here
def test_any_day_ends_where_the_next_begins(moment: datetime) -> None:
    text = moment.strftime("%Y-%m-%d")
    assert parse_moment(text, now=NOW, option="x") + 1 - parse_start(text, now=NOW) == 24 * 3600 * 1000


def test_dates_are_told_as_precisely_as_they_were_stated() -> None:
    assert date_words("2025-05-01T00:00:00.000Z") == "May 2025"
    assert date_words("2025-05-03T00:00:00Z") == "3 May 2025"
    assert date_words("2025-01-01T00:00:00Z", year_alone=True) == "2025"
    assert day_words("2025-05-01T00:00:00Z") == "1 May 2025"
    assert date_words(None) == ""


def test_validity_is_told_in_words() -> None:
    assert validity_words("2025-05-01T00:00:00Z", None) == "since May 2025"
    assert validity_words("2019-01-01T00:00:00Z", "2025-05-01T00:00:00Z") == "from 2019 until May 2025"
    assert validity_words(None, None) == ""


@given(st.text(st.characters()))
def test_no_text_keeps_a_character_that_acts_on_a_terminal(text: str) -> None:
    shown = inert(text)
    assert not any(ord(sign) < 32 and sign not in "\n\t" for sign in shown)
    assert not any(0x7F <= ord(sign) <= 0x9F for sign in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
    shown.encode()


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp"])))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert inert(text) == text


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(
    st.recursive(
        st.none() | st.text(st.characters(codec="utf-8")),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    )
)
def test_json_made_inert_is_the_same_document(document: object) -> None:
    text = json_inert(json.dumps(document, ensure_ascii=False))
    assert json.loads(text) == document
    assert not set(text) & set("\x7f\x9b\u202e\u2066")


def test_escape_is_shown_as_a_sign() -> None:
    assert inert("\x1b[31mred\x1b[0m \u202eabc\x07") == "␛[31mred␛[0m <U+202E>abc␇"


def test_keys_and_values_at_any_depth_are_made_inert() -> None:
    assert inert_document({"\x1b": [{"a": "\x9b"}]}) == {"␛": [{"a": "<U+009B>"}]}


def test_an_argument_that_is_not_utf_8_can_be_stored_and_printed() -> None:
    assert typed(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\ufffd"
