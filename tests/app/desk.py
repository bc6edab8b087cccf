"""A home with a vault and a repository, read with fast models; and what a watch said."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.app import App
from ctxsync.config import load_config
from ctxsync.home import Home
from ctxsync.watch import Watch
from tests.whole.support import PlainModels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Desk:
    """A person's desk: a vault, a repository, and the app over both.

    `models` counts how often a chain was asked to extract.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = root / "vault"
        self.code = root / "code"
        self.home = Home(root / "home")
        self.models = PlainModels()
        self.vault.mkdir()
        self.note("Rosa Quint", "Rosa Quint works at Acme since 2024-03.")
        self.git("init", "-q", "-b", "main", str(self.code))
        self.commit("Start", "readme.txt")
        app = self.app()
        app.add_source("notes", str(self.vault), name="vault")
        app.add_source("git", str(self.code), name="code")

    def app(self, **options: Any) -> App:
        """Return a new App, as a new process would."""
        return App(self.home, load_config(self.home), models=self.models, **options)

    def note(self, title: str, text: str) -> Path:
        path = self.vault / f"{title}.md"
        path.write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
        return path

    def commit(self, message: str, file: str) -> None:
        (self.code / file).write_text(message)
        self.git("-C", str(self.code), "add", file)
        self.git("-C", str(self.code), "commit", "-q", "-m", message)

    def git(self, *arguments: str) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Rosa Quint",
            "GIT_AUTHOR_EMAIL": "rosa@example.com",
            "GIT_COMMITTER_NAME": "Rosa Quint",
            "GIT_COMMITTER_EMAIL": "rosa@example.com",
        }
        subprocess.run(["git", *arguments], check=True, env=environment, capture_output=True)

    def types(self) -> Counter[str]:
        """Return how many events of each type the log holds."""
        with self.app().store() as store:
            return Counter(event.type for event in store.read())

    def facts(self) -> list[tuple[str, str, str]]:
        """Return the current facts that people state, as (head, phrase class, tail), sorted."""
        graph = self.app().graph()
        try:
            return sorted(graph.db.execute(FACTS))
        finally:
            graph.close()


FACTS = """
SELECT h.name, f.phrase_class, t.name FROM fact f
JOIN fact_version v ON v.fact = f.id AND v.until IS NULL AND v.valid_to IS NULL
JOIN entity_version h ON h.entity = f.head AND h.until IS NULL
JOIN entity_version t ON t.entity = f.tail AND t.until IS NULL
WHERE f.phrase_class IN ('employment', 'association', 'participation')
"""


class Lines:
    """What a watch reports, from its thread."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._changed = threading.Condition()

    def __call__(self, line: str) -> None:
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()

    def wait(self, said: Callable[[str], bool], seconds: float = 60) -> str:
        """Return the first line that fits, waiting for it; lines up to it are dropped."""
        with self._changed:
            while True:
                for index, line in enumerate(self._lines):
                    if said(line):
                        del self._lines[: index + 1]
                        return line
                if not self._changed.wait(seconds):
                    pytest.fail(f"not said in {seconds} s; said: {self._lines}")


@contextmanager
def watching(app: App, lines: Lines) -> Iterator[Watch]:
    """Run a watch in a thread from when it is ready until it is stopped."""
    watch = Watch(app, lines, debounce=0.05, signals=False)
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        lines.wait(lambda line: line == "ready")
        yield watch
    finally:
        watch.stop()
        thread.join(60)
    assert not thread.is_alive()
