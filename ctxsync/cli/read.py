"""The commands that read the graph; they plan nothing and rank nothing themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.inert import typed
from ctxsync.cli.options import JsonFlag, KnownAt, Limit, SourceName, ValidAt, axes, now_ms, open_app, show

if TYPE_CHECKING:
    from ctxsync.app import App

Words = Annotated[list[str], typer.Argument(metavar="WORDS", help="Quotes are not needed.", show_default=False)]
Name = Annotated[
    list[str], typer.Argument(metavar="NAME", help="A name, an alias, a key or an id.", show_default=False)
]

SOURCES = "SELECT name FROM source ORDER BY name"


def ask(
    ctx: typer.Context,
    question: Words,
    *,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    source: SourceName = None,
    limit: Limit = 10,
    as_json: JsonFlag = False,
) -> None:
    """Answer a question, with sources.

    Facts come first, each with the place that states it. When no fact answers, the nearest passages are shown.
    No model is asked, and nothing leaves this machine.

    Examples:
        ctxsync ask where does Nadia work
        ctxsync ask "who owned the Orders Service?" --valid-at 2026-03
        ctxsync ask "what depends on Postgres?" --json
    """
    from ctxsync.engine import reading

    now, app = now_ms(), _app(ctx, source)
    moments = axes(valid_at, known_at, now=now)
    document = reading.ask(app.reader(), _words(question), now=now, source=source, limit=limit, **moments)
    _show("ask", document, now=now, as_json=as_json)


def search(
    ctx: typer.Context,
    query: Words,
    *,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    source: SourceName = None,
    limit: Limit = 10,
    as_json: JsonFlag = False,
) -> None:
    """Find passages by words and by meaning.

    Full text, vectors and the graph around what you name are fused into one ranking.

    Examples:
        ctxsync search database outage
        ctxsync search "moving to the new queue" --source vault --limit 5
    """
    from ctxsync.engine import reading

    now, app = now_ms(), _app(ctx, source)
    moments = axes(valid_at, known_at, now=now)
    document = reading.search(app.reader(), _words(query), now=now, source=source, limit=limit, **moments)
    _show("search", document, now=now, as_json=as_json)


def entity(
    ctx: typer.Context,
    name: Name,
    *,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    source: SourceName = None,
    limit: Limit = 50,
    as_json: JsonFlag = False,
) -> None:
    """Show what is known about someone or something.

    Examples:
        ctxsync entity Nadia Okoro
        ctxsync entity nadia@example.com --json
    """
    from ctxsync.engine import reading

    now, app = now_ms(), _app(ctx, source)
    moments = axes(valid_at, known_at, now=now)
    document = reading.entity(app.reader(), _words(name), now=now, source=source, limit=limit, **moments)
    _show("entity", document, now=now, as_json=as_json)


def facts(
    ctx: typer.Context,
    name: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Head or tail of the facts.", show_default=False)
    ] = None,
    *,
    head: Annotated[
        str | None, typer.Option("--head", metavar="NAME", help="Only with this head.", show_default=False)
    ] = None,
    relation: Annotated[
        str | None, typer.Option("--relation", metavar="NAME", help="Only this relation.", show_default=False)
    ] = None,
    tail: Annotated[
        str | None, typer.Option("--tail", metavar="NAME", help="Only with this tail.", show_default=False)
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Either end is of this type.", show_default=False)
    ] = None,
    past: Annotated[bool, typer.Option("--past", help="Also facts that no longer hold.")] = False,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    source: SourceName = None,
    limit: Limit = 50,
    as_json: JsonFlag = False,
) -> None:
    """List facts.

    Those that hold now; with --valid-at or --known-at, those that held, or were known, then.

    Examples:
        ctxsync facts Nadia Okoro
        ctxsync facts --relation depends_on --tail Postgres --past
    """
    from ctxsync.engine import reading
    from ctxsync.errors import UsageError

    if name and (head or tail):
        raise UsageError("NAME is either end: give it, or --head and --tail.", remedy="Run `ctxsync facts --help`.")
    now, app = now_ms(), _app(ctx, source)
    moments = axes(valid_at, known_at, now=now)
    about = _words(name) if name else None
    found = [
        fact
        for one_head, one_tail in ([(about, None), (None, about)] if about else [(head, tail)])
        for fact in reading.facts(
            app.reader(),
            now=now,
            head=one_head,
            relation=relation,
            tail=one_tail,
            type=kind,
            source=source,
            past=past,
            limit=limit,
            **moments,
        )["facts"]
    ]
    unlike = {(fact["id"], fact["valid_from"]): fact for fact in found}
    _show("facts", {"facts": list(unlike.values())[:limit]}, now=now, as_json=as_json)


def history(
    ctx: typer.Context,
    name: Annotated[
        list[str], typer.Argument(metavar="NAME|FACT", help="An entity, or the id of a fact.", show_default=False)
    ],
    *,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    source: SourceName = None,
    limit: Limit = 200,
    as_json: JsonFlag = False,
) -> None:
    """Show how facts changed, in the world and in the graph.

    Each version of a fact: when it held, and from when to when ctxsync believed so.

    Examples:
        ctxsync history Nadia Okoro
        ctxsync history 5f1c9a2e --json
    """
    from ctxsync.engine import reading

    now, app = now_ms(), _app(ctx, source)
    moments = axes(valid_at, known_at, now=now)
    document = reading.history(
        app.reader(), _words(name), now=now, known_at=moments["known_at"], source=source, limit=limit
    )
    _show("history", _holding(document, moments["valid_at"]), now=now, as_json=as_json)


def timeline(
    ctx: typer.Context,
    name: Name,
    *,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    source: SourceName = None,
    limit: Limit = 100,
    as_json: JsonFlag = False,
) -> None:
    """Show what happened around someone or something.

    In order of time: what began, what ended, and what was said of it.

    Examples:
        ctxsync timeline Project Heron
        ctxsync timeline Orders Service --source code --limit 20
    """
    from ctxsync.engine import reading

    now, app = now_ms(), _app(ctx, source)
    moments = axes(valid_at, known_at, now=now)
    document = reading.timeline(app.reader(), _words(name), now=now, source=source, limit=limit, **moments)
    _show("timeline", document, now=now, as_json=as_json)


def why(
    ctx: typer.Context,
    fact: Annotated[
        list[str],
        typer.Argument(metavar="FACT", help="A fact's id or its beginning, or a question.", show_default=False),
    ],
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what a fact rests on.

    Every text that states it or ends it: the words, the place, and the tier that read them.

    Examples:
        ctxsync why 5f1c9a2e
        ctxsync why where does Nadia work
    """
    from ctxsync.engine import reading
    from ctxsync.errors import UsageError

    now, app, words = now_ms(), _app(ctx, None), _words(fact)
    moments = axes(valid_at, known_at, now=now)
    if len(fact) > 1 or " " in words:
        answers = reading.ask(app.reader(), words, now=now, limit=1, **moments)["answers"]
        if not answers:
            raise UsageError(f"No fact answers {words!r}.", remedy="Take an id that `ctxsync facts` prints.")
        words = answers[0]["id"]
    document = reading.why(app.reader(), words, now=now, known_at=moments["known_at"])
    _show("why", _holding(document, moments["valid_at"]), now=now, as_json=as_json)


