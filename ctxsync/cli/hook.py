"""`ctxsync hook`: install and uninstall."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.group import Command, Group
from ctxsync.cli.options import JsonFlag, home_of, require_home, show

if TYPE_CHECKING:
    from ctxsync.cli.output import Out

group = typer.Typer(
    cls=Group,
    add_completion=False,
    rich_markup_mode=None,
    help="""Let git tell ctxsync about new commits.

    A hook is only a hint, and never fails or delays a commit: without it, the next sync finds the commit as well.

    Examples:
        ctxsync hook install ~/src/project
        ctxsync hook uninstall ~/src/project
    """,
)

Repository = Annotated[Path, typer.Argument(metavar="REPOSITORY", help="A work tree; else this folder.")]


@group.command(cls=Command)
def install(ctx: typer.Context, repository: Repository = Path(), as_json: JsonFlag = False) -> None:
    """Add hooks beside those that are there.

    Examples:
        ctxsync hook install
        ctxsync hook install ~/src/project
    """
    from ctxsync import hooks

    home = home_of(ctx)
    require_home(ctx, home)
    show({"hooks": hooks.install(repository.absolute(), home.path)}, _installed, as_json=as_json)


@group.command(cls=Command)
def uninstall(repository: Repository = Path(), as_json: JsonFlag = False) -> None:
    """Take them away again; other hooks are as they were.

    Examples:
        ctxsync hook uninstall
    """
    from ctxsync import hooks

    show({"hooks": hooks.uninstall(repository.absolute())}, _uninstalled, as_json=as_json)


def _installed(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    line(out, "New commits now reach ctxsync at once, while `ctxsync watch` runs.")
    for hook in document["hooks"]:
        line(out, (hook, "dim"), indent=2)


def _uninstalled(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    if not document["hooks"]:
        line(out, "No hook of ctxsync was there.")
    for hook in document["hooks"]:
        line(out, f"{hook} is as it was before.")
