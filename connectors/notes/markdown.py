"""The outline of a Markdown text by markdown-it: headings, code, quotes; knows nothing of files or of what notes mean."""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt

from ctxsync.connectors.notes.inline import Inline, Range, plain_heading, scan
from ctxsync.connectors.notes.sections import Outline, housekeeping, line_starts

MAX_NESTING = 100  # blocks in blocks; deeper text stays text of the innermost one

_CALLOUT = re.compile(r"[\s>*+\-\d.)]*>\s*\[!(?P<kind>[^\]\n]{1,60})\]")
_OTHERS_WORDS = frozenset({"quote", "cite"})  # callouts that hold someone else's words
_RAW_HTML = re.compile(r"\s*<(script|style|pre|textarea|svg)\b", re.IGNORECASE)
_MARKS = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?\#\+(?P<edge>BEGIN|END)_(?P<kind>\w{1,20})[^\n]*"
    r"|^[ \t]*:(?P<drawer>LOGBOOK|PROPERTIES|END):[ \t]*$"
    r"|(?P<formula>\$\$)",
    re.MULTILINE | re.IGNORECASE,
)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).disable(["inline", "reference"])
    # `[a]: url` stays a paragraph, in which links are found; inline parsing would be thrown away.
    parser.core.ruler.disable("text_join", ignoreInvalid=True)
    return parser


def outline(text: str, verbatim: int = 0) -> tuple[Outline, Inline]:
    """Return the blocks of a Markdown text and what stands in them.

    Args:
        text: LF line ends, no frontmatter.
        verbatim: So many leading lines are not Markdown (frontmatter that could not be parsed): one code range.
    """
    starts = line_starts(text)
    found = Outline()
    hidden = starts[verbatim] if verbatim else 0
    if hidden:
        found.code.append((0, min(hidden, len(text))))
    tokens = _parser().parse("\n" * verbatim + text[hidden:])
    for at, token in enumerate(tokens):
        if token.map is None or token.nesting < 0:
            continue
        first, last = token.map
        span = (starts[first], max(starts[first], min(starts[last] - 1, len(text))))
        if token.level <= 1:
            found.cuts.append(first)
        if token.type == "inline":
            found.blocks.append(span)
        elif token.type == "heading_open":
            if token.level == 0:
                found.headings.append((first, int(token.tag[1:]), plain_heading(tokens[at + 1].content)))
        elif token.type in ("fence", "code_block"):
            found.code.append(span)
        elif token.type == "html_block":
            if _RAW_HTML.match(token.content):
                found.code.append(span)
        elif token.type == "blockquote_open" and _is_quote(text[starts[first] : starts[first + 1] - 1]):
            found.quoted.append(span)
    found.cuts.sort()
    _more_blocks(text, found)
    found.code += housekeeping(text)
    found.quoted = _outermost(found.quoted)
    return found, scan(text, found.code, found.blocks)


def _is_quote(line: str) -> bool:
    callout = _CALLOUT.match(line)
    return callout is None or callout["kind"].split("|")[0].strip().lower() in _OTHERS_WORDS


def _more_blocks(text: str, found: Outline) -> None:
    """Add Org-style blocks and drawers, which Logseq writes into Markdown, and display formulas."""
    waiting: dict[str, re.Match[str]] = {}
    for mark in _MARKS.finditer(text):
        if mark["formula"]:
            kind, opens, closes = "$$", "$$" not in waiting, "$$" in waiting
        elif mark["drawer"]:
            kind, closes = ":", mark["drawer"].upper() == "END"
            opens = not closes
        else:
            kind, closes = mark["kind"].upper(), mark["edge"].upper() == "END"
            opens = not closes
        if opens:
            waiting.setdefault(kind, mark)
        elif closes and kind in waiting:
            opener = waiting.pop(kind)
            if kind in ("QUOTE", "VERSE"):
                found.quoted.append((min(opener.end() + 1, mark.start()), mark.start()))
            else:
                found.code.append((opener.start(), mark.end()))


def _outermost(ranges: list[Range]) -> list[Range]:
    kept: list[Range] = []
    for start, end in sorted(ranges, key=lambda each: (each[0], -each[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept
