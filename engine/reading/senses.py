"""What sets phrases of one class apart, so that `who reviewed it` is not answered by who wrote it; pure words.

A phrase class holds everything that one cardinality rules, which is wider than what a person means by one word. A
question of a sense is answered by facts of that sense; a question of none by every fact that is not `apart`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.engine.extraction import words as english

if TYPE_CHECKING:
    from collections.abc import Iterable

# Lemmas of one sense stand together; a class that is not here has one sense.
_SENSES: dict[str, tuple[str, ...]] = {
    "work": (
        "write author draft commit co-author writer", "review reviewer", "test tester", "edit editor", "document", "paint painter",
        "compose composer", "refactor", "publish release ship launch", "direct director", "migrate", "finish",
        "build create make develop design implement invent produce creator developer designer inventor architect",
    ),
    "participation": ("organize organise host", "win winner", "speak present speaker", "perform", "compete", "volunteer", "miss",
                      "receive recipient", "send"),
    "interest": ("allergic", "learn study"),
    "kinship": (
        "marry married wife husband spouse", "engage", "date", "friend", "sister brother sibling", "cousin", "partner", "colleague",
        "roommate", "neighbour neighbor", "mother", "father", "son", "daughter", "mentor", "aunt", "uncle", "divorce separate",
    ),
    "contact": ("talk speak chat", "call", "email write", "interview"),
    "association": ("work", "integrate", "collaborate collaborator", "partner"),
    "dependency": (
        "write language", "framework", "block wait", "call talk", "publish", "subscribe", "read", "authenticate", "import",
    ),
    "employment": (
        "engineer", "developer", "ceo", "cto", "cfo", "coo", "president", "director", "designer", "analyst", "scientist", "researcher",
        "professor lecturer teach teacher", "nurse", "doctor", "editor", "accountant", "consultant", "intern", "recruiter", "officer",
        "architect", "head", "chief", "secretary", "minister", "spokesman spokeswoman", "manager", "chairman", "chef", "lawyer",
        "librarian", "technician", "lead", "journalist reporter", "vp", "practise",
    ),
    "membership": ("play player", "volunteer", "trustee"),
    "origin": ("bear born birthplace", "grow raise"),
    "education": ("graduate alumnus alumna alum",),
    "ownership": ("buy acquire purchase buyer", "landlord"),
    "basis": ("fork", "implement implementation", "inspire inspiration", "extend extension"),
    "component": ("merge", "branch", "chapter"),
}  # fmt: skip
_APART = {
    "interest": ("allergic",),
    "participation": ("miss", "receive recipient", "send"),
    "dependency": ("block wait",),
}
# Symmetric classes whose senses read one way only: Beth is Alice's mother, so Alice is not Beth's.
_ONE_WAY = frozenset({"mother", "father", "son", "daughter", "mentor", "aunt", "uncle"})

_OF: dict[str, dict[str, str]] = {
    name: {lemma: sense for sense in senses for lemma in sense.split()} for name, senses in _SENSES.items()
}


def sense(phrase: str, phrase_class: str) -> str:
    """Return the sense of a phrase within its class; empty for the class's general meaning."""
    known = _OF.get(phrase_class)
    if known is None:
        return ""
    words = phrase.casefold().split()
    return next((known[part] for word in words for part in (word, english.lemma(word)) if part in known), "")


def agrees(asked: str, phrase_class: str, phrases: Iterable[str]) -> bool:
    """Say whether a fact that was put in these words answers what was asked in those."""
    wanted = sense(asked, phrase_class)
    said = {sense(phrase, phrase_class) for phrase in phrases}
    if wanted:
        return wanted in said
    return not said or not said <= set(_APART.get(phrase_class, ()))


def matters(asked: str, phrase_class: str) -> bool:
    """Say whether facts of the class have to be looked at one by one."""
    return bool(sense(asked, phrase_class) or _APART.get(phrase_class))


def turns(asked: str, phrase_class: str) -> bool:
    """Say whether a symmetric class can be read from either end in this sense."""
    return sense(asked, phrase_class) not in _ONE_WAY
