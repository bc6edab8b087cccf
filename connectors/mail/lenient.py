"""What is mended of messages that the strict reading of the standard library breaks off; guesses nothing else.

A line that is no field stops that reading in the middle of a header, and a wrong boundary leaves a multipart in one
piece. Both are put right in the bytes or the tree, and read again.
"""

from __future__ import annotations

import re
from email.errors import FirstHeaderLineIsContinuationDefect, MissingHeaderBodySeparatorDefect
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from email.message import Message

_MOST: Final = 4_000_000  # bytes of a header
_FIELD: Final = re.compile(rb"[!-9;-~]+:")
_SPACED: Final = re.compile(rb"^([!-9;-~]+)[ \t]+:")  # RFC 5322 4.5: white space before the colon, of old
_NAMED: Final = re.compile(
    rb"(?:from|to|cc|bcc|date|subject|message-id|received|return-path|reply-to|sender|mime-version|content-type"
    rb"|content-transfer-encoding|in-reply-to|references|delivered-to|x-[!-9;-~]+)[ \t]*:",
    re.IGNORECASE,
)
_DELIMITER: Final = re.compile(rb"^--([^\s-][^\r\n]{0,200}?|-[^\r\n]{0,200}?[^\s-])(?:--)?[ \t]*$", re.MULTILINE)


def is_broken(message: Message) -> bool:
    """Say whether the header of a message was read only in part, or not at all."""
    if not len(message):  # of fields
        return True
    kinds = (MissingHeaderBodySeparatorDefect, FirstHeaderLineIsContinuationDefect)
    return any(isinstance(defect, kinds) for defect in message.defects)


def mended_header(plain: bytes) -> bytes:
    """Return a message whose header has only fields: lines between them that are none are left away.

    Args:
        plain: LF line ends. Blank lines and a byte order mark at its beginning are left away.
    """
    plain = plain.removeprefix(b"\xef\xbb\xbf").lstrip(b"\n")
    end = plain.find(b"\n\n", 0, _MOST)
    header, body = (plain, b"") if end < 0 else (plain[:end], plain[end + 2 :])
    lines = header.split(b"\n")
    last = max((number for number, line in enumerate(lines) if _NAMED.match(line)), default=-1)
    kept: list[bytes] = []
    for number, line in enumerate(lines[: last + 1]):
        line = _SPACED.sub(rb"\1:", line)  # noqa: PLW2901 (the same line, as it should be)
        if _FIELD.match(line) or (line[:1] in {b" ", b"\t"} and kept):
            kept.append(line)
        elif number == 0:
            named = _NAMED.search(line)
            kept += [line[named.start() :]] if named else []
    # What follows the last field: its continuation, further fields of any name, then text that lacks its blank line.
    stop = last + 1
    while 0 < stop < len(lines) and (lines[stop][:1] in {b" ", b"\t"} or _FIELD.match(lines[stop])):
        stop += 1
    kept += lines[last + 1 : stop]
    text = b"".join(line + b"\n" for line in lines[stop:])
    return b"\n".join(kept) + b"\n\n" + text + body


def boundary_of(data: bytes) -> bytes:
    """Return the boundary that the content of a multipart really uses: its first delimiter's, when it comes again."""
    found = _DELIMITER.search(data)
    if not found:
        return b""
    name = found[1].rstrip()
    return name if data.count(b"--" + name) > 1 else b""
