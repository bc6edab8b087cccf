"""A linear classifier over named features: multinomial logistic regression, read from a file; knows no text.

Training is in `training/`; what ships is a table of weights that a person can read back: a feature's name and its
weight for each class.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray


class Linear:
    """Class probabilities from the features that are present.

    Args:
        classes: Names of the classes.
        index: Row of each known feature; features that training did not keep are unknown and say nothing.
        weights: float32 of shape (len(index) + 1, len(classes)); the last row is the bias.
    """

    def __init__(self, classes: Sequence[str], index: Mapping[str, int], weights: NDArray[np.float32]) -> None:
        self.classes = tuple(classes)
        self._index = index
        self._weights = weights

    def probabilities(self, rows: Sequence[Iterable[str]]) -> NDArray[np.float32]:
        """Return float32 of shape (len(rows), len(classes)): the softmax of the summed weights of each row's features."""
        if not rows:
            return np.empty((0, len(self.classes)), dtype=np.float32)
        # All rows' weights are gathered and summed at once; each row begins with the bias, so that none is empty.
        bias, get = len(self._index), self._index.get
        known: list[int] = []
        starts: list[int] = []
        for features in rows:
            starts.append(len(known))
            known.append(bias)
            known += [at for at in map(get, features) if at is not None]
        scores = np.add.reduceat(self._weights.take(known, axis=0), starts, axis=0)
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        result: NDArray[np.float32] = scores / scores.sum(axis=1, keepdims=True)
        return result

    def without(self, prefix: str) -> Linear:
        """Return the classifier without the features whose names begin with `prefix`."""
        names = [name for name in self._index if not name.startswith(prefix)]
        rows = [*(self._index[name] for name in names), len(self._index)]
        return Linear(self.classes, {name: k for k, name in enumerate(names)}, self._weights[rows])

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the classifier as arrays for `numpy.savez`, under names that begin with `prefix`."""
        names = "\n".join(sorted(self._index, key=self._index.__getitem__)).encode()
        return {
            f"{prefix}.classes": np.frombuffer(json.dumps(self.classes).encode(), dtype=np.uint8),
            f"{prefix}.features": np.frombuffer(names, dtype=np.uint8),
            f"{prefix}.weights": self._weights.astype(np.float16),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Linear:
        """Return the classifier that `arrays` made."""
        names = arrays[f"{prefix}.features"].tobytes().decode().split("\n")
        classes = json.loads(arrays[f"{prefix}.classes"].tobytes())
        return cls(classes, {name: k for k, name in enumerate(names)}, arrays[f"{prefix}.weights"].astype(np.float32))
