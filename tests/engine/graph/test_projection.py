from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.graph import Graph, catch_up, embed_pending, rebuild, vectors
from ctxsync.errors import GraphMissing, GraphStale, PositionConflict, StoreTooNew
from ctxsync.events.model import (
    EpisodeExtracted,
    ExtractedEntity,
    ExtractedRelation,
    ItemObserved,
    ItemSighted,
    SectionBody,
    SourceConfigured,
)
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from pathlib import Path

FACTS = """
SELECT h.name, f.phrase_class, t.name, v.valid_from, v.valid_to, v.reason
FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
JOIN entity_version AS h ON h.entity = f.head AND h.until IS NULL
JOIN entity_version AS t ON t.entity = f.tail AND t.until IS NULL
WHERE v.until IS NULL ORDER BY v.valid_from, h.name, t.name
"""
PEOPLE = [("a", "Robin Vale", "Person"), ("b", "Acme", "Organization"), ("c", "Globex", "Organization")]
ACME, GLOBEX = ("a", "employment", "b"), ("a", "employment", "c")


def facts(graph: Graph) -> list[Any]:
    return graph.db.execute(FACTS).fetchall()


def project(log: Any, path: Path) -> Graph:
    graph = Graph.open(path, write=True)
    catch_up(log, graph)
    return graph


def hashes(graph: Graph) -> tuple[str, str]:
    return graph.state_hash(), graph.history_hash()


def test_a_note_that_is_seen_and_extracted_states_its_facts(log: Any, graph_path: Path) -> None:
    log.source()
    log.note("note:1", "Robin Vale works at Acme", PEOPLE[:2], [ACME], at=5)
    with project(log, graph_path) as graph:
        assert facts(graph) == [("Robin Vale", "employment", "Acme", 5, None, "")]
        assert graph.db.execute("SELECT rowid FROM passage WHERE passage MATCH 'acme'").get == 1
        before = hashes(graph)
    with rebuild(log, graph_path) as graph:
        assert hashes(graph) == before


def test_an_edit_that_drops_a_statement_retracts_the_fact_and_keeps_its_past(log: Any, graph_path: Path) -> None:
    log.note("note:1", "works at Acme", PEOPLE, [ACME])
    log.observe("note:1", {"": "nothing"})
    edit = log.extract("note:1", "", "nothing", [])
    with project(log, graph_path) as graph:
        assert facts(graph) == []
        assert graph.db.execute("SELECT since, until FROM fact_version").fetchall() == [(3, edit)]
        assert graph.db.execute("SELECT valid_to FROM fact_version").get is None


def test_an_item_counts_while_anyone_sees_it(log: Any, graph_path: Path) -> None:
    log.note("commit:1", "x", PEOPLE, [ACME], kind="commit", source="code")
    log.sight("commit:1", "refs", source="fork")
    log.unsight("commit:1", source="code")
    assert len(facts(project(log, graph_path))) == 1
    log.unsight("commit:1", "refs", source="fork")
    assert facts(project(log, graph_path)) == []
    log.sight("commit:1", source="code")
    assert len(facts(project(log, graph_path))) == 1


def test_a_source_that_is_removed_takes_its_facts_along_and_brings_them_back(log: Any, graph_path: Path) -> None:
    log.source("vault")
    log.note("note:1", "x", PEOPLE, [ACME])
    log.source("vault", removed=True)
    assert facts(project(log, graph_path)) == []
    log.source("vault")
    assert len(facts(project(log, graph_path))) == 1


def test_what_waited_at_a_source_that_is_removed_waits_again_when_it_is_back(log: Any, graph_path: Path) -> None:
    log.source("vault")
    for place in ("a.md", "b.md"):
        log.add("item.quarantined", {"place": place, "error": "It is no text."}, subject=f"place:{place}")
    log.add("item.released", {"place": "b.md"}, subject="place:b.md")
    stream = {"name": "vault", "stream": ".", "reason": "5 of 6 notes are gone."}
    log.add("source.paused", stream, source="ctxsync", subject="source:vault")
    waits = [("a.md", 2), (".", 5)]

    def waiting(graph: Any) -> list[tuple[str, int]]:
        both = "SELECT place, since FROM quarantine UNION ALL SELECT stream, since FROM paused"
        return list(graph.db.execute(both))

    assert waiting(project(log, graph_path)) == waits
    log.source("vault", removed=True)
    assert waiting(project(log, graph_path)) == []
    log.source("vault")
    assert waiting(project(log, graph_path)) == waits
    log.add("item.released", {"place": "a.md"}, subject="place:a.md")
    log.add("source.resumed", {"name": "vault", "stream": "."}, source="ctxsync", subject="source:vault")
    log.source("vault", removed=True)
    log.source("vault")
    assert waiting(project(log, graph_path)) == []


