"""The short way through a well-formed message gives the tree that the standard parser gives, whatever the message."""

from __future__ import annotations

from email.parser import BytesParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsync.connectors.mail import tree

if TYPE_CHECKING:
    from email.message import Message

PIECES = [
    b"From: a@example.com\n",
    b"Subject: s\n",
    b"Content-Type: text/plain\n",
    b'Content-Type: multipart/mixed; boundary="b"\n',
    b"Content-Type: multipart/alternative; boundary=c\n",
    b"Content-Type: multipart/digest; boundary=b\n",
    b"Content-Type: message/rfc822\n",
    b"Content-Transfer-Encoding: base64\n",
    b"\n",
    b"\n\n",
    b"--b\n",
    b"--b \t\n",
    b"--b--\n",
    b"--b--",
    b"--c\n",
    b"--c--\n",
    b"--bb\n",
    b"words\n",
    b"words",
    b" folded\n",
    b"\xff\n",
    b"\r\n",
    b"\r",
]


def shape(message: Message) -> Any:
    parts = message.get_payload() if message.is_multipart() else message._payload  # type: ignore[attr-defined]
    inside = [shape(part) for part in parts if not isinstance(part, str)] if isinstance(parts, list) else parts
    return message.items(), message.preamble, message.epilogue, message.get_default_type(), inside


def standard(data: bytes) -> Message:
    return BytesParser(tree.Part, policy=tree._POLICY).parsebytes(data)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map(b"".join))
def test_any_pieces_in_any_order_make_the_same_tree(data: bytes) -> None:
    assert shape(tree.tree_of(data)) == shape(standard(data))


HEAD = b'From: a@example.com\nContent-Type: multipart/mixed; boundary="b"\n'
INNER = b"Content-Type: multipart/alternative; boundary=c\n\n--c\n\nplain\n--c\nContent-Type: text/html\n\n<p>\n--c--"
WELL_FORMED = [
    b"From: a@example.com\n\nwords\n",
    b"\nno header\n",
    HEAD + b"\npreamble\n--b\n\none\n--b\nContent-Type: image/png\n\ntwo\n\n--b--\nepilogue\n",
    HEAD + b"\n--b\n" + INNER + b"\n--b--\n",
    HEAD + b"\n--b\n" + INNER + b"\n\n\n--b--",
    HEAD + b"\n--b\n" + INNER + b"\nbetween\n--b\n\nlast\n--b--\n",
]


@pytest.mark.parametrize("data", WELL_FORMED)
def test_a_well_formed_message_goes_the_short_way(data: bytes) -> None:
    found = tree._cut(data)
    assert found is not None
    assert shape(found) == shape(standard(data))


def test_a_message_that_may_hold_parts_is_told_by_its_header() -> None:
    assert tree.may_hold_parts(HEAD + b"\n")
    assert tree.may_hold_parts(b"no end of the header")
    assert not tree.may_hold_parts(b"From: a@example.com\n\nmultipart/mixed\n")
