"""A person's words become marked text: tokens, entities, time, source and speaker filters taken out; no relation yet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import words as english
from ctxsync.engine.names import normal
from ctxsync.engine.reading import grammar, linking, saying, times
from ctxsync.engine.reading.tokens import WH, Token, blanked, covered, joined, spelt, tokenise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.engine.reading.reader import AsOf, Reader

# A question longer than this is a text to search by.
MAX_TOKENS = 64
MAX_CHARACTERS = 2000
# Names of more words than this are titles: found by search.
MAX_NAME = 8

# Words that are never a name of their own in a question.
_STOP = (
    english.PREPOSITIONS
    | english.BE_FORMS
    | english.ARTICLES
    | english.AUXILIARIES
    | frozenset(WH)
    | english.word_set(
        """'s and or not no does did has have had i me my mine we us our you your he she it they them their his her
        its this that these those there here if then than so such some any all each every many much more most
        ever please tell show list give find name count number about called know now currently still first last
        latest before after used"""
    )
)
_SOURCE = re.compile(
    r"(?<!\S)(?:(?:in|from|within|according to|using) (?:(?:my|our|the) )?"
    r"(?:(?P<kind>notes|vault|journal|git|git history|commit messages|commit history)(?= |$)(?! (?:source|vault))|(?P<name>\S+) (?:source|vault)|source (?P<last>\S+))"
    r"|(?:in|on|over|by|via|from|within|through) (?:(?:my|our|the) )?"
    r"(?P<chat>e?-?mails?|mailbox(?:es)?|inbox|sent (?:e?-?mails?|items|folder|messages)|slack(?: messages)?))(?!\S)"
)
_CHANNEL = re.compile(
    r"(?<!\S)(?:in|on|from|within) (?:(?:my|our|the) )?(?:slack )?"
    r"(?:(?:channel )?(?P<name>#[^\s#]+)(?: channel)?|channel (?P<last>[\w-]+)|(?P<first>[\w-]+) channel)(?!\S)"
)
_SPEAKER = re.compile(r"(?<!\S)according to (?P<who>.+?)(?=,| who | what | where | when | which | does | is |$)")
_KINDS = {"notes": "notes", "vault": "notes", "journal": "notes"}
_MAIL, _SLACK = ("imap", "mailbox"), ("slack", "slack-export")
SOURCES = "SELECT name, kind FROM source WHERE removed = 0 ORDER BY name"


@dataclass(slots=True)
class Mark:
    """Where the question names something.

    Args:
        text: As written.
        gram: Its normal form.
        entities: Who bears that name; empty where nobody does.
        guessed: The name that was read instead of a misspelt one; empty otherwise.
        types: Types of those entities.
        keys: Kinds of identity keys that they have.
    """

    text: str
    gram: str
    entities: list[int]
    guessed: str = ""
    types: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(slots=True)
class Question:
    """The parts of a question.

    Args:
        text: Marked text for `grammar.parse`.
        marks: What `@0`, `@1` … stand for.
        window: What it says of time.
        sources: Names of the sources that it asks in; empty means all.
        speaker: Who is to have said it; None where nobody in particular.
        channel: The start of the threads of the channel that it asks in, `slack:<team>/<id>/`; empty means any.
        folder: `inbox` or `sent`, where it asks in that folder of mail.
    """

    text: str
    marks: list[Mark]
    window: times.Window
    sources: list[str] = field(default_factory=list)
    speaker: Mark | None = None
    channel: str = ""
    folder: str = ""


@dataclass(slots=True)
class _Draft:
    """A question half read: its words, and which of them are used up."""

    reader: Reader
    as_of: AsOf
    tokens: list[Token]
    taken: set[int] = field(default_factory=set)
    window: times.Window = field(default_factory=times.Window)
    sources: list[str] = field(default_factory=list)
    speaker: Mark | None = None
    channel: str = ""
    folder: str = ""
    may_be_named: bool = False


def read(reader: Reader, text: str, as_of: AsOf) -> Iterator[Question]:
    """Yield the ways to read a question, the surest first; none where it is too long or says nothing."""
    tokens = [] if len(text) > MAX_CHARACTERS else tokenise(text)
    if not tokens or len(tokens) > MAX_TOKENS:
        return
    draft = _Draft(reader, as_of, _without_politeness(tokens))
    yield from _readings(draft)
    if draft.may_be_named:
        # "Who works on Slack": the name of a source is that of a thing as well.
        yield from _readings(_Draft(reader, as_of, draft.tokens, may_be_named=True))


def _readings(draft: _Draft) -> Iterator[Question]:
    low, starts = joined(draft.tokens)
    if not draft.may_be_named:
        _find_sources(draft, low, starts)
        _find_channel(draft, low, starts)
    _find_speaker(draft, low, starts)
    spans = _find_times(draft, low, starts, _spans(draft))
    strong, weak = _chosen(draft, spans)
    yield _marked(draft, strong)
    asked = [span for span in weak if span[0].start == 0]  # "notes tagged products": which notes, not one called so
    if asked and len(weak) > len(asked):
        yield _marked(draft, strong + [span for span in weak if span not in asked])
    if weak:
        yield _marked(draft, strong + weak)
    unknown = _unknown(draft, strong)
    if unknown:
        yield _marked(draft, strong + unknown)


def _without_politeness(tokens: list[Token]) -> list[Token]:
    low, _ = joined(tokens)
    rest = grammar.POLITE.sub("", low)
    return tokens[len(tokens) - len(rest.split(" ")) :] if rest != low and " " in rest else tokens


def _find_sources(draft: _Draft, low: str, starts: list[int]) -> None:
    match = _SOURCE.search(low)
    if match is None:
        return
    known = draft.reader.rows(SOURCES, {})
    named = match["name"] or match["last"]
    if named:
        found = [name for name, _ in known if name.casefold() == named]
    elif match["chat"]:
        kinds = _SLACK if match["chat"].startswith("slack") else _MAIL
        found = [name for name, kind in known if kind in kinds]
        draft.may_be_named = bool(found)
        if found and match["chat"].startswith(("inbox", "sent")):
            draft.folder = match["chat"].split(" ")[0]
    else:
        found = [name for name, kind in known if kind == _KINDS.get(match["kind"], "git")]
    if found:
        draft.taken.update(covered(starts, low, *match.span()))
        draft.sources = found


def _find_channel(draft: _Draft, low: str, starts: list[int]) -> None:
    match = _CHANNEL.search(low)
    if match is None or set(covered(starts, low, *match.span())) & draft.taken:
        return
    name = match["name"] or f"#{match['last'] or match['first']}"
    channel = linking.channel(draft.reader, name, draft.as_of.position)
    if channel:
        draft.taken.update(covered(starts, low, *match.span()))
        draft.channel = f"slack:{channel}/"


def _find_speaker(draft: _Draft, low: str, starts: list[int]) -> None:
    match = _SPEAKER.search(low)
    if match is None or set(covered(starts, low, *match.span())) & draft.taken:
        return
    text = " ".join(draft.tokens[index].raw for index in covered(starts, low, *match.span("who")))
    draft.taken.update(covered(starts, low, *match.span()))
    draft.speaker = Mark(text, normal(text), linking.resolve(draft.reader, text, draft.as_of.position))


def _find_times(draft: _Draft, low: str, starts: list[int], spans: list[_Span]) -> list[_Span]:
    """Take the time words, and return the names that stay.

    Time words win over names made of nothing else (`2024`), and lose to names that hold more (`Q3 2024 planning`).
    """
    window = times.find(low, draft.as_of.now)
    timed = {index for part in window.spans for index in covered(starts, low, *part)}
    spans = [span for span in spans if not set(span[0]) <= timed]
    inside = {index for span, _, _ in spans for index in span}
    if timed & inside:
        lost = [part for part in window.spans if set(covered(starts, low, *part)) & inside]
        window = times.find(blanked(low, lost), draft.as_of.now)
        timed = {index for part in window.spans for index in covered(starts, low, *part)}
    draft.window = window
    draft.taken |= timed
    return spans


_Span = tuple[range, list[int], str]


def _spans(draft: _Draft) -> list[_Span]:
    """Return every run of words that is a name, with its entities."""
    tokens, position = draft.tokens, draft.as_of.position
    runs: dict[str, list[range]] = {}
    for start in range(len(tokens)):
        for stop in range(start + 1, min(start + MAX_NAME, len(tokens)) + 1):
            if stop - 1 in draft.taken:
                break
            part = tokens[start:stop]
            if part[0].low in _STOP and (stop - start == 1 or part[0].raw[:1].islower()):
                break
            if part[-1].low in _STOP and (stop - start == 1 or part[-1].raw[:1].islower() or part[-1].low == "'s"):
                continue
            gram = normal(spelt(part))
            if gram:
                runs.setdefault(gram, []).append(range(start, stop))
    found = linking.named(draft.reader, runs, position)
    spans: list[_Span] = [(run, entities, gram) for gram, entities in found.items() for run in runs[gram]]
    for gram, places in runs.items():
        # An address, a path or a SHA is an identity key rather than a name.
        if gram not in found and re.search(
            r"@|/|\.\w|#\d|^[0-9a-f]{7,64}$", spelt(tokens[places[0].start : places[0].stop])
        ):
            text = spelt(tokens[places[0].start : places[0].stop])
            entities = [] if " " in text else linking.keyed(draft.reader, text, position)
            if entities:
                spans += [(place, entities, gram) for place in places]
    return spans


def _chosen(draft: _Draft, spans: list[_Span]) -> tuple[list[_Span], list[_Span]]:
    """Choose spans that do not overlap, the longest first; apart from them those that may as well be plain words."""
    strong: list[_Span] = []
    weak: list[_Span] = []
    used: set[int] = set()
    for sure in (True, False):
        for span in sorted(spans, key=lambda span: (-len(span[0]), span[0].start)):
            if _is_plain(draft, span[0]) == sure or used & set(span[0]):
                continue
            used |= set(span[0])
            (strong if sure else weak).append(span)
    return strong, weak


def _is_plain(draft: _Draft, run: range) -> bool:
    """Say whether a name is also an ordinary word of questions, written small: `work`, `owner`, `notes`."""
    words = [draft.tokens[index] for index in run]
    if any(word.raw[:1].isupper() for word in words) or any(" " in word.low for word in words):
        return False
    text = " ".join(word.low for word in words)
    return (len(words) == 1 and grammar.singular(text) in grammar.KINDS) or bool(
        draft.reader.language.lexicon.find(text)
    )


def _unknown(draft: _Draft, strong: list[_Span]) -> list[_Span]:
    """Return the runs of words that must be names though nobody bears them, with who is meant where that is clear."""
    reader, tokens, position = draft.reader, draft.tokens, draft.as_of.position
    inside = {index for span in strong for index in span[0]} | draft.taken
    runs: list[list[int]] = []
    for index, token in enumerate(tokens):
        if (
            index in inside
            or token.low in _STOP
            or token.low in saying.WORDS
            or _is_plain(draft, range(index, index + 1))
        ):
            continue
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    found: list[_Span] = []
    for run in runs:
        capitals = [index for index in run if tokens[index].raw[:1].isupper()]
        kept = range(capitals[0], capitals[-1] + 1) if capitals else range(run[0], run[-1] + 1)
        gram = normal(spelt([tokens[index] for index in kept]))
        entities = linking.kinded(reader, gram, grammar.APPOSITIVES, position) or linking.starting(
            reader, gram, position
        )
        read_as = gram
        if not entities:
            near = linking.misspelt(reader, gram, position)
            exact = linking.named(reader, near, position)
            entities = sorted({entity for ids in exact.values() for entity in ids})
            read_as = near[0] if near else gram
        found.append((kept, entities, read_as))
    return found


def _marked(draft: _Draft, spans: list[_Span]) -> Question:
    starts = {span[0].start: span for span in spans}
    inside = {index for span in spans for index in span[0]}
    marks: list[Mark] = []
    parts: list[str] = []
    tokens = draft.tokens
    for index, token in enumerate(tokens):
        if index in starts:
            run, entities, gram = starts[index]
            text = spelt(tokens[run.start : run.stop])
            parts.append(f"@{len(marks)}")
            marks.append(Mark(text, gram, entities, gram if normal(text) != gram else ""))
        elif index in inside or index in draft.taken:
            continue
        elif token.low in ("i", "me", "my", "mine", "myself") and not _is_politeness(tokens, index):
            parts.append(f"@{len(marks)}")
            if token.low == "my":
                parts.append("'s")
            marks.append(Mark(token.raw, token.low, linking.owner(draft.reader, draft.as_of.position)))
        else:
            parts.append(token.low)
    text = " ".join(parts)
    return Question(text, marks, draft.window, draft.sources, draft.speaker, draft.channel, draft.folder)


def _is_politeness(tokens: Sequence[Token], index: int) -> bool:
    before = tokens[index - 1].low if index else ""
    following = [token.low for token in tokens[index + 1 : index + 3]]
    return before in ("tell", "show", "give", "find", "list", "remind", "for", "get") or "know" in following
