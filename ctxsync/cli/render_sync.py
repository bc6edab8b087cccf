"""How the reports of commands that write look on a terminal; takes inert JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.cli import render_backlog
from ctxsync.cli.inert import one_line
from ctxsync.cli.output import count, joined, line

if TYPE_CHECKING:
    from ctxsync.cli.output import Out

_COUNTS = ("seen", "observed", "unchanged", "moved", "retracted", "quarantined")
_NARROW = 90
INNER = "."  # how the names of streams begin that are no place a person knows: `.`, `.directory`


def report(out: Out, document: dict[str, Any]) -> None:
    """Print a pass: a line or a table row for each source, then the whole, then what needs attention."""
    sources = document["sources"]
    if not sources and document.get("interrupted"):
        return
    if not sources:
        line(out, "There are no sources yet. Add one: ctxsync source add notes ~/notes")
    elif out.width < _NARROW:
        _list(out, sources)
    else:
        _table(out, sources)
    for source in sources:
        skipped = source.get("skipped") or {}
        if skipped:
            kinds = ", ".join(f"{number} {one_line(kind)}" for kind, number in sorted(skipped.items()))
            line(out, (f"{one_line(source['name'])}: skipped, no parser: {kinds}", "dim"))
    line(out, _whole(document))
    _higher(out, document)
    for note in document.get("notes") or []:
        line(out, one_line(str(note)))
    problems(out, document.get("problems") or [])


def _table(out: Out, sources: list[dict[str, Any]]) -> None:
    rows = [["source", "seen", "new or changed", "unchanged", "moved", "gone", "quarantined", "seconds"]]
    for source in sources:
        name = one_line(source["name"]) + (" (paused)" if source.get("paused") else "")
        numbers = [f"{source.get(key) or 0:,}" for key in _COUNTS]
        rows.append([name, *numbers, f"{source.get('seconds') or 0:.1f}"])
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        line(out, ("  ".join(cells), "" if number else "bold"))


def _list(out: Out, sources: list[dict[str, Any]]) -> None:
    for source in sources:
        numbers = [
            count(source.get("seen") or 0, "seen", "seen"),
            *(f"{source[key]:,} {key}" for key in _COUNTS[1:] if source.get(key)),
            "paused" if source.get("paused") else "",
        ]
        line(out, (one_line(source["name"]), "bold"), f": {joined(numbers, ', ')}")


def _whole(document: dict[str, Any]) -> str:
    if document.get("dry_run"):
        estimate = document.get("estimate") or {}
        seconds = estimate.get("seconds", document.get("estimated_seconds"))
        cost = estimate.get("cost_usd", document.get("cost_usd", 0)) or 0
        sections = sum(int(source.get("sections") or 0) for source in document["sources"])
        return joined(
            [
                "Nothing was stored",
                f"{count(sections, 'section')} would be extracted" if sections else "",
                f"about {seconds:,.0f} s" if isinstance(seconds, (int, float)) else "",
                f"cost ${cost:,.2f}",
            ],
            "; ",
        )
    return (
        f"{count(document.get('extracted') or 0, 'episode')} extracted, "
        f"{count(document.get('new_facts') or 0, 'new fact')}, {document.get('facts') or 0:,} current; "
        f"{document.get('seconds') or 0:.1f} s"
    )


def _higher(out: Out, document: dict[str, Any]) -> None:
    """Print what higher tiers did, or what waits for them."""
    found = document.get("backlog")
    if found:
        if found.get("new") and (found["tiers"] or found["asking"]):
            told = f"{found['expected']:,} of the {count(found['new'], 'new section')} may ask for a higher tier"
            line(out, ("waits  ", "dim"), told)
        render_backlog.backlog(out, found)
    read, failed = document.get("escalated") or 0, document.get("escalation_failed") or 0
    if read or failed:
        told = f"{count(read, 'episode')} read by higher tiers"
        line(out, told, f", {failed:,} failed: ctxsync explain says why" if failed else "")
    for rest in document.get("rests") or []:
        until = str(rest["until"])[:16].replace("T", " ")
        line(out, f"tier {rest['tier']} goes on after {until} UTC: {one_line(rest['why'])}")


def problems(out: Out, found: list[dict[str, Any]]) -> None:
    """Print what is paused or quarantined, each with what to do; what follows each other with one remedy shares it."""
    for number, problem in enumerate(found):
        place, message = problem.get("place") or "", one_line(str(problem.get("message", "")))
        told = place.startswith(INNER) or message.startswith(f"{place} ")
        where = joined([problem.get("source") or "", "" if told else place], ": ")
        line(out, (f"{problem.get('kind', 'problem')} ", "bold yellow"), one_line(where), f": {message}")
        remedy = problem.get("remedy")
        if remedy and (number + 1 == len(found) or found[number + 1].get("remedy") != remedy):
            line(out, f"try: {one_line(remedy)}", indent=4)


def kept(document: dict[str, Any]) -> str:
    """Return a sentence of what an interrupted pass kept."""
    observed = sum(int(source.get("observed") or 0) for source in document["sources"])
    parts = [count(observed, "new or changed item"), f"{count(document.get('extracted') or 0, 'episode')} extracted"]
    return f"Stopped. Everything stored so far is kept: {', '.join(parts)}."


def logged(out: Out, document: dict[str, Any]) -> None:
    """Print what a logged text became."""
    line(out, f"Kept. It told the graph {count(document.get('new_facts') or 0, 'new fact')}.")
    for episode in document.get("episodes") or []:
        line(out, (f"See what it became: ctxsync explain {episode}", "dim"))
