"""A marked question becomes a plan: which facts to look up, in ranked order; runs none of it and knows no SQL.

The lexicon says what a phrase means and in which direction; the types at both ends rank what it may mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import words as english
from ctxsync.engine.extraction.lexicon import ROLE, SKIPPING, Lexicon, Match
from ctxsync.engine.reading import grammar, senses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctxsync.engine.reading.grammar import Asked
    from ctxsync.engine.reading.question import Question
    from ctxsync.engine.schema import Schema

# Classes of the same relation that a person may mean by the first one's words. Any other class answers another question:
# what a thing uses is no database, and a club is no workplace.
_NEAR: dict[str, tuple[str, ...]] = {
    "ownership": ("responsibility",),
    "responsibility": ("ownership",),
    "membership": ("employment",),
    "dependency": ("datastore",),
    "work": ("authorship",),
    "authorship": ("work",),
    "residence": ("site",),
    "site": ("residence",),
    "hosting": ("site",),
}
# `where` leaves the preposition out, and asks for nothing but these.
_WHERE = ("at", "in", "on")
_MOTION = frozenset({"move", "relocate", "migrate", "go", "travel", "fly", "deploy"})
_WHERE_RELATIONS = frozenset({"located_at", "part_of"})
_WHERE_CLASSES = frozenset({"datastore"})
# What a noun and a preposition mean together: `people at`, `commits by`.
_PREPOSED: dict[tuple[str, str], tuple[str, ...]] = {
    ("Person", "at"): ("works at", "is at", "is a member of", "attended", "studies at"),
    ("Person", "in"): ("is a member of", "lives in", "works in", "is in"),
    ("Person", "on"): ("is on", "works on"),
    ("Person", "of"): ("is a member of", "works at"),
    ("Person", "from"): ("is from", "works at"),
    ("Person", "for"): ("works for",),
    ("Person", "with"): ("works with",),
    ("commit", "by"): ("was authored by",),
    ("commit", "from"): ("was authored by",),
    ("commit", "in"): ("is part of",),
    ("commit", "to"): ("is part of", "changes"),
    ("commit", "on"): ("is part of",),
    ("commit", "for"): ("is part of", "fixes"),
    ("commit", "of"): ("is part of", "was authored by"),
    ("note", "on"): ("links to", "is tagged"),
    ("note", "with"): ("is tagged",),
    ("", "by"): ("was created by", "was authored by", "is owned by", "is maintained by"),
    ("", "of"): ("is part of", "is owned by"),
    ("", "in"): ("is part of", "is located in", "is in"),
    ("", "at"): ("is located at", "is owned by", "is at"),
}
_REWRITES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"(?:is|are) (?:called|named|known as)", ("is called",)),
        (r"(?:was|were|be) (?:called|named|known as)(?: before)?", ("was formerly called", "is called")),
        (r"(?:be )?renamed", ("was renamed to",)),
        (r"change[sd]?(?: in)?|(?:has )?changed in", ("changes",)),
        (r"(?:is |are |was |were )?tagged(?: with| as| by)?", ("is tagged",)),
        (r"(?:is |are )?(?:about|mention|mentioning|linking to)", ("links to", "mentions", "is tagged")),
        (r"found", ("founded",)),  # to the lexicon a bare `found` is a form of find
        (r"(?:is |are )?linked to", ("links to",)),
        (r"(?:has )?sen[dt]", ("authored",)),
        (r"(?:has )?commit(?:s|ted)? (?:to|in|on)|(?:has )?push(?:es|ed) to", ("committed",)),
    )
)
# What sources state and prose does not: no phrase of the schema says it.
_STATED = {"receive": Match("participated_in", "participation", 1)}
_MADE = frozenset({"make", "write", "push", "commit", "author", "do", "create", "have"})
# Verbs of a beginning: with a time they ask when the fact started, not when it held.
_BEGINS = frozenset(
    {
        "join",
        "rejoin",
        "start",
        "move",
        "hire",
        "become",
        "adopt",
        "switch",
        "migrate",
        "buy",
        "acquire",
        "relocate",
        "found",
    }
)
# What happens at a moment: a time asks for when it happened.
_INVITED = re.compile(r"\b(?P<be>is|are|was|were|has been|have been|got) invited to\b")
_EVENTS = frozenset(
    {
        "participation",
        "work",
        "authorship",
        "change",
        "fix",
        "revert",
        "cause",
        "contact",
        "creation",
        "rename",
        "succession",
    }
)
# A match this sure needs no other wording; one under the other left words out (scores as the lexicon gives them, times types).
_SURE, _SKIPPED = 0.8, 0.6
_GENERIC = frozenset({"use", "have", "need", "run", "be"})


@dataclass(frozen=True, slots=True)
class Language:
    """What phrases mean: a schema and its lexicon."""

    lexicon: Lexicon
    schema: Schema


@dataclass(frozen=True, slots=True)
class Attempt:
    """One look-up: facts of a relation's classes between two ends; None is the end asked for.

    Args:
        relation: Relation name.
        classes: Phrase classes, an empty string among them for facts of no class.
        direction: 1 where the phrase's left end is the head.
        head: Index of the mark at the head, or None.
        tail: Index of the mark at the tail, or None.
        ends: The phrase says that it ended: only ended facts answer.
        begins: The phrase says that it began.
        event: The fact is about a moment.
        phrase: The words asked in, to tell senses of a class apart.
        near: Not the class asked for, but one that a person may mean by it.
        score: How sure the reading is.
    """

    relation: str
    classes: tuple[str, ...]
    direction: int
    head: int | None
    tail: int | None
    ends: bool = False
    begins: bool = False
    event: bool = False
    phrase: str = ""
    near: bool = False
    score: float = 1.0


@dataclass(slots=True)
class Plan:
    """What to do about a question.

    Args:
        op: `lookup` (one end of a relation), `list` (the same, many expected), `count`, `check` (yes or no), `about`
            (an entity's facts), `traverse` (people behind the commits of something).
        asked: The question as understood.
        question: Its marks, window and filters.
        attempts: In order; the first that finds anything answers.
        types: Entity types that may answer; empty means any.
        key: Kind of identity key that an answer must have; empty means any.
        past: The question is about the past, so what no longer holds answers too.
    """

    op: str
    asked: Asked
    question: Question
    attempts: list[Attempt] = field(default_factory=list)
    types: tuple[str, ...] = ()
    key: str = ""
    past: bool = False


def make(language: Language, question: Question) -> Plan | None:
    """Plan a question whose marks know their types and kinds of keys; None where it is not understood."""
    if not question.marks:
        return None
    text = question.text
    if any("ical" in mark.keys for mark in question.marks):  # a calendar's guests are those who take part
        text = _INVITED.sub(lambda match: "takes part in" if match["be"] in ("is", "are") else "took part in", text)
    asked = grammar.parse(text)
    if asked is None:
        return None
    types, key = _wanted(asked)
    past = asked.past or _is_past(asked.phrase)
    plan = Plan("about", asked, question, types=types, key=key, past=past)
    if asked.want == "about":
        return plan
    plan.op = _operation(asked)
    plan.attempts = list(_attempts(language, plan))
    if asked.wh == "who" and asked.want == "left" and asked.right is not None:
        traversed = _traverse(plan.attempts, question.marks[asked.right].keys)
        if traversed is not None:
            plan.op, plan.attempts = "traverse", [traversed]
    return plan if plan.attempts else None


def _operation(asked: Asked) -> str:
    if asked.want == "check":
        return "check"
    if asked.count:
        return "count"
    many = asked.noun.split(" ")[-1] if asked.noun else ""
    return "list" if many and (many.endswith("s") or many == "people") else "lookup"


def _wanted(asked: Asked) -> tuple[tuple[str, ...], str]:
    if asked.noun:
        return grammar.KINDS.get(grammar.singular(asked.noun.split(" ")[-1]), ((), ""))
    if asked.wh in ("who", "whom", "whose"):
        return grammar.WHO_TYPES, ""
    if asked.wh == "where":
        return grammar.WHERE_TYPES, ""
    if asked.want == "right" and english.lemma(asked.phrase) == "commit":
        return (), "commit"  # whoever commits writes mail as well, and that was not asked
    return (), ""


def _is_past(phrase: str) -> bool:
    """Say whether a phrase's verb is in the past tense: `owned`, `wrote`, `was led by`; not `is owned by`."""
    first = phrase.split(" ", maxsplit=1)[0]
    if first in ("was", "were", "had"):
        return True
    base = english.lemma(first)
    return base not in ("be", first) and not first.endswith(("s", "ing"))


def _attempts(language: Language, plan: Plan) -> Iterator[Attempt]:
    asked = plan.asked
    if _asks_for_meeting(plan):
        yield Attempt("participated_in", ("participation",), 1, None, asked.left, event=True, phrase="takes part in")
        yield Attempt("located_at", ("site",), 1, asked.left, None, event=True, phrase="takes place in")
        return
    seen: set[tuple[object, ...]] = set()
    close: list[Attempt] = []
    for match, phrase in _meanings(language, plan):
        if asked.wh == "where" and match.relation not in _WHERE_RELATIONS and match.phrase_class not in _WHERE_CLASSES:
            continue
        head, tail = (asked.left, asked.right) if match.direction == 1 else (asked.right, asked.left)
        attempt = Attempt(
            match.relation,
            (match.phrase_class,),
            match.direction,
            head,
            tail,
            ends=match.ends,
            begins=not _BEGINS.isdisjoint(Lexicon.lemmas(phrase.split(" "))),
            event=match.phrase_class in _EVENTS,
            phrase=phrase,
            score=match.score,
        )
        identity = (attempt.relation, attempt.classes, attempt.head, attempt.tail, attempt.ends)
        if identity in seen:
            continue
        seen.add(identity)
        yield attempt
        if language.schema.classes[match.phrase_class].symmetric and senses.turns(phrase, match.phrase_class):
            yield replace(attempt, head=attempt.tail, tail=attempt.head)
        near = _NEAR.get(match.phrase_class, ())
        close.append(replace(attempt, classes=(*near, ""), near=True, score=attempt.score / 2))
    yield from close


def _asks_for_meeting(plan: Plan) -> bool:
    """Say whether it asks when a meeting of a calendar is: whoever takes part does so then."""
    asked = plan.asked
    when = asked.want == "when" and asked.right is None and asked.phrase in ("is", "was", "are", "were")
    return when and asked.left is not None and "ical" in plan.question.marks[asked.left].keys


def _meanings(language: Language, plan: Plan) -> Iterator[tuple[Match, str]]:
    """Yield what the phrase may mean, the surest first: the types as they are known, then whatever they are."""
    asked, marks, lexicon = plan.asked, plan.question.marks, language.lexicon
    lefts = marks[asked.left].types if asked.left is not None else ()
    rights = marks[asked.right].types if asked.right is not None else ()
    if asked.form != "noun" and english.lemma(asked.phrase) in _STATED:
        yield _STATED[english.lemma(asked.phrase)], asked.phrase
        return
    hinted = _hinted(lexicon, asked)
    if hinted:
        yield from ((match, asked.noun) for match in hinted)
        return
    loose: list[tuple[Match, str]] = []
    for phrase in _phrases(asked, plan.key):
        found = [
            match for match in _typed(lexicon, phrase, lefts, rights) if _fits(match, phrase, asked, language.schema)
        ]
        yield from ((match, phrase) for match in found)
        # The graph may know an end by another type than the class wants: what it states counts all the same.
        loose += [
            (match, phrase)
            for match in lexicon.find(phrase)
            if match.score > SKIPPING and _fits(match, phrase, asked, language.schema)
        ]
        if found and found[0].score >= _SURE and asked.wh != "where":
            break
    yield from loose


def _fits(match: Match, phrase: str, asked: Asked, schema: Schema) -> bool:
    """Say whether a match reads the phrase as it was built, verb or noun, and leaves no word of it over."""
    known = schema.classes[match.phrase_class]
    noun = match.phrase in (*known.nouns, *known.inverse_nouns)
    if asked.form and noun != (asked.form == "noun"):
        return False
    if match.score > ROLE:
        return True
    ours = {english.lemma(word) for word in phrase.split()} - english.LIGHT - english.FILLERS - english.AUXILIARIES
    over = {word for word in ours if not english.is_adverb(word)} - set(Lexicon.lemmas(match.phrase.split()))
    return len(over) <= (1 if match.score >= _SKIPPED else 0)


def _typed(lexicon: Lexicon, phrase: str, lefts: Sequence[str], rights: Sequence[str]) -> list[Match]:
    best: dict[tuple[str, int, bool], Match] = {}
    for left in lefts or ("",):
        for right in rights or ("",):
            for match in lexicon.find(phrase, left, right):
                identity = (match.phrase_class, match.direction, match.ends)
                if identity not in best or best[identity].score < match.score:
                    best[identity] = match
    return sorted(best.values(), key=lambda match: -match.score)


def _phrases(asked: Asked, key: str) -> Iterable[str]:
    # To the lexicon a bare `own` is the filler of `its own`.
    phrase = re.sub(r"(?<!\S)own$", "owns", asked.phrase)
    kind = (
        key or (grammar.KINDS.get(grammar.singular(asked.noun.split(" ")[-1]), ((), ""))[0] or ("",))[0]
        if asked.noun
        else key
    )
    preposed = re.fullmatch(r"is (at|in|on|by|for|from|of|with|to)", phrase)
    if preposed is not None and asked.noun:
        found = _PREPOSED.get((kind, preposed[1])) or _PREPOSED.get(("", preposed[1]), ())
        return dict.fromkeys((*found, phrase))
    if key == "commit" and asked.want == "right" and english.lemma(phrase) in _MADE:
        return ("authored",)
    for pattern, instead in _REWRITES:
        if pattern.fullmatch(phrase):
            return instead
    if asked.wh == "where" and phrase == "is in":
        return ("is in", "is at", "lives in", "is located in", "runs on", "is hosted on")
    if asked.wh == "where" and phrase.split(" ")[-1] not in english.PREPOSITIONS:
        moving = not _MOTION.isdisjoint(map(english.lemma, phrase.split(" ")))
        return [*(f"{phrase} {preposition}" for preposition in (*(("to",) if moving else ()), *_WHERE))]
    return (phrase,)


def _hinted(lexicon: Lexicon, asked: Asked) -> list[Match]:
    """Read `what database does @0 use` by its noun, where the verb says little."""
    if not asked.noun or asked.want != "right" or english.lemma(asked.phrase) not in _GENERIC:
        return []
    last = asked.noun.split(" ")[-1]
    nouns = [match for match in lexicon.find(grammar.singular(last)) if match.phrase == grammar.singular(last)]
    return [match for match in nouns if match.direction == 1 and match.phrase_class == "datastore"]


def _traverse(attempts: Sequence[Attempt], keys: Sequence[str]) -> Attempt | None:
    """Plan `who committed to @0`, `who changed @0`, `who fixed @0`: the people behind the commits of a thing."""
    first = attempts[0] if attempts else None
    if first is None:
        return None
    change = first.relation == "references" and first.classes[0] in ("change", "fix", "revert")
    commits = first.classes[0] == "authorship" and bool({"repo", "path", "issue", "file", "url"} & set(keys))
    return replace(first, event=True) if change or commits else None
