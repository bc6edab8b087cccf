"""The commands that look after the home: status, doctor, verify, export, import."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path  # noqa: TC003 - typer reads it at run time
from typing import Annotated

import typer

from ctxsync.cli.options import JsonFlag, home_of, open_app, show
from ctxsync.cli.write import ATTENTION

FAILED = 1


def status(
    ctx: typer.Context,
    hashes: Annotated[bool, typer.Option("--hashes", help="Also digest the whole graph; --json always does.")] = False,
    as_json: JsonFlag = False,
) -> int:
    """Show what is stored, and what needs attention.

    Exit code 3 when a source is paused or something is quarantined; each is listed.

    Examples:
        ctxsync status
        ctxsync status --json
    """
    from ctxsync.cli import render_status

    document = open_app(ctx).status(full=hashes or as_json)
    show(document, render_status.status, as_json=as_json)
    waiting = document.get("quarantined") or any(source.get("paused") for source in document["sources"])
    return ATTENTION if waiting else 0


def doctor(
    ctx: typer.Context,
    chain: Annotated[bool, typer.Option("--chain", help="Also check the log's whole hash chain.")] = False,
    online: Annotated[bool, typer.Option("--online", help="Also log in to mail and Slack servers.")] = False,
    as_json: JsonFlag = False,
) -> int:
    """Check this installation and this home.

    Each finding names what to run. Exit code 1 when something is broken. Without --online nothing leaves this machine.

    Examples:
        ctxsync doctor
        ctxsync doctor --online
        ctxsync doctor --chain
    """
    from ctxsync.app import App
    from ctxsync.cli import render_status
    from ctxsync.config import Config, load_config
    from ctxsync.errors import ConfigError

    home = home_of(ctx)
    config = Config()
    with suppress(ConfigError):  # a finding like others, of `examine`: the rest is examined all the same
        config = load_config(home)
    findings = App(home, config).doctor(chain=chain, online=online)
    show({"findings": findings}, render_status.doctor, as_json=as_json)
    return FAILED if any(finding["level"] == "error" for finding in findings) else 0


def verify(
    ctx: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", help="Also compare the graph with one rebuilt from the log.")] = False,
    as_json: JsonFlag = False,
) -> int:
    """Check the log's hash chain, and the graph against the log.

    Exit code 1 when they do not hold.

    Examples:
        ctxsync verify
        ctxsync verify --deep
    """
    from ctxsync.cli import render_status
    from ctxsync.cli.progress import shown_progress

    app = open_app(ctx)
    with shown_progress() as progress:
        document = app.verify(progress, deep=deep)
    show(document, render_status.verify, as_json=as_json)
    return 0 if document.get("graph") == "agrees" else FAILED


def export_(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files go; made if need be.")],
    as_json: JsonFlag = False,
) -> None:
    """Write the log out as JSON Lines.

    CloudEvents 1.0, a file a month, keys in a fixed order: fit for git. `ctxsync import` gives the same graph.

    Examples:
        ctxsync export ~/backup/ctxsync
    """
    from ctxsync.cli import render_status

    show(open_app(ctx).export_log(folder), render_status.exported, as_json=as_json)


def import_(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `ctxsync export` wrote.")],
    as_json: JsonFlag = False,
) -> None:
    """Read an exported log into an empty home.

    Examples:
        ctxsync --home ~/new-home import ~/backup/ctxsync
    """
    from ctxsync.app import App
    from ctxsync.cli import render_status
    from ctxsync.cli.progress import shown_progress
    from ctxsync.config import load_config
    from ctxsync.errors import UsageError

    home = home_of(ctx)
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", remedy="Name the folder that `ctxsync export` wrote.")
    with shown_progress() as progress:
        document = App(home, load_config(home)).import_log(folder, progress)
    show(document, render_status.rebuilt, as_json=as_json)