def test_a_higher_tier_counts_until_a_run_is_adopted(log: Any, graph_path: Path) -> None:
    log.note("note:1", "x", PEOPLE, [ACME])
    log.extract("note:1", "", "x", PEOPLE, [GLOBEX], run="better", tier=2)
    log.extract("note:1", "", "x", PEOPLE, [], run="worse", tier=0)
    assert [k[2] for k in facts(project(log, graph_path))] == ["Globex"]
    log.add("extraction.adopted", {"run": "r1", "source": ""}, source="ctxsync")
    assert [k[2] for k in facts(project(log, graph_path))] == ["Acme"]


def test_an_extraction_that_comes_before_its_episode_counts_when_it_is_held(log: Any, graph_path: Path) -> None:
    log.extract("note:1", "", "x", PEOPLE, [ACME])
    log.observe("note:1", {"": "x"})
    log.sight("note:1")
    assert len(facts(project(log, graph_path))) == 1


def test_others_mail_does_not_retire_what_own_notes_say_until_the_source_is_trusted(log: Any, graph_path: Path) -> None:
    log.source("vault", trust="own")
    log.source("code", trust="others", keys=["email:me@example.com"])
    log.note("note:1", "x", PEOPLE, [ACME], at=1)
    log.note("commit:1", "y", PEOPLE, [GLOBEX], at=2, source="code", kind="commit")
    assert [k[4] for k in facts(project(log, graph_path))] == [None, None]
    log.source("code", trust="own")
    assert [k[4] for k in facts(project(log, graph_path))] == [2, None]


def test_own_commits_are_own_words_in_a_repository_of_others(log: Any, graph_path: Path) -> None:
    log.source("vault", trust="own")
    log.source("code", trust="others", keys=["email:me@example.com"])
    log.note("note:1", "x", PEOPLE, [ACME], at=1)
    me = {"name": "Me", "keys": ["email:me@example.com"]}
    log.note("commit:1", "y", PEOPLE, [GLOBEX], at=2, source="code", kind="commit", author=me)
    assert [k[4] for k in facts(project(log, graph_path))] == [2, None]


def test_leaving_ends_a_fact_of_another_class_of_the_same_relation(log: Any, graph_path: Path) -> None:
    log.note("note:1", "x", PEOPLE, [ACME], at=1)
    log.note("note:2", "y", PEOPLE, [("a", "membership", "b", {"ends": True})], at=9)
    found = {k[1]: k[3:] for k in facts(project(log, graph_path))}
    assert found == {"employment": (1, 9, "ended"), "membership": (9, 9, "ended")}


def test_both_directions_of_a_symmetric_relation_are_one_fact(log: Any, graph_path: Path) -> None:
    log.note("note:1", "x", PEOPLE, [("a", "association", "b")])
    log.note("note:2", "y", PEOPLE, [("b", "association", "a")])
    graph = project(log, graph_path)
    assert graph.counts()["facts_all"] == 1
    assert graph.counts()["support"] == 2


def test_a_learned_rule_regroups_what_was_said(log: Any, graph_path: Path) -> None:
    log.note("note:1", "x", PEOPLE, [("a", "membership", "b")], at=1)
    log.note("note:2", "y", PEOPLE, [("a", "membership", "c")], at=2)
    assert [k[4] for k in facts(project(log, graph_path))] == [None, None]
    rule = {"relation": "part_of", "phrase_class": "membership", "single": True, "subjects": 9, "share": 1.0}
    log.add("schema.rule_learned", rule, source="ctxsync")
    assert [k[4] for k in facts(project(log, graph_path))] == [2, None]


def test_quarantine_and_pauses_are_as_the_log_last_said(log: Any, graph_path: Path) -> None:
    log.add("item.quarantined", {"place": "a.md", "error": "no text"}, subject="place:a.md")
    log.add("source.paused", {"name": "vault", "stream": ".", "reason": "many deletions"}, source="ctxsync")
    counts = project(log, graph_path).counts()
    assert (counts["quarantined"], counts["paused"]) == (1, 1)
    log.add("item.released", {"place": "a.md"}, subject="place:a.md")
    log.add("source.resumed", {"name": "vault", "stream": "."}, source="ctxsync")
    counts = project(log, graph_path).counts()
    assert (counts["quarantined"], counts["paused"]) == (0, 0)


