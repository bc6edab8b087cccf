"""The list of commands and the options before them; importing it imports typer and no command."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxsync import __version__
from ctxsync.cli.group import Entry, LazyGroup, Session

PANELS: dict[str, tuple[Entry, ...]] = {
    "Start": (
        Entry("init", "ctxsync.cli.setup:init", "Make a home for your graph."),
        Entry(
            "source", "ctxsync.cli.source:group", "Add, list and remove sources: notes, repositories, mail and Slack."
        ),
        Entry("sync", "ctxsync.cli.write:sync", "Bring the graph up to date with your sources."),
        Entry("demo", "ctxsync.cli.setup:demo", "See it at work on sample notes, commits, mail and Slack."),
    ),
    "Ask": (
        Entry("ask", "ctxsync.cli.read:ask", "Answer a question, with sources."),
        Entry("search", "ctxsync.cli.read:search", "Find passages by words and by meaning."),
        Entry("entity", "ctxsync.cli.read:entity", "Show what is known about someone or something."),
        Entry("facts", "ctxsync.cli.read:facts", "List facts."),
        Entry("history", "ctxsync.cli.read:history", "Show how facts changed, in the world and in the graph."),
        Entry("timeline", "ctxsync.cli.read:timeline", "Show what happened around someone or something."),
        Entry("why", "ctxsync.cli.read:why", "Show what a fact rests on."),
    ),
    "Keep current": (
        Entry("watch", "ctxsync.cli.write:watch", "Sync whenever something changes, until Ctrl-C."),
        Entry("hook", "ctxsync.cli.hook:group", "Let git tell ctxsync about new commits."),
        Entry("log", "ctxsync.cli.write:log", "Write a thought down."),
    ),
    "Look inside": (
        Entry("status", "ctxsync.cli.admin:status", "Show what is stored, and what needs attention."),
        Entry("explain", "ctxsync.cli.extract:explain", "Show how an episode was extracted, and why so."),
        Entry("extract", "ctxsync.cli.extract:extract", "Show what a text would become, without storing it."),
        Entry("schema", "ctxsync.cli.schema:group", "Show the schema, and match phrases to it."),
        Entry(
            "egress",
            "ctxsync.cli.egress:egress",
            "List every call to a cloud model: when, where, which episode, how much.",
        ),
        Entry("doctor", "ctxsync.cli.admin:doctor", "Check this installation and this home."),
    ),
    "Log and graph": (
        Entry("verify", "ctxsync.cli.admin:verify", "Check the log's hash chain, and the graph against the log."),
        Entry(
            "rebuild", "ctxsync.cli.rebuild:rebuild", "Build the graph anew from the log, or try another model on it."
        ),
        Entry("export", "ctxsync.cli.admin:export_", "Write the log out as JSON Lines."),
        Entry("import", "ctxsync.cli.admin:import_", "Read an exported log into an empty home."),
    ),
    "Settings and other programs": (
        Entry("config", "ctxsync.cli.settings:group", "Show, edit and check the settings."),
        Entry("models", "ctxsync.cli.models:group", "List, add, fetch and remove models."),
        Entry("mcp", "ctxsync.cli.setup:mcp", "Serve ask and search to agents over MCP (stdio)."),
    ),
}

ABOUT = """ctxsync keeps a graph of what your notes, mail, Slack and commits say, on this machine, and answers from it with sources.

Start with three commands:

    ctxsync init
    ctxsync source add notes ~/notes
    ctxsync sync

Then ask: ctxsync ask "where does Nadia work?". To see it first on sample data, run: ctxsync demo
"""


class Root(LazyGroup):
    """`ctxsync` itself."""

    panels = PANELS


app = typer.Typer(name="ctxsync", cls=Root, help=ABOUT, rich_markup_mode=None, pretty_exceptions_enable=False)


def _version(*, value: bool) -> None:
    if value:
        typer.echo(f"ctxsync {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    home: Annotated[
        str | None,
        typer.Option(
            "--home",
            metavar="FOLDER",
            help="Where the graph lives. Else CTXSYNC_HOME, else the platform's data directory.",
            show_default=False,
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Keep the options before the command."""
    del version
    session = ctx.ensure_object(Session)
    session.home, session.debug = home, debug
