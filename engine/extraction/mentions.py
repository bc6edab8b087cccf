"""What a parsed block names: links, names, technical terms and noun phrases, with votes for their types.

A mention is strong when markup, a name's shape, a list of known names or a telling head noun speak for it; the others
are kept as weak ones that only a certain statement may use. The language model's labels are votes among others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import gazetteer as g
from ctxsync.engine.extraction import names
from ctxsync.engine.extraction.spelled import numbers, paths
from ctxsync.engine.extraction.votes import LABELS, is_known, is_technical, vote_label, vote_name
from ctxsync.engine.extraction.words import lemma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.dates import Stated
    from ctxsync.engine.extraction.plain import Block

STRONG = 0.8
WITHIN = 0.4
"""How strong a name is that stands before a common noun: the whole phrase is what the text speaks of."""
GREETED = 0.8
"""The vote for a person of a name that a greeting stands before; a team may be greeted as well."""

_NOUN = ("NN", "NNS", "NNP", "NNPS")
_INNER = {
    "compound",
    "amod",
    "nmod",
    "nummod",
    "advmod",
    "npadvmod",
    "quantmod",
    "poss",
    "punct",
    "det",
    "appos",
    "ccomp",
}
_STOP_TAGS = {
    "DT",
    "PDT",
    "WDT",
    "PRP$",
    "WP$",
    "CC",
    "IN",
    ",",
    "-LRB-",
    "-RRB-",
    "``",
    "''",
    ":",
    "TO",
    "RB",
    "WRB",
    "PRP",
    ".",
    "_SP",
}
_CODE_NAME = re.compile(r"^(?=.*[A-Za-z])(?:.*[A-Z_.:/@+#-].*|[a-z]+\d+\w*)$")
_SELF = {"i": "self", "me": "self", "myself": "self", "we": "we", "us": "we", "ourselves": "we"}
_PRONOUNS = {"he": "he", "him": "he", "she": "she", "her": "she", "they": "they", "them": "they", "it": "it"}


@dataclass(slots=True)
class Mention:
    """Something named at a place in a block.

    Args:
        start: First token.
        end: One past the last token.
        head: The token that its phrase hangs on.
        name: As the graph should show it: no article, a link's target for its label.
        kind: `name`, `noun`, `role` (a person by what they do), `pronoun`, `self` or `we`.
        votes: Evidence by entity type, 0 to about 1.
        strength: 0 to 1; from `STRONG` on it stands without a statement.
        linked: Markup names it.
        owner: Head token of its possessor (`Acme's CEO`), -1 for none.
        mine: `my`, `our` … stands before it.
        definite: `the` or the like stands before it.
        indefinite: `a` or the like does: some such thing, not one that is known.
        roles: Role words before the name (`sister`, `CTO`).
        front: First token of these, -1 for none.
    """

    start: int
    end: int
    head: int
    name: str
    kind: str
    votes: dict[str, float] = field(default_factory=dict)
    strength: float = 0.4
    linked: bool = False
    owner: int = -1
    mine: str = ""
    definite: bool = False
    indefinite: bool = False
    roles: tuple[str, ...] = ()
    front: int = -1

    @property
    def type(self) -> str:
        """The type with the most votes; `Concept`, the type of anything ambiguous, without one."""
        best = max(sorted(self.votes), key=lambda name: self.votes[name], default="Concept")
        return best if self.votes.get(best, 0) >= 0.25 else "Concept"

    @property
    def technical(self) -> str:
        """The kind of technical thing its name is known for (`database`, `platform` …), empty if none."""
        return g.TECHNICAL.get(self.name.lower(), "")


class Found:
    """The mentions of a block, by token."""

    def __init__(self, mentions: Sequence[Mention], size: int) -> None:
        self.all = sorted(mentions, key=lambda mention: (mention.start, mention.end))
        self._at: list[Mention | None] = [None] * size
        for mention in self.all:
            for index in range(mention.start, mention.end):
                self._at[index] = mention

    def at(self, token: int) -> Mention | None:
        """Return the mention that a token belongs to."""
        return self._at[token] if 0 <= token < len(self._at) else None


def mentions(doc: Any, block: Block, dates: Sequence[Stated]) -> Found:
    """Return what a block names.

    Args:
        doc: The block, tagged, parsed and labelled by spaCy.
        block: What it was made of.
        dates: Dates stated in its text: they are not things.
    """
    taken: list[bool] = [False] * len(doc)
    found: list[Mention] = []
    for anchor in block.anchors:
        span = doc.char_span(anchor.start, anchor.end, alignment_mode="expand")
        if span is None or len(span) == 0 or any(taken[span.start : span.end]):
            continue
        mention = Mention(
            span.start, span.end, span.root.i, anchor.name, "name", strength=1.0, linked=anchor.kind == "link"
        )
        if anchor.kind == "code" and not _CODE_NAME.match(anchor.name):
            # `true`, `for`, `20`: a word of some language rather than a name.
            mention.kind, mention.strength = "noun", 0.5 if anchor.name.isalpha() else 0.0
        if anchor.kind == "code":
            _with_head(doc, mention)
        _take(taken, span.start, mention.end)
        if anchor.kind == "code" and (names.HASH.match(anchor.name) or not any(c.isalpha() for c in anchor.name)):
            continue
        vote_name(mention, anchor.name.split(), code=anchor.kind == "code")
        found.append(mention)
    for stated in dates:
        span = doc.char_span(stated.start, stated.end, alignment_mode="expand")
        if span is not None:
            _take(taken, span.start, span.end)
    labels = {index: ent for ent in doc.ents for index in range(ent.start, ent.end)}
    for path in paths(doc, taken):
        _take(taken, path.start, path.end)
        found.append(Mention(path.start, path.end, path.root.i, path.text, "name", {"Artifact": 0.9}, 1.0))
    for index in range(len(doc) - 1, -1, -1):
        token = doc[index]
        if taken[index]:
            continue
        if numbers(doc, index, taken):
            mention = _phrase(doc, index - 1, taken, labels)
            _take(taken, mention.start, index + 1)
            if mention.name and mention.name.split()[-1] == doc[index - 1].text:
                mention.end, mention.name = index + 1, f"{mention.name} {token.text}"
                mention.strength = max(mention.strength, STRONG) if mention.strength else 0.0
                found.append(mention)
            continue
        pronoun = _pronoun(token)
        if pronoun:
            found.append(Mention(index, index + 1, index, token.text, pronoun))
            taken[index] = True
        elif (
            token.tag_ in _NOUN
            or (is_technical(token.text) and token.tag_ not in _STOP_TAGS)
            or (index in labels and token.tag_ not in (*_STOP_TAGS, "POS") and labels[index].label_ in LABELS)
        ):
            mention = _phrase(doc, index, taken, labels)
            _take(taken, mention.start if mention.front < 0 else mention.front, mention.end)
            if mention.name:
                found.append(mention)
                inner = _named_within(doc, mention, labels)
                if inner is not None:
                    found.append(inner)
    return Found(found, len(doc))


def _with_head(doc: Any, mention: Mention) -> None:
    """Take the noun behind a name in code into its mention: "the `tariff` job" speaks of one thing, `tariff`."""
    at = mention.end
    if at >= len(doc) or doc[at].tag_ != "NN" or g.HEADS.get(doc[at].lower_) != "Artifact":
        return
    if at + 1 < len(doc) and doc[at + 1].tag_ in _NOUN:
        return
    mention.end, mention.head, mention.kind, mention.strength = at + 1, at, "name", 1.0


def _named_within(doc: Any, mention: Mention, labels: dict[int, Any]) -> Mention | None:
    """Return the name that a common noun's phrase begins with: `U.S.` of `U.S. officials`."""
    ent = labels.get(mention.start)
    if mention.kind == "name" or ent is None or ent.label_ not in LABELS or ent.end >= mention.end:
        return None
    words = [token.text for token in doc[mention.start : ent.end]]
    if not all(word[:1].isupper() or word in ("-", "&", "'") for word in words) or is_technical(words[-1]):
        return None
    name = names.joined(doc, mention.start, ent.end)
    inner = Mention(mention.start, ent.end, ent.end - 1, name, "name", strength=WITHIN)
    if not names.can_be_named(inner):
        return None
    vote_name(inner, words)
    vote_label(inner, doc, ent)
    return inner


