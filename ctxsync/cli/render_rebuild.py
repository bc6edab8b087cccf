"""How trials of models look on a terminal; takes inert JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ctxsync.cli.facts import DIM, STRONG, quote
from ctxsync.cli.inert import one_line
from ctxsync.cli.output import count, joined, line

if TYPE_CHECKING:
    from ctxsync.cli.output import Out

EXAMPLES: Final = 10
"""Facts shown of each kind; --json has all."""
_SIGNS = {"gained": ("+ ", "green"), "lost": ("- ", "red"), "changed": ("~ ", "yellow")}


def estimated(name: str, estimate: dict[str, Any], *, cloud: bool) -> str:
    """Return what a pass of a trial will take."""
    cost = f", about ${estimate['cost_usd']:,.4f}" if cloud else ""
    place = " leave this machine" if cloud else " stay on this machine"
    closed = estimate["closed"]
    kept = f" Texts of {', '.join(closed)} may not leave, and are left out." if closed else ""
    seconds = estimate["seconds"]
    long = f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} minutes"
    texts = count(estimate["episodes"], "text")
    return f"{name} reads {texts}, which{place}: {estimate['tokens']:,} tokens{cost}, about {long}.{kept}"


def tried(out: Out, document: dict[str, Any]) -> None:
    """Print what a trial read, what adopting it would change, and what was adopted."""
    name = one_line(document["name"])
    failed = f", failed at {document['failed']:,}" if document["failed"] else ""
    cost = f", {document['tokens']:,} tokens, ${document['cost_usd']:.4f}" if document["tokens"] else ""
    of = f" of {one_line(document['source'])}" if document["source"] else ""
    line(out, f"{name} read {count(document['read'], 'text')}{of}{failed}{cost}, in {document['seconds']:.1f} s.")
    left = f"; {document['left']:,} wait" if document["left"] else ""
    line(out, (f"{document['held']:,} are read in all{left}. Run {one_line(document['run'])}", DIM))
    if document.get("diff"):
        _diff(out, document["diff"])
    if document.get("adopted"):
        adopted(out, document["adopted"])
    elif document["held"]:
        line(out, "Nothing counts yet.", (" To compare: --diff. To let it count: --adopt.", DIM))


def _diff(out: Out, diff: dict[str, Any]) -> None:
    counts = diff["counts"]
    line(out)
    words = [f"{count(counts[key], 'fact')} {key}" for key in _SIGNS if counts[key]]
    line(out, (f"{joined(words) or 'Nothing would change'}; {counts['same']:,} stay as they are.", STRONG))
    for key, (sign, style) in _SIGNS.items():
        for one in diff[key][:EXAMPLES]:
            shown = one["after"] if key == "changed" else one
            line(out, (sign, style), *_fact(shown))
            if key == "changed":
                line(out, _change(one), indent=4)
            quote(out, shown["quote"], indent=4)
        if len(diff[key]) > EXAMPLES:
            line(out, (f"and {len(diff[key]) - EXAMPLES:,} more {key}: --json has all", DIM), indent=2)
    line(out)


def _fact(fact: dict[str, Any]) -> tuple[Any, ...]:
    said = one_line(f"{fact['head']} {fact['phrase'] or fact['relation']} {fact['tail']}")
    of = joined([fact["relation"], fact["phrase_class"]], "/")
    return (said, STRONG), f"  {of}", (f"  {fact['confidence']:.2f}  {one_line(fact['title'])}", DIM)


def _change(one: dict[str, Any]) -> str:
    before, after = one["before"], one["after"]
    said = []
    if set(one["what"]) & {"dates", "ended", "holds again"}:
        said.append(f"{_span(before)}, would be {_span(after)}")
    if "confidence" in one["what"]:
        said.append(f"confidence {before['confidence']:.2f}, would be {after['confidence']:.2f}")
    return f"{joined(one['what'])}: {joined(said, '; ')}"


def _span(fact: dict[str, Any]) -> str:
    start = f"from {fact['valid_from'][:10]}"
    return f"{start} to {fact['valid_to'][:10]}" if fact["valid_to"] else start


def adopted(out: Out, document: dict[str, Any]) -> None:
    """Print which run counts."""
    of = f" for {one_line(document['source'])}" if document["source"] else ""
    again = "" if document["changed"] else " already"
    if document["run"]:
        line(out, f"Adopted{again}{of}: {one_line(document['run'])} counts wherever it has a result.")
        back = f" --source {one_line(document['source'])}" if document["source"] else ""
        line(out, (f"To take it back: ctxsync rebuild --adopt-default{back}", DIM))
    else:
        line(out, f"No run is adopted{again}{of}: the highest tier counts.")
    line(out, (f"{count(document['facts'], 'current fact')}; state_hash {document['state_hash']}", DIM))
