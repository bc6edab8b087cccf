"""A command line to call, and a home with a small vault that was synced through it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from ctxsync.cli.commands import app

if TYPE_CHECKING:
    from pathlib import Path


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
