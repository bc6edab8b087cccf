"""What of a history arrives, and what happens when it is rewritten."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ctxsync.connectors.base import Observed, Replaced, Sighted, Stream, Unsighted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.connectors.git.conftest import Reader, Repo


def commits_of(repo: Repo, count: int, branch: str = "main") -> list[str]:
    """Make many commits quickly."""
    lines = [f"reset refs/heads/{branch}\n" + (f"from {repo.head()}\n" if repo.all() else "")]
    for number in range(count):
        message = f"{branch} change {number}\n"
        lines.append(
            f"commit refs/heads/{branch}\nauthor Robin Vale <robin@example.com> {repo.clock + number} +0000\n"
            f"committer Robin Vale <robin@example.com> {repo.clock + number} +0000\ndata {len(message)}\n{message}"
            f"M 100644 inline {branch}/{number % 50}.txt\ndata {len(str(number))}\n{number}\n"
        )
    repo.git("fast-import", "--quiet", "--force", stdin="".join(lines).encode())
    repo.git("reset", "-q", "--hard")
    repo.clock += count
    return repo.git("rev-list", "--reverse", branch, "--").split()[-count:]


def test_a_commit_tells_where_its_author_s_clock_stood_whatever_git_is_told_to_show(repo: Repo, reader: Reader) -> None:
    repo.git("config", "log.date", "relative")
    zones = {"-0800": -480, "+0545": 345, "+0000": None, "-0000": None, "+9999": None, "+051800": None}
    made = {}
    for zone, minutes in zones.items():
        made[
            repo.object(
                f"tree {repo.git('write-tree')}\nauthor Robin Vale <robin@example.com> 1700000000 {zone}\n"
                "committer Kai Brook <kai@example.com> 1700000000 +0200".encode()
            )
        ] = minutes
    for number, sha in enumerate(made):
        repo.git("update-ref", f"refs/heads/b{number}", sha)
    reader.read()
    assert {sha: reader.says(sha).get("utc_offset") for sha in made} == made
    assert {reader.item(sha).sections[0].occurred_at for sha in made} == {1_700_000_000_000}


def test_a_commit_becomes_an_item_with_its_author_time_files_and_parents(repo: Repo, reader: Reader) -> None:
    first = repo.commit("Add the parser\n\nIt reads lines.\n", "src/parser.py")
    second = repo.commit("Say more", "README.md")
    changes = reader.read()
    assert [type(change) for change in changes] == [Observed, Sighted, Observed, Sighted]
    assert list(reader.items) == [f"commit:{first}", f"commit:{second}"]
    item = reader.item(first)
    (section,) = item.sections
    assert (item.kind, item.title, item.flags) == ("commit", "Add the parser", ())
    assert (section.key, section.text) == ("message", "Add the parser\n\nIt reads lines.\n")
    assert section.occurred_at == 1_700_000_060_000
    assert section.author is not None
    assert (section.author.name, section.author.keys) == ("Robin Vale", ("email:robin@example.com",))
    assert section.attributes == {
        "repository": "project",
        "sha": first,
        "committer": {"name": "Kai Brook", "keys": ["email:kai@example.com"]},
        "committed_at": 1_700_000_060_000,
        "parents": [],
        "merge": False,
        "files": [{"path": "src/parser.py", "status": "A"}],
        "file_count": 1,
        "co_authors": [],
        "fixes": [],
        "refs": [],
        "reverts": [],
        "utc_offset": 60,
    }
    assert reader.says(second)["parents"] == [first]


def test_a_second_read_of_the_same_history_says_nothing(repo: Repo, reader: Reader) -> None:
    repo.commit()
    reader.read()
    before = dict(reader.cursor["."])
    (batch,) = reader.connector().read(Stream("code"), reader.cursor["."])
    assert (batch.changes, dict(batch.cursor), batch.seen, batch.unchanged) == ((), {}, 1, 1)
    assert reader.cursor["."] == before


def test_only_new_commits_are_read_later(repo: Repo, reader: Reader) -> None:
    repo.commit()
    reader.read()
    new = repo.commit("Another")
    assert [change.item.id for change in reader.read() if isinstance(change, Observed)] == [f"commit:{new}"]


def test_parents_come_before_their_children_even_when_clocks_ran_backwards(repo: Repo, reader: Reader) -> None:
    first = repo.commit("First")
    parent = repo.commit("Parent")
    repo.commit("Child with a later clock")
    repo.git("checkout", "-q", "-b", "side", parent)
    repo.clock -= 100_000
    child = repo.commit("Child with an earlier clock", "side.txt")
    reader.read()
    order = list(reader.items)
    assert order[:2] == [f"commit:{first}", f"commit:{parent}"]
    assert f"commit:{child}" in order[2:]


def test_commits_made_without_any_hook_are_found(repo: Repo, reader: Reader, make_repo: Callable[..., Repo]) -> None:
    repo.commit()
    other = make_repo("other")
    other.git("pull", "-q", repo.path, "main")
    reader.read()
    fetched = other.commit("Made elsewhere", "b.txt")
    patch = other.raw("format-patch", "--stdout", "-1")
    repo.git("fetch", "-q", other.path, "main:refs/remotes/other/main")
    reader.read()
    assert fetched in reader.commits()
    repo.git("merge", "-q", "--ff-only", "other/main")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.clock += 60
    repo.git("am", "-q", stdin=patch)
    repo.git("branch", "-f", "side", "HEAD")
    reader.read()
    assert reader.commits() == repo.all()


def test_an_octopus_merge_lists_its_parents_and_no_files(repo: Repo, reader: Reader) -> None:
    base = repo.commit()
    for name in ("a", "b", "c"):
        repo.git("checkout", "-q", "-b", name, base)
        repo.commit(f"On {name}", f"{name}.txt")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "All three", "a", "b", "c")
    reader.read()
    says = reader.says(repo.head())
    assert (len(says["parents"]), says["merge"], says["files"]) == (4, True, [])  # type: ignore[arg-type]  # JSON or keyword values whose types the test chose
    assert reader.commits() == repo.all()


def test_renames_deletions_and_copies_of_files_are_told_apart(repo: Repo, reader: Reader) -> None:
    repo.write("gone.txt")
    repo.commit("One", "old.txt", "text that moves\n" * 9)
    repo.git("mv", "old.txt", "Rest.txt")
    repo.git("rm", "-q", "gone.txt")
    sha = repo.commit("Two", "C.txt")
    reader.read()
    assert reader.says(sha)["files"] == [
        {"path": "C.txt", "status": "A"},
        {"path": "Rest.txt", "status": "R", "old_path": "old.txt"},
        {"path": "gone.txt", "status": "D"},
    ]


def test_include_and_exclude_globs_choose_among_the_files_of_a_commit(repo: Repo, make_reader: type[Reader]) -> None:
    (repo.path / ".ctxsyncignore").write_text("*.lock\n")
    for name in ("src/a.py", "src/b.lock", "docs/a.md", "src/private/c.py"):
        repo.write(name)
    sha = repo.commit("Many", "")
    reader = make_reader(repo.path, {"include": ["src/**"], "exclude": ["private/"]})
    reader.read()
    assert reader.says(sha)["files"] == [{"path": "src/a.py", "status": "A"}]
    assert reader.says(sha)["file_count"] == 1


def test_an_amended_commit_is_replaced_by_its_successor_and_nothing_doubles(repo: Repo, reader: Reader) -> None:
    repo.commit("Base")
    old = repo.commit("Tpyo")
    reader.read()
    repo.amend("Half way")
    new = repo.amend("Typo")
    changes = reader.read()
    assert changes[-2:] == [
        Replaced(f"commit:{old}", f"commit:{new}", "amend"),
        Unsighted(f"commit:{old}", ".", "unreachable"),
    ]
    assert reader.commits() == repo.all()


def test_an_amended_commit_is_recognised_without_a_reflog(repo: Repo, reader: Reader) -> None:
    repo.git("config", "core.logAllRefUpdates", "false")
    repo.commit("Base")
    old = repo.commit("Tpyo")
    reader.read()
    new = repo.amend("Typo")
    reader.read()
    assert reader.replaced[f"commit:{old}"] == Replaced(f"commit:{old}", f"commit:{new}", "amend")


def test_amending_the_author_is_linked_by_the_reflog(repo: Repo, reader: Reader) -> None:
    old = repo.commit("Mine")
    reader.read()
    repo.clock += 60
    repo.git("commit", "-q", "--amend", "--reset-author", "-m", "Yours", GIT_AUTHOR_NAME="Sam Reed")
    reader.read()
    assert reader.replaced[f"commit:{old}"].by == f"commit:{repo.head()}"


def test_rebased_commits_are_replaced_one_by_one(repo: Repo, reader: Reader) -> None:
    base = repo.commit("Base")
    repo.git("checkout", "-q", "-b", "topic")
    olds = [repo.commit(f"Topic {n}", f"t{n}.txt") for n in range(3)]
    repo.git("checkout", "-q", "main")
    repo.commit("Main moves on", "m.txt")
    reader.read()
    repo.git("rebase", "-q", "main", "topic", GIT_AUTHOR_DATE="", GIT_COMMITTER_DATE="1800000000 +0000")
    news = repo.git("rev-list", "--reverse", "main..topic").split()
    reader.read()
    assert [reader.replaced[f"commit:{old}"] for old in olds] == [
        Replaced(f"commit:{old}", f"commit:{new}", "rebase") for old, new in zip(olds, news, strict=True)
    ]
    assert base in reader.commits()
    assert reader.commits() == repo.all()


def test_rebased_commits_of_one_second_are_told_apart_by_their_subjects(repo: Repo, reader: Reader) -> None:
    repo.commit("Base")
    repo.git("checkout", "-q", "-b", "topic")
    same = "@1700000500 +0000"
    olds = [repo.commit(f"Topic {n}", f"t{n}.txt", GIT_AUTHOR_DATE=same) for n in range(3)]
    repo.git("checkout", "-q", "main")
    repo.commit("Main moves on", "m.txt")
    reader.read()
    repo.git("rebase", "-q", "main", "topic", GIT_AUTHOR_DATE="", GIT_COMMITTER_DATE="1800000000 +0000")
    news = repo.git("rev-list", "--reverse", "main..topic").split()
    reader.read()
    assert [reader.replaced[f"commit:{old}"].by for old in olds] == [f"commit:{new}" for new in news]


def test_a_commit_that_is_reset_away_is_unsighted_and_sighted_again_when_it_returns(repo: Repo, reader: Reader) -> None:
    repo.commit("Stays")
    gone = repo.commit("Goes")
    reader.read()
    repo.git("reset", "-q", "--hard", "HEAD~1")
    assert reader.read() == [Unsighted(f"commit:{gone}", ".", "unreachable")]
    repo.git("reset", "-q", "--hard", gone)
    assert Sighted(f"commit:{gone}", ".") in reader.read()
    assert reader.commits() == repo.all()


def test_a_deleted_branch_takes_only_its_own_commits_with_it(repo: Repo, reader: Reader) -> None:
    repo.commit("Base")
    repo.git("checkout", "-q", "-b", "topic")
    gone = repo.commit("Topic", "t.txt")
    repo.git("checkout", "-q", "main")
    repo.commit("Main", "m.txt")
    repo.git("branch", "merged", "main")
    reader.read()
    repo.git("branch", "-q", "-D", "topic", "merged")
    assert reader.read() == [Unsighted(f"commit:{gone}", ".", "unreachable")]
    assert reader.commits() == repo.all()


def test_a_tag_keeps_a_commit_whose_branch_is_gone(repo: Repo, reader: Reader) -> None:
    repo.commit("Base")
    repo.git("checkout", "-q", "-b", "topic")
    kept = repo.commit("Topic", "t.txt")
    repo.git("tag", "-a", "-m", "Keep", "inner", kept)
    repo.git("tag", "-a", "-m", "Tag of a tag", "outer", "inner")
    repo.git("tag", "-d", "inner")
    repo.git("tag", "tree", "HEAD^{tree}")
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-q", "-D", "topic")
    reader.read()
    assert reader.commits() == repo.all() >= {kept}
    assert reader.quarantined == {}


def test_stashes_and_notes_are_no_history(repo: Repo, reader: Reader) -> None:
    sha = repo.commit("Base")
    repo.git("notes", "add", "-m", "A note")
    repo.write("file.txt", "unfinished\n")
    repo.git("stash", "-q")
    reader.read()
    assert reader.commits() == {sha}


def test_a_forced_push_whose_old_commits_are_pruned_reads_only_what_is_new(
    repo: Repo, make_repo: Callable[..., Repo], make_reader: type[Reader]
) -> None:
    commits_of(repo, 60)
    old = commits_of(repo, 5)
    bare = make_repo("mirror", "--bare")
    repo.git("push", "-q", bare.path, "main")
    reader = make_reader(bare.path)
    reader.read()
    repo.git("reset", "-q", "--hard", "main~5")
    new = commits_of(repo, 4)
    repo.git("push", "-q", "-f", bare.path, "main")
    bare.git("reflog", "expire", "--expire=now", "--all")
    bare.git("gc", "-q", "--prune=now")
    assert bare.git("cat-file", "-t", old[-1], check=False) == ""
    changes = reader.read()
    assert [change.item.id[7:] for change in changes if isinstance(change, Observed)] == new
    assert {change.item[7:] for change in changes if isinstance(change, Unsighted)} == set(old)
    assert reader.commits() == bare.all()


def test_too_much_vanishing_pauses_and_a_person_can_let_it_through(repo: Repo, reader: Reader) -> None:
    kept = commits_of(repo, 60)
    gone = commits_of(repo, 30)
    reader.read()
    repo.git("reset", "-q", "--hard", kept[-1])
    new = repo.commit("Goes on")
    error = reader.suspicious()
    assert (error.vanished, error.known, error.exit_code) == (30, 90, 3)
    assert "--allow-deletes code" in error.remedy
    assert new in reader.commits()
    assert set(gone) <= reader.commits()
    assert reader.suspicious().vanished == 30
    reader.read(allow_deletes=True)
    assert reader.commits() == repo.all()


def test_a_repository_that_is_suddenly_empty_pauses(repo: Repo, reader: Reader) -> None:
    repo.commit()
    repo.commit()
    reader.read()
    repo.git("update-ref", "-d", "refs/heads/main")
    assert reader.suspicious().vanished == 2
    assert len(reader.commits()) == 2


def test_a_rewrite_of_everything_is_no_deletion(repo: Repo, reader: Reader) -> None:
    olds = commits_of(repo, 40)
    reader.read()
    repo.git(
        "filter-branch", "-f", "--msg-filter", "sed s/change/CHANGE/", "--", "main",
        FILTER_BRANCH_SQUELCH_WARNING="1",
    )  # fmt: skip
    repo.git("update-ref", "-d", "refs/original/refs/heads/main")
    reader.read()
    assert reader.commits() == repo.all()
    assert len(reader.replaced) == len(olds)


def test_an_interrupted_first_pass_goes_on_where_it_was(repo: Repo, reader: Reader) -> None:
    order = commits_of(repo, 1700)
    repo.git("checkout", "-q", "-b", "side", order[900])
    repo.commit("Side")
    reader.read(batches=2)
    assert len(reader.commits()) == 1000
    rest = [change for change in reader.read() if isinstance(change, Observed)]
    assert len(rest) == 701
    assert reader.commits() == repo.all()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_sixty_thousand_commits_stream_in_flat_memory_and_an_interrupt_resumes(repo: Repo) -> None:
    commits_of(repo, 60_000)
    script = """
