"""Header fields of real mail: names, subjects, dates and ids, however badly written."""

from __future__ import annotations

import pytest

from ctxsync.connectors.base import Person
from ctxsync.errors import BadItem
from tests.connectors.mail.letters import CAME, NOW, body, letter, read, text


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (b"=?utf-8?Q?J=C3=B6rg?= & =?utf-8?B?w4ltaWxl?=", "Jörg & Émile"),
        (b"=?utf-8?B?4pyTIGRv?= =?utf-8?B?bmU=?=", "✓ done"),  # white space between encoded words is none
        (b"=?utf-8?B?4pw?= =?utf-8?B?kw?= x", "✓ x"),  # a character cut in two between them, and no padding
        (b"Gr\xc3\xbc\xc3\x9fe", "Grüße"),  # raw UTF-8
        ("Привет из огорода, как ваши дела".encode("cp1251"), "Привет из огорода, как ваши дела"),  # detected
        (b"=?utf-8?Q?a?=b=?nonsense", "ab=?nonsense"),
        (b"=?x-nobody-knows?Q?caf=C3=A9?=", "café"),
        (b"=?utf-8?B?%%%?= kept", "kept"),
        (b"two\n  lines\n\tand more", "two lines and more"),
        (b"=?iso-2022-jp?B?GyRCJF4kXyRgJGEkYhsoQg==?=", "まみむめも"),
        (b"=?utf-8*en?Q?with_a_language?=", "with a language"),
    ],
)
def test_a_subject_is_readable_however_it_was_encoded(written: bytes, seen: str) -> None:
    assert read(letter("x", b"Subject: " + written)).title == seen


@pytest.mark.parametrize(
    ("written", "people"),
    [
        ('"Quint, Rosa" <Rosa@Example.com>', [("Quint, Rosa", ["email:rosa@example.com"])]),
        ("rosa@example.com (Rosa Quint)", [("Rosa Quint", ["email:rosa@example.com"])]),
        ("Friends: a@example.com, B <b@example.com>;", [("", ["email:a@example.com"]), ("B", ["email:b@example.com"])]),
        ("=?utf-8?Q?Quint,_Rosa?= <rosa@example.com>", [("Quint, Rosa", ["email:rosa@example.com"])]),
        ("<rosa@example.com", [("", ["email:rosa@example.com"])]),
        ("'rosa@example.com' <rosa@example.com>", [("", ["email:rosa@example.com"])]),
        ("(c):", [("c", [])]),
        ('"', []),
        ("undisclosed-recipients:;", []),
        ("no-reply@example.com", [("", ["address:no-reply@example.com"])]),
    ],
)
def test_recipients_are_names_and_keys_however_they_are_written(
    written: str, people: list[tuple[str, list[str]]]
) -> None:
    seen = body(letter("x", f"To: {written}")).attributes.get("to", [])
    assert seen == [{"name": name, "keys": keys} for name, keys in people]


@pytest.mark.parametrize(
    "field",
    [
        "To: (c):",
        'To: "',
        "Content-Type: text/plain; name*",
        "Message-ID: <[a@b]>",
        "Content-Type: text/plain; name*=''",
    ],
)
def test_what_the_strict_parser_raises_on_is_an_item_like_others(field: str) -> None:
    item = read(letter("Words.", field))
    assert item.sections[0].text == "Words."
    assert item.title == "Beans"


def test_the_author_is_the_sender_of_the_first_address_or_of_the_sender_field() -> None:
    assert body(letter()).author == Person("Rosa Quint", ("email:rosa@example.com",))
    assert body(letter("x", "From: Nobody\nSender: Robin <robin@example.com>")).author == Person(
        "Robin", ("email:robin@example.com",)
    )
    assert body(letter("x", "From: noreply@example.com")).author == Person("", ("address:noreply@example.com",))
    assert body(letter("x", "From: Nobody")).author is None


def test_control_codes_are_no_part_of_names_and_subjects() -> None:
    item = read(letter("x", b"Subject: =?utf-8?Q?a=1B[31mb=00c?=\nFrom: =?utf-8?Q?R=07osa?= <rosa@example.com>"))
    assert item.title == "a [31mb\ufffdc"
    assert item.sections[0].author == Person("R osa", ("email:rosa@example.com",))


def test_ten_thousand_recipients_are_counted_and_a_hundred_kept() -> None:
    to = ",\n ".join(f"Person {number} <p{number}@example.com>" for number in range(10_000))
    seen = body(letter("x", f"To: {to}")).attributes
    assert seen["recipient_count"] == 10_000
    assert isinstance(seen["to"], list)
    assert len(seen["to"]) == 100


@pytest.mark.parametrize("stated", ["", "Date: yesterday", "Date: Tue, 31 Feb 2026 10:00:00 +0000", "Date: 0"])
def test_a_missing_or_impossible_date_is_when_the_message_came(stated: str) -> None:
    raw = letter("x", stated or "Date:")
    assert body(raw).occurred_at == CAME
    assert set(read(raw).flags) <= {"date-missing", "date-impossible"}
    assert read(raw).flags


