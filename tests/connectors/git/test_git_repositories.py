"""Repositories of every kind, broken ones, refused ones, hostile ones."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ctxsync.connectors.base import Options, Quarantined, Released, Sighted, Stream, Unsighted
from ctxsync.connectors.git import GitConnector
from ctxsync.connectors.git.process import Repository, explain
from ctxsync.errors import AuthError, ConfigError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.connectors.git.conftest import Reader, Repo


def streams(path: Path) -> list[str]:
    return [stream.name for stream in GitConnector("code", {"path": str(path)}, Options()).discover()]


def test_an_unborn_head_is_an_empty_history(repo: Repo, reader: Reader) -> None:
    assert streams(repo.path) == ["."]
    assert reader.read() == []
    sha = repo.commit()
    reader.read()
    assert reader.commits() == {sha}


def test_a_bare_repository_is_read(repo: Repo, make_repo: Callable[..., Repo], make_reader: type[Reader]) -> None:
    repo.write(".mailmap", "Robin Vale <robin@example.com>\n")
    sha = repo.commit()
    bare = make_repo("bare.git", "--bare")
    repo.git("push", "-q", bare.path, "main")
    reader = make_reader(bare.path)
    assert streams(bare.path) == ["."]
    reader.read()
    assert reader.commits() == {sha}
    assert "mailmap:code" in reader.items


def test_a_sha_256_repository_is_read(make_repo: Callable[..., Repo], make_reader: type[Reader]) -> None:
    repo = make_repo("wide", "--object-format=sha256")
    repo.commit()
    gone = repo.commit("Goes")
    reader = make_reader(repo.path)
    reader.read()
    assert len(gone) == 64
    assert reader.commits() == repo.all()
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert reader.read() == [Unsighted(f"commit:{gone}", ".", "unreachable")]


def test_a_shallow_boundary_has_no_files_until_the_clone_is_deepened(
    repo: Repo, make_reader: type[Reader], tmp_path: Path
) -> None:
    order = [repo.commit(f"Change {n}", f"f{n}.txt") for n in range(5)]
    repo.git("clone", "-q", "--depth", "2", f"file://{repo.path}", tmp_path / "clone")
    clone = type(repo)(tmp_path / "clone")
    reader = make_reader(clone.path)
    reader.read()
    assert reader.commits() == set(order[3:])
    boundary = reader.item(order[3])
    assert (boundary.title, boundary.flags) == ("Change 3", ("shallow",))
    assert reader.says(order[3])["files"] == []
    assert reader.says(order[4])["files"] == [{"path": "f4.txt", "status": "A"}]
    clone.git("fetch", "-q", "--deepen", "1")
    reader.read()
    assert reader.commits() == set(order[2:])
    clone.git("fetch", "-q", "--unshallow")
    reader.read()
    assert reader.commits() == set(order)
    assert [reader.says(sha)["files"] for sha in order] == [[{"path": f"f{n}.txt", "status": "A"}] for n in range(5)]
    assert all(reader.item(sha).flags == () for sha in order)
    assert reader.cursor["."]["count"] == 5
    assert "shallow" not in reader.cursor["."]


def test_a_clone_that_becomes_shallower_loses_nothing(repo: Repo, make_reader: type[Reader], tmp_path: Path) -> None:
    for n in range(4):
        repo.commit(f"Change {n}", f"f{n}.txt")
    repo.git("clone", "-q", f"file://{repo.path}", tmp_path / "clone")
    clone = type(repo)(tmp_path / "clone")
    reader = make_reader(clone.path)
    reader.read()
    new = repo.commit("New", "new.txt")
    clone.git("fetch", "-q", "--depth", "1")
    clone.git("reset", "-q", "--hard", "origin/main")
    clone.git("reflog", "expire", "--expire=now", "--all")
    clone.git("gc", "-q", "--prune=now")
    reader.read()
    assert new in reader.commits()
    assert len(reader.commits()) == 5


def test_each_initialised_submodule_is_a_stream(
    repo: Repo, make_repo: Callable[..., Repo], make_reader: type[Reader], tmp_path: Path
) -> None:
    inner, library = make_repo("inner"), make_repo("library")
    deep = inner.commit("Deep inside")
    library.git("submodule", "-q", "add", inner.path, "deps/inner")
    other = library.commit("Library", "lib.txt")
    repo.git("submodule", "-q", "add", library.path, "libs/one")
    repo.git("submodule", "-q", "add", library.path, "libs/two")
    sha = repo.commit("Top", "top.txt")
    repo.git("clone", "-q", repo.path, tmp_path / "clone")
    clone = type(repo)(tmp_path / "clone")
    assert streams(clone.path) == ["."]
    clone.git("submodule", "-q", "update", "--init", "libs/two")
    type(repo)(clone.path / "libs/two").git("submodule", "-q", "update", "--init")
    assert streams(clone.path) == [".", "libs/two", "libs/two/deps/inner"]
    reader = make_reader(clone.path)
    for stream in streams(clone.path):
        reader.read(stream)
    assert reader.sighted[f"commit:{sha}"] == {"."}
    assert reader.sighted[f"commit:{other}"] == {"libs/two"}
    assert reader.sighted[f"commit:{deep}"] == {"libs/two/deps/inner"}
    assert reader.says(other)["repository"] == "library"


def test_a_submodule_path_that_leads_elsewhere_is_no_stream(repo: Repo, make_repo: Callable[..., Repo]) -> None:
    outside = make_repo("outside")
    outside.commit()
    repo.git("submodule", "-q", "add", outside.path, "lib")
    repo.commit("Top", "top.txt")
    shutil.rmtree(repo.path / "lib")
    (repo.path / "lib").symlink_to(outside.path)
    assert streams(repo.path) == ["."]


def test_a_missing_folder_is_unavailable_and_nothing_is_deleted(repo: Repo, reader: Reader) -> None:
    sha = repo.commit()
    reader.read()
    repo.path.rename(repo.path.with_name("elsewhere"))
    with pytest.raises(Unavailable, match="is not there") as caught:
        reader.read()
    assert "ctxsync sync code" in caught.value.remedy
    with pytest.raises(Unavailable):
        streams(repo.path)
    assert reader.commits() == {sha}


def test_a_folder_that_is_no_repository_is_unavailable_even_inside_one(repo: Repo, make_reader: type[Reader]) -> None:
    repo.commit("Top", "sub/file.txt")
    with pytest.raises(Unavailable, match="is not a git repository") as caught:
        make_reader(repo.path / "sub").read()
    assert "top folder" in caught.value.remedy


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user_is_refused_with_the_command_that_trusts_it(repo: Repo, reader: Reader) -> None:
    sha = repo.commit()
    os.chown(repo.path, 12_345, 12_345)
    with pytest.raises(AuthError, match="another user owns it") as caught:
        streams(repo.path)
    with pytest.raises(AuthError):
        reader.read()
    command = f"git config --global --add safe.directory {repo.path}"
    assert f"`{command}`" in caught.value.remedy
    assert os.system(command) == 0
    reader.read()
    assert reader.commits() == {sha}


@pytest.mark.parametrize(
    ("complaint", "status", "kind", "says"),
    [
        ("fatal: detected dubious ownership\n\tgit config --global --add safe.directory /x\n", 128, AuthError,
         "safe.directory /x"),
        ("fatal: cannot use bare repository '/x' (safe.bareRepository is 'explicit')", 128, AuthError, "bareRepository"),
        ("fatal: cannot chdir to '/x': Permission denied", 128, AuthError, "permissions"),
        ("fatal: not a git repository (or any of the parent directories): .git", 128, Unavailable, "top folder"),
        ("fatal: unknown repository extension found:\n\trefstorage", 128, Unavailable, "newer git"),
        ("env: 'git': No such file or directory", 127, Unavailable, "Install git"),
        ("error: object file is empty\nfatal: loose object 123 is corrupt", 128, Unavailable, "fsck"),
        ("", -9, Unavailable, "ctxsync sync code"),
        ("", 1, Unavailable, "fsck"),
    ],
)  # fmt: skip
def test_every_failure_of_git_names_a_remedy(complaint: str, status: int, kind: type[Exception], says: str) -> None:
    error = explain(complaint, status, Repository(Path("/x"), "code"))
    assert type(error).__mro__[0] is kind or isinstance(error, kind)
    assert says in error.remedy


def test_without_git_the_remedy_is_to_install_it(
    repo: Repo, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit()
    reader.read()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "env").symlink_to(shutil.which("env") or "/usr/bin/env")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(Unavailable, match="git is not installed"):
        reader.read()


@pytest.mark.parametrize("settings", [{}, {"path": ""}, {"path": "/x", "include": 3}, {"path": "/x", "exclude": [1]}])
def test_settings_that_cannot_be_used_are_named(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="code"):
        GitConnector("code", settings, Options())  # type: ignore[arg-type]  # JSON or keyword values whose types the test chose


def test_git_variables_of_a_hook_do_not_lead_astray(
    repo: Repo, reader: Reader, make_repo: Callable[..., Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = repo.commit()
    other = make_repo("other")
    other.commit("Not this one")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.path / ".git" / "objects"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    assert streams(repo.path) == ["."]
    reader.read()
    assert reader.commits() == {sha}
    assert os.environ["GIT_DIR"] == str(other.path / ".git")


def test_nothing_that_a_repository_configures_is_run(repo: Repo, reader: Reader, tmp_path: Path) -> None:
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {sprung}\ncat\n')
    trap.chmod(0o755)
    repo.write("a.bin", "text\n")
    repo.write(".gitattributes", "* diff=trap filter=trap\n")
    repo.commit("One", "b.txt")
    repo.git("mv", "a.bin", "c.bin")
    repo.commit("Two", "b.txt")
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(trap, repo.path / ".git" / "hooks" / hook)
    for key in (
        "core.fsmonitor", "core.pager", "pager.log", "diff.external", "diff.trap.textconv", "diff.trap.command",
        "core.sshCommand", "gpg.program", "core.editor", "core.askPass", "filter.trap.clean", "filter.trap.smudge",
        "credential.helper", "core.gitProxy", "uploadpack.packObjectsHook", "alias.log", "interactive.diffFilter",
    ):  # fmt: skip
        repo.git("config", key, f"!{trap}" if key == "alias.log" else str(trap))
    repo.git("config", "log.showSignature", "true")
    repo.git("config", "core.hooksPath", str(repo.path / ".git" / "hooks"))
    sprung.unlink(missing_ok=True)
    streams(repo.path)
    reader.read()
    repo.git("update-ref", "refs/heads/main", "HEAD~1")
    sprung.unlink(missing_ok=True)
    reader.read()
    assert not sprung.exists()
    assert len(reader.commits()) == 1


def test_configuration_for_people_changes_nothing(repo: Repo, make_reader: type[Reader]) -> None:
    repo.commit("One", "a.txt", "the same text\n" * 5)
    repo.git("mv", "a.txt", "b.txt")
    repo.commit("Two", "")
    plain = make_reader(repo.path)
    plain.read()
    for key, value in (
        ("diff.renames", "false"), ("log.showRoot", "false"), ("log.date", "relative"), ("log.mailmap", "true"),
        ("format.pretty", "oneline"), ("color.ui", "always"), ("log.diffMerges", "first-parent"), ("core.abbrev", "4"),
        ("i18n.logOutputEncoding", "UTF-16"), ("log.decorate", "full"), ("diff.relative", "true"), ("log.follow", "true"),
        ("diff.noprefix", "true"), ("core.quotePath", "true"), ("diff.ignoreSubmodules", "all"),
    ):  # fmt: skip
        repo.git("config", key, value)
    configured = make_reader(repo.path)
    configured.read()
    assert configured.items == plain.items


def test_replacement_objects_and_grafts_do_not_change_a_commit(repo: Repo, reader: Reader) -> None:
    one, two = repo.commit("One"), repo.commit("Two")
    lie = repo.raw("cat-file", "commit", two).replace(b"Two", b"Lie")
    other = repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=lie)
    repo.git("replace", two, other)
    (repo.path / ".git" / "info").mkdir(exist_ok=True)
    (repo.path / ".git" / "info" / "grafts").write_text(f"{two}\n")
    reader.read()
    assert reader.commits() == {one, two}
    assert reader.item(two).title == "Two"


def test_a_commit_whose_tree_is_damaged_goes_without_files_and_stops_nobody(repo: Repo, reader: Reader) -> None:
    order = [repo.commit(f"Change {n}", f"d{n}/f.txt") for n in range(8)]
    tree = repo.git("rev-parse", f"{order[3]}^{{tree}}")
    file = repo.path / ".git" / "objects" / tree[:2] / tree[2:]
    kept = file.read_bytes()
    file.unlink()
    changes = reader.read()
    assert reader.commits() == set(order)
    assert reader.cursor["."]["count"] == 8
    # Both are compared with the tree that is missing.
    damaged = {f"commit:{sha}" for sha in order[3:5]}
    assert {change.place for change in changes if isinstance(change, Quarantined)} == damaged
    assert all(reader.items[item].flags == ("files-unreadable",) for item in damaged)
    assert [len(reader.says(sha)["files"]) for sha in order] == [1, 1, 1, 0, 0, 1, 1, 1]  # type: ignore[arg-type]  # JSON or keyword values whose types the test chose
    assert reader.read() == []
    file.write_bytes(kept)
    changes = reader.read(retry_quarantined=True)
    assert {change.place for change in changes if isinstance(change, Released)} == damaged
    assert [len(reader.says(sha)["files"]) for sha in order] == [1] * 8  # type: ignore[arg-type]  # JSON or keyword values whose types the test chose
    assert all(not item.flags for item in reader.items.values())
    assert not any(key.startswith("bad:") for key in reader.cursor["."])


@pytest.mark.parametrize("content", [b"", b"\0" * 41, b"0123456789012345678901234567890123456789\n"])
def test_a_broken_ref_is_quarantined_and_deletes_nothing(repo: Repo, reader: Reader, content: bytes) -> None:
    kept = [repo.commit(), repo.commit()]
    repo.git("checkout", "-q", "-b", "side")
    reader.read()
    (repo.path / ".git" / "refs" / "heads" / "main").write_bytes(content)
    (repo.path / ".git" / "refs" / "heads" / "side").write_text(f"{kept[0]}\n")
    changes = reader.read()
    assert [change.place for change in changes if isinstance(change, Quarantined)] == ["ref:.:refs/heads/main"]
    assert reader.commits() == set(kept)
    new = repo.commit("Goes on")
    assert Sighted(f"commit:{new}", ".") in reader.read()
    (repo.path / ".git" / "refs" / "heads" / "main").write_text(f"{kept[1]}\n")
    assert Released("ref:.:refs/heads/main") in reader.read()
    assert reader.quarantined == {}


def test_a_history_with_a_hole_is_unavailable_and_names_fsck(repo: Repo, reader: Reader) -> None:
    order = [repo.commit() for _ in range(3)]
    (repo.path / ".git" / "objects" / order[1][:2] / order[1][2:]).unlink()
    with pytest.raises(Unavailable, match="could not read") as caught:
        reader.read()
    assert "fsck" in caught.value.remedy


@pytest.mark.parametrize("filters", ["blob:none", "tree:0"])
def test_a_partial_clone_is_read_without_network(
    repo: Repo, make_reader: type[Reader], tmp_path: Path, filters: str
) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.write(".mailmap", "Robin Vale <robin@example.com>\n")
    repo.commit("One", "a.txt", "one\n" * 9)
    repo.git("mv", "a.txt", "b.txt")
    (repo.path / "b.txt").write_text("one\n" * 9 + "two\n")
    repo.commit("Two", "c.txt", "three\n")
    repo.git("add", "b.txt")
    sha = repo.commit("Three", "")
    repo.git("clone", "-q", "--bare", "--filter", filters, f"file://{repo.path}", tmp_path / "partial")
    packs = sorted((tmp_path / "partial" / "objects").rglob("*"))
    reader = make_reader(tmp_path / "partial")
    reader.read()
    assert reader.commits() == repo.all()
    assert sorted((tmp_path / "partial" / "objects").rglob("*")) == packs
    expected: list[object] = [{"path": "b.txt", "status": "M"}] if filters == "blob:none" else []
    assert reader.says(sha)["files"] == expected


def test_warnings_without_end_do_not_block(repo: Repo, reader: Reader) -> None:
    sha = repo.commit()
    refs = repo.path / ".git" / "refs" / "heads"
    for number in range(3000):
        (refs / f"{'x' * 60}-{number}").write_bytes(b"")
    reader.read()
    assert reader.commits() == {sha}


def test_a_read_that_is_abandoned_leaves_no_process(repo: Repo, reader: Reader) -> None:
    for _ in range(3):
        repo.commit()
    reading = reader.connector().read(Stream("code"), None)
    next(reading)
    reading.close()  # type: ignore[attr-defined]  # a generator, closed early
    running = subprocess.run(["ps", "-A", "-o", "ppid=,comm="], capture_output=True, text=True, check=True).stdout
    assert [line for line in running.splitlines() if line.split(None, 1)[0] == str(os.getpid()) and "git" in line] == []


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("git@git.example.com:tools/harbour.git", "harbour"),
        ("https://git.example.com/tools/harbour/", "harbour"),
        ("/srv/git/harbour.git", "harbour"),
        ("C:\\src\\harbour", "harbour"),
        ("harbour\x1b[2J.git", "harbour[2J"),
        (".git", "fork"),
    ],
)
def test_a_repository_is_called_as_where_it_was_cloned_from_in_every_clone(
    repo: Repo, reader: Reader, remote: str, name: str
) -> None:
    sha = repo.commit("Begin", "a.txt")
    repo.git("remote", "add", "another", "https://git.example.com/fork.git")
    repo.git("remote", "add", "origin", remote)

    reader.read()

    assert reader.says(sha)["repository"] == name
