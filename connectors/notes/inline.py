"""What stands inside Markdown text: code spans, comments, links, tags; every pattern is bounded, so hostile text is linear.

It sees text with the block code already blanked, never a file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ctxsync.connectors.base import Link

if TYPE_CHECKING:
    from collections.abc import Sequence

Range = tuple[int, int]

_BACKTICKS = re.compile(r"`+")
_LINK = re.compile(
    r"(?=[\[\#!h])(?:"  # looked at first: most characters open no link
    r"(?P<wiki>(?P<tag_sign>\#)?(?P<embed>!)?\[\[(?P<inner>[^\[\]\n]{1,1000})\]\])"
    r"|(?P<image>!)?\[(?P<text>[^\[\]\n]{0,500})\]\((?P<dest><[^<>\n]{1,2000}>|[^\s()<>]{1,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500}){0,3})"
    r"(?:[ \t]+(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'))?[ \t]*\)"
    r"|(?<!\\)\[(?P<ref>[^\[\]\n]{1,500})\]:[ \t]{1,20}(?P<ref_dest>[^\s<>]{1,2000})"
    r"|(?P<url>\bhttps?://[^\s<>\[\]\"`|\\^{}]{1,2000}))"
)
_TAG = re.compile(
    r"(?<![^\s(])\#(?P<name>[^\s\#()\[\]{}<>!\"$%&'*+,.:;=?@^`|~\\\u2018-\u201f\u2026\u3001\u3002\uff01-\uff0f\uff1a-\uff20]{1,200})"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,20}:")
_COMMENT = re.compile(r"%%|<!--|-->")
_TAG_MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9-]{0,40}(?:\s[^<>\n]{0,500})?/?>")
_MATH = re.compile(r"(?<![\\$\w])\$(?![\s$\d])[^$\n]{1,200}(?<!\s)\$(?![\d$])")
_MACRO = re.compile(r"\{\{(?!embed\b)[^{}\n]{1,500}\}\}|\(\([0-9a-f-]{36}\)\)")
_TRAILING = ".,;:!?'\"*_~)"


@dataclass(frozen=True, slots=True)
class Inline:
    """What was found, in order of position, over the whole text.

    Args:
        code: Merged half-open ranges of code, comments, markup, formulas and macros.
        links: Links with their positions.
        tags: (position, tag) pairs, tags without `#`.
    """

    code: tuple[Range, ...]
    links: tuple[Link, ...]
    tags: tuple[tuple[int, str], ...]


def scan(text: str, code: list[Range], blocks: list[Range]) -> Inline:
    """Scan Markdown.

    Args:
        text: The whole text.
        code: Ranges already known to be code (fences, indented code).
        blocks: Ranges of paragraphs and headings: a code span never crosses their ends.
    """
    blanked = _blank(text, code)
    spans = [span for block in blocks for span in _code_spans(blanked, block)]
    blanked = _blank(blanked, spans)
    comments = _comments(blanked)
    blanked = _blank(blanked, comments)
    formulas = [found.span() for pattern in (_MATH, _MACRO) for found in pattern.finditer(blanked)]
    blanked = _blank(blanked, formulas)
    pointing = _links(text, blanked)
    links = [found for found, _ in pointing if isinstance(found, Link)]
    for_tags = _blank(blanked, [span for _, span in pointing])
    tags = [(at, found) for found, (at, _) in pointing if isinstance(found, str)]
    tags += [(found.start(), name) for found in _TAG.finditer(for_tags) if (name := _tag(found["name"]))]
    markup = [found.span() for found in _TAG_MARKUP.finditer(for_tags)]
    return Inline(merge([*code, *spans, *comments, *formulas, *markup]), tuple(links), tuple(sorted(tags)))


def merge(ranges: list[Range]) -> tuple[Range, ...]:
    """Return the ranges in order, overlapping and touching ones as one."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def within(position: int, ranges: Sequence[Range]) -> bool:
    """Say whether a position is in one of the ranges, which are in order and do not overlap."""
    at = bisect_right(ranges, position, key=_start)
    return at > 0 and ranges[at - 1][1] > position


def _start(ends: Range) -> int:
    return ends[0]


def wikilink(inner: str) -> tuple[str, str, str]:
    """Return target, label and heading of what stands between `[[` and `]]`; in tables the bar is escaped."""
    target, _, label = inner.partition("|")
    target, _, heading = target.removesuffix("\\").partition("#")
    return target.strip(), label.strip(), heading.strip().removeprefix("^")