def test_a_crash_between_batches_loses_nothing_and_doubles_nothing(log: Any, graph_path: Path, tmp_path: Path) -> None:
    class CrashError(Exception):
        pass

    for n in range(6):
        log.note(f"note:{n}", f"text {n}", PEOPLE, [ACME if n % 2 else GLOBEX], at=n)
    left = [3, 1, 2, 0]

    def checkpoint(name: str) -> None:
        assert name == "project"
        if left and not left[-1]:
            left.pop()
            raise CrashError
        if left:
            left[-1] -= 1

    while left:
        with Graph.open(graph_path, write=True) as graph, pytest.raises(CrashError):
            catch_up(log, graph, checkpoint=checkpoint, batch=2)
    with project(log, graph_path) as graph, rebuild(log, tmp_path / "other.db") as other:
        assert graph.position == len(log.events)
        assert hashes(graph) == hashes(other)


def test_a_graph_that_another_process_moved_is_not_written_to(log: Any, graph_path: Path) -> None:
    for n in range(4):
        log.note(f"note:{n}", "x", PEOPLE, [ACME])
    with Graph.open(graph_path, write=True) as graph:

        def interfere(done: int, _: int) -> None:
            if done == 2:
                graph.db.execute("UPDATE meta SET value = 3 WHERE key = 'position'")

        with pytest.raises(PositionConflict):
            catch_up(log, graph, batch=2, progress=interfere)


def test_a_graph_of_another_log_or_of_a_log_that_was_cut_must_be_rebuilt(
    log: Any, new_log: Any, graph_path: Path
) -> None:
    log.note("note:1", "x", PEOPLE, [ACME])
    project(log, graph_path).close()
    other = new_log("log-2")
    other.note("note:1", "x", PEOPLE, [ACME])
    cut = new_log()
    cut.note("note:9", "y", PEOPLE, [GLOBEX])
    for changed in (other, cut):
        with Graph.open(graph_path, write=True) as graph, pytest.raises(GraphStale, match="ctxsync rebuild"):
            catch_up(changed, graph)
        rebuild(changed, graph_path).close()
        project(log, graph_path.with_name("again.db")).close()
        graph_path.unlink()
        project(log, graph_path).close()


def test_a_graph_that_cannot_be_read_says_what_to_do(graph_path: Path) -> None:
    with pytest.raises(GraphMissing, match="ctxsync rebuild"):
        Graph.open(graph_path)
    graph_path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(GraphStale, match="ctxsync rebuild"):
        Graph.open(graph_path)
    graph_path.unlink()
    with Graph.open(graph_path, write=True) as graph:
        graph.db.execute("UPDATE meta SET value = 99 WHERE key = 'layout'")
    with pytest.raises(StoreTooNew):
        Graph.open(graph_path)


def test_a_damaged_file_is_rebuilt_over(log: Any, graph_path: Path) -> None:
    for n in range(40):
        log.note(f"note:{n}", f"text {n} " * 50, PEOPLE, [ACME])
    with project(log, graph_path) as graph:
        before = graph.state_hash()
        graph.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    data = bytearray(graph_path.read_bytes())
    data[4096:40960] = bytes(36864)
    graph_path.write_bytes(data)
    with pytest.raises(GraphStale, match="ctxsync rebuild"), Graph.open(graph_path, write=True) as graph:
        graph.state_hash()
    with rebuild(log, graph_path) as graph:
        assert graph.state_hash() == before


def test_what_was_erased_from_the_log_leaves_the_graph_by_a_rebuild(log: Any, graph_path: Path) -> None:
    log.note("note:1", "x", PEOPLE, [ACME])
    log.note("note:2", "y", PEOPLE, [GLOBEX])
    project(log, graph_path).close()
    erased = [k for k in log.events if k.subject == "note:1" or k.payload["item"] == "note:1"]
    log.add("erasure.requested", {"positions": [k.position for k in erased]}, source="ctxsync")
    with Graph.open(graph_path, write=True) as graph, pytest.raises(GraphStale, match="ctxsync rebuild"):
        catch_up(log, graph)
    kept = [k for k in log.events if k not in erased]
    log.read = lambda after=0, *, upto=None, **_: (k for k in kept if after < k.position <= (upto or 99))
    assert [k[2] for k in facts(rebuild(log, graph_path))] == ["Globex"]


class Cache:
    def __init__(self, model: str = "first") -> None:
        self.model = model
        self.kept: dict[str, Any] = {}

    def get(self, texts: Any) -> list[Any]:
        return [self.kept.get(text) for text in texts]

    def embed(self, embedder: Any, texts: Any) -> list[Any]:
        self.kept.update((text, embedder(text)) for text in texts if text not in self.kept)
        return self.get(texts)


