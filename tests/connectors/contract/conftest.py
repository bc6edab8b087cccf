"""One real source of every connector, with what can happen to it; the contract suite runs against each."""

from __future__ import annotations

import os
import subprocess
from importlib.metadata import distribution
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from ctxsync.connectors.base import Options
from ctxsync.connectors.git import GitConnector
from ctxsync.connectors.notes import NotesConnector
from ctxsync.connectors.notes.disk import MAX_BYTES
from tests.connectors.imap.dovecot import PASSWORD
from tests.connectors.imap.world import SECRET, ImapAccount
from tests.connectors.mailbox.worlds import EmlMail, MaildirMail, MboxMail
from tests.connectors.slack.server import BOT_TOKEN
from tests.connectors.slack.world import SlackWorkspace
from tests.connectors.slack_export.world import SlackFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ctxsync.connectors.base import Connector

NOW = 1_750_000_000_000
BATCH = 3  # items: small, so that every pass has many batches to be killed between
NAME = "mine"


class World(Protocol):
    """A source on this disk. `kind` is its type in config.toml; `root` is its path."""

    kind: str
    root: Path

    def connector(self, **options: Any) -> Connector:
        """Return the real connector, with batches of `BATCH` items."""

    def add(self, count: int, title: str = "") -> None:
        """Add items; the first one has a title of its own, if given."""

    def edit(self) -> None:
        """Change one item: a new version of it, or a successor."""

    def remove(self, count: int) -> None:
        """Take away the items added last."""

    def stir(self) -> None:
        """Change all that is no content."""

    def spoil(self) -> None:
        """Add one item that cannot be read (wholly)."""

    def mend(self) -> None:
        """Make it readable."""

    def shock(self) -> None:
        """Add an item with the worst that bytes can say."""


