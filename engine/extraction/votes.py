"""Evidence for the type of what is named: its shape, known names, the noun it is headed by, the model's label."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import gazetteer as g
from ctxsync.engine.extraction.words import lemma, word_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.mentions import Mention

_TECH_SHAPE = re.compile(
    r"^(?:[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|\w+_\w[\w_]*|[A-Za-z]+-?\d[\w.]*|\w+\.(?:js|py|io|ts|rs|go|net)|\w+::\w+.*)$"
)
# Technical names that are words as well: only a capital tells.
_ALSO_WORDS = word_set(
    """chef consul spark flink hive slack notion make rust swift go bash react rails spring excel word blender unity
    whisper claude gemini stripe looker superset lambda celery loki solr presto oracle prefect dagster varnish squid
    falcon nomad render envoy curl java julia perl ruby python elixir apache docker emacs cypress playwright git
    jest poetry pip uv black zig puppet salt markdown html css http https ssh tls ssl dns json yaml xml csv sql
    linux windows android vault hatch requests attrs trio express moment prettier bun fuse hyper mocha sphinx
    certifi brotli tailwind cryptography travis pillow twisted tornado"""
)
# Votes of the model's labels. On names it has not seen, GPE, ORG and PERSON are near a coin's toss, hence the spread.
LABELS: dict[str, dict[str, float]] = {
    "PERSON": {"Person": 0.4, "Organization": 0.15, "Artifact": 0.15},
    "ORG": {"Organization": 0.4, "Artifact": 0.2, "Person": 0.1},
    "GPE": {"Place": 0.35, "Organization": 0.25, "Artifact": 0.1},
    "LOC": {"Place": 0.35},
    "FAC": {"Place": 0.4, "Organization": 0.2},
    "PRODUCT": {"Artifact": 0.35},
    "WORK_OF_ART": {"Artifact": 0.4},
    "LAW": {"Artifact": 0.3, "Concept": 0.3},
    "EVENT": {"Event": 0.6},
    "LANGUAGE": {"Concept": 0.4},
}
# A single word that it takes for an event is a name that it does not know, more often than not.
_UNSEEN_EVENT = {"Event": 0.35, "Organization": 0.2, "Artifact": 0.1}
_LOCATIVE = {"in", "near", "to", "around", "from", "outside", "across"}


def is_technical(word: str) -> bool:
    """Say whether a word has the shape of an identifier or is a known technical name written as one."""
    if _TECH_SHAPE.match(word):
        return True
    return word.lower() in g.TECHNICAL and (word[:1].isupper() or word.lower() not in _ALSO_WORDS)


def is_known(lower: str) -> bool:
    """Say whether a list or its shape tells that a word is a name."""
    return lower in g.TECHNICAL or lower in g.GIVEN_NAMES or lower in g.PLACES or _TECH_SHAPE.match(lower) is not None


def vote_name(mention: Mention, words: Sequence[str], *, code: bool = False) -> None:
    """Let a name's words vote: the lists, its shape, its last noun; `code` says that markup shows it as code."""
    votes = mention.votes
    name = " ".join(words).lower()
    first, last = words[0].lower(), words[-1].lower()
    if code or name in g.TECHNICAL or _TECH_SHAPE.match(words[-1]):
        _add(votes, "Artifact", 0.9 if name in g.TECHNICAL else 0.6)
        return
    capital = words[-1][:1].isupper()
    if mention.kind == "noun" or not capital or len(words) == 1:
        head = last if last in g.HEADS else lemma(last)
        if head in g.HEADS:
            _add(votes, g.HEADS[head], 0.9)
    elif last in g.ORGANIZATION_SUFFIXES:
        _add(votes, "Organization", 1.0)
    elif last in g.PLACE_SUFFIXES:
        _add(votes, "Place", 0.9)
    elif last in g.EVENT_SUFFIXES:
        _add(votes, "Event", 0.9)
    elif last in g.HEADS:
        _add(votes, g.HEADS[last], 0.8)
    elif last in g.CONCEPT_SUFFIXES:
        _add(votes, "Concept", 0.9)
    if not capital:
        return
    if first in g.TITLES and len(words) > 1:
        _add(votes, "Person", 1.0)
    if name in g.PLACES and name in g.GIVEN_NAMES:
        _add(votes, "Place", 0.5)
        _add(votes, "Person", 0.5)
    elif name in g.PLACES:
        _add(votes, "Place", 0.9)
    elif first in g.GIVEN_NAMES and len(words) <= 3 and last not in g.HEADS and last not in g.ORGANIZATION_SUFFIXES:
        _add(votes, "Person", 0.8)
    if mention.roles:
        _add(votes, "Person", 0.6)
    if first == "project" and len(words) > 1:
        _add(votes, "Artifact", 0.6)
    if len(words) == 1 and words[0].isupper() and 1 < len(words[0]) <= 5:
        for kind in ("Organization", "Artifact", "Concept"):
            _add(votes, kind, 0.2)


def vote_label(mention: Mention, doc: Any, ent: Any) -> None:
    """Let the model's label vote, and the preposition before the phrase where the label leaves it open."""
    if mention.kind != "name" or mention.technical or ent is None or ent.label_ not in LABELS:
        return
    unseen = ent.label_ == "EVENT" and mention.end - mention.start == 1
    for kind, weight in (_UNSEEN_EVENT if unseen else LABELS[ent.label_]).items():
        _add(mention.votes, kind, weight)
    if ent.label_ == "PERSON" and mention.end - mention.start >= 2 and mention.votes.get("Organization", 0) < 0.5:
        _add(mention.votes, "Person", 0.3)
    head = doc[mention.head]
    if ent.label_ in ("GPE", "ORG", "LOC", "FAC"):
        if head.dep_ == "pobj":
            word = head.head.lower_
            _add(mention.votes, "Place" if word in _LOCATIVE else "Organization", 0.15)
        elif head.dep_ in ("nsubj", "nsubjpass", "dobj"):
            _add(mention.votes, "Organization", 0.15)


def _add(votes: dict[str, float], kind: str, weight: float) -> None:
    votes[kind] = round(min(1.5, votes.get(kind, 0.0) + weight), 3)
