"""A log in memory, and short ways to write its events."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import digest
from ctxsync.events.envelope import Event

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import ModuleType

DAY = 86_400_000


@dataclass
class FakeLog:
    """What `catch_up` reads, as a list."""

    log_id: str = "log-1"
    events: list[Event] = field(default_factory=list)

    def add(self, type_: str, payload: dict[str, Any], *, source: str = "vault", subject: str = "", at: int = 0) -> int:
        position = len(self.events) + 1
        self.events.append(
            Event(position, f"e{position}", source, subject, position, type_, 1, at, 1000 * position, payload, "")
        )
        return position

    def read(
        self, after: int = 0, *, upto: int | None = None, types: Collection[str] = (), limit: int | None = None
    ) -> Iterator[Event]:
        end = len(self.events) if upto is None else upto
        yield from self.events[after:end][:limit]

    def head(self) -> tuple[int, str]:
        return len(self.events), self.hash_at(len(self.events))

    def hash_at(self, position: int) -> str:
        if position > len(self.events):
            return ""
        parts = "".join(f"{k.type}{k.payload!r}" for k in self.events[:position][-3:])
        return hashlib.sha256(f"{self.log_id}{position}{parts}".encode()).hexdigest()

    # What sources say

    def source(
        self, name: str = "vault", *, trust: str = "own", removed: bool = False, keys: Any = (), names: Any = ()
    ) -> int:
        return self.add(
            "source.configured",
            {
                "name": name,
                "kind": "notes",
                "location": f"/{name}",
                "trust": trust,
                "removed": removed,
                "identity_names": list(names),
                "identity_keys": list(keys),
            },
            source="ctxsync",
            subject=f"source:{name}",
        )

    def observe(
        self,
        item: str,
        sections: dict[str, str],
        *,
        title: str = "",
        kind: str = "note",
        source: str = "vault",
        at: int = 0,
        names: Any = (),
        keys: Any = (),
        author: Any = None,
        thread: str = "",
        attributes: Any = None,
        place: str = "",
    ) -> int:
        body: list[Any] = [
            {
                "episode": episode(item, key, text),
                "key": key,
                "text": text,
                "occurred_at": at,
                "heading": [key] if key else [],
                "line": 1 + n,
                "author": author,
                "thread": thread,
                "tags": [],
            }
            for n, (key, text) in enumerate(sections.items())
        ]
        return self.add(
            "item.observed",
            {
                "item": item,
                "kind": kind,
                "place": place or f"{item}.md",
                "title": title or item,
                "sections": body,
                "names": list(names),
                "keys": list(keys),
                "attributes": attributes or {},
                "flags": [],
                "content": digest(body),
            },
            source=source,
            subject=item,
            at=at,
        )

    def sight(self, item: str, place: str = "", *, source: str = "vault") -> int:
        return self.add("item.sighted", {"item": item, "place": place or f"{item}.md"}, source=source, subject=item)

    def unsight(self, item: str, place: str = "", *, source: str = "vault") -> int:
        return self.add("item.unsighted", {"item": item, "place": place or f"{item}.md"}, source=source, subject=item)

    def extract(
        self,
        item: str,
        key: str,
        text: str,
        entities: Any,
        relations: Any = (),
        *,
        run: str = "r1",
        tier: int = 1,
        source: str = "vault",
    ) -> int:
        """`entities` are (id, name, type) or (id, name, type, keys); `relations` are (head, class, tail, extras)."""
        return self.add(
            "episode.extracted",
            {
                "episode": episode(item, key, text),
                "item": item,
                "run": run,
                "tier": tier,
                "model": "test",
                "entities": [
                    {"id": k[0], "name": k[1], "type": k[2], "keys": list(k[3]) if len(k) > 3 else [], "span": None}
                    for k in entities
                ],
                "relations": [
                    {"head": k[0], "tail": k[2], **CLASSES[k[1]], **(k[3] if len(k) > 3 else {})} for k in relations
                ],
                "confidence": 1.0,
            },
            source=source,
            subject=f"episode:{episode(item, key, text)}",
        )

    def note(
        self,
        item: str,
        text: str,
        entities: Any,
        relations: Any = (),
        *,
        title: str = "",
        at: int = 0,
        source: str = "vault",
        **more: Any,
    ) -> None:
        """Observe a note of one section, see it, extract it."""
        self.observe(item, {"": text}, title=title, at=at, source=source, **more)
        self.sight(item, source=source)
        self.extract(item, "", text, entities, relations, source=source)


CLASSES: dict[str, dict[str, Any]] = {
    "employment": {"relation": "part_of", "phrase_class": "employment", "phrase": "works at", "confidence": 0.8},
    "membership": {"relation": "part_of", "phrase_class": "membership", "phrase": "is a member of", "confidence": 0.8},
    "residence": {"relation": "located_at", "phrase_class": "residence", "phrase": "lives in", "confidence": 0.8},
    "dependency": {"relation": "depends_on", "phrase_class": "dependency", "phrase": "uses", "confidence": 0.7},
    "datastore": {
        "relation": "depends_on",
        "phrase_class": "datastore",
        "phrase": "stores its data in",
        "confidence": 0.9,
    },
    "association": {
        "relation": "related_to",
        "phrase_class": "association",
        "phrase": "is related to",
        "confidence": 0.6,
    },
    "work": {"relation": "participated_in", "phrase_class": "work", "phrase": "works on", "confidence": 0.75},
}


def episode(item: str, key: str, text: str) -> str:
    return digest(item, key, text)


@pytest.fixture
def log() -> FakeLog:
    return FakeLog()


@pytest.fixture
def new_log() -> type[FakeLog]:
    return FakeLog


@pytest.fixture
def graph_path(tmp_path: Path) -> Path:
    return tmp_path / "graph.db"


def _beside(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"graph_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    return _beside("reference")


@pytest.fixture(scope="session")
def streams() -> ModuleType:
    return _beside("streams")
