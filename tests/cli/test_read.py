"""What the read commands print, for people and as JSON."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

ENTITY = {"id", "name", "type", "names", "keys"}
FACT = {
    "id", "head", "relation", "phrase", "tail", "valid_from", "valid_to", "recorded_at", "retracted_at", "confidence",
    "support",
}  # fmt: skip
SUPPORT = {"episode", "source", "locator", "quote", "occurred_at", "tier"}
PASSAGE = {
    "episode", "source", "subject", "locator", "title", "text", "occurred_at", "author", "score", "lanes",
}  # fmt: skip


def assert_fact(fact: Any) -> None:
    assert set(fact) >= FACT
    assert set(fact["head"]) >= ENTITY
    assert set(fact["tail"]) >= ENTITY
    assert all(set(support) >= SUPPORT for support in fact["support"])


def test_an_answer_is_a_sentence_with_its_validity_then_its_source_and_its_words(synced: Any) -> None:
    out = synced("ask", "where does Nadia Okoro work?").out.splitlines()
    assert out[0] == "Nadia Okoro works at Fennel Labs, since May 2025."
    assert "vault: People/Nadia Okoro.md:7" in out[1]
    assert "confidence 0.90" in out[1]
    assert out[2].strip() == "“Nadia Okoro works at Fennel Labs since 2025-05.”"


def test_words_of_a_question_need_no_quotes(synced: Any) -> None:
    assert (
        synced("ask", "where", "does", "Nadia", "Okoro", "work?").out
        == synced("ask", "where does Nadia Okoro work?").out
    )


def test_an_answer_about_the_past_says_so(synced: Any) -> None:
    out = synced("ask", "where did Nadia Okoro work?", "--valid-at", "2021").out
    assert "Nadia Okoro works at Harbour Press, from 2019 until May 2025" in out
    assert "Fennel" not in out


def test_what_was_not_known_then_does_not_answer(synced: Any) -> None:
    ran = synced("ask", "where does Nadia Okoro work?", "--known-at", "2020", "--json")
    assert ran.json["answers"] == []
    assert ran.json["passages"] == []


def test_ask_gives_the_json_of_the_design(synced: Any) -> None:
    document = synced("ask", "where does Nadia Okoro work?", "--json").json
    assert set(document) >= {"question", "plan", "answers", "passages", "llm_calls", "took_ms"}
    assert set(document["plan"]) >= {"op", "head", "relation", "direction", "tail", "filters", "route"}
    assert document["llm_calls"] == 0
    assert_fact(document["answers"][0])


def test_a_question_without_an_answer_says_so_and_shows_the_nearest_passages(synced: Any) -> None:
    out = synced("ask", "what about the old town on two rivers").out
    assert out.startswith("No fact answers that. The nearest passages:\n")
    assert "1. Lyon" in out


def test_a_question_that_nothing_comes_near_says_so(synced: Any) -> None:
    out = synced("ask", "zzzz qqqq").out
    assert out.startswith("Nothing in the graph answers that")


def test_search_shows_title_place_and_snippet(synced: Any) -> None:
    out = synced("search", "old", "town").out.splitlines()
    assert out[0] == "1. Lyon"
    assert "vault: Lyon.md:1" in out[1]
    assert "old town" in out[2]


def test_search_marks_the_words_that_were_looked_for(synced: Any) -> None:
    assert "\x1b[1;4mtown\x1b[0m" in synced("search", "town", FORCE_COLOR="1").out


def test_no_color_is_respected(synced: Any) -> None:
    assert "\x1b" not in synced("search", "town", FORCE_COLOR="1", NO_COLOR="1").out
    assert "\x1b" not in synced("search", "town").out


def test_search_gives_the_json_of_the_design(synced: Any) -> None:
    document = synced("search", "town", "--limit", "1", "--json").json
    assert set(document) >= {"query", "passages", "took_ms"}
    assert len(document["passages"]) == 1
    assert set(document["passages"][0]) >= PASSAGE


def test_entity_shows_names_type_and_facts_past_ones_marked(synced: Any) -> None:
    out = synced("entity", "nadia okoro", columns=160).out
    assert out.startswith("Nadia Okoro  Person  ")
    assert "Nadia Okoro works at Fennel Labs, since May 2025" in out
    assert "[in the past, superseded by " in out


def test_entity_gives_the_json_of_the_design(synced: Any) -> None:
    (entity,) = synced("entity", "Nadia Okoro", "--json").json["entities"]
    assert set(entity) >= ENTITY | {"facts"}
    for fact in entity["facts"]:
        assert_fact(fact)


def test_an_unknown_name_is_said_to_be_unknown(synced: Any) -> None:
    assert synced("entity", "Nobody Atall").out == "Nobody and nothing of that name is known.\n"


def test_facts_of_a_name_are_those_at_either_end(synced: Any) -> None:
    assert [fact["tail"]["name"] for fact in synced("facts", "Fennel", "Labs", "--json").json["facts"]] == [
        "Fennel Labs"
    ]
    heads = synced("facts", "Nadia Okoro", "--json").json["facts"]
    assert {fact["tail"]["name"] for fact in heads} == {"Fennel Labs", "Lisbon"}


def test_facts_with_past_include_those_that_ended(synced: Any) -> None:
    tails = {fact["tail"]["name"] for fact in synced("facts", "Nadia Okoro", "--past", "--json").json["facts"]}
    assert "Harbour Press" in tails


def test_facts_of_an_unknown_relation_name_the_relations(synced: Any) -> None:
    ran = synced("facts", "--relation", "loves")
    assert ran.code == 2
    assert "part_of" in ran.err


def test_history_shows_both_axes_of_every_version(synced: Any) -> None:
    out = synced("history", "Nadia", "Okoro").out
    assert "held  2019 → May 2025  then Nadia Okoro works at Fennel Labs" in out
    assert "held  May 2025 → now" in out
    assert out.count("known 20") >= 3


def test_history_at_a_valid_time_keeps_what_held_then(synced: Any) -> None:
    document = synced("history", "Nadia Okoro", "--valid-at", "2021", "--json").json
    assert {fact["tail"]["name"] for fact in document["facts"]} == {"Harbour Press"}


def test_timeline_is_in_order_of_time(synced: Any) -> None:
    out = synced("timeline", "Nadia Okoro").out.splitlines()
    days = [text[:10] for text in out if text[:2] == "20"]
    assert days == sorted(days)
    assert any(text.startswith("2019-01-01  starts") for text in out)
    assert any(text.startswith("2025-05-01  ends") for text in out)


def test_why_shows_the_words_and_the_tier_and_takes_a_question_too(synced: Any) -> None:
    fact = synced("ask", "where does Nadia Okoro work?", "--json").json["answers"][0]["id"]
    out = synced("why", fact[:12]).out
    assert "stated by" in out
    assert "tier 1" in out
    assert "“Nadia Okoro works at Fennel Labs since 2025-05.”" in out
    assert synced("why", "where does Nadia Okoro work?").out == out


def test_why_of_an_unknown_fact_says_where_ids_come_from(synced: Any) -> None:
    ran = synced("why", "0123456789abcdef")
    assert ran.code == 2
    assert "ctxsync facts" in ran.err


def test_explain_by_place_and_line_shows_tier_and_reason(synced: Any) -> None:
    out = synced("explain", "People/Nadia Okoro.md:7").out
    assert "tier 1 (local)" in out
    assert "sure enough to stay at this tier" in out
    assert "Nadia Okoro works at Fennel Labs" in out
    assert "Harbour" not in out


def test_explain_by_the_beginning_of_an_id_gives_the_event_as_json(synced: Any) -> None:
    episode = synced("search", "Fennel", "--json").json["passages"][0]["episode"]
    (told,) = synced("explain", episode[:10], "--json").json["episodes"]
    assert told["episode"] == episode
    assert told["extractions"][0]["run"] == "one-form"
    assert told["extractions"][0]["gate"] == []


def test_explain_of_nothing_says_where_to_find_an_episode(synced: Any) -> None:
    ran = synced("explain", "Nowhere.md")
    assert ran.code == 2
    assert "ctxsync search --json" in ran.err


def test_a_source_that_does_not_exist_names_the_nearest(synced: Any) -> None:
    ran = synced("ask", "x", "--source", "vualt")
    assert ran.code == 2
    assert "Did you mean vault?" in ran.err


def test_status_counts_and_lists_the_sources(synced: Any) -> None:
    ran = synced("status")
    assert ran.code == 0
    assert "current fact" in ran.out
    assert "vault  notes · 3 items · synced" in ran.out


def test_status_gives_the_json_of_the_design_with_both_hashes(synced: Any) -> None:
    document = synced("status", "--json").json
    assert set(document) >= {
        "position", "events", "episodes", "entities", "facts", "sources", "lag", "quarantined", "contradictions", "tiers",
        "tokens", "cost_usd", "daemon", "jobs", "state_hash", "history_hash",
    }  # fmt: skip
    assert set(document["facts"]) >= {"current", "all"}
    assert document["state_hash"]
    assert document["history_hash"]
    assert document["lag"] == 0


@pytest.mark.parametrize("command", [("status",), ("facts",), ("entity", "Nadia Okoro"), ("search", "town"), ("history", "Nadia Okoro"), ("ask", "where does Nadia Okoro work?")])  # fmt: skip
def test_every_line_fits_sixty_columns(synced: Any, command: tuple[str, ...]) -> None:
    out = synced(*command, columns=60).out
    assert max(map(len, out.splitlines())) <= 60


@pytest.mark.parametrize(
    "command", [("status", "--json"), ("facts", "--json"), ("ask", "who", "works", "--json"), ("status",)]
)
def test_reading_imports_no_model_no_rich_and_no_pydantic(synced: Any, command: tuple[str, ...]) -> None:
    code = (
        "import sys; from ctxsync.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ('rich', 'pydantic', 'spacy', 'onnxruntime', 'mcp', 'numpy', 'git')\n"
        "sys.stderr.write(repr([name for name in heavy if name in sys.modules]))"
    )
    environment = {**os.environ, "CTXSYNC_HOME": str(synced.home)}
    ran = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True, env=environment
    )
    assert ran.stderr.splitlines()[-1] == "[]"
