"""Re-DocRED in the schema's terms, and how what is found in an article is counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evaluation import articles, redocred
from evaluation.redocred import Document, Entity

if TYPE_CHECKING:
    from pathlib import Path


def entity(*names: str) -> Entity:
    return Entity("Person", names, ())


ROSA, ACME, LISBON = entity("Rosa Amsel", "Amsel"), entity("Acme Robotics"), entity("Lisbon")
DOCUMENT = Document("t", "", (ROSA, ACME, LISBON), frozenset({(0, "part_of", 1), (1, "related_to", 2)}))


def test_a_thing_is_the_entity_that_has_a_mention_of_its_name() -> None:
    assert articles.link("the Amsel", DOCUMENT.entities) == 0
    assert articles.link("lisbon", DOCUMENT.entities) == 2


def test_a_thing_is_else_the_entity_whose_name_is_most_like_it_word_by_word() -> None:
    assert articles.link("Acme", DOCUMENT.entities) == 1
    assert articles.link("Acme Robotics GmbH", (entity("Robotics"), ACME)) == 1
    assert articles.link("Acm", DOCUMENT.entities) == "~acm"


def test_a_relation_counts_once_however_often_its_entities_are_named() -> None:
    pairs: list[articles.Judged] = [(0, "part_of", 1, 0.9), (0, "part_of", 1, 0.6)]
    assert articles.score(pairs, DOCUMENT, 0.5) == (1, 1, 2)


def test_an_association_counts_in_either_order_and_direction_counts_else() -> None:
    assert articles.score([(2, "related_to", 1, 0.9)], DOCUMENT, 0.5) == (1, 1, 2)
    assert articles.score([(1, "part_of", 0, 0.9)], DOCUMENT, 0.5) == (0, 1, 2)


def test_what_is_linked_to_no_entity_is_wrong() -> None:
    pairs: list[articles.Judged] = [("~someone", "part_of", 1, 0.9), ("~someone", "part_of", 1, 0.8)]
    assert articles.score(pairs, DOCUMENT, 0.5) == (0, 1, 2)


def test_what_is_below_the_cut_off_is_not_stated() -> None:
    assert articles.score([(0, "part_of", 1, 0.3)], DOCUMENT, 0.31) == (0, 0, 2)


def test_a_date_or_a_number_is_no_end() -> None:
    assert not articles.can_be_end("March 2025", "Time")
    assert not articles.can_be_end("1,200", "Concept")
    assert articles.can_be_end("Acme", "Organization")


def test_the_cut_off_of_a_fold_is_chosen_on_the_other_folds_alone() -> None:
    documents = [DOCUMENT, DOCUMENT]
    sure: list[articles.Judged] = [(0, "part_of", 1, 0.9), (1, "related_to", 2, 0.9), (2, "part_of", 0, 0.2)]
    unsure: list[articles.Judged] = [(0, "part_of", 1, 0.12), (1, "related_to", 2, 0.12)]
    counts, cuts = articles.counted(documents, [{0: sure}, {1: unsure}])
    # The first fold is cut as the second likes it (low), the second as the first does (high).
    assert cuts == [0.1, 0.25]
    assert counts == [(2, 3, 2), (0, 0, 2)]


def test_relations_of_the_set_become_the_ten_with_their_direction(tmp_path: Path) -> None:
    row = {
        "title": "t",
        "sents": [["Rosa", "Amsel", "works", "at", "Acme", "in", "2025", "."]],
        "vertexSet": [
            [{"name": "Rosa Amsel", "sent_id": 0, "pos": [0, 2], "type": "PER"}],
            [{"name": "2025", "sent_id": 0, "pos": [6, 7], "type": "TIME"}],
            [{"name": "Acme", "sent_id": 0, "pos": [4, 5], "type": "ORG"}],
        ],
        "labels": [
            {"h": 0, "t": 2, "r": "P108"},
            {"h": 2, "t": 0, "r": "P488"},
            {"h": 0, "t": 1, "r": "P569"},
            {"h": 0, "t": 2, "r": "P31"},
            {"h": 2, "t": 0, "r": "P40"},
        ],
    }
    path = tmp_path / "set.json"
    path.write_text(json.dumps([row]), encoding="utf-8")
    (document,) = redocred.documents(path)
    assert document.text[slice(*document.entities[1].mentions[0])] == "Acme"
    assert document.relations == {(0, "part_of", 1), (0, "related_to", 1)}


@pytest.mark.parametrize("size", [5, 13])
def test_every_document_is_in_one_fold(size: int) -> None:
    assert sorted(number for fold in redocred.folds(size) for number in fold) == list(range(size))
