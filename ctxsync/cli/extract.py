"""`ctxsync extract` and `ctxsync explain`: what a text would become, and what an episode became."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.inert import typed
from ctxsync.cli.options import JsonFlag, now_ms, open_app, read_stdin, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ctxsync.engine.extraction.base import Episode, Extraction

BATCH = 64
"""Lines extracted together: enough for the models' batches, and a first answer soon."""
FAILED = 1


def extract(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="The text; - reads it from stdin.", show_default=False)
    ] = None,
    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help='Read lines {"id","text","occurred_at"?,"source"?} from stdin; print one each.'),
    ] = False,
    as_json: JsonFlag = False,
) -> int:
    """Show what a text would become, without storing it.

    Needs no home. With --jsonl the models load once for all lines, and the order is kept; a line that cannot be read
    becomes {"id", "error"}, and the exit code is then 1.

    Examples:
        ctxsync extract "Nadia joined Fennel Labs in May 2025"
        ctxsync extract - < letter.txt
        ctxsync extract --jsonl < texts.jsonl > extractions.jsonl
    """
    from ctxsync.errors import UsageError

    if jsonl:
        if text and text != ["-"]:
            raise UsageError("--jsonl reads its lines from stdin.", remedy="Run `ctxsync extract --jsonl < FILE`.")
        return _batch(ctx, sys.stdin.buffer)
    words = read_stdin() if text in (["-"], None) and not sys.stdin.isatty() else typed(" ".join(text or []))
    if not words.strip() or words == "-":
        raise UsageError("There is no text.", remedy='Run `ctxsync extract "Nadia joined Fennel Labs"`.')
    from ctxsync.cli.render_extract import extraction

    episode = _episode({"id": "text", "text": words}, now_ms())
    for result, failures in _chain(ctx).extract([episode]):
        document = shape(result) | ({"failures": [str(failure) for failure in failures]} if failures else {})
        show(document, extraction, as_json=as_json)
    return 0


def explain(
    ctx: typer.Context,
    episode: Annotated[list[str], typer.Argument(metavar="EPISODE", help="An episode's id, a place, or place:line.")],
    as_json: JsonFlag = False,
) -> None:
    """Show how an episode was extracted, and why so.

    Each run with its tier and model, why it stayed at that tier or went on, and the entities and relations it found.

    Examples:
        ctxsync explain "People/Nadia Okoro.md"
        ctxsync explain "Daily/2026-01-05.md:12" --json
    """
    from ctxsync.cli.explanation import explain as explained
    from ctxsync.cli.render_extract import explanation

    show(explained(open_app(ctx), typed(" ".join(episode))), explanation, as_json=as_json)


def _chain(ctx: typer.Context) -> Any:
    from ctxsync.app import App
    from ctxsync.cli.options import home_of
    from ctxsync.config import load_config

    home = home_of(ctx)
    return App(home, load_config(home)).models.chain()


def _batch(ctx: typer.Context, lines: Iterable[bytes]) -> int:
    from ctxsync.cli.output import print_json_line

    chain = _chain(ctx)
    now, bad = now_ms(), 0
    for batch in batched(lines):
        read = [_line(line, number, now) for number, line in batch if line.strip()]
        results = chain.extract([episode for _, episode in read if not isinstance(episode, str)])
        for identity, episode in read:
            if isinstance(episode, str):
                bad += 1
                print_json_line({"id": identity, "error": episode})
            else:
                print_json_line(shape(next(results)[0]) | {"id": identity})
    if bad:
        sys.stderr.write(f"error: {bad} of the lines could not be read; each has an error in its place.\n")
    return FAILED if bad else 0


def _line(line: bytes, number: int, now: int) -> tuple[Any, Episode | str]:
    """Return the id of a line, as it stands there, and its episode, or why it has none."""
    import orjson

    identity: Any = number
    try:
        data = orjson.loads(line)
        identity = data.get("id", number) if isinstance(data, dict) else number
        return identity, _episode({"id": number, **data}, now)
    except (ValueError, TypeError, KeyError) as error:
        return identity, f"line {number}: {type(error).__name__}: {error}"


def _episode(data: dict[str, Any], now: int) -> Episode:
    """Return a text as an episode; raises `ValueError`, `TypeError` or `KeyError` where there is none."""
    from ctxsync.engine.extraction.base import Episode

    text, said = data["text"], data.get("occurred_at")
    if not isinstance(text, str):
        raise TypeError("text is not a string")
    return Episode(
        id=str(data["id"]),
        item=f"text:{data['id']}",
        kind="text",
        title="",
        text=text.replace("\r\n", "\n"),
        occurred_at=now if said is None else _moment(said, now),
        source=str(data.get("source") or ""),
    )


def _moment(said: Any, now: int) -> int:
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    from ctxsync.cli.times import parse_start

    return parse_start(str(said), now=now)


def shape(result: Extraction) -> dict[str, Any]:
    """Return DESIGN's `extract` JSON, and `keys`, spans, `phrase_class`, `ends`, `gate`, `model` and `ms` beside it."""
    return {
        "id": result.episode,
        "entities": [
            {
                "id": entity.id,
                "name": entity.name,
                "type": entity.type,
                "attributes": entity.attributes,
                "keys": list(entity.keys),
                "span": entity.span,
                "confidence": entity.confidence,
                "tier": entity.tier,
            }
            for entity in result.entities
        ],
        "relations": [
            {
                "head": relation.head,
                "relation": relation.relation,
                "tail": relation.tail,
                "phrase": relation.phrase,
                "quote": relation.quote,
                "confidence": relation.confidence,
                "valid_from": relation.valid_from,
                "valid_to": relation.valid_to,
                "phrase_class": relation.phrase_class,
                "ends": relation.ends,
                "span": relation.span,
                "tier": relation.tier,
            }
            for relation in result.relations
        ],
        "invalidates": result.invalidates,
        "suggestions": result.suggestions,
        "confidence": result.confidence,
        "tier": result.tier,
        "model": result.model,
        "gate": result.gate,
        "ms": result.ms,
    }


def batched(lines: Iterable[bytes]) -> Iterator[list[tuple[int, bytes]]]:
    """Yield numbered lines, `BATCH` at a time."""
    numbered = enumerate(lines, 1)
    while batch := list(islice(numbered, BATCH)):
        yield batch
