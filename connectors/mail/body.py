"""What of a message is read: its texts, one form of each, as plain text with the ranges that are quoted.

Knows no headers; attached messages and files are others' business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.mail.html import plain_text
from ctxsync.connectors.mail.quoting import ranges_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.connectors.mail.parts import Leaf

MAX_TEXT: Final = 1_000_000  # characters; a longer text is a log or a dump, and is cut
LOSSY: Final = "decoded-lossy"
CUT: Final = "text-cut"
_STUB: Final = 200  # characters; a shorter plain form may only say that there is another one

_DEPTH = re.compile(r"^>+")
_ENRICHED = re.compile(r"<param>[^<\n]*</param>|<<|</?[a-zA-Z][\w-]{0,30}>")
_CONTROLS: Final = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])


@dataclass(frozen=True, slots=True)
class Body:
    """A text to read.

    Args:
        text: LF line ends, no blank lines around it.
        quoted: Half-open character ranges of others' words and signatures.
        code: Half-open character ranges of patches.
        flags: `decoded-lossy`, `text-cut`.
    """

    text: str
    quoted: tuple[tuple[int, int], ...] = ()
    code: tuple[tuple[int, int], ...] = ()
    flags: frozenset[str] = frozenset()


def body_of(texts: Sequence[Sequence[Leaf]]) -> Body:
    """Return the texts of a message as one, blank lines between them.

    Args:
        texts: Each as its alternative forms.

    Raises:
        BadItem: One is HTML nested beyond all measure.
    """
    pieces: list[str] = []
    known: list[tuple[int, int]] = []
    flags: set[str] = set()
    length = 0
    for forms in texts:
        text, quoted = _chosen(forms, flags)
        if text.isascii() or not text.replace("\n", " ").isprintable():  # the table is fast with ASCII
            text = text.translate(_CONTROLS)
        lead = len(text) - len(text.lstrip("\n"))
        text = text.strip("\n").rstrip()
        if not text:
            continue
        if length + len(text) > MAX_TEXT:
            text = text[: max(MAX_TEXT - length, 0)]
            flags.add(CUT)
        length += 2 if pieces else 0
        known += [
            (length + max(start - lead, 0), length + min(end - lead, len(text)))
            for start, end in quoted
            if start - lead < len(text)
        ]
        pieces.append(text)
        length += len(text)
    whole = "\n\n".join(pieces)
    ranges = ranges_of(whole, known)
    return Body(whole, ranges.quoted, ranges.code, frozenset(flags))


def _chosen(forms: Sequence[Leaf], flags: set[str]) -> tuple[str, list[tuple[int, int]]]:
    """Return the plain form of a text; its HTML where there is no plain one, or one that says next to nothing."""
    plain = [form for form in forms if form.type == "text/plain"]
    plain = plain or [form for form in forms if form.type != "text/html"]
    rich = [form for form in forms if form.type == "text/html"]
    text = "\n\n".join(_plain(form, flags) for form in plain)
    if not rich or len(text.strip()) >= _STUB:
        return text, []
    shown, quoted = "", []
    for form in rich:
        html, lossy = form.text()
        if lossy:
            flags.add(LOSSY)
        page = plain_text(html)
        if shown and page.text:
            shown += "\n\n"
        quoted += [(len(shown) + start, len(shown) + end) for start, end in page.quoted]
        shown += page.text
    if len(text.strip()) * 3 >= len(shown) or (text.strip() and len(shown) < _STUB):
        return text, []
    return shown, quoted


def _plain(form: Leaf, flags: set[str]) -> str:
    text, lossy = form.text()
    if lossy:
        flags.add(LOSSY)
    if form.type == "text/enriched":
        text = _ENRICHED.sub(lambda found: "<" if found[0] == "<<" else "", text)
    text = text.expandtabs(8) if "\t" in text and len(text) < MAX_TEXT else text
    if form.flowed:
        text = _unflowed(text, remove_blank=form.flowed == 2)
    return text


def _unflowed(text: str, *, remove_blank: bool) -> str:
    """Join the lines of a `format=flowed` text (RFC 3676): a blank at the end of one says that it goes on."""
    out: list[str] = []
    going_on, depth_before = False, 0
    for line in text.split("\n"):
        quotes = _DEPTH.match(line)
        depth = len(quotes[0]) if quotes else 0
        said = line[depth:].removeprefix(" ")
        flows = said.endswith(" ") and said != "-- "
        if flows and remove_blank:
            said = said[:-1]
        if going_on and depth == depth_before and said != "-- ":
            out.append(said)
        else:
            out.append(("\n" if out else "") + (">" * depth + " " if depth else "") + said)
        going_on, depth_before = flows, depth
    return "".join(out)
