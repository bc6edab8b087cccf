"""How extractions look on a terminal; takes inert JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.cli.facts import DIM, STRONG, quote, shorten
from ctxsync.cli.inert import one_line
from ctxsync.cli.output import joined, line

if TYPE_CHECKING:
    from ctxsync.cli.output import Out

_TIERS = {0: "structural", 1: "local", 2: "local LLM", 3: "cloud", 4: "paid cloud"}


def extraction(out: Out, document: dict[str, Any]) -> None:
    """Print entities, relations with their quotes, and how sure the tier was."""
    names = {entity["id"]: one_line(entity["name"]) for entity in document["entities"]}
    if not names:
        line(out, "Nothing was found in that text.")
    for entity in document["entities"]:
        keys = ", ".join(entity.get("keys") or [])
        line(out, (one_line(entity["name"]), STRONG), f"  {entity['type']}", (f"  {keys}" if keys else "", DIM))
    for relation in document["relations"]:
        head, tail = (names.get(relation[end], relation[end]) for end in ("head", "tail"))
        when = joined([f"from {relation['valid_from']}" if relation.get("valid_from") else "",
                       f"to {relation['valid_to']}" if relation.get("valid_to") else ""], " ")  # fmt: skip
        line(
            out,
            (one_line(f"{head} {relation['phrase'] or relation['relation']} {tail}"), STRONG),
            f"  {joined([relation['relation'], relation.get('phrase_class') or ''], '/')}",
            f", {when}" if when else "",
            ("  says it ended" if relation.get("ends") else "", "yellow"),
            (f"  {relation['confidence']:.2f}", DIM),
        )
        quote(out, relation.get("quote"), indent=4)
    for ended in document.get("invalidates") or []:
        line(out, "ends: ", one_line(ended))
    line(out, (_how(document), DIM))
    for failure in document.get("failures") or []:
        line(out, ("failed: ", "yellow"), one_line(failure if isinstance(failure, str) else str(failure.get("error"))))


def _how(document: dict[str, Any]) -> str:
    tier = document["tier"]
    gate = document.get("gate") or []
    reasons = f"asked for a higher tier: {', '.join(gate)}" if gate else "sure enough to stay at this tier"
    return joined(
        [
            f"tier {tier} ({_TIERS.get(tier, 'unknown')})",
            str(document.get("model") or ""),
            f"confidence {document['confidence']:.2f}",
            reasons,
        ]
    )


def explanation(out: Out, document: dict[str, Any]) -> None:
    """Print each episode, and each run over it."""
    for index, episode in enumerate(document["episodes"]):
        if index:
            line(out)
        line(out, (one_line(episode["title"]), STRONG), f"  {one_line(' / '.join(episode['heading']))}")
        line(out, (f"{one_line(episode['source'])}: {one_line(episode['locator'])}  {episode['episode']}", "cyan"))
        line(out, shorten(one_line(episode["text"]), 400), indent=4)
        if not episode["extractions"]:
            line(out, "Not extracted yet: run ctxsync sync")
        for run in episode["extractions"]:
            line(out, (f"run {one_line(run['run'])}", DIM))
            extraction(out, run)
        for failure in episode["failures"]:
            line(out, (f"tier {failure['tier']} failed: ", "yellow"), one_line(failure["error"]))
