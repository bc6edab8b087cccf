"""How facts, entities and passages read on a terminal; takes inert JSON shapes, knows no command."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ctxsync.cli.inert import one_line
from ctxsync.cli.output import joined, line
from ctxsync.cli.times import day_words, is_past, validity_words

if TYPE_CHECKING:
    from ctxsync.cli.output import Out, Part
    from ctxsync.engine.extraction.lexicon import Lexicon
    from ctxsync.engine.schema import Schema

DIM = "dim"
STRONG = "bold"
PAST = "yellow"
MARK = "bold underline"
_SNIPPET = 280
_QUOTE = 320
_ID = 12
_TITLE = 60
_WORDED = frozenset({"commit", "message", "mail", "message-id"})  # keys of what is named by its own words
_WORD = re.compile(r"\w{2,}")
_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "was",
        "are",
        "who",
        "what",
        "when",
        "where",
        "which",
        "why",
        "how",
        "does",
        "did",
        "has",
        "have",
        "had",
        "with",
        "from",
        "that",
        "this",
        "our",
        "your",
        "is",
        "of",
        "in",
        "on",
        "at",
        "to",
        "an",
        "by",
        "be",
        "as",
        "it",
        "or",
        "we",
    ]
)


def sentence(fact: dict[str, Any]) -> str:
    """Return a fact as a sentence without its full stop: `Nadia Okoro works at Fennel Labs`."""
    words = fact.get("phrase") or str(fact.get("relation", "")).replace("_", " ")
    head, tail = named(fact["head"]), named(fact["tail"])
    direction, noun = _reading(words, fact.get("phrase_class") or "")
    left, right = (head, tail) if direction == 1 else (tail, head)
    return one_line(f"{left}: {words} {right}" if noun else f"{left} {words} {right}")


@cache
def _reading(phrase: str, phrase_class: str) -> tuple[int, bool]:
    """Return how a fact's phrase stands between its ends: 1 `head phrase tail`, -1 the other way; and if it is a noun.

    A fact keeps the words of the text: `leads` in "Tomas leads Project Heron" stands in front of that fact's head.
    """
    lexicon, schema = _language()
    known = schema.classes.get(phrase_class)
    if known is not None and phrase.casefold() in {*known.nouns, *known.inverse_nouns}:
        return (1 if phrase.casefold() in known.nouns else -1), True
    return next((match.direction for match in lexicon.find(phrase) if match.phrase_class == phrase_class), 1), False


def named(entity: dict[str, Any]) -> str:
    """Return an entity's name; a commit's or a message's, which is its subject or first words, in quotes."""
    worded = not _WORDED.isdisjoint(entity.get("keys") or {})
    return f"“{shorten(entity['name'], _TITLE)}”" if worded else str(entity["name"])


@cache
def _language() -> tuple[Lexicon, Schema]:
    from ctxsync.engine.extraction.lexicon import Lexicon
    from ctxsync.engine.schema import universal

    return Lexicon(universal()), universal()


def held_words(fact: dict[str, Any]) -> str:
    """Return when a fact held; what a commit or a meeting did is done on its day and lasts no time."""
    first, last = fact.get("valid_from"), fact.get("valid_to")
    if "Event" in (fact["head"]["type"], fact["tail"]["type"]) and (not last or day_words(first) == day_words(last)):
        return f"on {day_words(first)}" if first else ""
    return validity_words(fact.get("valid_from"), fact.get("valid_to"))


def state_of(fact: dict[str, Any], *, now: int) -> str:
    """Return why a fact is not current, in words; empty when it is."""
    if fact.get("retracted_at"):
        return f"no longer stated since {day_words(fact['retracted_at'])}"
    if fact.get("current"):
        return ""
    if fact.get("valid_from") and not is_past(fact["valid_from"], now=now):
        return "not yet"
    if is_past(fact.get("valid_to"), now=now):
        by = fact.get("superseded_by")
        reason = "" if fact.get("reason") == "stated" else one_line(str(fact.get("reason") or ""))
        return joined(["in the past", f"superseded by {short(by)}" if by else reason], ", ")
    return ""


def short(identity: str) -> str:
    """Return the beginning of an id, as much as commands need to find it again."""
    return identity[:_ID]


