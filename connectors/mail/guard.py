"""What is refused of a message before it is parsed, for it would exhaust memory or the stack. Parses nothing."""

from __future__ import annotations

import re
from typing import Final

from ctxsync.errors import BadItem

MAX_DEPTH: Final = 60  # parts within parts; real mail has fewer than ten, and the parser recurses
MAX_PARTS: Final = 5_000
MAX_LINES: Final = 2_000_000  # each is an object while the message is parsed
MAX_HEADER: Final = 4_000_000  # bytes of the message's own header: 10,000 recipients have less than a tenth

_NESTS = re.compile(
    rb"""^content-type:[ \t]*(?:\r?\n[ \t]+)*message/  # an attached message, perhaps within another
      | \bboundary[ \t]*=[ \t]*(?:"(?P<quoted>[^"\r\n]{1,200})"|(?P<bare>[^\s;"]{1,200}))
      | ^--(?P<line>[^\r\n]{1,210})$""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)


def guard_size(raw: bytes) -> None:
    """Refuse a message that would be too many objects.

    Raises:
        BadItem: Says which limit it is over.
    """
    if len(raw) > MAX_LINES and raw.count(b"\n") > MAX_LINES:
        raise BadItem(f"The message has more than {MAX_LINES:,} lines.")
    if len(raw) > MAX_HEADER and not re.search(rb"\r?\n\r?\n", raw[:MAX_HEADER]):
        raise BadItem(f"The message's header is longer than {MAX_HEADER:,} bytes.")


def guard_nesting(raw: bytes) -> None:
    """Refuse a message whose parts are too deep within each other, or too many, in time linear in its length.

    Raises:
        BadItem: Says which limit it is over.
    """
    lower = raw.lower()
    if lower.count(b"boundary") + lower.count(b"message/") <= MAX_DEPTH and lower.count(b"\n--") <= MAX_PARTS:
        return  # it cannot be
    open_now: list[bytes] = []
    known: set[bytes] = set()
    parts = 0
    for found in _NESTS.finditer(raw):
        line = found["line"]
        if line is None:
            name = found["quoted"] or found["bare"] or b""
            known.add(name.rstrip())
            open_now.append(name.rstrip())
            if len(open_now) > MAX_DEPTH:
                raise BadItem(f"The message is nested more than {MAX_DEPTH} parts deep.")
            continue
        line = line.rstrip()
        ends = line not in known
        name = line.removesuffix(b"--") if ends else line
        if name not in known:
            continue
        parts += 1
        if parts > MAX_PARTS:
            raise BadItem(f"The message has more than {MAX_PARTS:,} parts.")
        if name in open_now:
            while open_now and open_now[-1] != name:
                open_now.pop()
            if ends:
                open_now.pop()
