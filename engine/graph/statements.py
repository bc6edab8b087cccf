"""What an extraction, or a person's event, says in terms of identity nodes: a pure function of payloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ctxsync.connectors.base import digest
from ctxsync.engine.graph import facts, nodes, times
from ctxsync.engine.graph.entities import weight

if TYPE_CHECKING:
    from collections.abc import Mapping


class Mention(NamedTuple):
    """Something named: its nodes (the first one is called so), a name, a type, a span, and its weight for the type."""

    nodes: tuple[str, ...]
    name: str
    type: str
    start: int | None
    stop: int | None
    weight: int


class Said(NamedTuple):
    """A statement between nodes. `content` is its content id; `mode` as in `facts`."""

    content: str
    head: str
    relation: str
    phrase_class: str
    phrase: str
    tail: str
    quote: str
    start: int | None
    stop: int | None
    confidence: float
    tier: int
    valid_from: int | None
    valid_to: int | None
    mode: int


def undated(said: Said) -> str:
    """Return what names an undated statement whichever text makes it; an empty string when it is dated."""
    stated = said.valid_to if said.mode == facts.ENDS else said.valid_from
    return "" if stated is not None else digest(said.head, said.relation, said.phrase_class, said.tail, said.mode)


class Plan(NamedTuple):
    """All that an extraction says. `invites`: meetings, each with the invitation's sequence and whether it is the organizer's."""

    mentions: list[Mention]
    said: list[Said]
    invites: tuple[tuple[str, int, bool], ...] = ()


NOTHING = Plan([], [])
NO_SPAN = (None, None)


def _mention(entity: Mapping[str, Any], scope: str) -> Mention | None:
    keys = [k for k in entity.get("keys") or () if nodes.is_key(k)]
    if len(keys) > 1:
        keys = sorted(set(keys), key=nodes.rank)
    name = " ".join(entity["name"].split())
    type_ = entity["type"]
    if keys:
        known = tuple(keys)
        name = name or keys[0].partition(":")[2]
    else:
        node = nodes.node_of(name, type_, scope)
        if not node:
            return None
        known = (node,)
    start, stop = entity.get("span") or NO_SPAN
    stated = bool(keys) and entity.get("tier", 0) == 0
    return Mention(known, name, type_, start, stop, weight(type_, stated=stated))


def plan(episode: str, scope: str, payload: Mapping[str, Any]) -> Plan:
    """Return what an `episode.extracted` says.

    Entities with a blank name and relations without both ends are left out, as is what is said twice.
    """
    mentions: list[Mention] = []
    ends: dict[str, str] = {}
    invites: tuple[tuple[str, int, bool], ...] = ()
    used = {relation[end] for relation in payload["relations"] for end in ("head", "tail")}
    for entity in payload["entities"]:
        if entity["type"] == "Time" and entity.get("tier", 0) > 0 and entity["id"] not in used:
            continue  # a date that a text names is when something held, and no thing: `last Friday` is many days
        mention = _mention(entity, scope)
        if mention is not None:
            mentions.append(mention)
            ends[entity["id"]] = mention.nodes[0]
            if mention.nodes[0].startswith("ical:"):
                stated = entity.get("attributes") or {}
                invite = mention.nodes[0], stated.get("sequence") or 0, stated.get("by_organizer") is True
                invites = (*invites, invite)
    said: dict[str, Said] = {}
    for relation in payload["relations"]:
        head, tail = ends.get(relation["head"]), ends.get(relation["tail"])
        if head is None or tail is None:
            continue
        get = relation.get
        over = bool(get("ends"))
        start, stop = get("span") or NO_SPAN
        stated_from, stated_to = get("valid_from"), get("valid_to")
        body = (
            head,
            relation["relation"],
            get("phrase_class") or "",
            relation["phrase"],
            tail,
            get("quote") or "",
            start,
            stop,
            float(get("confidence", 1.0)),
            get("tier", 0),
            times.start_of(stated_from) if stated_from else None,
            times.end_of(stated_to, ends=over) if stated_to else None,
            facts.ENDS if over else facts.STATES,
        )
        content = digest(episode, *body)
        said[content] = Said(content, *body)
    return Plan(mentions, list(said.values()), invites)


def speaks_of(said: Said, meetings: frozenset[str]) -> bool:
    """Say whether a statement is about one of these meetings, and not only about the message that points at it."""
    return said.relation != "references" and (said.head in meetings or said.tail in meetings)


def stated(subject: str, statement: Mapping[str, Any], mode: int, at: int, *, valid_to: str | None = None) -> Plan:
    """Return what a person's statement says; `at` is when it was made, ms UTC.

    Its ends are identity nodes as the event has them.
    """
    mentions = [
        Mention((statement[end],), statement[f"{end}_name"], statement[f"{end}_type"], None, None, 10)
        for end in ("head", "tail")
    ]
    body = (
        statement["head"],
        statement["relation"],
        statement["phrase_class"],
        statement["phrase"],
        statement["tail"],
        "",
        None,
        None,
        1.0,
        0,
        times.start_of(statement.get("valid_from")),
        times.end_of(valid_to or statement.get("valid_to"), ends=mode == facts.ENDS),
        mode,
    )
    return Plan(mentions, [Said(digest(subject, at, *body), *body)])
