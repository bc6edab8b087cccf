"""What goes wrong becomes a sentence, a remedy and an exit code; never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.cli.errors import Interrupted, exit_code_of
from ctxsync.errors import ConfigError, StoreLocked, SuspiciousDeletion, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

READS = [
    ("ask", "who"), ("search", "x"), ("entity", "x"), ("facts",), ("history", "x"), ("timeline", "x"), ("why", "abc"),
    ("explain", "x"), ("status",), ("verify",), ("rebuild",), ("sync",), ("log", "x"), ("watch",), ("mcp",),
    ("config", "show"), ("config", "validate"), ("source", "list"), ("source", "add", "notes", "."), ("export", "x"),
]  # fmt: skip


def code_of(action: Callable[[], Any], *, debug: bool = False) -> int:
    return exit_code_of(action, debug=lambda: debug)


def raising(error: BaseException) -> Callable[[], Any]:
    def action() -> None:
        raise error

    return action


@pytest.mark.parametrize("command", READS, ids=" ".join)
def test_without_a_home_a_command_says_to_run_init(line: Any, command: tuple[str, ...]) -> None:
    ran = line(*command)
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err == f"error: There is no ctxsync home at {line.home} yet.\ntry: Run `ctxsync init`.\n"
    assert not line.home.exists()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("serch x", "search"), ("stats", "status"), ("source ad notes x", "add"), ("config shw", "show")],
)
def test_a_typo_in_a_command_names_the_nearest_one(line: Any, typed: str, meant: str) -> None:
    ran = line(*typed.split())
    assert ran.code == 2
    assert "Did you mean" in ran.err
    assert meant in ran.err.splitlines()[0]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ask x --vaild-at 2024", "--valid-at"),
        ("source add notes . --nmae x", "--name"),
        ("--homee x status", "--home"),
    ],
)
def test_a_typo_in_an_option_names_the_nearest_one(line: Any, typed: str, meant: str) -> None:
    ran = line(*typed.split())
    assert ran.code == 2
    assert f"Did you mean {meant}" in ran.err or meant in ran.err.splitlines()[0]


def test_a_missing_argument_names_it_and_the_help_to_read(line: Any) -> None:
    ran = line("source", "add", "notes")
    assert ran.code == 2
    assert "LOCATION" in ran.err
    assert "try: Run `ctxsync source add --help`." in ran.err


@pytest.mark.parametrize("text", ["soon", "2024-13", "2024-02-30", "0000", "99999", "2024-03-05T25:00"])
def test_a_time_that_is_none_is_refused_with_the_forms_that_are(line: Any, text: str) -> None:
    line("init")
    ran = line("ask", "who", "--valid-at", text)
    assert ran.code == 2
    assert "is not a time" in ran.err
    assert "Write --valid-at 2024, 2024-03" in ran.err


def test_home_and_debug_may_stand_behind_the_command(line: Any, tmp_path: Any) -> None:
    ran = line("status", "--home", str(tmp_path / "elsewhere"), "--debug")
    assert f"{tmp_path / 'elsewhere'}" in ran.err
    assert "Traceback" in ran.err


def test_nothing_behind_two_dashes_is_an_option(line: Any) -> None:
    line("init")
    assert "--home" not in line("why", "--", "--home").err.splitlines()[1]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("Wrong key.", remedy="Run `ctxsync config edit`."), 1),
        (StoreLocked("Another ctxsync writes (pid 4)."), 1),
        (UsageError("No such thing."), 2),
        (SuspiciousDeletion("Much is gone.", vanished=30, known=40), 3),
        (Interrupted("Stopped."), 130),
    ],
)
def test_each_error_has_its_exit_code_and_no_traceback(error: Any, code: int, capsys: Any) -> None:
    assert code_of(raising(error)) == code
    told = capsys.readouterr()
    assert error.message in told.err
    assert "Traceback" not in told.err
    assert told.out == ""


def test_a_remedy_is_told_on_a_line_of_its_own(capsys: Any) -> None:
    code_of(raising(ConfigError("Wrong key.", remedy="Run `ctxsync config edit`.")))
    assert capsys.readouterr().err == "error: Wrong key.\ntry: Run `ctxsync config edit`.\n"


def test_the_unexpected_is_one_sentence_and_debug_shows_where(capsys: Any) -> None:
    assert code_of(raising(KeyError("x"))) == 1
    told = capsys.readouterr().err
    assert "Something unexpected happened: KeyError" in told
    assert "--debug" in told
    assert "Traceback" not in told
    assert code_of(raising(KeyError("x")), debug=True) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_full_disk_is_told_as_such(capsys: Any) -> None:
    assert code_of(raising(OSError(28, "No space left on device", "/x"))) == 1
    assert "The disk is full" in capsys.readouterr().err


def test_an_error_message_cannot_drive_the_terminal(capsys: Any) -> None:
    code_of(raising(ConfigError("bad \x1b]52;c;eA==\x07 \u202ename", remedy="\x1b[31m")))
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert "\x07" not in told
    assert "\u202e" not in told


def test_a_reader_that_has_read_enough_ends_the_command_quietly() -> None:
    command = f"{sys.executable} -m ctxsync schema list | head -1"
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert ran.stdout == "entity types\n"
    assert ran.stderr == ""


def test_the_version_is_told(line: Any) -> None:
    from ctxsync import __version__

    assert line("--version").out == f"ctxsync {__version__}\n"
