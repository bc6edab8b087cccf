"""The one place where errors become messages and exit codes; knows nothing of any single command.

A message is `error: …` and, where there is something to do, `try: …`, both on stderr. No traceback unless `--debug`.
"""

from __future__ import annotations

import errno
import sys
import traceback
from typing import TYPE_CHECKING, Any

from ctxsync.cli.inert import inert
from ctxsync.errors import CtxsyncError

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130
FAILED = 1


class Interrupted(CtxsyncError):
    """Ctrl-C, with a message of what was kept and a remedy of how to go on."""

    exit_code = INTERRUPTED


class ReaderGone(Exception):
    """Whoever read stdout has closed it."""


def exit_code_of(action: Callable[[], Any], *, debug: Callable[[], bool]) -> int:
    """Run a whole command line; say what went wrong on stderr; return the exit code.

    Args:
        action: Returns the exit code, or None for 0.
        debug: Says whether `--debug` was given; asked only after a failure, when arguments have been read.
    """
    try:
        try:
            code = action()
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise ReaderGone from error
    except ReaderGone:
        _silence_stdout()
        return 0
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    except CtxsyncError as error:
        if debug():
            _trace()
        _say(error.message, error.remedy, word="interrupted" if isinstance(error, Interrupted) else "error")
        return error.exit_code
    except OSError as error:
        if debug():
            _trace()
        _say(*_os_message(error))
        return FAILED
    except Exception as error:  # noqa: BLE001 - whatever escapes is a bug, and a person gets a sentence, not a traceback
        if _is_usage(error):
            _say(*_usage_message(error))
            return int(getattr(error, "exit_code", 2))
        if debug():
            _trace()
        _say(f"Something unexpected happened: {type(error).__name__}: {error}", _bug_remedy(debug=debug()))
        return FAILED
    if code == INTERRUPTED:
        _say("Nothing more was done.", "", word="interrupted")
    return code if isinstance(code, int) else 0


def _say(message: str, remedy: str, *, word: str = "error") -> None:
    sys.stderr.write(f"{word}: {inert(_without_secrets(message))}\n")
    if remedy:
        sys.stderr.write(f"try: {inert(_without_secrets(remedy))}\n")
    sys.stderr.flush()


def _trace() -> None:
    sys.stderr.write(_without_secrets(traceback.format_exc()))


def _without_secrets(text: str) -> str:
    """Hide what this process resolved of secrets; without the module that resolves them it resolved none."""
    secrets = sys.modules.get("ctxsync.connectors.secrets")
    return secrets.without_secrets(text) if secrets else text


def _bug_remedy(*, debug: bool) -> str:
    if debug:
        return "Report it with the lines above; they may name files of yours."
    return "Run it again with --debug to see where, or `ctxsync doctor` to check this installation."


def _os_message(error: OSError) -> tuple[str, str]:
    """Return message and remedy for an error of the operating system that no layer translated."""
    if error.errno == errno.ENOSPC:
        return "The disk is full; what had been stored before is kept.", "Free some space and run the command again."
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}.", "Run `ctxsync doctor`."


def _is_usage(error: Exception) -> bool:
    """Say whether typer raised it for what was typed; asked late, so that typer is imported already."""
    from typer import Abort, TyperException

    return isinstance(error, (TyperException, Abort))


def _usage_message(error: Exception) -> tuple[str, str]:
    message = getattr(error, "format_message", lambda: "Nothing was done.")()
    possibilities = getattr(error, "possibilities", None)
    if possibilities:
        message = f"{getattr(error, 'message', message).rstrip('.')}. Did you mean {_either(possibilities)}?"
    context = getattr(error, "ctx", None)
    path = " ".join(context.command_path.split()) if context is not None else "ctxsync"
    return message, f"Run `{path} --help`."


def _either(names: list[str]) -> str:
    return " or ".join(sorted(names))


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not complain."""
    import os

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return  # not a real file: nothing will flush it
