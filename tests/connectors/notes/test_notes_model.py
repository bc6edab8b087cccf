"""Any sequence of edits, moves, swaps, copies and deletions: after a pass, the changes add up to what is on the disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ctxsync.connectors.base import Batch, Item, Json, Moved, Observed, Options, Sighted, Stream, Unsighted
from ctxsync.connectors.notes import NotesConnector

PATHS = st.sampled_from(["a.md", "b.md", "A.md", "c.md", "d/a.md", "d/b.md", "d/x/c.md", "e/a.md"])


class VaultMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.root = Path(self.folder) / "vault"
        self.root.mkdir()
        self.cursor: dict[str, Json] = {}
        self.held: dict[str, str] = {}
        self.versions: dict[str, Item] = {}
        self.texts = 0
        self.pulled: dict[str, tuple[str, str]] = {}  # path -> (content, item) at the last complete pass
        self.copied: set[str] = set()
        self.deleted: dict[str, str] = {}
        self.settled = True

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.root)): path.read_text() for path in self.root.rglob("*.md") if path.is_file()
        }

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        self.settled = False

    @rule(path=PATHS, sections=st.integers(1, 3))
    def create_or_edit(self, path: str, sections: int) -> None:
        self.texts += 1
        self.write(path, "\n".join(f"# Section {number}\ntext {self.texts}" for number in range(sections)))

    @rule(path=PATHS)
    def append(self, path: str) -> None:
        if (self.root / path).exists():
            self.texts += 1
            self.write(path, f"{(self.root / path).read_text()}\n# More {self.texts}\n")

    @rule(path=PATHS)
    def empty(self, path: str) -> None:
        self.write(path, "")

    @rule(path=PATHS)
    def save_atomically(self, path: str) -> None:
        self.texts += 1
        self.write(f"{path}.tmp", f"saved {self.texts}")
        (self.root / f"{path}.tmp").replace(self.root / path)

    @rule(path=PATHS, to=PATHS)
    def move(self, path: str, to: str) -> None:
        if (self.root / path).exists():
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).replace(self.root / to)
            self.settled = False

    @rule(path=PATHS, to=PATHS)
    def swap(self, path: str, to: str) -> None:
        first, second = self.root / path, self.root / to
        if path != to and first.exists() and second.exists():
            first.rename(self.root / "t")
            second.rename(first)
            (self.root / "t").rename(second)
            self.settled = False

    @rule(path=PATHS, to=PATHS)
    def copy(self, path: str, to: str) -> None:
        if path != to and (self.root / path).exists():
            text = (self.root / path).read_text()
            self.copied.add(text)
            self.write(to, text)

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        if (self.root / path).exists():
            self.deleted[path] = (self.root / path).read_text()
            (self.root / path).unlink()
            self.settled = False

    @rule(path=PATHS)
    def restore(self, path: str) -> None:
        if path in self.deleted and not (self.root / path).exists():
            self.write(path, self.deleted[path])

    @rule()
    def move_folder(self) -> None:
        for path, to in (("d", "f"), ("f", "d")):
            if (self.root / path).exists() and not (self.root / to).exists():
                (self.root / path).rename(self.root / to)
                self.settled = False
                return

    @rule(path=PATHS)
    def touch(self, path: str) -> None:
        if (self.root / path).exists():
            os.utime(self.root / path, ns=(self.texts, self.texts))

    @rule(batches=st.integers(1, 2))
    def pull_and_be_killed(self, batches: int) -> None:
        for number, batch in enumerate(self.read(), 1):
            self.apply(batch)
            if number == batches:
                break
        self.settled = False
        self.pulled = {}  # ids may have gone on already; only the sums are checked then

    @precondition(lambda self: not self.settled)
    @rule()
    def pull(self) -> None:
        for batch in self.read():
            self.apply(batch)
        files = self.files()
        assert sorted(self.held) == sorted(files)
        for path, text in files.items():
            item = self.versions[self.held[path]]
            assert "\n".join(section.text for section in item.sections).split() == text.split()
            assert path.rsplit("/", 1)[-1] == f"{item.title}.md"
        then = dict(self.pulled.values())
        once_then = Counter(text for text, _ in self.pulled.values())
        once_now = Counter(files.values())
        for path, text in files.items():
            if text and text not in self.copied and once_then[text] == once_now[text] == 1:
                assert self.held[path] == then[text], "the identity follows the content"
        self.pulled = {path: (text, self.held[path]) for path, text in files.items()}
        self.settled = True
        assert [change for batch in self.read() for change in batch.changes] == []

    def read(self) -> list[Batch]:
        options = Options(allow_deletes=True)
        connector = NotesConnector("vault", {"path": str(self.root)}, options)
        return list(connector.read(Stream("vault"), dict(self.cursor)))

    def apply(self, batch: Batch) -> None:
        for key, value in batch.cursor.items():
            if value is None:
                self.cursor.pop(key, None)
            else:
                self.cursor[key] = value
        for change in batch.changes:
            if isinstance(change, Moved | Unsighted):
                assert self.held.pop(change.place) == change.item
        for change in batch.changes:
            if isinstance(change, Observed):
                self.versions[change.item.id] = change.item
            elif isinstance(change, Moved):
                assert change.to not in self.held
                self.held[change.to] = change.item
            elif isinstance(change, Sighted):
                assert change.place not in self.held
                self.held[change.place] = change.item

    @invariant()
    def no_item_is_in_two_places(self) -> None:
        held = list(getattr(self, "held", {}).values())
        assert len(held) == len(set(held))


TestVault = VaultMachine.TestCase
TestVault.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
