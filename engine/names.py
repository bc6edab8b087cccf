"""How names are compared: one normal form for the graph that stores names and the reading that looks them up."""

from __future__ import annotations

import re
import unicodedata

_SPACE = re.compile(r"[\s_\-\u2010-\u2015\u00ad\u200b\ufeff]+")
_POSSESSIVE = re.compile(r"(?<=\w)'s$")  # of `James'` the edge rule takes the apostrophe
_ARTICLES = ("the ", "a ", "an ")
# Punctuation that belongs to a name where it stands at its edge: C++, C#, .NET
_KEPT_START = "."
_KEPT_END = "+#"


def normal(name: str) -> str:
    """Return the form under which two spellings are one name.

    NFKC, case folded; leading articles, surrounding punctuation and a closing possessive are taken off; white space,
    hyphens and underscores become one space. Idempotent. A name made of punctuation alone keeps its folded form, so
    that it is never empty unless nothing but space was given.
    """
    folded = _folded(name)
    previous = None
    result = folded
    while result != previous:
        previous = result
        result = _stripped(result)
    return result or folded


def _folded(text: str) -> str:
    """Fold until nothing moves: case folding can undo NFKC and the other way round."""
    previous = None
    while text != previous:
        previous = text
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        text = _SPACE.sub(
            " ", text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("\N{LEFT SINGLE QUOTATION MARK}", "'")
        ).strip()
    return text


def _stripped(text: str) -> str:
    start, stop = 0, len(text)
    while start < stop and not text[start].isalnum() and not _keeps_start(text, start, stop):
        start += 1
    while stop > start and not text[stop - 1].isalnum() and text[stop - 1] not in _KEPT_END:
        # A combining mark or vowel sign at the end is part of its letter.
        if unicodedata.category(text[stop - 1]).startswith("M"):
            break
        stop -= 1
    text = _POSSESSIVE.sub("", text[start:stop])
    for article in _ARTICLES:
        if text.startswith(article) and text.removeprefix(article).strip():
            text = text.removeprefix(article)
            break
    return text.strip()


def _keeps_start(text: str, start: int, stop: int) -> bool:
    return text[start] in _KEPT_START and start + 1 < stop and text[start + 1].isalnum()
