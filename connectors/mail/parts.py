"""The MIME tree of a message as leaves in order: text, attachments, attached messages; reads no header but theirs.

The tree is the standard library's. What could exhaust memory or the stack is refused before it is built.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.mail.charsets import decode
from ctxsync.connectors.mail.guard import MAX_PARTS, guard_nesting, guard_size
from ctxsync.connectors.mail.headers import text_of
from ctxsync.connectors.mail.lenient import boundary_of, is_broken, mended_header
from ctxsync.connectors.mail.tree import Part, may_hold_parts, tree_of
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from email.message import Message

READABLE: Final = frozenset({"text/plain", "text/html", "text/enriched", "text/markdown", "text/x-markdown"})
_TYPE: Final = re.compile(r"[\s\"']*([!#$&^\w.+-]{1,127})/([!#$&^\w.+-]{1,127})", re.ASCII)
CALENDARS: Final = frozenset({"text/calendar", "application/ics"})

_MAX_AGAIN: Final = 100_000_000  # bytes that are cut again: each of parts within parts holds all that is in it

_MAX_KEPT: Final = 300  # characters of a field whose parameters are remembered

_UNMUNGED = re.compile(rb"^>+(?=From )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A part that holds no parts.

    Args:
        type: `text/plain` and so on, lower case.
        data: Its bytes, after the transfer encoding was taken off.
        charset: As declared; empty when none is.
        name: Its file name; empty when it has none.
        attached: Whether the message hands it over as a file and not as text to read.
        flowed: `format=flowed`: 0 for no, 1 for yes, 2 with `delsp=yes`.
        method: Of a calendar (`REQUEST`), as its Content-Type states it.
    """

    type: str
    data: bytes
    charset: str = ""
    name: str = ""
    attached: bool = False
    flowed: int = 0
    method: str = ""

    def text(self) -> tuple[str, bool]:
        """Return it as text, and whether something was lost.

        What an mbox made of a line `From ` cannot be told from a quotation; it is one reading, so that all stores agree.
        """
        return decode(_unmunged(self.data), self.charset)


@dataclass(slots=True)
class Parts:
    """What a message holds, attached messages apart.

    Args:
        texts: Texts to read, in order; each is the alternatives of one text, as they stand in the message.
        files: What is attached.
        calendars: `text/calendar` parts, attached or not.
        messages: Attached messages.
        leaves: All leaves in order, for the digest; those of attached messages too.
    """

    texts: list[list[Leaf]] = field(default_factory=list)
    files: list[Leaf] = field(default_factory=list)
    calendars: list[Leaf] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    again: list[int] = field(default_factory=lambda: [0, 0])  # how many parts were cut again, of how many bytes


def parsed(plain: bytes) -> Message:
    """Return the tree of a message; one whose header breaks off is mended and read again.

    Args:
        plain: LF line ends.

    Raises:
        BadItem: It is nested too deep, or has more parts, lines or header than memory should hold.
    """
    guard_size(plain)
    if may_hold_parts(plain):
        guard_nesting(plain)
    message = tree_of(plain)
    if is_broken(message):
        guard_nesting(plain)
        message = tree_of(mended_header(plain))
    return message


def parts_of(message: Message) -> Parts:
    """Sort the leaves of a message; an attached message is kept whole."""
    parts = Parts()
    _sort(message, parts, None)
    if not any(leaf.data.strip() for forms in parts.texts for leaf in forms) and isinstance(message.preamble, str):
        # Some machines write their words before the first part, where others tell old readers of MIME.
        preamble = message.preamble.encode("utf-8", "surrogateescape")
        if b"mime" not in preamble.lower():
            parts.texts.append([Leaf("text/plain", preamble)])
    return parts


def _sort(message: Message, parts: Parts, forms: list[Leaf] | None) -> None:
    """Put a part where it belongs; `forms` are those of the text that it is one more form of, if any."""
    kind = type_of(message)
    if kind.startswith("multipart/") and not message.is_multipart():
        kind = _cut_again(message, kind, parts.again)
    if message.is_multipart() and kind.startswith("multipart/"):
        children = children_of(message)
        if kind == "multipart/alternative" and forms is None:
            forms = []
            parts.texts.append(forms)
        root = _root_of(message, children) if kind == "multipart/related" else None
        for child in children:
            if root is not None and child is not root and not child.is_multipart():
                parts.files.append(leaf_of(child, type_of(child)))  # a picture in the text, mostly
            else:
                _sort(child, parts, forms)
        return
    if kind == "message/rfc822" and message.is_multipart():
        parts.messages += children_of(message)
        return
    leaf = leaf_of(message, kind)
    if kind in CALENDARS:
        parts.calendars.append(leaf)
    if kind in READABLE and not leaf.attached:
        if forms is None:
            parts.texts.append([leaf])
        else:
            forms.append(leaf)
    elif leaf.attached or not (kind in CALENDARS or (forms is not None and kind.startswith("text/"))):
        parts.files.append(leaf)


