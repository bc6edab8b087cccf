"""What commits say: encodings, identities, times, trailers, paths."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Sighted, Unsighted
from ctxsync.connectors.git.commit import trailers
from ctxsync.connectors.git.mailmap import entries

if TYPE_CHECKING:
    from tests.connectors.git.conftest import Reader, Repo

EMPTY_TREE = b"4b825dc642cb6eb9a060e54bf8d69288fbee4904"
KAI = b"Kai Brook <kai@example.com> 1700000000 +0000"


def raw_commit(
    repo: Repo, message: bytes = b"Raw\n", author: bytes = KAI, committer: bytes = KAI, more: bytes = b""
) -> str:
    repo.git("hash-object", "-t", "tree", "-w", "--stdin")
    sha = repo.object(b"tree " + EMPTY_TREE + b"\nauthor " + author + b"\ncommitter " + committer + more, message)
    repo.git("update-ref", f"refs/heads/raw-{sha[:8]}", sha)
    return sha


def test_a_declared_encoding_is_decoded(repo: Repo, reader: Reader) -> None:
    sha = raw_commit(
        repo, "Größe geändert\n".encode("latin-1"), "Jörg <j@example.com> 1700000000 +0000".encode("latin-1"),
        more=b"\nencoding ISO-8859-1",
    )  # fmt: skip
    reader.read()
    item = reader.item(sha)
    assert (item.title, item.flags) == ("Größe geändert", ())
    assert item.sections[0].author is not None
    assert item.sections[0].author.name == "Jörg"


def test_a_declared_encoding_that_git_does_not_know_is_decoded_all_the_same(repo: Repo, reader: Reader) -> None:
    sha = raw_commit(repo, "Größe geändert\n".encode("mac_latin2"), more=b"\nencoding mac_latin2")
    reader.read()
    assert (reader.item(sha).title, reader.item(sha).flags) == ("Größe geändert", ())


def test_undeclared_bytes_are_replaced_flagged_and_their_digest_kept(repo: Repo, reader: Reader) -> None:
    sha = raw_commit(repo, b"Caf\xe9 opened\n")
    reader.read()
    item = reader.item(sha)
    assert (item.title, item.flags) == ("Caf\N{REPLACEMENT CHARACTER} opened", ("decoded-lossy",))
    assert item.raw_digest == hashlib.sha256(repo.raw("cat-file", "commit", sha)).hexdigest()


@pytest.mark.parametrize("declared", [b"no-such-charset", b"hex", b"\xff", b"utf-8"])
def test_a_false_or_unknown_declared_encoding_is_tolerated(repo: Repo, reader: Reader, declared: bytes) -> None:
    sha = raw_commit(repo, b"Caf\xe9 opened\n", more=b"\nencoding " + declared)
    reader.read()
    assert reader.item(sha).title == "Caf\N{REPLACEMENT CHARACTER} opened"
    assert "decoded-lossy" in reader.item(sha).flags


def test_a_message_comes_whole_with_lf_line_ends(repo: Repo, reader: Reader) -> None:
    message = b"\n\nSubject\r\n\r\n  indented\r\n\tand \x1b[31mred\x1b[0m \xe2\x80\xae\n\nKey: value\n\n\n"
    sha = raw_commit(repo, message)
    reader.read()
    item = reader.item(sha)
    assert item.sections[0].text == message.decode().replace("\r\n", "\n")
    assert item.title == "Subject"


def test_no_message_can_be_taken_for_the_next_commit(repo: Repo, reader: Reader) -> None:
    evil = b"commit 1111\n\nM\nA\nfile\n:100644 000000 0123456 0000000 D\n\x01\x1e\x1f--\n%x00%H" + b"0" * 40
    sha = raw_commit(repo, evil)
    after = repo.commit("After")
    reader.read()
    assert reader.item(sha).sections[0].text == evil.decode()
    assert reader.commits() == {sha, after}


def test_a_very_long_message_is_whole(repo: Repo, reader: Reader) -> None:
    message = b"Long\n\n" + b"word \n" * 300_000
    sha = raw_commit(repo, message)
    reader.read()
    assert len(reader.item(sha).sections[0].text) == len(message)


def test_an_empty_message_is_named_by_the_commit(repo: Repo, reader: Reader) -> None:
    sha = repo.commit("")
    reader.read()
    item = reader.item(sha)
    assert (item.title, item.sections[0].text, item.flags) == (f"commit {sha[:12]}", "", ("message-empty",))


@pytest.mark.parametrize(
    ("seconds", "occurred_at", "flags"),
    [
        (b"0", 0, ()),
        (b"-86400", 0, ("time-clamped",)),
        (b"1749999999", 1_749_999_999_000, ()),
        (b"1893456000", 1_750_000_000_000, ("time-clamped",)),
        (b"99999999999999", 1_750_000_000_000, ("time-clamped",)),
        (b"18446744073709551615", 1_750_000_000_000, ("time-clamped",)),
        (b"999999999999999999999999999999999", 1_750_000_000_000, ("time-clamped",)),
    ],
)
def test_absurd_times_are_clamped_and_flagged(
    repo: Repo, reader: Reader, seconds: bytes, occurred_at: int, flags: tuple[str, ...]
) -> None:
    sha = raw_commit(repo, author=b"Kai Brook <kai@example.com> " + seconds + b" +0000")
    reader.read()
    item = reader.item(sha)
    assert (item.sections[0].occurred_at, item.flags) == (occurred_at, flags)
    assert item.sections[0].author is not None
    assert item.sections[0].author.keys == ("email:kai@example.com",)


def test_absurd_committer_times_stay_within_what_a_date_can_say(repo: Repo, reader: Reader) -> None:
    sha = raw_commit(repo, committer=b"Kai Brook <kai@example.com> 99999999999999999 +0000")
    reader.read()
    assert reader.says(sha)["committed_at"] == 253_402_300_799_000


@pytest.mark.parametrize(
    ("author", "name", "keys", "flags"),
    [
        (b"Kai <> 1700000000 +0000", "Kai", (), ()),
        (b" <kai@example.com> 1700000000 +0000", "", ("email:kai@example.com",), ()),
        (b"<> 1700000000 +0000", "", (), ()),
        (b"Kai <kai> 1700000000 +0000", "Kai", (), ()),
        (b"Kai <kai@example.com>> 1700000000 +0000", "Kai", ("email:kai@example.com",), ()),
        (b"Kai Brook kai@example.com 1700000000 +0000", "Kai Brook kai@example.com 1700000000 +0000",
         ("email:kai@example.com",), ("ident-malformed", "time-clamped")),
        (b"Kai <kai@example.com>", "Kai", ("email:kai@example.com",), ("ident-malformed", "time-clamped")),
        (b"nobody at all", "nobody at all", (), ("ident-malformed", "time-clamped")),
    ],
)  # fmt: skip
def test_odd_identities_are_kept_as_they_are(
    repo: Repo, reader: Reader, author: bytes, name: str, keys: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    sha = raw_commit(repo, author=author)
    reader.read()
    item = reader.item(sha)
    assert item.sections[0].author is not None
    assert (item.sections[0].author.name, item.sections[0].author.keys, item.flags) == (name, keys, flags)
    if "ident-malformed" in flags:
        assert reader.says(sha)["raw_author"] == author.decode()
        assert item.raw_digest


@pytest.mark.parametrize(
    ("name", "email", "bot"),
    [
        ("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.example.com", True),
        ("CI", "noreply@example.com", True),
        ("Robin Vale", "1234+robin@users.noreply.example.com", False),
        ("Robin Vale", "robin@example.com", False),
    ],
)
def test_bots_are_marked_and_people_behind_private_addresses_are_not(
    repo: Repo, reader: Reader, name: str, email: str, bot: bool
) -> None:
    sha = repo.commit(GIT_AUTHOR_NAME=name, GIT_AUTHOR_EMAIL=email)
    reader.read()
    assert reader.says(sha).get("bot", False) is bot
    assert reader.item(sha).sections[0].author is not None
    assert reader.item(sha).sections[0].author.name == name  # type: ignore[union-attr]  # known to be there in this test


def test_every_path_is_listed_whatever_its_bytes(repo: Repo, reader: Reader) -> None:
    blob = repo.object(b"x", kind="blob").encode()
    names = [
        b"caf\xe9.txt",
        b"caf\xe8.txt",
        b'quo"ted\\.txt',
        "ünï/日本.txt".encode(),
        b" lead",
        b"tab\tnl\nend\n",
        b"R100",
    ]
    repo.raw("update-index", "-z", "--index-info", stdin=b"".join(b"100644 %s\t%s\0" % (blob, n) for n in names))
    repo.git("commit", "-q", "-m", "Odd names")
    reader.read()
    files: Any = reader.says(repo.head())["files"]
    assert sorted(file["path"] for file in files) == sorted(
        ["caf\\xe9.txt", "caf\\xe8.txt", 'quo"ted\\.txt', "ünï/日本.txt", " lead", "tab\tnl\nend\n", "R100"]
    )
    assert reader.item(repo.head()).flags == ("path-not-utf8",)
    json.dumps(files).encode("utf-8", "strict")


def test_more_files_than_anyone_reads_are_counted_and_capped(repo: Repo, reader: Reader) -> None:
    blob = repo.object(b"x", kind="blob")
    lines = "".join(f"100644 {blob}\tvendor/{n}.txt\n" for n in range(10_050))
    repo.git("update-index", "--index-info", stdin=lines.encode())
    repo.git("commit", "-q", "-m", "Vendor it")
    reader.read()
    says = reader.says(repo.head())
    assert (len(says["files"]), says["file_count"]) == (10_000, 10_050)  # type: ignore[arg-type]  # JSON or keyword values whose types the test chose
    assert reader.item(repo.head()).flags == ("files-capped",)


def test_trailers_and_references_are_parsed_from_the_message(repo: Repo, reader: Reader) -> None:
    sha = repo.commit(
        "Cache the parser (#41)\n\nFixes #12, #13 and other/repo#9. See #40.\nCloses: #14\n"
        "This reverts commit 0123456789abcdef0123456789abcdef01234567.\n\n"
        "Co-authored-by: Sam Reed <Sam@Example.com>\nco-authored-by: Ana <>\n"
    )
    reader.read()
    says = reader.says(sha)
    assert says["fixes"] == ["#12", "#13", "other/repo#9", "#14"]
    assert says["refs"] == ["#41", "#40"]
    assert says["reverts"] == ["0123456789abcdef0123456789abcdef01234567"]
    assert says["co_authors"] == [
        {"name": "Sam Reed", "keys": ["email:sam@example.com"]},
        {"name": "Ana", "keys": []},
    ]


@pytest.mark.parametrize(
    "message",
    [
        "colour #fff and a&#12;",
        "prefix #12x and x#1",
        "https://example.com/page#12",
        "unfixes#3",
        "fix# 3",
        "PR#12-alpha#",
    ],
)
def test_what_only_looks_like_an_issue_is_none(message: str) -> None:
    assert trailers(message)["fixes"] == []
    assert trailers(message)["refs"] in ([], ["#12"] if message.startswith("PR #") else [])


@pytest.mark.timeout(20)
def test_hostile_messages_take_no_time() -> None:
    for message in (
        "fixes " + "#1 and " * 50_000,
        "a/" * 100_000 + "#1",
        "co-authored-by: " + "x" * 300_000,
        "#1," * 99_999,
    ):
        trailers(message)


def test_the_mailmap_is_observed_and_names_in_commits_stay_raw(repo: Repo, reader: Reader) -> None:
    repo.write(".mailmap", "Robin Q. Vale <robin@example.org> <robin@example.com>\n")
    sha = repo.commit("Map", "")
    changes = reader.read()
    assert Sighted("mailmap:code", ".") in changes
    item = reader.items["mailmap:code"]
    assert (item.kind, item.title, item.sections) == ("mailmap", ".mailmap", ())
    assert item.attributes == {
        "entries": [
            {"name": "Robin Q. Vale", "email": "robin@example.org", "old_name": "", "old_email": "robin@example.com"}
        ]
    }
    assert reader.item(sha).sections[0].author is not None
    assert reader.item(sha).sections[0].author.name == "Robin Vale"  # type: ignore[union-attr]  # known to be there in this test
    repo.git("rm", "-q", ".mailmap")
    repo.commit("Unmap")
    assert Unsighted("mailmap:code", ".") in reader.read()


def test_mailmap_lines_of_every_form_are_entries_and_addresses_ignore_case() -> None:
    text = (
        "# a comment\n\nRobin Vale <R@Example.com>\n<robin@example.com> <Old@Example.com>\n"
        "  Sam  Reed  <sam@example.com>  <s@old.example.com> # said so\n"
        "Ana Lima <ana@example.com> anna <A@old.example.com>\nnonsense\n<>\n\x00<<>>\n"
    )
    assert [tuple(entry.values()) for entry in entries(text)] == [  # type: ignore[union-attr]  # known to be there in this test
        ("Robin Vale", "r@example.com", "", "r@example.com"),
        ("", "robin@example.com", "", "old@example.com"),
        ("Sam Reed", "sam@example.com", "", "s@old.example.com"),
        ("Ana Lima", "ana@example.com", "anna", "a@old.example.com"),
    ]
