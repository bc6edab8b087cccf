"""Which files of a vault are notes, and how few of them a pass reads."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from ctxsync.connectors.base import Unsighted
from ctxsync.connectors.notes.disk import NEVER, Disk
from ctxsync.errors import SuspiciousDeletion

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.notes.disk import Contents
    from tests.connectors.notes.conftest import Vault


class Blind(Disk):
    """A disk whose notes must not be read."""

    def read(self, path: str) -> Contents:
        raise AssertionError(f"{path} was read")


def test_unchanged_notes_are_not_read(vault: Vault) -> None:
    for number in range(30):
        vault.write(f"d{number % 3}/n{number}.md", f"note {number}")
    vault.pull()
    vault.disk = Blind()
    assert vault.pull() == []
    (batch,) = vault.batches
    assert (batch.seen, batch.unchanged, batch.cursor) == (30, 30, {})
    assert "/rules" in vault.cursor  # so that the next pass need not match known notes again


def test_a_renamed_folder_is_recognised_without_reading_it(vault: Vault) -> None:
    for number in range(10):
        vault.write(f"old/n{number}.md", f"note {number}")
    vault.pull()
    vault.move("old", "new")
    vault.disk = Blind()
    assert len(vault.pull()) == 10


def test_a_note_written_twice_within_one_clock_tick_is_read_again(vault: Vault) -> None:
    path = vault.write("a.md", "one")
    now = time.time_ns()
    os.utime(path, ns=(now, now))
    vault.pull()
    entry = vault.cursor["a.md"]
    assert isinstance(entry, list)
    assert entry[1] == NEVER
    path.write_text("two")
    os.utime(path, ns=(now, now))
    vault.pull()
    assert vault.text("a.md") == "two"


def test_a_file_system_with_whole_seconds_gets_two_of_them(vault: Vault) -> None:
    seconds = time.time_ns() // 10**9 - 1
    path = vault.write("a.md", "one", mtime=seconds)
    vault.pull()
    path.write_text("two")
    os.utime(path, ns=(seconds * 10**9, seconds * 10**9))
    vault.pull()
    assert vault.text("a.md") == "two"


@pytest.mark.parametrize(
    "path",
    [
        ".obsidian/notes.md", ".git/a.md", ".trash/a.md", ".trash/deep/a.md", "a.tmp", "a.md.tmp", "a.md~", ".a.md.swp", ".hidden.md",
        "#a.md#", "sub/.obsidian/b.md", "sub/~lock.md", "logseq/bak/pages/a.md", ".stversions/a.md", "a.md.bak",
    ],
)  # fmt: skip
def test_what_applications_leave_in_a_vault_is_no_note(vault: Vault, path: str) -> None:
    vault.write("real.md")
    vault.write(path)
    vault.pull()
    assert list(vault.held) == ["real.md"]
    assert vault.batches[-1].skipped == {}


def test_ignored_names_count_within_the_vault_only(tmp_path: Path, vault: Vault) -> None:
    vault.root = tmp_path / ".trash" / ".git" / "notes.tmp"
    vault.root.mkdir(parents=True)
    vault.write("a.md")
    vault.pull()
    assert list(vault.held) == ["a.md"]


def test_files_that_no_parser_knows_are_counted_by_kind(vault: Vault) -> None:
    for name in ("a.md", "a.PDF", "b.pdf", "board.canvas", "LICENSE", "c.txt", "d.org", "e.markdown"):
        vault.write(name)
    vault.pull()
    assert sorted(vault.held) == ["a.md", "c.txt", "d.org", "e.markdown"]
    assert vault.batches[-1].skipped == {"(none)": 1, ".canvas": 1, ".pdf": 2}


def test_include_and_exclude_globs_choose_the_notes(vault: Vault) -> None:
    for name in ("work/a.md", "work/private/b.md", "home/c.md", "private/d.md"):
        vault.write(name)
    vault.settings = {"include": ["work/**", "private/**"], "exclude": ["private/**"]}
    vault.pull()
    # A glob with a slash holds from the top of the vault, as in .gitignore.
    assert sorted(vault.held) == ["work/a.md", "work/private/b.md"]
    vault.settings = {"exclude": ["private/"]}
    vault.pull()
    assert sorted(vault.held) == ["home/c.md", "work/a.md"]


def test_ignore_files_hold_in_their_folder_and_the_inner_one_decides(vault: Vault) -> None:
    vault.write(".gitignore", "drafts/\n*.log.md\n!keep.log.md\n")
    vault.write("sub/.gitignore", "secret*\n!x.log.md\n")
    vault.write("sub/.ctxsyncignore", "diary.md\n!secret-but-known.md\n")
    for name in (
        "a.md", "drafts/b.md", "sub/drafts/c.md", "x.log.md", "keep.log.md", "secret.md", "sub/secret.md", "sub/secret-but-known.md",
        "sub/x.log.md", "sub/diary.md", "diary.md",
    ):  # fmt: skip
        vault.write(name)
    vault.pull()
    expected = ["a.md", "diary.md", "keep.log.md", "secret.md", "sub/secret-but-known.md", "sub/x.log.md"]
    assert sorted(vault.held) == expected
    assert vault.pull() == []


def test_a_pattern_that_means_nothing_spoils_no_ignore_file(vault: Vault) -> None:
    vault.write(".gitignore", b"/\n!\n***/[\nb.md\n\xff\xfe\n")
    vault.write("a.md")
    vault.write("b.md")
    vault.pull()
    assert list(vault.held) == ["a.md"]


def test_notes_that_become_ignored_go_and_come_back_with_their_identity(vault: Vault) -> None:
    for name in ("a.md", "b.md", "c.md"):
        vault.write(name, f"note {name}")
    vault.pull()
    before = dict(vault.held)
    vault.write(".ctxsyncignore", "b.md\n")
    assert vault.pull() == [Unsighted(before["b.md"], "b.md", "excluded")]
    assert vault.pull() == []
    (vault.root / ".ctxsyncignore").unlink()
    vault.pull()
    assert vault.held == before


def test_an_ignore_rule_that_hides_everything_trips_the_breaker_until_it_is_allowed(vault: Vault) -> None:
    for number in range(30):
        vault.write(f"n{number}.md", f"note {number}")
    vault.pull()
    vault.write(".gitignore", "*\n")
    for _ in range(2):
        with pytest.raises(SuspiciousDeletion):
            vault.pull()
        assert len(vault.held) == 30
    vault.pull(allow_deletes=True)
    assert vault.held == {}


def test_a_symlinked_folder_is_followed_once(vault: Vault, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "a.md").write_text("outside a")
    (outside / "deep" / "b.md").write_text("outside b")
    (outside / "deep" / "up").symlink_to(outside)
    vault.write("own/c.md")
    for name, target in {
        "link1": outside, "link2": outside, "inner": outside / "deep", "self": vault.root, "own2": vault.root / "own", "parent": tmp_path,
    }.items():  # fmt: skip
        (vault.root / name).symlink_to(target)
    vault.pull()
    # `inner` comes first by name; its folder is not entered again through `link1`.
    assert sorted(vault.held) == ["inner/b.md", "link1/a.md", "own/c.md"]
    assert vault.pull() == []


def test_a_loop_of_links_ends(vault: Vault) -> None:
    vault.write("a/n.md")
    (vault.root / "a" / "b").symlink_to(vault.root)
    (vault.root / "x").symlink_to(vault.root / "y")
    (vault.root / "y").symlink_to(vault.root / "x")
    vault.pull()
    assert list(vault.held) == ["a/n.md"]


def test_a_linked_file_is_a_note_unless_it_is_in_the_vault_already(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("outside")
    vault.write("own.md")
    (vault.root / "link.md").symlink_to(tmp_path / "outside.md")
    (vault.root / "again.md").symlink_to(vault.root / "own.md")
    vault.pull()
    assert sorted(vault.held) == ["link.md", "own.md"]


def test_an_icloud_placeholder_is_neither_read_nor_deleted(vault: Vault) -> None:
    vault.write("a.md", "words of a")
    vault.write("b.md", "words of b")
    vault.pull()
    vault.disk = Blind()
    (vault.root / "a.md").unlink()
    with (vault.root / "a.md").open("wb") as file:
        file.truncate(10)  # a size and no block, as macOS shows a note that is not on this disk
    (vault.root / "b.md").unlink()
    (vault.root / ".b.md.icloud").write_bytes(b"bplist00")
    with (vault.root / "new.md").open("wb") as file:
        file.truncate(10)
    assert (vault.root / "new.md").stat().st_blocks == 0
    assert vault.pull() == []
    assert sorted(vault.held) == ["a.md", "b.md"]


def test_a_placeholder_that_arrives_is_an_ordinary_note(vault: Vault) -> None:
    with (vault.root / "a.md").open("wb") as file:
        file.truncate(10)
    vault.pull()
    assert vault.held == {}
    vault.write("a.md", "here now")
    vault.pull()
    assert vault.text("a.md") == "here now"


def test_the_pass_opens_with_what_a_note_holds_and_never_writes_to_the_vault(vault: Vault) -> None:
    path = vault.write("a.md", "words")
    before = sorted(vault.root.iterdir()), path.stat().st_mtime_ns
    vault.pull()
    vault.pull()
    assert (sorted(vault.root.iterdir()), path.stat().st_mtime_ns) == before
