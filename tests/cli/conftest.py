"""A command line to call, and a home with a small vault that was synced through it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from ctxsync.app import App
from ctxsync.cli.commands import app
from ctxsync.config import load_config
from ctxsync.engine.extraction.base import Entity, Extraction, Relation
from ctxsync.engine.schema import universal
from ctxsync.home import resolve
from ctxsync.sync import SyncRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxsync.engine.extraction.base import Episode


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as the one JSON document that it must be."""
        return json.loads(self.out)


class Line:
    """Calls commands on one home, as a person at a terminal of some width would."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *args: str, stdin: str | None = None, columns: int = 100, **env: str) -> Ran:
        settings = {"CTXSYNC_HOME": str(self.home), "COLUMNS": str(columns), "GIT_CONFIG_GLOBAL": "/dev/null", **env}
        result = CliRunner().invoke(app, list(args), input=stdin, env=settings)
        return Ran(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def line(tmp_path: Path) -> Line:
    """A command line on a home that does not exist yet."""
    return Line(tmp_path / "home")


class OneForm:
    """An extraction chain that reads sentences of one form: the command line is on trial here, not the language."""

    run = "one-form"
    schema = universal()

    def extract(self, episodes: Sequence[Episode]) -> Iterator[tuple[Extraction, list[object]]]:
        """Read `HEAD works at TAIL since WHEN.` and `HEAD lives in TAIL.`, whatever stands for HEAD and TAIL."""
        for episode in episodes:
            result = Extraction(episode.id, 1, "one-form")
            for number, found in enumerate(SENTENCE.finditer(episode.text)):
                head, tail = f"h{number}", f"t{number}"
                works = found["verb"] == "works at"
                result.entities += [
                    Entity(head, found["head"], "Person", span=found.span("head")),
                    Entity(tail, found["tail"], "Organization" if works else "Place", span=found.span("tail")),
                ]
                relation, phrase_class = ("part_of", "employment") if works else ("located_at", "residence")
                result.relations.append(
                    Relation(
                        head,
                        relation,
                        tail,
                        found["verb"],
                        phrase_class,
                        found[0],
                        found.span(),
                        0.9,
                        valid_from=found["when"],
                        tier=1,
                    )
                )
            yield result, []


class OneFormModels:
    """Models without weights, and no vectors."""

    def chain(self) -> OneForm:
        """Return the chain."""
        return OneForm()

    def embedder(self) -> None:
        """Do without vectors."""

    def cache(self) -> None:
        """Do without vectors."""


SENTENCE = re.compile(
    r"^(?P<head>.+?) (?P<verb>works at|lives in) (?P<tail>.+?)(?: since (?P<when>[\d-]+))?\.$", re.MULTILINE
)

# What a hostile note may try: colour, title, clipboard, a hidden link target, markup of rich, bidi, C1, a lone return.
HOSTILE = (
    "\x1b[31mRed\x1b[0m \x1b]0;title\x07 \x1b]52;c;ZXZpbA==\x07 \x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\ "
    "[bold]Bold[/bold] [link=http://evil.example]link[/link] :smile: \u202egpj.exe\u202c \x9b31m \u2066x\u2069"
)
NADIA = """# Nadia Okoro

Nadia Okoro works at Harbour Press since 2019.

## Later

Nadia Okoro works at Fennel Labs since 2025-05.
Nadia Okoro lives in Lisbon.
"""


@pytest.fixture(scope="session")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Line:
    """A home with a vault of three notes, one of them hostile, read by the one-form chain."""
    folder = tmp_path_factory.mktemp("cli")
    vault = folder / "vault"
    (vault / "People").mkdir(parents=True)
    (vault / "People" / "Nadia Okoro.md").write_text(NADIA, encoding="utf-8")
    (vault / "People" / "Mallory.md").write_text(
        f"# Mallory {HOSTILE}\n\nMallory {HOSTILE} lives in {HOSTILE}.\n", encoding="utf-8"
    )
    (vault / "Lyon.md").write_text("# Lyon\n\nA city on two rivers, and its old town.\n", encoding="utf-8")
    line = Line(folder / "home")
    assert line("init", "--name", "Robin Vale", "--email", "robin@example.com").code == 0
    assert line("source", "add", "notes", str(vault), "--name", "vault").code == 0
    home = resolve(line.home)
    report = App(home, load_config(home), models=OneFormModels()).sync(SyncRequest())
    assert report["extracted"] >= 4
    return line
