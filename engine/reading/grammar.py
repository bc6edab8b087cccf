"""The shapes that questions come in: words and entity marks become who does what to whom; knows no graph.

Entities stand in the text as marks `@0`, `@1` … Everything else is lower-case words without articles. A question that
fits no shape, or leaves words over, is not understood: better no plan than a wrong one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MARK = r"@\d+"
_DO = r"(?:do|does|did)"
_BE = r"(?:is|are|was|were)"
_HAVE = r"(?:has|have|had|will|can|could|should|would)"
_WHO = r"(?:who|whom|what|which)"

# A noun that asks for a kind of thing -> entity types that answer, and the kind of identity key that they must have.
_NOUNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        (
            "person people someone somebody anyone colleague employee engineer developer staff member contributor author user "
            "maintainer attendee participant speaker designer manager teammate individual folks committer resident"
        ),
        ("Person",),
        "",
    ),
    (
        "organization organisation company team group employer firm business club institution department vendor startup",
        ("Organization",),
        "",
    ),
    ("place city country town location region village office venue", ("Place",), ""),
    (
        "event meeting conference incident outage deployment decision talk workshop release",
        ("Event", "Concept", "Artifact"),
        "",
    ),
    (
        (
            "service system tool library app application project product component module package database datastore software "
            "framework document server platform program website api repo repository language technology stack dependency"
        ),
        ("Artifact", "Concept"),
        "",
    ),
    ("concept topic idea theory method tag subject", ("Concept", "Idea", "Artifact"), ""),
    ("note page", (), "note"),
    ("commit change patch revision", (), "commit"),
    ("file path source-file", (), "path"),
    ("issue ticket bug", (), "issue"),
    ("thing item entity stuff one everything anything something else", (), ""),
)
KINDS = {noun: (types, key) for nouns, types, key in _NOUNS for noun in nouns.split()}
# Nouns that may stand beside a name without adding to it: `the Heron project`.
APPOSITIVES = frozenset(
    [
        "project",
        "service",
        "system",
        "tool",
        "team",
        "company",
        "app",
        "repo",
        "repository",
        "database",
        "library",
        "organisation",
        "organization",
        "platform",
        "meeting",
        "event",
        "group",
        "firm",
        "product",
        "component",
        "module",
        "package",
        "framework",
        "server",
        "file",
        "path",
        "city",
        "incident",
    ]
)
_BEFORE = "|".join(
    sorted((APPOSITIVES | {"commit", "issue", "note", "person", "ticket"}) - {"meeting", "group", "path"})
)
_GENERIC_PLURALS = {"people", "folks", "staff", "stuff", "everything", "anything", "something", "someone", "anyone"}

WHO_TYPES = ("Person", "Organization")
WHERE_TYPES = ("Place", "Organization", "Artifact")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question understood: `left phrase right`, with one end unknown or both given.

    Args:
        want: `left` or `right` (that end is asked for), `when` (the time), `check` (whether it holds) or `about`.
        phrase: Words between the ends, or a noun that the left end has (`owner`).
        left: Index of the entity at the phrase's left end; None where unknown.
        right: Index of the entity at its right end; None where unknown.
        wh: The question word that asks, or empty.
        noun: The noun that the answer must be (`services`), as written; empty where none.
        form: `verb` where the phrase is what the left end does, `noun` where it is what it has, empty where either fits.
        count: How many are asked for, not which.
        past: The question is in the past tense.
        relative: `before` or `after`, with `pivot`: the entity that the answer came before or after.
        pivot: Index of that entity.
    """

    want: str
    phrase: str = ""
    left: int | None = None
    right: int | None = None
    wh: str = ""
    noun: str = ""
    form: str = ""
    count: bool = False
    past: bool = False
    relative: str = ""
    pivot: int | None = None


def singular(word: str) -> str:
    """Return the noun as the table of kinds has it."""
    for ending, instead in (("ies", "y"), ("ses", "s"), ("s", "")):
        if word.endswith(ending) and word[: -len(ending)] + instead in KINDS:
            return word[: -len(ending)] + instead
    return word


