"""Versions of an item: which is held, which is believed, and since when it says what it says. Knows no row and no fact.

HELD       the version that a source showed last, while that source sees the item somewhere. A source that sees an item
           it never showed holds the version shown last by any other.
READ       every section of a version has an extraction, whatever run it is of
BELIEVED   the last version that is read; while none is, what is read of the version that is held
SINCE      when the first version of an unbroken run of read versions came that makes an undated statement

The versions of a source are kept from the last one that is read, so only the first of several can be read.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ctxsync.engine.graph.memory import Memory
    from ctxsync.engine.graph.records import Item, Shown

    States = Callable[[str], Iterable[tuple[str, int]]]
    """Returns the undated statements of an episode, by any run, with when it occurred (ms UTC)."""


class Belief(NamedTuple):
    """What is believed of an item: versions by source, and their episodes."""

    versions: list[tuple[str, Shown]]
    episodes: dict[str, None]

    @property
    def since(self) -> Mapping[str, int]:
        """When each statement that goes on was first made, ms UTC."""
        runs = [shown.since for _, shown in self.versions if shown.since]
        if len(runs) < 2:  # nothing to merge
            return runs[0] if runs else {}
        found: dict[str, int] = {}
        for run in runs:
            _keep_earliest(found, run.items())
        return found


def _seen(item: Item) -> list[tuple[str, list[Shown]]]:
    if not item.shown:
        return []
    latest = max(item.shown.values(), key=lambda k: k[-1].position)
    return [(source, item.shown.get(source, latest)) for source in sorted({s for s, _ in item.sightings})]


def held(item: Item) -> list[tuple[str, Shown]]:
    """Return the versions that are held, by source."""
    return [(source, versions[-1]) for source, versions in _seen(item)]


def believed(memory: Memory, item: Item) -> Belief:
    """Return what is believed of an item."""
    found = [
        (source, versions[0] if len(versions) > 1 and _read(memory, versions[0]) else versions[-1])
        for source, versions in _seen(item)
    ]
    return Belief(found, {text: None for _, shown in found for text, _ in shown.sections})


def _read(memory: Memory, shown: Shown) -> bool:
    return all(memory.runs(text) for text, _ in shown.sections)


def advance(memory: Memory, versions: list[Shown], stated: States) -> list[Shown]:
    """Let go of the versions before the last one that is read, and return them; what that one restates goes on."""
    read = [n for n, shown in enumerate(versions) if _read(memory, shown)] if len(versions) > 1 else []
    if not read or read[-1] == 0:
        return []
    for before, after in pairwise(read):
        versions[after] = versions[after]._replace(since=_since(versions[before], stated))
    gone = versions[: read[-1]]
    del versions[: read[-1]]
    return gone


def _since(shown: Shown, stated: States) -> dict[str, int]:
    found: dict[str, int] = {}
    for text, _ in shown.sections:
        _keep_earliest(found, ((key, min(at, shown.since.get(key, at))) for key, at in stated(text)))
    return found


def _keep_earliest(found: dict[str, int], runs: Iterable[tuple[str, int]]) -> None:
    for key, at in runs:
        found[key] = min(at, found.get(key, at))
