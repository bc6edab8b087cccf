"""How status, checks and rebuilds look on a terminal; takes inert JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.cli import render_backlog
from ctxsync.cli.inert import one_line
from ctxsync.cli.output import count, joined, line
from ctxsync.cli.times import instant_words

if TYPE_CHECKING:
    from ctxsync.cli.output import Out

_SIGNS = {"ok": ("ok", "green"), "warning": ("warn", "yellow"), "error": ("fail", "bold red")}
_TIERS = {"0": "structural", "1": "local", "2": "local LLM", "3": "cloud", "4": "paid cloud"}


def status(out: Out, document: dict[str, Any]) -> None:
    """Print what a home holds: counts, a block a source, then what needs attention."""
    facts = document["facts"]
    line(out, ("home   ", "dim"), one_line(str(document.get("home", ""))))
    line(
        out,
        ("log    ", "dim"),
        f"{count(document['events'], 'event')}, {count(document['episodes'], 'episode')}",
    )
    state = document.get("graph", "ready")
    if state in {"ready", "missing"}:
        told = f"{count(facts['current'], 'current fact')} of {facts['all']:,}, "
        line(out, ("graph  ", "dim"), told, count(document["entities"], "entity", "entities"), _lag(document))
    else:
        line(out, ("graph  ", "dim"), f"{one_line(state)} Build it anew: ctxsync rebuild")
    tiers = document.get("tier_shares") or {}
    if tiers:
        shares = [
            f"{_TIERS.get(tier, f'tier {tier}')} {held['episodes']:,} ({held['share']:.0%})"
            for tier, held in sorted(tiers.items())
        ]
        spent = f"; {document['tokens']:,} tokens" if document.get("tokens") else ""
        cost = f", ${document['cost_usd']:,.2f}" if document.get("cost_usd") else ""
        line(out, ("tiers  ", "dim"), f"{', '.join(shares)} of episodes{spent}{cost}")
    render_backlog.mode(out, document)
    render_backlog.backlog(out, document.get("backlog"))
    for key in ("state_hash", "history_hash"):
        if document.get(key):
            line(out, (f"{key} ", "dim"), str(document[key]))
    _sources(out, document["sources"])
    _attention(out, document)


def _lag(document: dict[str, Any]) -> str:
    lag = document.get("lag") or 0
    return f"; {count(lag, 'event')} behind the log: run ctxsync sync" if lag and document["events"] else ""


def _sources(out: Out, sources: list[dict[str, Any]]) -> None:
    if not sources:
        line(out, "no sources yet: run ctxsync source add notes ~/notes")
        return
    line(out)
    for source in sources:
        synced = source.get("last_success")
        skipped = sum((source.get("skipped") or {}).values())
        told = [
            str(source.get("type", "")),
            count(source.get("items") or 0, "item"),
            f"synced {instant_words(synced)[:16]} UTC" if synced else _unread(source),
            f"{skipped:,} skipped" if skipped else "",
        ]
        line(
            out,
            (one_line(source["name"]), "bold"),
            f"  {joined(told)}",
            ("  paused" if source.get("paused") else "", "yellow"),
        )


def _unread(source: dict[str, Any]) -> str:
    return "not read to its end yet" if source.get("items") else "never synced"


def _attention(out: Out, document: dict[str, Any]) -> None:
    for source in document["sources"]:
        for pause in source.get("paused") or []:
            line(out)
            line(out, ("paused ", "bold yellow"), f"{one_line(source['name'])}: {one_line(pause.get('reason', ''))}")
            if waits := source.get("waits_until"):
                line(out, f"nothing to do: it goes on after {instant_words(waits)[:16]} UTC", indent=4)
                continue
            again = f"ctxsync sync, or ctxsync sync --allow-deletes {one_line(source['name'])}"
            line(out, f"try: {one_line(pause.get('remedy') or again)}", indent=4)
    held = document.get("quarantined") or []
    if isinstance(held, list) and held:
        line(out)
        line(out, ("quarantined ", "bold yellow"), count(len(held), "item"))
        for entry in held:
            place, error = one_line(entry["place"]), one_line(entry["error"])
            told = "" if error.startswith(f"{place} ") else f"{place}: "
            line(out, f"{one_line(entry['source'])}: {told}{error}", indent=4)
        line(out, "try: correct the files, or ctxsync sync --retry-quarantined", indent=4)
    if document.get("contradictions"):
        line(out, ("open contradictions ", "yellow"), str(document["contradictions"]))


def doctor(out: Out, document: dict[str, Any]) -> None:
    """Print each finding, and what to do about it."""
    for finding in document["findings"]:
        sign, style = _SIGNS.get(finding["level"], (finding["level"], ""))
        line(out, (f"{sign:<4}  ", style), (f"{finding['check']:<8} ", "bold"), one_line(finding["message"]), hang=6)
        if finding.get("remedy"):
            line(out, f"try: {one_line(finding['remedy'])}", indent=6)
    wrong = sum(not finding["ok"] for finding in document["findings"])
    line(out, f"{count(wrong, 'finding')} to look at." if wrong else "All is well.")


def verify(out: Out, document: dict[str, Any]) -> None:
    """Print what was checked."""
    line(out, f"The log holds {count(document['events'], 'event')}, and its hash chain is whole.")
    if document.get("erased"):
        line(out, f"{count(document['erased'], 'event')} erased on request.")
    graph = document.get("graph")
    if graph == "agrees":
        deep = " A graph rebuilt from the log is the same." if document.get("rebuilt") else ""
        line(out, f"The graph stands on this log.{deep}")
    elif graph == "differs":
        line(out, ("The graph does not agree with the log.", "bold yellow"), " Build it anew: ctxsync rebuild")
    else:
        line(out, f"{one_line(str(graph))} Build it: ctxsync rebuild")


def rebuilt(out: Out, document: dict[str, Any]) -> None:
    """Print what a rebuilt graph holds."""
    counts = document.get("counts") or {}
    facts = counts.get("facts")
    number = facts.get("current") if isinstance(facts, dict) else facts
    told = f" with {count(number, 'current fact')}" if isinstance(number, int) else ""
    line(out, f"The graph stands at position {document['position']:,}{told}, after {document.get('seconds', 0):.1f} s.")
    for key in ("state_hash", "history_hash"):
        if document.get(key):
            line(out, (f"{key} ", "dim"), str(document[key]))


def exported(out: Out, document: dict[str, Any]) -> None:
    """Print where the log went."""
    line(out, f"Wrote {count(document['events'], 'event')} to {one_line(document['folder'])}.")
