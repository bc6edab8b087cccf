"""How a statement is told: the phrase that its fact shows, and the dates that bound it; pure functions over a parse."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.grammar import governor
from ctxsync.engine.extraction.words import is_participle, third_person

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.dates import Stated
    from ctxsync.engine.extraction.grammar import Candidate
    from ctxsync.engine.extraction.lexicon import Match

# Classes of what lasts: told in the past tense it is over.
LASTING = frozenset(
    {"employment", "residence", "responsibility", "ownership", "membership", "education", "reporting"}
    | {"dependency", "datastore", "hosting"}
)
_NOUNS = ("NN", "NNS", "NNP", "NNPS")
_SHORT_ROLES = frozenset({"ceo", "cto", "cfo", "coo", "cio", "vp"})
_ONE = {"are": "is", "were": "was", "am": "is"}


def shown(candidate: Candidate, match: Match, doc: Any) -> str:
    """Return the phrase that a fact shows: in the third person, a helping `was` only where it turns the meaning."""
    phrase = candidate.phrases[0]
    verb = doc[candidate.verb] if candidate.verb >= 0 else None
    if verb is not None and verb.tag_ in ("VB", "VBP", "VBG", "NN"):
        before, found, after = f" {phrase} ".partition(f" {verb.lower_} ")
        if found and before.strip() in ("", "no longer"):
            phrase = f"{before} {third_person(verb.lower_)} {after}"
            phrase = " ".join(phrase.split())
    first, _, others = phrase.partition(" ")
    phrase = f"{_ONE[first]} {others}" if first in _ONE and others else phrase
    phrase = " ".join(word.upper() if word in _SHORT_ROLES else word for word in phrase.split())
    helper, _, rest = phrase.partition(" ")
    passive = verb is not None and any(child.dep_ == "auxpass" for child in verb.children)
    bare = not passive and (
        helper in ("is", "are", "was", "were") and is_participle(rest.partition(" ")[0]) and not phrase.endswith(" by")
    )
    return rest if bare and match.direction == 1 else phrase


def dates_by_verb(doc: Any, stated: Sequence[Stated]) -> dict[int, list[Stated]]:
    """Return the dates that belong to each verb; a verb joined to one by `and` shares its date."""
    found: dict[int, list[Stated]] = {}
    for date in stated:
        span = doc.char_span(date.start, date.end, alignment_mode="expand")
        if span is not None and len(span):
            found.setdefault(governor(span.root).i, []).append(date)
    for token in doc:
        joined = token.dep_ == "conj" and token.tag_.startswith("VB")
        if joined and token.i not in found and token.head.i in found:
            own = any(child.dep_ in ("nsubj", "nsubjpass") for child in token.children)
            found.update({} if own else {token.i: found[token.head.i]})
    return found


def modifies(doc: Any, date: Stated) -> bool:
    """Say whether a date only tells one thing from another: `the March outage`."""
    span = doc.char_span(date.start, date.end, alignment_mode="expand")
    if span is None or len(span) == 0:
        return True
    root = span.root
    return root.dep_ in ("compound", "nmod", "amod") and root.head.i == span.end and root.head.tag_ in _NOUNS


def valid(match: Match, stated: Sequence[Stated], *, over: bool) -> tuple[Match, tuple[str | None, str | None]]:
    """Return the match, turned into an end where the dates or the tense say so, with (valid_from, valid_to)."""
    start = end = None
    for date in stated:
        if date.role == "to" or match.ends:
            end = end or date.value
        else:
            start = start or date.value
    if over and start and not end:
        # "lived there in 2019": in that time, no word of any other.
        end = start if all(date.role == "at" for date in stated) else None
    passed = end is not None and start is None and not any(date.ahead for date in stated)
    if passed or (over and not stated):
        match = replace(match, ends=True)
    return match, (start, end)
