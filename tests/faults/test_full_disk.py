"""A disk that fills at any point of a sync: told as such, and with space the next sync ends as an undisturbed one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.conftest import Whole, ctxsync, new_home, state_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Give a function that mounts a disk of some size, or makes it larger."""
    place = tmp_path / "disk"
    place.mkdir()

    def sized(size: str) -> Path:
        new = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        again = ["mount", "-o", f"remount,size={size}", str(place)]
        done = subprocess.run(again if place.is_mount() else new, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"needs root and tmpfs: {done.stderr.strip()}")
        return place

    yield sized
    if place.is_mount():
        subprocess.run(["umount", str(place)], check=True)


# Where it fills: making the log, the first append, the graph's creation, later steps.
@pytest.mark.parametrize("size", ["40k", "120k", "160k", "450k", "900k", "1300k"])
def test_a_sync_on_a_disk_that_fills_is_completed_when_there_is_space(
    disk: Callable[[str], Path], whole: Whole, size: str
) -> None:
    home = new_home(disk(size) / "home", whole.vault)
    ran = ctxsync(home, "sync")
    assert ran.tells
    assert "space" in ran.err
    disk("64m")
    assert ctxsync(home, "sync").code == 0
    assert state_hash(home) == whole.state_hash
    assert ctxsync(home, "verify", "--deep").code == 0
    assert not [path for path in home.iterdir() if ".new" in path.name or "rebuild" in path.name]


def test_a_home_on_read_only_media_answers_and_says_why_it_does_not_sync(
    disk: Callable[[str], Path], whole: Whole
) -> None:
    place = disk("64m")
    home = Path(shutil.copytree(whole.home, place / "home"))
    disk("64m,ro")
    assert "Northwind" in ctxsync(home, "facts").out
    ran = ctxsync(home, "sync")
    assert ran.tells
    assert "Read-only" in ran.err
    doctor = ctxsync(home, "doctor")
    assert doctor.code == 1
    assert "cannot be written" in doctor.out