def plain_heading(text: str) -> str:
    """Return a heading as a reader sees it: links by their labels, without emphasis marks and block ids."""
    text = re.sub(r"!?\[\[([^\[\]\n]{1,1000})\]\]", lambda found: _shown(found[1]), text)
    text = re.sub(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,2000}\)", r"\1", text)
    text = re.sub(r"\s\^[\w-]{1,60}$", "", text)
    return re.sub(r"\*\*|__|~~|==|`|%%", "", text).strip()


def _shown(inner: str) -> str:
    target, label, heading = wikilink(inner)
    return label or target or heading


def _blank(text: str, ranges: list[Range]) -> str:
    """Return the text, as long as before, with the ranges blank but for their line ends."""
    if not ranges:
        return text
    parts: list[str] = []
    at = 0
    for start, end in merge(ranges):
        parts.append(text[at:start])
        hidden = text[start:end]
        parts.append(
            " " * len(hidden) if "\n" not in hidden else "\n".join(" " * len(line) for line in hidden.split("\n"))
        )
        at = end
    parts.append(text[at:])
    return "".join(parts)


def _code_spans(text: str, block: Range) -> list[Range]:
    """Find code spans: a run of backticks closes at the next run of the same length (CommonMark 6.1)."""
    runs = [found.span() for found in _BACKTICKS.finditer(text, *block)]
    later: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[index][1] - runs[index][0], []).append(index)
    spans: list[Range] = []
    index = 0
    while index < len(runs):
        start, end = runs[index]
        same = later[end - start]
        while same and same[-1] <= index:
            same.pop()
        escaped = start > 0 and text[start - 1] == "\\" and not (start > 1 and text[start - 2] == "\\")
        if same and not escaped:
            spans.append((start, runs[same[-1]][1]))
            index = same[-1]
        index += 1
    return spans


def _comments(text: str) -> list[Range]:
    """Find `%%…%%` and `<!--…-->`, over any number of lines; one that never closes is text."""
    ranges: list[Range] = []
    marks = list(_COMMENT.finditer(text))
    later: dict[str, list[int]] = {"%%": [], "-->": []}
    for mark in reversed(marks):
        if mark[0] in later:
            later[mark[0]].append(mark.start())
    at = 0
    for mark in marks:
        if mark.start() < at or mark[0] == "-->":
            continue
        closing = "%%" if mark[0] == "%%" else "-->"
        ends = later[closing]
        while ends and ends[-1] < mark.end():
            ends.pop()
        if ends:
            at = ends[-1] + len(closing)
            ranges.append((mark.start(), at))
    return ranges


def _links(text: str, blanked: str) -> list[tuple[Link | str | None, Range]]:
    """Find links with their ranges; a Logseq tag `#[[two words]]` is its text, and None points into the note itself."""
    found_links: list[tuple[Link | str | None, Range]] = []
    for found in _LINK.finditer(blanked):
        start, end = found.span()
        link: Link | str | None = None
        if found["wiki"]:
            target, label, heading = wikilink(text[found.start("inner") : found.end("inner")])
            if found["tag_sign"]:
                link = " ".join(target.split()) or None
            elif target:
                link = Link(target, "embed" if found["embed"] else "wikilink", label, heading, start, end)
        elif found["dest"]:
            label = text[found.start("text") : found.end("text")].strip()
            link = _pointing(found["dest"].strip("<>"), label, start, end, embed=bool(found["image"]))
        elif found["ref_dest"]:
            if not found["ref"].startswith("^"):  # a footnote
                link = _pointing(found["ref_dest"], found["ref"].strip(), start, end)
        else:
            url = found["url"].rstrip(_TRAILING) if found["url"].count("(") < found["url"].count(")") else ""
            url = url or found["url"].rstrip(_TRAILING.replace(")", ""))
            end = start + len(url)
            link = Link(url, "url", start=start, end=end)
        found_links.append((link, (start, end)))
    return found_links


def _pointing(target: str, label: str, start: int, end: int, *, embed: bool = False) -> Link | None:
    if _SCHEME.match(target) or target.startswith("//"):
        return Link(target, "embed" if embed else "url", "" if label == target else label, "", start, end)
    path, _, heading = target.partition("#")
    path = unquote(path).replace("\0", "\ufffd")
    if not path:
        return None  # points into the note itself
    return Link(path, "embed" if embed else "markdown", label, unquote(heading).removeprefix("^"), start, end)


def _tag(name: str) -> str:
    """Return a tag as Obsidian takes it: not a number alone, no slash at the end; empty when it is none."""
    name = name.strip("/")
    return "" if not name or name.replace("/", "").isdigit() else name