POLITE = re.compile(
    r"^(?:(?:please|hey|hi|so|and|ok|okay|well) )*(?:(?:can|could|would|will) (?:you|i) (?:please )?(?:tell|show|give|remind|find|list)(?: me| us)?"
    r"|(?:please )?(?:tell|remind) (?:me|us)|do (?:you|we) (?:know|remember)|i(?:'d| would) (?:like|want) to know|i want to know|any idea"
    r"|i wonder)(?: if| whether)? (?=\S)"
)
_TAIL = re.compile(r" (?:please|exactly|again|anyway|for me|to date|so far|at all|in total|overall|altogether)$")
_FILL = re.compile(
    r"(?<!\S)(?:the|a|an|all|every|each|any|some|actually|exactly|really|mainly|mostly|directly|ever|both|else|of all)(?!\S) ?"
)
_LIST = re.compile(r"^(?:list|show|find|name|give|get|display|enumerate|search)(?: me| us)?(?: of)? (?P<rest>.+)$")
_COUNT = re.compile(r"^(?:how many|number of|count(?: of)?|what (?:is|was) number of) (?P<rest>.+)$")
_WHEN = re.compile(
    r"^(?:when|since when|from when|how long(?: ago)?|(?:on |in |since )?(?:what|which) (?:date|day|year|month|time)) (?P<rest>.+)$"
)
_WHY = re.compile(
    rf"^(?:why {_DO} (?P<x>{MARK})(?: (?:happen|occur|fail|break|go down|start|crash|take place))?"
    rf"|why (?:{_BE}|{_HAVE}) (?:there )?(?P<y>{MARK})(?: (?:down|failing|broken|happening|failed|happened))?)$"
)
_ABOUT = re.compile(
    rf"^(?:(?:who|what) {_BE} (?P<x>{MARK})|(?:(?:what|all|everything|anything) )?(?:(?:do|can|have) (?:i|we|you) (?:know|say|have|tell me|got) )?(?:on |about |of )?(?P<y>{MARK})"
    rf"|(?:tell me |info |information |details |facts |more |describe |summary |summarize |show me |show |explain )+(?:about |on |of |for )?(?P<z>{MARK}))$"
)
_INVERTED = re.compile(rf"^{_DO} (?P<x>{MARK}) (?P<p>[^@]+?)(?: (?P<y>{MARK}))?$")
_BE_FIRST = re.compile(rf"^(?P<be>{_BE}|{_HAVE}) (?P<x>{MARK})(?: (?P<p>[^@]+?))?(?: (?P<y>{MARK}))?$")
_NOUN_OF = re.compile(rf"^(?:{_BE} )?(?P<p>[^@]+? (?:of|at|for|in|on|behind|to)) (?P<y>{MARK})$")
_POSSESSED = re.compile(rf"^(?:{_BE} )?(?P<x>{MARK}) 's (?P<p>[^@]+)$")
_ACTIVE = re.compile(rf"^(?P<p>[^@]+?) (?P<y>{MARK})$")
_TRAILING = re.compile(rf"^(?P<x>{MARK}) (?P<p>[^@]+?) (?P<wh>who|whom|what|where|when|which(?: \w+)?|whose)$")
_STATEMENT = re.compile(rf"^(?P<x>{MARK}) (?P<p>[^@]+?)(?: (?P<y>{MARK}))?$")
_X_IS_YS = re.compile(rf"^(?P<be>{_BE}) (?P<x>{MARK}) (?P<y>{MARK}) 's (?P<p>[^@]+)$")
_RELATIVE = re.compile(rf"^(?P<rest>.*{MARK}.*?) (?P<word>before|after) (?P<pivot>{MARK})$")
_USED_AS = re.compile(
    rf"^(?P<do>{_DO}) (?P<x>{MARK}) (?P<p>use) (?:as (?:its|their) |for (?:its |their )?)(?P<noun>\w+)$"
)


