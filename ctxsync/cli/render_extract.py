"""How extractions look on a terminal; takes inert JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.cli.facts import DIM, STRONG, quote, shorten
from ctxsync.cli.inert import one_line
from ctxsync.cli.output import joined, line
from ctxsync.events.runs import is_trial

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
    from ctxsync.cli.gate_words import in_words

    tier = document["tier"]
    gate = [one_line(in_words(str(entry))) for entry in document.get("gate") or []]
    return joined(
        [
            f"tier {tier} ({_TIERS.get(tier, 'unknown')})",
            str(document.get("model") or ""),
            f"confidence {document['confidence']:.2f}",
            "; ".join(gate) or "sure enough to stay at this tier",
            _spent(document),
        ]
    )


def _spent(document: dict[str, Any]) -> str:
    """Return what an extraction took: time, tokens and cost, those that are known."""
    ms, tokens = document.get("ms") or 0, (document.get("tokens_in") or 0) + (document.get("tokens_out") or 0)
    cost = document.get("cost_usd") or 0
    return joined(
        [
            (f"{ms / 1000:,.1f} s" if ms >= 1000 else f"{ms:,.0f} ms") if ms else "",
            f"{document['tokens_in']:,} + {document['tokens_out']:,} tokens" if tokens else "",
            f"${cost:.5f}" if cost else "",
        ],
        ", ",
    )


def explanation(out: Out, document: dict[str, Any]) -> None:
    """Print each episode, and what each tier made of it, in the order in which they read it."""
    for index, episode in enumerate(document["episodes"]):
        if index:
            line(out)
        line(out, (one_line(episode["title"]), STRONG), f"  {one_line(' / '.join(episode['heading']))}")
        line(out, (f"{one_line(episode['source'])}: {one_line(episode['locator'])}  {episode['episode']}", "cyan"))
        line(out, shorten(one_line(episode["text"]), 400), indent=4)
        if not episode["extractions"]:
            line(out, "Not extracted yet: run ctxsync sync")
        bodies = {body["position"]: body for body in (*episode["extractions"], *episode["failures"])}
        for run, (_, body) in zip(episode["runs"], sorted(bodies.items()), strict=True):
            if run["outcome"] == "failed":
                _failed(out, run)
                continue
            line(out, (f"run {one_line(run['run'])}{_standing(run, alone=len(bodies) == 1)}", DIM))
            extraction(out, body)
        for waits in episode["waits"]:
            until = f" It goes on after {waits['until'][:16].replace('T', ' ')} UTC." if waits["until"] else ""
            line(out, (f"waits for tier {waits['tier']}: ", "yellow"), f"{one_line(waits['why'])}{until}")


def _standing(run: dict[str, Any], *, alone: bool) -> str:
    if run["counts"]:
        return "" if alone else " (this one counts)"
    return " (a trial, which is not adopted)" if is_trial(run["run"]) else ""


def _failed(out: Out, run: dict[str, Any]) -> None:
    line(out, (f"tier {run['tier']} failed: ", "yellow"), one_line(run["error"]), (f"  {one_line(run['model'])}", DIM))
    if run["attempt"]:
        again = run["retry_at"]
        what = f"tried again after {again[:16].replace('T', ' ')} UTC" if again else "not tried again"
        line(out, (f"{one_line(run['reason'])}, attempt {run['attempt']}; {what}", DIM), indent=4)
