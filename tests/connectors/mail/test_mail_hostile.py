"""Mail made to cost time or memory, or to change what other mail says: each takes about as long as any other mail."""

from __future__ import annotations

import time

import pytest

from ctxsync.connectors.mail import charsets
from ctxsync.connectors.mail.headers import addresses, words_of
from ctxsync.connectors.mail.html import plain_text
from ctxsync.connectors.mail.message import mail_item
from ctxsync.errors import BadItem

SECONDS = 5.0
"""Far over what these take, on a slow machine too; what takes the square of its length takes minutes at these sizes."""
HEAD = b"From: Rosa <rosa@example.org>\nSubject: x\nMessage-ID: <1@example.org>\n"


def seconds(began: float) -> float:
    return time.process_time() - began


@pytest.mark.parametrize(
    "field",
    ["a" * 300_000, '"' + '\\"' * 150_000 + "\\", "(" + "\\(" * 150_000 + "(", "(a" * 100_000, "a" * 300_000 + "@"],
    ids=["no address", "quotes without end", "comments without end", "open brackets", "an address without its end"],
)
def test_an_address_field_made_to_be_slow_is_read_in_time_linear_in_its_length(field: str) -> None:
    began = time.process_time()
    addresses(field)
    assert seconds(began) < SECONDS


def test_a_header_of_very_many_fields_that_breaks_off_is_mended_in_time() -> None:
    began = time.process_time()
    item = mail_item(HEAD + b"X:\n" * 500_000 + b"no field\n\nwords\n")
    assert seconds(began) < SECONDS
    assert item.sections[0].text == "no field\nwords"


def test_a_hundred_thousand_encoded_words_are_one_text() -> None:
    began = time.process_time()
    assert words_of("=?utf-8?q?x?= " * 70_000).strip() == "x" * 70_000
    assert seconds(began) < SECONDS


def test_parameters_without_end_in_an_enriched_text_cost_no_more_than_others() -> None:
    began = time.process_time()
    mail_item(HEAD + b"Content-Type: text/enriched\n\n" + b"<param>" * 50_000)
    assert seconds(began) < SECONDS


BOUNDARIES = {
    "in the next line": (b'boundary=\n "b"', b"--b"),
    "by RFC 2231": (b"boundary*=us-ascii''b", b"--b"),
    "in pieces": (b'boundary*0="b"', b"--b"),
    "in angle brackets": (b"boundary=<b>", b"--b"),
    "with a backslash": (b'boundary="b\\\\"', b"--b\\"),
    "with a blank": (b"boundary=b c", b"--b c"),
    "wrong, and found by the text": (b"boundary=other", b"--b"),
}


@pytest.mark.parametrize("spelled", BOUNDARIES)
def test_a_message_of_many_thousand_parts_is_refused_however_its_boundary_is_written(spelled: str) -> None:
    parameter, line = BOUNDARIES[spelled]
    with pytest.raises(BadItem, match="more than 5,000 parts"):
        mail_item(HEAD + b"Content-Type: multipart/mixed; " + parameter + b"\n\n" + (line + b"\n\n") * 6_000)


def test_a_report_of_many_thousand_blocks_is_refused() -> None:
    with pytest.raises(BadItem, match="more than 5,000 parts"):
        mail_item(HEAD + b"Content-Type: message/delivery-status\n\n" + b"A: b\n\n" * 6_000)


def test_parts_within_parts_are_refused_however_their_boundaries_are_written() -> None:
    levels = (b"Content-Type: multipart/mixed; boundary=\n b%d\n\n--b%d\n" % (number, number) for number in range(70))
    with pytest.raises(BadItem, match="nested more than 60 parts deep"):
        mail_item(HEAD + b"".join(levels) + b"\nx\n")


def test_a_long_message_may_not_be_as_deep_as_a_short_one() -> None:
    levels = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (each, each) for each in range(20))
    assert mail_item(HEAD + levels + b"\nx\n").sections[0].text == "x"
    with pytest.raises(BadItem, match="nested more than 12 parts deep"):
        mail_item(HEAD + levels + b"\n" + b"x\n" * 200_000)


