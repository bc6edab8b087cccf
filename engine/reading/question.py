"""A person's words become marked text: tokens, entities, time, source and speaker filters taken out; no relation yet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import words as english
from ctxsync.engine.names import normal
from ctxsync.engine.reading import grammar, linking, times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.engine.reading.reader import AsOf, Reader

# A question longer than this is a text to search by.
MAX_TOKENS = 64
MAX_CHARACTERS = 2000
# Names of more words than this are titles: found by search.
MAX_NAME = 8

_TOKEN = re.compile(r'"[^"]+"|\S+')
_EDGES = '?!.,;:"()[]{}<>*`\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}'
_WH = ("who", "whom", "what", "which", "where", "when", "whose", "why", "how")
# Words that are never a name of their own in a question.
_STOP = (
    english.PREPOSITIONS
    | english.BE_FORMS
    | english.ARTICLES
    | english.AUXILIARIES
    | frozenset(_WH)
    | frozenset(
        [
            "'s",
            "and",
            "or",
            "not",
            "no",
            "does",
            "did",
            "has",
            "have",
            "had",
            "i",
            "me",
            "my",
            "mine",
            "we",
            "us",
            "our",
            "you",
            "your",
            "he",
            "she",
            "it",
            "they",
            "them",
            "their",
            "his",
            "her",
            "its",
            "this",
            "that",
            "these",
            "those",
            "there",
            "here",
            "if",
            "then",
            "than",
            "so",
            "such",
            "some",
            "any",
            "all",
            "each",
            "every",
            "many",
            "much",
            "more",
            "most",
            "ever",
            "please",
            "tell",
            "show",
            "list",
            "give",
            "find",
            "name",
            "count",
            "number",
            "about",
            "called",
            "know",
            "now",
            "currently",
            "still",
            "first",
            "last",
            "latest",
            "before",
            "after",
            "used",
        ]
    )
)
_SOURCE = re.compile(
    r"(?<!\S)(?:in|from|within|according to|using) (?:(?:my|our|the) )?"
    r"(?:(?P<kind>notes|vault|journal|git|git history|commit messages|commit history)(?= |$)(?! (?:source|vault))|(?P<name>\S+) (?:source|vault)|source (?P<last>\S+))(?!\S)"
)
_SPEAKER = re.compile(r"(?<!\S)according to (?P<who>.+?)(?=,| who | what | where | when | which | does | is |$)")
_KINDS = {"notes": "notes", "vault": "notes", "journal": "notes"}
SOURCES = "SELECT name, kind FROM source WHERE removed = 0 ORDER BY name"


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the question: as written, and in lower case without punctuation at its edges."""

    raw: str
    low: str


@dataclass(slots=True)
class Mark:
    """Where the question names something.

    Args:
        text: As written.
        gram: Its normal form.
        entities: Who bears that name; empty where nobody does.
        guessed: The name that was read instead of a misspelt one; empty otherwise.
    """

    text: str
    gram: str
    entities: list[int]
    guessed: str = ""


@dataclass(slots=True)
class Question:
    """The parts of a question.

    Args:
        text: Marked text for `grammar.parse`.
        marks: What `@0`, `@1` … stand for.
        window: What it says of time.
        sources: Names of the sources that it asks in; empty means all.
        speaker: Who is to have said it; None where nobody in particular.
    """

    text: str
    marks: list[Mark]
    window: times.Window
    sources: list[str] = field(default_factory=list)
    speaker: Mark | None = None


def read(reader: Reader, text: str, as_of: AsOf) -> Iterator[Question]:
    """Yield the ways to read a question, the surest first; none where it is too long or names nothing."""
    tokens = tokenise(text[: MAX_CHARACTERS + 1])
    if not tokens or len(tokens) > MAX_TOKENS or len(text) > MAX_CHARACTERS:
        return
    tokens = _without_politeness(tokens)
    taken: set[int] = set()
    low, starts = _joined(tokens)
    sources = _sources(reader, low, starts, taken)
    speaker = _speaker(reader, tokens, low, starts, taken, as_of)
    window = times.find(low, as_of.now)
    spans = _spans(reader, tokens, taken, as_of)
    timed = {index for start, stop in window.spans for index in _covered(starts, low, start, stop)}
    # Time words win over names made of nothing else (`2024`), and lose to names that hold more (`Q3 2024 planning`).
    spans = [span for span in spans if not set(span[0]) <= timed]
    inside = {index for span, _, _ in spans for index in span}
    if timed & inside:
        kept = [part for part in window.spans if not set(_covered(starts, low, *part)) & inside]
        window = times.find(_blanked(low, [part for part in window.spans if part not in kept]), as_of.now)
        timed = {index for part in window.spans for index in _covered(starts, low, *part)}
    taken |= timed
    strong, weak = _chosen(reader, tokens, spans)
    tried: list[list[tuple[range, list[int], str]]] = []
    for choice in (strong, strong + weak):
        ordered = sorted(choice, key=lambda span: span[0].start)
        if ordered not in tried:
            tried.append(ordered)
            yield _marked(reader, tokens, taken, ordered, window, sources, speaker, as_of)
    unknown = _unknown(reader, tokens, taken, strong, as_of)
    if unknown:
        yield _marked(
            reader,
            tokens,
            taken,
            sorted(strong + unknown, key=lambda span: span[0].start),
            window,
            sources,
            speaker,
            as_of,
        )


