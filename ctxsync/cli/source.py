"""`ctxsync source`: add, list and remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.group import Command, Group
from ctxsync.cli.options import JsonFlag, open_app, show

if TYPE_CHECKING:
    from ctxsync.cli.output import Out

group = typer.Typer(
    cls=Group,
    add_completion=False,
    rich_markup_mode=None,
    help="""Add, list and remove sources: vaults and repositories.

    Examples:
        ctxsync source add notes ~/notes
        ctxsync source list
    """,
)


@group.command(cls=Command)
def add(
    ctx: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="notes (a folder of Markdown) or git (a repository).")],
    location: Annotated[str, typer.Argument(metavar="LOCATION", help="The folder.")],
    *,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="N", help="What to call it; else the folder's name.", show_default=False),
    ] = None,
    trust: Annotated[
        str | None,
        typer.Option("--trust", metavar="own|others", help="Whose words it holds; notes are own.", show_default=False),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option("--include", metavar="GLOB", help="Read only these.", show_default=False)
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="GLOB", help="Leave these out.", show_default=False)
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Add a source to the settings; the next sync reads it.

    Examples:
        ctxsync source add notes ~/notes --name vault
        ctxsync source add git ~/src/project
        ctxsync source add notes ~/notes --exclude "private/**"
    """
    document = open_app(ctx).add_source(
        kind, location, name=name, trust=trust, include=tuple(include or ()), exclude=tuple(exclude or ())
    )
    show(document, _added, as_json=as_json)


@group.command("list", cls=Command)
def list_(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List the configured sources.

    Examples:
        ctxsync source list
        ctxsync source list --json
    """
    from ctxsync.config import as_mapping

    sources = [dict(as_mapping(source)) for source in open_app(ctx).config.sources]
    show({"sources": sources}, _listed, as_json=as_json)


@group.command(cls=Command)
def remove(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SOURCE", help="Its name.")],
    forget: Annotated[bool, typer.Option("--forget", help="Erase its text from the log as well.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Stop reading a source; what it alone says is retracted.

    Its text stays in the log, so that adding it again costs no extraction.

    Examples:
        ctxsync source remove vault
    """
    document = open_app(ctx).remove_source(name, forget=forget)
    show(document, _removed, as_json=as_json)


def _added(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    line(out, "Added ", (document["name"], "bold"), f" ({document['type']}, {document['path']}).")
    line(out, "Read it with: ctxsync sync")


def _listed(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    if not document["sources"]:
        line(out, "There are no sources yet. Add one: ctxsync source add notes ~/notes")
    for source in document["sources"]:
        line(out, (source["name"], "bold"), f"  {source['type']}  {source['path']}  trust {source['trust']}")


def _removed(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    line(out, f"Removed {document['removed']}. What it alone said no longer answers; its text stays in the log.")
