"""Where an episode speaks of its things: every mention with its parse, in order; plain lists, for features are many.

spaCy's tokens are views that cost a call for each look; what features need is copied out once a block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.learned.rows import Row, rows
from ctxsync.engine.extraction.mentions import WITHIN
from ctxsync.engine.extraction.words import lemma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.cast import Thing
    from ctxsync.engine.extraction.grammar import Candidate
    from ctxsync.engine.extraction.mentions import Mention
    from ctxsync.engine.extraction.understanding import Reading


@dataclass(slots=True)
class Parsed:
    """A block's parse as lists over its tokens.

    `sentence` counts through the whole episode, `rows` goes by first token; `named` has the first token of each mention
    of a thing with the thing's identity.
    """

    reading: Reading
    words: list[str]
    lower: list[str]
    lemmas: list[str]
    tags: list[str]
    deps: list[str]
    heads: list[int]
    labels: list[str]
    sentence: list[int]
    offset: int
    questions: frozenset[int] = frozenset()
    candidates: list[Candidate] = field(default_factory=list)
    rows: dict[int, Row] = field(default_factory=dict)
    children: list[list[int]] = field(default_factory=list)
    named: list[tuple[int, int]] = field(default_factory=list)
    # Every pair asks for the paths of both its ends: each is made once.
    _paths: dict[int, list[int]] = field(default_factory=dict)

    def path_up(self, token: int) -> list[int]:
        """Return the tokens from `token` up to the root of its sentence."""
        path = self._paths.get(token)
        if path is None:
            path = self._paths[token] = [token]
            while self.heads[path[-1]] != path[-1] and len(path) < 40:
                path.append(self.heads[path[-1]])
        return path

    def verb_above(self, token: int) -> int:
        """Return the verb that a token hangs on, itself if it is one; the root of its sentence where there is none."""
        while not self.tags[token].startswith("VB") and self.heads[token] != token:
            token = self.heads[token]
        return token


@dataclass(slots=True)
class Sight:
    """One mention of a thing; `parsed` is None where nothing in the text says it: the title, the author.

    `sentence` and `at` are the numbers of its sentence and of its first token in the episode, -1 where it stands in none.
    """

    thing: Thing
    kind: str
    parsed: Parsed | None = None
    mention: Mention | None = None
    start: int = -1
    end: int = -1
    head: int = -1
    sentence: int = field(default=-1, init=False)
    at: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        if self.parsed is not None:
            self.sentence, self.at = self.parsed.sentence[self.head], self.parsed.offset + self.start


def parsed(reading: Reading, *, sentences: int, offset: int) -> Parsed:
    """Copy out a block's parse.

    Args:
        reading: The block.
        sentences: How many sentences stand before it in the episode.
        offset: How many tokens do.
    """
    doc = reading.doc
    tokens = list(doc)
    lower = [token.lower_ for token in tokens]
    heads = [token.head.i for token in tokens]
    children: list[list[int]] = [[] for _ in tokens]
    for k, head in enumerate(heads):
        if head != k:
            children[head].append(k)
    sentence: list[int] = []
    questions = []
    at = sentences
    for sent in doc.sents:
        sentence += [at] * len(sent)
        if sent.text.rstrip(" )\"'*_").endswith("?"):
            questions.append(at)
        at += 1
    return Parsed(
        reading,
        words=[token.text for token in tokens],
        lower=lower,
        lemmas=[lemma(word) for word in lower],
        tags=[token.tag_ for token in tokens],
        deps=[token.dep_ for token in tokens],
        heads=heads,
        labels=[token.ent_type_ for token in tokens],
        sentence=sentence,
        offset=offset,
        questions=frozenset(questions),
        rows=rows([m for m in reading.found.all if m.kind in ("name", "noun") and m.strength > WITHIN], lower),
        children=children,
        named=[(m.start, id(reading.things[m.head])) for m in reading.found.all if m.head in reading.things],
    )


def sights(blocks: Sequence[Parsed]) -> list[Sight]:
    """Return every mention of a thing, in the order of the text."""
    found = []
    for block in blocks:
        things = block.reading.things
        for mention in block.reading.found.all:
            thing = things.get(mention.head)
            if thing is not None and mention.end <= len(block.words):
                found.append(Sight(thing, mention.kind, block, mention, mention.start, mention.end, mention.head))
    return found


def is_bare(*found: Sight) -> bool:
    """Say whether one of some mentions is of a thing that has no name but one common noun."""
    return any(sight.kind == "noun" and " " not in sight.thing.name for sight in found)
