from __future__ import annotations

import os
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from ctxsync import hooks, spool
from ctxsync.config import Config, parse
from ctxsync.home import Home

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    spool.folder(home).mkdir(parents=True)
    return home


def config_of(*repositories: Path) -> Config:
    return parse(
        "".join(f'[[sources]]\nname = "r{n}"\ntype = "git"\npath = "{path}"\n' for n, path in enumerate(repositories))
    )


def hint(home: Home, name: str, data: bytes) -> Path:
    path = spool.folder(home) / name
    path.write_bytes(data)
    return path


def test_no_spool_is_no_hints(tmp_path: Path) -> None:
    assert spool.take(Home(tmp_path)) == []


def test_a_hint_selects_its_source_by_work_tree_or_git_directory(home: Home, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for path in (one, two):
        (path / ".git").mkdir(parents=True)
    config = config_of(one, two)
    hint(home, "a", f"{one}\n".encode())
    hint(home, "b", f"{two}/.git\n".encode())
    assert [spool.sources_of(found.repositories, config) for found in spool.take(home)] == [["r0"], ["r1"]]


def test_a_hint_of_a_linked_worktree_selects_the_repository_and_the_other_way_round(home: Home, tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    inner = main / ".git" / "worktrees" / "linked"
    inner.mkdir(parents=True)
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {inner}\n")
    assert spool.sources_of([str(linked)], config_of(main)) == ["r0"]
    assert spool.sources_of([str(main)], config_of(linked)) == ["r0"]


def test_a_hint_of_a_submodule_selects_its_superproject(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "project"
    inner = project / ".git" / "modules" / "lib"
    inner.mkdir(parents=True)
    (project / "lib").mkdir()
    (project / "lib" / ".git").write_text("gitdir: ../.git/modules/lib\n")
    assert spool.sources_of([str(project / "lib")], config_of(project)) == ["r0"]


def test_what_a_hook_began_long_ago_is_swept_away(home: Home) -> None:
    old = hint(home, ".1.99", b"/sr")
    os.utime(old, (0, 0))
    new = hint(home, ".2.99", b"/sr")
    spool.take(home)
    assert (old.exists(), new.exists()) == (False, True)


def test_the_hint_of_a_real_hook_selects_its_source(home: Home, tmp_path: Path) -> None:
    repository = tmp_path / "code"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    hooks.install(repository, home.path)
    arrived = threading.Event()
    person = ["-c", "user.name=Robin Vale", "-c", "user.email=robin@example.com"]
    with spool.watched(home, arrived.set):
        commit = ["git", "-C", str(repository), *person, "commit", "-q", "--allow-empty", "-m", "Start"]
        subprocess.run(commit, check=True)
        assert arrived.wait(20)
    (found,) = spool.take(home)
    assert spool.sources_of(found.repositories, config_of(repository)) == ["r0"]


def test_a_hint_stays_until_its_source_was_read(home: Home, tmp_path: Path) -> None:
    one = tmp_path / "one"
    (one / ".git").mkdir(parents=True)
    config = config_of(one)
    hint(home, "a", str(one).encode())
    spool.settle(spool.take(home), config, [])
    again = spool.take(home)
    assert [found.repositories for found in again] == [(str(one),)]
    spool.settle(again, config, ["r0"])
    assert spool.take(home) == []


def test_a_hint_of_no_source_is_dropped(home: Home) -> None:
    hint(home, "a", b"/nowhere/at/all\n")
    spool.settle(spool.take(home), Config(), [])
    assert list(spool.folder(home).iterdir()) == []


@pytest.mark.parametrize(
    "data", [b"", b"\0/etc", b"relative/path", b"/" + b"x" * 100_000, b"\xff\xfe/", b"/\xff\xfe\n", b"/a\0b\n", b"\n\n"]
)
def test_hostile_hints_select_nothing_and_are_dropped(home: Home, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "one" / ".git").mkdir(parents=True)
    config = config_of(tmp_path / "one")
    hint(home, "a", data)
    hints = spool.take(home)
    assert [name for found in hints for name in spool.sources_of(found.repositories, config)] == []
    spool.settle(hints, config, [])
    assert list(spool.folder(home).iterdir()) == []


def test_what_is_no_plain_file_is_neither_followed_nor_waited_for(home: Home, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("/etc\n")
    (spool.folder(home) / "link").symlink_to(secret)
    (spool.folder(home) / "folder").mkdir()
    os.mkfifo(spool.folder(home) / "pipe")
    assert spool.take(home) == []
    assert secret.exists()


def test_a_hint_that_is_being_written_is_left_alone(home: Home) -> None:
    hint(home, ".half", b"/srv")
    assert spool.take(home) == []


def test_an_arriving_hint_wakes(home: Home) -> None:
    arrived = threading.Event()
    with spool.watched(home, arrived.set):
        hint(home, ".new", b"/srv").rename(spool.folder(home) / "new")
        assert arrived.wait(20)
