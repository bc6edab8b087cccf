"""A message's bytes as the standard library's tree, by a short way where there is one; decides nothing about parts.

The standard parser asks of every line whether it is a boundary. A message that is well formed is cut at its boundaries in
one go here; whatever is irregular goes through that parser as a whole. A test holds the two ways against each other.
"""

from __future__ import annotations

import re
from email.message import Message
from email.parser import BytesParser
from email.policy import Compat32
from itertools import pairwise
from typing import Any, Final

_ENCODINGS: Final = frozenset({"7bit", "8bit", "binary"})
_FIELD: Final = re.compile(r"[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*")
_HOLDS_PARTS: Final = re.compile(rb"multipart|message/", re.IGNORECASE)


class _AsWritten(Compat32):
    """Header fields as they are written: 8-bit bytes stay surrogates instead of becoming replacement characters."""

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002 (the policy's signature)
        """Return the value itself."""
        return value


class _Part(Message):
    """A message that finds its fields by an index: the standard one goes through all of them for each question."""

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


_POLICY: Final = _AsWritten()


def may_hold_parts(plain: bytes) -> bool:
    """Say whether a message may hold parts, so that its tree may be deep."""
    end = plain.find(b"\n\n")
    return end < 0 or bool(_HOLDS_PARTS.search(plain, 0, end + 1))


def tree_of(plain: bytes) -> Message:
    """Return the tree of a message with LF line ends."""
    found = None if b"\r" in plain else _cut(plain)
    return found or BytesParser(_Part, policy=_POLICY).parsebytes(plain)


def _cut(data: bytes, *, inner: bool = False) -> Message | None:
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
        return _cut_parts(message, body, inner=inner)
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


def _cut_parts(message: Message, body: bytes, *, inner: bool) -> Message | None:
    boundary = message.get_boundary()
    encoding = str(message.get("content-transfer-encoding", "8bit")).lower()
    if not boundary or encoding not in _ENCODINGS or message.get_content_type() == "multipart/digest":
        return None
    name = re.escape(boundary.encode("ascii", "surrogateescape"))
    marks = [*re.finditer(rb"^--" + name + rb"(--)?[ \t]*$", body, re.MULTILINE)]
    last = next((number for number, mark in enumerate(marks) if mark[1]), 0)
    if not last:
        return None  # it never ends, or before it begins
    parts: list[Message | str] = []
    for mark, following in pairwise(marks[: last + 1]):
        # The line end before a boundary belongs to it.
        part = (
            _cut(body[mark.end() + 1 : following.start() - 1], inner=True)
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
    message.epilogue = None if inner and rest == len(body) else body[rest + 1 :].decode("ascii", "surrogateescape")
    return message
