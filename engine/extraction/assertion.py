"""Whether a verb's statement is asserted: negation, conditions, wishes, reports, the future and the past; grammar only."""

from __future__ import annotations

from typing import Any

from ctxsync.engine.extraction import words as w
from ctxsync.engine.extraction.words import word_set

SUBJECTS = ("nsubj", "nsubjpass")

# Verbs whose complement is a thought, a wish or a plan, one that reports, one that only shapes the action in time.
_THOUGHTS = word_set(
    """plan want wish hope intend consider propose suggest wonder ask think doubt try attempt need expect like love aim
    refuse decline fail promise threaten agree discuss recommend imagine prefer offer mean hesitate debate explore
    evaluate wait may might seem appear pretend request require encourage tell let allow help talk invite force
    cause avoid skip forbid prohibit prevent disallow"""
)
_REPORTS = word_set(
    """say tell mention report write announce confirm note hear learn know remember find see claim argue believe
    explain"""
)
ASPECTS = word_set("""start begin continue keep finish go come end""")
_STOPS = frozenset({"stop", "quit", "cease", "use"})
_UNREAL = word_set("""might may could should would must shall can ought need""")
_CONDITIONS = frozenset({"if", "unless", "whether", "lest", "until", "before", "once", "till"})
_NOBODY = frozenset({"no", "nobody", "none", "neither", "nothing"})
# Verbs of lasting states: in the past tense they tell of a time that is over ("she lived in Oslo").
_STATES = word_set(
    """be work live reside own use depend rely require need belong manage lead maintain run teach study report handle
    oversee chair host power store serve sit"""
)
REPORTED, AHEAD = 0.7, 0.6


def assertion(verb: Any) -> tuple[float, str, bool]:
    """Return how far a verb's statement is asserted (0: not at all), words that say it stopped, and if it lies ahead.

    The document remembers it: the rules ask of a verb for itself and for those under it, the learned models for each pair.
    """
    known = verb.doc.user_data
    key = ("assertion", verb.i)
    if key not in known:
        known[key] = _assertion(verb)
    found: tuple[float, str, bool] = known[key]
    return found


def _assertion(verb: Any) -> tuple[float, str, bool]:
    weight, stopped, ahead = 1.0, "", False
    if verb.sent.text.rstrip(" )\"'*_").endswith("?"):
        return 0.0, "", False
    children = list(verb.children)
    lowers = {child.lower_ for child in children}
    if (
        any(child.dep_ == "neg" or child.lower_ == "never" for child in children)
        or "longer" in lowers
        or "anymore" in lowers
    ):
        words = verb.doc[verb.left_edge.i : verb.right_edge.i + 1].text.lower()
        if "no longer" in words or "anymore" in words or "any more" in words or "any longer" in words:
            stopped = "no longer"
        else:
            return 0.0, "", False
    for child in children:
        if child.dep_ == "aux" and child.tag_ == "MD":
            if child.lower_ in ("will", "'ll", "wo", "shall"):
                weight, ahead = weight * AHEAD, True
            elif child.lower_ in _UNREAL or child.lower_ == "'d":
                return 0.0, "", False
        if child.dep_ == "mark" and child.lower_ in _CONDITIONS:
            return 0.0, "", False
        if child.dep_ == "advcl" and any(
            mark.lower_ in ("if", "unless") for mark in child.children if mark.dep_ == "mark"
        ):
            return 0.0, "", False
        if child.dep_ in (*SUBJECTS, "dobj") and (
            child.lower_ in _NOBODY or any(d.lower_ in _NOBODY for d in child.children if d.dep_ == "det")
        ):
            return 0.0, "", False
        if child.dep_ == "advmod" and child.lower_ in ("formerly", "previously"):
            stopped = "no longer"
        if child.dep_ == "advmod" and child.lower_ in ("maybe", "perhaps", "possibly", "probably"):
            weight *= 0.5
    upper, more, later = _governed(verb)
    return weight * upper, stopped or more, ahead or later


def _governed(verb: Any) -> tuple[float, str, bool]:
    """Return what the verbs above make of an assertion."""
    head = verb.head
    if verb.dep_ == "pcomp" and head.lower_ in ("without", "before", "instead", "of") and verb.tag_ == "VBG":
        return 0.0, "", False
    if verb.dep_ == "pcomp" and head.dep_ == "prep" and head.head.tag_.startswith("VB"):
        head = head.head
    if head.i == verb.i:
        return 1.0, "", False
    if verb.dep_ in ("advcl", "acl", "pcomp", "xcomp") and _instructs(head):
        return 0.0, "", False
    base = w.lemma(head.lower_)
    if verb.dep_ == "conj" and head.tag_.startswith("VB"):
        if any(child.dep_ in SUBJECTS for child in verb.children):
            return _governed(head) if head.dep_ in ("ccomp", "advcl") else (1.0, "", False)
        weight, stopped, ahead = assertion(head)
        same = head.tag_ == verb.tag_ or any(child.tag_ == "MD" for child in head.children)
        return weight, stopped if same and base == "use" else "", ahead
    if verb.dep_ in ("xcomp", "ccomp", "pcomp", "acl", "advcl", "dobj") and head.tag_.startswith("VB"):
        weight, stopped, ahead = assertion(head)
        if base == "use" and verb.dep_ == "xcomp":
            return weight, "no longer", ahead
        if base in _STOPS and verb.tag_ == "VBG":
            return weight, "no longer", ahead
        if base == "go" and any(child.lower_ == "to" and child.dep_ == "aux" for child in verb.children):
            return weight * AHEAD, stopped, True
        if verb.dep_ == "ccomp":
            # "X is running well, Y uses Z": loosely joined clauses are no complement.
            joined = not any(child.dep_ == "mark" for child in verb.children) and verb.i < head.i
            return (
                (1.0 if joined and base not in _REPORTS else 0.0 if base in _THOUGHTS else weight * REPORTED),
                "",
                ahead,
            )
        if verb.dep_ == "xcomp" and base not in ASPECTS and base in _THOUGHTS | _REPORTS:
            return 0.0, "", False
        if verb.dep_ == "advcl" and verb.tag_ == "VB":
            return 0.0, "", False
        return weight, stopped if verb.dep_ == "xcomp" else "", ahead
    if verb.dep_ in ("acl", "relcl") and verb.tag_ == "VB":
        return 0.0, "", False
    if verb.dep_ == "xcomp" or (verb.dep_ in ("acl", "pcomp") and verb.tag_ == "VB"):
        return 0.0, "", False
    return 1.0, "", False


def _instructs(token: Any) -> bool:
    """Say whether a clause tells its reader what to do, or what they could: `open it using a key`, `you run it with`."""
    while token.head.i != token.i and not token.tag_.startswith("VB"):
        token = token.head
    subjects = [child for child in token.children if child.dep_ in SUBJECTS]
    if subjects:
        return subjects[0].lower_ in ("you", "one")
    return token.tag_ == "VB" and token.dep_ in ("ROOT", "advcl", "conj", "ccomp")


def told_as_past(verb: Any) -> bool:
    """Say whether a verb tells of a state in the past tense; what others reported in the past may still hold."""
    if w.lemma(verb.lower_) not in _STATES or verb.dep_ in ("ccomp", "xcomp"):
        return False
    helpers = [child for child in verb.children if child.dep_ in ("aux", "auxpass")]
    if any(w.lemma(child.lower_) == "have" for child in helpers):
        return False
    return verb.tag_ == "VBD" or any(child.lower_ in ("was", "were") for child in helpers)
