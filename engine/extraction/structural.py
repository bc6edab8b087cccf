"""Tier 0: what a source states outright; links, tags, properties, authors, files; reads no prose, knows no model.

A note's topic is an entity with the note's item id as its key and its title as its name. A commit is an Event with its
item id as its key, named by its subject line. Mail and Slack: see `messages`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxsync.connectors.people import is_role
from ctxsync.engine.extraction import messages
from ctxsync.engine.extraction.found import MODEL, Found, mappings, strings
from ctxsync.engine.extraction.lexicon import Lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ctxsync.connectors.base import Json
    from ctxsync.engine.extraction.base import Entity, Episode, Extraction
    from ctxsync.engine.schema import Schema

# Files beyond this say how large a commit is, not what it is about (CONTRACT of commits).
MAX_FILES = 50

_WIKILINK = re.compile(r"\[\[([^\]|#\n]+)(?:#[^\]|\n]*)?(?:\|[^\]\n]*)?\]\]")
_DATED_TITLE = re.compile(r"^\d{4}[-_.]?\d{2}[-_.]?\d{2}\b")
# Properties about the note itself, or its place in a tool, say nothing about the world.
_NOT_STATEMENTS = frozenset(
    {
        "tags",
        "tag",
        "aliases",
        "alias",
        "title",
        "type",
        "id",
        "uid",
        "created",
        "updated",
        "modified",
        "date",
        "cssclass",
    }
    | {
        "cssclasses",
        "publish",
        "permalink",
        "draft",
        "layout",
        "banner",
        "icon",
        "status",
        "template",
        "email",
        "emails",
    }
)
_TYPES = {
    "Person": "person people contact human author",
    "Place": "place location city country venue restaurant cafe",
    "Organization": "organization organisation company org team institution employer vendor customer client group club",
    "Artifact": "service system tool app application project repository repo product library package document book paper"
    " article database dataset software component module device film movie game recipe",
    "Event": "event meeting incident outage conference trip release decision daily journal retro postmortem",
    "Idea": "idea hypothesis plan goal proposal",
    "Concept": "concept topic theory method term technology",
}
_TYPE_OF = {word: name for name, words in _TYPES.items() for word in words.split()}


class Structural:
    """The structural tier. Confidence 1: nothing here is guessed."""

    tier = 0
    model = MODEL

    def __init__(self, schema: Schema) -> None:
        self._lexicon = Lexicon(schema)

    def extract(self, episodes: Sequence[Episode], lower: Sequence[Extraction] = ()) -> Iterator[Extraction]:
        """Yield one extraction an episode; `lower` is not looked at: nothing is below."""
        del lower
        for episode in episodes:
            found = Found(episode)
            if episode.kind == "commit":
                _commit(found, episode)
            elif episode.kind == "note":
                _note(found, episode, self._lexicon)
            elif episode.kind == "mail":
                messages.mail(found, episode)
            elif episode.kind == "slack":
                messages.slack(found, episode)
            yield found.extraction


def note_type(attributes: Mapping[str, Json], tags: Sequence[str], place: str = "") -> str:
    """Return the entity type that a note's `type` property, its tags or its folder give its topic; else `Concept`."""
    stated = attributes.get("type", attributes.get("category", attributes.get("kind")))
    words = (
        [stated]
        if isinstance(stated, str)
        else [word for word in stated or () if isinstance(word, str)]
        if isinstance(stated, list)
        else []
    )
    folder = place.rsplit("/", 2)[-2] if "/" in place else ""
    for text in (*words, *tags, folder):
        for word in re.findall(r"[a-z]+", str(text).lower()):
            known = _TYPE_OF.get(word) or _TYPE_OF.get(word.removesuffix("s"))
            if known:
                return known
    return "Concept"


def is_dated(title: str) -> bool:
    """Say whether a title is a day: the note is a journal page and about no one thing."""
    return _DATED_TITLE.match(title) is not None


def topic(episode: Episode) -> tuple[str, str]:
    """Return name and type of what a note is about."""
    if is_dated(episode.title):
        return episode.title, "Event"
    kind = note_type(episode.item_attributes, episode.tags, episode.place)
    if kind == "Concept" and any(key.startswith("email:") for key in _own_keys(episode)):
        kind = "Person"
    return episode.title or episode.item, kind


def _own_keys(episode: Episode) -> list[str]:
    """Return the keys of what a note is about: an office's address in its properties is not that person or thing."""
    return [key for key in episode.item_keys if not (key.startswith("email:") and is_role(key[6:]))]