def tokenise(text: str) -> list[Token]:
    """Split a question into words; a closing possessive and the `is` of `who's` become words of their own."""
    text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("\N{LEFT SINGLE QUOTATION MARK}", "'")
    text = re.sub(r"[\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}]", '"', text)
    tokens: list[Token] = []
    for raw in _TOKEN.findall(text):
        word = raw.strip(_EDGES)
        if not word:
            continue
        low = word.casefold()
        if low.endswith("'s") and low[:-2] in (*_WH, "that", "there", "it"):
            tokens += [Token(word[:-2], low[:-2]), Token("is", "is")]
        elif low.endswith("'s") and len(low) > 2:
            tokens += [Token(word[:-2], low[:-2]), Token("'s", "'s")]
        elif low.endswith("s'") and len(low) > 2:
            tokens += [Token(word[:-1], low[:-1]), Token("'s", "'s")]
        elif low.endswith("n't") and low != "can't":
            tokens += [Token(word[:-3], low[:-3]), Token("not", "not")]
        else:
            tokens.append(Token(word, low.lstrip("@")))
    return [token for token in tokens if token.low]


def _without_politeness(tokens: list[Token]) -> list[Token]:
    low, _ = _joined(tokens)
    rest = grammar.POLITE.sub("", low)
    return tokens[len(tokens) - len(rest.split(" ")) :] if rest != low and " " in rest else tokens


def _joined(tokens: Sequence[Token]) -> tuple[str, list[int]]:
    """Return the lower-case text and where each token starts in it. A quoted token's spaces count as no break."""
    starts: list[int] = []
    text = ""
    for token in tokens:
        text += " " if text else ""
        starts.append(len(text))
        text += token.low.replace(" ", "\N{NO-BREAK SPACE}")
    return text, starts


def _covered(starts: Sequence[int], text: str, start: int, stop: int) -> list[int]:
    """Return the tokens that a character range touches."""
    ends = [*(begin - 1 for begin in starts[1:]), len(text)]
    return [index for index, (a, b) in enumerate(zip(starts, ends, strict=True)) if a < stop and start < b]


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, stop in spans:
        text = text[:start] + "_" * (stop - start) + text[stop:]
    return text


def _sources(reader: Reader, low: str, starts: list[int], taken: set[int]) -> list[str]:
    match = _SOURCE.search(low)
    if match is None:
        return []
    known = reader.rows(SOURCES, {})
    named = match["name"] or match["last"]
    if named:
        found = [name for name, _ in known if name.casefold() == named]
    else:
        found = [name for name, kind in known if kind == _KINDS.get(match["kind"], "git")]
    if found:
        taken.update(_covered(starts, low, *match.span()))
    return found


def _speaker(
    reader: Reader, tokens: list[Token], low: str, starts: list[int], taken: set[int], as_of: AsOf
) -> Mark | None:
    match = _SPEAKER.search(low)
    if match is None or set(_covered(starts, low, *match.span())) & taken:
        return None
    covered = _covered(starts, low, *match.span("who"))
    text = " ".join(tokens[index].raw for index in covered)
    if text.lower() in ("me", "i", "myself"):
        found = linking.owner(reader, as_of.position)
    else:
        found = linking.resolve(reader, text, as_of.position)
    taken.update(_covered(starts, low, *match.span()))
    return Mark(text, normal(text), found)


_Span = tuple[range, list[int], str]


