"""The gold set's scorer: which relations agree, calibration, and which entities match."""

from __future__ import annotations

from typing import Any

import pytest

from ctxsync.engine.extraction.base import Entity, Extraction, Relation
from evaluation import gold, own
from evaluation.gold import agrees, calibration


def found(relation: str = "part_of", **more: Any) -> dict[str, Any]:
    known = {"head": "Rosa Amsel", "relation": relation, "tail": "Acme", "ends": False, "valid_to": None}
    return {**known, **more}


def wanted(relation: str = "part_of", **more: Any) -> dict[str, Any]:
    return {"head": "Rosa Amsel", "relation": relation, "tail": "Acme", **more}


def test_a_relation_needs_its_name_and_its_direction() -> None:
    assert agrees(found(), wanted())
    assert agrees(found(head="Rosa"), wanted())
    assert not agrees(found("owned_by"), wanted())
    assert not agrees(found(head="Acme", tail="Rosa Amsel"), wanted())


def test_an_association_holds_both_ways() -> None:
    assert agrees(found("related_to", head="Acme", tail="Rosa Amsel"), wanted("related_to"))


def test_an_end_has_to_be_told_and_must_not_be_made_up() -> None:
    assert agrees(found(ends=True), wanted(ends=True))
    assert agrees(found(valid_to="2025-03-01"), wanted(ends=True))
    assert not agrees(found(), wanted(ends=True))
    assert not agrees(found(ends=True), wanted())


def test_calibration_is_nothing_where_as_many_are_right_as_was_said() -> None:
    assert calibration([(0.75, True)] * 3 + [(0.75, False)]) == pytest.approx(0.0)


def test_calibration_weighs_each_bin_by_its_facts() -> None:
    pairs = [(0.95, False)] + [(0.25, False)] * 3 + [(0.25, True)]
    assert calibration(pairs) == pytest.approx(0.95 / 5)
    assert calibration([(1.0, True)]) == pytest.approx(0.0)
    assert calibration([]) == 0.0


def extraction() -> Extraction:
    result = Extraction("e", 1, "m")
    result.entities = [
        Entity("1", "Rosa", "Person", tier=1),
        Entity("2", "Acme", "Organization", tier=1),
        Entity("3", "March", "Time", tier=1),
    ]
    result.relations = [
        Relation("1", "part_of", "2", "works at", confidence=0.9, valid_from="2025-03", tier=1),
        Relation("2", "part_of", "1", "works at", confidence=0.6, tier=1),
        Relation("1", "part_of", "3", "works at", confidence=0.9, tier=1),
    ]
    return result


LABEL = {
    "relations": [wanted(valid_from="2025-03-01")],
    "entities": [{"name": "Rosa Amsel", "type": "Person"}, {"name": "Acme", "type": "Place"}],
    "trap": None,
}


def test_an_episode_counts_right_wrong_and_missed_and_leaves_out_what_ends_in_a_time() -> None:
    score = gold.scored(LABEL, extraction())
    assert [confidence for _, confidence in score.right] == [0.9]
    assert [r["head"] for r in score.wrong] == ["Acme"]
    assert score.missed == []
    assert score.dated == (1, 1)
    assert gold.rates([score]) == (0.5, 1.0, pytest.approx(2 / 3))


def test_entities_count_by_substring_with_their_type_and_with_or_without_times() -> None:
    score = gold.scored(LABEL, extraction())
    assert score.entities == {"exact": (0, 3, 2), "substring": (1, 3, 2), "timeless": (1, 2, 2)}


def test_what_is_sure_is_counted_over_all_facts() -> None:
    scores = [gold.scored(LABEL, extraction())]
    assert own.sure_share(scores) == 0.5
    assert own.sure_right(scores) == 1.0
    assert own.error_of(scores) == pytest.approx((0.1 + 0.6) / 2)


def test_only_the_locked_half_is_held_to_figures() -> None:
    scores = [gold.scored(LABEL, extraction())]
    assert all(line.holds is None for line in own.gold_lines("open", scores))
    assert sum(line.holds is not None for line in own.gold_lines("locked", scores)) == 5
