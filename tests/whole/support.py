"""What the whole-system tests share: a home with a vault, fast models, and a process that dies where it is told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.base import Entity, Episode, Extraction, Relation
from ctxsync.engine.schema import universal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STATEMENT = re.compile(
    r"^(?P<head>[A-Z]\w+ [A-Z]\w+) (?P<verb>works at|left|attended|knows) (?P<tail>[A-Z]\w+)"
    r"(?: (?P<side>since|in) (?P<when>[\d-]+))?\.$",
    re.MULTILINE,
)
READINGS = {
    "works at": ("part_of", "employment", False),
    "left": ("part_of", "employment", True),
    "attended": ("participated_in", "participation", False),
    "knows": ("related_to", "association", False),
}


class PlainChain:
    """Reads sentences of one fixed form: the pipeline is on trial here, not the language."""

    run = "plain"
    schema = universal()

    def extract(self, episodes: Sequence[Episode]) -> Iterator[tuple[Extraction, list[object]]]:
        """Extract every episode; none fails."""
        for episode in episodes:
            result = Extraction(episode.id, 1, "plain")
            for number, found in enumerate(STATEMENT.finditer(episode.text)):
                relation, phrase_class, ends = READINGS[found["verb"]]
                head, tail = f"h{number}", f"t{number}"
                result.entities.append(Entity(head, found["head"], "Person", span=found.span("head")))
                kind = "Person" if found["verb"] == "knows" else "Organization"
                result.entities.append(Entity(tail, found["tail"], kind, span=found.span("tail")))
                result.relations.append(
                    Relation(
                        head,
                        relation,
                        tail,
                        found["verb"],
                        phrase_class,
                        found[0],
                        found.span(),
                        0.9,
                        valid_from=None if ends else found["when"],
                        valid_to=found["when"] if ends else None,
                        ends=ends,
                        tier=1,
                    )
                )
            yield result, []


class PlainModels:
    """Models without weights, and no vectors."""

    def __init__(self) -> None:
        self._chain = PlainChain()

    def chain(self) -> PlainChain:
        """Return the chain."""
        return self._chain

    def embedder(self) -> None:
        """Do without vectors."""

    def cache(self) -> None:
        """Do without vectors."""