def parse(text: str) -> Asked | None:
    """Read a marked question; None where no shape fits."""
    text = _clean(text)
    relative = _RELATIVE.match(text)
    if relative is not None:
        asked = _question(relative["rest"])
        if asked is not None and asked.want in ("left", "right"):
            return replace(asked, relative=relative["word"], pivot=_index(relative["pivot"]), past=True)
    return _question(text)


def _clean(text: str) -> str:
    previous = None
    while previous != text:
        previous = text
        text = re.sub(r"\s+", " ", text).strip(" ?.!,;:")
        text = POLITE.sub("", text)
        text = _TAIL.sub("", text)
    text = _FILL.sub("", text).strip()
    # In which city does Alice live: the preposition belongs to the verb.
    text = re.sub(r"^(in|at|for|on|to|with|from|by|under) ((?:which|what|whom|who)\b.+)$", r"\2 \1", text)
    # The Heron project, service Heron: the noun beside a name says nothing that the name does not.
    text = re.sub(rf"({MARK}) (\w+)(?=$| )", _drop_appositive, text)
    text = re.sub(rf"(?<=\S )(?<!which )(?<!what )(?<!many )(?:{_BEFORE}) (?={MARK})", "", text)
    return re.sub(r"\s+", " ", text).strip()


def _drop_appositive(match: re.Match[str]) -> str:
    return match[1] if match[2] in APPOSITIVES else match[0]


def _question(text: str) -> Asked | None:
    count = _COUNT.match(text)
    if count is not None:
        rest = re.sub(r"^(\S+(?: \S+)?) (?:are|is|were|was) there (?=in|at|on|of|by)", r"\1 ", count["rest"])
        asked = _with_noun(re.sub(r"\s+", " ", rest), "which")
        return None if asked is None else replace(asked, count=True)
    when = _WHEN.match(text)
    if when is not None:
        return _when(when["rest"])
    why = _WHY.match(text)
    if why is not None:
        return Asked("left", "caused", None, _index(why["x"] or why["y"]), wh="what")
    about = _ABOUT.match(text)
    if about is not None:
        return Asked("about", left=_index(about["x"] or about["y"] or about["z"]))
    listed = _LIST.match(text)
    if listed is not None:
        text = listed["rest"]
        if re.match(r"(?:who|what|which|where)\b", text) is None:
            return _with_noun(text, "which") or _statement(text)
    word, _, rest = text.partition(" ")
    if word in ("who", "whom", "where", "what", "which", "whose", "whos"):
        if word in ("what", "which", "whose"):
            found = _with_noun(rest, word)
            if found is not None:
                return found
        return _open(rest, word)
    return _check(text) or _with_noun(text, "which", plural=True) or _statement(text)


def _with_noun(text: str, wh: str, *, plural: bool = False) -> Asked | None:
    """Read `services depend on @0`, `database does @0 use`, `commits by @0`: one or two words that name what is asked for."""
    words = text.split(" ")
    for size in (1, 2, 3):
        if len(words) <= size or any(word.startswith("@") or word == "'s" for word in words[:size]):
            break
        noun, rest = " ".join(words[:size]), " ".join(words[size:])
        known = singular(words[size - 1]) in KINDS
        if plural and not (known and (words[size - 1] in _GENERIC_PLURALS or words[size - 1].endswith("s"))):
            continue
        asking = re.match(rf"(?:{_DO}|{_BE}|{_HAVE}|that|which|who|whose)\b", rest) is not None
        if not known and not (asking and wh in ("what", "which", "whose")):
            continue
        rest = re.sub(r"^(?:that|which|who) ", "", rest)
        if re.match(rf"(?:at|in|on|by|for|from|of|with|to) {MARK}$", rest):
            preposition, _, mark = rest.partition(" ")
            return Asked("left", f"is {preposition}", None, _index(mark), wh=wh, noun=noun)
        asked = _open(rest, wh)
        if asked is not None and asked.want in ("left", "right"):
            return replace(asked, noun=noun)
    return None


