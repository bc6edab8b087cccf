"""Trials in the projection: aside until adopted, and the way back, over random histories."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.graph import Graph, catch_up, hashes, rebuild
from ctxsync.events.runs import TRIAL

if TYPE_CHECKING:
    from pathlib import Path

HISTORY = tuple(sql for sql in hashes.HISTORY if "'moment'" not in sql)
RUN = f"{TRIAL}better"


def built(log: Any, path: Path, **settings: Any) -> Graph:
    graph = Graph.open(path, write=True)
    catch_up(log, graph, **settings)
    return graph


def state(log: Any, path: Path, **settings: Any) -> str:
    with built(log, path, **settings) as graph:
        return graph.state_hash()


def history(log: Any, path: Path, **settings: Any) -> str:
    with built(log, path, **settings) as graph:
        return hashes.digest_rows(graph.db, HISTORY)


def tried(log: Any, new_log: Any, rng: Any, streams: Any, share: float = 0.7) -> Any:
    """Return a log with trials behind it: of every other run's episodes, some, with statements of their own."""
    copy = new_log()
    copy.events = list(log.events)
    for event in [e for e in log.events if e.type == "episode.extracted"]:
        if rng.random() < share:
            trial(copy, new_log, rng, streams, event)
    return copy


def trial(log: Any, new_log: Any, rng: Any, streams: Any, event: Any) -> None:
    """Add what a trial makes of the episode of an extraction: some of that, and some of its own."""
    other = new_log()
    usual = [((rng.choice(streams.PEOPLE), "Person"), "employment", rng.choice(streams.THINGS), False)]
    streams.extraction(other, rng, event.payload["item"], "", str(rng.random()), event.source, RUN, 2, usual)
    payload = other.events[0].payload | {"episode": event.payload["episode"]}
    if rng.random() < 0.5:
        payload["entities"] = [*event.payload["entities"]]
        payload["relations"] = [*event.payload["relations"][: rng.randint(0, 2)]]
    log.add("episode.extracted", payload, source=event.source, subject=event.subject, at=event.occurred_at)


def adopt(log: Any, run: str, source: str = "") -> None:
    log.add("extraction.adopted", {"run": run, "source": source}, source="ctxsync", subject="job:extraction")


@pytest.fixture(params=range(300, 320))
def world(request: Any, streams: Any, new_log: Any) -> Any:
    """A random history without an adopted run, and the randomness to go on with."""
    rng = random.Random(request.param)
    found = [
        events
        for events in streams.streams(new_log, rng, 7)
        if all(event.type != "extraction.adopted" for event in events)
    ]
    return streams.woven(new_log, rng, found), rng


def test_a_trial_changes_no_hash_wherever_it_stands_in_the_log(
    world: Any, streams: Any, new_log: Any, tmp_path: Path
) -> None:
    log, rng = world
    woven = new_log()
    seen: list[Any] = []
    places = {n for n in range(len(log.events)) if rng.random() < 0.4}
    for n, event in enumerate(log.events):
        woven.add(event.type, event.payload, source=event.source, subject=event.subject, at=event.occurred_at)
        seen += [event] if event.type == "episode.extracted" else []
        if n in places and seen:
            trial(woven, new_log, rng, streams, rng.choice(seen))
    if len(woven.events) == len(log.events):
        pytest.skip("no trial came about")
    plain = state(log, tmp_path / "plain.db")
    assert state(woven, tmp_path / "one.db", batch=1) == plain
    assert state(woven, tmp_path / "evicting.db", batch=3, kept=0) == plain
    # Behind the log it changes no version of anything either: there is no position that something was believed from.
    after = tried(log, new_log, rng, streams)
    assert history(after, tmp_path / "after.db") == history(log, tmp_path / "before.db")


