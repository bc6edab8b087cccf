"""The command line: parses, calls the app, renders; it does no work of its own.

Importing this package imports nothing else. `main` is the `ctxsync` command.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line on `sys.argv` and exit with its code (0, 1, 2, 3 or 130)."""
    if sys.stdout is None or sys.stderr is None:  # started with them closed: `>&-`
        nothing = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
        sys.stdout, sys.stderr = sys.stdout or nothing, sys.stderr or nothing
    try:
        from typer.main import get_command

        from ctxsync.cli.commands import app

        get_command(app).main(prog_name="ctxsync")
    except KeyboardInterrupt:
        # Ctrl-C while modules load: nothing has begun, so there is nothing to say about it.
        sys.exit(130)
