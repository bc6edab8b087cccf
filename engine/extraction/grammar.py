"""What a parse states, as candidates `left phrase right` over tokens; rules of English grammar, none of any relation.

Negation, conditions, plans and questions are read here: a candidate that is not asserted is not yielded, one that is
reported or lies ahead weighs less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import words as w
from ctxsync.engine.extraction.assertion import ASPECTS, SUBJECTS, assertion, told_as_past
from ctxsync.engine.extraction.gazetteer import EMPTY, ROLES
from ctxsync.engine.extraction.words import word_set

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTICLES = word_set("""up down over off out away back on in together forward""")
_NOUN_TAGS = ("NN", "NNS", "NNP", "NNPS", "PRP", "CD", "FW", "NNPS")
_OBJECTS = ("dobj", "attr", "oprd")

_REPLACE = frozenset({"replace", "swap", "substitute", "exchange"})
# Of these an order tells where the object is from then on: `migrate the ledger to Postgres`.
_MOVING = word_set("""move migrate switch port relocate deploy host store rename hand""")
_INHERIT = frozenset({"take", "inherit", "buy", "acquire", "get", "adopt", "purchase"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that a sentence may state.

    Args:
        left: Head token of the left end; -1 when the subject is left out.
        phrases: Ways to put what stands between, the most telling first.
        right: Head token of the right end.
        verb: The token it hangs on: where dates belong.
        weight: 0 to 1, less when reported or ahead.
        strict: Only an exact phrase of the schema counts.
        ends: The left and right no longer hold, whatever the phrase says of others.
        ahead: It lies in the future.
        past: A state that is told in the past tense: it held then.
        habit: It is told in the plain present: what is done again and again ends nothing (`it removes the tags`).
        loose: Two names with no more than a preposition between them: their types alone make it a statement.
        via: The object within the phrase (`stores data in`); -1 for none. When it is a thing itself, the phrase is about it.
    """

    left: int
    phrases: tuple[str, ...]
    right: int
    verb: int
    weight: float = 1.0
    strict: bool = False
    ends: bool = False
    ahead: bool = False
    via: int = -1
    past: bool = False
    habit: bool = False
    loose: bool = False


def candidates(doc: Any) -> Iterator[Candidate]:
    """Yield what each verb and each noun with a complement may state, in order of the text."""
    for token in doc:
        # "Alice and Bob work at Acme": a root with a subject is a verb, whatever the tagger takes it for.
        acts = (
            token.tag_ in ("NN", "NNS") and token.head.i == token.i and any(c.dep_ == "nsubj" for c in token.children)
        )
        if acts or (token.tag_.startswith("VB") and token.dep_ not in ("aux", "auxpass")):
            yield from _of_verb(token)
        elif token.tag_ in _NOUN_TAGS:
            yield from _of_noun(token)


def governor(token: Any) -> Any:
    """Return the verb that a token hangs on, itself if it is one."""
    while (
        not (token.tag_.startswith("VB") and token.dep_ not in ("aux", "auxpass", "amod", "compound"))
        and token.head.i != token.i
    ):
        token = token.head
    return token


def is_subject(token: Any) -> bool:
    """Say whether a noun is a verb's subject; the parser may hang one on its verb as if on a noun."""
    if token.dep_ in SUBJECTS:
        return True
    if token.dep_ == "conj" and token.head.i < token.i:
        return is_subject(token.head)
    return (
        token.dep_ in ("compound", "nmod", "npadvmod") and token.i < token.head.i and token.head.tag_.startswith("VB")
    )


