"""`ctxsync config`: show, path, edit and validate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ctxsync.cli.group import Command, Group
from ctxsync.cli.options import JsonFlag, home_of, open_app, require_home, show

if TYPE_CHECKING:
    from ctxsync.cli.output import Out

group = typer.Typer(
    cls=Group,
    add_completion=False,
    rich_markup_mode=None,
    help="""Show, edit and check the settings.

    Examples:
        ctxsync config show
        ctxsync config edit
    """,
)


@group.command("show", cls=Command)
def show_(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Show the settings in force, defaults included.

    Examples:
        ctxsync config show
        ctxsync config show --json
    """
    from dataclasses import asdict

    show(_plain(asdict(open_app(ctx).config)), _shown, as_json=as_json)


@group.command(cls=Command)
def path(ctx: typer.Context) -> None:
    """Print where config.toml stands.

    Examples:
        ctxsync config path
    """
    from ctxsync.cli.inert import inert

    typer.echo(inert(str(home_of(ctx).config_path)))


@group.command(cls=Command)
def edit(ctx: typer.Context) -> None:
    """Open config.toml in your editor, and check it afterwards.

    VISUAL, else EDITOR, else vi.

    Examples:
        EDITOR=nano ctxsync config edit
    """
    import os
    import shlex
    import subprocess

    from ctxsync.errors import ConfigError

    home = home_of(ctx)
    require_home(ctx, home)
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(editor), str(home.config_path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise ConfigError(f"The editor {editor!r} cannot be started: {error}.", remedy="Set EDITOR.") from error
    if code:
        raise ConfigError(f"The editor {editor!r} ended with code {code}.", remedy="Run `ctxsync config validate`.")
    validate(ctx)


@group.command(cls=Command)
def validate(ctx: typer.Context) -> None:
    """Check config.toml.

    Examples:
        ctxsync config validate
    """
    from ctxsync.cli.inert import inert

    app = open_app(ctx)
    number = len(app.config.sources)
    typer.echo(inert(f"{app.home.config_path} is valid; {number} {'source' if number == 1 else 'sources'}."))


def _plain(value: Any) -> Any:
    """Return settings as JSON: paths as text, tuples as lists."""
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(child) for child in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _shown(out: Out, document: dict[str, Any]) -> None:
    """Print the settings a line each, as `table.key = value`."""
    from ctxsync.cli.output import line

    for table, content in document.items():
        entries = content if isinstance(content, list) else [content]
        for number, entry in enumerate(entries, 1):
            name = f"{table}[{number}]" if isinstance(content, list) else table
            for key, value in entry.items():
                line(out, (f"{name}.{key}", "bold"), f" = {_toml(value)}")
    if not document.get("sources"):
        line(out, ("no sources yet", "dim"))


def _toml(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
