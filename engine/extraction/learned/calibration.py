"""From a model's score to a confidence that means something: of statements at 0.8 or more, about four in five are right.

Platt scaling (1999): the log-odds of the score, stretched and moved by two numbers that were fitted on texts that the
model had not seen. The surest are one bin, as in histogram binning (Zadrozny and Elkan 2001): from where on four in five
are right as a whole, a confidence is 0.8 or more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

_LEAST = 1e-4


def log_odds(chance: float) -> float:
    """Return the log-odds of a chance, bounded."""
    chance = min(1 - _LEAST, max(_LEAST, chance))
    return math.log(chance / (1 - chance))


SURE = 0.8


@dataclass(frozen=True, slots=True)
class Calibration:
    """Lines for statements of named things and for those with a bare noun (`job`, `copy`) at an end, and where the sure begin.

    A bare noun stands for something that is named elsewhere, and its statement is as often about another thing as the text
    tells.

    Args:
        slope: Of the line of named things.
        offset: Of it.
        bare_slope: Of the line of bare nouns.
        bare_offset: Of it.
        sure: The chance on its line from which a statement is one of the sure.
    """

    slope: float = 1.0
    offset: float = 0.0
    bare_slope: float = 1.0
    bare_offset: float = 0.0
    sure: float = SURE

    def statement(self, chance: float, *, bare: bool = False) -> float:
        """Return the confidence of a statement, 0 to 1."""
        slope, offset = (self.bare_slope, self.bare_offset) if bare else (self.slope, self.offset)
        likely = 1 / (1 + math.exp(-(slope * log_odds(chance) + offset)))
        if likely < self.sure:
            return min(likely, SURE - 0.01)
        return SURE + (1 - SURE) * (likely - self.sure) / (1 - self.sure)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return it as arrays for `numpy.savez`."""
        values = (self.slope, self.offset, self.bare_slope, self.bare_offset, self.sure)
        return {"calibration": np.array(values, dtype=np.float64)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration:
        """Return what `arrays` made."""
        return cls(*(float(value) for value in arrays["calibration"]))
