"""Questions about what somebody said: whose words, on what, where and when; they are answered by passages, not facts.

Works on marked questions, as `plan` does, and runs nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxsync.engine.reading.question import Mark, Question

_MARK = r"@\d+"
_ON = r"(?:about|on|regarding|concerning|of|re|mentioning)"
_TOPIC = rf"(?: {_ON} (?P<topic>\S.*))?"
# What is said on mail and in chat: each noun with the kinds of item that it means.
_NOUNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("email", "e-mail", "mail"), ("mail",)),
    **dict.fromkeys(("message", "dm", "direct message"), ("mail", "slack")),
    **dict.fromkeys(("slack message", "post", "slack post"), ("slack",)),
}
_NOUN = rf"(?P<noun>{'|'.join(sorted(_NOUNS, key=len, reverse=True))})s?"
# `write` alone asks for works and commits as well; with what it is about it asks for words.
_SAY = r"(?:say|said|saying|tell|told|mention(?:ed)?|post(?:ed)?|ask(?:ed)?|reply|replied|answer(?:ed)?|explain(?:ed)?)"
_WRITE = r"(?:write|wrote|written|send|sent|e-?mail(?:ed)?|mail(?:ed)?|message[d]?|talk(?:ed)?)"
_TO_US = r"(?: (?:to )?(?:me|us|you|everyone|@\d+))?"
_WHAT = r"what (?:do|does|did|has|have|had)"
_GIVE = r"(?:(?:show|list|find|give|search|get)(?: (?:me|us|@\d+))? )?(?:what (?:is|are|was|were) )?"
_ALL = r"(?:(?:the|any|all|every|some|recent|new|latest|last|first|our|@\d+ 's)(?: of)? )*"
_PATTERNS = tuple(
    re.compile(f"^{pattern}$")
    for pattern in (
        rf"{_WHAT} (?P<who>{_MARK}) {_WRITE} (?:to )?(?P<reader>{_MARK}){_TOPIC}",
        rf"{_WHAT} (?P<who>{_MARK}) {_SAY}{_TO_US}{_TOPIC}",
        rf"{_WHAT} (?P<who>{_MARK}) {_WRITE}{_TO_US} {_ON} (?P<topic>\S.*)",
        rf"{_GIVE}{_ALL}{_NOUN} (?:that )?(?:from|by|of|sent by|written by|posted by) (?P<who>{_MARK}){_TOPIC}",
        rf"{_GIVE}{_ALL}{_NOUN} (?:(?:from|by) (?P<who>{_MARK}) )?to (?P<reader>{_MARK}){_TOPIC}",
        rf"{_GIVE}(?P<who>{_MARK}) 's {_ALL}{_NOUN}{_TOPIC}",
        rf"{_GIVE}{_ALL}{_NOUN}{_TOPIC}",
        rf"(?P<author>who) (?:{_SAY}|{_WRITE})(?: (?:anything|something|me|us|{_MARK}))? (?:about|regarding|concerning) (?P<topic>\S.*)",
    )
)
# With a place in mail or Slack these ask for words too: `what did Robin write in #general`.
_THERE = tuple(
    re.compile(f"^{pattern}$")
    for pattern in (
        rf"{_WHAT} (?P<who>{_MARK}) {_WRITE}{_TO_US}",
        rf"what (?:is|are|was|were|has been|got) (?:{_SAY}|{_WRITE}|discussed){_TOPIC}",
        r"what (?:happened|happens|is happening|has happened)",
        rf"(?P<author>who) (?:{_SAY}|{_WRITE})(?: (?:anything|something))?",
    )
)
# Words of these questions that are nobody's name.
WORDS = frozenset(
    [word for noun in _NOUNS for part in noun.split(" ") for word in (part, f"{part}s")]
    + """say says said saying tell tells told mention mentioned mentioning post posted ask asked reply replied answer answered
    explain explained write writes wrote written send sent mailed emailed talk talked anything something discussed happened happens happening""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Said:
    """What is asked for.

    Args:
        question: Its window, sources and place.
        speaker: Whose words; None for anybody's.
        reader: Whom they were written to, or name; None for anybody.
        topic: What they are about, as written; empty for anything.
        kinds: Kinds of item; empty for any.
        authors: Who said it is asked for, not what.
    """

    question: Question
    speaker: Mark | None
    reader: Mark | None
    topic: str
    kinds: tuple[str, ...]
    authors: bool = False


def make(question: Question) -> Said | None:
    """Read a marked question as one about what somebody said; None where it is another."""
    text = re.sub(r"\s+", " ", question.text).strip(" ?.!,;:")
    there = bool(question.sources or question.channel or question.folder)
    for pattern in (*_PATTERNS, *(_THERE if there else ())):
        match = pattern.match(text)
        if match is None:
            continue
        found = match.groupdict()
        topic = re.sub(_MARK, lambda mark: question.marks[int(mark[0][1:])].text, found.get("topic") or "")
        who, noun = found.get("who"), found.get("noun")
        speaker = question.marks[int(who[1:])] if who else question.speaker
        reader = question.marks[int(found["reader"][1:])] if found.get("reader") else None
        if noun and not (who or reader or topic or there or question.window.bounded or question.speaker):
            return None  # `emails` is a word to search by
        return Said(question, speaker, reader, topic, _NOUNS[noun] if noun else (), authors=bool(found.get("author")))
    return None
