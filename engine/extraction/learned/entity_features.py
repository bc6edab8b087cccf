"""What tells whether a phrase names a thing worth keeping, and of which type; features as short strings."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import gazetteer as g
from ctxsync.engine.extraction.learned.known import kinds_of
from ctxsync.engine.extraction.learned.word_classes import classes_of
from ctxsync.engine.extraction.mentions import WITHIN
from ctxsync.engine.extraction.words import lemma

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.engine.extraction.learned.sights import Sight

# A thing that is named often has no more to tell after its first mentions.
_MOST_SIGHTS = 4
_SHAPES = ((re.compile(r"[A-Z]"), "X"), (re.compile(r"[a-z]"), "x"), (re.compile(r"\d"), "9"))


@lru_cache(maxsize=8192)
def shape(word: str) -> str:
    """Return a word's shape with runs shortened: `Xx` for a capitalised word, `x9` for `k3s`'s `x9x`."""
    for pattern, letter in _SHAPES:
        word = pattern.sub(letter, word)
    return re.sub(r"(.)\1+", r"\1", word)[:8]


def entity_features(thing_sights: Sequence[Sight], kind: str) -> list[str]:
    """Return the features of a thing.

    Args:
        thing_sights: Its mentions that are written out, at least one, in order.
        kind: The episode's kind; every feature counts once for all kinds and once for this one (Daumé 2007,
            "Frustratingly easy domain adaptation").
    """
    return [f"in={kind}", *dict.fromkeys(_features(thing_sights))]


def _features(thing_sights: Sequence[Sight]) -> Iterator[str]:
    thing = thing_sights[0].thing
    words = thing.name.split()
    lower = [word.lower() for word in words]
    first, last = lower[0], lower[-1]
    yield "bias"
    yield f"words={min(len(words), 5)}"
    yield f"last={last}"
    yield f"lemma={lemma(last)}"
    yield f"first={first}"
    yield f"shape={' '.join(shape(word) for word in words[:4])}"
    yield f"last-shape={shape(words[-1])}"
    yield f"suffix3={last[-3:]}"
    yield f"suffix4={last[-4:]}"
    yield f"prefix3={first[:3]}"
    yield f"name={thing.name.lower()}"
    for word in lower[1:-1]:
        yield f"inner={word}"
    if any(not char.isalnum() and not char.isspace() for char in thing.name):
        yield "punct"
        for char in sorted(set(thing.name) & set("/_.@-:#&+'")):
            yield f"char={char}"
    for kind, weight in sorted(thing.votes.items()):
        yield f"vote={kind}"
        if weight >= 0.6:
            yield f"vote={kind}+"
    if thing.votes:
        yield f"top={thing.type}"
    yield f"strength={round(thing.strength, 1)}"
    yield f"kind={thing.kind}"
    yield f"count={min(len(thing_sights), 4)}"
    if thing.linked:
        yield "linked"
    if thing.technical:
        yield f"technical={thing.technical}"
    if thing.lower is not None:
        yield f"tier0={thing.lower.type}"
    for name, words_known in (("given", g.GIVEN_NAMES), ("place", g.PLACES), ("role", g.ROLES), ("generic", g.GENERIC)):
        if first in words_known:
            yield f"first-in={name}"
        if last in words_known:
            yield f"last-in={name}"
    yield from _known(thing.name, words)
    for coarse, middle, fine in (classes_of(last.rstrip(".")),):
        yield f"last-48={coarse}"
        yield f"last-256={middle}"
        yield f"last-1200={fine}"
    if len(words) > 1:
        coarse, middle, _ = classes_of(first)
        yield f"first-48={coarse}"
        yield f"first-256={middle}"
        for word in lower[:-1]:
            yield f"any-256={classes_of(word)[1]}"
    if last in g.HEADS or lemma(last) in g.HEADS:
        yield f"head={g.HEADS.get(last) or g.HEADS.get(lemma(last))}"
    for number, sight in enumerate(thing_sights[:_MOST_SIGHTS]):
        yield from _context(sight, first=number == 0)


def _known(name: str, words: Sequence[str]) -> Iterator[str]:
    whole = kinds_of(name)
    for kind in whole:
        yield f"known={kind}"
    if not words[0][:1].isupper() or len(words) == 1:
        if not whole:
            yield "unknown"
        elif "first" not in whole and "last" not in whole:
            yield "known-place"
        return
    first, last = kinds_of(words[0]), kinds_of(words[-1])
    for kind in first:
        yield f"first-known={kind}"
    for kind in last:
        yield f"last-known={kind}"
    if "first" in first and "last" in last:
        yield "full-name"
    if "first" in first and not whole:
        yield f"first-name:{len(words)}"
    if "," in name:
        yield "comma"


def _context(sight: Sight, *, first: bool) -> Iterator[str]:
    block, mention = sight.parsed, sight.mention
    if block is None or mention is None:
        return
    start, end, head = sight.start, sight.end, sight.head
    lower = block.lower
    labels = {label for label in block.labels[start:end] if label}
    for label in sorted(labels):
        yield f"ner={label}"
    if not labels:
        yield "ner=-"
    label = min(labels, default="-")
    known = "+".join(kinds_of(sight.thing.name)) or "-"
    yield f"ner={label}:known={known}"
    yield f"ner={label}:words={min(end - start, 3)}"
    before = lower[start - 1] if start else "^"
    after = lower[end] if end < len(lower) else "$"
    before2 = lower[start - 2] if start > 1 else "^"
    yield f"before={before}"
    yield f"after={after}"
    yield f"before2={before2} {before}"
    if end + 1 < len(lower):
        yield f"after2={after} {lower[end + 1]}"
    if after == ",":
        for kind in kinds_of(" ".join(block.words[end + 1 : end + 3])) or kinds_of(
            " ".join(block.words[end + 1 : end + 2])
        ):
            yield f"comma-known={kind}"
    if before == "," and start > 1:
        for kind in kinds_of(" ".join(block.words[max(0, start - 3) : start - 1])) or kinds_of(block.words[start - 2]):
            yield f"comma-before={kind}"
    if mention.strength == WITHIN and mention.kind == "name":
        yield "within"
        yield f"within={classes_of(after)[1]}"
        yield f"within:ner={label}"
    yield f"ner={label}:before={before}"
    yield f"ner={label}:48={classes_of(lower[end - 1])[0]}"
    yield f"before-256={classes_of(before)[1]}"
    yield f"after-256={classes_of(after)[1]}"
    yield f"known={known}:before={before}"
    yield f"tag={block.tags[head]}"
    yield f"dep={block.deps[head]}"
    if end < len(block.tags):
        yield f"after-tag={block.tags[end]}"
    if start:
        yield f"before-tag={block.tags[start - 1]}"
    governor = block.heads[head]
    yield f"governor={block.deps[head]}:{block.lemmas[governor] if governor != head else 'root'}"
    yield f"governor={block.deps[head]}:256:{classes_of(block.lower[governor])[1] if governor != head else 'root'}"
    if block.deps[head] == "pobj":
        upper = block.heads[governor]
        yield f"through={block.lemmas[upper]} {block.lower[governor]}"
    if mention.definite:
        yield "the"
    if mention.indefinite:
        yield "an"
    if mention.mine:
        yield f"mine={mention.mine}"
    if mention.owner >= 0:
        yield "owned"
    for role in mention.roles:
        yield f"role={role}"
    if mention.linked:
        yield "link"
    if first:
        if start == 0:
            yield "opens"
            yield f"opens:{block.reading.block.kind}"
        if end == len(lower) or (end == len(lower) - 1 and not lower[end].isalnum()):
            yield "closes"
        if start == 0 and end >= len(lower) - 1:
            yield "alone"
        if block.reading.block.label:
            yield f"label={block.reading.block.label.lower()}"
        if block.reading.block.under:
            yield f"under={block.reading.block.under.lower()}"
        if block.reading.block.implied:
            yield "implied"
