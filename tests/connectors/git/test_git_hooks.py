"""The post-commit hook, through real commits."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from ctxsync import hooks, spool
from ctxsync.errors import Unavailable
from ctxsync.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.connectors.git.conftest import Repo


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "it's a home; $(touch no)\n of `mine`"


def hints(home: Path, count: int = 1) -> set[str]:
    """Return the paths that hints name, when `count` hints have come: the hook hands over in the background."""
    deadline = time.monotonic() + 20
    taken: list[spool.Hint] = []
    while len(taken) < count and time.monotonic() < deadline:
        taken = spool.take(Home(home))
        os.sched_yield()
    assert len(taken) == count
    for hint in taken:
        hint.file.unlink()
    return {path for hint in taken for path in hint.repositories}


def script(path: Path, text: str, mode: int = 0o755) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path.read_bytes()


def hook_of(repo: Repo) -> Path:
    return repo.path / ".git" / "hooks" / "post-commit"


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        entry.name: (
            entry.lstat().st_mode,
            str(entry.readlink()).encode() if entry.is_symlink() else entry.read_bytes(),
        )
        for entry in sorted(folder.iterdir())
        if entry.is_symlink() or entry.is_file()
    }


def test_a_commit_leaves_a_hint_that_names_the_work_tree(repo: Repo, home: Path) -> None:
    assert hooks.install(repo.path, home) == [str(hook_of(repo))]
    repo.commit()
    assert hints(home) == {str(repo.path), f"{repo.path}/.git"}
    assert not (repo.path / "no").exists()
    assert (home / "spool" / "git").stat().st_mode & 0o777 == 0o700


def test_many_commits_are_one_hint(repo: Repo, home: Path) -> None:
    hooks.install(repo.path, home)
    for _ in range(4):
        repo.commit()
    assert hints(home) == {str(repo.path), f"{repo.path}/.git"}


def test_installing_twice_changes_nothing_and_uninstalling_leaves_no_trace(repo: Repo, home: Path) -> None:
    before = snapshot(hook_of(repo).parent)
    hooks.install(repo.path, home)
    once = snapshot(hook_of(repo).parent)
    hooks.install(repo.path, home)
    assert snapshot(hook_of(repo).parent) == once
    assert hooks.uninstall(repo.path) == [str(hook_of(repo))]
    assert snapshot(hook_of(repo).parent) == before
    assert hooks.uninstall(repo.path) == []


def test_another_home_takes_over(repo: Repo, home: Path, tmp_path: Path) -> None:
    hooks.install(repo.path, home)
    hooks.install(repo.path, tmp_path / "second")
    repo.commit()
    assert hints(tmp_path / "second")
    assert spool.take(Home(home)) == []


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\necho ran >> ran\nexit 0\n",
        "#!/usr/bin/env bash\nset -eu -o pipefail\necho ran >> ran\nfalse\n",
        '#!/bin/sh -e\n[ "$(basename "$0")" = post-commit ] && echo ran >> ran',
        "#!/usr/bin/env python3\nopen('ran', 'a').write('ran\\n')\n",
        "echo ran >> ran\n",
    ],
)
def test_an_existing_hook_still_runs_and_comes_back_byte_by_byte(repo: Repo, home: Path, text: str) -> None:
    script(hook_of(repo), text, 0o750)
    before = snapshot(hook_of(repo).parent)
    hooks.install(repo.path, home)
    hooks.install(repo.path, home)
    repo.commit()
    assert (repo.path / "ran").read_text() == "ran\n"
    assert str(repo.path) in hints(home)
    hooks.uninstall(repo.path)
    assert snapshot(hook_of(repo).parent) == before


def test_a_linked_hook_is_chained_and_its_target_is_not_touched(repo: Repo, home: Path) -> None:
    target = repo.path / "scripts" / "after"
    text = script(target, "#!/bin/sh\necho ran >> ran\n")
    hook_of(repo).symlink_to("../../scripts/after")
    before = snapshot(hook_of(repo).parent)
    hooks.install(repo.path, home)
    repo.commit()
    assert (repo.path / "ran").read_text() == "ran\n"
    assert hints(home)
    assert target.read_bytes() == text
    hooks.uninstall(repo.path)
    assert snapshot(hook_of(repo).parent) == before


def test_a_hook_that_was_switched_off_stays_off(repo: Repo, home: Path) -> None:
    script(hook_of(repo), "#!/bin/sh\necho ran >> ran\n", 0o644)
    before = snapshot(hook_of(repo).parent)
    hooks.install(repo.path, home)
    repo.commit()
    assert hints(home)
    assert not (repo.path / "ran").exists()
    hooks.uninstall(repo.path)
    assert snapshot(hook_of(repo).parent) == before


def test_husky_keeps_working(repo: Repo, home: Path) -> None:
    stubs = repo.path / ".husky" / "_"
    script(stubs / "post-commit", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"')
    script(
        stubs / "h",
        '#!/usr/bin/env sh\nn=$(basename "$0")\ns=$(dirname "$(dirname "$0")")/$n\n[ ! -f "$s" ] && exit 0\nsh -e "$s" "$@"\n',
    )
    script(repo.path / ".husky" / "post-commit", "echo ran >> ran\n")
    repo.git("config", "core.hooksPath", ".husky/_")
    before = snapshot(stubs)
    assert hooks.install(repo.path, home) == [str(stubs / "post-commit")]
    repo.commit()
    assert (repo.path / "ran").read_text() == "ran\n"
    assert hints(home)
    assert not hook_of(repo).exists()
    hooks.uninstall(repo.path)
    assert snapshot(stubs) == before


def test_a_hooks_path_shared_by_repositories_hints_at_each(
    repo: Repo, make_repo: Callable[..., Repo], home: Path, tmp_path: Path
) -> None:
    other = make_repo("other")
    for one in (repo, other):
        one.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    hooks.install(repo.path, home)
    repo.commit()
    other.commit()
    assert hints(home, 2) >= {str(repo.path), str(other.path)}


def test_a_linked_worktree_hints_at_itself(repo: Repo, home: Path, tmp_path: Path) -> None:
    repo.commit()
    repo.git("worktree", "add", "-q", "-b", "topic", tmp_path / "linked")
    hooks.install(tmp_path / "linked", home)
    type(repo)(tmp_path / "linked").commit()
    assert hints(home) == {str(tmp_path / "linked"), f"{repo.path}/.git/worktrees/linked"}


def test_a_subfolder_stands_for_its_repository(repo: Repo, home: Path) -> None:
    (repo.path / "sub").mkdir()
    repo.git("config", "core.hooksPath", "my-hooks")
    assert hooks.install(repo.path / "sub", home) == [str(repo.path / "my-hooks" / "post-commit")]


def test_variables_of_another_repository_do_not_lead_astray(
    repo: Repo, make_repo: Callable[..., Repo], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repo("other")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    assert hooks.install(repo.path, home) == [str(hook_of(repo))]


@pytest.mark.parametrize("trouble", ["missing", "a file", "read-only", "spool is a link to nowhere"])
def test_whatever_is_wrong_with_the_home_the_commit_succeeds_in_silence(repo: Repo, home: Path, trouble: str) -> None:
    hooks.install(repo.path, home)
    place = home / "spool" / "git"
    if trouble == "read-only":
        place.chmod(0o500)
    else:
        place.rmdir()
    if trouble == "a file":
        place.write_text("")
    if trouble == "spool is a link to nowhere":
        place.symlink_to(home / "nowhere")
    repo.write("file.txt")
    assert (repo.raw("commit", "-q", "-m", "Goes through"), repo.complaints) == (b"", b"")
    assert repo.git("log", "-1", "--format=%s") == "Goes through"


def test_a_spool_that_hangs_does_not_delay_the_commit(repo: Repo, home: Path) -> None:
    hooks.install(repo.path, home)
    text = hook_of(repo).read_text()
    hook_of(repo).write_text(text.replace("    here=", '    read -r never <>"$spool/pipe"\n    here=', 1))
    os.mkfifo(home / "spool" / "git" / "pipe")
    repo.commit()
    (home / "spool" / "git" / "pipe").write_text("go\n")
    assert repo.all()


def test_hooks_that_are_switched_off_are_said_to_be(repo: Repo, home: Path) -> None:
    repo.git("config", "core.hooksPath", "/dev/null")
    with pytest.raises(Unavailable, match="switched off") as caught:
        hooks.install(repo.path, home)
    assert "ctxsync sync" in caught.value.remedy


def test_what_is_no_repository_is_refused(tmp_path: Path, home: Path) -> None:
    with pytest.raises(Unavailable, match="not there"):
        hooks.install(tmp_path / "nowhere", home)
    (tmp_path / "plain").mkdir()
    with pytest.raises(Unavailable, match="not a git repository"):
        hooks.install(tmp_path / "plain", home)


def test_a_hook_put_aside_by_hand_is_never_overwritten(repo: Repo, home: Path) -> None:
    script(hook_of(repo), "#!/usr/bin/env python3\n")
    script(hook_of(repo).with_name("post-commit.ctxsync-chained"), "kept\n")
    before = snapshot(hook_of(repo).parent)
    with pytest.raises(Unavailable, match="there already"):
        hooks.install(repo.path, home)
    assert snapshot(hook_of(repo).parent) == before


def test_lines_that_others_add_to_our_hook_stay(repo: Repo, home: Path) -> None:
    hooks.install(repo.path, home)
    hook = hook_of(repo)
    hook.write_text(hook.read_text() + "echo theirs\n")
    hooks.uninstall(repo.path)
    assert "echo theirs" in hook.read_text()
    assert "spool" not in hook.read_text()