def _take(taken: list[bool], start: int, end: int) -> None:
    taken[start:end] = [True] * (end - start)


def _pronoun(token: Any) -> str:
    lower = token.lower_
    if token.tag_ != "PRP":
        return ""
    return _SELF.get(lower) or ("pronoun" if lower in _PRONOUNS else "")


def _phrase(doc: Any, last: int, taken: Sequence[bool], labels: dict[int, Any]) -> Mention:
    """Read the noun phrase that ends at token `last`."""
    start = last
    while start > 0 and not taken[start - 1] and _inside(doc, start - 1, start, last):
        start -= 1
    longer = names.with_of(doc, start, last, taken, labels)
    start = start if longer is None else longer
    before = doc[start - 1] if start else None
    mention = Mention(start, last + 1, last, "", "noun")
    if before is not None:
        if before.tag_ == "PRP$":
            mention.mine = before.lower_
        elif before.tag_ == "POS" and start > 1:
            mention.owner = start - 2
        elif before.tag_ == "DT":
            mention.indefinite = before.lower_ in ("a", "an", "some", "any", "every", "each", "another")
            mention.definite = before.lower_ in ("the", "this", "that", "these", "those")
    words = [doc[i].text for i in range(start, last + 1)]
    greeted = False
    if names.is_name(doc, last, labels):
        first = last
        while first > start and (longer is not None or names.is_part(doc, first - 1)):
            first -= 1
        while first < last and doc[first].is_sent_start and doc[first].lower_ in g.IMPERATIVES:
            first += 1
        greeted = first < last and doc[first].is_sent_start and doc[first].lower_ in g.GREETINGS
        first += greeted
        named = names.behind_role(doc, first, mention, labels)
        first = first if named is None else named
        while first < last and doc[first].lower_ in g.TITLES:
            mention.votes["Person"], first = 1.0, first + 1
        mention.start, mention.kind, mention.strength = first, "name", 1.0
        if first == last and doc[last].is_sent_start and not is_known(doc[last].lower_):
            # A capital means nothing at the start of a sentence: a statement may use it, alone it is no evidence.
            mention.strength = 0.7
        words = [doc[i].text for i in range(first, last + 1)]
        if len(words) == 1 and words[0].lower() in g.ROLES and not mention.roles:
            mention.kind, mention.strength = "role", 0.0
        elif names.common_head(doc, last, words):
            mention.kind, mention.strength = "noun", STRONG
        elif len(words) == 1 and words[0].lower() in g.IMPERATIVES and words[0].lower() not in g.TECHNICAL:
            mention.kind, mention.strength = "noun", 0.0
    else:
        counted = False
        while (
            len(words) > 1
            and (words[0].lower() in g.VAGUE or doc[mention.start].tag_ == "CD")
            and doc[mention.start + 1].text != "-"
        ):
            counted = counted or doc[mention.start].tag_ == "CD"
            words, mention.start = words[1:], mention.start + 1
        while len(words) > 2 and doc[mention.start].tag_.startswith("JJ"):
            words, mention.start = words[1:], mention.start + 1
        _weigh_noun(mention, words)
        known = mention.definite or mention.owner >= 0 or bool(mention.mine)
        if 0 < mention.strength < 0.6 and any(is_technical(word) for word in words[:-1]):
            mention.strength = 0.6
        generic = len(words) == 1 and lemma(words[0].lower()) in g.GENERIC
        if mention.definite and doc[last].tag_ in ("NN", "NNP") and mention.strength > 0 and not generic:
            mention.strength = max(mention.strength, 0.7 if mention.strength >= 0.6 else 0.6)
        if mention.strength >= 0.5 and (counted or mention.indefinite):
            mention.strength = 0.4
        elif mention.strength >= 0.5 and doc[last].tag_ == "NNS" and not known:
            # Some such things, none in particular.
            mention.strength = 0.5 if len(words) > 1 else 0.4
        elif mention.strength >= STRONG and doc[mention.start].tag_.startswith(("JJ", "VB")) and not mention.definite:
            mention.strength = 0.6
    while mention.start < last and doc[mention.start].text in ("-", "&", "'"):
        mention.start += 1
    mention.name = names.joined(doc, mention.start, last + 1)
    if not names.can_be_named(mention) or names.signs(doc, mention.start, last + 1):
        mention.name = ""
    if mention.name:
        vote_name(mention, words)
        vote_label(mention, doc, labels.get(last))
        if greeted:
            mention.votes["Person"] = max(mention.votes.get("Person", 0.0), GREETED)
    return mention


