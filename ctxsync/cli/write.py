"""The commands that write: sync, watch, log; they show progress and what came of it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ctxsync.cli.inert import typed
from ctxsync.cli.options import JsonFlag, open_app, read_stdin, show

ATTENTION = 3


def sync(
    ctx: typer.Context,
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="SOURCE", help="Only these; else all.", show_default=False)
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and store nothing.")] = False,
    allow_deletes: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-deletes",
            metavar="SOURCE",
            help="Let a suspicious deletion of this source through, this once. May be repeated.",
            show_default=False,
        ),
    ] = None,
    retry_quarantined: Annotated[
        bool, typer.Option("--retry-quarantined", help="Try what is quarantined again, though it did not change.")
    ] = False,
    as_json: JsonFlag = False,
) -> int:
    """Bring the graph up to date with your sources.

    Only what changed is read. Ctrl-C keeps all that is stored, and the next sync goes on from there. A source that
    cannot be read, or that lost suspiciously much, is paused and listed, and the others go on (exit code 3).

    Examples:
        ctxsync sync
        ctxsync sync vault --dry-run
        ctxsync sync --allow-deletes vault
    """
    from ctxsync.cli import render_sync
    from ctxsync.cli.errors import Interrupted
    from ctxsync.cli.progress import shown_progress
    from ctxsync.sync import SyncRequest

    app = open_app(ctx)
    request = SyncRequest(
        sources=tuple(sources or ()),
        dry_run=dry_run,
        allow_deletes=tuple(allow_deletes or ()),
        retry_quarantined=retry_quarantined,
        on_wait=say,
    )
    with shown_progress() as progress:
        document = app.sync(request, progress)
    show(document, render_sync.report, as_json=as_json)
    if document.get("interrupted"):
        raise Interrupted(render_sync.kept(document), remedy="Run `ctxsync sync` to go on from there.")
    return ATTENTION if document.get("problems") else 0


def watch(ctx: typer.Context) -> None:
    """Sync whenever something changes, until Ctrl-C.

    Folders are watched, and everything is read again on a timer, so that nothing is missed for long.

    Examples:
        ctxsync watch
    """
    app = open_app(ctx)
    app.watch(say)


def log(
    ctx: typer.Context,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to keep; - reads it from stdin.")],
    as_json: JsonFlag = False,
) -> None:
    """Write a thought down.

    It is stored at once as your own words, and answers from then on.

    Examples:
        ctxsync log Rosa moved to Lyon
        pbpaste | ctxsync log -
    """
    from ctxsync.cli import render_sync

    words = read_stdin() if text == ["-"] else typed(" ".join(text))
    document = open_app(ctx).log(words)
    show(document, render_sync.logged, as_json=as_json)


def say(message: str) -> None:
    """Tell a person on stderr what is going on."""
    from ctxsync.cli.inert import one_line

    sys.stderr.write(f"{one_line(message)}\n")
    sys.stderr.flush()
