"""`ctxsync schema`: list, and match phrases."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.group import Command, Group
from ctxsync.cli.inert import one_line, typed
from ctxsync.cli.options import JsonFlag, home_of, show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxsync.cli.output import Out
    from ctxsync.engine.embedding import VectorCache
    from ctxsync.home import Home

FAILED = 1

group = typer.Typer(
    cls=Group,
    add_completion=False,
    rich_markup_mode=None,
    help="""Show the schema, and match phrases to it.

    Examples:
        ctxsync schema list
        ctxsync schema match "is employed by"
    """,
)


@group.command("list", cls=Command)
def list_(as_json: JsonFlag = False) -> None:
    """List entity types, relations and their phrase classes.

    Examples:
        ctxsync schema list
        ctxsync schema list --json
    """
    from dataclasses import asdict

    from ctxsync.engine.schema import universal

    schema = universal()
    document = {
        "digest": schema.digest,
        "entity_types": [{"name": name, "description": about} for name, about in schema.entity_types.items()],
        "relations": [
            {
                "name": name,
                "description": about,
                "classes": [asdict(known) for known in schema.classes.values() if known.relation == name],
            }
            for name, about in schema.relations.items()
        ],
    }
    show(document, _listed, as_json=as_json)


@group.command(cls=Command)
def match(
    ctx: typer.Context,
    phrase: Annotated[list[str] | None, typer.Argument(metavar="PHRASE", help="A phrase.", show_default=False)] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help='Read lines {"phrase"} from stdin; print each with its match.')
    ] = False,
    as_json: JsonFlag = False,
) -> int:
    """Say which relation a phrase stands for, in which direction, and how surely.

    Direction 1 is "head phrase tail", -1 is "tail phrase head". With --jsonl the models load once for all lines.

    Examples:
        ctxsync schema match "is employed by"
        ctxsync schema match --jsonl < phrases.jsonl
    """
    from ctxsync.errors import UsageError

    if jsonl:
        return _batch(home_of(ctx), sys.stdin.buffer)
    if not phrase:
        raise UsageError("There is no phrase.", remedy='Run `ctxsync schema match "works at"`.')
    words = typed(" ".join(phrase))
    show({"phrase": words, **_matches(home_of(ctx), [words])[0]}, _matched, as_json=as_json)
    return 0


def _matches(home: Home, phrases: list[str]) -> list[dict[str, Any]]:
    from contextlib import closing, nullcontext

    from ctxsync.engine.extraction.matcher import Matcher
    from ctxsync.engine.schema import universal

    cache = _cache(home)
    with closing(cache) if cache is not None else nullcontext():
        return [
            {
                "relation": found.relation,
                "phrase_class": found.phrase_class,
                "direction": found.direction,
                "score": round(float(found.score), 4),
            }
            for found in Matcher(universal, cache=cache).match(phrases)
        ]


def _cache(home: Home) -> VectorCache | None:
    """Return the home's vectors; None where there is no home yet, or it cannot be written: they only save time."""
    from ctxsync.engine.embedding import VectorCache
    from ctxsync.errors import ConfigError, StoreError

    if not home.config_path.exists() and not home.events_path.exists():
        return None
    try:
        home.reserve(home.cache_path)
        return VectorCache(home.cache_path)
    except (ConfigError, StoreError):
        return None


def _batch(home: Home, lines: Iterable[bytes]) -> int:
    """Match all lines at once: phrases are short, and the matcher's batch is what makes it quick."""
    import orjson

    from ctxsync.cli.output import print_json_line

    read: list[dict[str, Any]] = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            data = orjson.loads(text)
            good = isinstance(data, dict) and isinstance(data.get("phrase"), str)
            read.append(data if good else {"error": f'line {number}: not {{"phrase": text}}'})
        except ValueError as error:
            read.append({"error": f"line {number}: {error}"})
    good_lines = [entry for entry in read if "error" not in entry]
    results = iter(_matches(home, [entry["phrase"] for entry in good_lines]))
    for entry in read:
        print_json_line(entry if "error" in entry else entry | next(results))
    return FAILED if len(good_lines) < len(read) else 0


def _listed(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    line(out, ("entity types", "bold"))
    for kind in document["entity_types"]:
        line(out, (kind["name"], "bold"), f"  {kind['description']}", indent=2)
    line(out, ("relations", "bold"))
    for relation in document["relations"]:
        line(out, (relation["name"], "bold"), f"  {relation['description']}", indent=2)
        for known in relation["classes"]:
            traits = [trait for trait in ("single", "symmetric", "acyclic") if known[trait]]
            line(out, f"{known['name']}: {', '.join(known['phrases'])}", (f"  {' '.join(traits)}", "dim"), indent=4)


def _matched(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    ends = ("head", "tail") if document["direction"] == 1 else ("tail", "head")
    line(
        out,
        f"{ends[0]} {one_line(document['phrase'])} {ends[1]}: ",
        (f"{document['relation']}/{document['phrase_class']}", "bold"),
        (f"  score {document['score']:.2f}", "dim"),
    )
