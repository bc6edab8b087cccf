"""A message's bytes as the standard library's tree, by a short way where there is one; decides nothing about parts.

The standard parser asks of every line whether it is a boundary. A message that is well formed is cut at its boundaries in
one go here; whatever is irregular goes through that parser as a whole. A test holds the two ways against each other.
"""

from __future__ import annotations

import re
from email.message import Message
from email.parser import BytesParser
from email.policy import Compat32
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Final

from ctxsync.connectors.mail.guard import MAX_DEPTH, MAX_PARTS
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENCODINGS: Final = frozenset({"7bit", "8bit", "binary"})
_FIELD: Final = re.compile(r"[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*")
_MOST_CUT: Final = 8  # parts within parts that are cut here: each level holds a copy of what is in it
_MANY_LINES: Final = 200_000
_WITH_PARAMETERS: Final = frozenset({"content-type", "content-disposition"})
_MAX_PARAMETERS: Final = 100  # the standard library takes their square in time
_MAX_PARAMETERED: Final = 8_000  # characters of a field that has parameters
_HOLDS_PARTS: Final = re.compile(rb"multipart|message/", re.IGNORECASE)


class _AsWritten(Compat32):
    """Header fields as they are written: 8-bit bytes stay surrogates instead of becoming replacement characters."""

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002 (the policy's signature)
        """Return the value itself."""
        return value

    def header_source_parse(self, sourcelines: Sequence[str]) -> tuple[str, str]:
        """Return name and value of a field, of parameters as many as real ones have."""
        name, value = super().header_source_parse(list(sourcelines))
        if (len(value) > _MAX_PARAMETERED or value.count(";") > _MAX_PARAMETERS) and name.lower() in _WITH_PARAMETERS:
            value = ";".join(value[:_MAX_PARAMETERED].split(";", _MAX_PARAMETERS)[:_MAX_PARAMETERS])
        return name, value


class _Part(Message):
    """A message that finds its fields by an index: the standard one goes through all of them for each question.

    It counts what is put into it, for a boundary can be written in ways that a look at the bytes does not find.
    """

    _depth = 0
    _deepest = MAX_DEPTH
    _parts: list[int]  # how many the whole message has

    def attach(self, payload: Any) -> None:
        """Take a part in. Raises `BadItem` when there are too many, or it is too deep."""
        payload._depth = self._depth + 1  # noqa: SLF001 (its own class)
        counted = self.__dict__.setdefault("_parts", [0])
        payload._parts = counted  # noqa: SLF001
        counted[0] += 1
        if payload._depth > self._deepest:  # noqa: SLF001
            raise BadItem(f"The message is nested more than {self._deepest} parts deep.")
        if counted[0] > MAX_PARTS:
            raise BadItem(f"The message has more than {MAX_PARTS:,} parts.")
        super().attach(payload)

    def _indexed(self) -> dict[str, list[Any]]:
        known: tuple[int, dict[str, list[Any]]] | None = self.__dict__.get("_index")
        headers: list[tuple[str, Any]] = self._headers  # type: ignore[attr-defined]
        if known is None or known[0] != len(headers):
            index: dict[str, list[Any]] = {}
            for name, value in headers:
                index.setdefault(name.lower(), []).append(value)
            known = self.__dict__["_index"] = (len(headers), index)
        return known[1]

    def __contains__(self, name: object) -> bool:
        return str(name).lower() in self._indexed()

    def get(self, name: str, failobj: Any = None) -> Any:
        """Return the first field of a name."""
        found = self._indexed().get(name.lower())
        return found[0] if found else failobj

    def get_all(self, name: str, failobj: Any = None) -> Any:
        """Return all fields of a name."""
        found = self._indexed().get(name.lower())
        return [*found] if found else failobj


class _LongPart(_Part):
    """Of a message of many lines: the parser asks of each of them whether it ends any of the parts that it is in."""

    _deepest = 12


_POLICY: Final = _AsWritten()


def may_hold_parts(plain: bytes) -> bool:
    """Say whether a message may hold parts, so that its tree may be deep."""
    end = plain.find(b"\n\n")
    return end < 0 or bool(_HOLDS_PARTS.search(plain, 0, end + 1))


def tree_of(plain: bytes) -> Message:
    """Return the tree of a message with LF line ends."""
    found = None if b"\r" in plain else _cut(plain)
    if found is not None:
        return found
    part = _LongPart if plain.count(b"\n") > _MANY_LINES else _Part
    return BytesParser(part, policy=_POLICY).parsebytes(plain)


def _cut(data: bytes, counted: list[int] | None = None, depth: int = 0) -> Message | None:
    """Return the tree of a part that is well formed all through; None for any other, and where messages are attached."""
    end = 0 if data[:1] == b"\n" else data.find(b"\n\n") + 1
    if not end and data[:1] != b"\n":
        return None
    message = _header(data[:end].decode("ascii", "surrogateescape"))
    if message is None:
        return None
    body = data[end + 1 :]
    kind = message.get_content_maintype()
    if kind == "multipart":
        return _cut_parts(message, body, counted or [0], depth)
    if kind == "message":
        return None
    message.set_payload(body.decode("ascii", "surrogateescape"))
    return message


def _header(text: str) -> Message | None:
    """Return a message of nothing but its fields; None when not every line is a field or goes on with one."""
    message = _Part(policy=_POLICY)
    at = 0
    for found in _FIELD.finditer(text):
        if found.start() != at or text.startswith("From ", at):
            return None
        at = found.end()
        lines = [f"{line}\n" for line in text[found.start() : at - 1].split("\n")]
        message.set_raw(*_POLICY.header_source_parse(lines))
    return message if at == len(text) else None


def _cut_parts(message: Message, body: bytes, counted: list[int], depth: int) -> Message | None:
    boundary = message.get_boundary()
    encoding = str(message.get("content-transfer-encoding", "8bit")).lower()
    if not boundary or encoding not in _ENCODINGS or message.get_content_type() == "multipart/digest":
        return None
    name = re.escape(boundary.encode("ascii", "surrogateescape"))
    marks = [*islice(re.finditer(rb"^--" + name + rb"(--)?[ \t]*$", body, re.MULTILINE), MAX_PARTS + 2)]
    counted[0] += len(marks)
    if depth >= _MOST_CUT or counted[0] > MAX_PARTS:
        return None
    last = next((number for number, mark in enumerate(marks) if mark[1]), 0)
    if not last:
        return None  # it never ends, or before it begins
    parts: list[Message | str] = []
    for mark, following in pairwise(marks[: last + 1]):
        # The line end before a boundary belongs to it.
        part = (
            _cut(body[mark.end() + 1 : following.start() - 1], counted, depth + 1)
            if following.start() > mark.end() + 1
            else None
        )
        if part is None:
            return None
        parts.append(part)
    message.set_payload(parts)
    if marks[0].start():
        message.preamble = body[: marks[0].start() - 1].decode("ascii", "surrogateescape")
    rest = marks[last].end()
    message.epilogue = None if depth and rest == len(body) else body[rest + 1 :].decode("ascii", "surrogateescape")
    return message
