"""What an edit does to what a note said before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.graph import Graph, catch_up, rebuild

if TYPE_CHECKING:
    from pathlib import Path

WHO = [("a", "Nadia Okoro", "Person"), ("b", "Port Ellery", "Place"), ("c", "Acme", "Organization")]
LIVES, WORKS = ("a", "residence", "b"), ("a", "employment", "c")
ROWS = """
SELECT t.name, v.valid_from, v.valid_to, v.since, v.until FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
JOIN name AS t ON t.entity = f.tail GROUP BY v.rowid ORDER BY t.name, v.since
"""
HELD = "SELECT e.text FROM holding AS h JOIN episode AS e ON e.id = h.episode WHERE h.until IS NULL ORDER BY h.line"


@pytest.fixture
def rows(graph_path: Path) -> Any:
    """Project a log, compare it with its rebuild, and return all fact versions by tail."""

    def project(log: Any) -> dict[str, list[tuple[Any, ...]]]:
        with Graph.open(graph_path, write=True) as graph:
            catch_up(log, graph, batch=1, kept=0)
            found: dict[str, list[tuple[Any, ...]]] = {}
            for tail, *rest in graph.db.execute(ROWS):
                found.setdefault(tail, []).append(tuple(rest))
            hashes = graph.state_hash(), graph.history_hash()
        with rebuild(log, graph_path.with_name("anew.db")) as anew:
            assert (anew.state_hash(), anew.history_hash()) == hashes
        return found

    return project


def test_an_edit_that_keeps_a_sentence_does_not_touch_its_fact(log: Any, rows: Any) -> None:
    log.note("note:1", "lives in Port Ellery", WHO, [LIVES], at=5)
    before = rows(log)
    log.observe("note:1", {"": "lives in Port Ellery, works at Acme"}, at=9)
    assert rows(log) == before
    read = log.extract("note:1", "", "lives in Port Ellery, works at Acme", WHO, [LIVES, WORKS])
    assert rows(log) == before | {"Acme": [(9, None, read, None)]}


def test_a_fact_that_moves_to_another_section_is_not_touched(log: Any, rows: Any) -> None:
    log.observe("note:1", {"one": "lives", "two": "nothing"}, at=5)
    log.sight("note:1")
    log.extract("note:1", "two", "nothing", [])
    log.extract("note:1", "one", "lives", WHO, [LIVES])
    before = rows(log)
    log.observe("note:1", {"one": "gone", "two": "lives now"}, at=9)
    log.extract("note:1", "one", "gone", [])
    assert rows(log) == before
    log.extract("note:1", "two", "lives now", WHO, [LIVES])
    assert rows(log) == before


def test_a_corrected_typo_leaves_valid_from_where_it_was(log: Any, rows: Any) -> None:
    texts = ["lives in Port Ellery", "lives  in Port Ellery", "lives in Port Ellery."]
    for n, text in enumerate(texts):
        log.note("note:1", text, WHO, [LIVES], at=5 + n)
    assert [k[0] for k in rows(log)["Port Ellery"]] == [5]


def test_a_corrected_typo_leaves_the_day_of_an_end_where_it_was(log: Any, rows: Any) -> None:
    log.note("note:1", "works", WHO, [WORKS], at=2)
    for n, text in enumerate(["she left", "She left"]):
        log.note("note:2", text, WHO, [("a", "employment", "c", {"ends": True})], at=5 + n)
    assert [k[:2] for k in rows(log)["Acme"] if k[3] is None] == [(2, 5)]


def test_an_end_that_tells_the_start_alone_keeps_its_own_day_too(log: Any, rows: Any) -> None:
    for n, text in enumerate(["from 2020, she left", "From 2020, she left"]):
        left = ("a", "employment", "c", {"ends": True, "valid_from": "2020"})
        log.note("note:1", text, WHO, [left], at=9_000_000_000_000 + n)
    assert {k[:2] for k in rows(log)["Acme"]} == {(1577836800000, 9_000_000_000_000)}


def test_a_version_that_does_not_say_it_breaks_the_run(log: Any, rows: Any) -> None:
    for n, (text, said) in enumerate([("lives", [LIVES]), ("nothing", []), ("Lives again", [LIVES])]):
        log.note("note:1", text, WHO, said, at=5 + n)
    assert [k[0] for k in rows(log)["Port Ellery"]] == [5, 7]


def test_a_dated_statement_holds_from_its_date_whatever_an_edit_restates(log: Any, rows: Any) -> None:
    log.note("note:1", "lives", WHO, [LIVES], at=9_000_000_000_000)
    log.note("note:1", "since 2020", WHO, [(*LIVES, {"valid_from": "2020"})], at=9_000_000_000_001)
    log.note("note:1", "lives again", WHO, [LIVES], at=9_000_000_000_002)
    assert [k[0] for k in rows(log)["Port Ellery"]] == [9_000_000_000_000, 1577836800000, 9_000_000_000_002]


def test_what_was_said_in_a_section_that_is_left_out_goes_on_in_one_that_stays(log: Any, rows: Any) -> None:
    log.note("note:1", "lives", WHO, [LIVES], at=5)
    log.observe("note:1", {"": "lives", "two": "lives, again"}, at=9)
    log.extract("note:1", "two", "lives, again", WHO, [LIVES])
    log.observe("note:1", {"two": "lives, again"}, at=11)
    assert {k[0] for k in rows(log)["Port Ellery"]} == {5}


def test_what_two_sections_said_goes_on_from_the_earlier_one_when_it_is_left_out(log: Any, rows: Any) -> None:
    log.observe("note:1", {"one": "lives", "two": "lives too"}, at=5)
    log.events[-1].payload["sections"][1]["occurred_at"] = 9
    log.sight("note:1")
    for key, text in (("one", "lives"), ("two", "lives too")):
        log.extract("note:1", key, text, WHO, [LIVES])
    log.observe("note:1", {"two": "lives too"}, at=11)
    assert {k[0] for k in rows(log)["Port Ellery"]} == {5}


def test_what_a_person_denied_is_not_back_because_a_typo_was_corrected(log: Any, rows: Any) -> None:
    log.note("note:1", "works at Acme", WHO, [WORKS], at=5)
    statement = {"head": "name:nadia okoro", "head_name": "Nadia Okoro", "head_type": "Person", "relation": "part_of",
                 "phrase": "works at", "phrase_class": "employment", "tail": "name:acme", "tail_name": "Acme",
                 "tail_type": "Organization", "valid_from": None, "valid_to": None}  # fmt: skip
    no = log.add("fact.corrected", {"statement": statement, "correction": None}, source="ctxsync", at=7)
    log.note("note:1", "works at Acme.", WHO, [WORKS], at=9)
    assert rows(log)["Acme"] == [(5, None, 3, no)]


def test_a_fact_dropped_by_an_edit_is_retracted_when_the_edit_has_been_read(log: Any, rows: Any) -> None:
    log.note("note:1", "lives, works", WHO, [LIVES, WORKS], at=5)
    log.observe("note:1", {"": "works"}, at=9)
    assert rows(log)["Port Ellery"] == [(5, None, 3, None)]
    read = log.extract("note:1", "", "works", WHO, [WORKS])
    assert rows(log) == {"Port Ellery": [(5, None, 3, read)], "Acme": [(5, None, 3, None)]}


def test_a_fact_dropped_with_its_section_is_retracted_at_once(log: Any, rows: Any) -> None:
    log.observe("note:1", {"one": "lives", "two": "works"}, at=5)
    log.sight("note:1")
    log.extract("note:1", "one", "lives", WHO, [LIVES])
    log.extract("note:1", "two", "works", WHO, [WORKS])
    cut = log.observe("note:1", {"two": "works"}, at=9)
    assert rows(log) == {"Port Ellery": [(5, None, 3, cut)], "Acme": [(5, None, 4, None)]}


def test_what_waits_to_be_read_is_found_by_its_text_at_once(log: Any, graph_path: Path) -> None:
    log.note("note:1", "lives in Port Ellery", WHO, [LIVES])
    log.observe("note:1", {"": "works at Acme"})
    with Graph.open(graph_path, write=True) as graph:
        catch_up(log, graph)
        assert graph.db.execute(HELD).fetchall() == [("works at Acme",)]


def test_a_new_title_names_the_note_when_its_text_has_been_read(log: Any, graph_path: Path) -> None:
    called = "SELECT normal FROM name WHERE until IS NULL ORDER BY normal"
    log.note("note:1", "x", [], title="Old Title")
    log.observe("note:1", {"": "y"}, title="New Title")
    with Graph.open(graph_path, write=True) as graph:
        catch_up(log, graph)
        assert graph.db.execute(called).fetchall() == [("old title",)]
        log.extract("note:1", "", "y", [])
        catch_up(log, graph)
        assert graph.db.execute(called).fetchall() == [("new title",)]


def test_while_edits_follow_one_another_the_last_one_that_was_read_is_believed(log: Any, rows: Any) -> None:
    log.note("note:1", "lives", WHO, [LIVES], at=5)
    log.observe("note:1", {"": "works"}, at=7)
    log.observe("note:1", {"": "nothing"}, at=9)
    assert rows(log) == {"Port Ellery": [(5, None, 3, None)]}
    second = log.extract("note:1", "", "works", WHO, [WORKS])
    assert rows(log) == {"Port Ellery": [(5, None, 3, second)], "Acme": [(7, None, second, None)]}
    third = log.extract("note:1", "", "nothing", [])
    assert rows(log)["Acme"] == [(7, None, second, third)]


def test_a_version_that_is_never_read_does_not_hold_up_the_one_after_it(log: Any, rows: Any) -> None:
    log.note("note:1", "lives", WHO, [LIVES], at=5)
    log.observe("note:1", {"": "never read"}, at=7)
    log.observe("note:1", {"": "works"}, at=9)
    read = log.extract("note:1", "", "works", WHO, [WORKS])
    late = log.extract("note:1", "", "never read", WHO, [LIVES])
    assert late > read
    assert rows(log) == {"Port Ellery": [(5, None, 3, read)], "Acme": [(9, None, read, None)]}


def test_of_a_note_that_was_never_wholly_read_the_sections_that_were_are_believed(log: Any, rows: Any) -> None:
    log.observe("note:1", {"one": "lives", "two": "works"}, at=5)
    log.sight("note:1")
    read = log.extract("note:1", "one", "lives", WHO, [LIVES])
    assert rows(log) == {"Port Ellery": [(5, None, read, None)]}
    cut = log.observe("note:1", {"one": "Lives", "two": "works"}, at=9)
    assert rows(log) == {"Port Ellery": [(5, None, read, cut)]}


def test_a_deleted_notes_facts_go_at_once_though_its_last_version_was_never_extracted(log: Any, rows: Any) -> None:
    log.note("note:1", "lives", WHO, [LIVES], at=5)
    log.observe("note:1", {"": "lives here"}, at=9)
    gone = log.unsight("note:1")
    assert rows(log) == {"Port Ellery": [(5, None, 3, gone)]}


def test_a_note_that_returns_does_not_bring_back_what_it_no_longer_says(log: Any, rows: Any) -> None:
    log.note("note:1", "lives", WHO, [LIVES], at=5)
    gone = log.unsight("note:1")
    log.observe("note:1", {"": "works"}, at=9)
    log.sight("note:1")
    assert rows(log) == {"Port Ellery": [(5, None, 3, gone)]}
    read = log.extract("note:1", "", "works", WHO, [WORKS])
    assert rows(log)["Acme"] == [(9, None, read, None)]
