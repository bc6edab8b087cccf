"""Random work in a repository: whatever people do, what is held is what git can reach."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from tests.connectors.git.conftest import Reader, Repo

DO = st.sampled_from(
    ["commit", "commit", "amend", "reset", "branch", "checkout", "delete", "merge", "rebase", "tag", "untag",
     "detach", "prune", "clock", "read", "read", "cut"]
)  # fmt: skip
STEP = st.tuples(DO, st.integers(0, 7))


def branches(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def work(repo: Repo, what: str, number: int) -> None:
    """Do one thing as a person might; what git refuses does nothing."""
    names = branches(repo)
    other = names[number % len(names)] if names else "main"
    match what:
        case "commit":
            repo.commit(f"Change {number}", f"f{number}.txt")
        case "amend":
            repo.clock += 60
            repo.git("commit", "-q", "--amend", "--allow-empty", "-m", f"Amended {number}", check=False)
        case "reset":
            repo.git("reset", "-q", "--hard", f"HEAD~{number % 3}", check=False)
        case "branch":
            repo.git("checkout", "-q", "-B", f"b{number}", f"HEAD~{number % 2}", check=False)
        case "checkout":
            repo.git("checkout", "-q", "-f", other, check=False)
        case "delete":
            repo.git("branch", "-q", "-D", other, check=False)
        case "merge":
            repo.git("merge", "-q", "--no-edit", "-X", "ours", other, check=False)
            repo.git("merge", "--abort", check=False)
        case "rebase":
            repo.git("rebase", "-q", "-X", "ours", other, check=False)
            repo.git("rebase", "--abort", check=False)
        case "tag":
            repo.git("tag", "-f", "-a", "-m", "Tag", f"t{number}", check=False)
        case "untag":
            repo.git("tag", "-d", f"t{number}", check=False)
        case "detach":
            repo.git("checkout", "-q", "-f", "--detach", f"HEAD~{number % 2}", check=False)
        case "prune":
            repo.git("reflog", "expire", "--expire=now", "--all", check=False)
            repo.git("prune", "--expire=now", check=False)
        case "clock":
            repo.clock += [-500_000, 500_000, 7, -7][number % 4]


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEP, min_size=4, max_size=30))
def test_what_is_held_is_what_git_reaches_after_any_work(
    steps: list[tuple[str, int]], repo: Repo, make_reader: type[Reader]
) -> None:
    with tempfile.TemporaryDirectory(dir=repo.path.parent) as folder:
        mine = type(repo)(Path(folder) / "repo")
        reader = make_reader(mine.path, batch=2)
        for what, number in steps:
            if what == "read":
                reader.read(allow_deletes=True)
                check(reader, mine)
            elif what == "cut":
                reader.read(batches=1 + number % 3, allow_deletes=True)
            else:
                work(mine, what, number)
        reader.read(allow_deletes=True)
        check(reader, mine)
        assert reader.read() == []


def check(reader: Reader, repo: Repo) -> None:
    reachable = repo.all()
    assert reader.commits() == reachable
    assert reader.cursor["."]["count"] == len(reachable)
    tips = {key[4:] for key in reader.cursor["."] if key.startswith("tip:")}
    parents = set(repo.git("log", "--format=%P", "--branches", "--tags", "HEAD", "--", check=False).split())
    assert tips == reachable - parents
    for link in reader.replaced.values():
        assert link.item != link.by
