"""Old payloads become new ones as they are read; knows the types by name only, so that reading costs no models.

A change to a payload that old readers would misunderstand raises its model's `version`, adds the version here, and
adds an upcaster from the version before. Upcasters are pure, total, and never changed once released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ctxsync.errors import StoreTooNew

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Upcaster: TypeAlias = "Callable[[dict[str, Any]], dict[str, Any]]"

VERSIONS: Final[Mapping[str, int]] = dict.fromkeys(
    (
        "item.observed",
        "item.sighted",
        "item.unsighted",
        "item.moved",
        "item.replaced",
        "item.quarantined",
        "item.released",
        "source.configured",
        "source.paused",
        "source.resumed",
        "schema.adopted",
        "schema.rule_learned",
        "episode.extracted",
        "extraction.failed",
        "extraction.adopted",
        "fact.asserted",
        "fact.invalidated",
        "fact.corrected",
        "fact.confirmed",
        "contradiction.detected",
        "contradiction.resolved",
        "entity.linked",
        "entity.merged",
        "entity.unmerged",
        "entity.renamed",
        "entity.retyped",
        "schema.suggested",
        "schema.promoted",
        "schema.confirmed",
        "schema.rejected",
        "schema.renamed",
        "schema.reverted",
        "erasure.requested",
        "subject.erased",
    ),
    1,
)
"""The newest version of every type; agrees with the models by test."""

UPCASTERS: Final[Mapping[tuple[str, int], Upcaster]] = {}
"""By type and the version that the upcaster takes; it returns the next version."""


class Versions:
    """Which versions can be read, and how old ones become new.

    Args:
        newest: The newest version by type.
        upcasters: By type and version taken, one for every version below the newest.
    """

    def __init__(
        self, newest: Mapping[str, int] = VERSIONS, upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS
    ) -> None:
        self.newest = newest
        self.upcasters = upcasters

    def upcast(self, type_: str, version: int, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the newest version's number and the payload in that version.

        Raises:
            StoreTooNew: The type or the version is not known.
        """
        newest = self.newest.get(type_)
        if newest is None or version > newest:
            what = f"events of type {type_}" if newest is None else f"version {version} of {type_}"
            raise StoreTooNew(
                f"The log holds {what}, which this version of ctxsync does not know.",
                remedy="Upgrade ctxsync: pip install --upgrade ctxsync",
            )
        while version < newest:
            payload = self.upcasters[type_, version](payload)
            version += 1
        return version, payload


KNOWN: Final = Versions()
