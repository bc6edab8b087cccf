"""Header fields of a message, decoded tolerantly: words, addresses, ids and dates. Never raises, and knows no bodies.

The standard library's structured header classes raise on real headers (`To: (c):`, `Message-ID: <[a@b]>`), so fields
are read here from its compat32 policy, which keeps every byte (as surrogate escapes).
"""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz
from functools import lru_cache
from typing import TYPE_CHECKING

from ctxsync.connectors.mail.charsets import decode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from email.message import Message

MAX_FIELD = 1_000_000  # characters of one field that are looked at: 10,000 recipients have less
MAX_IDS = 100
_MAX_KEPT = 500  # characters of a field of addresses that is remembered

_WORD = re.compile(r"=\?([^?\s]{1,80})\?([bBqQ])\?([^?]*)\?=")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SPACE = re.compile(r"\s+")
_ID = re.compile(r"<([^<>]{1,998})>")
# No alternative fails after it took characters: else each of them would begin another attempt that reads all the rest.
_TOKEN = re.compile(
    r"""(?P<word>=\?[^?\s]{1,80}\?[bBqQ]\?[^?]*\?=)   # an encoded word, commas in it and all
      | "(?P<quoted>(?:[^"\\]|\\(?:.|\Z))*+)(?:"|\Z)
      | \((?P<comment>(?:[^()\\]|\\(?:.|\Z)|\((?:[^()\\]|\\.)*+\))*+)(?:\)|\Z|(?=\())
      | <(?P<angled>[^<>]*)(?:>|\Z|(?=<))
      | (?P<separator>[,;])
      | (?P<group>:)
      | (?P<text>[^"(<,;:=]+|.)""",
    re.VERBOSE | re.DOTALL,
)
# From the beginning of a word only, and no longer than a path may be (RFC 5321 4.5.3.1.3): each character is read once.
_ADDRESS = re.compile(r"(?<![^\s@<>\"(),;])[^\s@<>\"(),;]{1,254}+@[^\s@<>\"(),;]+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MINUTE = timedelta(minutes=1)
_FIRST_YEAR = 1971  # mail is about as old; a clock that was never set says 1970


def field(message: Message, name: str) -> str:
    """Return the first field of that name as written, unfolded; empty when there is none."""
    value = message.get(name)
    return "" if value is None else str(value)[:MAX_FIELD]


def fields(message: Message, name: str) -> str:
    """Return all fields of that name, joined by commas."""
    values = message.get_all(name)
    return ",".join(map(str, values))[:MAX_FIELD] if values else ""


def text_of(value: str) -> str:
    """Return what a field says: raw 8-bit bytes and encoded words decoded, on one line, without control codes."""
    return _one_line(words_of(_unescaped(value)))


def _one_line(text: str) -> str:
    return " ".join((text if text.isprintable() else _CONTROL.sub(" ", text)).split())


def words_of(value: str) -> str:
    """Decode the encoded words (RFC 2047) of a text; what is no such word stays as it is.

    White space between two of them is none, and neighbours of one charset are decoded together: characters are cut in
    two between them.
    """
    if "=?" not in value:
        return value
    parts: list[str] = []
    held: list[bytes] = []
    held_charset, at = "", 0
    for found in _WORD.finditer(value):
        between = value[at : found.start()]
        data = _word_bytes(found[2], found[3])
        charset = found[1].partition("*")[0].casefold()  # RFC 2231 puts a language behind `*`
        if data is None:
            continue
        if held and (between.strip() or charset != held_charset):
            parts.append(decode(b"".join(held), held_charset)[0])
            held = []
        if between.strip() or not (at and not between.strip()):
            parts.append(between)
        held.append(data)
        held_charset, at = charset, found.end()
    if held:
        parts.append(decode(b"".join(held), held_charset)[0])
    parts.append(value[at:])
    return "".join(parts)


def _word_bytes(encoding: str, text: str) -> bytes | None:
    raw = text.encode("utf-8", "surrogateescape")
    if encoding in "qQ":
        return quopri.decodestring(raw.replace(b"_", b" "), header=True)
    try:
        # Padding is often missing, or too much; stray characters are dropped.
        return base64.b64decode(raw.rstrip(b"=") + b"=" * (-len(raw.rstrip(b"=")) % 4))
    except (binascii.Error, ValueError):
        return None


def _unescaped(value: str) -> str:
    """Return a field whose raw 8-bit bytes, kept as surrogates by the parser, are decoded."""
    if value.isascii():
        return value
    return decode(value.encode("utf-8", "surrogateescape"))[0]


def addresses(value: str) -> Sequence[tuple[str, str]]:
    """Return the (display name, address) pairs of an address field, in order; time is linear in its length.

    Groups are opened, comments that stand alone beside an address are its name, and what has no address is left out
    unless it has a name.
    """
    # The same people write again and again. Encoded names are not remembered: what is guessed of one hangs on the message.
    if len(value) <= _MAX_KEPT and value.isascii() and "?" not in value:
        return _plain_addresses(value)
    return _addresses(value)


def _addresses(value: str) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    name: list[str] = []
    comment, angled = "", ""

    def close() -> None:
        nonlocal comment, angled
        text = " ".join("".join(name).split())
        address = angled
        if not address:
            match = _ADDRESS.search(text)
            address = match[0] if match else ""
            text = text.replace(address, " ", 1) if address else text
            text = comment if address and not text.strip(" '\"") else text
        name.clear()
        shown = _one_line(words_of(text or comment)).strip(" '\"")
        comment, angled = "", ""
        if address or shown:
            found.append(("" if shown.casefold() == address.casefold() else shown, address))

    for token in _TOKEN.finditer(_unescaped(value)[:MAX_FIELD]):
        kind = token.lastgroup
        text = token[kind] if kind else ""
        if kind == "separator":
            close()
        elif kind == "group":
            name.clear()
        elif kind == "angled":
            angled = angled or _SPACE.sub("", text)
        elif kind == "comment":
            comment = comment or text
        elif kind == "quoted":
            name.append(re.sub(r"\\(.)", r"\1", text))
        else:
            name.append(text)
    close()
    return tuple(found)


_plain_addresses = lru_cache(maxsize=2048)(_addresses)


def message_ids(value: str) -> list[str]:
    """Return the message ids of a field, without angle brackets; what has none of these counts as one id."""
    value = _unescaped(value)
    ids = [_SPACE.sub("", each) for each in _ID.findall(value)]
    if not ids:
        ids = [word.strip("<>") for word in value.split()[:1]]
    return [each for each in dict.fromkeys(ids) if each]


def date_of(value: str) -> int:
    """Return a Date field as milliseconds UTC; 0 when it is missing, cannot be read, or names no real moment."""
    return time_of(value)[0]


def time_of(value: str) -> tuple[int, int]:
    """Return a Date field as milliseconds UTC and its zone, minutes east of UTC; zeros when it names no real moment."""
    try:
        parts = parsedate_tz(value[:200])
        if parts is None:
            return 0, 0
        east = timedelta(seconds=parts[9] or 0) if abs(parts[9] or 0) < 86_400 else timedelta()
        moment = datetime(*parts[:5], min(parts[5], 59), tzinfo=timezone(east))  # a leap second is the second before
        if moment.year < _FIRST_YEAR:
            return 0, 0
        return (moment.astimezone(UTC) - _EPOCH) // _MILLISECOND, east // _MINUTE
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0, 0
