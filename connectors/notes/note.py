"""The bytes of a note become an item: title, names, sections with times; knows no cursor and opens no file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ctxsync.connectors.base import Item, Section, digest
from ctxsync.connectors.notes.dates import date_of_name, date_of_path, date_of_properties
from ctxsync.connectors.notes.decode import decode
from ctxsync.connectors.notes.frontmatter import NONE, UNPARSED, read_frontmatter, text_values
from ctxsync.connectors.notes.markdown import outline
from ctxsync.connectors.notes.plain import org_title, outline_org, outline_text
from ctxsync.connectors.notes.sections import cut, page_properties

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.connectors.base import Json

MAX_NAME = 200  # characters; what is longer is a sentence and no name
KINDS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".org": "org"}


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed note, before it has an identity and times.

    Args:
        title: What a person calls it.
        names: Further names: aliases, the file's stem, a first heading of its own.
        keys: Identity keys of what it is about.
        attributes: Frontmatter and page properties.
        flags: What was irregular.
        sections: With occurred_at 0.
        dates: For each section what a heading, the file's name or the frontmatter states, milliseconds UTC; else None.
        digests: For each section a short digest of its text.
    """

    title: str
    names: tuple[str, ...]
    keys: tuple[str, ...]
    attributes: Mapping[str, Json]
    flags: tuple[str, ...]
    sections: tuple[Section, ...]
    dates: tuple[int | None, ...]
    digests: tuple[str, ...]


def kind_of(path: str) -> str:
    """Return the lower-case suffix of a path, with its dot; empty when there is none."""
    name = path.rsplit("/", 1)[-1]
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def parse(data: bytes, path: str) -> Note:
    """Parse the bytes of the note at a path within its vault."""
    kind = KINDS[kind_of(path)]
    text, flags = decode(data)
    head, first_line, h1 = NONE, 1, ""
    stated_title = ""
    if kind == "markdown":
        lines = text.split("\n")
        head = read_frontmatter(lines)
        verbatim = 0
        if head.parsed:
            text, first_line = "\n".join(lines[head.lines :]), 1 + head.lines
        else:
            verbatim, flags = head.lines, (*flags, UNPARSED)
        blocks, inline = outline(text, verbatim)
        h1 = blocks.headings[0][2] if blocks.headings and blocks.headings[0][1] == 1 else ""
    elif kind == "org":
        blocks, inline = outline_org(text)
        stated_title = org_title(text)
    else:
        blocks, inline = outline_text(text)
    attributes: dict[str, Json] = dict(head.properties)
    if kind == "markdown" and not head.lines:
        attributes.update(page_properties(text))
    sections = list(cut(text, blocks, inline, first_line))
    folded = {key.casefold(): value for key, value in reversed(attributes.items())}
    tags = [tag for key in ("tags", "tag") for tag in _tags(folded.get(key))]
    if tags:  # frontmatter has no section of its own, so its tags open the first one
        sections[0] = replace(sections[0], tags=tuple(dict.fromkeys([*tags, *sections[0].tags])))
    whole_date = date_of_path(path)
    whole_date = whole_date if whole_date is not None else date_of_properties(attributes)
    title, names = _names(path, folded, stated_title, h1)
    return Note(
        title=title,
        names=names,
        keys=_keys(folded),
        attributes=attributes,
        flags=flags,
        sections=tuple(sections),
        dates=tuple(_date(section, whole_date) for section in sections),
        digests=tuple(digest(section.text)[:12] for section in sections),
    )


def to_item(note: Note, item: str, raw_digest: str, appeared: Mapping[str, int], modified: int) -> Item:
    """Give a parsed note its identity and its sections their times.

    Args:
        note: The parsed note.
        item: Its id.
        raw_digest: SHA-256 of its bytes.
        appeared: When each section's text first appeared, by its digest.
        modified: The file's mtime, milliseconds UTC: when the other sections appeared.
    """
    sections = tuple(
        replace(section, occurred_at=date if date is not None else appeared.get(key, modified))
        for section, date, key in zip(note.sections, note.dates, note.digests, strict=True)
    )
    return Item(
        id=item,
        kind="note",
        title=note.title,
        sections=sections,
        names=note.names,
        keys=note.keys,
        attributes=note.attributes,
        flags=note.flags,
        raw_digest=raw_digest,
    )


def _date(section: Section, whole: int | None) -> int | None:
    """Return the date that the nearest heading states, else the note's own."""
    for heading in reversed(section.heading):
        at = date_of_name(heading)
        if at is not None:
            return at
    return whole


def _names(path: str, folded: Mapping[str, Json], stated: str, h1: str) -> tuple[str, tuple[str, ...]]:
    """Return the title and the further names. `title` decides what a note is called and never who it is."""
    file_name = path.rsplit("/", 1)[-1]
    stem = file_name[: file_name.rfind(".")]
    if "/pages/" in f"/{path}":  # Logseq writes namespaces and odd characters so
        stem = unquote(stem.replace("___", "/")).replace("\0", "\ufffd")
    titles = text_values([folded.get("title")])
    title = (titles or [stated])[0] or stem
    title = title if len(title) <= MAX_NAME else stem
    aliases = [name for key in ("aliases", "alias") for name in text_values(folded.get(key))]
    aliases = [name.removeprefix("[[").removesuffix("]]").strip() for name in aliases]
    names = dict.fromkeys(name for name in [stem, h1, *aliases] if name and len(name) <= MAX_NAME and name != title)
    return title, tuple(names)


def _keys(folded: Mapping[str, Json]) -> tuple[str, ...]:
    keys: dict[str, None] = {}
    for name in ("email", "emails", "e-mail"):
        for text in text_values(folded.get(name)):
            address = text.lower().removeprefix("mailto:").strip("<>")
            local, at, domain = address.rpartition("@")
            if at and local and "." in domain and not any(each.isspace() for each in address):
                keys[f"email:{address}"] = None
    return tuple(keys)


def _tags(value: Json) -> list[str]:
    tags = (tag.removeprefix("#").strip("/ ") for tag in text_values(value))
    # An unquoted list of words is one text in YAML: `tags: work urgent`
    return [word for tag in tags for word in ([tag] if tag.startswith("[[") else tag.split()) if word]
