"""`ctxsync source`: add, list, remove, and keep the secret of one."""

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
    help="""Add, list and remove sources: notes, repositories, mail and Slack.

    Examples:
        ctxsync source add notes ~/notes
        ctxsync source add imap robin@mail.example.com
        ctxsync source list
    """,
)


def _option(name: str, metavar: str, about: str) -> Any:
    return typer.Option(name, metavar=metavar, help=about, show_default=False)


@group.command(cls=Command)
def add(
    ctx: typer.Context,
    kind: Annotated[
        str, typer.Argument(metavar="TYPE", help="notes, git, imap, mailbox, slack or slack-export; see below.")
    ],
    location: Annotated[
        str, typer.Argument(metavar="LOCATION", help="The folder or file; user@host for imap.", show_default=False)
    ] = "",
    *,
    name: Annotated[str | None, _option("--name", "N", "What to call it; else it is named by its location.")] = None,
    trust: Annotated[str | None, _option("--trust", "own|others", "Whose words it holds; notes are own.")] = None,
    include: Annotated[list[str] | None, _option("--include", "GLOB", "Read only these files.")] = None,
    exclude: Annotated[
        list[str] | None, _option("--exclude", "GLOB", "Leave these files, folders or channels out.")
    ] = None,
    since: Annotated[str | None, _option("--since", "DATE", "Mail, Slack: nothing older, as 2024-01-31.")] = None,
    host: Annotated[str | None, _option("--host", "HOST", "imap: the server; LOCATION is then the user.")] = None,
    port: Annotated[int | None, _option("--port", "N", "imap: else 993, or 143 without TLS.")] = None,
    tls: Annotated[str | None, _option("--tls", "tls|starttls|none", "imap: how the line is secured.")] = None,
    tls_ca: Annotated[
        str | None, _option("--tls-ca", "FILE", "imap: certificates of a server that signs its own.")
    ] = None,
    folders: Annotated[list[str] | None, _option("--folders", "GLOB", "imap: only these mail folders.")] = None,
    channels: Annotated[list[str] | None, _option("--channels", "GLOB", "Slack: only these channels.")] = None,
    secret: Annotated[
        str | None,
        _option("--secret", "SPEC", "imap, slack: where password or token is: keyring:, env:NAME, command:…"),
    ] = None,
    app_token: Annotated[
        str | None, _option("--app-token", "SPEC", "slack: where an app-level token is; turns on Socket Mode.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Add a source to the settings; the next sync reads it.

    Types: notes (a folder of Markdown), git (a repository), imap (a mail account), mailbox (an mbox, a Maildir or a
    folder of .eml files), slack (a workspace), slack-export (its export, a zip or folder). Passwords and tokens are never
    arguments: `ctxsync source secret NAME` asks for them and keeps them in the keyring.

    Examples:
        ctxsync source add notes ~/notes --name vault
        ctxsync source add git ~/src/project
        ctxsync source add imap robin@mail.example.com --name work --folders INBOX --folders Sent
        ctxsync source add imap robin@example.com --host mail.example.com
        ctxsync source add mailbox ~/Takeout/All.mbox
        ctxsync source add slack harbourlight --channels "team-*" --app-token keyring:
        ctxsync source add slack-export ~/Downloads/export.zip
    """
    import os

    from ctxsync.errors import UsageError

    if not location and kind != "slack":
        what = {"imap": "user@host, the account", "git": "the repository's folder", "notes": "the notes' folder"}
        raise UsageError(
            f"Missing LOCATION: {what.get(kind, 'its file or folder')}.", remedy="Run `ctxsync source add --help`."
        )
    options: dict[str, Any] = {
        "trust": trust,
        "include": tuple(include or ()),
        "exclude": tuple(exclude or ()),
        "since": since,
        "host": host,
        "port": port,
        "tls": tls,
        "tls_ca": os.path.abspath(os.path.expanduser(tls_ca)) if tls_ca else None,  # noqa: PTH100, PTH111 - as home.expanded
        "folders": tuple(folders or ()),
        "channels": tuple(channels or ()),
        "token" if kind == "slack" else "password": secret,
        "app_token": app_token,
    }
    document = open_app(ctx).add_source(kind, location, name=name, **options)
    show(document, _added, as_json=as_json)


@group.command(cls=Command)
def secret(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SOURCE", help="Its name.")],
    setting: Annotated[
        str,
        typer.Argument(
            metavar="SETTING", help="password, token, app_token …; else the one it needs.", show_default=False
        ),
    ] = "",
    as_json: JsonFlag = False,
) -> None:
    """Ask for a source's password or token and keep it in the keyring.

    What is typed is not shown. It goes to the keyring of your desktop (or the one that the package keyring is set up
    with), not into a file of ctxsync. Where there is no keyring, config.toml can say env:NAME or command:… instead.

    Examples:
        ctxsync source secret work
        ctxsync source secret team app_token
        pass show mail | ctxsync source secret work
    """
    from ctxsync.cli.asking import ask_secret

    show(open_app(ctx).store_secret(name, setting, ask_secret), _stored, as_json=as_json)


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
    forget: Annotated[
        bool, typer.Option("--forget", help="Not in this version: erase its text from the log as well.")
    ] = False,
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

    line(out, "Added ", (document["name"], "bold"), f" ({document['type']}, {document['location']}).")
    specs = [document[key] for key in ("password", "token", "oauth_token") if key in document]
    if any(spec.startswith("keyring:") for spec in specs):
        line(
            out,
            f"Store its {'token' if document['type'] == 'slack' else 'password'}: ctxsync source secret {document['name']}",
        )
    line(out, "Read it with: ctxsync sync")


def _stored(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    line(
        out,
        f"{'Replaced' if document['replaced'] else 'Stored'} the {document['setting']} of {document['name']} in the keyring.",
    )
    line(out, "Try it: ctxsync doctor --online")


def _listed(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    if not document["sources"]:
        line(out, "There are no sources yet. Add one: ctxsync source add notes ~/notes")
    for source in document["sources"]:
        line(out, (source["name"], "bold"), f"  {source['type']}  {source['location']}  trust {source['trust']}")


def _removed(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    line(out, f"Removed {document['removed']}. What it alone said no longer answers; its text stays in the log.")
    if document.get("forgotten"):
        line(out, f"Its {' and '.join(document['forgotten'])} is gone from the keyring.")
