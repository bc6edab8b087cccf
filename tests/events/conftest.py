from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ctxsync.events import model
from ctxsync.events.model import ItemObserved, ItemSighted, ItemUnsighted, SectionBody
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ctxsync.events.model import Payload

START = 1_750_000_000_000


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


class Make:
    """Builds events of fictional notes."""

    def observed(self, item: str = "n1", content: str = "a", source: str = "vault", text: str = "") -> NewEvent:
        section = SectionBody(
            episode=f"{item}{content}", key="", text=text or f"Robin Vale wrote {content}.", occurred_at=START
        )
        payload = ItemObserved(
            item=f"note:{item}",
            kind="note",
            place=f"{item}.md",
            title=f"Title of {item}",
            sections=(section,),
            content=content,
        )
        return NewEvent(source, f"note:{item}", payload, START)

    def sighted(self, item: str = "n1", place: str = "n1.md", source: str = "vault") -> NewEvent:
        return NewEvent(source, f"note:{item}", ItemSighted(item=f"note:{item}", place=place), START)

    def unsighted(self, item: str = "n1", place: str = "n1.md", source: str = "vault") -> NewEvent:
        return NewEvent(source, f"note:{item}", ItemUnsighted(item=f"note:{item}", place=place), START)

    def moved(self, place: str, to: str, item: str = "n1", source: str = "vault") -> NewEvent:
        return NewEvent(source, f"note:{item}", model.ItemMoved(item=f"note:{item}", place=place, to=to), START)

    def renamed(self, name: str) -> NewEvent:
        """Build an event without state: it is always stored."""
        return NewEvent("ctxsync", "entity:n", model.EntityRenamed(node="n", name=name), START)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make() -> Make:
    return Make()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


@pytest.fixture
def store(path: Path, clock: Callable[[], int]) -> Iterator[EventStore]:
    with EventStore.open(path, write=True, clock=clock) as opened:
        yield opened


def statement(tail: str = "acme") -> model.Statement:
    return model.Statement(
        head="email:robin@example.com",
        head_name="Robin Vale",
        head_type="Person",
        relation="part_of",
        phrase="works at",
        phrase_class="employment",
        tail=f"name:{tail}",
        tail_name=tail.title(),
        tail_type="Organization",
        valid_from="2021-03",
    )


@pytest.fixture
def examples() -> list[Payload]:
    """One payload of every type, with every field that has an inner shape filled."""
    suggestion = model.Suggestion(
        kind="relation_type", name="mentors", supporting_entity_ids=("e1",), confidence=0.8, rationale="seen twice"
    )
    section = model.SectionBody(
        episode="e1",
        key="Work#1",
        text="## Work\nRobin works at [[Acme]].",
        occurred_at=START,
        heading=("Work",),
        line=3,
        author=model.Author(name="Robin Vale", keys=("email:robin@example.com",)),
        links=(model.LinkOut(target="Acme", kind="wikilink", start=23, end=31),),
        tags=("work/now",),
        code=((0, 3),),
        attributes={"tasks": [{"text": "call", "done": False, "line": 4}], "weight": 0.1},
    )
    return [
        model.ItemObserved(
            item="note:n1",
            kind="note",
            place="a.md",
            title="A",
            sections=(section,),
            names=("Alpha",),
            attributes={"due": None, "n": 3},
            content="c1",
        ),
        model.ItemSighted(item="note:n1", place="a.md"),
        model.ItemUnsighted(item="note:n1", place="a.md"),
        model.ItemMoved(item="note:n1", place="a.md", to="b.md"),
        model.ItemReplaced(item="commit:1", by="commit:2", reason="amend"),
        model.ItemQuarantined(place="x.md", error="not UTF-8", raw_digest="00"),
        model.ItemReleased(place="x.md"),
        model.SourceConfigured(name="vault", kind="notes", location="~/notes", trust="own"),
        model.SourcePaused(name="vault", stream=".", reason="30 of 40 vanished", vanished=30, known=40),
        model.SourceResumed(name="vault", stream="."),
        model.SchemaAdopted(name="universal", digest="d", toml="[entity.Person]\n"),
        model.SchemaRuleLearned(relation="part_of", phrase_class="team", single=True, subjects=12, share=0.97),
        model.EpisodeExtracted(
            episode="e1",
            item="note:n1",
            run="r1",
            tier=1,
            model="builtin",
            entities=(
                model.ExtractedEntity(id="1", name="Robin Vale", type="Person", span=(8, 13)),
                model.ExtractedEntity(id="2", name="Acme", type="Organization", keys=("url:https://acme.example.com",)),
            ),
            relations=(
                model.ExtractedRelation(
                    head="1", relation="part_of", tail="2", phrase="works at", span=(8, 31), confidence=0.9
                ),
            ),
            suggestions=(suggestion,),
            confidence=0.9,
        ),
        model.ExtractionFailed(episode="e1", item="note:n1", run="r1", tier=2, model="m", error="timeout"),
        model.ExtractionAdopted(run="r1"),
        model.FactAsserted(statement=statement()),
        model.FactInvalidated(statement=statement(), valid_to="2024", reason="left"),
        model.FactCorrected(statement=statement(), correction=statement("globex")),
        model.FactConfirmed(statement=statement()),
        model.ContradictionDetected(contradiction="k", first=statement(), second=statement("globex"), rule="single"),
        model.ContradictionResolved(contradiction="k", choice="first"),
        model.EntityLinked(node="name:robin", to="email:robin@example.com"),
        model.EntityMerged(node="name:acme", into="name:acme corp"),
        model.EntityUnmerged(node="name:acme", into="name:acme corp"),
        model.EntityRenamed(node="name:acme", name="ACME"),
        model.EntityRetyped(node="name:acme", to="Organization"),
        model.SchemaSuggested(suggestion=suggestion, episode="e1"),
        model.SchemaPromoted(kind="relation_type", name="mentors", seen=5, episodes=3),
        model.SchemaConfirmed(name="mentors"),
        model.SchemaRejected(name="mentors"),
        model.SchemaRenamed(name="mentors", to="coaches"),
        model.SchemaReverted(name="mentors"),
        model.ErasureRequested(positions=(1, 2)),
        model.SubjectErased(count=2, suppressed=("00",)),
    ]