def _root_of(message: Message, children: list[Message]) -> Message | None:
    """Return the part of a `multipart/related` that the others belong to: the one it names, else the first text."""
    start = _word(_parameters(str(message.get("content-type") or "")), "start").strip("<>")
    for child in children:
        if start and str(child.get("content-id") or "").strip().strip("<>") == start:
            return child
    texts = (child for child in children if child.is_multipart() or type_of(child) in READABLE)
    return next(texts, children[0] if children else None)


def _cut_again(message: Message, kind: str, again_so_far: list[int]) -> str:
    """Cut a multipart that came in one piece by the boundary that it really uses; else it is a text."""
    data = data_of(message)
    boundary = boundary_of(data)
    again_so_far[1] += len(data)
    if boundary and again_so_far[1] <= _MAX_AGAIN:
        head = b'Content-Type: %s; boundary="%s"\n\n' % (kind.encode(), boundary)
        again = tree_of(head + data)
        children = children_of(again)
        again_so_far[0] += len(children)
        if again_so_far[0] > MAX_PARTS:
            raise BadItem(f"The message has more than {MAX_PARTS:,} parts.")
        if any(not child.get_content_type().startswith("multipart/") or child.is_multipart() for child in children):
            kept: list[Message | str] = [*children]
            message.set_payload(kept)
            return kind
    return "text/plain"


def children_of(message: Message) -> list[Message]:
    """Return the parts of a part; none where it has none."""
    payload = message.get_payload() if message.is_multipart() else None
    return [child for child in payload if not isinstance(child, str)] if isinstance(payload, list) else []


def type_of(message: Message) -> str:
    """Return the type of a part, `text/plain` when it states none that could be one."""
    stated = _TYPE.match(str(message.get("content-type") or ""))
    if stated:
        return f"{stated[1]}/{stated[2]}".lower()
    return message.get_default_type()


def leaf_of(message: Message, kind: str) -> Leaf:
    """Return a part without parts (or one whose parts are not looked at) as a leaf."""
    disposition = str(message.get("content-disposition") or "")
    said = _parameters(str(message.get("content-type") or ""))
    name = text_of(_word(_parameters(disposition), "filename") or _word(said, "name"))
    disposition = disposition.strip().casefold()
    flowed = _word(said, "format").casefold() == "flowed"
    delsp = _word(said, "delsp").casefold() == "yes"
    return Leaf(
        kind,
        data_of(message),
        _word(said, "charset"),
        name.replace("\\", "/").rsplit("/", 1)[-1][:255],
        disposition.startswith("attachment") or (bool(name) and not disposition.startswith("inline")),
        (2 if delsp else 1) if flowed else 0,
        _word(said, "method"),
    )


def data_of(message: Message) -> bytes:
    """Return a part's bytes, after the transfer encoding was taken off; a container's are its parts' texts."""
    if message.is_multipart():
        return b"\n".join(child.as_bytes() for child in children_of(message))
    if isinstance(message, Part) and message.decoded is not None:
        return message.decoded
    try:
        payload = message.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError):
        payload = None
    data = payload if isinstance(payload, bytes) else b""
    if isinstance(message, Part):
        message.decoded = data
    return data


def _parameters(value: str) -> Mapping[str, object]:
    """Return the parameters of a field by their names, in lower case; none when they are written against the rules."""
    if "=" not in value and ";" not in value:
        return {}
    return _short_parameters(value) if len(value) <= _MAX_KEPT else _parsed_parameters(value)


def _parsed_parameters(value: str) -> Mapping[str, object]:
    part = Part()
    part.set_raw("content-type", value)
    try:
        named = part.get_params([])
    except (ValueError, TypeError, IndexError, LookupError, AttributeError):
        return {}
    return {name.lower(): value for name, value in reversed(named)}  # the first of a name counts


_short_parameters = lru_cache(maxsize=1024)(_parsed_parameters)  # most parts state the same few


def _word(parameters: Mapping[str, object], name: str) -> str:
    value = parameters.get(name, "")
    if isinstance(value, tuple):  # RFC 2231: charset, language, text
        charset, _, text = value
        return decode(str(text).encode("latin-1", "replace"), str(charset or ""))[0]
    return str(value).strip()


def _unmunged(data: bytes) -> bytes:
    """Return a text without what an mbox puts before `From `."""
    return _UNMUNGED.sub(b"", data) if b">From" in data else data


def leaves(message: Message) -> Iterator[tuple[str, bytes]]:
    """Yield type and bytes of every leaf, those of attached messages included, without recursion, in order."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        if part.is_multipart():
            waiting.extend(reversed(children_of(part)))
        else:
            yield type_of(part), data_of(part)


def body_digest(message: Message) -> str:
    """Return the SHA-256 (hex) of a message's decoded leaves: equal however it travelled, and wherever it was stored.

    Transfer encodings are off, line ends are LF, what an mbox put before `From ` is off, and so are blank lines and
    white space at the end, which mailers and stores add and cut.
    """
    hasher = hashlib.sha256()
    for kind, data in leaves(message):
        content = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data
        content = _unmunged(content).rstrip()
        hasher.update(b"%d:%s:" % (len(content), kind.encode("utf-8", "replace")))
        hasher.update(content)
    return hasher.hexdigest()
