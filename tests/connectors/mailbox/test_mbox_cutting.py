"""Where messages begin and end in an mbox, whatever program wrote it."""

from __future__ import annotations

import io
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsync.connectors.mailbox.mbox import cut
from tests.connectors.mailbox.worlds import message, munged

if TYPE_CHECKING:
    from pathlib import Path

LINE = b"From rosa@example.com Mon Mar  3 10:00:00 2025\n"
PLAIN = [message(number, body=f"Words {number}.") for number in range(3)]


def pieces(data: bytes, most: int = 1_000_000) -> list[bytes]:
    return [each.data for each in cut(io.BytesIO(data), 0, most)]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(
            st.sampled_from([b"From me to you", b">From", b">>From x", b"", b"x: y", b"From ", b"Words"]), max_size=8
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_what_goes_munged_into_an_mbox_comes_out_as_it_was(bodies: list[list[bytes]], ends: bytes) -> None:
    messages = [b"Subject: s\n\n" + b"\n".join(lines) + b"\n" for lines in bodies]
    data = b"".join(LINE + munged(each) + b"\n" for each in messages)
    assert [each.replace(b"\r\n", b"\n") for each in pieces(data.replace(b"\n", ends))] == [
        each + b"\n" for each in messages
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"From - Mon Mar  3 10:00:00 2025",
        b"From 1234@xxx Mon Mar 03 10:00:00 +0000 2025",
        b"From MAILER-DAEMON",
        b"From ",
    ],
)
def test_a_message_begins_with_whatever_programs_write_after_from(line: bytes) -> None:
    data = b"".join(line + b"\n" + each + b"\n" for each in PLAIN[:3])
    assert [each.rstrip() for each in pieces(data)] == [each.rstrip() for each in PLAIN[:3]]


def test_lines_with_from_that_nobody_munged_stay_in_their_text() -> None:
    words = b"Subject: s\n\nFrom here on.\n\nFrom there, too\nnote: this is no field of a header\n\nFrom\n"
    assert pieces(LINE + words + b"\n" + LINE + words) == [words + b"\n", words]


def test_a_content_length_that_ends_where_a_message_begins_is_believed() -> None:
    body = b"x\n\n" + LINE + b"Subject: inside\n\ny\n"
    data = LINE + b"Content-Length: %d\nSubject: out\n\n" % len(body) + body + b"\n" + LINE + PLAIN[0]
    assert len(pieces(data)) == 2
    assert len(pieces(data.replace(b"Content-Length: ", b"Content-Length: 9"))) == 3


def test_messages_without_blank_lines_between_are_told_apart() -> None:
    assert len(pieces(b"".join(LINE + each for each in PLAIN[:3]))) == 3
    assert len(pieces(b"".join(b"From - \n" + each for each in PLAIN[:3]))) == 3


def test_a_long_mbox_streams_and_a_long_message_too(tmp_path: Path) -> None:
    path = tmp_path / "long"
    with path.open("wb") as file:
        file.write(LINE + b"Subject: long\n\n")
        for _ in range(40):
            file.write(b"x" * 999_999 + b"\n")
        file.write(b"\n" + LINE + PLAIN[0])
    tracemalloc.start()
    with path.open("rb") as file:
        found = [(len(each.data), each.length) for each in cut(file, 0, 100_000)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[0] == (100_001, 40_000_000 + len(LINE) + len(b"Subject: long\n\n") + 1)
    assert len(found) == 2
    assert peak < 8_000_000
