"""A question's words: split, folded and addressed by character ranges; knows no name, no time and no grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WH = ("who", "whom", "what", "which", "where", "when", "whose", "why", "how")
_TOKEN = re.compile(r'"[^"]+"|\S+')
_EDGES = '?!.,;:"()[]{}<>*`\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}'


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the question: as written, and in lower case without punctuation at its edges."""

    raw: str
    low: str


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
        if low.endswith("'s") and low[:-2] in (*WH, "that", "there", "it"):
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


def joined(tokens: Sequence[Token]) -> tuple[str, list[int]]:
    """Return the lower-case text and where each token starts in it. A quoted token's spaces count as no break."""
    starts: list[int] = []
    text = ""
    for token in tokens:
        text += " " if text else ""
        starts.append(len(text))
        text += token.low.replace(" ", "\N{NO-BREAK SPACE}")
    return text, starts


def covered(starts: Sequence[int], text: str, start: int, stop: int) -> list[int]:
    """Return the tokens that a character range touches."""
    ends = [*(begin - 1 for begin in starts[1:]), len(text)]
    return [index for index, (a, b) in enumerate(zip(starts, ends, strict=True)) if a < stop and start < b]


def blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Put a mark that means nothing over these ranges."""
    for start, stop in spans:
        text = text[:start] + "_" * (stop - start) + text[stop:]
    return text


def spelt(tokens: Sequence[Token]) -> str:
    """Return the words as written, a possessive joined to its owner."""
    return " ".join(token.raw.strip('"') for token in tokens).replace(" 's", "'s")
