"""Runs the real `ctxsync` command and kills it with SIGKILL at a chosen moment.

usage: killed.py point NAME COUNT ARGUMENT…       at the COUNTth passing of a named commit point
       killed.py statement NUMBER ARGUMENT…       before the NUMBERth SQL statement of the process
       killed.py count FILE ARGUMENT…             not at all; writes how many statements and points were passed
"""

from __future__ import annotations

import collections
import json
import os
import signal
import sys
from pathlib import Path

import apsw

import ctxsync.app
import ctxsync.models
from tests.whole.support import PlainModels

passed: collections.Counter[str] = collections.Counter()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    mode, *rest = sys.argv[1:]
    if mode == "point":
        name, count, *arguments = rest
    elif mode == "statement":
        name, count, *arguments = "statement", *rest
    else:
        name, count = "", "0"
        target, *arguments = rest

    def pass_by(point: str, /) -> None:
        passed[point] += 1
        if point == name and passed[point] == int(count):
            die()

    def trace(*_: object) -> bool:
        pass_by("statement")
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    ctxsync.app.checkpoint = pass_by
    apsw.connection_hooks.append(hook)
    ctxsync.models.LocalModels = lambda *_: PlainModels()  # type: ignore[assignment, misc] # a seam by name: this is the real command otherwise
    sys.argv = ["ctxsync", *arguments]
    from ctxsync.cli import main as command

    try:
        command()
    finally:
        if mode == "count":
            Path(target).write_text(json.dumps(passed), encoding="utf-8")


if __name__ == "__main__":
    main()
