from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from ctxsync.engine.extraction.base import Episode, Identity
from ctxsync.engine.extraction.builtin import Builtin
from ctxsync.engine.extraction.chain import Chain, build_chain
from ctxsync.engine.extraction.learned import Learned
from ctxsync.engine.schema import universal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.base import Extraction
    from ctxsync.engine.extraction.scene import Scene

ROBIN = Identity(("Robin Vale", "Robin"), ("email:robin@example.com",))
WEDNESDAY = int(datetime(2026, 5, 20, 10, tzinfo=UTC).timestamp() * 1000)


class Unjudged(Learned):
    """Lets everything stand that the rules read."""

    def judge(self, scene: Scene) -> None:
        """Change nothing."""


class Reads:
    """Reads texts with one chain: the language model loads once for all tests."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def episode(self, text: str, **fields: object) -> Episode:
        given = {"id": "e1", "item": "note:1", "kind": "note", "title": "", "occurred_at": WEDNESDAY, **fields}
        return Episode(text=text, **given)  # type: ignore[arg-type]  # JSON or keyword values whose types the test chose

    def extract(self, text: str, **fields: object) -> Extraction:
        return next(self.chain.extract([self.episode(text, **fields)]))[0]

    def facts(self, text: str, **fields: object) -> list[str]:
        """Return what tier 1 states, a line each: `head relation tail [ended] [from X] [to Y]`."""
        return self.lines(self.extract(text, **fields), tiers=(1,))

    @staticmethod
    def lines(found: Extraction, tiers: Sequence[int] = (0, 1)) -> list[str]:
        names = {entity.id: entity.name for entity in found.entities}
        return sorted(
            f"{names[r.head]} {r.relation} {names[r.tail]}"
            + (" ended" if r.ends else "")
            + (f" from {r.valid_from}" if r.valid_from else "")
            + (f" to {r.valid_to}" if r.valid_to else "")
            for r in found.relations
            if r.tier in tiers
        )

    def types(self, text: str, **fields: object) -> dict[str, str]:
        return {entity.name: entity.type for entity in self.extract(text, **fields).entities}


@pytest.fixture(scope="session")
def reads() -> Reads:
    return Reads(build_chain(universal(), ROBIN))


@pytest.fixture(scope="session")
def rules() -> Reads:
    """Read by the rules alone, without the models that judge them."""
    return Reads(Chain(universal(), ROBIN, [Builtin(universal(), ROBIN, learned=Unjudged())]))
