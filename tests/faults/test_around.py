"""What surrounds a command: odd places, settings that mean nothing, sources that go, output that is closed."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from typing import Any

import pytest

from tests.faults.conftest import COMMAND, Whole, ctxsync, environment, new_home, start, state_hash, write_vault

TABLE = '[[sources]]\nname = "v"\ntype = "notes"\npath = '


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[identity]\nemial = ["a@example.com"]\n', 'did you mean "emails"'),
        ("[[sources\n", "not valid TOML"),
        (f"{TABLE}3\n", "must be a text"),
        (f'{TABLE}"~no-such-user/x"\n', "must be absolute"),
        (f'{TABLE}"/x\\u0000y"\n', "must be absolute"),
        (f'{TABLE}"/x"\npassword = "pearl"\n', "secret in the clear"),
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
    ],
)
def test_settings_that_mean_nothing_are_refused_with_the_place(home: Any, text: str, told: str) -> None:
    (home / "config.toml").write_text(text, encoding="utf-8")
    ran = ctxsync(home, "sync")
    assert ran.tells
    assert told in ran.err
    assert "pearl" not in ran.err


def test_settings_that_are_a_link_to_nothing_are_not_taken_for_none(home: Any) -> None:
    (home / "config.toml").unlink()
    (home / "config.toml").symlink_to(home / "gone.toml")
    assert ctxsync(home, "sync").tells


def test_a_vault_that_goes_empties_or_becomes_something_else_is_paused_and_comes_back_whole(own: Any) -> None:
    home, vault = own
    assert ctxsync(home, "sync").code == 0
    before, aside = state_hash(home), vault.with_name("aside")
    vault.rename(aside)
    assert ctxsync(home, "sync").code == 3
    vault.write_text("a file")
    assert ctxsync(home, "sync").code == 3
    vault.unlink()
    vault.symlink_to(vault)
    assert ctxsync(home, "sync").code == 3
    vault.unlink()
    vault.mkdir()
    assert ctxsync(home, "sync").code == 3
    assert "Northwind" in ctxsync(home, "facts").out
    vault.rmdir()
    aside.rename(vault)
    assert ctxsync(home, "sync").code == 0
    assert state_hash(home) == before


def test_a_thousand_notes_deleted_at_once_wait_for_a_person(tmp_path: Any) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(1010):
        (vault / f"{number}.md").write_text(f"word{number}\n", encoding="utf-8")
    home = new_home(tmp_path / "home", vault)
    assert ctxsync(home, "sync", CTXSYNC_TEST_VECTORS="0").code == 0
    for number in range(1000):
        (vault / f"{number}.md").unlink()
    paused = ctxsync(home, "sync", CTXSYNC_TEST_VECTORS="0")
    assert paused.code == 3
    assert "--allow-deletes vault" in paused.out
    assert json.loads(ctxsync(home, "status", "--json").out)["sources"][0]["items"] == 1010
    assert ctxsync(home, "sync", "--allow-deletes", "vault", CTXSYNC_TEST_VECTORS="0").code == 0
    assert json.loads(ctxsync(home, "status", "--json").out)["sources"][0]["items"] == 10


def test_places_of_odd_names_work(tmp_path: Any) -> None:
    place = tmp_path / "o d'\"\n☃é%20?#"
    place.mkdir()
    write_vault(place / "va ult", 2)
    with open(os.fsencode(place / "va ult") + b"/caf\xe9.md", "wb") as file:  # noqa: PTH123 - no UTF-8 name
        file.write(b"sandpiper\n")
    home = new_home(place / "ho#me?", place / "va ult")
    assert ctxsync(home, "sync").code == 0
    assert "sandpiper" in ctxsync(home, "search", "sandpiper", LC_ALL="C").out
    assert ctxsync(home, "verify", "--deep").code == 0


def test_a_home_that_sqlite_cannot_open_is_refused(tmp_path: Any) -> None:
    assert ctxsync(os.fsdecode(os.fsencode(tmp_path) + b"/h\xe9"), "init").tells


@pytest.mark.parametrize("closed", [">&-", "2>&-", "| true"])
def test_commands_do_their_work_when_nobody_listens(whole: Whole, closed: str) -> None:
    line = shlex.join([*COMMAND, "--home", str(whole.home), "facts"])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} {closed}"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_second_sync_waits_and_says_for_whom(own: Any) -> None:
    from ctxsync.events.lock import WriterLock

    home, _ = own
    with WriterLock(home / "writer.lock", "sync"):
        second = start(home, "sync")
        assert second.stderr is not None
        assert second.stderr.readline().startswith(f"Waiting for process {os.getpid()} (sync, since ")
    assert second.wait(60) == 0
    second.communicate()


def test_a_waiting_sync_that_is_interrupted_stores_nothing(own: Any) -> None:
    from ctxsync.events.lock import WriterLock

    home, _ = own
    with WriterLock(home / "writer.lock", "sync"):
        second = start(home, "sync")
        assert second.stderr is not None
        second.stderr.readline()
        second.send_signal(signal.SIGINT)
        assert second.wait(60) == 130
        assert "Traceback" not in second.communicate()[1]
    assert not (home / "events.db").exists()
