"""A sync that is killed at any moment and run again ends as one that was never disturbed."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.whole.killing import POINTS, die_and_resume, logical, run
from tests.whole.pipeline import MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator

RANDOM_MOMENTS = 50


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder with a vault and a repository; homes are made beside them."""
    place = Path(tempfile.mkdtemp(prefix="killed-", dir=MEMORY))
    vault = place / "vault"
    vault.mkdir()
    dice = random.Random(7)
    for number in range(60):
        sections = []
        for part in range(dice.randint(1, 4)):
            head = dice.choice(("Ada Brook", "Ben Carver", "Cleo Dunn"))
            verb = dice.choice(("works at", "left", "attended", "knows"))
            tail = dice.choice(("Northwind", "Southgate", "Westbury"))
            year = dice.randint(2019, 2025)
            word = "in" if verb in {"left", "attended"} else "since"
            sections.append(f"## Part {part}\n\n{head} {verb} {tail} {word} {year}.\n")
        path = vault / f"note {number}.md"
        path.write_text("\n".join(sections), encoding="utf-8")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    repository = place / "repository"
    git = ["git", "-c", "user.name=Ada Brook", "-c", "user.email=ada@example.com", "-C", str(repository)]
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(repository)], check=True)
    for number in range(12):
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", f"Change {number}"], check=True)
    yield place
    shutil.rmtree(place)


def home_in(place: Path, name: str) -> Path:
    home = place / name
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        f'[[sources]]\nname = "vault"\ntype = "notes"\npath = "{place / "vault"}"\n\n'
        f'[[sources]]\nname = "code"\ntype = "git"\npath = "{place / "repository"}"\n',
        encoding="utf-8",
    )
    (home / "config.toml").chmod(0o600)
    return home


@pytest.fixture(scope="module")
def undisturbed(place: Path) -> tuple[dict[str, object], dict[str, int]]:
    """What a sync leaves that nothing disturbs, and how often it passes each moment."""
    home = home_in(place, "undisturbed")
    run(("count", str(place / "passed.json")), home)
    return logical(home), json.loads((place / "passed.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("point", POINTS)
def test_a_sync_killed_at_a_commit_point_and_run_again_ends_as_if_undisturbed(
    place: Path, undisturbed: tuple[dict[str, object], dict[str, int]], point: str
) -> None:
    expected, passed = undisturbed
    for count in sorted({1, passed[point]}):
        home = home_in(place, f"{point}-{count}")
        die_and_resume(home, ("point", point, str(count)))
        assert logical(home) == expected
        shutil.rmtree(home)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(RANDOM_MOMENTS))
def test_a_sync_killed_at_a_random_moment_of_writing_loses_and_doubles_nothing(
    place: Path, undisturbed: tuple[dict[str, object], dict[str, int]], moment: int
) -> None:
    expected, passed = undisturbed
    number = random.Random(11 + moment).randint(1, passed["statement"])
    home = home_in(place, f"statement-{moment}")
    die_and_resume(home, ("statement", str(number)))
    assert logical(home) == expected, f"killed before statement {number}"
    shutil.rmtree(home)


def test_a_second_sync_after_a_kill_changes_nothing_more(
    place: Path, undisturbed: tuple[dict[str, object], dict[str, int]]
) -> None:
    expected, _ = undisturbed
    home = home_in(place, "again")
    die_and_resume(home, ("point", "project", "1"))
    run(("count", os.devnull), home)
    assert logical(home) == expected