def _spans(reader: Reader, tokens: Sequence[Token], taken: set[int], as_of: AsOf) -> list[_Span]:
    """Return every run of words that is a name, with its entities."""
    runs: dict[str, list[range]] = {}
    for start in range(len(tokens)):
        for stop in range(start + 1, min(start + MAX_NAME, len(tokens)) + 1):
            if stop - 1 in taken:
                break
            part = tokens[start:stop]
            if part[0].low in _STOP and (stop - start == 1 or part[0].raw[:1].islower()):
                break
            if part[-1].low in _STOP and (stop - start == 1 or part[-1].raw[:1].islower() or part[-1].low == "'s"):
                continue
            gram = normal(_text(part))
            if gram:
                runs.setdefault(gram, []).append(range(start, stop))
    found = linking.named(reader, runs, as_of.position)
    spans: list[_Span] = [(run, entities, gram) for gram, entities in found.items() for run in runs[gram]]
    for gram, places in runs.items():
        # An address, a path or a SHA is an identity key rather than a name.
        if gram not in found and re.search(
            r"@|/|\.\w|#\d|^[0-9a-f]{7,64}$", _text(tokens[places[0].start : places[0].stop])
        ):
            text = _text(tokens[places[0].start : places[0].stop])
            entities = [] if " " in text else linking.keyed(reader, text, as_of.position)
            if entities:
                spans += [(place, entities, gram) for place in places]
    return spans


def _chosen(reader: Reader, tokens: Sequence[Token], spans: list[_Span]) -> tuple[list[_Span], list[_Span]]:
    """Choose spans that do not overlap, the longest first; apart from them those that may as well be plain words."""
    strong: list[_Span] = []
    weak: list[_Span] = []
    used: set[int] = set()
    for sure in (True, False):
        for span in sorted(spans, key=lambda span: (-len(span[0]), span[0].start)):
            if _is_plain(reader, tokens, span[0]) == sure or used & set(span[0]):
                continue
            used |= set(span[0])
            (strong if sure else weak).append(span)
    return strong, weak


def _is_plain(reader: Reader, tokens: Sequence[Token], run: range) -> bool:
    """Say whether a name is also an ordinary word of questions, written small: `work`, `owner`, `notes`."""
    words = [tokens[index] for index in run]
    if any(word.raw[:1].isupper() for word in words) or any(" " in word.low for word in words):
        return False
    text = " ".join(word.low for word in words)
    return (len(words) == 1 and grammar.singular(text) in grammar.KINDS) or bool(reader.lexicon.find(text))


def _unknown(reader: Reader, tokens: Sequence[Token], taken: set[int], strong: list[_Span], as_of: AsOf) -> list[_Span]:
    """Return the runs of words that must be names though nobody bears them, with who is meant where that is clear."""
    inside = {index for span in strong for index in span[0]} | taken
    runs: list[list[int]] = []
    for index, token in enumerate(tokens):
        if index in inside or token.low in _STOP or _is_plain(reader, tokens, range(index, index + 1)):
            continue
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    found: list[_Span] = []
    for run in runs:
        capitals = [index for index in run if tokens[index].raw[:1].isupper()]
        kept = range(capitals[0], capitals[-1] + 1) if capitals else range(run[0], run[-1] + 1)
        gram = normal(_text([tokens[index] for index in kept]))
        entities = linking.starting(reader, gram, as_of.position)
        read_as = gram
        if not entities:
            near = linking.misspelt(reader, gram, as_of.position)
            exact = linking.named(reader, near, as_of.position)
            entities = sorted({entity for ids in exact.values() for entity in ids})
            read_as = near[0] if near else gram
        found.append((kept, entities, read_as))
    return found


def _marked(
    reader: Reader,
    tokens: Sequence[Token],
    taken: set[int],
    spans: list[_Span],
    window: times.Window,
    sources: list[str],
    speaker: Mark | None,
    as_of: AsOf,
) -> Question:
    starts = {span[0].start: span for span in spans}
    inside = {index for span in spans for index in span[0]}
    marks: list[Mark] = []
    parts: list[str] = []
    for index, token in enumerate(tokens):
        if index in starts:
            run, entities, gram = starts[index]
            text = _text(tokens[run.start : run.stop])
            parts.append(f"@{len(marks)}")
            marks.append(Mark(text, gram, entities, gram if normal(text) != gram else ""))
        elif index in inside or index in taken:
            continue
        elif token.low in ("i", "me", "my", "mine", "myself") and not _is_politeness(tokens, index):
            parts.append(f"@{len(marks)}")
            if token.low == "my":
                parts.append("'s")
            marks.append(Mark(token.raw, token.low, linking.owner(reader, as_of.position)))
        else:
            parts.append(token.low)
    return Question(" ".join(parts), marks, window, sources, speaker)


def _is_politeness(tokens: Sequence[Token], index: int) -> bool:
    before = tokens[index - 1].low if index else ""
    following = [token.low for token in tokens[index + 1 : index + 3]]
    return before in ("tell", "show", "give", "find", "list", "remind", "for", "get") or "know" in following


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.raw.strip('"') for token in tokens).replace(" 's", "'s")
