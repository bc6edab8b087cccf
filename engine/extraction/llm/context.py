"""What the graph holds of the things that a text names: the facts a model may say that the text ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.engine.extraction.base import Extraction

# So many names are asked for, and so many facts given in all: some 25 tokens each, against 500 of the rules.
MOST_NAMES, MOST_FACTS = 12, 40
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A current fact.

    Args:
        id: The graph's id of it.
        head: Name.
        relation: One of the schema's.
        tail: Name.
        phrase: The words it was stated with.
        valid_from: Stated date; None when none was stated.
    """

    id: str
    head: str
    relation: str
    tail: str
    phrase: str = ""
    valid_from: str | None = None


CurrentFacts = Callable[[Sequence[str]], Sequence[KnownFact]]
"""Names to the current facts that touch them, 5 to 10 each."""


def no_facts(_: Sequence[str]) -> Sequence[KnownFact]:
    """Know nothing."""
    return ()


def names_of(lower: Extraction) -> list[str]:
    """Return the names to ask the graph for: what lower tiers found, the surest first, dates left out."""
    found = sorted((entity for entity in lower.entities if entity.type != "Time"), key=lambda e: -e.confidence)
    return list(dict.fromkeys(entity.name for entity in found if entity.name.strip()))[:MOST_NAMES]


def numbered(facts: Sequence[KnownFact]) -> dict[str, KnownFact]:
    """Return each fact once under the short id (`F1`, `F2`) that stands for it in the prompt."""
    once = list({fact.id: fact for fact in facts}.values())
    return {f"F{number}": fact for number, fact in enumerate(once[:MOST_FACTS], 1)}


def lines(facts: dict[str, KnownFact]) -> Iterator[str]:
    """Yield a line for each fact."""
    for key, fact in facts.items():
        said = [_short(fact.phrase)] if fact.phrase.strip() else []
        since = [f"since {_short(fact.valid_from)}"] if fact.valid_from else []
        more = f" ({', '.join(said + since)})" if said or since else ""
        yield f"{key}: {_short(fact.head)} {fact.relation} {_short(fact.tail)}{more}"


def _short(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]
