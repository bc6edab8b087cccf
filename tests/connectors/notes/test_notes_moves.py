"""Where notes go: edits, renames, swaps, copies, deletions and returns, on a real disk."""

from __future__ import annotations

import os
import shutil
import unicodedata
from typing import TYPE_CHECKING

import pytest

from ctxsync.connectors.base import Moved, Observed, Sighted, Unsighted
from ctxsync.errors import SuspiciousDeletion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxsync.connectors.base import Change
    from tests.connectors.notes.conftest import Vault


def names(changes: Sequence[Change]) -> list[str]:
    return [type(change).__name__ for change in changes]


def test_an_atomic_save_is_one_edit_of_the_target(vault: Vault) -> None:
    vault.write("a.md", "first")
    vault.pull()
    before = vault.held["a.md"]
    vault.write("a.md.tmp", "second")
    vault.move("a.md.tmp", "a.md")
    changes = vault.pull()
    assert names(changes) == ["Observed"]
    assert vault.held == {"a.md": before}
    assert vault.text("a.md") == "second"


def test_a_backup_style_save_is_the_same_document(vault: Vault) -> None:
    vault.write("n.md", "first")
    vault.pull()
    before = vault.held["n.md"]
    vault.move("n.md", "n.md~")
    vault.write("n.md", "first and second")
    (vault.root / "n.md~").unlink()
    assert names(vault.pull()) == ["Observed"]
    assert vault.held == {"n.md": before}


def test_a_backup_that_stays_beside_the_note_is_no_note_and_takes_no_identity(vault: Vault) -> None:
    vault.write("n.md", "first")
    vault.pull()
    before = vault.held["n.md"]
    vault.move("n.md", "n.md~")
    vault.write("n.md", "second")
    vault.pull()
    assert vault.held == {"n.md": before}


def test_a_burst_of_new_files_is_found_whole_by_the_next_pass_in_bounded_batches(vault: Vault) -> None:
    for number in range(450):
        vault.write(f"d{number % 9}/n{number}.md", f"note {number}")
    changes = vault.pull()
    assert len([change for change in changes if isinstance(change, Sighted)]) == 450
    assert len(vault.held) == len(set(vault.held.values())) == 450
    assert max(batch.seen for batch in vault.batches) <= 200


def test_a_directory_moved_out_takes_every_child_along_and_later_edits_there_are_not_ours(
    vault: Vault, tmp_path: Path
) -> None:
    vault.write("keep.md", "stays")
    for number in range(3):
        vault.write(f"d/n{number}.md", f"note {number}")
    vault.pull()
    (vault.root / "d").rename(tmp_path / "outside")
    changes = vault.pull()
    assert sorted(change.place for change in changes if isinstance(change, Unsighted)) == [
        "d/n0.md",
        "d/n1.md",
        "d/n2.md",
    ]
    (tmp_path / "outside" / "n1.md").write_text("edited outside")
    assert vault.pull() == []
    assert list(vault.held) == ["keep.md"]


def test_a_directory_moved_in_brings_every_child_exactly_once(vault: Vault, tmp_path: Path) -> None:
    vault.write("keep.md", "stays")
    vault.pull()
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "a.md").write_text("a")
    (outside / "deep" / "b.md").write_text("b")
    outside.rename(vault.root / "in")
    assert names(vault.pull()) == ["Observed", "Sighted"] * 2
    assert vault.pull() == []
    assert sorted(vault.held) == ["in/a.md", "in/deep/b.md", "keep.md"]


def test_a_directory_that_leaves_and_returns_holds_the_same_notes_as_before(vault: Vault, tmp_path: Path) -> None:
    vault.write("keep.md", "stays")
    vault.write("d/a.md", "a")
    vault.pull()
    before = dict(vault.held)
    (vault.root / "d").rename(tmp_path / "outside")
    vault.pull()
    (tmp_path / "outside").rename(vault.root / "d")
    vault.pull()
    assert vault.held == before


def test_a_directory_renamed_moves_its_notes_without_new_versions(vault: Vault) -> None:
    for number in range(5):
        vault.write(f"old/n{number}.md", f"note {number}")
    vault.pull()
    before = {path: vault.held[path] for path in sorted(vault.held)}
    vault.move("old", "new")
    assert names(vault.pull()) == ["Moved"] * 5
    assert vault.held == {path.replace("old/", "new/"): item for path, item in before.items()}


def test_a_rename_keeps_the_identity_and_changes_the_title(vault: Vault) -> None:
    vault.write("Draft.md", "some words")
    vault.pull()
    before = vault.held["Draft.md"]
    vault.move("Draft.md", "Final.md")
    changes = vault.pull()
    assert changes[0] == Moved(before, "Draft.md", "Final.md")
    assert names(changes) == ["Moved", "Observed"]
    assert vault.note("Final.md").title == "Final"


