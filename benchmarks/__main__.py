"""Measures everything and prints one table: `python -m benchmarks`, or `python -m benchmarks NAME…` for some of it.

Each benchmark runs in a process of its own, so that its memory is its own. This measures and does not judge: the exit
status is 0 whatever the table says, and 1 when a benchmark failed to run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from importlib import import_module
from typing import Final

from benchmarks.report import Row, table

NAMES: Final = (
    "append",
    "notes_scan",
    "unchanged",
    "git_history",
    "imap",
    "arrival",
    "mailbox",
    "slack_export",
    "extraction",
    "llm",
    "rebuild",
    "ask",
    "startup",
)


def measured(name: str) -> list[Row]:
    """Run one benchmark in this process."""
    rows: list[Row] = import_module(f"benchmarks.{name}").rows()
    return rows


def in_a_process(name: str) -> list[Row] | None:
    """Run one benchmark in a process of its own; None when it fails, after its complaints were shown."""
    command = [sys.executable, "-m", "benchmarks", "--json", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        return None
    return [Row(**fields) for fields in json.loads(done.stdout)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *NAMES], help=", ".join(NAMES))
    parser.add_argument("--json", action="store_true", help="run in this process and print the rows as JSON")
    options = parser.parse_args()
    rows: list[Row] = []
    failed: list[str] = []
    for name in options.names or NAMES:
        if options.json:
            rows += measured(name)
            continue
        sys.stderr.write(f"{name} …\n")
        found = in_a_process(name)
        if found is None:
            failed.append(name)
        rows += found or []
    print(json.dumps([asdict(row) for row in rows]) if options.json else table(rows))
    for name in failed:
        sys.stderr.write(f"{name} could not be run: see above.\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
