"""An outline cuts a text into sections with stable keys; knows neither Markdown nor files nor times."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from ctxsync.connectors.base import Link, Section, digest
from ctxsync.connectors.notes.inline import within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ctxsync.connectors.base import Json
    from ctxsync.connectors.notes.inline import Inline, Range

LONG = 6_000  # characters: some four times what an embedding model reads
SHORT = 2_000  # characters that a part has at least, so that parts stay passages
MAX_KEY = 200  # characters

_TASK = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[(?P<mark>[^\n])\][ \t]+(?P<text>[^\n]*)", re.MULTILINE)
_LOGSEQ_TASK = re.compile(
    r"^[ \t]*[-*][ \t]+(?P<mark>TODO|DOING|NOW|LATER|WAITING|DONE|CANCELED|CANCELLED)[ \t]+(?P<text>[^\n]*)",
    re.MULTILINE,
)
_PROPERTY = re.compile(
    r"^[ \t>]*(?:[-*+][ \t]+)?(?P<key>[^\W\d_][\w /.\-]{0,60}?)::(?:[ \t]+(?P<value>[^\n]*))?$", re.MULTILINE
)
_FIELD = re.compile(
    r"[\[(](?P<key>[^\W\d_][\w \-]{0,60})::[ \t]+(?P<value>(?:[^\[\]()\n]|\[\[[^\[\]\n]{0,200}\]\]){1,300})[\])]"
)
HOUSEKEEPING = frozenset({"id", "collapsed", "heading", "background-color"})  # Logseq's own, nothing a person said


@dataclass(slots=True)
class Outline:
    """The blocks of a text, as line numbers (0-based) and half-open character ranges.

    Args:
        headings: (line, level, title as shown) of every heading that opens a section.
        code: Ranges of block code.
        quoted: Ranges of others' words.
        blocks: Ranges of paragraphs and headings.
        cuts: Lines where a long section may be cut.
    """

    headings: list[tuple[int, int, str]] = field(default_factory=list)
    code: list[Range] = field(default_factory=list)
    quoted: list[Range] = field(default_factory=list)
    blocks: list[Range] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)


def line_starts(text: str) -> list[int]:
    """Return the position of every line's first character, and one past the text's end."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    starts.append(len(text) + 1)
    return starts


def cut(text: str, outline: Outline, inline: Inline, first_line: int) -> Iterator[Section]:
    """Yield the sections of a text in order; occurred_at is 0 and no author is set.

    Args:
        text: The text without frontmatter.
        outline: Its blocks.
        inline: Its links, tags and code.
        first_line: 1-based line of the file at which the text starts.
    """
    starts = line_starts(text)
    code, quoted = inline.code, sorted(outline.quoted)
    links, tags = list(inline.links), list(inline.tags)
    keys: dict[str, int] = {}  # how often each was asked for
    for heading, key, first, last in _ranges(text, starts, outline):
        key = _unused(key, keys)  # noqa: PLW2901 (the name stays what it is)
        start, end = starts[first], min(starts[last] - 1, len(text))
        end = start + len(text[start:end].rstrip())
        own_code = _clip(code, start, end)
        own_links = links[_first_at(links, start) : _first_at(links, end)]
        own_tags = tags[bisect_left(tags, (start, "")) : bisect_left(tags, (end, ""))]
        body = text[start:end]
        yield Section(
            key=key,
            text=body,
            occurred_at=0,
            heading=heading,
            line=first_line + first,
            links=tuple(
                Link(k.target, k.kind, k.label, k.heading, k.start - start, min(k.end, end) - start) for k in own_links
            ),
            tags=_distinct(tag for _, tag in own_tags),
            code=own_code,
            quoted=_clip(quoted, start, end),
            attributes=_stated(body, own_code),
        )


def page_properties(text: str) -> dict[str, Json]:
    """Return the `key:: value` lines that open a Logseq page."""
    found_properties: dict[str, Json] = {}
    for line in text.split("\n", 200)[:200]:
        found = _PROPERTY.match(line)
        if not found:
            if line.strip():
                break
            continue
        _add_property(found_properties, found["key"], found["value"] or "")
    return found_properties


def housekeeping(text: str) -> list[Range]:
    """Return the ranges of Logseq's own property lines (`id::`, `collapsed::`): not prose."""
    if "::" not in text:
        return []
    return [found.span() for found in _PROPERTY.finditer(text) if found["key"] in HOUSEKEEPING]