def test_a_rename_with_an_edit_on_the_way_is_a_move(vault: Vault) -> None:
    vault.write("a.md", "# One\nkept\n\n# Two\nold")
    vault.pull()
    before = vault.held["a.md"]
    vault.move("a.md", "b.md")
    inode = (vault.root / "b.md").stat().st_ino
    vault.write("b.md", "# One\nkept\n\n# Two\nnew")
    assert (vault.root / "b.md").stat().st_ino == inode
    vault.pull()
    assert vault.held == {"b.md": before}


def test_an_inode_number_given_to_another_note_is_no_move(vault: Vault) -> None:
    vault.write("stays.md", "stays")
    vault.write("a.md", "about ships")
    vault.pull()
    before = vault.held["a.md"]
    inode = (vault.root / "a.md").stat().st_ino
    vault.move("a.md", "b.md")
    vault.write("b.md", "about something else entirely")
    assert (vault.root / "b.md").stat().st_ino == inode
    changes = vault.pull()
    assert Unsighted(before, "a.md") in changes
    assert vault.held["b.md"] != before


def test_a_template_that_many_notes_share_makes_no_move_of_a_reused_inode_number(vault: Vault) -> None:
    for name in ("a", "b", "c"):
        vault.write(f"{name}.md", f"# Log\n- [ ] plan\n\n# Today\nabout {name}")
    vault.pull()
    before = vault.held["a.md"]
    vault.move("a.md", "d.md")  # a deleted note's inode number, given to a new one
    vault.write("d.md", "# Log\n- [ ] plan\n\n# Today\nabout d")
    vault.pull()
    assert before not in vault.held.values()
    assert sorted(vault.held) == ["b.md", "c.md", "d.md"]


def test_a_case_only_rename_is_a_move(vault: Vault) -> None:
    vault.write("readme.md", "words")
    vault.pull()
    before = vault.held["readme.md"]
    vault.move("readme.md", "README.md")
    vault.write("README.md", "other words")  # even when it was edited since
    vault.pull()
    assert vault.held == {"README.md": before}


