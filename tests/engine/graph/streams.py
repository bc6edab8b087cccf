"""Random histories of a few items whose names, people and facts collide as much as they can."""

from __future__ import annotations

from typing import Any

from ctxsync.connectors.base import digest

DAY = 86_400_000
PEOPLE = ["Robin Vale", "robin vale", "Robin", "Nadia Rahn", "Nadia", "Tom Okafor", "Tom", "Robin Stone"]
THINGS = [("Acme", "Organization"), ("Globex", "Organization"), ("Initech", "Organization"), ("Kafka", "Artifact"),
          ("kafka", "Concept"), ("Postgres", "Artifact"), ("Orders Service", "Artifact"), ("Lisbon", "Place")]  # fmt: skip
KEYED = [("Robin Vale", ["email:robin@example.com"]), ("R. Vale", ["email:robin@example.com", "email:rv@example.com"]),
         ("Robin Vale", ["email:other@example.com"]), ("Nadia Rahn", ["email:nadia@example.com"]),
         ("nadia", ["email:nadia@example.com"]), ("Tom Okafor", ["email:tom@example.com", "slack:T1:U2"])]  # fmt: skip
TITLES = ["Robin Vale", "Robin", "Nadia", "Kafka", "Acme", "Orders Service", "Tom Okafor", "Standup", "Acme"]
DATES = [None, None, None, "2023", "2024-03", "2024-Q2", "2024-05-06", "2025"]
BASE = 1_700_000_000_000


def extraction(log: Any, rng: Any, item: Any, key: Any, text: Any, source: Any, run: Any, tier: Any, usual: Any) -> Any:
    """`usual` are statements that this item's texts make again and again."""
    entities: list[tuple[Any, ...]] = []
    local = []
    for n in range(rng.randint(1, 5)):
        kind = rng.random()
        if kind < 0.45:
            entities.append((f"e{n}", rng.choice(PEOPLE), "Person"))
        elif kind < 0.6:
            name, keys = rng.choice(KEYED)
            entities.append((f"e{n}", name, "Person", keys))
        elif kind < 0.7 and item.startswith("note:"):
            entities.append((f"e{n}", rng.choice(TITLES), "Concept", [item]))
        else:
            entities.append((f"e{n}", *rng.choice(THINGS)))
        local.append(f"e{n}")
    classes = rng.sample(["employment", "membership", "residence", "dependency", "datastore", "association", "work"], 3)
    relations = [
        (
            rng.choice(local),
            name,
            rng.choice(local),
            {
                "ends": rng.random() < 0.25,
                "valid_from": rng.choice(DATES),
                "valid_to": rng.choice(DATES) if rng.random() < 0.3 else None,
                "confidence": rng.choice([0.5, 0.7, 0.9, 1.0]),
                "quote": f"{text}{name}",
            },
        )
        for name in classes[: rng.randint(0, 3)]
    ]
    for n, (head, name, tail, ends) in enumerate(usual):
        if rng.random() < 0.6:
            entities += [(f"h{n}", *head), (f"t{n}", *tail)]
            date = rng.choice([None, None, None, "2024-03"])
            extra = {"ends": ends, "valid_from": date, "confidence": 0.8, "quote": f"{text}{n}"}
            relations.append((f"h{n}", name, f"t{n}", extra))
    log.extract(item, key, text, entities, relations, run=run, tier=tier, source=source)


def stream(new_log: Any, rng: Any, n: Any) -> Any:
    """Return the events of one item, in their order."""
    log = new_log()
    kind = rng.choice(["note", "note", "note", "commit", "mailmap"])
    item = f"{kind}:{n:02d}"
    sources = ["vault"] if kind == "note" else rng.sample(["code", "fork"], rng.randint(1, 2))
    at = BASE + rng.randint(-400, 400) * DAY + n * 1000
    if kind == "mailmap":
        entries = [
            {"name": "Robin Vale", "email": "robin@example.com", "old_name": "", "old_email": "other@example.com"}
        ]
        log.observe(item, {"": "map"}, kind=kind, source=sources[0], attributes={"entries": entries})
        log.sight(item, source=sources[0])
        if rng.random() < 0.5:
            log.unsight(item, source=sources[0])
        return log.events
    known: list[Any] = []
    usual = [
        ((rng.choice(PEOPLE), "Person"), name, rng.choice(THINGS), rng.random() < 0.2)
        for name in rng.sample(["employment", "residence", "work", "association"], 2)
    ]
    diligent = rng.random() < 0.5  # whether what is observed is read soon
    for step in range(rng.randint(3, 9)):
        source = rng.choice(sources)
        action = rng.random()
        if step == 0 or action < 0.3:
            sections = {f"s{k}": f"text {rng.randint(0, 2)} of {n}" for k in range(rng.randint(1, 2))}
            author = None
            if kind == "commit":
                name, keys = rng.choice(KEYED)
                author = {"name": name, "keys": keys}
            aliases = [rng.choice(PEOPLE)] if kind == "note" and rng.random() < 0.3 else []
            keys = [rng.choice(KEYED)[1][0]] if kind == "note" and rng.random() < 0.2 else []
            log.observe(item, sections, title=rng.choice(TITLES), kind=kind, source=source, at=at + step * 20 * DAY, names=aliases,
                        keys=keys, author=author)  # fmt: skip
            for k, section in enumerate(log.events[-1].payload["sections"]):
                section["occurred_at"] += k * DAY
                if author is not None:
                    section.update(episode=digest(section["episode"], author["keys"]))
            known += list(log.events[-1].payload["sections"])
            if step == 0:
                log.sight(item, source=source)
        elif action < 0.45:
            log.sight(item, rng.choice(["a", "b"]), source=source)
        elif action < 0.6:
            log.unsight(item, rng.choice(["", "a", "b"]), source=source)
        elif action < 0.7:
            log.add("item.moved", {"item": item, "place": f"{item}.md", "to": rng.choice(["a", "b"])}, source=source)
        unread = [s for s in known if s["episode"] not in {e.payload.get("episode") for e in log.events}]
        for section in rng.sample(unread, rng.randint(0, len(unread))) if diligent else rng.sample(known, 1):
            run, tier = rng.choice([("r1", 1), ("r2", 2), ("r0", 0)])
            extraction(log, rng, item, section["key"], section["text"], source, run, tier, usual)
            log.events[-1].payload["episode"] = section["episode"]
    return log.events