def _inside(doc: Any, index: int, start: int, last: int) -> bool:
    """Say whether the token before a phrase belongs to it."""
    token = doc[index]
    if token.tag_ in _STOP_TAGS or token.tag_ == "POS" or (token.is_punct and token.text != "-"):
        return False
    if index > 0 and index + 1 == last and doc[index - 1].tag_ in ("DT", "PRP$") and token.is_alpha:
        # "the ingest service": whatever the tagger takes it for, it stands between an article and a noun.
        return True
    if token.tag_ in ("VBZ", "VBD", "VBP", "VB", "MD"):
        return False
    if token.text == "-" or (index + 1 < len(doc) and doc[index + 1].text == "-"):
        return index > 0 and not token.whitespace_
    if token.head.i == index or not start <= token.head.i <= last:
        return False
    return token.dep_ in _INNER and not (token.tag_ in _NOUN and token.dep_ == "ccomp")


def _weigh_noun(mention: Mention, words: Sequence[str]) -> None:
    head = words[-1].lower()
    base = head if head in g.HEADS else lemma(head)
    if head in g.ROLES or base in g.ROLES:
        mention.kind, mention.strength = "role", 0.0
    elif head in g.EMPTY or base in g.EMPTY or not any(char.isalpha() for char in head) or len(head) < 2:
        mention.strength = 0.0
    elif len(words) == 1 and base in g.GENERIC:
        mention.strength = 0.4
    elif base in g.HEADS:
        mention.strength = STRONG if len(words) > 1 else 0.6
    else:
        mention.strength = 0.5 if len(words) > 1 else 0.4