def subject_of(verb: Any) -> list[Any]:
    """Return the tokens of a verb's subjects, looked up where grammar leaves them out."""
    own = [child for child in verb.children if child.dep_ in SUBJECTS]
    if not own:
        # The parser may hang a subject on its verb as if on a noun ("the dashboard runs").
        own = [
            c
            for c in verb.children
            if c.i < verb.i and c.dep_ in ("compound", "nmod", "npadvmod") and c.tag_ in _NOUN_TAGS
        ][-1:]
    if own:
        if own[0].tag_ in ("WDT", "WP") or (own[0].lower_ == "that" and verb.dep_ == "relcl"):
            return [verb.head] if verb.dep_ == "relcl" else []
        return conjuncts(own[0])
    head = verb.head
    if head.i == verb.i:
        return []
    if verb.dep_ == "conj" and head.tag_.startswith("VB"):
        return subject_of(head)
    if verb.dep_ == "xcomp":
        # "open it to choose a file": who chooses is whoever opens, and the object is only what is opened.
        objects = any(child.dep_ == "dobj" for child in head.children)
        return [] if objects and w.lemma(head.lower_) not in ASPECTS else subject_of(head)
    if verb.dep_ in ("acl", "relcl") and head.tag_ in _NOUN_TAGS:
        # "open the page using a key": the key is the means of opening, not a property of the page.
        by_means = verb.tag_ == "VBG" or verb.lower_ == "based"
        means = verb.dep_ == "acl" and by_means and head.dep_ in ("dobj", "pobj")
        return [] if means else [head]
    if verb.dep_ in ("advcl", "pcomp") and verb.tag_ in ("VBG", "VBN"):
        return subject_of(governor(head))
    return []


def conjuncts(token: Any) -> list[Any]:
    """Return a noun and those joined to it by `and`, commas and the like."""
    found = [token]
    joined = [child for child in token.children if child.dep_ == "conj" and child.tag_ in _NOUN_TAGS]
    if joined and not any(
        child.lower_ in ("not", "instead", "but", "rather")
        for child in token.children
        if child.dep_ in ("cc", "neg", "advmod")
    ):
        between = token.doc[token.i : joined[0].i].text.lower()
        if "instead" not in between and "rather than" not in between:
            for other in joined:
                found += conjuncts(other)
    return found


def prepositions(token: Any) -> Iterator[tuple[str, Any]]:
    """Yield (words, noun) for what hangs on a token by prepositions: `out of` X, `in favour of` Y, `from` A `to` B."""
    for child in token.children:
        if child.dep_ not in ("prep", "agent", "dative") or child.tag_ in _NOUN_TAGS or child.tag_ == "VBG":
            continue
        if child.i and child.doc[child.i - 1].lower_ in ("instead", "rather", "not"):
            continue
        # "depends on A for its cache and on B": the second may hang on any before it.
        chain = [child]
        while chain:
            prep = chain.pop(0)
            yield from _preposition(prep, prep.lower_)
            chain += [joined for joined in prep.children if joined.dep_ == "conj" and joined.tag_ in ("IN", "TO")]


def _preposition(prep: Any, text: str) -> Iterator[tuple[str, Any]]:
    for child in prep.children:
        if child.dep_ in ("prep", "pcomp") and child.tag_ in ("IN", "TO") and child.i == prep.i + 1:
            yield from _preposition(child, f"{text} {child.lower_}")
        elif child.dep_ == "prep":
            yield from _preposition(child, child.lower_)
        elif child.dep_ == "pobj":
            if child.lower_ in EMPTY and child.tag_ in ("NN", "NNS"):
                for more, noun in prepositions(child):
                    yield f"{text} {child.lower_} {more}", noun
                continue
            for noun in conjuncts(child):
                yield text, noun
            # "from RabbitMQ to Kafka": the second preposition may hang on the first name.
            if text.endswith("from"):
                for more, noun in prepositions(child):
                    if more in ("to", "into", "onto"):
                        yield more, noun