import re, sys
from pathlib import Path
from ctxsync.connectors.base import Options, Sighted, Stream
from ctxsync.connectors.git import GitConnector

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

def connector():
    return GitConnector("code", {"path": sys.argv[1]}, Options())

(stream,) = connector().discover()
before, cursor, sighted = peak(), {}, set()
for stop in (60, None):
    for number, batch in enumerate(connector().read(stream, cursor or None), 1):
        new = {hash(change.item) for change in batch.changes if isinstance(change, Sighted)}
        assert len(new) <= 500 and not sighted & new
        sighted |= new
        cursor = {key: value for key, value in {**cursor, **batch.cursor}.items() if value is not None}
        if number == stop:
            break
print(len(sighted), peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", script, str(repo.path)], capture_output=True, text=True, check=True)
    count, grown = map(int, done.stdout.split())
    assert count == 60_000
    assert grown < 40  # MB; git's whole output is 25, and its records are many times that


def test_killing_the_first_pass_anywhere_loses_and_doubles_nothing(repo: Repo, make_reader: type[Reader]) -> None:
    commits_of(repo, 1200)
    repo.write(".mailmap", "Robin Vale <robin@example.com> <r@example.com>\n")
    repo.commit("Mailmap", "")
    whole = make_reader(repo.path)
    whole.read()
    for batches in range(1, 5):
        cut = make_reader(repo.path)
        cut.read(batches=batches)
        cut.read()
        assert cut.sighted == whole.sighted
        assert cut.written == whole.written
        assert cut.cursor["."]["state"] == whole.cursor["."]["state"]
        assert cut.cursor["."]["count"] == 1201


def test_the_cursor_stays_small_with_thousands_of_refs(repo: Repo, reader: Reader) -> None:
    order = commits_of(repo, 2000)
    lines = "".join(f"create refs/tags/v{n} {sha}\n" for n, sha in enumerate(order))
    repo.git("update-ref", "--stdin", stdin=lines.encode())
    reader.read()
    assert [key for key in reader.cursor["."] if key.startswith("tip:")] == [f"tip:{order[-1]}"]
    assert len(reader.cursor["."]) < 10
    repo.git("tag", "one-more")
    assert reader.read() == []


def test_a_commit_at_a_time_for_years_does_not_grow_the_cursor_a_key_a_commit(repo: Repo, reader: Reader) -> None:
    for sha in commits_of(repo, 120):
        repo.git("update-ref", "refs/heads/main", sha)
        reader.read()
    assert len(reader.cursor["."]) < 50
    assert reader.cursor["."]["count"] == 120
    repo.git("checkout", "-q", "--detach", "main~1")
    repo.git("branch", "-q", "-D", "main")
    reader.read()
    assert reader.cursor["."]["count"] == 119


def test_wrong_clocks_never_unsight_what_is_still_reachable(repo: Repo, reader: Reader) -> None:
    commits_of(repo, 30)
    branch = repo.head()
    repo.clock = 100
    for _ in range(12):
        repo.commit("From the seventies", "seventies.txt")
    repo.clock = 1_900_000_000
    for number in range(12):
        repo.commit(f"Tomorrow {number}", "tomorrow.txt")
    repo.git("checkout", "-q", "-b", "side", branch)
    repo.clock = 1_600_000_000
    gone = repo.commit("On the side", "side.txt")
    reader.read()
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-q", "-D", "side")
    reader.read()
    assert reader.commits() == repo.all()
    assert gone not in reader.commits()


@pytest.mark.parametrize("kind", ["detached", "branch"])
def test_heads_of_linked_worktrees_count(repo: Repo, reader: Reader, tmp_path: Path, kind: str) -> None:
    repo.commit("Base")
    place = tmp_path / "linked"
    repo.git("worktree", "add", "-q", *(["--detach"] if kind == "detached" else ["-b", "topic"]), place)
    linked = type(repo)(place)
    sha = linked.commit("In the worktree", "w.txt")
    reader.read()
    assert sha in reader.commits()
    there = type(reader)(place)
    there.read()
    assert there.commits() == reader.commits()


def test_the_same_commit_in_two_clones_is_one_item(
    repo: Repo, make_repo: Callable[..., Repo], make_reader: type[Reader]
) -> None:
    sha = repo.commit()
    clone = make_repo("clone")
    clone.git("pull", "-q", repo.path, "main")
    one, two = make_reader(repo.path), make_reader(clone.path, name="again")
    one.read()
    two.read()
    assert one.item(sha).id == two.item(sha).id == f"commit:{sha}"
