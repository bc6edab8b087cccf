from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.graph import Graph, catch_up, rebuild

if TYPE_CHECKING:
    from pathlib import Path

HOLDING = """
SELECT h.entity, f.relation, f.phrase_class, t.entity FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
JOIN entity AS h ON h.id = f.head JOIN entity AS t ON t.id = f.tail
WHERE v.since <= :p AND (v.until IS NULL OR v.until > :p) AND v.valid_from <= :v AND (v.valid_to IS NULL OR v.valid_to > :v)
"""
UNSUPPORTED = """
SELECT count(*) FROM fact_version AS v WHERE v.until IS NULL
AND NOT EXISTS (SELECT 1 FROM support AS s WHERE s.fact = v.fact AND s.until IS NULL)
"""


def built(log: Any, path: Path, **settings: Any) -> Graph:
    graph = Graph.open(path, write=True)
    catch_up(log, graph, **settings)
    return graph


def hashes(graph: Graph) -> tuple[str, str]:
    with graph:
        return graph.state_hash(), graph.history_hash()


@pytest.mark.parametrize("seed", range(25))
def test_the_order_of_independent_items_changes_nothing(seed: int, streams: Any, new_log: Any, tmp_path: Path) -> None:
    rng = random.Random(seed)
    found = streams.streams(new_log, rng, 8)
    ending = rng.choice([(), (), ("",), ("", "own")])
    states = {hashes(built(streams.woven(new_log, rng, found, ending), tmp_path / f"{n}.db"))[0] for n in range(4)}
    assert len(states) == 1


@pytest.mark.parametrize("seed", range(50, 65))
def test_what_a_person_decided_holds_whatever_order_items_come_in(
    seed: int, streams: Any, new_log: Any, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    found = [*streams.streams(new_log, rng, 7), streams.decisions(new_log, rng)]
    logs = [streams.woven(new_log, rng, found) for _ in range(3)]
    states = {hashes(built(log, tmp_path / f"{n}.db", batch=5, kept=n * 60))[0] for n, log in enumerate(logs)}
    assert len(states) == 1
    whole = hashes(rebuild(logs[0], tmp_path / "whole.db"))
    assert whole == hashes(built(logs[0], tmp_path / "live.db", batch=1, kept=0))


@pytest.mark.parametrize("seed", range(100, 110))
def test_live_batches_and_rebuild_agree_on_state_and_history(
    seed: int, streams: Any, new_log: Any, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    log = streams.woven(new_log, rng, streams.streams(new_log, rng, 8), rng.choice([(), ("",), ("", "own")]))
    whole = hashes(rebuild(log, tmp_path / "whole.db"))
    assert hashes(built(log, tmp_path / "one.db", batch=1)) == whole
    assert hashes(built(log, tmp_path / "evicting.db", batch=3, kept=0)) == whole
    live, path = new_log(), tmp_path / "live.db"
    for event in log.events:
        live.events.append(event)
        if rng.random() < 0.2:
            built(live, path, batch=2).close()
    assert hashes(built(live, path)) == whole


@pytest.mark.parametrize("seed", range(200, 220))
def test_every_past_state_answers_as_the_naive_graph_does(
    seed: int, streams: Any, reference: Any, new_log: Any, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    log = streams.woven(new_log, rng, streams.streams(new_log, rng, 8), rng.choice([(), ("",), ("", "own")]))
    with built(log, tmp_path / "graph.db", batch=7) as graph:
        written = [s["occurred_at"] for event in log.events for s in event.payload.get("sections", ())]
        for n in range(50):
            known = rng.randint(0, len(log.events))
            any_day = streams.BASE + rng.randint(-700, 900) * streams.DAY
            valid = rng.choice(written) - rng.randint(0, 1) if n % 2 else any_day
            expected = reference.facts(log.events[:known], valid)
            assert set(graph.db.execute(HOLDING, {"p": known, "v": valid})) == expected, (known, valid)
        assert graph.db.execute(UNSUPPORTED).get == 0
