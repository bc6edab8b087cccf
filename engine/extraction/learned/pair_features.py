"""What tells how two things of an episode are related; features as short strings.

The features are those that relation extraction has used since Zhou et al. 2005 ("Exploring Various Knowledge in
Relation Extraction"): the words between and around, the types, the path through the parse, and what the rules and the
lexicon make of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.assertion import assertion
from ctxsync.engine.extraction.learned.known import kinds_of
from ctxsync.engine.extraction.learned.word_classes import classes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ctxsync.engine.extraction.learned.sights import Parsed, Sight
    from ctxsync.engine.extraction.lexicon import Lexicon
    from ctxsync.engine.extraction.matcher import Matcher

# More words than these between two mentions say little about them in particular.
_MOST_BETWEEN = 10
_LONGEST_PHRASE = 60
# What marks the sense of a verb: each is said of the words on the path between two mentions.
_HELPERS = ("auxpass", "prt", "neg", "agent", "attr", "acomp")
_NEAR = ((0, "0"), (1, "1"), (2, "2"), (4, "3-4"), (7, "5-7"), (12, "8-12"), (25, "13-25"))


@dataclass(slots=True)
class Frame:
    """What all pairs of an episode share.

    Args:
        kind: The episode's kind.
        lexicon: Knows the phrases of the schema's classes, with the types that fit them.
        matcher: Knows far more phrases, without.
        types: The type of each thing, by its identity (`id`).
        rules: What the rules state of two things: (id of left, id of right) to labels as `part_of>`.
        topic: Identity of the thing that the title names, 0 for none.
        author: Identity of who speaks, 0 for none.
        order: Rank of each thing by its first mention.
        asserted: Memory of how far each verb's statement is asserted, by (block, token).
    """

    kind: str
    lexicon: Lexicon
    matcher: Matcher
    types: Mapping[int, str]
    rules: Mapping[tuple[int, int], list[str]]
    topic: int = 0
    author: int = 0
    order: Mapping[int, int] = field(default_factory=dict)
    asserted: dict[tuple[int, int], str] = field(default_factory=dict)
    meant: dict[str, list[str]] = field(default_factory=dict)
    made: dict[tuple[int, str, Any], list[str]] = field(default_factory=dict)

    def once(self, sight: Sight, side: str, make: Callable[[Sight, str, Frame], Iterator[str]]) -> list[str]:
        """Return the features that a mention has in every pair, made at its first one."""
        key = (id(sight), side, make)
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = list(make(sight, side, self))
        return found

    def anchored(self, words: Sequence[str], name: str, types: str) -> Iterator[str]:
        """Yield what the lists make of words that may say how two things are related."""
        phrase = " ".join([word for word in words if word[0].isalpha()])
        key = f"={phrase}"
        if key not in self.meant:
            match = self.matcher.listed(phrase) if 0 < len(phrase) < _LONGEST_PHRASE else None
            ended = "!" if match is not None and match.ends else ""
            self.meant[key] = [f"{match.relation}{'>' if match.direction == 1 else '<'}{ended}"] if match else []
        for meaning in self.meant[key]:
            yield f"{name}={meaning}"
            yield f"{name}={meaning}:{types}"
            yield f"anchor={meaning}"


def pair_features(left: Sight, right: Sight, frame: Frame) -> list[str]:
    """Return the features of two things, `left` being the one that the text has first; each of them once.

    A text has many more pairs than things, types and words: what is said of these is made once and used again.
    """
    a, b = frame.types[id(left.thing)], frame.types[id(right.thing)]
    types = f"{a}-{b}"
    found = [*_of_types(a, b, frame.kind)]
    found += [f"rule={label}" for label in frame.rules.get((id(left.thing), id(right.thing)), ())]
    found += frame.once(left, "l", _who)
    found += frame.once(right, "r", _who)
    if left.parsed is None or right.parsed is None:
        found.append("implicit")
        found += _implicit(left, right, types, frame)
        return list(dict.fromkeys(found))
    apart = right.sentence - left.sentence
    found += (f"apart={min(apart, 4)}", f"apart={min(apart, 4)}:{types}")
    if left.parsed is not right.parsed or apart != 0:
        found += _across(left, right, types, apart, frame)
    elif right.start < left.end:
        found.append("overlap")
        return list(dict.fromkeys(found))
    else:
        found += _same_sentence(left, right, types, frame)
        found += _path(left.parsed, left, right, types, frame)
    found += frame.once(left, "l", _around)
    found += frame.once(right, "r", _around)
    return list(dict.fromkeys(found))


@lru_cache(maxsize=4096)
def _of_types(left: str, right: str, kind: str) -> tuple[str, ...]:
    """Return the features that all pairs of these types have."""
    types = f"{left}-{right}"
    return "bias", f"types={types}", f"in={kind}:{types}", f"left={left}", f"right={right}"


@lru_cache(maxsize=8192)
def _of_word_between(word: str, types: str) -> tuple[str, ...]:
    """Return what a word that stands between two mentions says of them."""
    coarse, middle, fine = classes_of(word)
    said = f"between={word}", f"between={word}:{types}"
    if fine == "-":
        return said
    return (
        *said,
        f"between-48={coarse}:{types}",
        f"between-256={middle}",
        f"between-256={middle}:{types}",
        f"between-1200={fine}",
    )


@lru_cache(maxsize=8192)
def _of_word_on_path(word: str, types: str) -> tuple[str, ...]:
    """Return what a word on the path between two mentions says of them."""
    _, middle, fine = classes_of(word)
    said = f"on={word}", f"on={word}:{types}"
    return said if fine == "-" else (*said, f"on-256={middle}:{types}", f"on-1200={fine}:{types}")


def _who(sight: Sight, side: str, frame: Frame) -> Iterator[str]:
    thing = sight.thing
    yield f"{side}-kind={sight.kind}"
    if id(thing) == frame.topic:
        yield f"{side}-topic"
    if id(thing) == frame.author:
        yield f"{side}-author"
    rank = frame.order.get(id(thing), 9)
    yield f"{side}-rank={min(rank, 3)}"
    for known in kinds_of(thing.name):
        yield f"{side}-known={known}"
    words = thing.name.lower().split()
    yield f"{side}-last={words[-1]}"
    yield f"{side}-256={classes_of(words[-1])[1]}"
    yield f"{side}-name={' '.join(words)}"
    if sight.mention is not None:
        if sight.mention.definite:
            yield f"{side}-the"
        if sight.mention.mine:
            yield f"{side}-mine={sight.mention.mine}"
        for role in sight.mention.roles:
            yield f"{side}-role={role}"
    if sight.parsed is not None:
        block = sight.parsed.reading.block
        yield f"{side}-dep={sight.parsed.deps[sight.head]}"
        if block.label:
            yield f"{side}-label={block.label.lower()}"
        if block.under:
            yield f"{side}-under={block.under.lower()}"


def _around(sight: Sight, side: str, _: Frame) -> Iterator[str]:
    assert sight.parsed is not None
    lower, start, end = sight.parsed.lower, sight.start, sight.end
    if start:
        yield f"{side}-before={lower[start - 1]}"
        if start > 1:
            yield f"{side}-before2={lower[start - 2]} {lower[start - 1]}"
    if end < len(lower):
        yield f"{side}-after={lower[end]}"
        if end + 1 < len(lower):
            yield f"{side}-after2={lower[end]} {lower[end + 1]}"


def _same_sentence(left: Sight, right: Sight, types: str, frame: Frame) -> Iterator[str]:
    block = left.parsed
    assert block is not None
    lower, lemmas = block.lower, block.lemmas
    start, end = left.end, right.start
    distance = end - start
    near = next((name for most, name in _NEAR if distance <= most), "far")
    yield f"near={near}"
    yield f"near={near}:{types}"
    others = {thing for at, thing in block.named if start <= at < end} - {id(left.thing), id(right.thing)}
    yield f"others={min(len(others), 4)}"
    if distance <= _MOST_BETWEEN:
        between = lemmas[start:end]
        for word in between:
            yield from _of_word_between(word, types)
        for one, two in pairwise(between):
            yield f"between={one} {two}"
        if distance <= 5:
            text = " ".join(between)
            yield f"text={text}"
            yield f"text={text}:{types}"
            yield f"tags={' '.join(block.tags[start:end])}:{types}"
        if distance:
            yield f"first={between[0]}"
            yield f"last={between[-1]}"
            yield f"last={between[-1]}:{types}"
            yield from _meaning(lower[start:end], types, frame)
            yield from frame.anchored(lower[start:end], "said", types)
    else:
        for index in range(start, end):
            if block.tags[index].startswith("VB"):
                yield f"between={lemmas[index]}"
    yield from _known_kinds(left, right, " ".join(lemmas[start:end]) if distance <= 3 else "far")
    row = block.rows.get(left.start)
    if row is not None and row is block.rows.get(right.start):
        yield f"row={row.names}:{types}"
        yield f"row={row.names}:{row.joined}"
        yield f"row={row.names}:{row.joined}:{types}"


def _known_kinds(left: Sight, right: Sight, between: str) -> Iterator[str]:
    """Yield what the lists know of both names together: a city before a state is in it, a country before one is not."""
    one, two = kinds_of(left.thing.name), kinds_of(right.thing.name)
    if one or two:
        known = f"{'+'.join(one) or '-'}:{'+'.join(two) or '-'}"
        yield f"both-known={known}"
        yield f"both-known={known}:{between}"


def _path(block: Parsed, left: Sight, right: Sight, types: str, frame: Frame) -> Iterator[str]:
    up, down = block.path_up(left.head), block.path_up(right.head)
    places = {token: k for k, token in enumerate(down)}
    top = next((k for k, token in enumerate(up) if token in places), None)
    if top is None:
        yield "path=none"
        return
    node = up[top]
    rise, fall = up[: top + 1], down[: places[node]]
    deps = [block.deps[t] + ">" for t in rise[:-1]] + ["<" + block.deps[t] for t in reversed(fall)]
    yield f"path-length={min(len(deps), 8)}"
    if len(deps) <= 6:
        text = " ".join(deps)
        yield f"path={text}"
        yield f"path={text}:{types}"
        words = [block.lemmas[t] for t in (*rise[1:], *reversed(fall[1:]))]
        yield f"path-words={' '.join(words)}"
        yield f"path-words={' '.join(words)}:{types}"
        yield f"path-all={text}|{' '.join(words)}"
        yield f"path-256={text}|{' '.join(classes_of(word)[1] for word in words)}"
    for token in (*rise[1:], *fall[1:]):
        yield from _of_word_on_path(block.lemmas[token], types)
    if rise[1:] and not fall:
        yield "under-right"
    if fall and len(rise) == 1:
        yield "under-left"
    helpers = [k for token in (*rise, *fall) for k in block.children[token] if block.deps[k] in _HELPERS]
    inside = {*range(left.start, left.end), *range(right.start, right.end)}
    spoken = sorted({*rise, *fall, *helpers} - inside)
    yield from frame.anchored([block.lower[k] for k in spoken], "path-said", types)
    yield from frame.anchored(_leading(block, right), "lead-said", types)
    verb = block.verb_above(node)
    lemma, tag = block.lemmas[verb], block.tags[verb]
    yield f"verb={lemma}"
    yield f"verb-tag={tag}"
    children = block.children[verb]
    passive = any(block.deps[k] in ("auxpass", "nsubjpass") for k in children)
    roles = f"{block.deps[rise[-2]] if len(rise) > 1 else 'self'}-{block.deps[fall[-1]] if fall else 'self'}"
    yield f"verb={lemma}:{roles}:{passive}"
    yield f"roles={roles}:{passive}"
    _, middle, fine = classes_of(lemma)
    yield f"verb-256={middle}:{roles}:{passive}"
    yield f"verb-1200={fine}:{roles}:{passive}"
    yield f"verb-256={middle}:{types}"
    for k in children:
        if block.deps[k] in ("aux", "neg", "mark", "prt", "auxpass"):
            yield f"verb-{block.deps[k]}={block.lower[k]}"
    yield f"asserted={_asserted(block, verb, frame)}"
    if left.sentence in block.questions:
        yield "question"


def _leading(block: Parsed, sight: Sight) -> list[str]:
    """Return the words from the verb that a mention hangs on up to it."""
    verb = block.verb_above(sight.head)
    if not block.tags[verb].startswith("VB") or not verb < sight.start <= verb + 6:
        return []
    first = verb
    while first > 0 and block.heads[first - 1] == verb and block.deps[first - 1] in ("auxpass", "neg", "aux"):
        first -= 1
    return block.lower[first : sight.start]


def _asserted(block: Parsed, verb: int, frame: Frame) -> str:
    key = (id(block), verb)
    if key not in frame.asserted:
        weight, stopped, ahead = assertion(block.reading.doc[verb])
        level = "no" if weight == 0 else "half" if weight < 1 else "yes"
        frame.asserted[key] = f"{level}{'-stopped' if stopped else ''}{'-ahead' if ahead else ''}"
    return frame.asserted[key]


def _meaning(between: list[str], types: str, frame: Frame) -> Iterator[str]:
    phrase = " ".join([word for word in between if word.replace("-", "").isalpha()])
    if not phrase:
        return
    if phrase not in frame.meant:
        frame.meant[phrase] = [
            f"{match.relation}{'>' if match.direction == 1 else '<'}{'!' if match.score >= 0.9 else ''}"
            for match in frame.lexicon.find(phrase)[:3]
        ]
    for meaning in frame.meant[phrase]:
        yield f"means={meaning}"
        yield f"means={meaning}:{types}"


def _across(left: Sight, right: Sight, types: str, apart: int, frame: Frame) -> Iterator[str]:
    assert left.parsed is not None
    assert right.parsed is not None
    yield "across"
    yield f"same-block={left.parsed is right.parsed}"
    if left.parsed is not right.parsed and left.parsed.reading.block.kind != right.parsed.reading.block.kind:
        yield f"blocks={left.parsed.reading.block.kind}-{right.parsed.reading.block.kind}"
    block = right.parsed
    first = block.sentence.index(right.sentence)
    yield f"opens={block.lower[first]}"
    yield f"opens={block.lower[first]}:{types}"
    yield f"r-path={' '.join(block.deps[t] for t in block.path_up(right.head)[:4])}"
    verb = block.verb_above(right.head)
    if apart <= 2:
        yield f"verb={block.lemmas[verb]}:{types}"
        yield f"verb-256={classes_of(block.lemmas[verb])[1]}:{types}"
        yield f"across-verb={block.lemmas[verb]}:{block.deps[right.head]}"
        yield f"asserted={_asserted(block, verb, frame)}"
        yield from frame.anchored(_leading(block, right), "lead-said", types)
        if right.sentence in block.questions:
            yield "question"
    if left.mention is not None and left.parsed.deps[left.head] in ("nsubj", "nsubjpass"):
        yield "l-subject"
    if left.start == 0:
        yield "l-opens"


def _implicit(left: Sight, right: Sight, types: str, frame: Frame) -> Iterator[str]:
    for sight, side in ((left, "l"), (right, "r")):
        block = sight.parsed
        if block is None:
            continue
        yield f"implicit-{side}:{types}"
        if sight.start == 0:
            yield "opens"
            yield f"opens:{types}:{block.reading.block.kind}"
        yield f"sentence={min(sight.sentence, 3)}"
        lower = block.lower
        before = " ".join(block.lemmas[max(0, sight.start - 3) : sight.start])
        yield f"lead={before}"
        yield f"lead={before}:{types}"
        if sight.start <= 4:
            yield from frame.anchored(lower[: sight.start], "lead-said", types)
            whole = " ".join(block.lemmas[: sight.start])
            yield f"opening={whole}"
            yield f"opening={whole}:{types}"
        if sight.end < len(lower):
            yield f"{side}-after={lower[sight.end]}"
        path = block.path_up(sight.head)
        if len(path) <= 5:
            yield f"i-path={' '.join(block.deps[t] for t in path)}|{' '.join(block.lemmas[t] for t in path[1:])}"
        verb = path[-1]
        has_subject = any(block.deps[k] in ("nsubj", "nsubjpass") for k in (*block.children[verb], verb))
        yield f"subject={has_subject}"
        yield f"root={block.lemmas[verb]}:{has_subject}:{types}"
        yield f"root-256={classes_of(block.lemmas[verb])[1]}:{has_subject}:{types}"
        yield from frame.anchored(_leading(block, sight), "verb-said", types)
        if block.reading.block.label:
            yield from frame.anchored(block.reading.block.label.lower().split(), "label-said", types)
            yield f"label={block.reading.block.label.lower()}:{types}"
        if block.reading.block.under:
            yield from frame.anchored(block.reading.block.under.lower().split(), "under-said", types)
            yield f"under={block.reading.block.under.lower()}:{types}"
        if sight.sentence in block.questions:
            yield "question"
