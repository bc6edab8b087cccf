"""Which things, and which pairs of things, of an episode are judged; the same for training and for use."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.learned.pair_features import Frame
from ctxsync.engine.extraction.learned.sights import Parsed, Sight, parsed, sights

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ctxsync.engine.extraction.cast import Thing
    from ctxsync.engine.extraction.scene import Scene

# Two things that are never nearer than this many sentences are not related by the text but by the world.
MOST_APART = 3
# In a text of few things the ones far apart are looked at too: an article's first sentence says where all of it is.
FEW_THINGS = 30
# A rule's statement of more confidence than this was read off plain grammar.
RULE_SURE = 0.8


def parses(scene: Scene) -> list[Parsed]:
    """Return the parses of the blocks that a scene has read."""
    found: list[Parsed] = []
    sentences = offset = 0
    for reading in scene.readings:
        block = parsed(reading, sentences=sentences, offset=offset)
        sentences = block.sentence[-1] + 1 if block.sentence else sentences
        offset += len(block.words)
        found.append(block)
    return found


def by_thing(scene: Scene) -> dict[int, list[Sight]]:
    """Return the mentions of each thing by its identity, in the order in which the text first speaks of them."""
    found: dict[int, list[Sight]] = {}
    for sight in sights(parses(scene)):
        found.setdefault(id(sight.thing), []).append(sight)
    return found


def written(found: Sequence[Sight]) -> list[Sight]:
    """Return the mentions that name their thing: no pronoun and no role."""
    return [sight for sight in found if sight.kind in ("name", "noun")]


def pairs(
    things: Mapping[int, Sequence[Sight]],
    kept: Collection[int],
    *,
    topic: Thing | None,
    author: Thing | None,
    prose: bool = True,
) -> Iterator[tuple[Sight, Sight]]:
    """Yield the mentions to judge each pair of things by, the earlier one first.

    Args:
        things: As `by_thing` returns.
        kept: Identities of the things worth judging.
        topic: What the title names; it is related to what the text speaks of without being named there.
        author: Who speaks; likewise.
        prose: Look far: an article's first sentence says where all of it is. Of the pairs in our notes and messages that
            stand two sentences apart or more, one in a hundred is related.
    """
    names = [identity for identity in things if identity in kept]
    few = prose and len(names) <= FEW_THINGS
    reach = MOST_APART if prose else 1
    silent = {id(thing): thing for thing in (topic, author) if thing is not None}
    for one, two in combinations(names, 2):
        left, right = _closest(things[one], things[two])
        apart = abs(right.sentence - left.sentence)
        if {one, two} & silent.keys() and apart > 1:
            continue
        if apart <= reach or few:
            yield left, right
    for identity, thing in silent.items():
        for other in names:
            if other == identity or other in silent:
                continue
            spoken = things.get(identity)
            near = spoken and abs((c := _closest(spoken, things[other]))[1].sentence - c[0].sentence) <= 1
            if not near:
                kind = "topic" if thing is topic else "author"
                yield Sight(thing, kind), things[other][0]


def frame(scene: Scene, types: Mapping[int, str], things: Mapping[int, Sequence[Sight]]) -> Frame:
    """Return what all pairs of an episode share.

    Args:
        scene: In which the rules have read the episode.
        types: The type of each thing, by its identity.
        things: As `by_thing` returns.
    """
    rules: dict[tuple[int, int], list[str]] = {}
    for head, tail, relation in scene.stated:
        one, two = id(head), id(tail)
        level = "+" if relation.confidence >= RULE_SURE else "-"
        for left, right, sign in ((one, two, ">"), (two, one, "<")):
            rules.setdefault((left, right), []).extend(
                (
                    f"{relation.relation}{sign}",
                    f"{relation.relation}{sign}{level}",
                    f"class={relation.phrase_class}{sign}",
                )
            )
    cast = scene.cast
    return Frame(
        kind=scene.episode.kind,
        lexicon=scene.chooser.lexicon,
        matcher=scene.chooser.matcher,
        types=types,
        rules=rules,
        topic=id(cast.topic) if cast.topic is not None else 0,
        author=id(cast.me) if cast.me is not None else 0,
        order={identity: rank for rank, identity in enumerate(things)},
    )


def _closest(one: Sequence[Sight], two: Sequence[Sight]) -> tuple[Sight, Sight]:
    """Return the nearest two mentions in the order of the text; of equals the first."""
    if len(one) == len(two) == 1:
        return (one[0], two[0]) if one[0].at <= two[0].at else (two[0], one[0])
    best = min(
        ((a, b) for a in one[:12] for b in two[:12]),
        key=lambda pair: (
            abs(pair[0].sentence - pair[1].sentence),
            pair[0].parsed is not pair[1].parsed,
            abs(pair[0].at - pair[1].at),
        ),
    )
    return best if best[0].at <= best[1].at else (best[1], best[0])
