"""Frontmatter becomes JSON-safe properties with the text as written; never raises, knows nothing of notes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctxsync.connectors.base import Json

UNPARSED = "frontmatter-unparsed"
MAX_LINES = 2_000
MAX_VALUES = 10_000  # counting what aliases repeat: a bomb of a few lines would be billions
MAX_DEPTH = 24
OPEN = -1  # size of an anchored value that is still being read

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"-?(0|[1-9]\d{0,14})$")
_FLOAT = re.compile(r"-?(0|[1-9]\d{0,9})\.\d{1,9}$")
_CONSTANTS: dict[str, Json] = {"": None, "null": None, "~": None, "true": True, "false": False}
_KEY_LINE = re.compile(r"([^\s:#\-\[\]{}][^:\n]{0,80}?):(?:\s+(.*))?$")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What stands at the head of a note.

    Args:
        properties: Keys in order, values JSON-safe; text stays as written unless it is a plain number or boolean.
        lines: How many lines the block takes, fences included; 0 when there is none.
        parsed: Whether it was valid YAML. When it was not, the properties are what plain `key: value` lines say.
    """

    properties: Mapping[str, Json] = field(default_factory=dict)
    lines: int = 0
    parsed: bool = True


NONE = Frontmatter()


class _Unusable(Exception):
    """The YAML is valid and still nothing to keep: too deep, too large, keys that are not text."""


def read_frontmatter(lines: Sequence[str]) -> Frontmatter:
    """Read the frontmatter of a note given as lines.

    A first line `---` without a closing one, or around prose, is a thematic break and no frontmatter.
    """
    if not lines or lines[0].rstrip() != "---":
        return NONE
    for end in range(1, min(len(lines), MAX_LINES)):
        if lines[end].rstrip() in ("---", "..."):
            return _read_block(lines[1:end], end + 1)
    return NONE


def text_values(value: Json) -> list[str]:
    """Return the texts of a property that may be one text, a comma-separated text or a list."""
    if isinstance(value, str):
        value = list(value.split(","))
    if not isinstance(value, list):
        value = [value]
    texts = (str(each).strip() for each in value if isinstance(each, str | int | float) and not isinstance(each, bool))
    return [text for text in texts if text]


def _read_block(body: Sequence[str], lines: int) -> Frontmatter:
    try:
        properties = _parse("\n".join(body))
    except (yaml.YAMLError, _Unusable, ValueError):
        properties = None
    if isinstance(properties, dict):
        return Frontmatter(properties, lines)
    if not any(line.strip() for line in body):
        return Frontmatter({}, lines)
    # Prose between two thematic breaks: a property would open the block, with no blank line before it.
    if not _KEY_LINE.match(body[0]):
        return NONE
    return Frontmatter(_plain_lines(body), lines, parsed=False)


def _parse(text: str) -> Json:
    """Build the value from parser events: iterative, so that no nesting can exhaust the stack."""
    open_nodes: list[tuple[list[Json] | dict[str, Json], str | None, int, int]] = []
    key: str | None = None
    root: Json = None
    anchors: dict[str, tuple[Json, int]] = {}
    count = 0
    for event in yaml.parse(text, Loader=_LOADER):
        value: Json
        if isinstance(event, yaml.DocumentEndEvent):
            break
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(open_nodes) >= MAX_DEPTH:
                raise _Unusable
            if open_nodes and isinstance(open_nodes[-1][0], dict) and key is None:
                raise _Unusable  # a list or a mapping as a key
            node: list[Json] | dict[str, Json] = {} if isinstance(event, yaml.MappingStartEvent) else []
            open_nodes.append((node, key, count, _index(event.start_mark)))
            if event.anchor:
                anchors[event.anchor] = (node, OPEN)
            key = None
            continue
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            node, key, before, start = open_nodes.pop()
            value = _wikilink(node, text, start, _index(event.end_mark))
            for name, (held, size) in anchors.items():
                if size == OPEN and held is node:
                    anchors[name] = (value, count - before)
        elif isinstance(event, yaml.ScalarEvent):
            value = _scalar(event, as_key=bool(open_nodes) and isinstance(open_nodes[-1][0], dict) and key is None)
            count += 1
            if event.anchor:
                anchors[event.anchor] = (value, 1)
        elif isinstance(event, yaml.AliasEvent):
            value, size = anchors.get(event.anchor or "", (None, OPEN))
            if size == OPEN:
                raise _Unusable  # an alias inside what it names
            count += size
        else:
            continue
        if count > MAX_VALUES:
            raise _Unusable
        if not open_nodes:
            root = value
            continue
        parent = open_nodes[-1][0]
        if isinstance(parent, list):
            parent.append(value)
        elif key is None:
            if not isinstance(value, str):
                raise _Unusable
            key = value
        else:
            parent[key] = value
            key = None
    return root


class _Mark(Protocol):
    index: int


def _index(mark: _Mark | None) -> int:
    return 0 if mark is None else mark.index


def _scalar(event: yaml.ScalarEvent, *, as_key: bool) -> Json:
    text = event.value.replace("\0", "\ufffd")
    text = text if text.isascii() else text.encode("utf-8", "replace").decode()  # "\\ud800" is a valid YAML escape
    if as_key or not event.implicit[0]:  # quoted, block or tagged
        return text
    if text.lower() in _CONSTANTS and text in (text.lower(), ""):
        return _CONSTANTS[text]
    if _INTEGER.match(text) and text != "-0":
        return int(text)
    if _FLOAT.match(text) and repr(float(text)) == text:
        return float(text)
    return text


def _wikilink(node: list[Json] | dict[str, Json], text: str, start: int, end: int) -> Json:
    """Give an unquoted `[[Some note]]` back as written; YAML takes it for a list in a list."""
    if isinstance(node, list) and len(node) == 1 and isinstance(node[0], list) and text[start : start + 2] == "[[":
        written = text[start:end].strip()
        if written.endswith("]]") and "\n" not in written:
            return written
    return node


def _plain_lines(body: Sequence[str]) -> dict[str, Json]:
    """Read `key: value` lines, and `- item` lines under a key without a value, as plain text."""
    properties: dict[str, Json] = {}
    last: str | None = None
    for line in body:
        found = _KEY_LINE.match(line.rstrip())
        if found:
            last = found[1].strip()
            properties[last] = _unquoted(found[2] or "") or None
        elif last is not None and line.strip().startswith("- "):
            items = properties[last]
            if items is None:
                items = properties[last] = []
            if isinstance(items, list):
                items.append(_unquoted(line.strip()[2:]))
    return properties


def _unquoted(written: str) -> str:
    text = written.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
