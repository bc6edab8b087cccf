from __future__ import annotations

from ctxsync.engine.graph import Graph, catch_up, rebuild

FACTS = """
SELECT h.name, f.phrase_class, t.name, v.valid_from, v.valid_to, v.reason
FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
JOIN entity_version AS h ON h.entity = f.head AND h.until IS NULL
JOIN entity_version AS t ON t.entity = f.tail AND t.until IS NULL
WHERE v.until IS NULL ORDER BY v.valid_from, h.name, t.name
"""


def facts(graph):
    return graph.db.execute(FACTS).fetchall()


def project(log, path):
    graph = Graph.open(path, write=True)
    catch_up(log, graph)
    return graph


def test_a_note_that_is_seen_and_extracted_states_its_facts(log, graph_path):
    log.source()
    log.note(
        "note:1",
        "Robin Vale works at Acme",
        [("a", "Robin Vale", "Person"), ("b", "Acme", "Organization")],
        [("a", "employment", "b")],
        at=5,
    )
    with project(log, graph_path) as graph:
        assert facts(graph) == [("Robin Vale", "employment", "Acme", 5, None, "")]
        before = graph.state_hash(), graph.history_hash()
    with rebuild(log, graph_path) as graph:
        assert (graph.state_hash(), graph.history_hash()) == before
