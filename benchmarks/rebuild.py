"""How fast a graph is rebuilt from its log: episodes a second, with full-text search and warm vectors.

The log is synthetic and shaped like real homes: one episode in five is a section of a note (people, tools, tags, facts
that change), the others are commits (author, repository, files, issues). About six mentions and four relations each.
Target: 1,500 episodes a second with a warm vector cache (0.67 ms an episode).
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.report import Row
from ctxsync.connectors.base import digest
from ctxsync.engine.graph import rebuild
from ctxsync.events.envelope import Event
from ctxsync.events.model import PAYLOADS
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGET = 1500
REPEATS = 3
APPENDED = 1000
START = 1_600_000_000_000
# fmt: off
FIRST = ("Robin", "Nadia", "Tom", "Ines", "Kofi", "Marta", "Yuki", "Omar", "Lena", "Piet", "Aiko", "Sven", "Rosa")
LAST = ("Vale", "Rahn", "Okafor", "Brandt", "Sato", "Lindqvist", "Moreau", "Novak", "Ferreira", "Haddad", "Iwata")
PARTS = (("Orders", "Billing", "Search", "Ingest", "Mail", "Auth"), ("Service", "API", "Worker", "Index"))
NAMED = ("Kafka", "Postgres", "Redis", "MySQL", "Nginx", "Terraform", "Grafana", "SQLite", "Airflow", "Docker")
FIRMS = ("Acme", "Globex", "Initech", "Umbrella", "Hooli", "Stark", "Wayne", "Wonka", "Tyrell", "Soylent")
WORDS = ("the", "queue", "stalls", "when", "a", "worker", "restarts", "so", "we", "moved", "retries", "into", "it", "again")
# fmt: on
TOOLS = [f"{a} {b}" for a in PARTS[0] for b in PARTS[1]] + list(NAMED)


class WarmCache:
    """A vector cache that has everything."""

    def __init__(self) -> None:
        import numpy as np

        rows = np.random.default_rng(7).standard_normal((256, 384), dtype=np.float32)
        self.rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def get(self, texts: Sequence[str]) -> list[Any]:
        return [self.rows[len(text) % 256] for text in texts]


def _entity(n: int, name: str, type_: str, *keys: str) -> dict[str, Any]:
    return {"id": f"e{n}", "name": name, "type": type_, "keys": list(keys), "span": [n, n + len(name)], "tier": 1}


def _relation(head: str, relation: str, phrase_class: str, phrase: str, tail: str, **extra: Any) -> dict[str, Any]:
    body = {"head": head, "relation": relation, "tail": tail, "phrase": phrase, "phrase_class": phrase_class}
    return body | {"quote": f"{phrase} {tail}", "span": [0, 9], "confidence": 0.8, "tier": 1} | extra


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def _commit(rng: random.Random, n: int, people: list[tuple[str, str]]) -> tuple[str, Any, Any, Any]:
    name, mail = people[min(int(rng.expovariate(0.15)), len(people) - 1)]
    item, at = f"commit:{n:040x}", START + n * 3_600_000
    title = f"{_text(rng, 6)} #{n % 3000}"
    section = {"key": "message", "text": f"{title}\n\n{_text(rng, 40)}", "author": {"name": name, "keys": [mail]}}
    entities = [
        _entity(0, title, "Event", item),
        _entity(1, name, "Person", mail),
        _entity(2, "shop", "Artifact", "repo:shop"),
    ]
    relations = [
        _relation("e1", "participated_in", "authorship", "authored", "e0", confidence=1.0),
        _relation("e0", "part_of", "component", "is part of", "e2", confidence=1.0),
    ]
    for k in range(rng.randint(1, 3)):
        path = f"src/{rng.randint(0, 20)}/{rng.randint(0, 60)}.py"
        entities.append(_entity(3 + k, path, "Artifact", f"path:shop:{path}"))
        relations.append(_relation("e0", "references", "change", "changes", f"e{3 + k}", confidence=1.0))
    entities.append(_entity(8, rng.choice(TOOLS), "Artifact"))
    relations.append(_relation("e1", "participated_in", "work", "works on", "e8", confidence=0.6))
    return item, [section | {"occurred_at": at}], [(entities, relations)], title


def _note(rng: random.Random, n: int, people: list[tuple[str, str]]) -> tuple[str, Any, Any, Any]:
    item, at = f"note:{n:032x}", START + n * 3_600_000
    topic = rng.choice([people[n % len(people)][0], rng.choice(TOOLS), f"Weekly {n}", f"Idea {n}"])
    sections, extractions = [], []
    for k in range(rng.randint(2, 6)):
        person = rng.choice(people)[0]
        shown = person if rng.random() < 0.7 else person.split()[0]
        sections.append({"key": f"part {k}", "text": f"## Part {k}\n{_text(rng, 60)} {n}", "occurred_at": at + k})
        entities = [
            _entity(0, topic, "Concept", item),
            _entity(1, shown, "Person"),
            _entity(2, rng.choice(FIRMS), "Organization"),
            _entity(3, rng.choice(TOOLS), "Artifact"),
            _entity(4, rng.choice(TOOLS), "Concept"),
            _entity(5, f"tag{rng.randint(0, 200)}", "Concept"),
        ]
        relations = [
            _relation("e1", "part_of", "employment", "works at", "e2", ends=rng.random() < 0.1),
            _relation("e3", "depends_on", "datastore", "stores its data in", "e4"),
            _relation("e0", "related_to", "tag", "is tagged", "e5", confidence=1.0),
            _relation("e1", "participated_in", "work", "works on", "e3"),
        ]
        extractions.append((entities, relations))
    return item, sections, extractions, topic


def synthetic(episodes: int, seed: int = 7) -> tuple[list[Event], int]:
    """Return a log of about so many episodes, and how many they are."""
    rng = random.Random(seed)
    people = [(f"{a} {b}", f"email:{a}.{b}@example.com".lower()) for a in FIRST for b in LAST][:120]
    events: list[Event] = []

    def add(type_: str, source: str, subject: str, payload: dict[str, Any]) -> None:
        n = len(events) + 1
        events.append(Event(n, f"e{n}", source, subject, 1, type_, 1, START + n, START + n * 10, payload, ""))

    for name, trust in (("vault", "own"), ("code", "others")):
        settings = {"name": name, "kind": name, "location": name, "trust": trust, "identity_keys": [people[0][1]]}
        add("source.configured", "ctxsync", f"source:{name}", settings)
    made = n = 0
    while made < episodes:
        n += 1
        note = rng.random() < 0.0588  # four sections each: one episode in five
        source = "vault" if note else "code"
        item, sections, extractions, title = (_note if note else _commit)(rng, n, people)
        place = f"notes/{n}.md" if note else "refs"
        for section in sections:
            section["episode"] = digest(item, section["key"], section["text"])
        kind = "note" if note else "commit"
        body = {"item": item, "kind": kind, "place": place, "title": title, "sections": sections, "content": "x"}
        add("item.observed", source, item, body)
        add("item.sighted", source, item, {"item": item, "place": place})
        for section, (entities, relations) in zip(sections, extractions, strict=True):
            made += 1
            add(
                "episode.extracted",
                source,
                f"episode:{section['episode']}",
                {"episode": section["episode"], "item": item, "run": "chain-1", "tier": 1, "model": "built-in"}
                | {"entities": entities, "relations": relations, "confidence": 0.9},
            )
    return events, made


def written(path: Path, events: Sequence[Event]) -> EventStore:
    """Return a log of these events, as a pass appends them."""
    store = EventStore.open(path, write=True)
    for first in range(0, len(events), APPENDED):
        store.append(
            [
                NewEvent(
                    event.source, event.subject, PAYLOADS[event.type].model_validate(event.payload), event.occurred_at
                )
                for event in events[first : first + APPENDED]
            ]
        )
    return store


def rows(episodes: int = 10_000) -> list[Row]:
    events, made = synthetic(episodes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        with written(Path(folder) / "events.db", events) as store:
            del events
            reading = time.perf_counter()
            for _ in store.read():
                pass
            reading = time.perf_counter() - reading
            taken: dict[str, list[float]] = {"bare": [], "warm": [], "work": []}
            for _ in range(REPEATS):
                for kind, cache in (("bare", None), ("warm", WarmCache())):
                    begun, working = time.perf_counter(), time.process_time()
                    graph = rebuild(store, path, cache=cache)
                    taken[kind].append(time.perf_counter() - begun)
                    if kind == "warm":
                        taken["work"].append(time.process_time() - working)
                    counts = graph.counts()
                    graph.close()
            size = path.stat().st_size
    return [
        Row("rebuild from the log, vectors cached", made / min(taken["warm"]), "episodes/s", least=TARGET),
        Row("  the same in processor time", made / min(taken["work"]), "episodes/s", least=TARGET),
        Row("  without vectors", made / min(taken["bare"]), "episodes/s"),
        Row("  reading the log alone", made / reading, "episodes/s"),
        Row("  graph", size / made, "bytes/episode"),
        Row("  facts", counts["facts_all"], ""),
    ]