@pytest.mark.parametrize("value", [b";" * 300_000, b'"' + b";" * 300_000], ids=["of nothing", "in quotes without end"])
def test_a_part_with_a_hundred_thousand_parameters_is_read_as_any_other(value: bytes) -> None:
    began = time.process_time()
    item = mail_item(HEAD + b"Content-Type: text/plain; charset=" + value + b"\n\nhello\n")
    assert item.sections[0].text == "hello"
    assert seconds(began) < SECONDS


@pytest.mark.parametrize(
    "line", [b"-- \n", b"a%d:\n", b"a%d:\n> b\n"], ids=["signatures", "colons", "lines above quotations"]
)
def test_a_text_of_nothing_but_what_begins_quotations_is_read_in_time(line: bytes) -> None:
    body = b"".join(line % number if b"%d" in line else line for number in range(100_000))
    began = time.process_time()
    mail_item(HEAD + b"\n" + body)
    assert seconds(began) < 2 * SECONDS


def test_what_looks_like_a_signature_is_one_only_when_it_is_short() -> None:
    short = mail_item(HEAD + b"\nHello\n\n-- \nRosa\n").sections[0]
    assert short.text[slice(*short.quoted[0])] == "-- \nRosa"
    long = mail_item(HEAD + b"\nHello\n\n-- \n" + b"Rosa\n" * 60).sections[0]
    assert not long.quoted


def test_the_charsets_of_thousands_of_words_are_not_all_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("charset_normalizer.from_bytes", lambda *_, **__: _Nothing(asked))
    words = b"".join(b"=?x%d?q?%s?= " % (number, b"=F1=E2=9F" * 10) for number in range(1_000))
    mail_item(HEAD + b"To: " + words + b"\n\nx\n")
    assert len(asked) == charsets.MAX_GUESSES


class _Nothing:
    """What the library answers when it knows no charset."""

    def __init__(self, asked: list[int]) -> None:
        asked.append(1)

    def best(self) -> None:
        """Return that there is none."""


@pytest.mark.parametrize(
    "html",
    [
        "".join(f"<b id={number}><p>" for number in range(4_000)) + "words",
        "".join(f"<font size={number}><table>" for number in range(2_000)) + "<p>words" * 2_000,
        "<a href=http://example.org/><table><td>" * 2_500 + "words " * 50_000,
    ],
    ids=["formats begun again in every paragraph", "formats and tables", "links within links"],
)
def test_html_made_to_grow_as_its_square_is_read_in_time(html: str) -> None:
    began = time.process_time()
    assert "words" in plain_text(html).text
    assert seconds(began) < SECONDS


def test_formats_that_are_never_ended_lose_no_words_of_a_long_page() -> None:
    html = "<p><b>One</b> <i>two <p>three" * 1_200
    assert plain_text(html).text.split()[:6] == ["One", "two", "three", "One", "two", "three"]


def test_a_style_sheet_in_capitals_hides_as_any_other() -> None:
    assert plain_text("<STYLE>.x{display:none}</STYLE><p>seen<span class=x>hidden</span>").text == "seen"


@pytest.mark.parametrize(
    ("field", "forged"),
    [
        (b"From: Robin Vale <robin@example.com>", b"From: Ines Faro <ines@example.net>"),
        (b"Subject: Beans", b"Subject: The beans are sold"),
        (b"To: rosa@example.com", b"To: everybody@example.net"),
        (b"Date: Tue, 3 Mar 2026 10:00:00 +0100", b"Date: Tue, 3 Mar 2020 10:00:00 +0100"),
        (b"In-Reply-To: <zero@example.com>", b"In-Reply-To: <another@example.net>"),
        (b"\n\n", b"\nPrecedence: bulk\n\n"),
    ],
)
def test_a_message_that_is_sent_back_under_its_id_is_not_the_one_that_was_sent(field: bytes, forged: bytes) -> None:
    sent = (
        b"From: Robin Vale <robin@example.com>\nTo: rosa@example.com\nSubject: Beans\nIn-Reply-To: <zero@example.com>\n"
        b"Date: Tue, 3 Mar 2026 10:00:00 +0100\nMessage-ID: <one@example.com>\n\nI keep the beans.\n"
    )
    assert field in sent
    assert mail_item(sent).id == mail_item(b"Received: by a.example.com; x\n" + sent).id
    assert mail_item(sent.replace(field, forged, 1)).id != mail_item(sent).id
