"""How long a person waits before a command begins: medians beside `python -c pass`, measured in the same run.

Run: `python -m benchmarks.startup` from the repository's root. Commands that need a home get an empty one.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 10
# Seconds over `python -c pass` that a person may be made to wait.
TARGETS = {"--help": 0.25, "status": 0.35, "status --json": 0.35}


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Return the wall time of one run of a command."""
    started = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def main(home: Path | None = None) -> list[dict[str, object]]:
    """Measure and return a row a command: name, median seconds, seconds over the baseline, target, whether it holds.

    Args:
        home: A home to read; None makes an empty one.
    """
    with tempfile.TemporaryDirectory(prefix="ctxsync-startup-") as folder:
        place = home or Path(folder) / "home"
        environment = {**os.environ, "CTXSYNC_HOME": str(place)}
        ctxsync = [sys.executable, "-m", "ctxsync"]
        if home is None:
            subprocess.run([*ctxsync, "init", "--name", "Robin Vale"], env=environment, capture_output=True, check=True)
        commands = {"python -c pass": [sys.executable, "-c", "pass"]}
        commands |= {name: [*ctxsync, *name.split()] for name in ("--version", *TARGETS)}
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):  # interleaved, so that a busy moment falls on all alike
            for name, command in commands.items():
                taken[name].append(seconds(command, environment))
    medians = {name: statistics.median(values) for name, values in taken.items()}
    baseline = medians["python -c pass"]
    return [
        {
            "name": name,
            "median_s": round(median, 4),
            "over_baseline_s": round(median - baseline, 4),
            "target_s": TARGETS.get(name),
            "ok": name not in TARGETS or median - baseline <= TARGETS[name],
        }
        for name, median in medians.items()
    ]


if __name__ == "__main__":
    for row in main(Path(sys.argv[1]) if len(sys.argv) > 1 else None):
        print(
            f"{row['name']:<16} {row['median_s']:.3f} s  +{row['over_baseline_s']:.3f} s  {'' if row['ok'] else 'over target'}"
        )
