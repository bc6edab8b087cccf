"""Asking a person for a secret: without echo at a terminal, else the first line of stdin."""

from __future__ import annotations

import sys


def ask_secret(what: str) -> str:
    """Return what is typed, without the line's end.

    Args:
        what: What is asked for, as `password of work`.

    Raises:
        UsageError: Nothing was typed.
    """
    from ctxsync.errors import UsageError

    if sys.stdin.isatty():
        from getpass import getpass

        typed = getpass(f"The {what} (not shown): ")
    else:
        typed = sys.stdin.readline().rstrip("\r\n")
    if not typed:
        raise UsageError(f"No {what} was given; nothing was stored.", remedy="Run the command again and type it.")
    return typed
