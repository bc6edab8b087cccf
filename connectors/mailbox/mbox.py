"""Cuts an mbox file into messages, one at a time; knows no items, and reads nothing but the file it is given.

A message begins with a line `From …` that opens the file, or that follows a blank line and has an envelope's date or a
header field below it: programs differ in what they write there, and many leave such lines in texts as they are. A
Content-Length that ends exactly where another message begins is believed. One `>` is taken off lines `>From `,
`>>From ` and so on (mboxrd; of what mboxo writes, only a quoted `>From ` cannot be told apart, and the parser reads both
alike).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import parsedate_tz
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK: Final = 1_048_576  # bytes that are read at once
_AHEAD: Final = 4_096  # bytes behind a line `From ` that are looked at to know whether it opens a message
_HEADER: Final = 262_144  # bytes in which a Content-Length is looked for

_MUNGED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_FIELD = re.compile(rb"(?:>?From |[!-9;-~]+[ \t]*:)")
_ENVELOPE = re.compile(
    rb"From (?:.{0,500}\d\d:\d\d.{0,100}|.{0,500}\b(?:19|20)\d\d\b.{0,100}|- ?|\S*@\S*[ \t]*|\S*)\r?\Z", re.DOTALL
)
_STRICT = re.compile(
    rb"From \S.{0,300} (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? .{0,40}\d\d:\d\d.{0,40}\r?\Z", re.DOTALL
)  # sender, weekday and time: no sentence
_NETSCAPE = re.compile(rb"From -[ \t]*\r?\Z")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_EXPUNGED = re.compile(rb"^x-mozilla-status:[ \t]*([0-9a-f]{4})\b", re.MULTILINE | re.IGNORECASE)
_END_OF_HEADER = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class Cut:
    """A message as it stands in the file.

    Args:
        offset: Where its `From ` line begins.
        length: Bytes up to the next one.
        data: The message, without its `From ` line and with lines `>From ` as they were; its beginning only, where it
            is longer than what was asked for.
        envelope: The `From ` line.
        last: The file ends with it.
        ended: Its last line has an end.
    """

    offset: int
    length: int
    data: bytes
    envelope: bytes
    last: bool
    ended: bool

    @property
    def received(self) -> int:
        """When it came as the `From ` line says, milliseconds UTC; 0 when it does not."""
        return received_of(self.envelope)


def received_of(envelope: bytes) -> int:
    """Return the time in a `From ` line (asctime, read as UTC); 0 when there is none."""
    from ctxsync.connectors.mail.headers import date_of

    words = envelope.decode("ascii", "replace").split()[1:]
    for start in range(min(len(words), 3)):
        text = " ".join(words[start : start + 6])
        # asctime puts the year last; the parser of Date fields wants it before the time.
        if (found := parsedate_tz(text)) and found[0] > 0 and (at := date_of(text)):
            return at
    return 0


def is_expunged(data: bytes) -> bool:
    """Say whether Thunderbird deleted the message and has yet to take it out of the file."""
    ends = _END_OF_HEADER.search(data, 0, _HEADER)
    found = _EXPUNGED.search(data, 0, ends.start() if ends else _HEADER)
    return bool(found and int(found[1], 16) & 8)


def cut(file: IO[bytes], at: int, most: int) -> Iterator[Cut]:
    """Yield the messages of an mbox from an offset on.

    Args:
        file: Open for reading; its size may grow meanwhile.
        at: Where a `From ` line begins; 0 may have blank lines before it.
        most: Bytes of a message that are kept at most; memory holds little more than twice that.
    """
    yield from _Cutter(file, at, most).run()


class _Cutter:
    def __init__(self, file: IO[bytes], at: int, most: int) -> None:
        self.file, self.most = file, most
        self.keep = most + _AHEAD  # so much is left of the longest message, `From ` line and all
        self.buffer = bytearray()
        self.base = at  # offset of the buffer's first byte, which is a message's
        self.dropped = 0  # bytes of this message's middle that were let go
        self.done = False
        file.seek(at)

    def more(self) -> bool:
        """Read a block; false at the end of the file."""
        block = b"" if self.done else self.file.read(BLOCK)
        self.done = self.done or not block
        self.buffer += block
        return bool(block)

    def run(self) -> Iterator[Cut]:
        self.more()
        blank = len(self.buffer) - len(self.buffer.lstrip(b"\r\n"))
        if blank and not self.base:
            del self.buffer[:blank]
            self.base += blank
        while self.buffer:
            end = self._by_length()
            end = self._by_line() if end < 0 else end
            yield self._take(end)

    def _by_length(self) -> int:
        """Return where the message ends by its Content-Length, when another one begins right there; else -1."""
        while len(self.buffer) < _HEADER and not (ends := _END_OF_HEADER.search(self.buffer)) and self.more():
            pass
        ends = _END_OF_HEADER.search(self.buffer, 0, _HEADER)
        stated = _LENGTH.search(self.buffer, 0, ends.end()) if ends else None
        if not ends or not stated or int(stated[1]) > self.most:
            return -1
        end = ends.end() + int(stated[1])
        while len(self.buffer) < end + _AHEAD and self.more():
            pass
        if end > len(self.buffer):
            return -1
        while end < len(self.buffer) and self.buffer[end] in b"\r\n":
            end += 1
        if end == len(self.buffer):
            return end
        return end if self._opens(end) else -1

    def _by_line(self) -> int:
        """Return where the next message begins in the buffer; its length when the file ends before."""
        searched = 0
        while True:
            found = self.buffer.find(b"\nFrom ", searched)
            if found < 0:
                searched = max(len(self.buffer) - 6, 0)
                searched -= self._let_go(searched)
                if not self.more():
                    return len(self.buffer)
                continue
            while len(self.buffer) < found + _AHEAD and self.more():
                pass
            if self._opens(found + 1):
                return found + 1
            searched = found + 1

    def _opens(self, at: int) -> bool:
        """Say whether a message begins at a position of the buffer."""
        end = self.buffer.find(b"\n", at, at + _AHEAD)
        line = bytes(self.buffer[at : end if end >= 0 else at + _AHEAD])
        if end < 0 or not line.startswith(b"From "):
            return False
        follows = self.buffer[max(at - 3, 0) : at].endswith((b"\n\n", b"\n\r\n"))
        if _STRICT.match(line) or _NETSCAPE.match(line):
            return follows or bool(_FIELD.match(self.buffer, end + 1))
        return follows and bool(_ENVELOPE.match(line)) and bool(_FIELD.match(self.buffer, end + 1))

    def _let_go(self, searched: int) -> int:
        """Drop what is over the limit of a long message, but for its last bytes; return how much that was."""
        surplus = searched - self.keep
        if surplus < BLOCK:
            return 0
        del self.buffer[self.keep : self.keep + surplus]
        self.dropped += surplus
        return surplus

    def _take(self, end: int) -> Cut:
        whole = bytes(self.buffer[:end])
        del self.buffer[:end]
        length = end + self.dropped
        envelope, _, data = whole.partition(b"\n")
        data = data[: self.most + 1]
        if b">From " in data:
            data = _MUNGED.sub(b"", data)
        if not self.buffer:
            self.more()
        last = self.done and not self.buffer
        taken = Cut(self.base, length, data, envelope, last, whole.endswith(b"\n"))
        self.base += length
        self.dropped = 0
        return taken
