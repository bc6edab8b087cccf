"""`ctxsync extract` and `ctxsync explain`: what a text would become, and what an episode became."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.inert import typed
from ctxsync.cli.options import JsonFlag, now_ms, open_app, read_stdin, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctxsync.app import App
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
    tier: Annotated[
        int,
        typer.Option(
            "--tier",
            min=1,
            max=4,
            metavar="N",
            help="Also ask this tier: 2 a local LLM, 3 and 4 the cloud, if allowed.",
        ),
    ] = 1,
    as_json: JsonFlag = False,
) -> int:
    """Show what a text would become, without storing it.

    Needs no home. With --jsonl the models load once for all lines, and the order is kept; a line that cannot be read
    becomes {"id", "error"}, and the exit code is then 1. With --tier 2, 3 or 4 the model of that tier reads the text as
    well, whatever the gate says; where it fails, the lower tiers' result is shown with the failure (exit code 1).

    Examples:
        ctxsync extract "Nadia joined Fennel Labs in May 2025"
        ctxsync extract - < letter.txt
        ctxsync extract --tier 2 "Nadia left Fennel Labs for Harbour Press"
        ctxsync extract --jsonl < texts.jsonl > extractions.jsonl
    """
    from ctxsync.errors import UsageError

    if jsonl:
        if text and text != ["-"]:
            raise UsageError("--jsonl reads its lines from stdin.", remedy="Run `ctxsync extract --jsonl < FILE`.")
        return _batch(ctx, sys.stdin.buffer, tier)
    words = read_stdin() if text in (["-"], None) and not sys.stdin.isatty() else typed(" ".join(text or []))
    if not words.strip() or words == "-":
        raise UsageError("There is no text.", remedy='Run `ctxsync extract "Nadia joined Fennel Labs"`.')
    from ctxsync.cli.render_extract import extraction

    episode = _episode({"id": "text", "text": words}, now_ms())
    failed = False
    for result, failures in _chain(ctx, tier).extract([episode]):
        told = [failure.error for failure in failures]
        show(shape(result) | ({"failures": told} if told else {}), extraction, as_json=as_json)
        failed = any(failure.tier > 1 for failure in failures)
    return FAILED if failed else 0


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


def _chain(ctx: typer.Context, tier: int) -> Any:
    from ctxsync.app import App
    from ctxsync.cli.options import home_of
    from ctxsync.config import load_config

    home = home_of(ctx)
    app = App(home, load_config(home))
    return app.models.chain() if tier == 1 else _Higher(app, tier)


class _Higher:
    """The chain with one higher tier behind it, which reads every text.

    Args:
        app: The home; its graph, where there is one, gives no facts: what is shown depends on the text alone.
        tier: Its number.

    Raises:
        UsageError: The settings have no such tier.
    """

    def __init__(self, app: App, tier: int) -> None:
        from ctxsync.errors import UsageError

        steps, why = app.higher()
        found = [step for step in steps if step.lowest <= tier <= step.highest]
        if not found:
            closed = f"The mode is {app.config.mode}, or no server of that tier has a key."
            raise UsageError(
                f"There is no tier {tier} here. {why if tier == 2 and why else closed}",
                remedy="Run `ctxsync doctor`, which says what there is.",
            )
        self._chain, self._step = app.models.chain(), found[0]

    def extract(self, episodes: Sequence[Episode]) -> Iterator[tuple[Extraction, list[Any]]]:
        """Yield, for each episode in order, what all tiers made of it and which failed."""
        from ctxsync.engine.extraction.chain import ExtractionFailure
        from ctxsync.engine.extraction.escalation import joined
        from ctxsync.errors import ExtractionError

        for episode, (lower, failures) in zip(episodes, self._chain.extract(episodes), strict=True):
            upper = next(iter(self._step.tier.extract([episode], [lower])))
            if isinstance(upper, ExtractionError):
                failure = ExtractionFailure(self._step.lowest, self._step.tier.model, str(upper))
                yield lower, [*failures, failure]
            else:
                yield joined(self._step, lower, upper, {}), failures


def _batch(ctx: typer.Context, lines: Iterable[bytes], tier: int) -> int:
    from ctxsync.cli.output import print_json_line

    chain = _chain(ctx, tier)
    now, bad = now_ms(), 0
    for batch in batched(lines):
        read = [_line(line, number, now) for number, line in batch if line.strip()]
        results = chain.extract([episode for _, episode in read if not isinstance(episode, str)])
        for identity, episode in read:
            if isinstance(episode, str):
                bad += 1
                print_json_line({"id": identity, "error": episode})
            else:
                result, failures = next(results)
                told = {"failures": [failure.error for failure in failures]} if failures else {}
                print_json_line(shape(result) | {"id": identity} | told)
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
        "tokens_in": result.tokens_in,
        "tokens_out": result.tokens_out,
        "cost_usd": result.cost_usd,
    }


def batched(lines: Iterable[bytes]) -> Iterator[list[tuple[int, bytes]]]:
    """Yield numbered lines, `BATCH` at a time."""
    numbered = enumerate(lines, 1)
    while batch := list(islice(numbered, BATCH)):
        yield batch
