"""Which episodes a trial reads, on top of what, and how its results stand beside those that count."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.extraction import trying
from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.trying import Scope, Trier
from ctxsync.engine.schema import universal
from ctxsync.events.model import ExtractionAdopted
from ctxsync.events.runs import is_trial
from ctxsync.events.store import NewEvent
from tests.engine.extraction.escalating import AT, DAY, HARD, Bench, First, Scripted, found, works_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


def chain() -> Trier:
    return Trier("another", 1, Chain(universal(), Identity(), [First()], gates=HARD))


def step(bench: Bench, tier: Any) -> Trier:
    return Trier("scripted", tier.tier, bench.step(tier, every=True))


def waiting(bench: Bench, trier: Trier, **scope: Any) -> list[str]:
    with closing(bench.graph()) as graph:
        return [one.episode for one in trying.waiting(graph.db, trier, Scope(**scope), now=bench.now)]


def read(bench: Bench, trier: Trier) -> list[Any]:
    """Let a trial read what it has not read; return the payloads."""
    with closing(bench.graph()) as graph:
        todo = trying.waiting(graph.db, trier, Scope(), now=bench.now)
        outcomes = list(trying.read(bench.store, graph.db, trier, todo, now=bench.now))
    bench.store.append([one.event for one in outcomes])
    bench.project()
    return [one.event.payload for one in outcomes]


def test_the_newest_come_first_and_what_is_not_held_does_not_come(bench: Bench) -> None:
    bench.note("old", "easy old", at=AT)
    bench.note("new", "easy new", at=AT + DAY)
    bench.lower()
    bench.note("old", "easy other", at=AT)
    bench.lower()
    assert waiting(bench, chain()) == ["new-easy new", "old-easy other"]


def test_what_no_higher_tier_may_read_is_read_by_first_tiers_only(bench: Bench) -> None:
    bench.note("bot", "words of a machine", attributes={"bot": True})
    bench.note("easy", "Rosa at Acme")
    bench.lower()
    assert waiting(bench, step(bench, Scripted(None))) == ["easy-Rosa at Acme"]
    assert sorted(waiting(bench, chain())) == ["bot-words of a machine", "easy-Rosa at Acme"]


def test_a_source_narrows_it_and_a_closed_one_is_left_out_also_where_it_shows_the_same_item(bench: Bench) -> None:
    bench.source("others", "others")
    bench.note("one", "Rosa at Acme")
    bench.note("two", "Tom at Acme", source="others")
    bench.note("both", "Ida at Acme")
    bench.note("both", "Ida at Acme", source="others")
    bench.lower()
    assert waiting(bench, chain(), source="others") == ["two-Tom at Acme"]
    assert waiting(bench, chain(), closed=("others",)) == ["one-Rosa at Acme"]


def test_a_step_builds_on_the_first_tiers_and_not_on_what_a_higher_one_found(bench: Bench) -> None:
    bench.note("one", "Rosa Quint at Acme. hard")
    bench.lower()
    bench.read(bench.step(Scripted(lambda episode, _: found(episode))))

    def other(episode: Any, lower: Any) -> Any:
        assert {entity.name for entity in lower.entities if entity.tier} == {"Rosa Quint", "Acme"}
        result = found(episode, 3)
        result.entities, result.relations = works_at("Grace Hopper", "Harvard", 3)
        return result

    (payload,) = read(bench, step(bench, Scripted(other, tier=3)))
    assert is_trial(payload.run)
    assert payload.tier == 3
    names = {entity.name for entity in payload.entities}
    assert {"Rosa Quint", "Grace Hopper"} <= names
    assert "Ada Byron" not in names


def test_the_run_of_a_trial_is_the_run_it_would_be_and_marked(bench: Bench) -> None:
    bench.note("one", "Rosa Quint at Acme. hard")
    bench.lower()
    trier = step(bench, Scripted(None))
    (payload,) = read(bench, trier)
    assert payload.run == trier.run == f"trial:{trier.reads.run}"
    (other,) = read(bench, chain())
    assert other.run == chain().run == f"trial:{bench.chain.run}"
    assert read(bench, trier) == read(bench, chain()) == []


def test_a_trial_neither_satisfies_nor_feeds_the_tiers_that_count(bench: Bench) -> None:
    bench.note("one", "Rosa Quint at Acme. hard")
    bench.lower()
    tier = Scripted(None)
    regular = bench.step(tier)
    read(bench, step(bench, tier))
    assert bench.waiting(regular) == ["one-Rosa Quint at Acme. hard"]
    assert bench.believed() == ["Rosa Quint works at Acme"]


def test_what_an_adopted_trial_has_read_is_not_escalated(bench: Bench) -> None:
    bench.note("one", "Rosa Quint at Acme. hard")
    bench.lower()
    trier = step(bench, Scripted(None))
    read(bench, trier)
    for run, waits in ((trier.run, []), ("", ["one-Rosa Quint at Acme. hard"])):
        bench.store.append([NewEvent("ctxsync", "job:extraction", ExtractionAdopted(run=run), AT)])
        bench.project()
        assert bench.waiting(bench.step(Scripted(None, model="another"))) == waits