def _ranges(text: str, starts: list[int], outline: Outline) -> Iterator[tuple[tuple[str, ...], str, int, int]]:
    """Yield (heading path, key, first line, line after the last); a blank text yields one empty section."""
    path: list[tuple[int, str]] = []
    count = len(starts) - 1
    edges = [(0, 0, ""), *outline.headings, (count, 0, "")]
    empty = True
    for (first, level, title), (last, _, _) in pairwise(edges):
        if level:
            path = [(above, name) for above, name in path if above < level] + [(level, title)]
        while first < last and not text[starts[first] : starts[first + 1] - 1].strip():
            first += 1  # noqa: PLW2901 (blank lines belong to no section)
        if first == last:
            continue
        empty = False
        heading = tuple(name for _, name in path)
        key = " > ".join(heading)
        for at, (part_first, part_last) in enumerate(_parts(text, starts, outline.cuts, first, last)):
            # A part is named by how it begins: an edit of one part leaves the others' keys alone.
            opening = text[starts[part_first] : starts[part_first + 1] - 1].strip()
            yield heading, key if at == 0 else f"{key} ~{digest(opening)[:8]}", part_first, part_last
    if empty:
        yield (), "", 0, count


def _parts(text: str, starts: list[int], cuts: list[int], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut a long section where its content says so, so that an insertion moves only the cuts near it."""
    if starts[last] - starts[first] <= LONG:
        yield first, last
        return
    begin = first
    for line in cuts[bisect_right(cuts, first) : bisect_left(cuts, last)]:
        size = starts[line] - starts[begin]
        if size < SHORT or not text[starts[line] : starts[line + 1] - 1].strip():
            continue
        opening = text[starts[line] : starts[line + 1] - 1].encode()
        if size >= LONG or hashlib.blake2b(opening, digest_size=1).digest()[0] % 8 == 0:
            yield begin, line
            begin = line
    yield begin, last


def _unused(key: str, keys: dict[str, int]) -> str:
    if len(key) > MAX_KEY:
        key = f"{key[: MAX_KEY - 10]} {digest(key)[:8]}"
    ordinal = keys.get(key, 0) + 1
    free = key if ordinal == 1 else f"{key} ({ordinal})"
    while free in keys:  # a heading that itself reads `Log (2)`
        ordinal += 1
        free = f"{key} ({ordinal})"
    keys[key] = ordinal
    keys.setdefault(free, 1)
    return free


def _clip(ranges: Sequence[Range], start: int, end: int) -> tuple[Range, ...]:
    """Return what of the ordered ranges lies within, relative to `start`."""
    at = bisect_left(ranges, (start, start))
    at -= at > 0 and ranges[at - 1][1] > start
    clipped: list[Range] = []
    while at < len(ranges) and ranges[at][0] < end:
        low, high = max(ranges[at][0], start), min(ranges[at][1], end)
        if low < high:
            clipped.append((low - start, high - start))
        at += 1
    return tuple(clipped)


def _first_at(links: list[Link], position: int) -> int:
    return bisect_left(links, position, key=lambda link: link.start)


def _distinct(values: Iterator[str]) -> tuple[str, ...]:
    kept: dict[str, str] = {}
    for value in values:
        kept.setdefault(value.casefold(), value)
    return tuple(kept.values())


def _stated(text: str, code: Sequence[Range]) -> Mapping[str, Json]:
    """Return tasks (line counted from 1 within the section, so that a shift above changes nothing) and properties."""
    attributes: dict[str, Json] = {}
    tasks = [found for found in _TASK.finditer(text) if not within(found.start("mark"), code)]
    tasks += [found for found in _LOGSEQ_TASK.finditer(text) if not within(found.start("mark"), code)]
    if tasks:
        tasks.sort(key=re.Match.start)
        listed: list[Json] = []
        at, line = 0, 1
        for found in tasks:
            line += text.count("\n", at, found.start("mark"))
            at = found.start("mark")
            listed.append({"text": found["text"].strip(), "done": found["mark"] in ("x", "X", "DONE"), "line": line})
        attributes["tasks"] = listed
    if "::" in text:
        properties: dict[str, Json] = {}
        for found in sorted([*_PROPERTY.finditer(text), *_FIELD.finditer(text)], key=re.Match.start):
            if not within(found.start("key"), code):
                _add_property(properties, found["key"], found["value"] or "")
        if properties:
            attributes["properties"] = properties
    return attributes


def _add_property(properties: dict[str, Json], key: str, value: str) -> None:
    key, value = key.strip(), value.strip()
    if key in HOUSEKEEPING or not value:
        return
    held = properties.get(key)
    if held is None:
        properties[key] = value
    elif isinstance(held, list):
        held.append(value)
    else:
        properties[key] = [held, value]
