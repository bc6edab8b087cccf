from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.graph import Graph, catch_up
from ctxsync.engine.graph.entities import show

if TYPE_CHECKING:
    from pathlib import Path

SHOWN = "SELECT name, type FROM entity_version WHERE until IS NULL ORDER BY name, type"
ENTITY_OF = """
SELECT e.entity FROM identity AS i JOIN node AS n ON n.id = i.node JOIN entity AS e ON e.id = i.entity
WHERE n.node = ? AND i.until IS NULL
"""
ROBIN = ("a", "Robin Vale", "Person", ["email:robin@example.com"])


@pytest.fixture
def project(log: Any, graph_path: Path) -> Any:
    def run() -> Graph:
        graph = Graph.open(graph_path, write=True)
        catch_up(log, graph)
        return graph

    return run


def same(graph: Graph, *texts: str) -> bool:
    found = {graph.db.execute(ENTITY_OF, (text,)).get for text in texts}
    return len(found) == 1 and None not in found


def test_keys_of_one_mention_are_one_entity(log: Any, project: Any) -> None:
    log.note("note:1", "x", [("a", "Robin Vale", "Person", ["email:robin@example.com", "slack:T1:U1"])])
    assert same(project(), "email:robin@example.com", "slack:T1:U1")


def test_a_full_name_is_the_person_who_alone_bears_it(log: Any, project: Any) -> None:
    log.note("commit:1", "x", [ROBIN], kind="commit")
    log.note("note:2", "y", [("a", "robin  vale", "Person")])
    assert same(project(), "email:robin@example.com", "name:robin vale")


def test_two_people_of_one_name_stay_two_and_the_bare_name_is_neither(log: Any, project: Any) -> None:
    log.note("commit:1", "x", [ROBIN], kind="commit")
    log.note("commit:2", "y", [("a", "Robin Vale", "Person", ["email:other@example.com"])], kind="commit")
    log.note("note:3", "z", [("a", "Robin Vale", "Person")], title="Standup")
    with project() as graph:
        assert not same(graph, "email:robin@example.com", "email:other@example.com")
        assert not same(graph, "email:robin@example.com", "name:robin vale")
        assert not same(graph, "email:other@example.com", "name:robin vale")


def test_a_mailmap_joins_the_addresses_it_maps_and_lets_them_go_with_it(log: Any, project: Any) -> None:
    log.note("commit:1", "x", [ROBIN], kind="commit")
    log.note("commit:2", "y", [("a", "R", "Person", ["email:old@example.com"])], kind="commit")
    entry = {"name": "Robin Vale", "email": "robin@example.com", "old_name": "", "old_email": "OLD@example.com"}
    log.observe("mailmap:r", {"": "m"}, kind="mailmap", attributes={"entries": [entry]})
    log.sight("mailmap:r")
    with project() as graph:
        assert same(graph, "email:robin@example.com", "email:old@example.com")
    log.unsight("mailmap:r")
    with project() as graph:
        assert not same(graph, "email:robin@example.com", "email:old@example.com")


def test_a_title_and_an_alias_are_names_of_what_the_note_is_about(log: Any, project: Any) -> None:
    log.note("note:1", "x", [("a", "Kafka", "Artifact", ["note:1"])], title="Kafka", names=["the broker"])
    log.note("note:2", "y", [("a", "kafka", "Concept"), ("b", "broker", "Concept")], title="Standup")
    with project() as graph:
        assert same(graph, "note:1", "name:kafka", "name:broker")
        assert ("Kafka", "Artifact") in graph.db.execute(SHOWN).fetchall()


def test_a_name_that_two_notes_claim_is_nobodys(log: Any, project: Any) -> None:
    log.note("note:1", "x", [], title="Acme")
    log.note("note:2", "y", [], title="ACME")
    log.note("note:3", "z", [("a", "Acme", "Organization")], title="Standup")
    with project() as graph:
        assert not same(graph, "note:1", "name:acme")
        assert not same(graph, "note:2", "name:acme")
    log.unsight("note:2")
    assert same(project(), "note:1", "name:acme")


