"""Text of notes and commits cannot drive the terminal, whatever command shows it."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from ctxsync.cli.output import Out
from ctxsync.cli.render_sync import problems

SHOWING = [
    ("search", "Mallory"), ("search", "exe"), ("entity", "Mallory"), ("facts",), ("facts", "--past"),
    ("timeline", "Nadia Okoro"), ("explain", "People/Mallory.md"), ("status",), ("source", "list"), ("config", "show"),
    ("extract", "\x1b[31mMallory\x1b[0m [bold]x[/bold] \u202e works at Fennel."),
]  # fmt: skip
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


def fact_of_mallory(synced: Any) -> Any:
    found = synced("facts", "--json").json["facts"]
    return next(fact for fact in found if "Mallory" in fact["head"]["name"])


def acts_on_a_terminal(text: str) -> set[str]:
    return {sign for sign in text if (ord(sign) < 32 and sign != "\n") or 0x7F <= ord(sign) <= 0x9F} | (
        set(text) & BIDI
    )


def strings(document: Any) -> list[str]:
    if isinstance(document, str):
        return [document]
    values = document.values() if isinstance(document, dict) else document if isinstance(document, list) else []
    return [text for value in values for text in strings(value)]


@pytest.mark.parametrize("command", SHOWING, ids=lambda command: " ".join(command[:2]).replace("\x1b", "ESC"))
@pytest.mark.parametrize("columns", [60, 100])
def test_no_command_prints_a_character_that_acts_on_a_terminal(
    synced: Any, command: tuple[str, ...], columns: int
) -> None:
    ran = synced(*command, columns=columns)
    assert ran.code in {0, 3}, ran.err
    assert acts_on_a_terminal(ran.out + ran.err) == set()


@pytest.mark.parametrize("command", [("search", "Mallory"), ("facts",), ("explain", "People/Mallory.md")])
def test_with_colours_on_the_only_escapes_are_our_own_colours(synced: Any, command: tuple[str, ...]) -> None:
    ran = synced(*command, FORCE_COLOR="1")
    assert "\x1b[" in ran.out
    assert acts_on_a_terminal(COLOUR.sub("", ran.out)) == set()


@pytest.mark.parametrize("command", ["why", "history"])
def test_the_lineage_of_a_hostile_fact_is_shown_inert(synced: Any, command: str) -> None:
    ran = synced(command, fact_of_mallory(synced)["id"])
    assert ran.code == 0
    assert "Mallory" in ran.out
    assert acts_on_a_terminal(ran.out) == set()


def test_markup_and_emoji_names_are_shown_as_they_were_written(synced: Any) -> None:
    out = synced("search", "Mallory", columns=400).out
    assert "[bold]Bold[/bold]" in out
    assert "[link=http://evil.example]link[/link]" in out
    assert ":smile:" in out


def test_an_escape_is_shown_as_a_sign_so_that_a_person_sees_it_was_there(synced: Any) -> None:
    out = synced("search", "Mallory", columns=400).out
    assert "␛]52;c;ZXZpbA==␇" in out
    assert "<U+202E>gpj.exe" in out


@pytest.mark.parametrize("command", [("facts",), ("search", "Mallory"), ("explain", "People/Mallory.md")])
def test_json_keeps_the_text_whole_and_is_inert_on_a_terminal(synced: Any, command: tuple[str, ...]) -> None:
    ran = synced(*command, "--json")
    assert acts_on_a_terminal(ran.out) == set()
    assert any("\x1b]52;c;ZXZpbA==\x07" in text for text in strings(ran.json))


def test_a_hostile_question_is_not_echoed_raw(synced: Any) -> None:
    ran = synced("ask", "zzz \x1b]52;c;x\x07 qqq")
    assert acts_on_a_terminal(ran.out + ran.err) == set()


def test_a_hostile_path_in_an_error_is_inert(synced: Any, tmp_path: Any) -> None:
    ran = synced("source", "add", "notes", str(tmp_path / "x\x1b[31m\u202ey"))
    assert ran.code == 2
    assert acts_on_a_terminal(ran.err) == set()


def test_a_message_that_quotes_line_ends_begins_no_line_of_its_own() -> None:
    written = io.StringIO()
    problem = {"source": "box", "place": "a", "message": "No mail\ntry: rm -rf ~", "remedy": "Take it\nerror: out."}
    problems(Out(written, 1_000, False), [problem])
    assert written.getvalue().splitlines() == ["problem box: a: No mail try: rm -rf ~", "    try: Take it error: out."]
