"""What cannot be read: roots, folders, files, bytes. One bad item never stops the pass."""

from __future__ import annotations

import errno
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ctxsync.connectors.base import Options, Quarantined, Released, Stream, Unsighted
from ctxsync.connectors.notes import NotesConnector
from ctxsync.connectors.notes.disk import MAX_BYTES, Disk
from ctxsync.connectors.notes.note import parse
from ctxsync.errors import ConfigError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.connectors.base import Change
    from ctxsync.connectors.notes.disk import Contents
    from tests.connectors.notes.conftest import Seconds, Vault


def names(changes: Sequence[Change]) -> list[str]:
    return [type(change).__name__ for change in changes]


class Refusing(Disk):
    """A disk that refuses what ends in one of `refused`, and counts what is read."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.reads: list[str] = []

    def list(self, folder: str) -> list[os.DirEntry[str]]:
        self._check(folder)
        return super().list(folder)

    def read(self, path: str) -> Contents:
        self._check(path)
        self.reads.append(Path(path).name)
        return super().read(path)

    def _check(self, path: str) -> None:
        if self.refused and path.endswith(self.refused):
            raise PermissionError(errno.EACCES, "Permission denied", path)


@pytest.mark.parametrize("what", ["missing", "file", "refused"])
def test_an_unreadable_root_is_unavailable_and_deletes_nothing(vault: Vault, what: str) -> None:
    vault.write("a.md")
    vault.pull()
    if what == "refused":
        vault.disk = Refusing("/vault")
    else:
        shutil.rmtree(vault.root)
        if what == "file":
            vault.root.write_text("not a folder")
    with pytest.raises(Unavailable) as caught:
        vault.pull()
    assert str(vault.root) in str(caught.value)
    assert "ctxsync sync vault" in str(caught.value)
    assert vault.batches == []
    assert list(vault.held) == ["a.md"]


def test_a_source_without_a_path_or_with_a_senseless_glob_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="path"):
        NotesConnector("vault", {}, Options())
    with pytest.raises(ConfigError, match="list of globs"):
        NotesConnector("vault", {"path": "/x", "exclude": [1]}, Options())


def test_an_unreadable_folder_is_told_and_its_notes_stay(vault: Vault) -> None:
    vault.write("a.md")
    vault.write("sub/b.md")
    vault.write("sub/deep/c.md")
    vault.pull()
    vault.disk = Refusing("/sub")
    changes = vault.pull()
    assert changes == [Quarantined("sub/", "The folder cannot be listed: Permission denied.")]
    assert vault.pull() == []
    assert sorted(vault.held) == ["a.md", "sub/b.md", "sub/deep/c.md"]
    vault.disk = None
    assert vault.pull() == [Released("sub/")]


def test_an_unreadable_file_is_quarantined_and_the_others_are_read(vault: Vault) -> None:
    for name in "abc":
        vault.write(f"{name}.md", f"note {name}")
    vault.disk = Refusing("b.md")
    changes = vault.pull()
    assert [change for change in changes if isinstance(change, Quarantined)] == [
        Quarantined("b.md", "The file cannot be read: Permission denied.")
    ]
    assert sorted(vault.held) == ["a.md", "c.md"]
    assert vault.pull() == []
    vault.disk = None  # permissions change no stamp: it is tried every time
    assert names(vault.pull()) == ["Released", "Observed", "Sighted"]
    assert vault.bad == {}


def test_a_note_that_became_unreadable_keeps_its_last_good_version(vault: Vault) -> None:
    vault.write("a.md", "good words")
    vault.pull()
    before = vault.held["a.md"]
    vault.write("a.md", b"x" * (MAX_BYTES + 1))
    changes = vault.pull()
    assert names(changes) == ["Quarantined"]
    bad = vault.bad["a.md"]
    assert bad.item == before
    assert len(bad.raw_digest) == 64
    assert vault.held == {"a.md": before}
    assert vault.text("a.md") == "good words"
    vault.write("a.md", "good again")
    assert names(vault.pull()) == ["Released", "Observed"]
    assert vault.held == {"a.md": before}


def test_a_quarantined_file_is_read_again_only_when_its_bytes_change_or_when_asked(vault: Vault) -> None:
    vault.write("big.md", b"x" * (MAX_BYTES + 1))
    assert names(vault.pull()) == ["Quarantined"]
    disk = vault.disk = Refusing()
    assert vault.pull() == []
    assert disk.reads == []
    assert vault.pull(retry_quarantined=True) == []  # the same bytes fail the same way: nothing new to tell
    assert disk.reads == ["big.md"]
    (vault.root / "big.md").unlink()
    assert vault.pull() == [Released("big.md")]


def test_a_quarantined_note_that_is_deleted_is_released_and_gone(vault: Vault) -> None:
    vault.write("keep.md")
    vault.write("a.md", "good")
    vault.pull()
    before = vault.held["a.md"]
    vault.write("a.md", b"x" * (MAX_BYTES + 1))
    vault.pull()
    (vault.root / "a.md").unlink()
    assert vault.pull() == [Unsighted(before, "a.md"), Released("a.md")]


def test_a_link_that_leads_nowhere_is_told(vault: Vault) -> None:
    (vault.root / "a.md").symlink_to(vault.root / "missing")
    changes = vault.pull()
    assert names(changes) == ["Quarantined"]
    assert "leads nowhere" in vault.bad["a.md"].error
    (vault.root / "a.md").unlink()
    assert vault.pull() == [Released("a.md")]


def test_a_pipe_or_a_folder_named_like_a_note_is_no_note_and_blocks_nothing(vault: Vault) -> None:
    os.mkfifo(vault.root / "pipe.md")
    vault.write("folder.md/inner.md", "words")
    vault.pull()
    assert list(vault.held) == ["folder.md/inner.md"]


def test_a_file_name_that_is_not_utf8_is_a_note_all_the_same(vault: Vault) -> None:
    raw = os.fsencode(vault.root) + b"/caf\xe9.md"
    Path(os.fsdecode(raw)).write_bytes(b"words")
    os.utime(raw, ns=(10**18, 10**18))
    vault.pull()
    assert list(vault.held) == ["caf\\xe9.md"]
    assert vault.note("caf\\xe9.md").title == "caf\\xe9"
    assert vault.pull() == []


@pytest.mark.parametrize(
    ("data", "text", "flags"),
    [
        (b"\xef\xbb\xbf# T\r\nline\r\n", "# T\nline", ()),
        ("# T\nä".encode("utf-16"), "# T\nä", ()),
        ("# T\nenough ascii".encode("utf-16-le"), "# T\nenough ascii", ()),
        (b"a\rb\r\nc", "a\nb\nc", ()),
        (b"nul\0byte", "nul\ufffdbyte", ()),
        (
            "Grüße aus Köln, schöne Tage für alle Leute dort.".encode("latin-1"),
            "Grüße aus Köln, schöne Tage für alle Leute dort.",
            (),
        ),
        (b"\xff\xfea\xd8", "\ufffd", ("decoded-lossy",)),
    ],
    ids=["bom and crlf", "utf-16", "utf-16 without a mark", "lone cr", "nul", "latin-1", "damaged utf-16"],
)
def test_bytes_of_any_kind_are_read_as_text(vault: Vault, data: bytes, text: str, flags: tuple[str, ...]) -> None:
    vault.write("a.md", data)
    vault.pull()
    assert vault.text("a.md") == text or flags
    assert vault.note("a.md").flags == flags


def test_a_bom_hides_no_frontmatter(vault: Vault) -> None:
    vault.write("a.md", b"\xef\xbb\xbf---\r\ntitle: Named\r\n---\r\nwords\r\n")
    vault.pull()
    assert vault.note("a.md").title == "Named"
    assert vault.sections("a.md")[0].line == 4


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=400), st.sampled_from(["a.md", "a.txt", "a.org", "journals/2022_06_18.md"]))
@example(b"---\n" + b"- " * 300 + b"\n---\n", "a.md")
@example(b"---\na: &a [*a]\n---\n", "a.md")
@example(b'---\na: "\\ud800"\n---\n', "a.md")
def test_no_bytes_make_the_parser_fail(data: bytes, path: str) -> None:
    check(data, path)


PIECES = st.sampled_from(
    ["[[", "]]", "|", "#", "`", "``", "```\n", "~~~\n", "\n", "\n\n", "> ", "> [!note]\n", "- ", "- [ ] ", "\t", "    ", "%%", "<!--",
     "-->", "a", "é ", "x:: y\n", "---\n", "===\n", "# ", "## ", "$$", "{{", "}}", "](", "![", "http://a.b/", ")", "(", "\\", "#+BEGIN_SRC\n",
     "#+END_SRC\n", ":LOGBOOK:\n", ":END:\n", "TODO ", "title: ", "<script>\n", "* ", "^id", "\u2028", "\x0b", "\x85"]
)  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=60).map("".join), st.sampled_from(["a.md", "a.org", "a.txt"]))
def test_no_markdown_makes_the_parser_fail_or_lose_words(text: str, path: str) -> None:
    check(text.encode(), path)


def check(data: bytes, path: str) -> None:
    note = parse(data, path)
    assert note.sections
    assert len({section.key for section in note.sections}) == len(note.sections)
    for section in note.sections:
        assert section.text == section.text.rstrip()
        for start, end in (*section.code, *section.quoted):
            assert 0 <= start < end <= len(section.text)
        for link in section.links:
            assert 0 <= link.start < link.end <= len(section.text)
            assert link.target
        for ranges in (section.code, section.quoted):
            assert all(first[1] <= second[0] for first, second in pairwise(ranges))
        section.text.encode()
    if path != "a.md" and data.isascii() and b"\r" not in data and b"\0" not in data:
        words = "".join(section.text for section in note.sections).split()
        assert words == data.decode().split() or len(note.sections) > 1


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "[[" * 10_000, ">" * 20_000 + "x", "- " * 10_000 + "x", "![" * 10_000, "[a](" * 10_000, "%%" * 10_001, "<!--" * 10_000,
        "`" * 10_000 + " " + "``" * 5_000 + "`" * 777, "$a" * 10_000, "{{" * 10_000, "a:: " * 10_000, "# a\n" * 3_000, "$$ " * 9_999,
        "#+BEGIN_SRC\n" * 3_000 + "x" * 100_000, "<a " * 10_000, "((((" * 10_000, "#" * 50_000, ("> " * 60 + "x\n") * 200,
        "".join(" " * depth + "- a\n" for depth in range(400)), "http://" * 10_000, "*a " * 10_000, "---\n" * 5_000, "[a]: b\n" * 5_000,
    ],
    ids=lambda text: text[:12].replace("\n", " "),
)  # fmt: skip
def test_hostile_markdown_takes_no_more_than_its_share_of_time(text: str, benchmark_seconds: Seconds) -> None:
    assert benchmark_seconds(lambda: parse(text.encode(), "a.md")) < 5  # quadratic behaviour took minutes


def test_a_pass_goes_on_when_files_vanish_under_it(vault: Vault) -> None:
    class Vanishing(Disk):
        def read(self, path: str) -> Contents:
            if path.endswith("b.md"):
                Path(path).unlink()
            return super().read(path)

    for name in "abc":
        vault.write(f"{name}.md", f"note {name}")
    vault.disk = Vanishing()
    vault.pull()
    assert sorted(vault.held) == ["a.md", "c.md"]
    assert vault.bad == {}


def test_a_batch_needs_no_other_stream_name(vault: Vault) -> None:
    assert list(vault.connector().discover()) == [Stream("vault", ".")]