def test_vectors_are_computed_once_and_a_rebuild_takes_them_from_the_cache(log: Any, graph_path: Path) -> None:
    import numpy as np

    log.note("note:1", "first", PEOPLE)
    log.note("note:2", "second", PEOPLE, title="Second")
    log.unsight("note:1")
    cache, asked = Cache(), []

    def embedder(text: str) -> Any:
        asked.append(text)
        return np.full(384, len(asked), dtype=np.float32)

    with project(log, graph_path) as graph:
        before = hashes(graph)
        assert embed_pending(graph, cache, embedder) == 1
        assert embed_pending(graph, cache, embedder) == 0
        assert asked == ["Second\nsecond"]
        assert hashes(graph) == before
    with rebuild(log, graph_path, cache=cache) as graph:
        assert vectors.prepare(graph.db, create=False)
        assert graph.db.execute("SELECT rowid FROM passage_vector").fetchall() == [(2,)]


def test_vectors_of_another_model_are_made_anew_and_an_interrupted_change_is_gone_on_with(
    log: Any, graph_path: Path
) -> None:
    import numpy as np

    log.note("note:1", "first", PEOPLE)
    log.note("note:2", "second", PEOPLE)

    def vector(value: float) -> Any:
        return lambda _: np.full(384, value, dtype=np.float32)

    def fails(_: str) -> Any:
        raise KeyboardInterrupt

    def held(graph: Graph) -> set[bytes]:
        return {row[0] for row in graph.db.execute("SELECT embedding FROM passage_vector")}

    old, new = (vector(value)("").tobytes() for value in (1, 2))
    with project(log, graph_path) as graph:
        before = hashes(graph)
        assert embed_pending(graph, Cache(), vector(1)) == 2
        graph.db.execute("INSERT INTO meta VALUES ('embedded', 2)")
        assert held(graph) == {old}
        with pytest.raises(KeyboardInterrupt):
            embed_pending(graph, Cache("second"), fails)
        assert graph.db.execute("SELECT value FROM meta WHERE key = 'embedded'").get is None
        assert held(graph) == set()
        assert embed_pending(graph, Cache("second"), vector(2)) == 2
        assert held(graph) == {new}
        assert hashes(graph) == before


def test_the_real_log_projects_and_rebuilds(tmp_path: Path) -> None:
    section = SectionBody(episode="e" * 32, key="", text="Robin Vale works at Acme.", occurred_at=7)
    observed = ItemObserved(
        item="note:1", kind="note", place="a.md", title="A", sections=(section,), content="c", names=("Alpha",)
    )
    extracted = EpisodeExtracted(
        episode="e" * 32,
        item="note:1",
        run="r",
        tier=1,
        model="m",
        confidence=0.8,
        entities=(
            ExtractedEntity(id="1", name="Robin Vale", type="Person"),
            ExtractedEntity(id="2", name="Acme", type="Organization"),
        ),
        relations=(
            ExtractedRelation(
                head="1",
                relation="part_of",
                tail="2",
                phrase="works at",
                phrase_class="employment",
                valid_from="2024-03",
            ),
        ),
    )
    source = SourceConfigured(name="vault", kind="notes", location="/v", trust="own")
    with EventStore.open(tmp_path / "events.db", write=True) as store:
        store.append(
            [
                NewEvent("ctxsync", "source:vault", source, 1),
                NewEvent("vault", "note:1", observed, 7),
                NewEvent("vault", "note:1", ItemSighted(item="note:1", place="a.md"), 7),
                NewEvent("vault", f"episode:{'e' * 32}", extracted, 7),
            ]
        )
        with Graph.open(tmp_path / "graph.db", write=True) as graph:
            assert catch_up(store, graph) == 4
            assert catch_up(store, graph) == 0
            assert facts(graph) == [("Robin Vale", "employment", "Acme", 1709251200000, None, "")]
            before = hashes(graph)
        with rebuild(store, tmp_path / "graph.db") as graph:
            assert hashes(graph) == before
            assert graph.hash == store.head()[1]


def test_a_source_that_sees_what_it_never_showed_holds_the_version_shown_last(log: Any, graph_path: Path) -> None:
    for source, text in (("a", "first"), ("b", "second")):
        log.observe("commit:1", {"": text}, kind="commit", source=source)
    log.sight("commit:1", source="c")
    with project(log, graph_path) as graph:
        held = "SELECT e.text FROM holding AS h JOIN episode AS e ON e.id = h.episode WHERE h.until IS NULL"
        assert graph.db.execute(held).fetchall() == [("second",)]