def _note(found: Found, episode: Episode, lexicon: Lexicon) -> None:
    name, kind = topic(episode)
    about = found.entity(name, kind, (episode.item, *_own_keys(episode)), names=list(episode.item_names))
    for link in episode.links:
        target = str(link.get("target", ""))
        if link.get("kind") not in ("wikilink", "embed", "markdown") or not target.strip():
            continue
        title = target.rstrip("/").rsplit("/", 1)[-1].removesuffix(".md").replace("%20", " ").strip()
        span = (int(str(link.get("start", 0))), int(str(link.get("end", 0))))
        if not title or title in (episode.title, *episode.item_names) or is_file(title):
            continue
        linked = found.entity(title, "Event" if is_dated(title) else "Concept", span=span)
        quote = episode.text[slice(*span)]
        found.relation(about, ("references", "link"), linked, "links to", quote=quote, span=span if quote else None)
    for tag in episode.tags:
        found.relation(about, ("related_to", "tag"), found.entity(tag, "Concept"), "is tagged")
    if not is_dated(episode.title):
        for key, value in sorted(episode.item_attributes.items()):
            _property(found, about, key, value, lexicon)


def is_file(title: str) -> bool:
    """Say whether a link's target is an attachment rather than a note."""
    return (
        re.search(
            r"\.(?:png|jpe?g|gif|svg|webp|pdf|mp[34]|wav|m4a|mov|canvas|csv|xlsx?|docx?|zip)$", title, re.IGNORECASE
        )
        is not None
    )


def _property(found: Found, about: Entity, key: str, value: Json, lexicon: Lexicon) -> None:
    """Read `employer: [[Acme]]`: a property whose name the lexicon knows, with names as its value."""
    if key.lower() in _NOT_STATEMENTS:
        return
    matches = lexicon.property(key)
    if not matches:
        return
    for name, linked in property_names(value):
        fitting = [match for match in matches if lexicon.fit(match, about.type, "") > 0]
        if not fitting or (not linked and len(name.split()) > 5):
            continue
        tail_type = lexicon.other_type(fitting[0])
        found.relation(about, fitting[0], found.entity(name, tail_type), key, quote="")


def property_names(value: Json) -> Iterator[tuple[str, bool]]:
    """Yield the names that a property's value gives, and whether each is a link."""
    for item in value if isinstance(value, list) else [value]:
        # YAML reads an unquoted [[Acme]] as a list in a list.
        inner = item[0] if isinstance(item, list) and len(item) == 1 else item
        if not isinstance(inner, str) or not inner.strip():
            continue
        links = _WIKILINK.findall(inner)
        if links:
            yield from ((link.rsplit("/", 1)[-1].strip(), True) for link in links)
        elif (
            re.search(r"[A-Za-z]", inner)
            and "://" not in inner
            and inner.lower() not in ("true", "false", "yes", "no", "none")
        ):
            yield inner.strip(), isinstance(item, list)


def _commit(found: Found, episode: Episode) -> None:
    stated = episode.attributes
    name = str(stated.get("repository") or "repository")
    commit = found.entity(episode.title or episode.item.removeprefix("commit:")[:10], "Event", (episode.item,))
    repository = found.entity(name, "Artifact", (f"repo:{name}",))
    people: list[tuple[str, Sequence[str]]] = [(episode.author_name, episode.author_keys)]
    people += [(str(p.get("name", "")), strings(p.get("keys"))) for p in mappings(stated.get("co_authors"))]
    for index, (person, keys) in enumerate(people):
        who = found.someone(person, keys) or (found.entity(person, "Person") if person else None)
        if who is not None:
            found.relation(who, ("participated_in", "authorship"), commit, "co-authored" if index else "authored")
    found.relation(commit, ("part_of", "component"), repository, "is part of")
    for file in mappings(stated.get("files"))[:MAX_FILES]:
        path = str(file.get("path", ""))
        if path:
            changed = found.entity(path, "Artifact", (f"path:{name}:{path}",))
            found.relation(commit, ("references", "change"), changed, "changes")
    for issue in strings(stated.get("fixes")):
        fixed = found.entity(_issue(name, issue).removeprefix("issue:"), "Artifact", (_issue(name, issue),))
        found.relation(commit, ("references", "fix"), fixed, "fixes")
    for issue in strings(stated.get("refs")):
        if issue not in strings(stated.get("fixes")):
            named = found.entity(_issue(name, issue).removeprefix("issue:"), "Artifact", (_issue(name, issue),))
            found.relation(commit, ("references", "link"), named, "refers to")
    for sha in strings(stated.get("reverts")):
        reverted = found.entity(f"commit {sha[:10]}", "Event", (f"commit:{sha}",))
        found.relation(commit, ("references", "revert"), reverted, "reverts")


def _issue(repository: str, issue: str) -> str:
    """Return the key of an issue: `#12` is one of the commit's repository, `org/other#12` is another's."""
    return f"issue:{repository if issue.startswith('#') else ''}{issue}"
