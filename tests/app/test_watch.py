from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from ctxsync import spool
from ctxsync.config import parse
from ctxsync.errors import ConfigError
from ctxsync.home import write_private
from ctxsync.watch import Watch
from tests.app.desk import watching

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.app.desk import Desk, Lines


@pytest.fixture
def watch(desk: Desk, lines: Lines) -> Iterator[Watch]:
    with watching(desk.app(), lines) as watch:
        yield watch
    lines.wait(lambda line: line == "stopped")


def test_a_saved_note_answers_without_any_command(watch: Watch, desk: Desk, lines: Lines) -> None:
    assert desk.facts() == [("Rosa Quint", "employment", "Acme")]
    desk.note("Ines Falk", "Ines Falk works at Brightwater since 2025.")
    lines.wait(lambda line: line.startswith("vault: 1 observed"))
    lines.wait(lambda line: line.startswith("graph: "))
    assert ("Ines Falk", "employment", "Brightwater") in desk.facts()


def test_a_deleted_note_no_longer_answers(watch: Watch, desk: Desk, lines: Lines) -> None:
    desk.note("Ines Falk", "Ines Falk works at Brightwater since 2025.")
    lines.wait(lambda line: line.startswith("graph: "))
    (desk.vault / "Ines Falk.md").unlink()
    lines.wait(lambda line: line.startswith("vault: 1 retracted"))
    assert desk.facts() == [("Rosa Quint", "employment", "Acme")]


def test_a_commit_is_read_when_its_hook_leaves_a_hint(watch: Watch, desk: Desk, lines: Lines) -> None:
    desk.commit("Mend the boiler", "boiler.txt")
    place = spool.folder(desk.home)
    (place / ".new").write_text(f"{desk.code}\n")
    (place / ".new").rename(place / "1")
    lines.wait(lambda line: line.startswith("code: 1 observed"))


def test_a_reconcile_finds_what_nobody_told_of(watch: Watch, desk: Desk, lines: Lines) -> None:
    desk.commit("Mend the boiler", "boiler.txt")
    watch.wake("reconcile")
    lines.wait(lambda line: line.startswith("code: 1 observed"))


def test_another_command_gets_in_between_passes(watch: Watch, desk: Desk) -> None:
    result = desk.app().log("Ines Falk works at Brightwater since 2025.")
    assert result["new_facts"] == 1


def test_a_vault_that_goes_pauses_once_and_is_watched_again_when_it_is_back(
    watch: Watch, desk: Desk, lines: Lines
) -> None:
    away = desk.root / "unmounted"
    desk.vault.rename(away)
    watch.wake("reconcile")
    lines.wait(lambda line: line.startswith("vault: paused"))
    lines.wait(lambda line: line.endswith("is no longer there"))
    away.rename(desk.vault)
    watch.wake("reconcile")
    lines.wait(lambda line: line.startswith("vault: watching"))
    desk.note("Ines Falk", "Ines Falk works at Brightwater since 2025.")
    lines.wait(lambda line: line.startswith("vault: 1 observed"))


def test_a_vault_that_is_not_there_stops_no_other(desk: Desk, lines: Lines) -> None:
    text = desk.home.config_path.read_text()
    write_private(desk.home.config_path, text + '\n[[sources]]\nname = "gone"\ntype = "notes"\npath = "/nowhere"\n')
    watch = Watch(desk.app(), lines, debounce=0.05, signals=False)
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        lines.wait(lambda line: line.startswith("gone: paused"))
        lines.wait(lambda line: line == "ready")
        desk.note("Ines Falk", "Ines Falk works at Brightwater since 2025.")
        lines.wait(lambda line: line.startswith("vault: 1 observed"))
    finally:
        watch.stop()
        thread.join(60)
    assert not thread.is_alive()


def test_a_cron_line_that_means_nothing_ends_the_watch_at_once(desk: Desk, lines: Lines) -> None:
    app = desk.app()
    app.config = parse('[jobs]\nreconcile = "99 * * * *"\n')
    with pytest.raises(ConfigError, match="reconcile"):
        Watch(app, lines, signals=False).run()


SCRIPT = """
import sys
from ctxsync.app import App
from ctxsync.config import load_config
from ctxsync.home import Home
from pathlib import Path
from tests.whole.support import PlainModels
home = Home(Path(sys.argv[1]))
App(home, load_config(home), models=PlainModels()).watch(lambda line: print(line, flush=True))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_watch_cleanly(desk: Desk, number: signal.Signals) -> None:
    command = [sys.executable, "-c", SCRIPT, str(desk.home.path)]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}  # noqa: PTH109  where the tests package is
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "ready\n":
                process.send_signal(number)
                break
        rest = process.stdout.read()
        assert process.wait(60) == 0
    assert rest.endswith("stopped\n")