def _words(words: list[str]) -> str:
    """Return arguments as one text."""
    from ctxsync.errors import UsageError

    text = typed(" ".join(words)).strip()
    if not text:
        raise UsageError("There are no words to go by.", remedy="Run the command with --help for examples.")
    return text


def _app(ctx: typer.Context, source: str | None) -> App:
    """Open the home; raise `UsageError` for a source that neither the settings nor the graph know."""
    app = open_app(ctx)
    if source is not None:
        known = sorted(
            {configured.name for configured in app.config.sources} | {row[0] for row in app.reader().rows(SOURCES, {})}
        )
        if source not in known:
            from difflib import get_close_matches

            from ctxsync.errors import UsageError

            near = get_close_matches(source, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known) or 'none'}."
            raise UsageError(f"There is no source {source!r}. {hint}", remedy="Run `ctxsync source list`.")
    return app


def _holding(document: dict[str, Any], valid_at: int | None) -> dict[str, Any]:
    """Return the document with only those facts that hold at a valid time."""
    if valid_at is None:
        return document
    from ctxsync.cli.times import is_past

    def holds(fact: dict[str, Any]) -> bool:
        return is_past(fact["valid_from"], now=valid_at) and not is_past(fact["valid_to"], now=valid_at)

    return {**document, "facts": [fact for fact in document["facts"] if holds(fact)]}


def _show(command: str, document: dict[str, Any], *, now: int, as_json: bool) -> None:
    def render(out: Any, inert: dict[str, Any]) -> None:
        from ctxsync.cli import render

        getattr(render, command)(out, inert, now=now)

    show(document, render, as_json=as_json)