def test_without_any_date_the_last_server_tells_it() -> None:
    raw = letter("x", "Date: never\nReceived: from a by b; Mon, 2 Mar 2026 09:00:00 +0000")
    assert body(raw, received=0).occurred_at == 1_772_442_000_000


def test_no_message_is_later_than_now() -> None:
    assert body(letter("x", "Date: Tue, 3 Mar 2099 10:00:00 +0000")).occurred_at == NOW


def test_a_date_counts_in_its_zone() -> None:
    assert body(letter()).occurred_at == 1_772_528_400_000  # 09:00 UTC


@pytest.mark.parametrize(
    ("zone", "minutes"),
    [("-0800", -480), ("+0545", 345), ("EST", -300), ("+0000", 0), ("-0000", 0), ("", 0), ("+9999", 0)],
)
def test_a_date_tells_where_its_author_s_clock_stood(zone: str, minutes: int) -> None:
    said = body(letter("x", f"Date: Tue, 3 Mar 2026 23:30:00 {zone}")).attributes
    assert said.get("utc_offset", 0) == minutes
    assert ("utc_offset" in said) is (minutes != 0)


def test_a_server_s_clock_is_not_the_author_s() -> None:
    raw = letter("x", "Date: never\nReceived: from a by b; Mon, 2 Mar 2026 09:00:00 +0900")
    assert "utc_offset" not in body(raw, received=0).attributes


def test_threads_go_by_references_then_the_answered_message_then_the_message_itself() -> None:
    assert body(letter("x", "References: <a@x> <b@x>\nIn-Reply-To: <b@x>")).thread == "mail:a@x"
    assert body(letter("x", "In-Reply-To: <b@x> (Rosa's message)")).thread == "mail:b@x"
    assert body(letter()).thread == "mail:one@example.com"
    alone = read(letter(own=""))
    assert alone.sections[0].thread == alone.id


def test_the_subject_joins_no_threads_and_is_a_hint_only_for_answers_without_references() -> None:
    assert "subject_key" not in body(letter()).attributes
    assert body(letter("x", "Subject: [garden] AW: Re: Beans  again")).attributes["subject_key"] == "beans again"
    assert "subject_key" not in body(letter("x", "Subject: Re: Beans\nReferences: <a@x>")).attributes


@pytest.mark.parametrize(
    "field",
    [
        "List-Id: Gardens <gardens.example.com>",
        "List-Unsubscribe: <https://example.com/u>",
        "Precedence: bulk",
        "Auto-Submitted: auto-replied",
        "X-Auto-Response-Suppress: All",
        "From: no-reply@example.com",
        "From: Mail Delivery System <MAILER-DAEMON@example.com>",
    ],
)
def test_lists_bulk_and_machines_are_automated(field: str) -> None:
    assert body(letter("x", field)).attributes["automated"] is True


@pytest.mark.parametrize("field", ["X-Mailer: a", "Auto-Submitted: no", "Precedence: first-class"])
def test_what_a_person_sent_is_not(field: str) -> None:
    assert "automated" not in body(letter("x", field)).attributes


def test_a_list_has_its_id_name_and_address() -> None:
    raw = letter("x", "List-Id: The gardens <gardens.example.com>\nList-Post: <mailto:gardens@example.com>")
    assert body(raw).attributes["list"] == {
        "id": "gardens.example.com",
        "name": "The gardens",
        "address": "gardens@example.com",
    }


@pytest.mark.parametrize(
    "raw",
    [
        b"\n\nFrom: rosa@example.com\nSubject: Beans\n\nWords.",
        b"\xef\xbb\xbfFrom: rosa@example.com\nSubject: Beans\n\nWords.",
        b"quite Delivered-To: x\nFrom: rosa@example.com\nSubject: Beans\n\nWords.",
        b"From: rosa@example.com\n>From somebody Tue Mar  3 2026\nSubject: Beans\n\nWords.",
        b"From : rosa@example.com\nSubject : Beans\n\nWords.",
        b"From: rosa@example.com\nSubject: Beans\nWords.",
    ],
)
def test_a_header_that_breaks_off_is_mended(raw: bytes) -> None:
    item = read(raw)
    assert (item.title, item.sections[0].text) == ("Beans", "Words.")
    assert item.sections[0].author == Person("", ("email:rosa@example.com",))


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"%PDF-1.7 what else", b"Just words.\n\nAnd more."])
def test_what_is_no_message_is_refused_with_a_reason(raw: bytes) -> None:
    with pytest.raises(BadItem, match="no message"):
        read(raw)


def test_labels_and_routes_are_no_content() -> None:
    plain = read(letter())
    labelled = read(letter("Hello.\n", "X-Gmail-Labels: Inbox,Opened\nX-GM-THRID: 1\nX-Mozilla-Status: 0001"))
    assert (plain.id, plain.sections) == (labelled.id, labelled.sections)
    assert "Inbox" not in text(letter("Hello.\n", "X-Gmail-Labels: Inbox"))
