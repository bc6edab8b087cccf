"""Sets that others made: names alike, and which errors are the worst."""

from __future__ import annotations

from typing import Any

from evaluation import errors
from evaluation.others import normal, substring


def relation(head: str, name: str, tail: str, confidence: float = 0.5) -> dict[str, Any]:
    return {"head": head, "relation": name, "tail": tail, "confidence": confidence}


def row(text: str, *wanted: dict[str, Any]) -> dict[str, Any]:
    return {"text": text, "expected_relations": list(wanted)}


def test_names_are_alike_without_article_case_and_possessive() -> None:
    assert normal("The Billing-Service's") == "billing service"
    assert substring("our Billing Service", "billing service v2")
    assert not substring("", "billing")


def test_a_found_relation_is_wrong_or_takes_one_that_is_wanted() -> None:
    rows = [row("Ann works at Acme.", relation("Ann", "Work_For", "Acme"))]
    found = [[relation("Ann", "Work_For", "Acme", 0.9), relation("Acme", "Work_For", "Ann", 0.8)]]
    wrong, missed = errors.of_set("set", rows, found)
    assert [error.relation for error in wrong] == [("Acme", "Work_For", "Ann")]
    assert missed == []


def test_the_evidence_of_a_missed_relation_reaches_from_end_to_end() -> None:
    rows = [row("So Ann now works at Acme.", relation("Ann", "Work_For", "Acme"), relation("Bob", "Work_For", "Acme"))]
    _, missed = errors.of_set("set", rows, [[]])
    assert [error.weight for error in missed] == [len("Ann now works at Acme"), 0]


def test_the_worst_are_the_surest_wrong_and_the_longest_missed_one_of_a_text() -> None:
    rows = [row("Ann works at Acme.", relation("Ann", "Work_For", "Acme")), row("Bob is here.")]
    found = [
        [relation("Acme", "Work_For", "Ann", 0.7), relation("Ann", "Live_In", "Acme", 0.9)],
        [relation("Bob", "Live_In", "here", 0.8)],
    ]
    wrong, missed = errors.worst([errors.of_set("set", rows, found)])
    assert [(error.source, error.weight) for error in wrong] == [("set: 0", 0.9), ("set: 1", 0.8)]
    assert [error.source for error in missed] == ["set: 0"]
    text = errors.report([errors.of_set("set", rows, found)])
    assert "found: Ann | Live_In | Acme" in text
    assert "wanted of these names: Ann | Work_For | Acme" in text
