"""The help teaches: what it is, how to start, every command with an example; and it is what docs/commands.md holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ctxsync.cli.commands import PANELS
from ctxsync.cli.group import EXAMPLES
from ctxsync.cli.reference import document, every_command, help_of

COMMANDS = dict(every_command())
ROOT = Path(__file__).parents[2]


def test_ctxsync_alone_says_what_it_is_and_the_first_three_commands(line: Any) -> None:
    ran = line()
    assert ran.code == 0
    assert "keeps a graph of what your notes, mail, Slack and commits say" in ran.out
    commands = [text.strip() for text in ran.out.splitlines() if text.startswith("    ctxsync ")]
    assert commands == ["ctxsync init", "ctxsync source add notes ~/notes", "ctxsync sync"]


def test_ctxsync_alone_and_its_help_are_the_same(line: Any) -> None:
    assert line().out == line("--help").out


def test_help_lists_every_command_under_a_heading(line: Any) -> None:
    out = line("--help").out
    for panel, entries in PANELS.items():
        assert f"\n{panel}:\n" in out
        for entry in entries:
            assert f"\n  {entry.name} " in out


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_says_what_it_does_and_shows_an_example_that_calls_it(path: str) -> None:
    context = COMMANDS[path]
    about, _, examples = (context.command.help or "").partition(EXAMPLES)
    assert about.strip().splitlines()[0].endswith(".")
    assert any(path in text and "ctxsync" in text for text in examples.splitlines())


def test_the_summary_in_the_list_is_the_first_line_of_the_commands_own_help() -> None:
    for entries in PANELS.values():
        for entry in entries:
            first = (COMMANDS[entry.name].command.help or "").strip().splitlines()[0]
            assert entry.summary == first, entry.name


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_of_a_command_has_a_help_text(path: str) -> None:
    for parameter in COMMANDS[path].command.params:
        assert parameter.help, f"{path}: {parameter.name}"


def test_docs_commands_md_is_up_to_date() -> None:
    written = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert written == document(), "run: python -m ctxsync.cli.reference > docs/commands.md"


@pytest.mark.parametrize("path", COMMANDS)
def test_docs_commands_md_lists_every_command(path: str) -> None:
    assert f"### ctxsync {path}\n" in (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", COMMANDS)
def test_help_fits_a_terminal_of_sixty_columns(line: Any, path: str) -> None:
    ran = line(*path.split(), "--help", columns=60)
    examples = ran.out.partition("\nExamples:")[0]
    assert ran.code == 0
    assert max(len(text) for text in examples.splitlines() if not text.startswith("Usage")) <= 60


def test_help_has_no_colours_when_it_goes_to_a_file(line: Any) -> None:
    assert "\x1b" not in line("--help").out


def test_a_group_without_a_command_shows_its_help(line: Any) -> None:
    ran = line("source")
    assert ran.code == 0
    assert "ctxsync source add notes" in ran.out


def test_listing_commands_imports_none_of_them() -> None:
    import subprocess

    code = "import sys; from ctxsync.cli.commands import app; from typer.main import get_command; "
    code += "get_command(app).main(['--help'], standalone_mode=False); "
    code += "print([name for name in sys.modules if name in ('rich', 'apsw', 'pydantic', 'mcp', 'ctxsync.app')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_help_of_a_command_is_the_same_in_the_document_and_at_a_wide_terminal(line: Any) -> None:
    assert help_of(COMMANDS["log"]).strip() == line("log", "--help", columns=97).out.strip()
