"""Who and what an episode speaks of: mentions become things, pronouns find theirs; knows no relation.

A thing is one entity within one episode. What is one entity across episodes is the graph's to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import gazetteer as g
from ctxsync.engine.extraction.mentions import STRONG
from ctxsync.engine.extraction.structural import is_dated, is_file, topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.base import Entity, Episode, Identity
    from ctxsync.engine.extraction.mentions import Mention

_UNNAMED = ("path:", "issue:", "mail:", "message-id:", "message:", "file:", "url:", "channel:")
# How far back, in mentions, a pronoun looks.
_HORIZON = 12


@dataclass(slots=True)
class Thing:
    """An entity of the episode, with the evidence for its type.

    Args:
        name: As the text, or the link, has it.
        votes: Evidence by type.
        keys: Identity keys, for the author, the person of `[identity]` and the topic.
        strength: Of its strongest mention.
        kind: `name` or `noun`.
        span: Of its first mention, in the episode's text.
        lower: The entity of tier 0 that it is, if any.
        technical: The kind of technical thing it is known to be.
        used: A statement speaks of it.
        linked: Markup names it somewhere.
        names: Other names that it goes by.
        settled: Its type as all evidence has it; empty before that was weighed.
        kept: It is worth keeping, whether or not anything is stated of it.
        sure: Confidence that it is an entity of its type, 0 to 1; 0 before that was weighed.
    """

    name: str
    votes: dict[str, float] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    strength: float = 1.0
    kind: str = "name"
    span: tuple[int, int] | None = None
    lower: Entity | None = None
    technical: str = ""
    used: bool = False
    linked: bool = False
    names: tuple[str, ...] = ()
    settled: str = ""
    kept: bool = False
    sure: float = 0.0

    @property
    def type(self) -> str:
        """The type that was settled on, else the one with the most votes; `Concept` where none has a quarter."""
        if self.settled:
            return self.settled
        best = max(sorted(self.votes), key=lambda name: self.votes[name], default="Concept")
        return best if self.votes.get(best, 0) >= 0.25 else "Concept"

    def vote(self, kind: str, weight: float) -> None:
        """Add evidence for a type."""
        self.votes[kind] = round(self.votes.get(kind, 0.0) + weight, 3)

    def could_be(self, *kinds: str) -> bool:
        """Say whether one of these types is as likely as any other."""
        top = max(self.votes.values(), default=0.0)
        return top < 0.25 or max(self.votes.get(kind, 0.0) for kind in kinds) >= top


class Cast:
    """The things of one episode, the one it is about, and the one who speaks."""

    def __init__(self, episode: Episode, identity: Identity, lower: Sequence[Entity]) -> None:
        self.things: list[Thing] = []
        self._by_name: dict[str, Thing] = {}
        self._recent: list[tuple[Thing, bool]] = []
        for entity in lower:
            votes = {entity.type: 0.7} if entity.type != "Concept" else {}
            # Files and issues of a commit are not what its message names, nor is a message its own subject.
            if any(key.startswith(_UNNAMED) for key in entity.keys):
                continue
            self._add(Thing(entity.name, votes, entity.keys, 1.0, span=entity.span, lower=entity))
        self.topic = self._topic(episode)
        self.repository = next((t for t in self.things if t.keys and t.keys[0].startswith("repo:")), None)
        self.commit = next((t for t in self.things if t.keys and t.keys[0].startswith("commit:")), None)
        self.me = self._speaker(episode, identity)

    def _add(self, thing: Thing) -> Thing:
        self.things.append(thing)
        for name in (thing.name, *thing.names):
            self._by_name.setdefault(name.casefold(), thing)
        return thing

    def _topic(self, episode: Episode) -> Thing | None:
        if episode.kind in ("commit", "mail", "slack") or not episode.title or is_dated(episode.title):
            return None
        name, kind = topic(episode)
        found = next((thing for thing in self.things if thing.keys[:1] == (episode.item,)), None)
        if found is None:
            found = self._add(Thing(name, {}, strength=1.0))
        found.names = episode.item_names
        for alias in episode.item_names:
            self._by_name.setdefault(alias.casefold(), found)
        words = name.split()
        first, last = words[0].lower(), words[-1].lower()
        if kind != "Concept":
            found.vote(kind, 0.5)
        elif name.lower() in g.TECHNICAL:
            found.vote("Artifact", 0.9)
        elif last in g.HEADS:
            found.vote(g.HEADS[last], 0.9)
        elif first in g.TITLES or (first in g.GIVEN_NAMES and len(words) <= 3):
            found.vote("Person", 0.8)
        elif name.lower() in g.PLACES:
            found.vote("Place", 0.8)
        elif first == "project" and len(words) > 1:
            found.vote("Artifact", 0.6)
        return found

    def _speaker(self, episode: Episode, identity: Identity) -> Thing | None:
        if episode.kind in ("mail", "slack") and not episode.author_keys:
            return None  # anyone can write any name into a header
        if episode.author_keys or episode.author_name:
            known = next((t for t in self.things if t.keys and t.keys == episode.author_keys), None)
            return known or self._add(Thing(episode.author_name, {"Person": 1.5}, episode.author_keys))
        if not episode.own or not (identity.names or identity.keys):
            return None
        name = identity.names[0] if identity.names else identity.keys[0].split(":", 1)[-1]
        for candidate in identity.names:
            known = self._by_name.get(candidate.casefold())
            if known is not None:
                known.keys = tuple(dict.fromkeys((*known.keys, *identity.keys)))
                known.vote("Person", 1.5)
                return known
        return self._add(Thing(name, {"Person": 1.5}, identity.keys, names=identity.names[1:]))

    def named(self, mention: Mention, span: tuple[int, int], *, subject: bool) -> Thing:
        """Return the thing that a name or noun phrase is, and remember that it was spoken of."""
        thing = self._by_name.get(mention.name.casefold()) or self._same(mention)
        if thing is None:
            thing = self._add(Thing(mention.name, kind=mention.kind, span=span, strength=mention.strength))
        thing.strength = max(thing.strength, mention.strength)
        thing.linked = thing.linked or mention.linked
        thing.technical = thing.technical or mention.technical
        for kind, weight in mention.votes.items():
            thing.votes[kind] = max(thing.votes.get(kind, 0.0), weight)
        if thing.span is None:
            thing.span = span
        self.spoken(thing, subject=subject)
        return thing

    def spoken(self, thing: Thing, *, subject: bool) -> None:
        """Remember that a thing was spoken of just now."""
        self._recent.append((thing, subject))
        del self._recent[:-_HORIZON]

    def become(self, thing: Thing, other: Thing) -> None:
        """Make a thing another name of `other`: a note's opening words say what its topic is."""
        if thing is other or thing.lower is not None or thing.keys:
            return
        self.things = [known for known in self.things if known is not thing]
        self._by_name = {name: other if known is thing else known for name, known in self._by_name.items()}
        self._recent = [(other if known is thing else known, subject) for known, subject in self._recent]
        for kind, weight in thing.votes.items():
            other.votes[kind] = max(other.votes.get(kind, 0.0), min(weight, 0.4))

    def _same(self, mention: Mention) -> Thing | None:
        """Find the thing that another form of its name stands for."""
        name = mention.name
        words = name.split()
        if mention.kind == "noun" and len(words) == 1 and mention.definite:
            return self._generic(name.lower())
        if mention.kind != "name" or mention.linked:
            return None
        if len(words) == 1:
            fuller = [
                t
                for t in self.things
                if len(t.name.split()) > 1 and t.name.split()[0] == name and t.could_be("Person") and t.votes
            ]
            fuller = fuller or self._longer(name)
            if len(fuller) == 1:
                self._by_name[name.casefold()] = fuller[0]
                return fuller[0]
        core = _core(name)
        alike = [t for t in self.things if _core(t.name) == core and t.kind == "name"]
        if len(alike) == 1 and core:
            self._by_name[name.casefold()] = alike[0]
            return alike[0]
        if len(words) > 1 and mention.type == "Person":
            short = self._by_name.get(words[0].casefold())
            if short is not None and short.name == words[0] and not short.keys and short.could_be("Person"):
                short.name = name
                self._by_name[name.casefold()] = short
                return short
        return None

    def _longer(self, name: str) -> list[Thing]:
        """Return the people whose surname it is, and the groups whose name begins with it."""
        if name.lower() in g.PLACES or name.lower() in g.TECHNICAL:
            return []
        return [
            thing
            for thing in self.things
            if thing.kind == "name"
            and len(words := thing.name.split()) > 1
            and (
                (words[-1] == name and thing.votes and thing.could_be("Person"))
                or (words[0] == name and thing.votes.get("Organization", 0.0) >= 0.6)
            )
        ]

    def _generic(self, noun: str) -> Thing | None:
        """Find what `the service` or `the company` speaks of: the last thing so named, else the topic of that kind."""
        for thing, _ in reversed(self._recent):
            if len(thing.name.split()) > 1 and thing.name.lower().endswith(f" {noun}"):
                return thing
        if self.topic is None:
            return None
        if self.topic.name.lower().endswith(f" {noun}"):
            return self.topic
        generic = {
            "company": "Organization", "firm": "Organization", "organization": "Organization", "organisation": "Organization",
            "team": "Organization", "institute": "Organization", "project": "Artifact", "service": "Artifact",
            "tool": "Artifact", "app": "Artifact", "library": "Artifact", "book": "Artifact", "paper": "Artifact",
            "city": "Place", "town": "Place", "meeting": "Event", "incident": "Event", "outage": "Event", "conference": "Event",
        }  # fmt: skip
        kind = generic.get(noun)
        return self.topic if kind and self.topic.votes and self.topic.type == kind else None

    def pronoun(self, word: str, beside: Sequence[Thing], *, opens: bool) -> Thing | None:
        """Return whom a pronoun stands for; None when nothing near fits.

        Args:
            word: The pronoun, any case.
            beside: Things in the same clause: it is none of them.
            opens: It is the first word of its block: the topic comes before what other blocks spoke of.
        """
        word = word.lower()
        kinds: tuple[str, ...]
        if word in ("he", "him", "she", "her"):
            kinds = ("Person",)
        elif word in ("they", "them"):
            kinds = ("Organization",)
        else:
            kinds = ("Artifact", "Organization", "Event", "Concept", "Idea")
        about = self.topic if self.topic is not None and self._fits(self.topic, kinds) else None
        if opens and about is not None:
            return about
        for subjects_only in (True, False):
            for thing, subject in reversed(self._recent):
                if (
                    (subject or not subjects_only)
                    and thing not in beside
                    and thing is not self.me
                    and self._fits(thing, kinds)
                ):
                    return thing
        return about if about is not None and about not in beside else None

    @staticmethod
    def _fits(thing: Thing, kinds: tuple[str, ...]) -> bool:
        if kinds == ("Person",):
            return (
                thing.kind == "name" and thing.could_be("Person") and (bool(thing.votes) or len(thing.name.split()) < 4)
            )
        if thing.strength < 0.6:
            return False
        return thing.could_be(*kinds) and (kinds != ("Organization",) or thing.votes.get("Organization", 0) > 0)

    def kept(self) -> list[Thing]:
        """Return the things that the episode's extraction should name: strong ones, and those a statement uses."""
        return [
            thing
            for thing in self.things
            if thing.lower is not None
            or thing.used
            or (
                thing is not self.me
                and thing is not self.topic
                and (thing.kept if thing.settled else thing.strength >= STRONG)
                and not is_file(thing.name)
            )
        ]


def _core(name: str) -> str:
    """Return what is left of `Project Heron` and `the Heron project`: heron."""
    core = re.sub(r"^project\s+|\s+project$", "", name, flags=re.IGNORECASE).casefold()
    return core if (core and core != name.casefold()) or name[:1].isupper() else ""
