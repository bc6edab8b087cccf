"""An IMAP server's answers taken apart, one at a time: what cannot be made sense of is left out and spoils no other.

The shapes are imaplib's: a line is bytes; a line that ends in a literal is a pair (line, literal), and what comes behind
the literal is the next element.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LIST: Final = re.compile(
    rb'\((?P<flags>[^)]*)\) (?P<delimiter>NIL|"(?:\\.|[^"\\])?"|\{\d+\}) ?(?P<name>.*)', re.DOTALL | re.IGNORECASE
)
_PAIRS: Final = re.compile(rb"\(([^()]*)\)\s*$")
_BODY: Final = re.compile(rb"\d+ \(UID (?P<uid>\d{1,10}) BODY\[\] \{(?P<size>\d{1,12})\}")
_HEAD: Final = re.compile(
    rb"\d+ \(UID (?P<uid>\d{1,10}) RFC822\.SIZE (?P<size>\d{1,12}) INTERNALDATE "
    rb'"(?P<day>[ \d]\d)-(?P<month>[A-Z][a-z]{2})-(?P<year>\d{4}) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d) '
    rb'(?P<sign>[+-])(?P<hours>\d\d)(?P<minutes>\d\d)"\)'
)
_MONTHS: Final = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_MODSEQ: Final = re.compile(rb"\(MODSEQ \d+\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Listed:
    r"""A folder as LIST names it.

    Args:
        name: As the server spells it, modified UTF-7.
        delimiter: Between the levels of a name; empty when there are none.
        flags: `\Noselect`, `\Sent` …, in lower case without the backslash.
    """

    name: bytes
    delimiter: str
    flags: frozenset[str]


@dataclass(frozen=True, slots=True)
class Message:
    """What FETCH says of a message; what it does not say is None (labels: None, or as the server spells them).

    Args:
        uid: Its UID.
        size: Its bytes, as the server counts them.
        received: INTERNALDATE, milliseconds UTC; 0 when there is none.
        body: Its bytes, or the first of them.
        labels: Gmail's labels.
    """

    uid: int
    size: int | None
    received: int
    body: bytes | None
    labels: tuple[bytes, ...] | None


def groups(data: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield what belongs to one untagged answer."""
    group: list[Any] = []
    for part in data:
        if part is None:
            continue
        group.append(part)
        if not isinstance(part, tuple):
            yield group
            group = []


def listed(group: list[Any]) -> Listed | None:
    """Return a line of LIST; None when it is none."""
    line = group[0][0] if isinstance(group[0], tuple) else group[0]
    found = _LIST.match(line)
    if found is None:
        return None
    name = bytes(found["name"])
    if isinstance(group[0], tuple):
        name = bytes(group[0][1])
    elif len(name) > 1 and name[:1] == name[-1:] == b'"':
        name = re.sub(rb"\\(.)", rb"\1", name[1:-1])
    delimiter = found["delimiter"].decode("latin-1")
    delimiter = "" if delimiter.upper() == "NIL" or delimiter[0] == "{" else delimiter[1:-1][-1:]
    flags = frozenset(flag.lstrip("\\").lower() for flag in found["flags"].decode("ascii", "replace").split())
    return Listed(name, delimiter, flags) if name else None


def status(data: Sequence[Any], keys: Sequence[str]) -> list[int]:
    """Return the numbers of a STATUS answer in the order of `keys`, 0 for those that are missing."""
    values: dict[str, int] = {}
    for part in data:
        line = part[0] if isinstance(part, tuple) else part
        found = _PAIRS.search(line or b"")
        if found:
            words = found[1].decode("ascii", "replace").upper().split()
            values |= {key: int(value) for key, value in zip(words[::2], words[1::2], strict=False) if value.isdigit()}
    return [values.get(key, 0) for key in keys]


def numbers(data: Sequence[Any]) -> Iterator[int]:
    """Yield the numbers of SEARCH answers."""
    for line in data:
        if isinstance(line, bytes):
            for word in _MODSEQ.sub(b"", line).split():
                if word.isdigit() and len(word) < 11:
                    yield int(word)


def message(group: list[Any]) -> Message | None:
    """Return what one FETCH answer says; None when it is odd, or of no message by UID.

    The two shapes in which nearly every answer comes are read here, which takes a tenth of the time; any other by
    imapclient.
    """
    from imapclient.response_parser import parse_fetch_response

    first = group[0]
    if len(group) == 2 and isinstance(first, tuple) and group[1] == b")":
        plain = _BODY.fullmatch(first[0])
        if plain and len(first[1]) == int(plain["size"]):
            return Message(int(plain["uid"]), None, 0, bytes(first[1]), None)
    elif len(group) == 1 and isinstance(first, bytes):
        plain = _HEAD.fullmatch(first)
        if plain:
            return Message(int(plain["uid"]), int(plain["size"]), _received(plain), None, None)
    try:
        (found,) = parse_fetch_response(group, normalise_times=False, uid_is_key=False).values()
    except Exception:  # noqa: BLE001 - the library's parser raises many kinds; each means that this answer is odd
        return None
    uid = found.get(b"UID")
    if not isinstance(uid, int):
        return None
    body = next(
        (value for key, value in found.items() if key.startswith((b"BODY[]", b"RFC822")) and key != b"RFC822.SIZE"),
        None,
    )
    size, received, labels = found.get(b"RFC822.SIZE"), found.get(b"INTERNALDATE"), found.get(b"X-GM-LABELS")
    return Message(
        uid,
        size if isinstance(size, int) else None,
        _milliseconds(received),
        body if isinstance(body, bytes) else None,
        tuple(_label(label) for label in labels) if isinstance(labels, tuple) else None,
    )


def _received(found: re.Match[bytes]) -> int:
    """Return the INTERNALDATE of a head, milliseconds UTC; 0 when there is no such moment."""
    try:
        offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
        day, hour, minute, second = (int(found[name]) for name in ("day", "hour", "minute", "second"))
        month = 1 + _MONTHS.index(found["month"])
        zone = timezone(offset if found["sign"] == b"+" else -offset)
        return _milliseconds(datetime(int(found["year"]), month, day, hour, minute, second, tzinfo=zone))
    except (ValueError, OverflowError):
        return 0


def _milliseconds(value: object) -> int:
    if not isinstance(value, datetime):
        return 0
    try:
        return max(0, int(value.timestamp() * 1000))
    except (OverflowError, ValueError, OSError):
        return 0


def _label(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