def test_nfc_and_nfd_spellings_of_a_name_are_one_document(vault: Vault) -> None:
    nfc, nfd = (unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD"))
    vault.write(nfd, "words")
    vault.pull()
    assert list(vault.held) == [nfc]
    before = vault.held[nfc]
    assert vault.pull() == []
    (vault.root / nfd).rename(vault.root / nfc)
    vault.write(nfc, "more words")
    assert names(vault.pull()) == ["Observed"]
    assert vault.held == {nfc: before}


def test_two_spellings_with_different_words_are_told_and_none_is_lost_silently(vault: Vault) -> None:
    nfc, nfd = (unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD"))
    vault.write(nfc, "composed")
    vault.write(nfd, "decomposed")
    vault.pull()
    assert vault.text(nfc) == "composed"
    assert list(vault.held) == [nfc]
    assert list(vault.bad) == [nfd]
    vault.write(nfd, "composed")
    vault.pull()
    assert vault.bad == {}
    (vault.root / nfd).unlink()
    assert vault.pull() == []


def test_a_copy_is_a_new_note_and_the_original_keeps_its_identity(vault: Vault) -> None:
    vault.write("a.md", "same words")
    vault.pull()
    before = vault.held["a.md"]
    vault.write("b.md", "same words")
    vault.pull()
    assert vault.held["a.md"] == before
    assert vault.held["b.md"] != before


def test_a_copy_of_a_note_that_is_then_edited_does_not_take_its_identity(vault: Vault) -> None:
    vault.write("a.md", "old words")
    vault.pull()
    before = vault.held["a.md"]
    vault.write("copy.md", "old words")
    vault.write("a.md", "new words")
    vault.pull()
    assert vault.held["a.md"] == before
    assert vault.held["copy.md"] != before


def test_of_two_identical_copies_the_vanished_one_moved(vault: Vault) -> None:
    vault.write("a.md", "same words")
    vault.write("b.md", "same words")
    vault.pull()
    a, b = vault.held["a.md"], vault.held["b.md"]
    vault.move("b.md", "c.md")
    vault.pull()
    assert vault.held == {"a.md": a, "c.md": b}


def test_identical_notes_copied_elsewhere_and_removed_are_paired_the_same_way_every_time(vault: Vault) -> None:
    for name in ("x/a.md", "x/b.md", "x/c.md"):
        vault.write(name, "same words")
    vault.pull()
    before = dict(vault.held)
    for name in ("b.md", "z.md", "y.md"):
        vault.write(f"new/{name}", "same words")
    shutil.rmtree(vault.root / "x")
    vault.pull()
    # The same file name first, then by order of names.
    assert vault.held == {"new/b.md": before["x/b.md"], "new/y.md": before["x/a.md"], "new/z.md": before["x/c.md"]}


def test_a_rename_over_an_existing_note_carries_the_identity_with_the_content(vault: Vault) -> None:
    vault.write("a.md", "content of a")
    vault.write("b.md", "content of b")
    vault.pull()
    a, b = vault.held["a.md"], vault.held["b.md"]
    (vault.root / "b.md").replace(vault.root / "a.md")
    changes = vault.pull()
    assert Unsighted(a, "a.md") in changes
    assert vault.held == {"a.md": b}
    assert vault.text("a.md") == "content of b"


@pytest.mark.parametrize("by_copy", [False, True], ids=["renamed", "rewritten"])
def test_when_two_notes_change_places_the_identities_follow_the_contents(vault: Vault, by_copy: bool) -> None:
    vault.write("a.md", "content of a")
    vault.write("b.md", "content of b")
    vault.pull()
    a, b = vault.held["a.md"], vault.held["b.md"]
    if by_copy:
        vault.write("a.md", "content of b")
        vault.write("b.md", "content of a")
    else:
        vault.move("a.md", "t")
        vault.move("b.md", "a.md")
        vault.move("t", "b.md")
    changes = vault.pull()
    assert vault.held == {"a.md": b, "b.md": a}
    assert names(changes) == ["Moved", "Moved", "Observed", "Observed"]  # the titles changed
    assert len(vault.batches[0].changes) == 2  # a swap is stored together or not at all


def test_a_rotation_of_three_and_a_newcomer_keeps_every_identity(vault: Vault) -> None:
    for name in "abc":
        vault.write(f"{name}.md", f"content of {name}")
    vault.pull()
    a, b, c = (vault.held[f"{name}.md"] for name in "abc")
    vault.move("c.md", "d.md")
    vault.move("b.md", "c.md")
    vault.move("a.md", "b.md")
    vault.write("a.md", "new here")
    vault.pull()
    assert vault.held["b.md"] == a
    assert vault.held["c.md"] == b
    assert vault.held["d.md"] == c
    assert vault.held["a.md"] not in (a, b, c)
    assert vault.text("a.md") == "new here"


def test_emptying_a_note_while_an_empty_one_goes_is_no_move(vault: Vault) -> None:
    vault.write("empty.md", "")
    vault.write("a.md", "words")
    vault.pull()
    a = vault.held["a.md"]
    (vault.root / "empty.md").unlink()
    vault.write("a.md", "")
    vault.pull()
    assert vault.held == {"a.md": a}


def test_a_deleted_note_that_returns_unchanged_is_the_same_note(vault: Vault) -> None:
    vault.write("keep.md", "stays")
    vault.write("a.md", "words")
    vault.pull()
    before = vault.held["a.md"]
    (vault.root / "a.md").unlink()
    assert names(vault.pull()) == ["Unsighted"]
    vault.write("a.md", "words")
    assert names(vault.pull()) == ["Observed", "Sighted"]
    assert vault.held["a.md"] == before


def test_another_note_at_a_deleted_notes_path_is_another_note(vault: Vault) -> None:
    vault.write("keep.md", "stays")
    vault.write("a.md", "words")
    vault.pull()
    ids = {vault.held["a.md"]}
    for number in range(3):
        (vault.root / "a.md").unlink()
        vault.pull()
        vault.write("a.md", f"other words {number}")
        vault.pull()
        ids.add(vault.held["a.md"])
    assert len(ids) == 4


def test_a_note_at_the_path_that_another_one_left_is_another_note(vault: Vault) -> None:
    vault.write("a.md", "words")
    vault.pull()
    before = vault.held["a.md"]
    vault.move("a.md", "b.md")
    vault.pull()
    vault.write("a.md", "new words")
    vault.pull()
    assert vault.held["b.md"] == before
    assert vault.held["a.md"] != before


def test_identities_are_the_same_on_every_machine_that_starts_from_the_same_vault(vault: Vault) -> None:
    vault.write("a.md", "words")
    vault.pull()
    first = dict(vault.held)
    vault.cursor.clear()
    vault.held.clear()
    vault.pull()
    assert vault.held == first


def test_a_touched_note_is_unchanged(vault: Vault) -> None:
    path = vault.write("a.md", "words")
    vault.pull()
    os.utime(path, ns=(1, 1))
    assert vault.pull() == []
    assert vault.batches[-1].unchanged == 1


def test_a_shifted_or_moved_section_keeps_the_time_it_first_appeared(vault: Vault) -> None:
    vault.write("a.md", "# One\nfirst words", mtime=1_000)
    vault.pull()
    vault.write("a.md", "# Zero\nnew words\n\n# One\nfirst words", mtime=2_000)
    vault.pull()
    vault.move("a.md", "b.md")
    vault.pull()
    vault.write("b.md", "# One\nfirst words\n# Zero\nnew words\n", mtime=3_000)
    vault.pull()
    assert {section.key: section.occurred_at for section in vault.sections("b.md")} == {
        "One": 1_000_000,
        "Zero": 2_000_000,
    }


def test_a_hard_link_is_a_document_of_its_own(vault: Vault) -> None:
    vault.write("a.md", "words")
    os.link(vault.root / "a.md", vault.root / "b.md")
    vault.pull()
    assert len(set(vault.held.values())) == 2
    assert vault.pull() == []
    a = vault.held["a.md"]
    (vault.root / "b.md").unlink()
    vault.pull()
    assert vault.held == {"a.md": a}


def test_moving_a_note_to_the_trash_deletes_it(vault: Vault) -> None:
    vault.write("keep.md", "stays")
    vault.write("a.md", "words")
    vault.pull()
    before = vault.held["a.md"]
    vault.move("a.md", ".trash/a.md")
    assert vault.pull() == [Unsighted(before, "a.md", "deleted")]


def fill(vault: Vault, count: int) -> None:
    for number in range(count):
        vault.write(f"n{number:03}.md", f"note {number}")
    vault.pull()


def test_too_many_deletions_at_once_record_none_and_still_let_additions_through(vault: Vault) -> None:
    fill(vault, 90)
    for number in range(20):
        (vault.root / f"n{number:03}.md").unlink()
    vault.write("new.md", "new")
    with pytest.raises(SuspiciousDeletion) as caught:
        vault.pull()
    assert (caught.value.vanished, caught.value.known) == (20, 90)
    assert "ctxsync sync --allow-deletes vault" in str(caught.value)
    assert len(vault.held) == 91
    changes = vault.pull(allow_deletes=True)
    assert names(changes) == ["Unsighted"] * 20
    assert len(vault.held) == 71


def test_fewer_than_a_fifth_or_fewer_than_twenty_deletions_go_through(vault: Vault) -> None:
    fill(vault, 101)
    for number in range(20):
        (vault.root / f"n{number:03}.md").unlink()
    assert names(vault.pull()) == ["Unsighted"] * 20
    for number in range(20, 39):
        (vault.root / f"n{number:03}.md").unlink()
    assert names(vault.pull()) == ["Unsighted"] * 19


def test_an_unmounted_disk_deletes_nothing_and_its_return_changes_nothing(vault: Vault, tmp_path: Path) -> None:
    fill(vault, 3)
    vault.root.rename(tmp_path / "away")
    vault.root.mkdir()
    with pytest.raises(SuspiciousDeletion):
        vault.pull()
    vault.root.rmdir()
    (tmp_path / "away").rename(vault.root)
    assert vault.pull() == []
    assert len(vault.held) == 3


def test_moving_most_of_a_vault_is_no_deletion(vault: Vault) -> None:
    fill(vault, 60)
    for number in range(50):
        vault.move(f"n{number:03}.md", f"archive/n{number:03}.md")
    assert names(vault.pull()) == ["Moved"] * 50


def test_additions_come_before_deletions(vault: Vault) -> None:
    fill(vault, 5)
    (vault.root / "n000.md").unlink()
    vault.write("z.md", "new")
    assert names(vault.pull()) == ["Observed", "Sighted", "Unsighted"]


def test_stopping_after_any_batch_and_reading_again_loses_and_doubles_nothing(vault: Vault) -> None:
    for number in range(450):
        vault.write(f"n{number:03}.md", f"note {number}")
    stream = next(iter(vault.connector().discover()))
    for _ in range(4):
        for batch in vault.connector().read(stream, dict(vault.cursor)):
            vault.apply(batch)  # asserts that no place is taken twice
            break
    vault.pull()
    assert len(set(vault.held.values())) == len(vault.held) == 450
    for number in range(0, 450, 2):
        vault.move(f"n{number:03}.md", f"m{number:03}.md")
    for number in range(1, 60, 2):
        (vault.root / f"n{number:03}.md").unlink()
    ids = dict(vault.held)
    for _ in range(6):
        for batch in vault.connector().read(stream, dict(vault.cursor)):
            vault.apply(batch)
            break
    vault.pull()
    assert {path: vault.held[path] for path in vault.held if path[0] == "m"} == {
        path.replace("n", "m", 1): item for path, item in ids.items() if int(path[1:4]) % 2 == 0
    }
    assert len(vault.held) == 420


def test_an_observed_version_names_its_place_and_the_digest_of_its_bytes(vault: Vault) -> None:
    vault.write("d/a.md", "words")
    observed = next(change for change in vault.pull() if isinstance(change, Observed))
    assert observed.place == "d/a.md"
    assert observed.item.raw_digest == "dba36bffa5cab0f922d087a3aeb179f9d4e745df40b323e1b1471402848c8a3e"
