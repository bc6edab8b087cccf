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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_ENCODINGS: Final = frozenset({"7bit", "8bit", "binary"})
_HEADER: Final = re.compile(r"(?:[!-9;-~]++:[^\n]*+\n(?:[ \t][^\n]*+\n)*+)*+")
_FIELD: Final = re.compile(r"([!-9;-~]++):[ \t]*+([^\n]*+(?:\n[ \t][^\n]*+)*+)\n")
_BOUNDARY_ENDS: Final = re.compile(rb"(--)?[ \t]*$", re.MULTILINE)
_MOST_CUT: Final = 8  # parts within parts that are cut here: each level holds a copy of what is in it
_MANY_LINES: Final = 200_000
_WITH_PARAMETERS: Final = frozenset({"content-type", "content-disposition"})
_MAX_PARAMETERS: Final = 100  # the standard library takes their square in time
_MAX_PARAMETERED: Final = 8_000  # characters of a field that has parameters


class _AsWritten(Compat32):
    """Header fields as they are written: 8-bit bytes stay surrogates instead of becoming replacement characters."""

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002 (the policy's signature)
        """Return the value itself."""
        return value

    def header_source_parse(self, sourcelines: Sequence[str]) -> tuple[str, str]:
        """Return name and value of a field, of parameters as many as real ones have."""
        name, _, value = "".join(sourcelines).partition(":")
        value = value.lstrip(" \t").rstrip("\r\n")
        return name, _few_parameters(value) if name.lower() in _WITH_PARAMETERS else value


def _few_parameters(value: str) -> str:
    if len(value) > _MAX_PARAMETERED or value.count(";") > _MAX_PARAMETERS:
        return ";".join(value[:_MAX_PARAMETERED].split(";", _MAX_PARAMETERS)[:_MAX_PARAMETERS])
    return value


class Part(Message):
    """A message that finds its fields by an index: the standard one goes through all of them for each question.

    It counts what is put into it, for a boundary can be written in ways that a look at the bytes does not find.

    Attributes:
        decoded: Its bytes, its transfer encoding taken off; None until they are known.
    """

    decoded: bytes | None = None
    _headers: list[tuple[str, Any]]
    _index: dict[str, list[Any]]
    _indexed = -1  # how many fields the index holds
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

    def index(self) -> Mapping[str, Sequence[Any]]:
        """Return the fields' values by their names, in lower case."""
        if self._indexed != len(self._headers):
            self._index, self._indexed = {}, len(self._headers)
            for name, value in self._headers:
                self._index.setdefault(name.lower(), []).append(value)
        return self._index

    def __contains__(self, name: object) -> bool:
        return str(name).lower() in self.index()

    def get(self, name: str, failobj: Any = None) -> Any:
        """Return the first field of a name."""
        found = self.index().get(name.lower())
        return found[0] if found else failobj

    def get_all(self, name: str, failobj: Any = None) -> Any:
        """Return all fields of a name."""
        found = self.index().get(name.lower())
        return [*found] if found else failobj


class _LongPart(Part):
    """Of a message of many lines: the parser asks of each of them whether it ends any of the parts that it is in."""

    _deepest = 12


_POLICY: Final = _AsWritten()


def may_hold_parts(plain: bytes) -> bool:
    """Say whether a message may hold parts, so that its tree may be deep."""
    end = plain.find(b"\n\n")
    header = plain[: max(end, 0)].lower()
    return end < 0 or b"multipart" in header or b"message/" in header


def names_of(message: Message) -> Iterable[str]:
    """Return the names of the fields of a message, in lower case."""
    return message.index() if isinstance(message, Part) else map(str.lower, message.keys())


def tree_of(plain: bytes) -> Message:
    """Return the tree of a message with LF line ends."""
    found = None if b"\r" in plain else _cut(plain)
    if found is not None:
        return found
    part = _LongPart if plain.count(b"\n") > _MANY_LINES else Part
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
    if _encoding(message) in _ENCODINGS:
        message.decoded = body
    return message


def _header(text: str) -> Part | None:
    """Return a message of nothing but its fields; None when not every line is a field or goes on with one."""
    if not _HEADER.fullmatch(text):
        return None
    message = Part(policy=_POLICY)
    for name, value in _FIELD.findall(text):
        message.set_raw(name, _few_parameters(value) if name.lower() in _WITH_PARAMETERS else value)
    return message


def _encoding(message: Message) -> str:
    return str(message.get("content-transfer-encoding", "8bit")).lower()


def _boundaries(body: bytes, name: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield where a boundary begins and ends, and whether it is the last; its own line ends are not of it."""
    mark = b"--" + name
    at = 0 if body.startswith(mark) else body.find(b"\n" + mark) + 1 or -1
    while at >= 0:
        found = _BOUNDARY_ENDS.match(body, at + len(mark))
        if found:
            yield at, found.end(), bool(found[1])
        at = body.find(b"\n" + mark, found.end() if found else at) + 1 or -1


def _cut_parts(message: Message, body: bytes, counted: list[int], depth: int) -> Message | None:
    boundary = message.get_boundary()
    if not boundary or _encoding(message) not in _ENCODINGS or message.get_content_type() == "multipart/digest":
        return None
    marks = [*islice(_boundaries(body, boundary.encode("ascii", "surrogateescape")), MAX_PARTS + 2)]
    counted[0] += len(marks)
    if depth >= _MOST_CUT or counted[0] > MAX_PARTS:
        return None
    last = next((number for number, mark in enumerate(marks) if mark[2]), 0)
    if not last:
        return None  # it never ends, or before it begins
    parts: list[Message | str] = []
    for (_, begins, _), (ends, _, _) in pairwise(marks[: last + 1]):
        # The line end before a boundary belongs to it.
        part = _cut(body[begins + 1 : ends - 1], counted, depth + 1) if ends > begins + 1 else None
        if part is None:
            return None
        parts.append(part)
    message.set_payload(parts)
    if marks[0][0]:
        message.preamble = body[: marks[0][0] - 1].decode("ascii", "surrogateescape")
    rest = marks[last][1]
    message.epilogue = None if depth and rest == len(body) else body[rest + 1 :].decode("ascii", "surrogateescape")
    return message
