"""`ctxsync rebuild`: the graph anew from the log, or another model over what is stored, compared and adopted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.options import JsonFlag, open_app, show
from ctxsync.cli.write import say

if TYPE_CHECKING:
    from ctxsync.app import App
    from ctxsync.trial import Trial


def rebuild(
    ctx: typer.Context,
    *,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Try a model on what is stored: builtin, gliner2, local, a server's name, or the model's own.",
            show_default=False,
        ),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="With --model: show what adopting it would gain, lose and change.")
    ] = False,
    source: Annotated[
        str | None, typer.Option("--source", metavar="NAME", help="Only texts of this source.", show_default=False)
    ] = None,
    adopt: Annotated[bool, typer.Option("--adopt", help="With --model: let what it found count from here on.")] = False,
    adopt_default: Annotated[
        bool, typer.Option("--adopt-default", help="Take an adoption back: the highest tier counts again.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=0, metavar="N", help="Read at most so many texts now; 0 for all.")
    ] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Build the graph anew from the log, or try another model on it.

    Without --model no text is extracted again: what was extracted is in the log. The old graph answers until the new one
    is whole.

    With --model the model reads the texts that are held now, newest first. What it finds is kept, and counts for nothing
    until --adopt; Ctrl-C keeps what there is, and the same command goes on from there. A model in the cloud reads only
    what the settings let out, within the caps, after an estimate.

    Examples:
        ctxsync rebuild
        ctxsync rebuild --model gliner2 --diff
        ctxsync rebuild --model cerebras --source vault --limit 50 --diff
        ctxsync rebuild --model cerebras --source vault --adopt
        ctxsync rebuild --adopt-default --source vault
    """
    from ctxsync.cli.progress import shown_progress
    from ctxsync.errors import UsageError

    if model is None:
        if diff or adopt or limit or (source and not adopt_default):
            raise UsageError(
                "These options are for a trial.", remedy="Name a model: `ctxsync rebuild --model builtin`."
            )
        from ctxsync.cli import render_rebuild, render_status

        app = open_app(ctx)
        with shown_progress() as progress:
            if adopt_default:
                document, render = app.adopt("", source or "", progress), render_rebuild.adopted
            else:
                document, render = app.rebuild(progress), render_status.rebuilt
        show(document, render, as_json=as_json)
        return
    if adopt_default:
        raise UsageError(
            "--adopt-default takes an adoption back; it names no model.",
            remedy="Run `ctxsync rebuild --adopt-default`.",
        )
    _try(open_app(ctx), (model, source or "", limit), diff=diff, adopt=adopt, as_json=as_json)


def _try(app: App, asked: tuple[str, str, int], *, diff: bool, adopt: bool, as_json: bool) -> None:
    from ctxsync.cli import render_rebuild
    from ctxsync.cli.errors import Interrupted
    from ctxsync.cli.progress import shown_progress
    from ctxsync.errors import CtxsyncError

    model, source, limit = asked
    ask = sys.stdin.isatty() and sys.stderr.isatty() and not as_json
    trial = app.trial(model, source=source, limit=limit)
    estimate = trial.estimate()
    if not _may_begin(trial, estimate, ask=ask):
        return
    with shown_progress() as progress:
        document: dict[str, Any] = trial.read(progress) | {"estimate": estimate, "diff": None, "adopted": None}
        whole = not document["interrupted"] and document["stopped"] is None
        if diff and not document["interrupted"]:
            document["diff"] = trial.diff()
        if adopt and whole:
            document["adopted"] = trial.adopt(progress)
    show(document, render_rebuild.tried, as_json=as_json)
    if document["interrupted"]:
        raise Interrupted(
            f"Interrupted; what {document['name']} has read is kept.",
            remedy="Run the same command to go on from there.",
        )
    if document["stopped"] is not None:
        raise CtxsyncError(
            document["stopped"], remedy=document["remedy"] or "Run the same command to go on from there."
        )
    changes = document["diff"] and any(document["diff"]["counts"][key] for key in ("gained", "lost", "changed"))
    if ask and changes and not adopt and typer.confirm("Adopt it?", default=False, err=True):
        show(trial.adopt(), render_rebuild.adopted, as_json=False)


def _may_begin(trial: Trial, estimate: dict[str, Any], *, ask: bool) -> bool:
    """Say what a model that takes time or money will take, and ask before texts leave this machine."""
    from ctxsync.cli.render_rebuild import estimated

    if not estimate["episodes"] or trial.trier.batch > 1:
        return True
    say(estimated(trial.trier.name, estimate, cloud=trial.trier.cloud))
    return not (ask and trial.trier.cloud) or typer.confirm("Send them?", default=False, err=True)