NODES = ["name:robin vale", "name:kafka", "name:nadia rahn", "email:robin@example.com", "email:nadia@example.com",
         "email:other@example.com", "note:00", "note:01", "first:note:00:robin", "first:note:01:nadia", "name:acme"]  # fmt: skip


def decisions(new_log: Any, rng: Any) -> Any:
    """Return the events of a person who links, takes apart, renames, states and corrects."""
    log = new_log()
    for step in range(rng.randint(2, 8)):
        node, other = rng.sample(NODES, 2)
        type_ = rng.choice(["entity.linked", "entity.merged", "entity.unmerged", "entity.renamed", "entity.retyped",
                            "fact.asserted", "fact.invalidated", "fact.corrected", "fact.confirmed",
                            "schema.rule_learned", "schema.suggested", "contradiction.detected"])  # fmt: skip
        name = rng.choice(["employment", "membership", "datastore"])
        relation = "depends_on" if name == "datastore" else "part_of"
        statement = {"head": node, "head_name": "Robin Vale", "head_type": "Person", "relation": relation, "phrase": "is",
                     "phrase_class": name, "tail": other, "tail_name": "Acme", "tail_type": "Organization",
                     "valid_from": rng.choice(DATES), "valid_to": None}  # fmt: skip
        payload = {
            "entity.linked": {"node": node, "to": other},
            "entity.merged": {"node": node, "into": other, "score": 1.0},
            "entity.unmerged": {"node": node, "into": other},
            "entity.renamed": {"node": node, "name": rng.choice(["Bobby", "Kafka"])},
            "entity.retyped": {"node": node, "to": "Place"},
            "fact.invalidated": {"statement": statement, "valid_to": "2024-05", "reason": "said so"},
            "fact.corrected": {
                "statement": statement,
                "correction": rng.choice([None, statement | {"tail": "name:globex"}]),
            },
            "schema.rule_learned": {"relation": relation, "phrase_class": name, "single": rng.random() < 0.5},
        }.get(type_, {"statement": statement})
        log.add(type_, payload, source="ctxsync", subject=f"{type_}:{step}", at=BASE + step * DAY)
        if type_ in {"entity.linked", "entity.merged"} and rng.random() < 0.5:
            log.add("entity.unmerged", {"node": node, "into": other}, source="ctxsync")
    return log.events


def streams(new_log: Any, rng: Any, count: Any) -> Any:
    """Return independent streams of events: those of items, of sources, of decisions about runs."""
    found = [stream(new_log, rng, n) for n in range(count)]
    log = new_log()
    log.source("vault", trust="own")
    found.append(log.events)
    log = new_log()
    log.source("code", trust="others", keys=["email:robin@example.com"])
    if rng.random() < 0.5:
        log.source("code", trust="others", keys=["email:nadia@example.com"])
    found.append(log.events)
    if rng.random() < 0.4:
        log = new_log()
        log.add(
            "extraction.adopted",
            {"run": rng.choice(["r0", "r1"]), "source": rng.choice(["", "vault"])},
            source="ctxsync",
        )
        found.append(log.events)
    return found


def woven(new_log: Any, rng: Any, found: Any, ending: Any = ()) -> Any:
    """Return a log of the streams in a random order that keeps each stream's own; a source may go, and return, last."""
    log = new_log()
    order = [n for n, events in enumerate(found) for _ in events]
    rng.shuffle(order)
    left = [list(events) for events in found]
    for n in order:
        event = left[n].pop(0)
        log.add(event.type, event.payload, source=event.source, subject=event.subject, at=event.occurred_at)
    for trust in ending:
        log.source("code", trust=trust or "others", removed=not trust)
    return log
