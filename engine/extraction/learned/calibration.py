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

_LEAST = 1e-4


def log_odds(chance: float) -> float:
    """Return the log-odds of a chance, bounded."""
    chance = min(1 - _LEAST, max(_LEAST, chance))
    return math.log(chance / (1 - chance))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Slope and offset for statements, and for entities."""

    statement_slope: float = 1.0
    statement_offset: float = 0.0
    entity_slope: float = 1.0
    entity_offset: float = 0.0

    def statement(self, chance: float) -> float:
        """Return the confidence of a statement, 0 to 1."""
        return 1 / (1 + math.exp(-(self.statement_slope * log_odds(chance) + self.statement_offset)))

    def entity(self, chance: float) -> float:
        """Return the confidence of an entity, 0 to 1."""
        return 1 / (1 + math.exp(-(self.entity_slope * log_odds(chance) + self.entity_offset)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return it as arrays for `numpy.savez`."""
        values = (self.statement_slope, self.statement_offset, self.entity_slope, self.entity_offset)
        return {"calibration": np.array(values, dtype=np.float64)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration:
        """Return what `arrays` made."""
        return cls(*(float(value) for value in arrays["calibration"]))
