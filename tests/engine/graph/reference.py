"""A second graph, written to be read: every rule applied naively to the raw events up to a position, nothing kept.

It shares with the engine only normal names, dates, and how nodes and entities are named.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ctxsync.engine.graph import nodes, times
from ctxsync.engine.schema import universal
from ctxsync.events.runs import is_trial

CLASSES = universal().classes


def read(version: Any, extracted: Any) -> bool:
    return all(s["episode"] in extracted for s in version.payload["sections"])


def undated(e: Any, first: Any) -> Any:
    """Return what an extraction states without a date, as nodes."""
    item, section, _ = first[e.payload["episode"]]
    local = ends(e.payload, section["thread"] or item)
    dates = [(r, times.end_of(r["valid_to"], ends=True) if r.get("ends") and r.get("valid_to") else None
              if r.get("ends") else times.start_of(r.get("valid_from"))) for r in e.payload["relations"]]  # fmt: skip
    return {key(local, r) for r, date in dates if date is None}


def ends(payload: Any, scope: str) -> Any:
    return {
        k["id"]: min(k["keys"] or [nodes.node_of(k["name"], k["type"], scope)], key=nodes.rank)
        for k in payload["entities"]
    }


def key(local: Any, r: Any) -> Any:
    return local[r["head"]], r["relation"], r["phrase_class"], local[r["tail"]], r.get("ends", False)


def believed(events: Any) -> Any:
    """Return {episode: (item, section, source)}, the believed versions by item, and {item: when its statements began}.

    The versions of a source wait in `shown` as [event, when its statements began], the last one that is read first.
    """
    seen: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    first: dict[str, Any] = {}
    extracted: dict[str, Any] = {}
    removed: set[str] = set()
    for e in events:
        p, item = e.payload, e.payload.get("item")
        if e.type == "source.configured":
            (removed.add if p["removed"] else removed.discard)(p["name"])
        elif e.type == "item.observed":
            shown.setdefault(item, {}).setdefault(e.source, []).append([e, {}])
            for section in p["sections"]:
                first.setdefault(section["episode"], (item, section, e.source))
        elif e.type == "episode.extracted" and not is_trial(p["run"]):
            extracted.setdefault(p["episode"], []).append(e)
        elif e.type == "item.sighted":
            if e.source in shown.get(item, {}) and e.source not in {s for s, _ in seen.get(item, ())}:
                del shown[item][e.source][:-1]
            seen.setdefault(item, set()).add((e.source, p["place"]))
        elif e.type in {"item.unsighted", "item.moved"}:
            seen.setdefault(item, set()).discard((e.source, p["place"]))
            if e.type == "item.moved":
                seen[item].add((e.source, p["to"]))
        for waiting in shown.get(item, {}).values():
            whole = [k for k in waiting if read(k[0], extracted)]
            for (old, began), after in pairwise(whole):
                after[1] = {}
                for s in old.payload["sections"]:
                    for said in {k for x in extracted[s["episode"]] for k in undated(x, first)}:
                        at = min(began.get(said, 1e18), first[s["episode"]][1]["occurred_at"])
                        after[1][said] = min(at, after[1].get(said, 1e18))
            if whole:
                del waiting[: waiting.index(whole[-1])]
    versions: list[Any] = []
    since: dict[str, Any] = {}
    for item, by in shown.items():
        latest = max(by.values(), key=lambda k: k[-1][0].position)
        for source in sorted({s for s, _ in seen.get(item, ()) if s not in removed}):
            waiting = by.get(source, latest)
            version, began = waiting[0] if read(waiting[0][0], extracted) else waiting[-1]
            versions.append((source, version.payload))
            for said, at in began.items():
                start = since.setdefault(item, {})
                start[said] = min(at, start.get(said, 1e18))
    return {s["episode"]: first[s["episode"]] for _, v in versions for s in v["sections"]}, versions, since


def said(events: Any) -> Any:
    """Return mentions (node set, name, type, scope, source), statements, and note versions, after these events."""
    episodes, versions, since = believed(events)
    trust = {e.payload["name"]: e.payload for e in events if e.type == "source.configured"}
    adopted = {e.payload["source"]: e.payload["run"] for e in events if e.type == "extraction.adopted"}
    mentions, statements = [], []
    for id_, (item, section, source) in episodes.items():
        every = [e for e in events if e.type == "episode.extracted" and e.payload["episode"] == id_]
        wanted = adopted.get(source) or adopted.get("")
        runs = [e for e in every if not is_trial(e.payload["run"])]
        runs = runs and ([e for e in every if e.payload["run"] == wanted] or runs)
        if not runs:
            continue
        tier = 0 if runs[0].payload["run"] == wanted else 1
        run = max(runs, key=lambda e: (tier and e.payload["tier"], e.position)).payload
        scope = section["thread"] or item
        local, at = ends(run, scope), section["occurred_at"]
        for one in run["entities"]:
            keys = one["keys"] or [nodes.node_of(one["name"], one["type"], scope)]
            mentions.append((frozenset(keys), one["name"], one["type"], scope, source))
        settings = trust.get(source, {"trust": "others", "identity_keys": []})
        mine = item.startswith("commit:") and set(settings["identity_keys"]) & set(
            (section["author"] or {}).get("keys", ())
        )
        own = settings["trust"] == "own" or mine
        statements += [
            (
                id_,
                local[r["head"]],
                local[r["tail"]],
                r,
                min(at, since.get(item, {}).get(key(local, r), at)),
                2 if own else 1,
            )
            for r in run["relations"]
        ]
    return mentions, statements, versions


def identities(mentions: Any, versions: Any) -> Any:
    """Return a function from node to the node that represents its entity."""
    notes = [(s, v) for s, v in versions if v["kind"] == "note"]
    groups = [set(m[0]) for m in mentions] + [{v["item"], *v["keys"]} for _, v in notes]
    groups += [
        {f"email:{x['email']}", f"email:{x['old_email']}"}
        for _, v in versions
        if v["kind"] == "mailmap"
        for x in v["attributes"]["entries"]
    ]
    united: list[set[str]] = []
    for group in groups:
        joined = [k for k in united if k & group]
        united = [k for k in united if not k & group] + [group.union(*joined)]
    rep = {node: min(g, key=nodes.rank) for g in united for node in g}
    bears: dict[str, set[str]] = {}
    claims: dict[str, set[tuple[str, str]]] = {}
    named = [(min(m[0], key=nodes.rank), m[1]) for m in mentions]
    named += [
        (f"email:{x['email']}", x["name"])
        for _, v in versions
        if v["kind"] == "mailmap"
        for x in v["attributes"]["entries"]
    ]
    for node, name in named:
        if nodes.is_person_kind(nodes.kind_of(node)) and " " in nodes.normal(name):
            bears.setdefault(nodes.normal(name), set()).add(rep[node])
    for source, v in notes:
        for name in (v["title"], *v["names"]):
            claims.setdefault(nodes.normal(name), set()).add((rep[v["item"]], source))
    alone = {n: next(iter(p)) for n, p in bears.items() if len(p) == 1}
    owner = {n: {k for k, _ in c} for n, c in claims.items()}
    person: dict[str, set[str]] = {}
    for name, who in owner.items():
        for note in who if len(who) == 1 and name in alone else ():
            person.setdefault(note, set()).add(alone[name])

    def settled(node: str) -> str:
        if nodes.kind_of(node) == "name":
            name = node[5:]
            found = owner[name] if name in owner else {alone[name]} if name in alone else ()
            node = next(iter(found)) if len(found) == 1 else node
        node = rep.get(node, node)
        people = person.get(node, ()) if node.startswith("note:") else ()
        return next(iter(people)) if len(people) == 1 else node

    def root(node: str) -> str:
        if not node.startswith("first:"):
            return settled(node)
        scope, source = next((m[3], m[4]) for m in mentions if node in m[0])
        name, fits = node[len(scope) + 7 :], set()
        for keys, called, type_, where, _ in mentions:
            other = min(keys, key=nodes.rank)
            kind, to = nodes.kind_of(other), settled(other)
            fit = (
                kind == "note"
                or nodes.is_person_kind(kind)
                or (kind == "name" and ((type_ == "Person" and " " in nodes.normal(called)) or to != other))
            )
            if where == scope and fit and nodes.normal(called).split()[0] == name:
                fits.add(to)
        if not fits:
            fits = {settled(note) for note, s in claims.get(name, ()) if s == source}
            fits = fits if len({note for note, s in claims.get(name, ()) if s == source}) == 1 else set()
        return next(iter(fits)) if len(fits) == 1 else node

    return root


def facts(events: Any, valid: int) -> Any:
    """Return the facts (head, relation, class, tail; entity ids) that hold at a valid time, after these events."""
    mentions, statements, versions = said(events)
    root = identities(mentions, versions)
    groups: dict[Any, Any] = {}
    ends: dict[Any, Any] = {}
    for _, head, tail, r, at, trust in statements:
        one, two, name = nodes.entity_id(root(head)), nodes.entity_id(root(tail)), r["phrase_class"]
        if name in CLASSES and CLASSES[name].symmetric:
            one, two = sorted((one, two))
        if one == two:
            continue
        over = r.get("ends", False)
        start, stop = times.start_of(r.get("valid_from")), times.end_of(r.get("valid_to"), ends=over)
        moment = (stop if over else start) if (stop if over else start) is not None else at
        entry = (moment, over, at, trust, two, start, stop, name)
        groups.setdefault((one, r["relation"], name), []).append(entry)
        if over and not (name in CLASSES and CLASSES[name].symmetric):
            ends.setdefault((one, r["relation"]), []).append(entry)
    found = set()
    for (head, relation, name), own in groups.items():
        foreign = (
            []
            if name in CLASSES and CLASSES[name].symmetric
            else [e for e in ends.get((head, relation), ()) if e[7] != name and e[4] in {k[4] for k in own}]
        )
        standing: dict[str, list[Any]] = {}  # tail: trust, start, end, the end's trust
        for moment, over, _, trust, tail, start, stop, cls in sorted(own + foreign, key=lambda k: k[:4]):
            span = standing.get(tail)
            if over and cls == name and span is None:
                standing[tail] = [trust, min(start if start is not None else moment, moment), moment, trust]
            if over:
                if span and span[1] < moment < (span[2] or 1e18) and trust >= span[0]:
                    span[2:4] = moment, trust
                continue
            if span is None or (span[2] is not None and span[2] <= moment):
                if span and span[1] <= valid < span[2]:
                    found.add((head, relation, name, tail))
                span = standing[tail] = [0, moment, None, 0]
            span[0] = max(span[0], trust)
            if stop is not None and stop > span[1] and trust >= span[3]:
                span[2:4] = stop, trust
            for other, gone in standing.items() if name in CLASSES and CLASSES[name].single else ():
                if other != tail and (gone[2] is None or gone[2] > moment) and trust >= gone[0]:
                    gone[2:4] = moment, trust
        for tail, span in standing.items():
            if span[1] <= valid and (span[2] is None or span[2] > valid):
                found.add((head, relation, name, tail))
    return found
