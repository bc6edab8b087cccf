"""Labelled texts as instances to learn from: features with a class, one for each thing and for each pair of things."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Episode, Identity
from ctxsync.engine.extraction.builtin import Builtin
from ctxsync.engine.extraction.cast import Thing
from ctxsync.engine.extraction.learned import instances
from ctxsync.engine.extraction.learned.entity_features import entity_features
from ctxsync.engine.extraction.learned.pair_features import Frame, pair_features
from ctxsync.engine.extraction.mentions import Found, Mention
from ctxsync.engine.extraction.plain import Block
from ctxsync.engine.extraction.scene import Scene
from ctxsync.engine.extraction.structural import Structural
from ctxsync.engine.extraction.understanding import Reading
from ctxsync.engine.extraction.votes import vote_name
from ctxsync.engine.schema import universal
from evaluation.gold import episode_of, load
from evaluation.others import WRITTEN, normal, substring

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.engine.extraction.learned.sights import Sight
    from evaluation.redocred import Document

NONE = "none"
EPISODES = Path(__file__).with_name("episodes")


@dataclass(slots=True)
class ThingCase:
    """A thing with its features and, when it is labelled, its type (`none`: not worth keeping)."""

    features: list[str]
    label: str
    identity: int
    name: str


@dataclass(slots=True)
class Text:
    """One labelled text, read: its things, the pairs to judge, what is right of them.

    Args:
        group: Where it comes from: `wiki` or a style.
        scene: What the rules made of it.
        sights: The mentions of each thing.
        labels: The true type of each thing, `none` for those that are no entity.
        truth: Labels by pair of identities (left, right).
        wanted: How many relations the label has; not all are between things that were found.
    """

    group: str
    scene: Scene
    sights: dict[int, list[Sight]]
    labels: dict[int, str]
    truth: dict[tuple[int, int], dict[str, dict[str, Any]]]
    wanted: int
    row: Any = None


class Reader:
    """Reads texts as tier 1 does, up to where the learned models come in."""

    def __init__(self) -> None:
        self.schema = universal()
        self.builtin = Builtin(self.schema, Identity())
        self.builtin.ready()
        self.structural = Structural(self.schema)

    def scene(self, episode: Episode) -> Scene:
        """Return a scene in which the rules have read an episode."""
        (lower,) = self.structural.extract([episode])
        scene = Scene(episode, lower, Identity(), self.builtin.chooser)
        for block, doc in self.builtin.parsed(episode):
            scene.read(block, doc)
        return scene

    def own(self, row: dict[str, Any]) -> Text:
        """Return one of our own labelled episodes, read."""
        scene = self.scene(episode_of(row))
        sights = instances.by_thing(scene)
        things = {identity: found[0].thing for identity, found in sights.items()}
        for thing in (scene.cast.topic, scene.cast.me):
            if thing is not None:
                things.setdefault(id(thing), thing)
        names = {e["name"]: e["type"] for e in row["entities"]}
        for relation in row["relations"]:
            for end in ("head", "tail"):
                names.setdefault(relation[end], "")
        labels = dict.fromkeys(things, NONE)
        linked: dict[str, int] = {}
        for name in sorted(names, key=lambda n: (-len(n), n)):
            identity = _same(name, things, labels)
            if identity is not None:
                linked[name] = identity
                if names[name]:
                    labels[identity] = names[name]
        truth: dict[tuple[int, int], dict[str, dict[str, Any]]] = {}
        for relation in row["relations"]:
            head, tail = linked.get(relation["head"]), linked.get(relation["tail"])
            if head is not None and tail is not None and head != tail:
                truth.setdefault((head, tail), {})[relation["relation"]] = relation
        return Text(row["style"], scene, sights, labels, truth, len(row["relations"]), row)

    def article(self, document: Document, *, gold: bool) -> Text:
        """Return an article, read; with `gold` its things are the labelled entities, else those found."""
        episode = Episode(document.title, document.title, "text", "", document.text, WRITTEN)
        if gold:
            return self._with_gold(document, episode)
        scene = self.scene(episode)
        sights = instances.by_thing(scene)
        things = {identity: found[0].thing for identity, found in sights.items()}
        labels = dict.fromkeys(things, NONE)
        linked: dict[int, int] = {}
        for k, entity in enumerate(document.entities):
            for name in sorted(entity.names, key=len, reverse=True):
                identity = _same(name, things, labels, taken=set(linked.values()))
                if identity is not None:
                    linked[k] = identity
                    kind = entity.type if entity.type != "Misc" else _other(things[identity])
                    labels[identity] = kind
                    break
        truth: dict[tuple[int, int], dict[str, dict[str, Any]]] = {}
        for head, relation, tail in sorted(document.relations):
            if head in linked and tail in linked and linked[head] != linked[tail]:
                truth.setdefault((linked[head], linked[tail]), {})[relation] = {}
        return Text("wiki", scene, sights, labels, truth, len(document.relations), document)

    def _with_gold(self, document: Document, episode: Episode) -> Text:
        (lower,) = self.structural.extract([episode])
        scene = Scene(episode, lower, Identity(), self.builtin.chooser)
        block = Block()
        block.add(document.text, 0)
        doc = next(iter(self.builtin.parse([block])))
        things, mentions, at_head = [], [], {}
        for entity in document.entities:
            thing = Thing(max(entity.names, key=len), {})
            for start, end in entity.mentions:
                span = doc.char_span(start, end, alignment_mode="expand")
                if span is None or not len(span):
                    continue
                mention = Mention(
                    span.start, span.end, span.root.i, doc[span.start : span.end].text, "name", strength=1.0
                )
                vote_name(mention, mention.name.split())
                mentions.append(mention)
                at_head[span.root.i] = thing
            if entity.type == "Misc":
                for mention in mentions[-len(entity.mentions) :]:
                    for kind, weight in mention.votes.items():
                        thing.votes[kind] = max(thing.votes.get(kind, 0), weight)
            else:
                thing.votes = {entity.type: 1.5}
            things.append(thing)
        scene.tell(Reading(block, doc, Found(mentions, len(doc)), at_head, {}))
        scene.cast.things = list(things)
        sights = instances.by_thing(scene)
        labels = {
            id(thing): entity.type if entity.type != "Misc" else _other(thing)
            for thing, entity in zip(things, document.entities, strict=True)
        }
        truth: dict[tuple[int, int], dict[str, dict[str, Any]]] = {}
        for head, relation, tail in sorted(document.relations):
            truth.setdefault((id(things[head]), id(things[tail])), {})[relation] = {}
        return Text("wiki", scene, sights, labels, truth, len(document.relations), document)


def _other(thing: Thing) -> str:
    """Return the type of an entity that the articles call miscellaneous."""
    return thing.type if thing.type in ("Event", "Concept", "Artifact") and thing.votes else "Artifact"


def _same(name: str, things: dict[int, Thing], labels: dict[int, str], taken: set[int] | None = None) -> int | None:
    """Return the thing that a label speaks of: of its very name, else the one whose name is most like it."""
    free = {i: t for i, t in things.items() if (labels[i] == NONE if taken is None else i not in taken)}
    wanted = normal(name)
    for identity, thing in free.items():
        if normal(thing.name) == wanted or wanted in {normal(n) for n in thing.names}:
            return identity
    near = [
        (abs(len(normal(thing.name)) - len(wanted)), k, identity)
        for k, (identity, thing) in enumerate(free.items())
        if substring(thing.name, name) and _words_shared(thing.name, name)
    ]
    return min(near)[2] if near else None


def _words_shared(one: str, two: str) -> bool:
    a, b = normal(one).split(), normal(two).split()
    return a[-1] == b[-1] or a[0] == b[0]


def own_texts(reader: Reader, paths: Sequence[Path] | None = None) -> Iterator[Text]:
    """Yield our own training episodes, read."""
    for path in paths if paths is not None else sorted(EPISODES.glob("*.jsonl")):
        for row in load(path):
            yield reader.own(row)


def thing_cases(text: Text) -> list[ThingCase]:
    """Return the things of a text that have a name of their own, with features and label."""
    kind = text.scene.episode.kind
    cases = []
    for identity, found in text.sights.items():
        named = instances.written(found)
        if named:
            thing = found[0].thing
            cases.append(ThingCase(entity_features(named, kind), text.labels[identity], identity, thing.name))
    return cases


def frame_of(text: Text, types: dict[int, str]) -> Frame:
    return instances.frame(text.scene, types, text.sights)


def pair_cases(
    text: Text, types: dict[int, str], kept: set[int]
) -> Iterator[tuple[list[str], str, Sight, Sight, dict[str, Any]]]:
    """Yield the features and the label of each pair of kept things, its mentions, and what the label says besides."""
    frame = frame_of(text, types)
    cast = text.scene.cast
    for left, right in instances.pairs(text.sights, kept, topic=cast.topic, author=cast.me):
        one, two = id(left.thing), id(right.thing)
        label, details = NONE, {}
        if text.truth.get((one, two)):
            relation, details = next(iter(text.truth[one, two].items()))
            label = f"{relation}>"
        elif text.truth.get((two, one)):
            relation, details = next(iter(text.truth[two, one].items()))
            label = f"{relation}<" if relation != "related_to" else "related_to>"
        yield pair_features(left, right, frame), label, left, right, details
