from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxsync.engine.extraction.llm.repair import parse
from ctxsync.errors import BadReply

ANSWER: dict[str, Any] = {
    "entities": [
        {"id": "e1", "name": "Ben", "type": "Person"},
        {"id": "e2", "name": "Tally's", "type": "Organization"},
    ],
    "relations": [{"head": "e1", "relation": "part_of", "tail": "e2", "quote": 'says "hi"', "confidence": 0.5}],
    "invalidates": [],
}
JSON = json.dumps(ANSWER)


@pytest.mark.parametrize(
    "content",
    [
        JSON,
        f"```json\n{JSON}\n```",
        f"Sure! Here is the {{JSON}} you asked for:\n\n{JSON}\n\nLet me know if {{anything}} is missing.",
        f"<think>The text says {{so}}: {JSON[:40]}</think>{JSON}",
        JSON.replace("}]", "},]").replace('"invalidates": []', '"invalidates": [],'),
        json.dumps(ANSWER, indent=2).replace("{\n", "{ // a person\n"),
        JSON.replace('"', "'").replace("\\'", '"'),
        '{"result": ' + JSON + "}",
        JSON.replace("}], ", "], "),  # two brackets forgotten
        JSON.replace('"entities"', "entities"),
        "\ufeff" + JSON,
        JSON.replace('"id"', '"ID"'),
    ],
)
def test_an_answer_is_found_whatever_is_around_it_or_wrong_with_it(content: str) -> None:
    assert parse(content).answer == ANSWER


def test_numbers_that_are_none_are_nothing() -> None:
    found = parse('{"entities": [], "relations": [], "confidence": NaN, "a": -Infinity, "b": 1e999, "c": .5}').answer
    assert (found["confidence"], found["a"], found["b"], found["c"]) == (None, None, None, 0.5)


def test_of_an_answer_that_was_cut_off_only_complete_elements_count() -> None:
    for end in range(JSON.index('"Tally'), JSON.index('"relations"')):
        found = parse(JSON[:end])
        assert found.cut
        assert found.answer["entities"][0] == ANSWER["entities"][0]
        assert len(found.answer["entities"]) == (2 if "}" in JSON[JSON.index('"Tally') : end] else 1)


def test_half_a_json_without_a_complete_element_is_a_bad_reply() -> None:
    with pytest.raises(BadReply, match="cut off before its first complete element"):
        parse('{"entities": [{"id": "e1", "name": "Be')


def test_nothing_to_say_is_an_answer() -> None:
    assert parse('{"entities":[],"relations":[]}').answer == {"entities": [], "relations": []}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("<!DOCTYPE html><html><body>{{ busy }}</body></html>", "web page"),
        (
            '{"type": "object", "properties": {"entities": {"type": "array"}}, "required": ["entities"]}',
            "Schema itself",
        ),
        ('{"$schema": "x"}', "Schema itself"),
        ("I cannot help with that.", "no JSON object"),
        ("{}", "no JSON object"),
        ('{"error": {"message": "no"}}', "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ("<think>what if", "thought"),
        ('{"a":' * 5000, "no JSON object"),
        ("[" * 100_000, "no JSON object"),
    ],
)
def test_what_is_no_answer_is_named(content: str, problem: str) -> None:
    with pytest.raises(BadReply, match=problem):
        parse(content)


JUNK = st.text(alphabet="{}[]\"':,\\e1 \nnulTru0.9-“”/*<", max_size=60)


@given(st.one_of(JUNK, st.text(max_size=80)), st.integers(0, len(JSON)), st.integers(0, 40), JUNK)
@example('{"entities": [', 0, 0, "")
def test_nothing_but_an_answer_or_a_bad_reply_comes_of_any_words(around: str, at: int, gone: int, junk: str) -> None:
    for content in (around, JSON[:at] + junk + JSON[at + gone :], around + JSON):
        try:
            found = parse(content).answer
        except BadReply:
            continue
        assert any(isinstance(found.get(key), list) for key in ("entities", "relations"))


@given(st.integers(0, len(JSON)))
def test_cutting_never_changes_what_was_said(end: int) -> None:
    try:
        found = parse(JSON[:end]).answer
    except BadReply:
        return
    for key in ("entities", "relations"):
        assert found.get(key, []) == ANSWER[key][: len(found.get(key, []))]


def test_comments_that_never_end_are_not_looked_through_again_and_again() -> None:
    began = time.process_time()
    with pytest.raises(BadReply):
        parse('{"entities":["' + '"/*' * 30_000)
    assert time.process_time() - began < 5.0
