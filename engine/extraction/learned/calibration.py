"""From a model's score to a confidence that means something: of statements at 0.8, about four in five are right.

Platt scaling (1999): the log-odds of the score, stretched and moved by two numbers that were fitted on texts that the
model had not seen.
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

    from ctxsync.engine.extraction.learned.sights import Sight

_LEAST = 1e-4


def log_odds(chance: float) -> float:
    """Return the log-odds of a chance, bounded."""
    chance = min(1 - _LEAST, max(_LEAST, chance))
    return math.log(chance / (1 - chance))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Slope and offset for statements of named things, and for those with a bare noun (`job`, `copy`) at an end.

    A bare noun stands for something that is named elsewhere, and its statement is as often about another thing as the text
    tells.
    """

    slope: float = 1.0
    offset: float = 0.0
    bare_slope: float = 1.0
    bare_offset: float = 0.0

    def statement(self, chance: float, *, bare: bool = False) -> float:
        """Return the confidence of a statement, 0 to 1."""
        slope, offset = (self.bare_slope, self.bare_offset) if bare else (self.slope, self.offset)
        return 1 / (1 + math.exp(-(slope * log_odds(chance) + offset)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return it as arrays for `numpy.savez`."""
        return {"calibration": np.array((self.slope, self.offset, self.bare_slope, self.bare_offset), dtype=np.float64)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration:
        """Return what `arrays` made."""
        return cls(*(float(value) for value in arrays["calibration"]))


def is_bare(*sights: Sight) -> bool:
    """Say whether one of two mentions is of a thing that has no name but one common noun."""
    return any(sight.kind == "noun" and " " not in sight.thing.name for sight in sights)
