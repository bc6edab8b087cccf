"""How long a person waits before a command begins: medians beside `python -c pass`, measured in the same run.

The command is the installed one, and its home holds a synced vault.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.homes import filled
from benchmarks.notes_scan import make_vault
from benchmarks.report import Row

RUNS = 15
NOTES = 300
# Seconds over `python -c pass` that a person may be made to wait.
TARGETS = {"--help": 0.25, "status": 0.35, "status --json": 0.35, "ask what links to Note 7?": None}


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Return the wall time of one run of a command."""
    started = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def rows() -> list[Row]:
    script = Path(sys.executable).with_name("ctxsync")
    with tempfile.TemporaryDirectory() as folder:
        vault, home = Path(folder) / "vault", Path(folder) / "home"
        make_vault(vault, NOTES)
        filled(home, vault)
        environment = {**os.environ, "CTXSYNC_HOME": str(home)}
        commands = {"": [sys.executable, "-c", "pass"]}
        commands |= {name: [str(script), *name.split()] for name in TARGETS}
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):  # interleaved, so that a busy moment falls on all alike
            for name, command in commands.items():
                taken[name].append(seconds(command, environment))
    medians = {name: statistics.median(values) for name, values in taken.items()}
    return [
        Row(f"ctxsync {name}; python -c pass", medians[name], "s", medians[""], by="over", most=target)
        for name, target in TARGETS.items()
    ]
