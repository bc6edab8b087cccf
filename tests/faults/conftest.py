"""A synced home to damage, and the command as a process to run on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, str(Path(__file__).with_name("command.py")))
NOTES = 12


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def tells(self) -> bool:
        """Whether it failed as a command should: a sentence, what to do, and nothing of the inside."""
        told = self.err.startswith("error: ") and "\ntry: " in self.err
        return self.code == 1 and told and "unexpected" not in self.err and "Traceback" not in self.err


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "CTXSYNC_TEST_VECTORS": "1", "GIT_CONFIG_GLOBAL": os.devnull, **more}


def start(home: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the command on a home."""
    return subprocess.Popen(
        [*COMMAND, "--home", str(home), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def ctxsync(home: Path | str, *arguments: str, **more: str) -> Ran:
    """Run the command on a home to its end."""
    done = subprocess.run(
        [*COMMAND, "--home", str(home), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=environment(**more),
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def state_hash(home: Path) -> str:
    """What the graph of a home says now, as `status` digests it."""
    return str(json.loads(ctxsync(home, "status", "--json").out)["state_hash"])


def write_vault(vault: Path, count: int = NOTES) -> None:
    vault.mkdir()
    for number in range(count):
        path = vault / f"note {number}.md"
        path.write_text(
            f"## Then\n\nAda Brook works at Northwind since 20{10 + number}.\n\n## Now\n\nword{number}\n",
            encoding="utf-8",
        )
        os.utime(path, (1_700_000_000 + number,) * 2)


def new_home(home: Path, vault: Path) -> Path:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.toml").write_text(
        f'[[sources]]\nname = "vault"\ntype = "notes"\npath = {json.dumps(str(vault))}\n', encoding="utf-8"
    )
    (home / "config.toml").chmod(0o600)
    return home


@dataclass(frozen=True)
class Whole:
    """A vault, the home that was synced from it, and what its graph says."""

    vault: Path
    home: Path
    state_hash: str


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("faults")
    write_vault(folder / "vault")
    home = new_home(folder / "home", folder / "vault")
    assert ctxsync(home, "sync").code == 0
    return Whole(folder / "vault", home, state_hash(home))


@pytest.fixture
def home(whole: Whole, tmp_path: Path) -> Path:
    """A copy of the synced home, to damage."""
    return Path(shutil.copytree(whole.home, tmp_path / "home"))


@pytest.fixture
def own(tmp_path: Path) -> Any:
    """A home and a vault of the test's own, not yet synced."""
    write_vault(tmp_path / "vault")
    return new_home(tmp_path / "home", tmp_path / "vault"), tmp_path / "vault"
