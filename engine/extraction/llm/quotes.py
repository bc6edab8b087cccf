"""Where the words of a model stand in a text: exactly, but for case, space and typography, or nearly; knows no model."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Indel similarity, 0 to 100, of a quote to the words it stands for. Copies with a slip are over 90 and paraphrases of
# the same length under 80; between them lies a dropped or added word.
NEAR = 88.0
# Fewer characters are near to too much.
_SHORTEST_NEAR = 12
EXACT, NORMALISED, FUZZY = 1.0, 1.0, 0.85
"""What the confidence of a statement is worth by how its quote was found."""

_PLAIN = str.maketrans(
    {
        "\N{LEFT SINGLE QUOTATION MARK}": "'",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{LEFT DOUBLE QUOTATION MARK}": '"',
        "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
        "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}": "<",
        "\N{HORIZONTAL ELLIPSIS}": "...",
        "\N{SOFT HYPHEN}": "",
        "\N{ZERO WIDTH SPACE}": "",
    }
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
)
_EDGES = " \"'`.…"


@dataclass(frozen=True, slots=True)
class Place:
    """A span of the text, and what the way it was found is worth (0 to 1)."""

    start: int
    end: int
    worth: float

    @property
    def span(self) -> tuple[int, int]:
        """Return start and end."""
        return self.start, self.end

    def within(self, ranges: Sequence[tuple[int, int]]) -> bool:
        """Say whether it lies in one of `ranges` altogether."""
        return any(start <= self.start and self.end <= end for start, end in ranges)


class Aligner:
    """Finds words in one text; what is costly is made when first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def quote(self, words: str, outside: Sequence[tuple[int, int]] = ()) -> Place | None:
        """Return where `words` stand, rather not within one of `outside`; None where they do not."""
        words = words.strip()
        if not words:
            return None
        places = self._exact(words) or self._normalised(words) or self._near(words)
        return next((place for place in places if not place.within(outside)), places[0] if places else None)

    def name(self, words: str) -> Place | None:
        """Return where a name stands as whole words; None where it does not."""
        return next(
            (
                place
                for place in (*self._exact(words), *self._normalised(words))
                if not self._inside_word(place.start) and not self._inside_word(place.end)
            ),
            None,
        )

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the words of the text, folded."""
        return frozenset(_words(self._folded[0]))

    def has_words(self, name: str) -> bool:
        """Say whether each word of a name stands somewhere in the text."""
        wanted = _words(_fold(name)[0])
        return bool(wanted) and all(word in self.words for word in wanted)

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return _fold(self.text)

    def _inside_word(self, at: int) -> bool:
        return 0 < at < len(self.text) and self.text[at - 1].isalnum() and self.text[at].isalnum()

    def _exact(self, words: str) -> list[Place]:
        return [Place(at, at + len(words), EXACT) for at in _all(self.text, words)]

    def _normalised(self, words: str) -> list[Place]:
        text, origin = self._folded
        sought = _fold(words)[0].strip(_EDGES)
        return [self._place(at, at + len(sought), origin, NORMALISED) for at in _all(text, sought)] if sought else []

    def _near(self, words: str) -> list[Place]:
        from rapidfuzz import fuzz

        text, origin = self._folded
        sought = _fold(words)[0].strip(_EDGES)
        if len(sought) < _SHORTEST_NEAR or not text:
            return []
        found = fuzz.partial_ratio_alignment(sought, text, score_cutoff=NEAR)
        # A quote far longer than the text is not in it, however near the text is to a part of it.
        if found is None or found.dest_end <= found.dest_start or len(sought) > 1.25 * len(text):
            return []
        return [self._place(found.dest_start, found.dest_end, origin, FUZZY)]

    def _place(self, start: int, end: int, origin: list[int], worth: float) -> Place:
        first, last = origin[start], origin[end - 1] + 1
        while self._inside_word(first):
            first -= 1
        while self._inside_word(last):
            last += 1
        return Place(first, last, worth)


def _all(text: str, sought: str) -> list[int]:
    found: list[int] = []
    at = text.find(sought) if sought else -1
    while at >= 0 and len(found) < 20:
        found.append(at)
        at = text.find(sought, at + 1)
    return found


def _words(folded: str) -> list[str]:
    return "".join(char if char.isalnum() else " " for char in folded).split()


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the text without case, typography and runs of space, and where each of its characters came from."""
    chars: list[str] = []
    origin: list[int] = []
    for index, char in enumerate(text):
        plain = unicodedata.normalize("NFKC", char.translate(_PLAIN)).casefold()
        for piece in plain:
            if not piece.isspace():
                chars.append(piece)
            elif chars and chars[-1] != " ":
                chars.append(" ")
            else:
                continue
            origin.append(index)
    return "".join(chars), origin
