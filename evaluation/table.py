"""The table that `make eval` prints: lines with a value, its 95 % bootstrap interval, and the least it should be.

Knows no set. Intervals are over the units that were drawn (sentences, episodes, documents), 1000 draws, one seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DRAWS = 1000
HEADINGS = ("set", "what", "value", "95 % interval", "of", "wanted", "holds")


@dataclass(frozen=True, slots=True)
class Line:
    """One figure.

    Args:
        set: Where it was measured; empty for the set of the line above.
        what: What it measures.
        value: The figure; None where the line only says why there is none.
        interval: Its 95 % bootstrap interval, empty where there is none.
        size: What it was measured on.
        least: What it should be at least.
        most: What it should be at most.
        places: Digits behind the point; 0 for counts.
    """

    set: str
    what: str
    value: float | None = None
    interval: str = ""
    size: str = ""
    least: float | None = None
    most: float | None = None
    places: int = 3

    @property
    def holds(self) -> bool | None:
        """Whether the figure is what is wanted; None where nothing is wanted of it."""
        if self.least is None and self.most is None:
            return None
        if self.value is None:
            return False
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)

    def cells(self) -> tuple[str, ...]:
        """Return the line's columns as text."""
        value = "" if self.value is None else f"{self.value:.{self.places}f}"
        wanted = ""
        if self.least is not None:
            wanted = f">= {self.least:.{self.places and 2}f}"
        elif self.most is not None:
            wanted = f"<= {self.most:.{self.places and 2}f}"
        verdict = {True: "yes", False: "NO", None: ""}[self.holds]
        return (self.set, self.what, value, self.interval, self.size, wanted, verdict)


def bounds(units: Sequence[Any], value: Callable[[Sequence[Any]], float]) -> tuple[float, float]:
    """Return the 2.5th and the 97.5th percentile of a value over draws of the units, with replacement."""
    dice = random.Random(0)
    draws = sorted(value(dice.choices(units, k=len(units))) for _ in range(DRAWS))
    return draws[int(0.025 * DRAWS)], draws[int(0.975 * DRAWS)]


def interval(units: Sequence[Any], value: Callable[[Sequence[Any]], float]) -> str:
    """Return the 95 % bootstrap interval of a value over units, as text; empty without units."""
    if not units:
        return ""
    low, high = bounds(units, value)
    return f"{low:.3f} - {high:.3f}"


def ratio(part: float, whole: float) -> float:
    """Return a share, 0 where there is nothing."""
    return part / whole if whole else 0.0


def f1(counts: Sequence[tuple[int, int, int]]) -> float:
    """Return the micro F1 of units, each (hits, found, wanted)."""
    hits, found, wanted = (sum(unit[k] for unit in counts) for k in range(3))
    return ratio(2 * hits, found + wanted)


def rates(counts: Sequence[tuple[int, int, int]]) -> tuple[float, float, float]:
    """Return micro precision, recall and F1 of units, each (hits, found, wanted)."""
    hits, found, wanted = (sum(unit[k] for unit in counts) for k in range(3))
    return ratio(hits, found), ratio(hits, wanted), f1(counts)


def rendered(lines: Sequence[Line]) -> str:
    """Return lines as a table in columns."""
    rows = [HEADINGS, *(line.cells() for line in lines)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def failing(lines: Sequence[Line]) -> list[str]:
    """Return what does not hold, in words; a line without a set belongs to the one above."""
    named, words = "", []
    for line in lines:
        named = line.set or named
        if line.holds is False:
            cells = line.cells()
            words.append(f"{named}: {line.what} is {cells[2] or 'not measured'}, wanted {cells[5]}")
    return words
