"""Markdown to plain blocks of prose, each with a map back to the source's characters; knows no language model.

A block is what is parsed on its own: a paragraph, a list item, the text of a commit. Headings, tables, code, quotes and
struck-out text give no block. Every character of a block's text stands for a position of the episode's text, so that
a span of the block is a span of the episode and a quote is always an exact substring of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.words import word_set

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A block longer than this is cut at a sentence's end: one parse holds a bounded amount of memory.
MAX_BLOCK = 4_000
# A line of more words than these that ends in a colon is a sentence, not the name of what is listed.
MAX_LEAD = 4

_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}#{1,6}(?:\s|$)")
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$")
_BULLET = re.compile(r"^(?P<indent>\s*)(?:[-*+]|\d{1,3}[.)])\s+(?:\[(?P<task>[ xX/-])\]\s+)?")
_QUOTE = re.compile(r"^\s{0,3}>")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
_LABEL = re.compile(
    r"^[*_]{0,3}(?P<key>[A-Za-z][A-Za-z _-]{1,28}?)[*_]{0,3}\s?::?[*_]{0,3}(?=\s)\s*(?P<value>\S.*)$", re.DOTALL
)
_TRAILER = re.compile(r"^(?:[A-Z][A-Za-z]*(?:-[A-Za-z]+)+|Change-Id|Bug|Fixes|Closes|Refs|See): \S")
_PREFIX = re.compile(r"^(?:[a-z]+(?:\([^)\n]*\))?!?:|\[[^\]\n]{1,30}\])\s+")
_GREETING = re.compile(
    r"(?:hello|hi|hey|dear|thanks|thank you|good (?:morning|afternoon|evening|day))(?: [\w.'\u2019-]+){0,4} ?[,!:\u2013-]\s(?=\S)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s")
_INLINE = re.compile(
    r"""
      (?P<drop><!--.*?-->|%%.*?%%|!\[\[[^\]\n]*\]\]|!\[[^\]\n]*\]\([^)\n]*\)|\[\^[^\]\n]+\]|~~.+?~~|</?[A-Za-z][^<>\n]{0,80}>)
    | (?P<math>\$\$.+?\$\$|\$(?=[^$\n]*[\\_^{}=]|\w\$)\S[^$\n]{0,200}?\$(?!\d))
    | \[\[(?P<target>[^\]|#\n]*)(?:\#[^\]|\n]*)?(?:\\?\|(?P<label>[^\]\n]*))?\]\]
    | \[(?P<text>[^\]\n]+)\]\((?P<href>[^)\s]*)[^)\n]*\)
    | (?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)
    | (?P<url><?https?://[^\s<>)]+>?)
    | (?P<mark>\*{1,3}|==|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|\\(?=[\\`*_{}\[\]()\#+.!|-])|(?<![\w&])\#(?=[A-Za-z]))
    """,
    re.VERBOSE | re.DOTALL,
)
_WORDS = re.compile(r"\w+")
_POINTERS = word_set("the this that my our his her their its he she they him them it")
_IDENTIFIER = re.compile(r"^[\w@./:+#-]{2,40}$")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A name that the markup points out, in a block's characters.

    Args:
        start: First character in the block's text.
        end: One past its last.
        name: What it names: a link's target without its path, or the text of an inline code span.
        kind: `link` or `code`.
    """

    start: int
    end: int
    name: str
    kind: str


@dataclass(slots=True)
class Block:
    """A run of prose.

    Args:
        text: Plain text.
        kind: `paragraph` or `item`.
        label: What stands before the colon of a `Key: value` line; the text is then the value.
        under: The heading, or the line with a colon, that a list stands under.
        open_task: It is an unticked task: a plan, not a fact.
        implied: Its subject was left out and put in for the parse.
        anchors: Links and code spans, in order.
    """

    text: str = ""
    kind: str = "paragraph"
    label: str = ""
    under: str = ""
    open_task: bool = False
    implied: bool = False
    anchors: list[Anchor] = field(default_factory=list)
    _plain: list[int] = field(default_factory=list)
    _source: list[int] = field(default_factory=list)
    _length: list[int] = field(default_factory=list)

    def add(self, text: str, source: int, length: int | None = None) -> None:
        """Append `text`, which stands for `length` characters from `source` on (as many as it has, if not given)."""
        if text:
            self._plain.append(len(self.text))
            self._source.append(source)
            self._length.append(len(text) if length is None else length)
            self.text += text

    def completed(self, subject: str) -> Block:
        """Return the block with a subject put before its first word, which loses its capital."""
        block = Block(kind=self.kind, label=self.label, under=self.under, open_task=self.open_task, implied=True)
        block.add(subject, self._source[0] if self._source else 0, 0)
        shift = len(subject)
        block.text += self.text[:1].lower() + self.text[1:]
        block._plain += [position + shift for position in self._plain]  # its own class
        block._source += self._source
        block._length += self._length
        block.anchors = [Anchor(a.start + shift, a.end + shift, a.name, a.kind) for a in self.anchors]
        return block

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the episode's span that a span of the block stands for; the ends are those of its characters."""
        first, last = self._at(start), self._at(max(start, end - 1))
        return first[0], max(first[0], last[1])

    def _at(self, position: int) -> tuple[int, int]:
        piece = max(0, bisect_right(self._plain, position) - 1)
        offset, length = position - self._plain[piece], self._length[piece]
        start = self._source[piece] + min(offset, length)
        return start, min(start + 1, self._source[piece] + length)


def blocks(
    text: str,
    *,
    code: Sequence[tuple[int, int]] = (),
    quoted: Sequence[tuple[int, int]] = (),
    kind: str = "note",
) -> Iterator[Block]:
    """Yield the blocks of prose in a section's text.

    Args:
        text: The section as its source has it.
        code: Half-open ranges that are code; those within one line may be inline and are looked at as such.
        quoted: Half-open ranges that are others' words.
        kind: `commit` for a message that is not Markdown: trailers and a subject's `type(scope):` are left out. Of
            `mail` and `slack` no line is read that holds others' words.
    """
    others = [_lines_of(text, span) for span in quoted] if kind in ("mail", "slack") else list(quoted)
    hidden = _merged([span for span in code if "\n" in text[span[0] : span[1]].strip("\n")] + others)
    lines: list[tuple[int, int]] = []
    item, under = False, ""
    for start, end, what in _lines(text, hidden, commit=kind == "commit"):
        if what == "prose" and lines:
            lines.append((start, end))
            continue
        if lines:
            block = _block(text, lines, item=item)
            under = _lead(block, under)
            yield from _cut(block, letter=kind in ("mail", "slack"))
        if what == "gap" and kind != "commit" and _HEADING.match(text[start:end]):
            under = text[start:end].strip("#*_: \t")
        lines, item = ([], False) if what == "gap" else ([(start, end)], what == "item")
    if lines:
        block = _block(text, lines, item=item)
        _lead(block, under)
        yield from _cut(block, letter=kind in ("mail", "slack"))


def _lines_of(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Return the whole lines that a range's words stand on: what shares a line with others' words is not read."""
    words = text[span[0] : span[1]]
    first = span[0] + len(words) - len(words.lstrip())
    last = span[0] + len(words.rstrip())
    if first >= last:
        return span
    stop = text.find("\n", last)
    return text.rfind("\n", 0, first) + 1, len(text) if stop < 0 else stop


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, those that touch or overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _lead(block: Block, under: str) -> str:
    """Tell an item what it stands under; return what the next block stands under."""
    if block.kind == "item" and block.text:
        block.under = under
    elif block.text.endswith(":") and len(block.text.split()) <= MAX_LEAD:
        return block.text.rstrip(": ")
    return under


def _lines(text: str, hidden: Sequence[tuple[int, int]], *, commit: bool) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, what) for each line: `prose`, `item` (it starts a block of its own) or `gap`."""
    fence, position, item, near = "", 0, False, 0
    for raw in text.split("\n"):
        start, end, position = position, position + len(raw), position + len(raw) + 1
        opening = None if commit else _FENCE.match(raw)
        while near < len(hidden) and hidden[near][1] < end:
            near += 1
        what = "prose"
        if fence:
            what, fence = "gap", "" if opening and opening[1].startswith(fence) else fence
        elif opening:
            what, fence = "gap", opening[1]
        elif (
            not raw.strip()
            or (near < len(hidden) and hidden[near][0] <= start)
            or _RULE.match(raw)
            or _QUOTE.match(raw)
            or _TABLE.match(raw)
            or (not commit and _HEADING.match(raw))
            or (commit and _TRAILER.match(raw) and start)
        ):
            what = "gap"
        elif _BULLET.match(raw):
            what = "item"
        elif not item and not commit and (raw.startswith(("    ", "\t"))):
            what = "gap"
        elif not commit and _LABEL.match(raw):
            what = "item"
        if what == "item" and _cancelled(raw):
            what = "gap"
        item = what == "item" or (item and what == "prose")
        skip = len(raw) - len(raw.lstrip())
        if commit and start == 0 and (prefix := _PREFIX.match(raw)):
            skip = prefix.end()
        yield start + skip, end, what


def _cancelled(line: str) -> bool:
    """Say whether a list item's task is cancelled (`- [-] …`)."""
    bullet = _BULLET.match(line)
    return bullet is not None and bullet["task"] == "-"


def _block(text: str, lines: Sequence[tuple[int, int]], *, item: bool) -> Block:
    start, end = lines[0][0], lines[-1][1]
    block = Block(kind="item" if item else "paragraph")
    bullet = _BULLET.match(text[start:end]) if item else None
    if bullet:
        block.open_task = bullet["task"] in (" ", "/")
        start += bullet.end()
    label = _LABEL.match(text[start:end])
    if item and label and "://" not in label["key"]:
        block.label = " ".join(label["key"].replace("*", " ").replace("_", " ").split())
        start += label.start("value")
    for match in _INLINE.finditer(text, start, end):
        _copy(block, text, start, match.start())
        _inline(block, match)
        start = match.end()
    _copy(block, text, start, end)
    return block


def _copy(block: Block, text: str, start: int, end: int) -> None:
    """Copy text; a line break and the indent behind it become one space."""
    for part in re.finditer(r"\s*\n\s*|[ \t]{2,}|[^\n]+?(?=\s*\n|[ \t]{2,}|$)", text[start:end]):
        piece = part[0]
        if piece.isspace():
            block.add(" ", start + part.start(), len(piece))
        else:
            block.add(piece, start + part.start())


def _inline(block: Block, match: re.Match[str]) -> None:
    """Append what an inline construct reads as."""
    if match["drop"] is not None or match["math"] is not None or match["mark"] is not None:
        return
    begin = len(block.text)
    if match["target"] is not None:
        group = "label" if (match["label"] or "").strip() else "target"
        name = _last_part(match["target"])
        name = name if group == "target" or _stands_for(match[group], name) else ""
        shown, at = match[group], match.start(group)
        if group == "target" and "/" in shown:
            cut = shown.rstrip("/").rfind("/") + 1
            shown, at = shown[cut:], at + cut
        kind = "link"
    elif match["text"] is not None:
        shown, at, kind = match["text"], match.start("text"), "link"
        local = "://" not in match["href"] and not match["href"].startswith(("#", "mailto:"))
        name = _last_part(match["href"].replace("%20", " ")) if local else ""
        name = name if _stands_for(shown, name) else ""
    elif match["code"] is not None:
        shown, at, kind = match["code"], match.start("code"), "code"
        name = shown if _IDENTIFIER.match(shown) else ""
        if not name:
            shown = "code"
    else:
        block.add("this link", match.start(), len(match[0]))
        return
    stripped = shown.strip("*_` ")
    at += shown.find(stripped) if stripped else 0
    if shown == "code" and kind == "code":
        block.add("code", match.start(), len(match[0]))
    elif stripped:
        block.add(stripped, at)
        if name.strip():
            block.anchors.append(Anchor(begin, len(block.text), name.strip(), kind))


def _stands_for(shown: str, name: str) -> bool:
    """Say whether a link's words mean the note that it leads to: `the firm`, a word of its name; else they only lead on."""
    words = [word.casefold() for word in _WORDS.findall(shown)]
    if not words or not name:
        return False
    stems = {word.casefold()[:4] for word in _WORDS.findall(name)}
    return words[0] in _POINTERS or any(word[:4] in stems for word in words)


def _last_part(target: str) -> str:
    return target.strip().rstrip("/").rsplit("/", 1)[-1].removesuffix(".md")


def _cut(block: Block, *, letter: bool) -> Iterator[Block]:
    """Cut a block that is too long at sentence ends, and a letter's behind its greeting; anchors go with their part."""
    if not block.text.strip():
        return
    start = 0
    if letter and (greeting := _GREETING.match(block.text)):
        # Parsed with what follows it, the one who is greeted would become the subject.
        start = greeting.end()
        yield _part(block, 0, start)
    while len(block.text) - start > MAX_BLOCK:
        ends = [m.end() for m in _SENTENCE_END.finditer(block.text, start, start + MAX_BLOCK)]
        stop = ends[-1] if ends else start + MAX_BLOCK
        yield _part(block, start, stop)
        start = stop
    yield _part(block, start, len(block.text)) if start else block


def _part(block: Block, start: int, stop: int) -> Block:
    part = Block(kind=block.kind, label=block.label if start == 0 else "", open_task=block.open_task)
    for position in range(start, stop):
        first, last = block.source(position, position + 1)
        part.add(block.text[position], first, last - first)
    part.anchors = [
        Anchor(a.start - start, a.end - start, a.name, a.kind)
        for a in block.anchors
        if start <= a.start and a.end <= stop
    ]
    return part
