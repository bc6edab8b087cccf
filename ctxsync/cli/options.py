"""Options and helpers that several commands share; knows no command."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from ctxsync.cli.group import Session

if TYPE_CHECKING:
    from ctxsync.app import App
    from ctxsync.home import Home

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
ValidAt = Annotated[
    str | None,
    typer.Option(
        "--valid-at",
        metavar="TIME",
        help="As the world stood then: 2024, 2024-03, 2024-03-05 (their last moment, UTC), RFC 3339, or yesterday.",
        show_default=False,
    ),
]
KnownAt = Annotated[
    str | None,
    typer.Option("--known-at", metavar="TIME", help="As ctxsync knew it then; the same forms.", show_default=False),
]
SourceName = Annotated[
    str | None, typer.Option("--source", metavar="NAME", help="Only from this source.", show_default=False)
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, metavar="N", help="At most so many.")]


def now_ms() -> int:
    """Return the time in milliseconds UTC."""
    return time.time_ns() // 1_000_000


def home_of(ctx: typer.Context) -> Home:
    """Return the home that the command line names."""
    from ctxsync.home import resolve

    session: Session = ctx.ensure_object(Session)
    return resolve(session.home)


def open_app(ctx: typer.Context) -> App:
    """Return the app of an existing home.

    Raises:
        ConfigError: There is no home there yet, or its settings cannot be used.
    """
    from ctxsync.app import App
    from ctxsync.cli.write import say
    from ctxsync.config import load_config

    home = home_of(ctx)
    require_home(ctx, home)
    return App(home, load_config(home), on_wait=say)


def require_home(ctx: typer.Context, home: Home) -> None:
    """Raise `ConfigError` where neither settings nor a log stand; the remedy makes the home that was named."""
    if not home.config_path.exists() and not home.events_path.exists():
        import shlex

        from ctxsync.errors import ConfigError

        session: Session = ctx.ensure_object(Session)
        named = f" --home {shlex.quote(session.home)}" if session.home else ""
        raise ConfigError(f"There is no ctxsync home at {home.path} yet.", remedy=f"Run `ctxsync{named} init`.")


class Axes(TypedDict):
    """Both time options in milliseconds UTC, as the reading functions take them."""

    valid_at: int | None
    known_at: int | None


def axes(valid_at: str | None, known_at: str | None, *, now: int) -> Axes:
    """Read both time options; raises `UsageError`."""
    from ctxsync.cli.times import parse_moment

    return {
        "valid_at": None if valid_at is None else parse_moment(valid_at, now=now, option="--valid-at"),
        "known_at": None if known_at is None else parse_moment(known_at, now=now, option="--known-at"),
    }


def read_stdin() -> str:
    """Return what stands on stdin as text, bytes that are not UTF-8 replaced."""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def show(document: Any, render: Any, *, as_json: bool, **context: Any) -> None:
    """Print a document: as JSON, or by `render(console, inert document, **context)`.

    Every string of the document is made inert before any renderer sees it.
    """
    if as_json:
        from ctxsync.cli.output import print_json

        print_json(document)
        return
    from ctxsync.cli.inert import inert_document
    from ctxsync.cli.output import console

    render(console(), inert_document(document), **context)