def test_to_adopt_and_to_take_it_back_gives_the_old_state(
    world: Any, streams: Any, new_log: Any, tmp_path: Path
) -> None:
    log, rng = world
    plain = state(log, tmp_path / "plain.db")
    after = tried(log, new_log, rng, streams)
    source = rng.choice(["", "vault", "code"])
    adopt(after, RUN, source)
    adopted = state(after, tmp_path / "adopted.db")
    assert state(after, tmp_path / "batches.db", batch=2, kept=0) == adopted
    with rebuild(after, tmp_path / "rebuilt.db") as graph:
        assert graph.state_hash() == adopted
    adopt(after, "", source)
    assert state(after, tmp_path / "adopted.db") == plain
    assert state(after, tmp_path / "back.db", batch=1) == plain


def test_what_is_adopted_counts_as_the_naive_graph_says(
    world: Any, streams: Any, reference: Any, new_log: Any, tmp_path: Path
) -> None:
    log, rng = world
    after = tried(log, new_log, rng, streams, share=0.4)
    adopt(after, RUN, rng.choice(["", "vault"]))
    later = [event for event in log.events if event.type in {"item.observed", "item.unsighted", "item.sighted"}]
    for event in rng.sample(later, min(5, len(later))):
        after.add(event.type, event.payload, source=event.source, subject=event.subject, at=event.occurred_at)
    with built(after, tmp_path / "graph.db", batch=7) as graph:
        for n in range(30):
            known = len(after.events) - (n % 10)
            valid = streams.BASE + rng.randint(-700, 900) * streams.DAY
            found = set(graph.db.execute(HOLDING, {"p": known, "v": valid}))
            assert found == reference.facts(after.events[:known], valid), (known, valid)


def test_a_trial_that_goes_on_after_it_was_adopted_counts_at_once(log: Any, graph_path: Path) -> None:
    log.note("note:1", "x", PEOPLE, [ACME])
    adopt(log, RUN)
    assert names(log, graph_path) == ["Acme"]
    log.extract("note:1", "", "x", PEOPLE, [GLOBEX], run=RUN, tier=1)
    assert names(log, graph_path) == ["Globex"]


def test_what_only_a_trial_has_read_is_not_read(log: Any, graph_path: Path) -> None:
    log.note("note:1", "x", PEOPLE, [ACME])
    adopt(log, RUN)
    log.observe("note:1", {"": "y"})
    log.extract("note:1", "", "y", PEOPLE, [GLOBEX], run=RUN, tier=1)
    assert names(log, graph_path) == ["Acme"]
    log.extract("note:1", "", "y", PEOPLE, [], run="r1", tier=1)
    assert names(log, graph_path) == ["Globex"]


def test_a_run_of_a_source_goes_before_that_of_all(log: Any, graph_path: Path) -> None:
    log.note("note:1", "x", PEOPLE, [])
    log.extract("note:1", "", "x", PEOPLE, [ACME], run=RUN, tier=1)
    log.extract("note:1", "", "x", PEOPLE, [GLOBEX], run=f"{TRIAL}other", tier=1)
    adopt(log, RUN)
    adopt(log, f"{TRIAL}other", "vault")
    assert names(log, graph_path) == ["Globex"]
    adopt(log, "", "vault")
    assert names(log, graph_path) == ["Acme"]


def names(log: Any, path: Path) -> list[str]:
    with built(log, path) as graph:
        return sorted(row[0] for row in graph.db.execute(TAILS))


PEOPLE = [("e1", "Robin Vale", "Person"), ("e2", "Acme", "Organization"), ("e3", "Globex", "Organization")]
ACME: tuple[Any, ...] = ("e1", "employment", "e2", {})
GLOBEX: tuple[Any, ...] = ("e1", "employment", "e3", {})
TAILS = """
SELECT t.name FROM fact AS f JOIN fact_version AS v ON v.fact = f.id AND v.until IS NULL AND v.valid_to IS NULL
JOIN entity_version AS t ON t.entity = f.tail AND t.until IS NULL
"""
HOLDING = """
SELECT h.entity, f.relation, f.phrase_class, t.entity FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
JOIN entity AS h ON h.id = f.head JOIN entity AS t ON t.id = f.tail
WHERE v.since <= :p AND (v.until IS NULL OR v.until > :p) AND v.valid_from <= :v AND (v.valid_to IS NULL OR v.valid_to > :v)
"""
