"""Cuts long text into windows that a model reads one by one; pure functions over characters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = 160
"""Words in a window. With nine described types before them they stay under the 512 tokens that the encoder learnt on."""
MARGIN = 16
"""Words at a window's edge that its neighbour answers for: more than the longest name (`max_width`, 8 or 12) has."""
CHARACTERS = 2400
"""Characters in a window at most: bounds memory where words are long, and still leaves more than two margins."""
LONGEST_WORD = 64
"""Characters; a longer run is an address or encoded data, and no name."""

# As the library counts: words with their hyphens, and every other sign by itself.
_WORD = re.compile(r"\w+(?:[-_]\w+)*|\S")
_LONG_RUN = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text.

    Args:
        start: Where it begins in the text.
        text: The part.
        first: Names that begin before this place, in the text, are the window's before to find.
        last: Those that begin here or later are the next one's.
    """

    start: int
    text: str
    first: int
    last: int


def prepared(text: str) -> str:
    """Return a text of the same length that a model can read.

    Long runs become spaces and lone surrogates a replacement sign. The library looks for words in the lower-case text
    and counts places there: a letter that becomes two (the Turkish dotted capital I) would shift every name behind it.
    """
    text = _LONG_RUN.sub(lambda run: " " * len(run[0]), _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text))
    if len(text.lower()) == len(text):
        return text
    return "".join(sign if len(sign.lower()) == 1 else "I" for sign in text)


def windows(text: str) -> Iterator[Window]:
    """Yield windows that overlap by two margins; each place of the text is answered for by exactly one."""
    words = [match.span() for match in _WORD.finditer(text)]
    at, first = 0, 0
    while at < len(words):
        start = words[at][0]
        stop = at + 1
        while stop < len(words) and stop - at < WORDS and words[stop][1] - start <= CHARACTERS:
            stop += 1
        is_last = stop == len(words)
        last = len(text) if is_last else words[stop - MARGIN][0]
        yield Window(start, text[start : words[stop - 1][1]], first, last)
        if is_last:
            return
        at, first = stop - 2 * MARGIN, last
