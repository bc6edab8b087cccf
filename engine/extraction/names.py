"""Where a name begins and ends in a noun phrase, which phrases are names, and how one is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import gazetteer as g
from ctxsync.engine.extraction.votes import is_technical
from ctxsync.engine.extraction.words import word_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.mentions import Mention

_CALENDAR = re.compile(
    r"^(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|august|september|october|november"
    r"|december|q[1-4])$",
    re.IGNORECASE,
)
HASH = re.compile(r"^(?=.*\d)[0-9a-f]{7,40}$")
# A phrase of more words than these is a clause that the parser took for a name.
_MOST_WORDS = 6
# What joins the words of one name, and what the model calls things whose names have such words.
_LINKS = word_set("of for and the de la du del & -")
_OF_NAMES = ("ORG", "GPE", "FAC", "LOC", "EVENT", "LAW")
# Whose posts people have, and of how many words a title is at most that no list knows.
_POSTS_OF, _MOST_TITLE = ("GPE", "ORG", "LOC", "FAC"), 2
_RANKS = word_set(
    "prime foreign vice deputy chief managing assistant executive senior junior acting former general finance interior"
)
_INITIALS = re.compile(r"^(?:[A-Z]\.)+[A-Z]?\.?$")
_MEASURE = re.compile(r"^[\d.,:]+\s?(?:[a-z]{1,3}|[KMGT]i?B|[AP]M)?$", re.IGNORECASE)
# Signs that markup, quotes and dashes leave at a name's ends; `C++` and `F#` keep theirs.
_MARKUP = "*_`=<>|[]{}~/\\- \u201c\u201d\u2018\u2019\u2026\u2013\u2014"
_NO_NAMES = word_set("true false none null nil kb mb gb tb kib mib gib ms px am pm eg ie etc") | {"this link"}


def with_of(doc: Any, start: int, last: int, taken: Sequence[bool], labels: dict[int, Any]) -> int | None:
    """Return where the name begins that a phrase ends, as `Oslo` ends `University of Oslo`; None if it is no longer."""
    ent = labels.get(last)
    if ent is None or ent.label_ not in _OF_NAMES or ent.end != last + 1:
        return None
    first = int(ent.start) + (doc[ent.start].lower_ == "the")
    words = doc[first:start]
    if first >= start or any(taken[first:start]) or not words[0].text[:1].isupper():
        return None
    return first if all(token.text[:1].isupper() or token.lower_ in _LINKS for token in words) else None


def signs(doc: Any, start: int, end: int) -> bool:
    """Say whether a name is that of who signs: the last words, behind `Kind regards,`."""
    return end == len(doc) and start > 1 and doc[start - 1].text == "," and doc[start - 2].lower_ in g.CLOSINGS


def can_be_named(mention: Mention) -> bool:
    """Say whether a phrase's words can name anything: no number, no time, no commit's id, no clause."""
    name = mention.name
    if mention.kind == "name" and len(name) < 2:
        return False
    if name.lower() in _NO_NAMES:
        return False
    if _CALENDAR.match(name) or HASH.match(name) or len(name.split()) > _MOST_WORDS:
        return False
    if _INITIALS.match(name):
        return len(name) > 2
    return re.search(r"[^\W\d_]{2}|[^\W\d_]\W*[+#\d]", name) is not None and not _MEASURE.match(name)


def behind_role(doc: Any, first: int, mention: Mention, labels: dict[int, Any]) -> int | None:
    """Take `Acme CEO` off the front of `Acme CEO Priya Raman`; return where the name itself begins, None for no role.

    Args:
        doc: The block.
        first: Where the name begins as far as capitals tell.
        mention: The phrase; its role and its owner are noted.
        labels: The model's entities by token.
    """
    start, last = mention.start, mention.head
    for index in range(last - 1, start - 1, -1):
        alone = index + 1 == last and doc[last].lower_ not in g.GIVEN_NAMES
        if alone and doc[index].text.istitle():
            # "Acme Developer Documentation" is no developer's name.
            continue
        if doc[index].lower_ in g.ROLES and doc[index + 1].lower_ != "of" and (index >= first or index == first - 1):
            return _without_role(doc, index, index + 1, mention)
    ent = labels.get(last)
    if ent is None or ent.label_ != "PERSON" or ent.start <= first:
        return None
    before = labels.get(first)
    if before is not None and before.label_ in _POSTS_OF and 0 <= ent.start - before.end <= _MOST_TITLE:
        # "Quebec Premier Ann Roy": whatever stands between the names of a place and of a person is a title.
        return _without_role(doc, before.end, int(ent.start), mention)
    return None


def _without_role(doc: Any, role: int, name: int, mention: Mention) -> int:
    """Note the role that the tokens from `role` to `name` are, and whose it is; return `name`."""
    start = mention.start
    while role > start and (doc[role - 1].lower_ in g.ROLES or doc[role - 1].lower_ in _RANKS):
        role -= 1
    mention.front = role
    if name > role:
        mention.roles = (doc[name - 1].lower_,)
    if role > start and doc[role - 1].tag_.startswith("NNP"):
        mention.owner = role - 1
    return name


def is_name(doc: Any, index: int, labels: dict[int, Any]) -> bool:
    """Say whether a phrase's last token is a name rather than a common noun."""
    token = doc[index]
    text, lower = token.text, token.lower_
    before = doc[index - 1] if index else None
    if (
        lower in g.HEADS
        and lower not in g.TECHNICAL
        and (before is None or not before.text[:1].isupper() or before.tag_ in ("DT", "PRP$"))
    ):
        return False
    if is_technical(text) and lower not in g.ROLES:
        return True
    if not text[:1].isupper():
        return False
    if not token.is_sent_start or (index > 0 and doc[index - 1].tag_.startswith("NNP")):
        return token.tag_.startswith("NNP") or index in labels or text[1:2].islower()
    if token.tag_.startswith("NNP") or lower in g.GIVEN_NAMES or lower in g.PLACES:
        return lower not in g.HEADS or index in labels
    return False


def is_part(doc: Any, index: int) -> bool:
    """Say whether a token before a name's last word is a word of the name."""
    text = doc[index].text
    return (
        text[:1].isupper()
        or text.lower() in g.TITLES
        or text[:1].isdigit()
        or text in ("-", "&", "'")
        or (text.lower() in ("of", "de", "van", "von", "di") and index > 0 and doc[index - 1].text[:1].isupper())
    )


def common_head(doc: Any, last: int, words: Sequence[str]) -> bool:
    """Say whether a name's last word is a common noun in capitals because it starts a sentence (`Project`)."""
    return len(words) == 1 and doc[last].lower_ in g.HEADS and doc[last].lower_ not in g.TECHNICAL


def joined(doc: Any, start: int, end: int) -> str:
    """Return the tokens from `start` to `end` as a name: without markup and punctuation at its ends."""
    text = " ".join(doc[start:end].text.split())
    if _INITIALS.match(text):
        return text
    text = text.strip(" .,:;\"'()")
    return text.partition("(")[0].rstrip(_MARKUP).lstrip(_MARKUP + "$")
