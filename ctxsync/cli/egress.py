"""`ctxsync egress`: every call that left this machine, from the ledger that was written before each one did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.options import JsonFlag, home_of, now_ms, require_home, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.cli.output import Out

_STATUS = {
    "ok": "answered",
    "sent": "sent; whether it was answered is not known",
    "limited": "turned away: a rate limit",
    "down": "not answered",
    "refused": "refused",
    "bad": "answered with what cannot be used",
}


def egress(
    ctx: typer.Context,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Only since then: 2024-03-05, 2024-03, 2024 (from its first moment on, UTC), RFC 3339, today, yesterday.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List every call to a cloud model: when, where, which episode, how much.

    The hash is the SHA-256 of what was sent, after secrets were cut out and names replaced; the text itself is not kept.
    What this machine's own models were asked is not listed: it did not leave.

    Examples:
        ctxsync egress
        ctxsync egress --since today
        ctxsync egress --json
    """
    from ctxsync.engine.door.ledger import Ledger

    home = home_of(ctx)
    require_home(ctx, home)
    ledger = Ledger(home.egress_path)
    try:
        calls = [_shape(row) for row in ledger.calls(since=_start(since) if since is not None else 0.0)]
    finally:
        ledger.close()
    document = {"since": since, "calls": calls, "totals": _totals(calls)}
    show(document, _render, as_json=as_json)


def _start(text: str) -> float:
    from ctxsync.cli.times import parse_start
    from ctxsync.errors import UsageError

    try:
        return parse_start(text, now=now_ms()) / 1000
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since: {text!r} is not a time.", remedy="Write --since 2024, 2024-03, 2024-03-05 or yesterday."
        ) from error


def _shape(row: dict[str, Any]) -> dict[str, Any]:
    from ctxsync.engine.reading.clock import rfc3339

    return {
        "at": rfc3339(round(row["at"] * 1000)),
        "provider": row["provider"],
        "host": row["host"],
        "model": row["model"],
        "source": row["source"],
        "episode": row["episode"],
        "sha256": row["digest"],
        "bytes": row["bytes"],
        "status": row["status"],
        "http": row["http"],
        "tokens_in": row["tokens_in"] or 0,
        "tokens_out": row["tokens_out"] or 0,
        "cost_usd": row["cost"] or 0.0,
        "ms": row["ms"],
        "flags": row["flags"].split(),
    }


def _totals(calls: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def total(chosen: Sequence[dict[str, Any]]) -> dict[str, Any]:
        sums = {key: sum(call[key] for call in chosen) for key in ("bytes", "tokens_in", "tokens_out", "cost_usd")}
        return {
            "calls": len(chosen),
            "answered": sum(call["status"] == "ok" for call in chosen),
            **sums,
            "with_secrets_kept_back": sum(bool(call["flags"]) for call in chosen),
        }

    hosts = sorted({call["host"] for call in calls})
    return {**total(calls), "hosts": {host: total([call for call in calls if call["host"] == host]) for host in hosts}}


def _render(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.inert import one_line
    from ctxsync.cli.output import count, joined, line
    from ctxsync.cli.times import instant_words

    calls, totals = document["calls"], document["totals"]
    if not calls:
        since = document["since"]
        line(
            out,
            f"Nothing has left this machine since {one_line(since)}." if since else "Nothing ever left this machine.",
        )
        return
    for call in calls:
        line(
            out,
            (instant_words(call["at"]), "dim"),
            f"  {one_line(call['host'])}  {one_line(call['model'])}  ",
            (_STATUS.get(call["status"], call["status"]), "green" if call["status"] == "ok" else "yellow"),
        )
        counted = f"{call['tokens_in']:,} tokens in, {call['tokens_out']:,} out"
        told = [one_line(call["episode"]), one_line(call["source"]), count(call["bytes"], "byte"), counted]
        line(out, joined([*told, f"${call['cost_usd']:.6f}"]), indent=2, hang=2)
        kept = ", ".join(flag.partition(":")[2] for flag in call["flags"])
        line(out, (f"sha256 {call['sha256']}", "dim"), indent=2, hang=2)
        if kept:
            line(out, (f"kept back: {one_line(kept)}", "yellow"), indent=2, hang=2)
    line(out)
    for host, sums in totals["hosts"].items():
        line(out, f"{one_line(host)}: {_sums(sums)}")
    if len(totals["hosts"]) > 1:
        line(out, ("in all: ", "bold"), _sums(totals))


def _sums(sums: dict[str, Any]) -> str:
    from ctxsync.cli.output import count

    tokens = f"{sums['tokens_in']:,} tokens in, {sums['tokens_out']:,} out"
    kept = sums["with_secrets_kept_back"]
    back = f"; secrets kept back from {kept:,} of them" if kept else ""
    return f"{count(sums['calls'], 'call')}, {sums['answered']:,} answered, {tokens}, ${sums['cost_usd']:.4f}{back}"
