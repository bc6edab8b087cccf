"""Which episodes a higher tier reads, in which order, and what its answers and failures do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.extraction.base import Entity, Extraction
from ctxsync.errors import BadReply, ExtractionError, ProviderDown
from ctxsync.events.model import ExtractionAdopted, SourceConfigured
from ctxsync.events.store import NewEvent
from tests.engine.extraction.escalating import AT, DAY, Bench, Scripted, found

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


def test_what_asks_is_read_newest_first_and_what_is_good_enough_is_not(bench: Bench) -> None:
    bench.note("old", "hard one", at=AT)
    bench.note("easy", "Rosa at Acme", at=AT + DAY)
    bench.note("new", "hard two", at=AT + 2 * DAY)
    bench.lower()
    step = bench.step(Scripted(None))
    assert bench.waiting(step) == ["new-hard two", "old-hard one"]
    assert bench.waiting(step, most=1) == ["new-hard two"]
    assert bench.read(step).episode == "new-hard two"
    assert bench.waiting(step) == ["old-hard one"]


def test_a_step_for_every_episode_leaves_out_what_may_have_tier_0_only(bench: Bench) -> None:
    bench.note("easy", "Rosa at Acme", at=AT + DAY)
    bench.note("bot", "hard words of a machine", attributes={"bot": True})
    bench.lower()
    assert bench.waiting(bench.step(Scripted(None), every=True)) == ["easy-Rosa at Acme"]
    assert bench.waiting(bench.step(Scripted(None))) == []


def test_only_what_is_held_now_is_read(bench: Bench) -> None:
    bench.note("one", "hard then")
    bench.lower()
    bench.note("one", "hard now")
    bench.lower()
    assert bench.waiting(bench.step(Scripted(None))) == ["one-hard now"]


def test_a_result_has_the_lower_one_in_it_and_counts(bench: Bench) -> None:
    bench.note("one", "Rosa Quint at Acme. hard")
    bench.lower()
    tier = Scripted(lambda episode, _: found(episode, prompt_version="p1", tokens_in=700, tokens_out=90, cost_usd=0.01))
    step = bench.step(tier)
    payload = bench.read(step)
    assert (payload.run, payload.tier, payload.model) == (step.run, 2, "structural+first+model")
    assert (payload.prompt_version, payload.tokens_in, payload.tokens_out, payload.cost_usd) == ("p1", 700, 90, 0.01)
    assert payload.gate == ("escalate:complex hard", "tier2:model", "keep:2 entities, confidence 1.00")
    assert payload.ms > 0
    assert bench.believed() == ["Ada Byron works at Babbage", "Rosa Quint works at Acme"]


def test_what_the_tier_is_given_is_the_episode_and_what_the_first_tiers_found(bench: Bench) -> None:
    given: list[Any] = []
    bench.source("others", "others")
    bench.note("one", "skipped", "Rosa Quint at Acme. hard", source="others")
    bench.lower()
    bench.read(bench.step(Scripted(lambda *each: given.append(each))))
    episode, lower = given[0]
    assert (episode.text, episode.place, episode.source, episode.own) == (
        "Rosa Quint at Acme. hard", "one.md", "others", False,
    )  # fmt: skip
    assert {entity.name for entity in lower.entities} >= {"Rosa Quint", "Acme"}
    assert [relation.phrase for relation in lower.relations if relation.tier == 1] == ["works at"]


def test_a_failure_keeps_the_lower_result_and_waits_a_day(bench: Bench) -> None:
    bench.note("one", "Rosa Quint at Acme. hard")
    bench.lower()
    step = bench.step(Scripted(BadReply("Half a JSON.")))
    payload = bench.read(step)
    assert (payload.error, payload.reason, payload.attempt) == ("Half a JSON.", "BadReply", 1)
    assert (payload.tier, payload.run, payload.retry_at) == (2, step.run, bench.now + DAY)
    assert bench.believed() == ["Rosa Quint works at Acme"]
    assert bench.waiting(step) == []
    bench.now += DAY
    assert bench.waiting(step) == ["one-Rosa Quint at Acme. hard"]


@pytest.mark.parametrize(("error", "attempts"), [(BadReply("x"), 2), (ExtractionError("x"), 2), (ProviderDown("x"), 3)])
def test_a_failing_episode_is_given_up_on_until_the_run_is_another(
    bench: Bench, error: ExtractionError, attempts: int
) -> None:
    bench.note("one", "hard")
    bench.lower()
    tier = Scripted(error)
    for number in range(1, 6):
        payload = bench.read(bench.step(tier))
        assert (payload is not None) == (number <= attempts)
        bench.now += DAY
    assert len(tier.seen) == attempts
    assert bench.waiting(bench.step(Scripted(None, model="another"))) == ["one-hard"]


def test_the_step_above_reads_what_the_one_below_failed_at_or_is_not_sure_of(bench: Bench) -> None:
    for text in ("hard fail", "hard fine", "hard doubt"):
        bench.note(text.split()[1], text)
    bench.lower()

    def answer(episode: Any, _: Any) -> Any:
        if "fail" in episode.text:
            return BadReply("x")
        sure = 0.1 if "doubt" in episode.text else 0.9
        return Extraction(episode.id, 2, "small", [Entity("e", "Ada", "Person", confidence=sure, tier=2)])

    unsure = bench.chain.gate.__class__(mean_confidence=0.4)
    below = bench.step(Scripted(answer), gate=unsure)
    above = bench.step(Scripted(lambda episode, _: found(episode, 3), tier=3), below=(below,))
    assert bench.waiting(above) == []
    while bench.read(below):
        pass
    assert sorted(bench.waiting(above)) == ["doubt-hard doubt", "fail-hard fail"]
    gates = {payload.episode: payload.gate for payload in iter(lambda: bench.read(above), None)}
    assert gates["fail-hard fail"] == (
        "escalate:complex hard", "tier2:failed BadReply", "tier3:model", "keep:2 entities, confidence 1.00",
    )  # fmt: skip
    assert gates["doubt-hard doubt"][:3] == ("escalate:complex hard", "tier2:small", "escalate:low-confidence 0.10<0.4")


def test_what_a_higher_tier_has_read_is_not_read_by_a_lower_one(bench: Bench) -> None:
    bench.note("one", "hard")
    bench.lower()
    bench.read(bench.step(Scripted(lambda episode, _: found(episode, 4), tier=4)))
    assert bench.waiting(bench.step(Scripted(None))) == []


def test_a_new_run_of_the_first_tiers_asks_no_model_again(bench: Bench) -> None:
    bench.note("one", "hard")
    bench.lower()
    step = bench.step(Scripted(None))
    bench.read(step)
    bench.chain.run = "newer"
    bench.lower()
    assert bench.waiting(step) == []
    assert bench.waiting(bench.step(Scripted(None, model="another"))) == ["one-hard"]


def test_an_episode_of_an_adopted_run_is_left_as_it_is(bench: Bench) -> None:
    bench.note("one", "hard")
    bench.lower()
    adopted = ExtractionAdopted(run=bench.chain.run)
    bench.store.append([NewEvent("ctxsync", "job:extraction", adopted, AT)])
    bench.project()
    assert bench.waiting(bench.step(Scripted(None))) == []


def test_a_source_that_is_closed_keeps_its_items_though_another_source_shows_them_too(bench: Bench) -> None:
    bench.source("private", "own")
    bench.note("shared", "hard shared")
    bench.note("shared", "hard shared", source="private")
    bench.note("mine", "hard mine", source="private", at=AT + DAY)
    bench.note("open", "hard open")
    bench.lower()
    step = bench.step(Scripted(None))
    assert len(bench.waiting(step)) == 3
    assert bench.waiting(step, ["private"]) == ["open-hard open"]


def test_what_lost_its_source_is_not_read(bench: Bench) -> None:
    bench.note("one", "hard")
    bench.lower()
    removed = SourceConfigured(name="vault", kind="notes", location="", trust="own", removed=True)
    bench.store.append([NewEvent("ctxsync", "source:vault", removed, AT)])
    bench.project()
    assert bench.waiting(bench.step(Scripted(None))) == []


def test_where_tier_1_failed_a_higher_tier_reads(bench: Bench) -> None:
    bench.note("one", "plain words")
    bench.chain._tiers = (Scripted(ExtractionError("no model"), tier=1),)
    bench.lower()
    assert bench.waiting(bench.step(Scripted(None))) == ["one-plain words"]


def test_a_graph_rebuilt_from_the_log_waits_for_the_same(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        bench.note(name, f"hard {name}")
    bench.lower()
    step = bench.step(Scripted(lambda episode, _: BadReply("x") if episode.text == "hard c" else None))
    bench.read(step)
    bench.read(step)
    before = bench.waiting(step)
    (bench.folder / "graph.db").unlink()
    bench.project()
    assert bench.waiting(step) == before
    bench.now += DAY
    assert len(bench.waiting(step)) == 2


def test_the_run_names_model_and_schema(bench: Bench) -> None:
    one = bench.step(Scripted(None))
    assert one.run == bench.step(Scripted(None)).run
    assert one.run != bench.step(Scripted(None, model="another")).run


def test_two_processes_that_read_the_same_episode_store_one_answer(bench: Bench) -> None:
    bench.note("one", "hard")
    bench.lower()
    step = bench.step(Scripted(None))
    first = bench.read(step)
    again = NewEvent("vault", "episode:one-hard", first.model_copy(update={"ms": 9.0, "confidence": 0.5}), AT)
    assert bench.store.append([again]).skipped == 1
