"""Prints: JSON to stdout, and text through rich without markup; knows nothing of what is printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ctxsync.cli.inert import json_inert

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.text import Text


def print_json(document: Any) -> None:
    """Write one JSON document, indented."""
    import orjson

    sys.stdout.write(json_inert(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()) + "\n")


def print_json_line(document: Any) -> None:
    """Write one JSON document on a line, and hand it on at once."""
    import orjson

    sys.stdout.write(json_inert(orjson.dumps(document).decode()) + "\n")
    sys.stdout.flush()


def console(*, stderr: bool = False) -> Console:
    """Return a console that interprets no markup, emoji names or links; it honours NO_COLOR and the width."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def styled(*parts: str | tuple[str, str]) -> Text:
    """Return text of plain strings and `(string, style)` pairs, empty ones left out."""
    from rich.text import Text

    return Text.assemble(*(part for part in parts if (part if isinstance(part, str) else part[0])))


def line(out: Console, *parts: str | tuple[str, str], indent: int = 0) -> None:
    """Print a line, wrapped between words and indented throughout."""
    block(out, styled(*parts), indent=indent)


def block(out: Console, text: Text, *, indent: int = 0) -> None:
    """Print a text, wrapped between words and indented throughout."""
    if not indent:
        out.print(text)
        return
    from rich.padding import Padding

    out.print(Padding(text, (0, 0, 0, min(indent, out.width // 4)), expand=False))


def joined(parts: Iterable[str], separator: str = " · ") -> str:
    """Return the parts that are not empty, joined."""
    return separator.join(part for part in parts if part)


def count(number: int, singular: str, plural: str = "") -> str:
    """Return `1 fact`, `2,000 facts`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