def fact_line(out: Out, fact: dict[str, Any], *, now: int, indent: int = 0, with_id: bool = True) -> None:
    """Print a fact: the sentence, when it held, why it is not current, its id."""
    state = state_of(fact, now=now)
    when = held_words(fact)
    line(
        out,
        (sentence(fact), DIM if state else STRONG),
        f", {when}" if when else "",
        (f"  [{state}]" if state else "", PAST),
        (f"  {short(fact['id'])}" if with_id else "", DIM),
        indent=indent,
        hang=4,
    )


def confidence(document: dict[str, Any]) -> str:
    """Return `confidence 0.92`; empty when there is none."""
    value = document.get("confidence")
    return f"confidence {value:.2f}" if isinstance(value, (int, float)) else ""


def supports(out: Out, fact: dict[str, Any], *, indent: int = 4, most: int = 2) -> None:
    """Print where a fact is stated: locator, date, confidence, quote."""
    stated = fact.get("support") or []
    for index, support in enumerate(stated[:most]):
        where = [place_of(support), day_words(support.get("occurred_at")), confidence(fact) if index == 0 else ""]
        line(out, (joined(where), "cyan"), indent=indent)
        quote(out, support.get("quote"), indent=indent)
    if len(stated) > most:
        line(out, (f"and {len(stated) - most} more: ctxsync why {short(fact['id'])}", DIM), indent=indent)


def place_of(document: dict[str, Any]) -> str:
    """Return `source: locator`."""
    locator, source = one_line(document.get("locator") or ""), one_line(document.get("source") or "")
    return f"{source}: {locator}" if source and locator else locator or source


def quote(out: Out, text: str | None, *, indent: int) -> None:
    """Print a quoted text on one flow of lines, cut when long; nothing when it is empty."""
    words = one_line(text or "")
    if words:
        line(out, f"“{shorten(words, _QUOTE)}”", indent=indent)


def shorten(text: str, most: int) -> str:
    """Return the text, cut at a word with an ellipsis when it is longer than `most` characters."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut[most // 2 :] else cut} …"


def passage(out: Out, found: dict[str, Any], *, terms: list[str], number: int = 0) -> None:
    """Print a passage: title, where and when, and a snippet with the terms marked."""
    mark = f"{number}. " if number else ""
    line(out, mark, (one_line(found.get("title") or found.get("subject") or "(untitled)"), STRONG))
    author = found.get("author")
    name = author.get("name", "") if isinstance(author, dict) else author or ""
    where = [place_of(found), day_words(found.get("occurred_at")), one_line(str(name))]
    line(out, (joined(where), "cyan"), indent=4)
    line(out, *marked(snippet(found.get("text") or "", terms), terms), indent=4)


def marked(text: str, terms: list[str]) -> list[Part]:
    """Return the text as parts, words that begin with a term in bold."""
    if not terms:
        return [text]
    pattern = "|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True))
    pieces = re.split(rf"(?i)(\b(?:{pattern})\w*)", text)
    return [(piece, MARK) if index % 2 else piece for index, piece in enumerate(pieces)]


def terms_of(query: str) -> list[str]:
    """Return the words of a query worth marking, cut to a stem-like beginning."""
    words = [word.casefold() for word in _WORD.findall(query)]
    return sorted(
        {word[:-1] if len(word) > 4 and word.endswith("s") else word for word in words if word not in _COMMON}
    )


def snippet(text: str, terms: list[str]) -> str:
    """Return a stretch of the text around its first term, on one line."""
    flat = one_line(text)
    if len(flat) <= _SNIPPET:
        return flat
    places = [match.start() for term in terms if (match := re.search(rf"(?i)\b{re.escape(term)}", flat))]
    start = max(min(places, default=0) - _SNIPPET // 3, 0)
    if start:
        start = flat.find(" ", start) + 1 or start
    return ("… " if start else "") + shorten(flat[start:], _SNIPPET)


def entity_head(out: Out, entity: dict[str, Any]) -> None:
    """Print who or what an entity is: name, type, other names, keys, id."""
    line(
        out,
        (one_line(entity["name"]), STRONG),
        f"  {entity.get('type', '')}",
        (f"  {short(entity.get('id', ''))}", DIM),
    )
    keys = entity.get("keys") or {}
    said = {entity["name"], *(_values(value) for value in keys.values())}  # an address without a name is its own name
    others = [one_line(name) for name in entity.get("names") or [] if name not in said]
    if others:
        line(out, (f"also called {', '.join(others)}", DIM), indent=4)
    told = [f"{kind} {one_line(_values(value))}" for kind, value in sorted(keys.items())]
    if told:
        line(out, (" · ".join(told), DIM), indent=4)


def _values(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
