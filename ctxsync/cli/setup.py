"""The commands around first use: init, demo, mcp."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.inert import typed
from ctxsync.cli.options import JsonFlag, home_of, open_app, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.cli.group import Session
    from ctxsync.cli.output import Out

CONFIG = """\
# Settings of ctxsync. `ctxsync config edit` opens this file and checks it; `ctxsync config show` has every default.

[identity]
# Who "I" am in your own texts.
names = {names}
emails = {emails}

# Sources are added with `ctxsync source add notes ~/notes`, or by hand:
# [[sources]]
# name = "vault"
# type = "notes"
# path = "~/notes"
# exclude = ["private/**"]
#
# Mail and Slack: `ctxsync source add imap USER@HOST`, `mailbox PATH`, `slack`, `slack-export PATH`. Passwords and tokens
# never stand in this file: `ctxsync source secret NAME` keeps them in the keyring; env:NAME and command:… work as well.

[extraction]
# local-only: no text leaves this machine, and a language model on it is used where one runs | cloud-fallback: servers
# read what the local tiers are not sure of | cloud-quality: servers read everything. docs/tiers.md tells of each.
mode = {mode}

[privacy]
# false closes the only door for texts to leave by, whatever mode says.
allow_cloud = {allow_cloud}
"""
CEREBRAS = """
[cerebras]
api_key = "env:CEREBRAS_API_KEY"
"""
KEY = "CEREBRAS_API_KEY"
QUESTION = f"""{KEY} is set. May Cerebras, a company in the USA, read the texts that this machine is not sure of?
Names and the like leave as pseudonyms, keys and passwords never. `ctxsync egress` lists every call."""


def init(
    ctx: typer.Context,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="NAME", help="A name of yours; else git's user.name.", show_default=False),
    ] = None,
    email: Annotated[
        list[str] | None,
        typer.Option(
            "--email", metavar="ADDRESS", help="An address of yours; else git's user.email.", show_default=False
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a home for your graph.

    Writes config.toml with who you are, so that "I" and "my" in your notes mean you. A home that is there is left as
    it is. Nothing leaves this machine; only mail and Slack sources that you add yourself talk to their servers. Where it
    finds a key of a cloud model ($CEREBRAS_API_KEY), it asks at a terminal whether that may read what the local tiers
    are not sure of; without a yes the mode is local-only.

    Examples:
        ctxsync init
        ctxsync init --name "Robin Vale" --email robin@example.com
        ctxsync --home ~/graph init
    """
    from ctxsync.errors import UsageError
    from ctxsync.home import write_private

    home = home_of(ctx)
    if home.config_path.exists():
        if name or email:
            raise UsageError(f"{home.path} has its settings already.", remedy="Run `ctxsync config edit`.")
        show({"home": str(home.path), "created": False, "names": [], "emails": []}, _made, as_json=as_json)
        return
    names = [typed(one) for one in name] if name is not None else _git_identity("user.name")
    emails = [typed(one) for one in email] if email is not None else _git_identity("user.email")
    found = _models_here()
    mode = _agreed(found, ask=not as_json)
    cloud = mode != "local-only"
    text = CONFIG.format(
        names=_toml(names), emails=_toml(emails), mode=_toml(mode), allow_cloud="true" if cloud else "false"
    )
    text += CEREBRAS if cloud else ""
    from ctxsync.config import parse

    parse(text, str(home.config_path))
    home.create()
    write_private(home.config_path, text)
    document = {"home": str(home.path), "created": True, "names": names, "emails": emails, "mode": mode, "found": found}
    show(document, _made, as_json=as_json)


def demo(ctx: typer.Context) -> int:
    """See it at work on sample notes, commits, mail and Slack.

    Makes a home of its own in a temporary folder (or in --home), syncs the sample, asks it questions, shows a person
    across all sources, edits the notes, and asks again. It needs no network.

    Examples:
        ctxsync demo
    """
    from ctxsync.cli.output import console
    from ctxsync.demo import run

    session: Session = ctx.obj
    return run(Path(session.home) if session.home else None, console())


def mcp(ctx: typer.Context) -> None:
    """Serve ask and search to agents over MCP (stdio).

    Both tools only read. Nothing but the protocol is written to stdout.

    Examples:
        ctxsync --home ~/graph mcp
    """
    app = open_app(ctx)
    from ctxsync.mcp_server import serve

    serve(app)


def _git_identity(key: str) -> list[str]:
    """Return the person's own value of a git setting, if git is there and has one."""
    import subprocess

    try:
        answer = subprocess.run(
            ["git", "config", "--global", "--get", key], capture_output=True, check=False, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    value = answer.stdout.decode("utf-8", "replace").strip()
    return [value] if value else []


def _models_here() -> list[str]:
    """Return what there is to extract with beside the built-in tier: servers that listen here, and keys; sends nothing."""
    import os

    from ctxsync.tiers import LLAMA_CPP, OLLAMA, listens

    servers = [name for name, url in (("ollama", OLLAMA), ("llama.cpp", LLAMA_CPP)) if listens(url)]
    return [*servers, *([KEY] if os.environ.get(KEY) else [])]


def _agreed(found: Sequence[str], *, ask: bool) -> str:
    """Return the mode: a cloud one after a yes at a terminal alone."""
    import sys

    if KEY in found and ask and sys.stdin.isatty() and sys.stderr.isatty():
        typer.echo(QUESTION, err=True)
        if typer.confirm("Use it?", default=False, err=True):
            return "cloud-fallback"
    return "local-only"


def _toml(values: Sequence[str] | str) -> str:
    import tomlkit

    return tomlkit.item(values if isinstance(values, str) else list(values)).as_string()


def _made(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    if not document["created"]:
        line(out, f"Nothing was changed: {document['home']} is a home already.")
    else:
        line(out, "Made a home at ", (document["home"], "bold"), ".")
        who = ", ".join([*document["names"], *document["emails"]])
        line(out, f'"I" in your notes means {who}.' if who else 'Say who "I" am: ctxsync config edit')
        _models(out, document)
    line(out, "Next: ctxsync source add notes ~/notes, then ctxsync sync")
    line(out, "Also git repositories, mail and Slack: ctxsync source add --help")


def _models(out: Out, document: dict[str, Any]) -> None:
    """Print which models will read, and what else was found."""
    from ctxsync.cli.output import line

    found = document["found"]
    if "ollama" in found or "llama.cpp" in found:
        line(
            out,
            "A language model seems to run on this machine: it will read what the built-in tier is not sure of.",
        )
    if document["mode"] != "local-only":
        line(
            out,
            "Cerebras reads what this machine is not sure of. To stop that: allow_cloud = false, ctxsync config edit",
        )
    else:
        line(out, "No text leaves this machine (local-only).")
        if KEY in found:
            line(
                out, f"{KEY} is set and not used. To use it: mode and allow_cloud in ctxsync config edit, docs/tiers.md"
            )
