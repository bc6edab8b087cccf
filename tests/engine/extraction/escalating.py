"""A log and its graph, read by scripted tiers: what the tests of escalation work on."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import escalation
from ctxsync.engine.extraction.base import Entity, Extraction, Identity, Relation
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.escalation import Step
from ctxsync.engine.extraction.gate import Gate
from ctxsync.engine.extraction.invalidation import GraphFacts
from ctxsync.engine.extraction.reactor import extract_pending
from ctxsync.engine.graph import projection
from ctxsync.engine.graph.store import Graph
from ctxsync.engine.schema import universal
from ctxsync.events.model import ItemObserved, ItemSighted, SectionBody, SourceConfigured
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxsync.engine.extraction.base import Episode
    from ctxsync.errors import ExtractionError

DAY = 86_400_000
AT = 1_750_000_000_000
HARD = Gate(0.0, 0.0, 0.0, 1_000, 0, ("hard",))
"""Asks for a higher tier where a text says `hard`."""

Answer = "Callable[[Episode, Extraction], Extraction | ExtractionError]"


def works_at(head: str, tail: str, tier: int, **more: Any) -> tuple[list[Entity], list[Relation]]:
    """Return a statement of employment."""
    ends = [Entity(f"{tier}h", head, "Person", tier=tier), Entity(f"{tier}t", tail, "Organization", tier=tier)]
    said = {"phrase": "works at", "phrase_class": "employment", "quote": head, "confidence": 0.9, "tier": tier}
    return ends, [Relation(f"{tier}h", "part_of", f"{tier}t", **{**said, **more})]


class First:
    """Tier 1: reads `A at B` and nothing else."""

    tier, model = 1, "first"

    def extract(self, episodes: Sequence[Episode], lower: Sequence[Extraction]) -> Iterator[Extraction]:
        for episode in episodes:
            head, at, tail = episode.text.partition(" at ")
            found = works_at(head, tail.split(".")[0], 1) if at else ([], [])
            yield Extraction(episode.id, 1, self.model, *found)


class Scripted:
    """A higher tier: answers as it is told, and remembers what it was asked."""

    def __init__(self, answer: Any, tier: int = 2, model: str = "scripted") -> None:
        self.answer, self.tier, self.model = answer, tier, model
        self.seen: list[str] = []

    def extract(
        self, episodes: Sequence[Episode], lower: Sequence[Extraction]
    ) -> Iterator[Extraction | ExtractionError]:
        for episode, below in zip(episodes, lower, strict=True):
            self.seen.append(episode.text)
            answered = self.answer(episode, below) if callable(self.answer) else self.answer
            yield answered if answered is not None else found(episode)


def found(episode: Episode, tier: int = 2, **more: Any) -> Extraction:
    """Return a result that states one fact."""
    return Extraction(episode.id, tier, "model", *works_at("Ada Byron", "Babbage", tier), **more)


class Bench:
    """A home's log and graph."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = EventStore.open(folder / "events.db", write=True)
        self.chain = Chain(universal(), Identity(), [First()], gates=HARD)
        self.now = AT + 100 * DAY
        self.source("vault", "own")

    def close(self) -> None:
        self.store.close()

    def source(self, name: str, trust: str) -> None:
        payload = SourceConfigured(name=name, kind="notes", location="", trust=trust)  # type: ignore[arg-type]
        self.store.append([NewEvent("ctxsync", f"source:{name}", payload, AT)])

    def note(self, item: str, *texts: str, source: str = "vault", at: int = AT, **more: Any) -> None:
        """Show an item with sections of these texts."""
        sections = tuple(
            SectionBody(episode=f"{item}-{text}"[:40], key=str(n), text=text, occurred_at=at, **more)
            for n, text in enumerate(texts)
        )
        place = f"{item}.md"
        content = "|".join(texts)
        seen = ItemObserved(
            item=f"note:{item}", kind="note", place=place, title=item, sections=sections, content=content
        )
        there = ItemSighted(item=f"note:{item}", place=place)
        self.store.append([NewEvent(source, f"note:{item}", payload, at) for payload in (seen, there)])

    def lower(self) -> None:
        """Let tiers 0 and 1 read everything, and bring the graph up to it."""
        extract_pending(self.store, self.chain)
        self.project()

    def project(self) -> None:
        with closing(self.graph(write=True)) as graph:
            projection.catch_up(self.store, graph)

    def graph(self, *, write: bool = False) -> Graph:
        return Graph.open(self.folder / "graph.db", write=write)

    def step(self, tier: Any, **more: Any) -> Step:
        return Step(tier, universal(), tier.tier, tier.tier, **more)

    def waiting(self, step: Step, closed: Sequence[str] = (), most: int = 9) -> list[str]:
        """Return the episodes that wait for a step."""
        with closing(self.graph()) as graph:
            found = escalation.newest(graph.db, step.place, closed, now=self.now, most=most)
            number = sum(number for number, _ in escalation.sums(graph.db, step.place, closed, now=self.now).values())
            assert number == len(found) or len(found) == most
            for one in found:
                assert escalation.waits(graph.db, step.place, closed, one.episode, now=self.now)
        return [one.episode for one in found]

    def read(self, step: Step, closed: Sequence[str] = ()) -> Any:
        """Let a step read the next episode; return the payload of what is stored, None where nothing waits."""
        with closing(self.graph()) as graph:
            todo = escalation.newest(graph.db, step.place, closed, now=self.now, most=1)
            outcome = escalation.read(self.store, graph.db, step, todo[0], now=self.now) if todo else None
        if outcome is None:
            return None
        self.store.append([outcome.event])
        self.project()
        return outcome.event.payload

    def facts(self) -> GraphFacts:
        """Return what looks facts up in the graph as it is now."""
        graph = self.graph()
        return GraphFacts(lambda: graph.db, lambda: self.now)

    def believed(self) -> list[str]:
        """Return what the graph believes, a line a fact: `HEAD phrase TAIL [to DAY]`."""
        with closing(self.graph()) as graph:
            return sorted(
                f"{head} {phrase} {tail}" + (f" to {(end - AT) // DAY}" if end is not None else "")
                for head, phrase, tail, end in graph.db.execute(BELIEVED)
            )


BELIEVED = """
SELECT h.name, v.phrase, t.name, v.valid_to FROM fact AS f JOIN fact_version AS v ON v.fact = f.id AND v.until IS NULL
JOIN entity_version AS h ON h.entity = f.head AND h.until IS NULL
JOIN entity_version AS t ON t.entity = f.tail AND t.until IS NULL WHERE f.relation = 'part_of' AND v.phrase = 'works at'
"""