class Vault:
    kind = "notes"

    def __init__(self, folder: Path) -> None:
        self.root = folder / "vault"
        self.root.mkdir()
        self.names: list[str] = []
        self.count = 0

    def connector(self, **options: Any) -> Connector:
        return NotesConnector(NAME, {"path": str(self.root)}, Options(**{"now": NOW, **options}), batch=BATCH)

    def write(self, name: str, data: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        at = 1_700_000_000 + self.count
        os.utime(path, (at, at))

    def add(self, count: int, title: str = "") -> None:
        for number in range(count):
            self.count += 1
            name = f"d{self.count % 3}/{(not number and title) or f'Note {self.count}'}.md"
            self.names.append(name)
            self.write(name, f"# One\nnote {self.count}\n\n# Two\n[[Note 1]] #tag\n".encode())

    def edit(self) -> None:
        self.write(self.names[0], b"# One\nother words\n")

    def remove(self, count: int) -> None:
        for _ in range(count):
            (self.root / self.names.pop()).unlink()

    def stir(self) -> None:
        for name in self.names:
            path = self.root / name
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
            os.utime(path, (1_720_000_000, 1_720_000_000))

    def spoil(self) -> None:
        with (self.root / "Bad.md").open("wb") as file:
            file.write(b"more than a note may hold")
            file.truncate(MAX_BYTES + 1)

    def mend(self) -> None:
        self.write("Bad.md", b"no more than a note may hold")

    def shock(self) -> None:
        self.write(
            "Shock \x1b[31m\n.md", b'---\na: "\\ud800"\n---\n\x1b]0;x\x07 \xff\xfe\x00 [[\xed\xa0\x80]] #\xf0\x9f\n'
        )


class Code:
    kind = "git"

    def __init__(self, folder: Path) -> None:
        self.root = folder / "code"
        self.root.mkdir()
        self.clock = 1_700_000_000
        self.count = 0
        self.hidden: tuple[Path, bytes] | None = None
        self.git("init", "-q", "-b", "main")

    def connector(self, **options: Any) -> Connector:
        return GitConnector(NAME, {"path": str(self.root)}, Options(**{"now": NOW, **options}), batch=BATCH)

    def git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        self.clock += 60
        who = {"NAME": "Robin Vale", "EMAIL": "robin@example.com", "DATE": f"@{self.clock} +0000"}
        environment = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        return subprocess.run(
            ["git", "-C", str(self.root), *arguments],
            env={**os.environ, **environment},
            input=stdin,
            capture_output=True,
            check=True,
        ).stdout

    def add(self, count: int, title: str = "") -> None:
        branch = self.git("symbolic-ref", "HEAD").decode().strip()
        start = f"from {branch}^0\n" if self.git("for-each-ref", branch) else ""
        parts = []
        for number in range(count):  # as one process; so few objects that git leaves them loose
            self.count += 1
            message = (not number and title) or f"Change {self.count}\n\nFixes #{self.count}\n"
            who = f"Robin Vale <robin@example.com> {self.clock + self.count} +0000"
            parts.append(
                f"commit {branch}\nauthor {who}\ncommitter {who}\ndata {len(message)}\n{message}\n{start}"
                f"M 100644 inline f{self.count}.txt\ndata {len(str(self.count))}\n{self.count}\n"
            )
            start = ""
        self.git("fast-import", "--quiet", stdin="".join(parts).encode())
        self.git("reset", "-q", "--hard")

    def edit(self) -> None:
        self.git("commit", "-q", "--amend", "-m", "Said better")

    def remove(self, count: int) -> None:
        self.git("reset", "-q", "--hard", f"HEAD~{count}")

    def stir(self) -> None:
        self.git("tag", "a-tag", "HEAD~1")
        self.git("branch", "another", "HEAD~1")
        self.git("gc", "-q", "--prune=now")

    def spoil(self) -> None:
        self.git("checkout", "-q", "-b", "bad")
        self.add(1)
        tree = self.git("rev-parse", "HEAD^{tree}").decode().strip()
        self.git("checkout", "-q", "main")
        path = self.root / ".git" / "objects" / tree[:2] / tree[2:]
        self.hidden = (path, path.read_bytes())
        path.unlink()

    def mend(self) -> None:
        assert self.hidden
        self.hidden[0].write_bytes(self.hidden[1])

    def shock(self) -> None:
        tree = self.git("rev-parse", "HEAD^{tree}").strip()
        headers = b"tree " + tree + b"\nauthor \x1b[31m\xff <\xed\xa0\x80@x> -1 +0000\ncommitter nobody\nencoding hex"
        data = headers + b"\n\n\x1b]0;x\x07 \xff\xfe fixes #\xf0\x9f\n"
        sha = self.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=data).decode().strip()
        self.git("update-ref", "refs/heads/shock", sha)


WORLDS: dict[str, Callable[[Path], World]] = {
    "notes": Vault,
    "git": Code,
    "imap": lambda folder: ImapAccount(folder, name=NAME, now=NOW, batch=BATCH),
    "mailbox": lambda folder: MboxMail(folder, name=NAME, now=NOW, batch=BATCH),
    "mailbox maildir": lambda folder: MaildirMail(folder, name=NAME, now=NOW, batch=BATCH),
    "mailbox eml": lambda folder: EmlMail(folder, name=NAME, now=NOW, batch=BATCH),
    "slack": lambda folder: SlackWorkspace(folder, name=NAME, now=NOW, batch=BATCH),
    "slack-export": lambda folder: SlackFolder(folder, name=NAME, now=NOW, batch=BATCH),
}


def registered() -> set[str]:
    """Return the types of source that ctxsync itself registers."""
    points = distribution("ctxsync").entry_points
    return {point.name for point in points if point.group == "ctxsync.connectors"}


@pytest.fixture(autouse=True)
def _own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this machine's git configuration out of the tests."""
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture(params=sorted(WORLDS))
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("CTXSYNC_TEST_SLACK_TOKEN", BOT_TOKEN)
    monkeypatch.setenv(SECRET, PASSWORD)
    made = WORLDS[request.param](tmp_path)
    yield made
    if isinstance(made, SlackWorkspace | ImapAccount):
        made.close()
