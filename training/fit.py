"""Fits a linear classifier to instances of named features; needs SciPy, which nothing that ships does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from ctxsync.engine.extraction.learned.linear import Linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# A feature whose every weight is under this only takes space.
LIGHT = 0.02


def fit(
    rows: Sequence[Sequence[str]],
    labels: Sequence[str],
    *,
    weights: Sequence[float] | None = None,
    least: int = 2,
    strength: float = 0.1,
    steps: int = 60,
) -> Linear:
    """Return the multinomial logistic regression of the instances, by L-BFGS with an L2 penalty.

    Args:
        rows: Features of each instance.
        labels: Class of each instance.
        weights: How much each instance counts; all the same when None.
        least: A feature that fewer instances have is left out.
        strength: Inverse of the strength of the penalty.
        steps: Most iterations.
    """
    counts = Counter(name for row in rows for name in row)
    index = {name: k for k, name in enumerate(sorted(name for name, count in counts.items() if count >= least))}
    columns: list[int] = []
    starts = [0]
    for row in rows:
        columns += [index[name] for name in row if name in index]
        starts.append(len(columns))
    x: Any = csr_matrix((np.ones(len(columns), np.float32), columns, starts), shape=(len(rows), len(index)))
    xt = x.T.tocsr()
    classes = sorted(set(labels))
    number = {name: k for k, name in enumerate(classes)}
    truth = np.array([number[label] for label in labels])
    counted = np.ones(len(rows), np.float32) if weights is None else np.asarray(weights, np.float32)
    size, width, every = len(index), len(classes), np.arange(len(rows))

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        table = flat[: size * width].reshape(size, width).astype(np.float32)
        scores = x @ table + flat[size * width :].astype(np.float32)
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        total = chances.sum(axis=1, keepdims=True)
        value = float((counted * (np.log(total[:, 0]) - scores[every, truth])).sum())
        chances /= total
        chances[every, truth] -= 1
        chances *= counted[:, None]
        slope = xt @ chances + table / strength
        value += 0.5 / strength * float((table * table).sum())
        return value, np.concatenate([slope.ravel(), chances.sum(axis=0)]).astype(np.float64)

    start = np.zeros(size * width + width)
    flat = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 6}).x
    table = flat[: size * width].reshape(size, width).astype(np.float32)
    heavy = np.abs(table).max(axis=1) >= LIGHT
    names = [name for name, keep in zip(index, heavy, strict=True) if keep]
    bias = flat[size * width :].astype(np.float32)
    return Linear(classes, {name: k for k, name in enumerate(names)}, np.vstack([table[heavy], bias[None, :]]))


def platt(chances: Sequence[float], right: Sequence[bool]) -> tuple[float, float]:
    """Return slope and offset of the log-odds at which chances come true (Platt 1999)."""
    from ctxsync.engine.extraction.learned.calibration import log_odds

    odds = np.array([log_odds(chance) for chance in chances])
    truth = np.array(right, dtype=np.float64)

    def loss(line: NDArray[np.float64]) -> float:
        score = line[0] * odds + line[1]
        return float((np.logaddexp(0, score) - truth * score).sum())

    slope, offset = minimize(loss, np.array([1.0, 0.0]), method="BFGS").x
    return float(slope), float(offset)