def test_a_note_titled_with_a_full_name_is_the_person_who_bears_it(log: Any, project: Any) -> None:
    log.note("note:1", "x", [], title="Robin Vale")
    log.note("commit:1", "y", [ROBIN], kind="commit")
    assert same(project(), "note:1", "name:robin vale", "email:robin@example.com") is False
    log.note("note:2", "z", [("a", "Robin Vale", "Person")], title="Standup")
    assert same(project(), "note:1", "name:robin vale", "email:robin@example.com")


def test_a_first_name_is_who_alone_fits_in_its_note(log: Any, project: Any) -> None:
    log.note("note:1", "x", [("a", "Robin Vale", "Person"), ("b", "Robin", "Person")], title="Standup")
    log.note("note:2", "y", [("a", "Robin", "Person")], title="Retro")
    with project() as graph:
        assert same(graph, "name:robin vale", "first:note:1:robin")
        assert not same(graph, "name:robin vale", "first:note:2:robin")


def test_a_first_name_that_two_fit_stays_alone(log: Any, project: Any) -> None:
    people = [("a", "Robin Vale", "Person"), ("b", "Robin Stone", "Person"), ("c", "Robin", "Person")]
    log.note("note:1", "x", people, title="Standup")
    with project() as graph:
        assert not same(graph, "name:robin vale", "first:note:1:robin")
        assert not same(graph, "name:robin stone", "first:note:1:robin")


def test_a_first_name_falls_back_to_the_note_of_its_source_that_is_called_so(log: Any, project: Any) -> None:
    log.note("note:1", "x", [], title="Nadia")
    log.note("note:2", "y", [("a", "Nadia", "Person")], title="Standup")
    log.note("note:3", "z", [("a", "Nadia", "Person")], title="Elsewhere", source="other")
    with project() as graph:
        assert same(graph, "note:1", "first:note:2:nadia")
        assert not same(graph, "note:1", "first:note:3:nadia")


def test_a_merge_holds_until_it_is_taken_back_and_mentions_keep_their_own(log: Any, project: Any) -> None:
    log.note("note:1", "x", [("a", "Kafka", "Artifact"), ("b", "Event bus", "Artifact")], title="Standup")
    log.add("entity.merged", {"node": "name:event bus", "into": "name:kafka"}, source="ctxsync")
    with project() as graph:
        assert same(graph, "name:event bus", "name:kafka")
    log.add("entity.unmerged", {"node": "name:event bus", "into": "name:kafka"}, source="ctxsync")
    with project() as graph:
        assert not same(graph, "name:event bus", "name:kafka")


def test_what_a_person_took_apart_is_not_joined_by_a_rule(log: Any, project: Any) -> None:
    log.note("note:1", "x", [("a", "Kafka", "Artifact")], title="Standup")
    log.note("note:2", "y", [], title="Kafka")
    log.add("entity.unmerged", {"node": "name:kafka", "into": "note:2"}, source="ctxsync")
    with project() as graph:
        assert not same(graph, "name:kafka", "note:2")


def test_a_person_decides_the_name_and_the_type(log: Any, project: Any) -> None:
    log.note("note:1", "x", [("a", "Kafka", "Organization")], title="Standup")
    log.add("entity.renamed", {"node": "name:kafka", "name": "Apache Kafka"}, source="ctxsync")
    log.add("entity.retyped", {"node": "name:kafka", "to": "Artifact"}, source="ctxsync")
    with project() as graph:
        assert ("Apache Kafka", "Artifact") in graph.db.execute(SHOWN).fetchall()


def test_one_real_type_outweighs_many_fallbacks_and_spellings_count_together() -> None:
    names = {
        ("kafka", "Concept", "name"): (6, 6),
        ("Kafka", "Artifact", "name"): (1, 10),
        ("event bus", "Concept", "name"): (2, 2),
    }
    assert show(names, person=False) == ("kafka", "Artifact")
    assert show({**names, ("Kafka", "", "note"): (1, 0)}, person=False) == ("Kafka", "Artifact")


def test_a_person_is_shown_by_a_full_name_where_there_is_one() -> None:
    names = {("rvale", "Person", "email"): (50, 500), ("Robin Vale", "Person", "email"): (1, 10)}
    assert show(names, person=True)[0] == "Robin Vale"
    assert (
        show({("Rob", "Person", "first"): (9, 90), ("Robin V", "Person", "name"): (1, 10)}, person=False)[0]
        == "Robin V"
    )
