"""What holds for any bytes at all."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsync.changes import observed
from ctxsync.connectors.mail.message import mail_item
from ctxsync.connectors.mail.quoting import ranges_of
from ctxsync.errors import BadItem
from tests.connectors.mail.letters import NOW
from tests.connectors.mailbox.worlds import munged

FIELDS = st.sampled_from(
    [
        b"From: ", b"To: ", b"Subject: =?utf-8?B?", b"Message-ID: <", b"Date: ", b"References: ", b"\n ", b"\n\n", b"\r\n", b"--b\n",
        b"--b--\n", b"Content-Type: multipart/mixed; boundary=b\n", b"Content-Type: message/rfc822\n\n", b"name*0*=utf-8''%",
        b"Content-Type: text/html; charset=", b"Content-Transfer-Encoding: base64\n", b"<div style=display:none>", b"<blockquote>",
        b"Content-Type: text/calendar\n\nBEGIN:VCALENDAR\nBEGIN:VEVENT\n", b"> ", b"From ", b"-- \n", b"wrote:\n", b"\xff", b"\x00",
        b"Content-Disposition: attachment; filename=", b"\xed\xa0\x80", b"(", b'"', b"<", b">", b",", b";",
    ]
)  # fmt: skip
MESSAGES = st.lists(st.one_of(FIELDS, st.binary(max_size=12)), max_size=40).map(b"".join)


@settings(max_examples=300, deadline=None)
@given(MESSAGES)
def test_any_bytes_are_an_item_or_a_bad_item_in_time_and_an_event_holds_it(raw: bytes) -> None:
    begun = time.perf_counter()
    try:
        item = mail_item(b"From: rosa@example.com\n" + raw, received=1, now=NOW)
    except BadItem as error:
        str(error).encode()
        return
    assert time.perf_counter() - begun < 2
    observed(item, "INBOX")  # JSON-safe, no lone surrogates
    assert item.title
    for section in item.sections:
        section.text.encode()
        assert "\r" not in section.text
        assert "\0" not in section.text
        assert 0 < section.occurred_at <= NOW
        at = 0
        for start, end in section.quoted:
            assert at <= start < end <= len(section.text)
            at = end


@settings(max_examples=200, deadline=None)
@given(MESSAGES)
def test_line_ends_and_an_mbox_change_neither_identity_nor_text(raw: bytes) -> None:
    plain = b"From: rosa@example.com\nMessage-ID: <a@b>\n\n" + raw.replace(b"\r", b"").replace(b"Content-", b"")
    first = mail_item(plain, now=NOW)
    for other in (plain.replace(b"\n", b"\r\n"), munged(plain), plain + b"\n\n"):
        again = mail_item(other, now=NOW)
        assert (again.id, again.sections) == (first.id, first.sections)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["> a", "b", "", "On 3.3.2026 Rosa wrote:", "-- ", "From: a", "To: b", "Subject: c", "----", ">From d"]
        )
    )
)
def test_quoted_ranges_are_of_whole_lines_in_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    at = -1
    for start, end in ranges_of(text).quoted:
        assert at < start < end
        assert start == 0 or text[start - 1] == "\n"
        assert end == len(text) or text[end] == "\n"
        at = end
