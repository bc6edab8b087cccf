"""How the answers of the read commands look on a terminal; takes inert JSON documents, knows no store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.cli.facts import (
    DIM,
    STRONG,
    entity_head,
    fact_line,
    held_words,
    passage,
    place_of,
    quote,
    sentence,
    short,
    shorten,
    state_of,
    supports,
    terms_of,
)
from ctxsync.cli.inert import one_line
from ctxsync.cli.output import count, joined, line
from ctxsync.cli.times import date_words, day_words, instant_words

if TYPE_CHECKING:
    from ctxsync.cli.output import Out

_MOST_PASSAGES = 5


def ask(out: Out, document: dict[str, Any], *, now: int) -> None:
    """Print the answers as the planner ordered them, what held once, or else the nearest passages."""
    answers, past, passages = document["answers"], document.get("past") or [], document["passages"]
    verdict, number = document.get("verdict"), document.get("count")
    if verdict:
        line(out, (f"{verdict.capitalize()}.", STRONG))
    if number is not None:
        line(out, (count(number, "answer"), STRONG), f", of which the first {len(answers)}:" if answers else ".")
    for index, fact in enumerate(answers):
        if index or verdict or number is not None:
            line(out)
        _answer(out, fact, f"{index + 1}. " if len(answers) > 1 else "", now=now)
    if answers or verdict or number is not None:
        return
    if past:
        line(out, "Nothing holds now. What did:")
        for fact in past:
            line(out)
            _answer(out, fact, "", now=now)
        return
    question = document["question"]
    if not passages:
        line(out, "Nothing in the graph answers that, and no passage comes near it.")
        line(out, (f'Try other words, or look at what there is: ctxsync search "{one_line(question)}"', DIM))
        return
    said = document["plan"].get("asked") == "said"
    line(out, "This was said:" if said else "No fact answers that. The nearest passages:")
    terms = terms_of(question)
    for place, found in enumerate(passages[:_MOST_PASSAGES], 1):
        line(out)
        passage(out, found, terms=terms, number=place)


def _answer(out: Out, fact: dict[str, Any], number: str, *, now: int) -> None:
    state, when = state_of(fact, now=now), held_words(fact)
    line(
        out,
        number,
        (sentence(fact), DIM if state else STRONG),
        f", {when}" if when else "",
        ".",
        (f"  [{state}]" if state else "", "yellow"),
    )
    supports(out, fact)


def search(out: Out, document: dict[str, Any], *, now: int) -> None:
    """Print the passages found, best first."""
    del now
    if not document["passages"]:
        line(out, "No passage matches.")
        return
    terms = terms_of(document["query"])
    for index, found in enumerate(document["passages"]):
        if index:
            line(out)
        passage(out, found, terms=terms, number=index + 1)


def entity(out: Out, document: dict[str, Any], *, now: int) -> None:
    """Print each entity that fits, with its facts."""
    if not document["entities"]:
        line(out, "Nobody and nothing of that name is known.")
    for index, found in enumerate(document["entities"]):
        if index:
            line(out)
        entity_head(out, found)
        for fact in found.get("facts") or []:
            fact_line(out, fact, now=now, indent=2)


def facts(out: Out, document: dict[str, Any], *, now: int) -> None:
    """Print a fact a line."""
    if not document["facts"]:
        line(out, "No fact fits.")
    for fact in document["facts"]:
        fact_line(out, fact, now=now)
    if len(document["facts"]) > 1:
        line(out, (count(len(document["facts"]), "fact"), DIM))


def history(out: Out, document: dict[str, Any], *, now: int) -> None:
    """Print each fact with its versions: when it held, and when that was believed."""
    del now
    _about(out, document)
    versions: dict[str, list[dict[str, Any]]] = {}
    for fact in document["facts"]:
        versions.setdefault(fact["id"], []).append(fact)
    sentences = {fact["id"]: sentence(fact) for fact in document["facts"]}
    if not versions:
        line(out, "No fact fits.")
    for identity, believed in versions.items():
        line(out)
        line(out, (sentence(believed[-1]), STRONG), (f"  {short(identity)}", DIM))
        for version in believed:
            gone = bool(version["retracted_at"])
            end = date_words(version["valid_to"]) or ("open" if gone else "now")
            held = f"{date_words(version['valid_from'], year_alone=True)} → {end}"
            known = f"{instant_words(version['recorded_at'])} → {instant_words(version['retracted_at']) or 'now'}"
            line(out, ("held  ", "dim"), (held, DIM if gone else "green"), _after(version, sentences), indent=4)
            line(
                out,
                ("known ", "dim"),
                (known, DIM if gone else "cyan"),
                ("  no longer believed" if gone else "", "yellow"),
                indent=4,
            )


def _after(version: dict[str, Any], sentences: dict[str, str]) -> str:
    """Return what took over a version's fact, or why it ended, in words."""
    by = version.get("superseded_by")
    if by:
        return f"  then {sentences.get(by, short(by))}"
    reason = one_line(str(version.get("reason") or ""))
    return f"  {reason}" if reason else ""


def _about(out: Out, document: dict[str, Any]) -> None:
    for found in document.get("entities") or []:
        entity_head(out, found)


def timeline(out: Out, document: dict[str, Any], *, now: int) -> None:
    """Print an entry a line: its day, and what began, ended or was said."""
    del now
    _about(out, document)
    if not document["timeline"]:
        line(out, "Nothing is known of that.")
    for entry in document["timeline"]:
        day = instant_words(entry["at"])[:10]
        if entry["kind"] == "episode":
            said = entry["passage"]
            line(
                out,
                (f"{day}  ", "cyan"),
                "said    ",
                shorten(one_line(said["text"]), 100),
                (f"  {place_of(said)}", DIM),
                hang=20,
            )
        else:
            line(out, (f"{day}  ", "cyan"), f"{entry['kind']:<6}  ", (sentence(entry["fact"]), STRONG), hang=20)


def why(out: Out, document: dict[str, Any], *, now: int) -> None:
    """Print each fact with all that states it, all that ends it, and what took over."""
    if not document["facts"]:
        line(out, "That fact did not hold then.")
    for index, fact in enumerate(document["facts"]):
        if index:
            line(out)
        fact_line(out, fact, now=now)
        line(
            out,
            (
                f"recorded {day_words(fact['recorded_at'])}, as {joined([fact['relation'], fact.get('phrase_class') or ''], '/')}",
                DIM,
            ),
            indent=4,
        )
        line(out, "stated by", indent=2)
        _statements(out, fact.get("support") or [])
        if fact.get("ended_by"):
            line(out, "ended by", indent=2)
            _statements(out, fact["ended_by"])
        elif fact.get("reason"):
            line(out, f"ended: {one_line(str(fact['reason']))}", indent=2)
    for fact in document.get("superseded_by") or []:
        line(out, "superseded by", indent=2)
        fact_line(out, fact, now=now, indent=4)


def _statements(out: Out, supports_: list[dict[str, Any]]) -> None:
    if not supports_:
        line(out, "nothing any more", indent=4)
    for support in supports_:
        sure = support.get("confidence")
        told = [
            place_of(support),
            day_words(support.get("occurred_at")),
            one_line(str(support.get("author") or "")),
            f"tier {support['tier']}" if support.get("tier") is not None else "",
            f"confidence {sure:.2f}" if isinstance(sure, (int, float)) else "",
        ]
        line(out, (joined(told), "cyan"), indent=4)
        quote(out, support.get("quote"), indent=4)
