"""What tier 0 found in one episode: entities, each once, and relations; knows no kind of source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Entity, Episode, Extraction, Relation
from ctxsync.engine.extraction.lexicon import Match

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ctxsync.connectors.base import Json

MODEL = "structural"
LONGEST_NAME = 200
"""Characters; what is longer is no name that anybody would ask for."""

REFERRED = ""
"""The type of what is only pointed at: the graph takes its name and type from what says more of it."""

_ADDRESS = "address:"
_BOT = ("address:slack:",)


class Found:
    """Collects entities and relations of one episode, each entity once."""

    def __init__(self, episode: Episode) -> None:
        self.extraction = Extraction(episode=episode.id, tier=0, model=MODEL)
        self._ids: dict[tuple[str, tuple[str, ...]], Entity] = {}

    def entity(
        self, name: str, kind: str, keys: tuple[str, ...] = (), span: tuple[int, int] | None = None, **attributes: Json
    ) -> Entity:
        """Return the entity of these keys, else of this name; new where it is new."""
        name = " ".join(name.split())
        known = self._ids.get((name.casefold() if not keys else "", keys))
        if known is None:
            known = Entity(f"s{len(self._ids) + 1}", name, kind, keys, span, dict(attributes))
            self._ids[name.casefold() if not keys else "", keys] = known
            self.extraction.entities.append(known)
        elif known.type == "Concept" and kind != "Concept":
            known.type = kind
        return known

    def someone(self, name: str, keys: Iterable[object], *, machine: bool = False) -> Entity | None:
        """Return who a source names by identity keys; None where it gives none: a display name alone is nobody.

        What has the address of an office, a list or a machine is no person (`ctxsync.connectors.people`), and goes by
        its address: the names that are put before it are mostly those of the people that it writes for.
        """
        known = tuple(dict.fromkeys(str(key) for key in keys if key))
        if not known:
            return None
        name = name.strip()[:LONGEST_NAME]
        value = known[0].partition(":")[2]
        if machine or known[0].startswith(_BOT) or (known[0].startswith(_ADDRESS) and "[bot]" in f"{name}{value}"):
            return self.entity(name or value, "Artifact", known)
        if known[0].startswith(_ADDRESS):
            return self.entity(value, "Organization", known)
        return self.entity(name or value, "Person", known)

    def relation(self, head: Entity, match: Match | tuple[str, str], tail: Entity, phrase: str, **more: Any) -> None:
        """State a relation, its ends turned where the match says so; of a thing with itself there is none."""
        relation, phrase_class = (match.relation, match.phrase_class) if isinstance(match, Match) else match
        if isinstance(match, Match) and match.direction == -1:
            head, tail = tail, head
        if head is not tail:
            self.extraction.relations.append(Relation(head.id, relation, tail.id, phrase, phrase_class, **more))


def mappings(value: Json) -> list[Mapping[str, Json]]:
    """Return the mappings in a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(value: Json) -> list[str]:
    """Return the texts in a list; none where it is no list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
