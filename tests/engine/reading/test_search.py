"""Search: words and meaning over what is held; any text is a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxsync.engine.reading import Reader, ask, search
from ctxsync.errors import GraphMissing, GraphStale

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.reading.conftest import Builder


NOW = 1_780_000_000_000


def found(graph: Builder, query: str, **options: Any) -> list[dict[str, Any]]:
    reader = graph.reader()
    try:
        passages: list[dict[str, Any]] = search(reader, query, **{"now": NOW, "vectors": False, **options})["passages"]
        return passages
    finally:
        reader.close()


def test_a_title_counts_for_more_than_a_line_of_text(graph: Builder) -> None:
    graph.episode("a long text that says kafka once among many words", item="note:1", title="Misc", place="a.md")
    graph.episode("nothing to see", item="note:2", title="Kafka", place="b.md")
    assert [passage["title"] for passage in found(graph, "kafka")] == ["Kafka", "Misc"]


def test_a_passage_says_where_it_stands_and_why_it_was_found(graph: Builder) -> None:
    graph.episode(
        "We moved the queue to Kafka.", title="Queues", place="infra/Queues.md", line=12, heading=("Queues", "Now")
    )
    (passage,) = found(graph, "which queue did we move?")
    assert passage["locator"] == "infra/Queues.md:12"
    assert passage["heading"] == ["Queues", "Now"]
    assert passage["text"] == "We moved the queue to Kafka."
    assert passage["lanes"] == {"words": 1}
    assert passage["score"] == pytest.approx(1 / 61, abs=1e-5)


def test_what_is_no_longer_held_is_not_found_but_was_before(graph: Builder) -> None:
    graph.episode("the old plan for osprey", since=3, until=5)
    graph.episode("the new plan for osprey", since=5)
    assert [passage["text"] for passage in found(graph, "osprey plan")] == ["the new plan for osprey"]
    before = found(graph, "osprey plan", known_at=graph.recorded(4))
    assert [passage["text"] for passage in before] == ["the old plan for osprey"]
    assert found(graph, "osprey plan", known_at=graph.recorded(2)) == []


def test_a_search_can_be_kept_to_one_source_and_a_time(graph: Builder) -> None:
    graph.episode("kafka in the vault", at="2024-01-01")
    graph.episode("kafka in code", item="commit:abc", source="code", kind="commit", at="2025-01-01", place="code")
    assert [passage["source"] for passage in found(graph, "kafka", source="code")] == ["code"]
    assert [passage["source"] for passage in found(graph, "kafka", valid_at=1_710_000_000_000)] == ["vault"]


def test_a_commit_is_cited_by_repository_and_sha(graph: Builder) -> None:
    graph.episode("Fix kafka", item="commit:0123456789abcdef", source="code", kind="commit", place="code", line=0)
    assert found(graph, "kafka")[0]["locator"] == "code@0123456789ab"


def test_the_same_words_twice_are_shown_once(graph: Builder) -> None:
    graph.episode("Deploy on friday!", item="note:1", place="a.md")
    graph.episode("deploy on Friday", item="note:2", place="b.md")
    assert len(found(graph, "deploy friday")) == 1


def test_text_without_spaces_between_words_is_found(graph: Builder) -> None:
    graph.episode("会議は東京で行われた")
    assert len(found(graph, "東京")) == 1


@pytest.mark.parametrize(
    "query",
    ['"', '""', '"kafka', "-kafka", "kafka:", "title:kafka", "kafka*", "NEAR(a b)", "a AND", "OR", "NOT", "(", "^kafka", "🦊", "日本語", "'; DROP TABLE fact; --",
     "", " ", "\x00", "kafka " * 2000, "a" * 10_000, "\ud800", "_", "+", "{kafka}", "kafka OR"],
)  # fmt: skip
def test_any_text_is_a_query(graph: Builder, query: str) -> None:
    graph.episode("kafka runs")
    expected = 1 if "kafka" in query else 0
    assert len(found(graph, query)) == expected


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_no_text_makes_search_or_ask_fail(world: Builder, text: str) -> None:
    reader = world.reader()
    try:
        assert search(reader, text, now=NOW, vectors=False)["query"] == text
        assert ask(reader, text, now=NOW, vectors=False)["llm_calls"] == 0
    finally:
        reader.close()


WORDS = st.sampled_from(
    [
        "who", "what", "where", "when", "why", "how many", "does", "is", "did", "owns", "own", "work", "at", "on", "the", "Heron", "Robin",
        "Robin's", "Acme", "Kafka", "list", "people", "commits", "in 2024", "last week", "since March", "before", "now", "used to", "@0", "@9", "my",
        "according to", "in my notes", "?", '"', "'s", "99999-99-99", "on 2024-02-30", "in 9 weeks", "99999 years ago", "last 9999 years", "called", "tagged",
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, min_size=1, max_size=8).map(" ".join))
def test_no_heap_of_question_words_makes_ask_fail(world: Builder, text: str) -> None:
    found = world.ask(text)
    assert set(found) >= {"question", "plan", "answers", "passages", "llm_calls", "took_ms"}
    assert set(found["plan"]) >= {"op", "head", "relation", "direction", "tail", "filters", "route"}


def test_a_missing_graph_names_the_command_that_builds_it(tmp_path: Path) -> None:
    with pytest.raises(GraphMissing, match="ctxsync rebuild"):
        Reader.open(tmp_path / "graph.db")


def test_a_file_that_is_no_graph_names_the_command_that_rebuilds_it(tmp_path: Path) -> None:
    (tmp_path / "graph.db").write_bytes(b"not a database, only some words that are long enough to be read" * 99)
    with pytest.raises(GraphStale, match="ctxsync rebuild"):
        Reader.open(tmp_path / "graph.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(GraphStale, match="ctxsync rebuild"):
        Reader.open(tmp_path / "empty.db")


def test_a_reader_cannot_write(world: Builder) -> None:
    reader = world.reader()
    with pytest.raises(apsw.ReadOnlyError):
        reader.db.execute("DELETE FROM fact")
    reader.close()


def test_vectors_find_what_shares_no_word(graph: Builder) -> None:
    sqlite_vec = pytest.importorskip("sqlite_vec")
    from ctxsync.engine.embedding import Embedder

    texts = ["The server fell over because its disk was full.", "Grandma's recipe for apple cake."]
    graph.db.enable_load_extension(True)
    graph.db.load_extension(sqlite_vec.loadable_path())
    graph.db.execute("CREATE VIRTUAL TABLE passage_vector USING vec0(embedding float[384])")
    for number, text in enumerate(texts):
        row = graph.episode(text, item=f"note:{number}", place=f"{number}.md")
        graph.db.execute(
            "INSERT INTO passage_vector (rowid, embedding) VALUES (?, ?)", (row, Embedder().embed([text])[0].tobytes())
        )
    passages = found(graph, "machine crashed, out of storage", vectors=True)
    assert [passage["text"] for passage in passages] == texts
    assert passages[0]["lanes"] == {"meaning": 1}