def _of_verb(verb: Any) -> Iterator[Candidate]:
    weight, stopped, ahead = assertion(verb)
    if weight <= 0:
        return
    subjects = [token.i for token in subject_of(verb)]
    if not subjects and verb.tag_ == "VB" and verb.dep_ == "ROOT":
        return
    past = not stopped and told_as_past(verb)
    children = list(verb.children)
    passive = any(child.dep_ in ("auxpass", "nsubjpass") for child in children) or (
        verb.dep_ == "acl" and verb.tag_ in ("VBN", "VBD")
    )
    if passive and not w.is_participle(verb.lower_):
        # The parser took an imperative's object for a subject ("remove check from tests").
        return
    if subjects and verb.i and verb.doc[verb.i - 1].text in (":", "→"):
        # "Sync: use the plugin": what stands before a colon does nothing.
        return
    habit = verb.tag_ in ("VBZ", "VBP", "VB") and not passive and not stopped and not ahead
    if verb.dep_ == "conj" and verb.tag_ == "VBN" and not any(c.dep_ in ("aux", "auxpass") for c in children):
        passive = passive or any(child.dep_ == "auxpass" for child in verb.head.children)
    particle = "".join(
        f" {child.lower_}"
        for child in children
        if child.dep_ == "prt" or (child.dep_ == "advmod" and child.lower_ in PARTICLES and child.i == verb.i + 1)
    )
    before = f"{stopped} " if stopped else ""
    words = f"{before}{_helper(children) if passive else ''}{verb.lower_}{particle}"
    objects = [
        noun for child in children if child.dep_ in _OBJECTS and child.tag_ in _NOUN_TAGS for noun in conjuncts(child)
    ]
    if verb.dep_ == "relcl" and any(child.dep_ == "dobj" and child.tag_ in ("WDT", "WP") for child in children):
        # "the service, which Tom maintains"
        objects.append(verb.head)
    preps = list(prepositions(verb))

    def candidate(
        left: int, right: int, *phrases: str, strict: bool = False, ends: bool = False, via: int = -1
    ) -> Candidate:
        return Candidate(left, phrases, right, verb.i, weight, strict, ends, ahead, via, past, habit)

    if w.lemma(verb.lower_) == "be":
        yield from (
            candidate(left, right, f"{before}{phrase}")
            for left in subjects
            for phrase, right in _copula(verb, objects, preps)
        )
        return
    if w.lemma(verb.lower_) in _REPLACE:
        yield from _replacement(candidate, subjects, objects, preps, passive=passive)
        return
    for left in subjects:
        for noun in objects:
            yield candidate(left, noun.i, words)
        for text, noun in preps:
            if not objects:
                yield candidate(left, noun.i, f"{words} {text}")
            elif text in ("in favour of", "in favor of"):
                yield candidate(left, noun.i, "chose")
    for child in (c for c in children if c.dep_ == "acomp"):
        for text, noun in prepositions(child):
            for left in subjects:
                yield candidate(left, noun.i, f"{before}is {child.lower_} {text}")
    plain = [noun for noun in objects if noun.dep_ in ("dobj", "conj")]
    for noun in plain:
        inner = preps + [pair for pair in prepositions(noun) if pair not in preps]
        for text, other in inner:
            yield from (candidate(left, other.i, f"{words} {noun.lower_} {text}", via=noun.i) for left in subjects)
            base = w.lemma(verb.lower_)
            if verb.tag_ in ("VBD", "VBN") or base in _MOVING:
                done = verb.lower_ if verb.tag_ in ("VBD", "VBN") else base + ("d" if base.endswith("e") else "ed")
                yield candidate(noun.i, other.i, f"{before}was {done}{particle} {text}", strict=True)
            if text == "from" and w.lemma(verb.lower_) in _INHERIT:
                yield candidate(other.i, noun.i, words, ends=True)
    if not subjects and passive and verb.dep_ == "acl":
        yield from (candidate(verb.head.i, noun.i, f"{words} {text}") for text, noun in preps)


def _helper(children: list[Any]) -> str:
    """Return the form of `be` that makes a passive, as a finite one."""
    form = next((child.lower_ for child in children if child.dep_ == "auxpass"), "was")
    return f"{form if form in ('is', 'are', 'was', 'were') else 'was'} "


