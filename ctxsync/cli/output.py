"""Prints: JSON to stdout, and text wrapped between words, with colours on a terminal; knows nothing of what is printed.

Text is laid out here and not by rich, whose import takes longer than a whole answer. Nothing in a text is markup.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from ctxsync.cli.inert import json_inert

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

Part: TypeAlias = str | tuple[str, str]
"""A text, or a text and its style: words of `SGR`."""

SGR = {"bold": "1", "dim": "2", "underline": "4", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
UNBOUNDED = 1_000_000
NARROWEST = 20
_ATOM = re.compile(r"\n|[^\S\n]+|\S+")


def print_json(document: Any) -> None:
    """Write one JSON document, indented."""
    import orjson

    sys.stdout.write(json_inert(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()) + "\n")


def print_json_line(document: Any) -> None:
    """Write one JSON document on a line, and hand it on at once."""
    import orjson

    sys.stdout.write(json_inert(orjson.dumps(document).decode()) + "\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Out:
    """Where text goes.

    Args:
        stream: The file.
        width: Columns at which lines wrap.
        colours: Whether styles are written.
    """

    stream: TextIO
    width: int
    colours: bool


def console() -> Out:
    """Return stdout: as wide as COLUMNS or the terminal says, and not wrapped at all in a pipe or a file.

    Colours only on a terminal, never with NO_COLOR (no-color.org), always with FORCE_COLOR.
    """
    on_terminal = sys.stdout.isatty()
    bounded = on_terminal or os.environ.get("COLUMNS", "").isdecimal()
    width = max(shutil.get_terminal_size().columns, NARROWEST) if bounded else UNBOUNDED
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Out(sys.stdout, width, (on_terminal or bool(os.environ.get("FORCE_COLOR"))) and not plain)


def progress_console() -> Console:
    """Return stderr as a console of rich that interprets no markup, emoji names or links."""
    from rich.console import Console

    return Console(stderr=True, markup=False, emoji=False, highlight=False)


def line(out: Out, *parts: Part, indent: int = 0, hang: int = 0) -> None:
    """Print a line of parts, wrapped between words.

    Args:
        out: Where to.
        parts: What.
        indent: Columns before each line; a quarter of the width at most, as with `hang`.
        hang: Further columns before each line but the first.
    """
    margin, further = (" " * min(columns, out.width // 4) for columns in (indent, indent + hang))
    written: list[str] = []
    column, spaces = 0, ""
    for word in _words(parts):
        text = "".join(piece for piece, _ in word)
        if text == "\n":
            written.append("\n")
            column, spaces = 0, ""
            continue
        if text.isspace():
            spaces = text.expandtabs(4)
            continue
        size = cells(text)
        if column and len(margin) + column + len(spaces) + size > out.width:
            written.append("\n")
            column, spaces, margin = 0, "", further
        if not column:
            written.append(margin)
        written.append(spaces)
        column += len(spaces)
        spaces = ""
        for piece, style in word:
            for fragment in _broken(piece, out.width - len(margin), column):
                if fragment == "\n":
                    margin = further
                    written.append(f"\n{margin}")
                    column = 0
                else:
                    written.append(_styled(fragment, style) if out.colours else fragment)
                    column += cells(fragment)
    out.stream.write("".join(written) + "\n")


def _words(parts: Iterable[Part]) -> Iterator[list[tuple[str, str]]]:
    """Yield runs of pieces that must stay together, each piece with its style; white space and line ends alone."""
    word: list[tuple[str, str]] = []
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        for atom in _ATOM.findall(text):
            if atom.isspace():
                if word:
                    yield word
                    word = []
                yield [(atom, style)]
            else:
                word.append((atom, style))
    if word:
        yield word


def _broken(piece: str, width: int, column: int) -> Iterator[str]:
    """Yield a piece in fragments that fit, with line ends between; one that fits comes whole."""
    if column + cells(piece) <= width:
        yield piece
        return
    fragment = ""
    for sign in piece:
        if column + cells(fragment + sign) > width and column + len(fragment) > 0:
            if fragment:
                yield fragment
            yield "\n"
            fragment, column = "", 0
        fragment += sign
    yield fragment


def cells(text: str) -> int:
    """Return how many columns a text takes: wide East Asian signs and emoji two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


def _styled(text: str, style: str) -> str:
    codes = ";".join(SGR[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def joined(parts: Iterable[str], separator: str = " · ") -> str:
    """Return the parts that are not empty, joined."""
    return separator.join(part for part in parts if part)


def count(number: int, singular: str, plural: str = "") -> str:
    """Return `1 fact`, `2,000 facts`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
