"""Kinds of features of the learned models, each of which can be made to weigh nothing."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxsync.engine.extraction.learned import WEIGHTS, Learned
from evaluation.removable import Removal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def weights() -> dict[str, Any]:
    """Return the learned weights that ship."""
    with resources.files(Learned.__module__).joinpath(WEIGHTS).open("rb") as file, np.load(file) as stored:
        return {name: stored[name] for name in stored.files}


def family(feature: str) -> str:
    """Return the kind of a feature: what stands before its value."""
    return re.split(r"[=:]", feature, maxsplit=1)[0]


def of_features(arrays: Mapping[str, Any]) -> Iterator[Removal]:
    """Yield every kind of feature, in all learned models at once."""
    for name in sorted({family(f) for part in _MODELS for f in _features(arrays, part)}):
        if "|" not in name:
            yield Removal("learned feature", name, None, (name,))


_MODELS = ("entity", "pair", "ends")


def _features(arrays: Mapping[str, Any], part: str) -> list[str]:
    names: list[str] = arrays[f"{part}.features"].tobytes().decode().split("\n")
    return names


def without_feature(arrays: Mapping[str, Any], removal: Removal) -> dict[str, Any]:
    """Return the weights with those of one kind of feature at nothing."""
    (name,) = removal.part
    less = dict(arrays)
    for part in _MODELS:
        table = less[f"{part}.weights"] = arrays[f"{part}.weights"].copy()
        table[[k for k, feature in enumerate(_features(arrays, part)) if family(feature) == name]] = 0
    return less