def _copula(verb: Any, objects: list[Any], preps: list[tuple[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield (phrase, right) for `is at P`, `is the head of P`, `is responsible for P`, `is Acme's head`."""
    for text, noun in preps:
        yield f"is {text}", noun.i
    for noun in objects:
        for text, other in prepositions(noun):
            yield f"is {noun.lower_} {text}", other.i
        for owner in (child for child in noun.children if child.dep_ == "poss"):
            yield f"is {noun.lower_} of", owner.i
    for child in verb.children:
        if child.dep_ == "acomp":
            for text, noun in prepositions(child):
                yield f"is {child.lower_} {text}", noun.i
            for deeper in (c for c in child.children if c.dep_ == "prep"):
                for inner in (c for c in deeper.children if c.dep_ == "pcomp" and c.tag_ == "VBG"):
                    for noun in (c for c in inner.children if c.dep_ == "dobj"):
                        yield f"is {child.lower_} {deeper.lower_}", noun.i


def _replacement(
    candidate: Any, subjects: list[int], objects: list[Any], preps: list[tuple[str, Any]], *, passive: bool
) -> Iterator[Candidate]:
    """`replaced X with Y in Z`: Z uses Y and no longer X. With no Z, X came before Y."""
    old = subjects if passive else [noun.i for noun in objects]
    new = [noun.i for text, noun in preps if text in ("with", "by", "for")]
    if not new and not passive:
        yield from (candidate(left, noun.i, "replaced") for left in subjects for noun in objects)
        return
    systems = [noun.i for text, noun in preps if text in ("in", "on", "inside", "within", "across")]
    for was in old:
        for now in new:
            for system in systems:
                yield candidate(system, now, "uses")
                yield candidate(system, was, "no longer uses")
            if not systems:
                yield candidate(was, now, "was replaced by")


def _of_noun(noun: Any) -> Iterator[Candidate]:
    """Yield what noun phrases state: `Priya, the head of Acme`, `Acme's head Priya`, `the owner of X is Y`."""
    for child in noun.children:
        if child.dep_ != "appos":
            continue
        person, role = (child, noun) if noun.lower_ in ROLES else (noun, child)
        if role.lower_ not in ROLES:
            continue
        for text, other in prepositions(role):
            yield Candidate(person.i, (f"is {role.lower_} {text}",), other.i, noun.i, 0.95)
        for owner in (c for c in role.children if c.dep_ == "poss"):
            yield Candidate(person.i, (f"is {role.lower_} of",), owner.i, noun.i, 0.95)
    if noun.lower_ in ROLES:
        # "the CEO of Acme, Tom Berg": the parser hangs the name on the company.
        for text, other in prepositions(noun):
            for person in (c for c in other.children if c.dep_ == "appos" and c.tag_ in ("NNP", "NNPS")):
                yield Candidate(person.i, (f"is {noun.lower_} {text}",), other.i, noun.i, 0.95)
    if noun.dep_ == "nsubj" and w.lemma(noun.head.lower_) == "be":
        attributes = [c for c in noun.head.children if c.dep_ == "attr" and c.tag_ in _NOUN_TAGS]
        weight, stopped, ahead = assertion(noun.head)
        for value in attributes if weight > 0 and not stopped else ():
            for owner in (c for c in noun.children if c.dep_ == "poss"):
                yield Candidate(owner.i, (noun.lower_,), value.i, noun.head.i, weight, ahead=ahead)
            for text, other in prepositions(noun):
                if text in ("of", "for"):
                    yield Candidate(other.i, (noun.lower_,), value.i, noun.head.i, weight, ahead=ahead)
    if noun.tag_ in ("NNP", "NNPS"):
        for child in noun.children:
            if child.dep_ == "prep" and child.lower_ in ("from", "at", "of", "in"):
                for other in (c for c in child.children if c.dep_ == "pobj"):
                    # "Priya of Copperline" says no more than that she is with it.
                    phrases = ("works for", "is from") if child.lower_ in ("of", "from") else (f"is {child.lower_}",)
                    yield Candidate(noun.i, phrases, other.i, noun.i, 0.75, loose=True)
