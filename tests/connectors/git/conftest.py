"""Real repositories made by the real git, and a reader that folds what the connector yields as the log would."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import (
    Batch,
    Change,
    Item,
    Json,
    Observed,
    Options,
    Quarantined,
    Released,
    Replaced,
    Sighted,
    Stream,
    Unsighted,
    item_fingerprint,
)
from ctxsync.connectors.git import GitConnector
from ctxsync.errors import SuspiciousDeletion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

NOW = 1_750_000_000_000


class Repo:
    """A repository and the git that works on it, with a clock that moves a minute a commit."""

    def __init__(self, path: Path, *init: str) -> None:
        self.path = path
        self.clock = 1_700_000_000
        self.complaints = b""
        if not path.exists():
            path.mkdir(parents=True)
            self.git("init", "-q", "-b", "main", *init)

    def git(self, *arguments: str | Path, stdin: bytes = b"", check: bool = True, **env: Any) -> str:
        return self.raw(*arguments, stdin=stdin, check=check, **env).decode("utf-8", "replace").strip()

    def raw(self, *arguments: str | Path, stdin: bytes = b"", check: bool = True, **env: Any) -> bytes:
        date = f"@{self.clock} +0100"
        environment = {
            **os.environ,
            "GIT_AUTHOR_NAME": "Robin Vale",
            "GIT_AUTHOR_EMAIL": "Robin@Example.com",
            "GIT_COMMITTER_NAME": "Kai Brook",
            "GIT_COMMITTER_EMAIL": "kai@example.com",
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
            "GIT_EDITOR": "true",
            "GIT_SEQUENCE_EDITOR": "true",
            "GIT_CONFIG_NOSYSTEM": "1",
            **env,
        }
        done = subprocess.run(
            ["git", *map(str, arguments)], cwd=self.path, env=environment, input=stdin, capture_output=True, check=False
        )
        if check and done.returncode:
            raise AssertionError(done.stderr.decode("utf-8", "replace"))
        self.complaints = done.stderr
        return done.stdout

    def write(self, name: str, text: str = "") -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text or f"{name} at {self.clock}\n")
        self.git("add", "--", name)

    def commit(self, message: str = "A change", name: str = "file.txt", text: str = "", **env: Any) -> str:
        """Change a file and commit it; return the commit's id."""
        self.clock += 60
        if name:
            self.write(name, text)
        self.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-F", "-", stdin=message.encode(), **env)
        return self.head()

    def amend(self, message: str) -> str:
        self.clock += 60
        # Amending keeps the author's own time.
        self.git("commit", "-q", "--amend", "--allow-empty", "-m", message, GIT_AUTHOR_DATE="")
        return self.head()

    def head(self, name: str = "HEAD") -> str:
        return self.git("rev-parse", name)

    def object(self, headers: bytes, message: bytes = b"Raw\n", kind: str = "commit") -> str:
        """Write an object that porcelain would not, and return its id."""
        body = headers + b"\n\n" + message if kind == "commit" else headers
        return self.git("hash-object", "-t", kind, "-w", "--literally", "--stdin", stdin=body)

    def all(self) -> set[str]:
        return set(self.git("rev-list", "--branches", "--tags", "--remotes", "HEAD", "--", check=False).split())


@dataclass
class Reader:
    """Reads a repository again and again, and keeps what the log would."""

    path: Path
    settings: Mapping[str, Json] = field(default_factory=dict)
    name: str = "code"
    cursor: dict[str, dict[str, Json]] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    sighted: dict[str, set[str]] = field(default_factory=dict)
    replaced: dict[str, Replaced] = field(default_factory=dict)
    quarantined: dict[str, str] = field(default_factory=dict)
    written: int = 0
    batch: int = 500

    def connector(self, **options: Any) -> GitConnector:
        settings = {"path": str(self.path), **self.settings}
        return GitConnector(self.name, settings, Options(**{"now": NOW, **options}), batch=self.batch)

    def read(self, stream: str = ".", batches: int | None = None, **options: Any) -> list[Change]:
        """Read one stream, or only so many batches of it; return the changes."""
        changes: list[Change] = []
        reading = self.connector(**options).read(Stream(self.name, stream), self.cursor.get(stream))
        for number, batch in enumerate(reading, 1):
            self.fold(stream, batch)
            changes += batch.changes
            if number == batches:
                reading.close()  # type: ignore[attr-defined]  # a generator, closed early
                break
        return changes

    def fold(self, stream: str, batch: Batch) -> None:
        for change in batch.changes:
            match change:
                case Observed(item):
                    known = self.items.get(item.id)
                    self.written += known is None or item_fingerprint(known) != item_fingerprint(item)
                    self.items[item.id] = item
                case Sighted(item_id, place):
                    self.written += place not in self.sighted.get(item_id, set())
                    self.sighted.setdefault(item_id, set()).add(place)
                case Unsighted(item_id, place):
                    self.written += 1
                    self.sighted.get(item_id, set()).discard(place)
                case Replaced():
                    self.written += 1
                    self.replaced[change.item] = change
                case Quarantined(place, error):
                    self.quarantined[place] = error
                case Released(place):
                    self.quarantined.pop(place, None)
        cursor = self.cursor.setdefault(stream, {})
        for key, value in batch.cursor.items():
            if value is None:
                cursor.pop(key, None)
            else:
                cursor[key] = value

    def commits(self) -> set[str]:
        """Return the ids of the commits that are held."""
        return {item[7:] for item, places in self.sighted.items() if places and item.startswith("commit:")}

    def item(self, sha: str) -> Item:
        return self.items[f"commit:{sha}"]

    def says(self, sha: str) -> Mapping[str, Json]:
        return self.item(sha).sections[0].attributes

    def suspicious(self, **options: Any) -> SuspiciousDeletion:
        with pytest.raises(SuspiciousDeletion) as caught:
            self.read(**options)
        return caught.value


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this machine's git configuration out of the tests."""
    home = tmp_path / "user"
    home.mkdir()
    (home / ".gitconfig").write_text('[protocol "file"]\n\tallow = always\n[gc]\n\tauto = 0\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "project")


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., Repo]:
    def make(name: str, *init: str) -> Repo:
        return Repo(tmp_path / name, *init)

    return make


@pytest.fixture
def reader(repo: Repo) -> Reader:
    return Reader(repo.path)


@pytest.fixture
def make_reader() -> type[Reader]:
    return Reader