def _open(rest: str, wh: str) -> Asked | None:
    """Read what follows the question word: one end is unknown."""
    used = _USED_AS.match(rest)
    if used is not None:
        return Asked("right", "use", _index(used["x"]), None, wh=wh, noun=used["noun"], past=used["do"] == "did")
    possessed = _POSSESSED.match(rest)
    if possessed is not None:
        return Asked("right", possessed["p"], _index(possessed["x"]), None, wh=wh, form="noun", past=_is_past(rest))
    inverted = _INVERTED.match(rest)
    if inverted is not None and inverted["y"] is None:
        past = rest.startswith("did")
        return Asked("right", inverted["p"], _index(inverted["x"]), None, wh=wh, form="verb", past=past)
    first = _BE_FIRST.match(rest)
    if first is not None and first["y"] is None:
        if first["p"] is None:
            return (
                Asked("right", "is in", _index(first["x"]), None, wh=wh, past=_is_past(rest)) if wh == "where" else None
            )
        return Asked("right", f"{first['be']} {first['p']}", _index(first["x"]), None, wh=wh, past=_is_past(rest))
    active = _ACTIVE.match(rest)
    if active is not None and wh != "where":
        form = "" if re.match(rf"{_BE}\b", active["p"]) else "verb"
        return Asked("left", active["p"], None, _index(active["y"]), wh=wh, form=form, past=_is_past(rest))
    return None


def _when(rest: str) -> Asked | None:
    for pattern in (_INVERTED, _BE_FIRST, _STATEMENT):
        match = pattern.match(rest)
        if match is None:
            continue
        groups = match.groupdict()
        phrase = f"{groups['be']} {groups['p'] or ''}".strip() if groups.get("be") else groups["p"]
        right = None if groups["y"] is None else _index(groups["y"])
        return Asked("when", phrase, _index(groups["x"]), right, wh="when", past=True)
    active = re.match(rf"^{_DO} (?:i|we|they|someone) (?P<p>[^@]+?) (?P<y>{MARK})$", rest)
    if active is not None:
        return Asked("when", active["p"], None, _index(active["y"]), wh="when", past=True)
    return None


def _check(text: str) -> Asked | None:
    noun = _X_IS_YS.match(text)
    if noun is not None:
        # Is @0 @1's owner: the noun is what @1 has.
        return Asked("check", noun["p"], _index(noun["y"]), _index(noun["x"]), form="noun", past=_is_past(text))
    inverted = _INVERTED.match(text)
    if inverted is not None and inverted["y"] is not None:
        return Asked(
            "check", inverted["p"], _index(inverted["x"]), _index(inverted["y"]), form="verb", past=_is_past(text)
        )
    first = _BE_FIRST.match(text)
    if first is not None and first["y"] is not None and first["p"] is not None:
        phrase = f"{first['be']} {first['p']}"
        return Asked("check", phrase, _index(first["x"]), _index(first["y"]), past=_is_past(text))
    return None


def _statement(text: str) -> Asked | None:
    """Read what is no question in form: `@0 works where`, `@0's owner`, `owner of @0`, `@0 depends on`, `@0 owns @1`."""
    trailing = _TRAILING.match(text)
    if trailing is not None:
        wh, _, noun = trailing["wh"].partition(" ")
        if wh == "when":
            return Asked("when", trailing["p"], _index(trailing["x"]), None, wh=wh, past=True)
        return Asked("right", trailing["p"], _index(trailing["x"]), None, wh=wh, noun=noun)
    possessed = _POSSESSED.match(text)
    if possessed is not None:
        return Asked("right", possessed["p"], _index(possessed["x"]), None, wh="what", form="noun")
    whole = _STATEMENT.match(text)
    if whole is not None:
        if whole["y"] is not None:
            return Asked("check", whole["p"], _index(whole["x"]), _index(whole["y"]), past=_is_past(text))
        return Asked("right", whole["p"], _index(whole["x"]), None, wh="what")
    noun_of = _NOUN_OF.match(text) or _ACTIVE.match(text)
    if noun_of is not None:
        return Asked("left", noun_of["p"], None, _index(noun_of["y"]), wh="what")
    return None


def _is_past(text: str) -> bool:
    return re.match(r"(?:did|was|were|had)\b", text) is not None


def _index(mark: str) -> int:
    return int(mark[1:])
