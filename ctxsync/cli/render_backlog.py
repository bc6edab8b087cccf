"""How what waits for higher tiers looks on a terminal; takes inert JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.cli.inert import one_line
from ctxsync.cli.output import count, joined, line

if TYPE_CHECKING:
    from ctxsync.cli.output import Out

TIERS = {0: "structural", 1: "local", 2: "local LLM", 3: "cloud", 4: "paid cloud"}


def mode(out: Out, document: dict[str, Any]) -> None:
    """Print the mode in force where it is not the usual one, or not the one that is configured."""
    now, said = document.get("mode") or "local-only", document.get("configured_mode") or "local-only"
    if now != said:
        told = f"{now}; {said} is configured, and [privacy] allow_cloud = false forbids it"
        line(out, ("mode   ", "dim"), told)
    elif now != "local-only":
        line(out, ("mode   ", "dim"), now)


def backlog(out: Out, found: dict[str, Any] | None) -> None:
    """Print what waits for each tier, what it would cost and when it ends."""
    if not found:
        return
    for tier in found["tiers"]:
        name = f"tier {tier['tier']} ({TIERS.get(tier['tier'], 'unknown')})"
        if not tier["waiting"]:
            continue
        ends = str(tier.get("ends") or "")[:16].replace("T", " ")
        parts = [
            f"{count(tier['waiting'], 'episode')} for {name}",
            f"about {tier['tokens']:,} tokens",
            f"${tier['cost_usd']:,.2f}" if tier["cost_usd"] else "no cost",
            f"done about {ends} UTC if ctxsync watch runs" if ends else "",
        ]
        line(out, ("waits  ", "dim"), joined(parts, ", "))
    if found["asking"] and not found["tiers"]:
        asking = f"{count(found['asking'], 'episode')} would gain from a higher tier"
        why = f": {one_line(found['local'])}" if found["local"] else "; ctxsync doctor says what there is"
        line(out, ("waits  ", "dim"), asking, why)
    for rest in found["rests"]:
        until = str(rest["until"])[:16].replace("T", " ")
        line(out, ("rests  ", "dim"), f"tier {rest['tier']} until {until} UTC: {one_line(rest['why'])}")
