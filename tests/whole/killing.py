"""Runs `ctxsync sync` as a process that is killed, and says what a home holds; knows no source."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ctxsync.engine.graph.store import Graph
from ctxsync.events.store import EventStore

ROOT = Path(__file__).parents[2]
POINTS = ("append", "cursor", "extract", "project")


def run(mode: tuple[str, ...], home: Path, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed.py")), *mode, "--home", str(home), "sync", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    if check:
        assert done.returncode == 0, done.stderr + done.stdout
    return done


def die_and_resume(home: Path, mode: tuple[str, ...], codes: tuple[int, ...] = (0,)) -> None:
    """Run a sync that dies, and another; `codes` are the exit codes that the second may have."""
    killed = run(mode, home, check=False)
    assert killed.returncode == -9, killed.stderr
    again = run(("count", os.devnull), home, check=False)
    assert again.returncode in codes, again.stderr


def logical(home: Path) -> dict[str, object]:
    """What must not depend on being killed: what was observed and extracted, each once, and the graph made of it."""
    with EventStore.open(home / "events.db") as store:
        store.verify()
        events = sorted(
            json.dumps([e.source, e.subject, e.type, {k: v for k, v in e.payload.items() if k != "ms"}], sort_keys=True)
            for e in store.read()
        )
    graph = Graph.open(home / "graph.db")
    try:
        return {"events": events, "state_hash": graph.state_hash(), "counts": graph.counts()}
    finally:
        graph.close()
