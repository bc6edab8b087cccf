"""Tier 1's learned models: which phrases are entities of which type, and how the things of a text are related.

They stand on the rules: what the rules state of a pair is evidence among other evidence. What is learned is a table of
weights for named features (`weights.npz`), made by `python -m training` from labelled texts of our own and from Re-DocRED
(MIT; Tan et al. 2022, "Revisiting DocRED").
"""

from __future__ import annotations

from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.learned import instances
from ctxsync.engine.extraction.learned.entity_features import entity_features
from ctxsync.engine.extraction.learned.pair_features import pair_features
from ctxsync.engine.extraction.learned.statements import stated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ctxsync.engine.extraction.cast import Thing
    from ctxsync.engine.extraction.learned.calibration import Calibration
    from ctxsync.engine.extraction.learned.linear import Linear
    from ctxsync.engine.extraction.learned.pair_features import Frame
    from ctxsync.engine.extraction.learned.sights import Sight
    from ctxsync.engine.extraction.learned.statements import Judged
    from ctxsync.engine.extraction.scene import Scene

WEIGHTS = "weights.npz"
NONE = "none"
# A thing this likely to be an entity is kept; under the lower figure its pairs are not even looked at. Set by
# hand, as the open half of the gold set came out.
KEEP, LOOK = 0.5, 0.15
# A statement this likely is made. In texts that the models had not seen, of those from here on three in five were right,
# of those just under it fewer than one in two.
STATE = 0.3
# What a rule states of two things is left out where it is this unlikely that they are related at all.
RULE_STANDS = 0.05


class Learned:
    """The models, read at first use (some 50 ms).

    Args:
        arrays: The weights; those that ship when None.
    """

    def __init__(self, arrays: Mapping[str, Any] | None = None) -> None:
        self._arrays = arrays

    @cached_property
    def _parts(self) -> tuple[Linear, Linear, Linear, Calibration]:
        # They import numpy, which a chain that reads nothing does without.
        from ctxsync.engine.extraction.learned.calibration import Calibration
        from ctxsync.engine.extraction.learned.linear import Linear

        arrays = self._arrays
        if arrays is None:
            import numpy as np

            with resources.files(__name__).joinpath(WEIGHTS).open("rb") as file, np.load(file) as stored:
                arrays = {name: stored[name] for name in stored.files}
        return (
            Linear.from_arrays(arrays, "entity"),
            Linear.from_arrays(arrays, "pair"),
            Linear.from_arrays(arrays, "ends"),
            Calibration.from_arrays(arrays),
        )

    def judge(self, scene: Scene) -> None:
        """Settle which things of a scene are entities, of which types, and what is stated of them.

        What the rules stated is replaced: their statements stay where the model agrees or does not object.
        """
        entity, pair, ends, calibration = self._parts
        things = instances.by_thing(scene)
        types, keep = judged_entities(entity, scene, things)
        frame = instances.frame(scene, types, things)
        kept = {identity for identity, chance in keep.items() if chance >= LOOK}
        judged = _judged_pairs(pair, scene, things, kept, frame)
        scene.stated = stated(
            scene, frame, judged, pair.classes, ends=ends, calibration=calibration, least=STATE, stands=RULE_STANDS
        )
        used = {id(thing) for head, tail, _ in scene.stated for thing in (head, tail)}
        for thing in scene.cast.things:
            identity = id(thing)
            thing.used = identity in used
            if identity in keep:
                thing.settled = types[identity]
                thing.sure = round(keep[identity], 3)
                thing.kept = keep[identity] >= KEEP
        scene.readings = []


def judged_entities(
    model: Linear, scene: Scene, things: Mapping[int, Sequence[Sight]]
) -> tuple[dict[int, str], dict[int, float]]:
    """Return the type of each thing and how likely it is worth keeping, by its identity."""
    cases = [(identity, instances.written(found)) for identity, found in things.items()]
    cases = [(identity, found) for identity, found in cases if found]
    rows = model.probabilities([entity_features(found, scene.episode.kind) for _, found in cases])
    none = model.classes.index(NONE)
    types: dict[int, str] = {}
    keep: dict[int, float] = {}
    for (identity, _), row in zip(cases, rows, strict=True):
        keep[identity] = 1.0 - float(row[none])
        row[none] = 0.0
        types[identity] = model.classes[int(row.argmax())]
    for identity, found in things.items():
        thing = found[0].thing
        if identity not in types:
            types[identity], keep[identity] = thing.type, 1.0
    for silent in (scene.cast.topic, scene.cast.me):
        if silent is not None:
            types[id(silent)] = _type_of(silent, types)
            keep[id(silent)] = 1.0
    for thing in scene.cast.things:
        if thing.lower is not None and thing.lower.type != "Concept":
            types[id(thing)], keep[id(thing)] = thing.lower.type, 1.0
    return types, keep


def _type_of(thing: Thing, types: Mapping[int, str]) -> str:
    return thing.type if thing.votes else types.get(id(thing), thing.type)


def _judged_pairs(
    model: Linear, scene: Scene, things: Mapping[int, Sequence[Sight]], kept: set[int], frame: Frame
) -> list[Judged]:
    """Return, for each pair of kept things, its mentions, its features and the chances of the labels."""
    prose = scene.episode.kind == "text"
    cases = list(instances.pairs(things, kept, topic=scene.cast.topic, author=scene.cast.me, prose=prose))
    features = [pair_features(left, right, frame) for left, right in cases]
    rows = model.probabilities(features)
    return [(*case, names, row) for case, names, row in zip(cases, features, rows, strict=True)]
