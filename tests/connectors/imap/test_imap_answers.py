"""Answers are read the same by the short way as by imapclient's parser, and odd ones are nothing."""

from __future__ import annotations

import pytest
from imapclient.response_parser import parse_fetch_response

from ctxsync.connectors.imap.answers import Listed, groups, listed, message, numbers, status

DATES = [b"01-Mar-2024 10:00:00 +0000", b" 1-Mar-2024 23:59:59 -1130", b"31-Dec-1999 00:00:00 +0545"]


@pytest.mark.parametrize("date", DATES)
def test_a_head_is_read_as_imapclient_reads_it(date: bytes) -> None:
    line = b'3 (UID 17 RFC822.SIZE 1234 INTERNALDATE "%s")' % date
    (theirs,) = parse_fetch_response([line], normalise_times=False, uid_is_key=False).values()
    short = message([line])
    long = message([line.replace(b"UID 17 RFC822.SIZE 1234", b"RFC822.SIZE 1234 UID 17")])
    assert short == long
    assert short is not None
    assert (short.uid, short.size) == (17, 1234)
    assert short.received == int(theirs[b"INTERNALDATE"].timestamp() * 1000)


@pytest.mark.parametrize(
    "date", [b"32-Mar-2024 10:00:00 +0000", b"01-Foo-2024 10:00:00 +0000", b"01-Mar-2024 99:00:00 +0000"]
)
def test_a_date_that_is_none_is_no_date(date: bytes) -> None:
    head = message([b'3 (UID 17 RFC822.SIZE 1 INTERNALDATE "%s")' % date])
    assert head is not None
    assert head.received == 0


def test_a_body_is_what_the_literal_holds_in_either_order() -> None:
    short = message([(b"3 (UID 17 BODY[] {5}", b"a\r\nb)"), b")"])
    long = message([(b"3 (BODY[] {5}", b"a\r\nb)"), b" UID 17 FLAGS (\\Seen))"])
    assert short == long
    assert short is not None
    assert short.body == b"a\r\nb)"
    assert message([(b"3 (UID 17 BODY[]<0> {1}", b"x"), b")"]) == message([(b"3 (UID 17 BODY[] {1}", b"x"), b")"])
    assert message([(b"3 (UID 17 BODY[] {5}", b"abc"), b")"]) is None  # fewer bytes than were announced


def test_lines_and_literals_are_grouped_by_answer() -> None:
    data = [b"1 (UID 1)", (b"2 (X {1}", b"x"), (b" Y {1}", b"y"), b")", None, b"3 (UID 3)"]
    assert [len(group) for group in groups(data)] == [1, 3, 1]


def test_odd_lists_and_counters_are_nothing() -> None:
    assert listed([b"nonsense"]) is None
    assert listed([b'(\\Sent) "/" ""']) is None
    assert listed([b'(\\Sent \\X) "\\\\" "a\\"b\\\\c"']) == Listed(b'a"b\\c', "\\", frozenset({"sent", "x"}))
    assert status([b'"a (b" (MESSAGES 3 UIDNEXT x UIDVALIDITY 9)'], ("UIDVALIDITY", "UIDNEXT", "MESSAGES")) == [9, 0, 3]
    assert status([None], ("UIDVALIDITY",)) == [0]
    assert list(numbers([b"1 2 x 99999999999 3 (MODSEQ 77)", None])) == [1, 2, 3]
