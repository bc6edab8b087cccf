"""From judged pairs to statements: the relation, its phrase as the text has it, its class, its dates, its quote."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.assertion import assertion
from ctxsync.engine.extraction.base import Relation
from ctxsync.engine.extraction.grammar import governor
from ctxsync.engine.extraction.learned.sights import is_bare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ctxsync.engine.extraction.cast import Thing
    from ctxsync.engine.extraction.dates import Stated
    from ctxsync.engine.extraction.learned.calibration import Calibration
    from ctxsync.engine.extraction.learned.linear import Linear
    from ctxsync.engine.extraction.learned.pair_features import Frame
    from ctxsync.engine.extraction.learned.sights import Parsed, Sight
    from ctxsync.engine.extraction.scene import Scene

    Judged = tuple[Sight, Sight, list[str], NDArray[np.float32]]
    Statement = tuple[Thing, Thing, Relation]

# A phrase of more words than these is a clause.
_LONGEST_PHRASE = 7
# An end has to be told: what is only likely to be over goes on.
ENDED = 0.6
# How far a rule is believed about the way in which two things are related, once they are; and how sure the model has to
# be of another way to state that as well. Set by hand.
RULE_SAYS, AGAINST_RULE = 0.6, 0.6
_NO_MORE = "no longer "
_UNSAID = {
    "mentions": "is mentioned in",
    "located_at": "is in",
    "related_to": "is related to",
    "caused": "caused",
    "preceded": "came before",
    "references": "refers to",
    "owned_by": "is owned by",
    "part_of": "is part of",
    "depends_on": "depends on",
    "participated_in": "took part in",
}


def stated(
    scene: Scene,
    frame: Frame,
    judged: Sequence[Judged],
    labels: Sequence[str],
    *,
    ends: Linear,
    calibration: Calibration,
    least: float,
    stands: float,
) -> list[Statement]:
    """Return what is stated of a scene's things.

    Args:
        scene: In which the rules have read the episode.
        frame: What its pairs share.
        judged: Pairs with their features and the chances of the labels.
        labels: The labels: `none`, and each relation with `>` or `<`.
        ends: Tells whether a statement is of something that stopped.
        calibration: Turns chances into confidences.
        least: The least chance of a statement that no rule made.
        stands: The least chance that two things are related at all for what a rule states of them to stand.
    """
    ruled: dict[tuple[int, str, int], list[Statement]] = {}
    for statement in scene.stated:
        ruled.setdefault(_key(statement[0], statement[2].relation, statement[1]), []).append(statement)
    made: list[Statement] = []
    seen: set[tuple[int, str, int]] = set()
    none = labels.index("none")
    told = {frozenset((id(head), id(tail))) for head, tail, _ in scene.stated}
    for left, right, features, row in judged:
        anything = 1.0 - float(row[none])
        by_rule = frozenset((id(left.thing), id(right.thing))) in told
        if not by_rule and anything < least:
            continue
        bare = is_bare(left, right)
        chances = dict(zip(labels, row.tolist(), strict=True))
        del chances["none"]
        for label, chance in chances.items() if by_rule else ():
            key = _key_of(label, left, right)
            if key not in ruled or key in seen:
                continue
            seen.add(key)
            if anything >= stands:
                # That two things are related the model tells better than in which of ten ways: there the rule has a say.
                sure = round(min(0.99, calibration.statement(max(chance, RULE_SAYS * anything), bare=bare)), 3)
                made += [(head, tail, replace(relation, confidence=sure)) for head, tail, relation in ruled[key]]
        best = max(chances, key=lambda name: chances[name])
        key = _key_of(best, left, right)
        if key in seen or chances[best] < (AGAINST_RULE if by_rule and anything >= stands else least):
            continue
        if not _DENIED.isdisjoint(features) or _unsaid(left, right):
            continue
        seen.add(key)
        head, tail = (left.thing, right.thing) if best[-1] == ">" else (right.thing, left.thing)
        sure = round(min(0.99, calibration.statement(chances[best], bare=bare)), 3)
        over = best[:-1] not in _DEEDS and _is_over(ends, features)
        made.append((head, tail, _relation(scene, frame, left, right, best, sure=sure, over=over)))
    # What rules state of things that were not judged as a pair is theirs alone.
    looked = {frozenset((id(left.thing), id(right.thing))) for left, right, _, _ in judged}
    alone = [s for s in scene.stated if frozenset((id(s[0]), id(s[1]))) not in looked]
    return made + alone


# What grammar says of the verb: denied, supposed, wished for, asked. No likeness to what was learned outweighs that.
_DENIED = frozenset({"asserted=no", "question"})


def _unsaid(left: Sight, right: Sight) -> bool:
    """Say whether a mention stands in an open task, or, of a pair with one that is not written out, in no assertion."""
    implicit = left.parsed is None or right.parsed is None
    for sight in (left, right):
        if sight.parsed is not None:
            verb = governor(sight.parsed.reading.doc[sight.head])
            if sight.parsed.reading.block.open_task or (
                implicit and verb.tag_.startswith("VB") and assertion(verb)[0] == 0.0
            ):
                return True
    return False


_DEEDS = frozenset({"caused", "preceded", "participated_in", "references", "mentions"})


def _key_of(label: str, left: Sight, right: Sight) -> tuple[int, str, int]:
    head, tail = (left.thing, right.thing) if label[-1] == ">" else (right.thing, left.thing)
    return _key(head, label[:-1], tail)


def _key(head: Thing, relation: str, tail: Thing) -> tuple[int, str, int]:
    one, two = id(head), id(tail)
    return (min(one, two), relation, max(one, two)) if relation == "related_to" else (one, relation, two)


def _is_over(model: Linear, features: Sequence[str]) -> bool:
    return float(model.probabilities([features])[0][model.classes.index("ended")]) >= ENDED


def _relation(
    scene: Scene, frame: Frame, left: Sight, right: Sight, label: str, *, sure: float, over: bool
) -> Relation:
    name, direction = label[:-1], 1 if label[-1] == ">" else -1
    words = phrase_between(left, right)
    phrase, phrase_class = _UNSAID.get(name, name.replace("_", " ")), ""
    found = [m for m in frame.lexicon.find(words) if m.relation == name and m.direction == direction] if words else []
    fitting = [m for m in found if frame.lexicon.fit(m, frame.types[id(left.thing)], frame.types[id(right.thing)]) > 0]
    if fitting:
        phrase, phrase_class = words, fitting[0].phrase_class
        over = over or fitting[0].ends
    elif words and direction == 1 and len(words.split()) > 1:
        phrase = words
    start, end = _span(left, right)
    valid_from, valid_to = _dates(left, right, over=over)
    return Relation(
        head="",
        relation=name,
        tail="",
        phrase=_NO_MORE + phrase if over and not phrase.startswith(_NO_MORE) and not fitting else phrase,
        phrase_class=phrase_class,
        quote=scene.episode.text[start:end],
        span=(start, end),
        confidence=sure,
        valid_from=valid_from,
        valid_to=valid_to,
        ends=over,
        tier=1,
    )


def phrase_between(left: Sight, right: Sight) -> str:
    """Return the verbs, nouns and prepositions on the path between two mentions of one sentence; empty if none."""
    block = left.parsed
    if block is None or block is not right.parsed or left.sentence != right.sentence:
        return ""
    up, down = block.path_up(left.head), block.path_up(right.head)
    shared = next((token for token in up if token in down), None)
    if shared is None:
        return ""
    on = set(up[: up.index(shared) + 1]) | set(down[: down.index(shared) + 1])
    inside = [*range(left.start, left.end), *range(right.start, right.end)]
    verbs = {token for token in on if block.tags[token].startswith("VB")}
    helpers = {
        k for k, head in enumerate(block.heads) if head in verbs and block.deps[k] in ("auxpass", "prt", "neg", "agent")
    }
    words = [block.lower[k] for k in sorted((on | helpers) - set(inside)) if block.words[k].isalpha()]
    return " ".join(words) if 0 < len(words) <= _LONGEST_PHRASE else ""


def _span(left: Sight, right: Sight) -> tuple[int, int]:
    """Return where the sentences of two mentions stand in the episode's text."""
    spans = []
    for sight in (left, right):
        if sight.parsed is not None:
            sentence = sight.parsed.reading.doc[sight.head].sent
            spans.append(sight.parsed.reading.block.source(sentence.start_char, sentence.end_char))
    if len(spans) == 2 and left.parsed is right.parsed and right.sentence - left.sentence <= 1:
        return min(spans[0][0], spans[1][0]), max(spans[0][1], spans[1][1])
    return spans[-1]


def _dates(left: Sight, right: Sight, *, over: bool) -> tuple[str | None, str | None]:
    start = end = None
    for date in _stated_by(right, left):
        if date.role == "to" or over:
            end = end or date.value
        else:
            start = start or date.value
    return start, end


def _stated_by(*sights: Sight) -> Iterator[Stated]:
    """Yield the dates of the verbs that mentions hang on."""
    seen = set()
    for sight in sights:
        if sight.parsed is None:
            continue
        reading: Parsed = sight.parsed
        verb = governor(reading.reading.doc[sight.head]).i
        if (id(reading), verb) not in seen:
            seen.add((id(reading), verb))
            yield from reading.reading.when.get(verb, ())
