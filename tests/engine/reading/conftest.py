"""Small graphs written row by row as `schemas/graph.sql` says, so that reading is tested without the projection."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from ctxsync.engine.extraction.lexicon import Lexicon
from ctxsync.engine.names import normal
from ctxsync.engine.reading import Reader, ask
from ctxsync.engine.schema import universal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_LEXICON = Lexicon(universal())


def ms(text: str) -> int:
    """Return the milliseconds of `2024`, `2024-03`, `2024-03-05` or a full time, UTC."""
    text = {4: f"{text}-01-01", 7: f"{text}-01"}.get(len(text), text)
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


NOW = ms("2026-06-01")


class Builder:
    """Writes a graph. Position n was recorded at 2026-01-01 plus n hours unless `recorded` says otherwise."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = apsw.Connection(str(path))
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute(resources.files("ctxsync.schemas").joinpath("graph.sql").read_text())
        self.db.execute("INSERT INTO meta VALUES ('layout', 1), ('position', 1000), ('log_id', 'x')")
        with self.db:
            self.db.executemany(
                "INSERT INTO moment VALUES (?, ?)", [(position, self.recorded(position)) for position in range(1, 1001)]
            )
        self.entities: dict[str, int] = {}
        self.items: dict[str, int] = {}

    @staticmethod
    def recorded(position: int) -> int:
        return ms("2026-01-01") + position * 3_600_000

    def insert(self, table: str, **row: Any) -> int:
        columns = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        self.db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", row)
        return self.db.last_insert_rowid()

    def source(
        self, name: str = "vault", kind: str = "notes", trust: str = "own", identity: dict[str, list[str]] | None = None
    ) -> None:
        self.insert(
            "source",
            name=name,
            kind=kind,
            location=f"/home/me/{name}",
            trust=trust,
            removed=0,
            identity=json.dumps(identity or {"names": [], "keys": []}),
        )

    def entity(
        self,
        name: str,
        kind: str = "Concept",
        *,
        aliases: Sequence[str] = (),
        keys: Sequence[str] = (),
        since: int = 1,
        until: int | None = None,
        label: str | None = None,
    ) -> int:
        row = self.insert("entity", entity=_digest("entity", label or name))
        self.entities[label or name] = row
        self.insert("entity_version", entity=row, name=name, type=kind, since=since, until=until)
        for alias in (name, *aliases):
            self.insert("name", entity=row, name=alias, normal=normal(alias), since=since, until=until)
        for key in keys:
            part, _, value = key.partition(":")
            self.insert("identity_key", entity=row, kind=part, value=value, since=since, until=until)
        node = self.insert("node", node=f"name:{label or name}")
        self.insert("identity", node=node, entity=row, since=since, until=until)
        return row

    def episode(
        self,
        text: str,
        *,
        item: str = "note:1",
        title: str = "Note",
        place: str = "Note.md",
        source: str = "vault",
        kind: str = "note",
        line: int = 1,
        at: str = "2024-01-01",
        author: str = "",
        author_entity: str | None = None,
        since: int = 1,
        until: int | None = None,
        heading: Sequence[str] = (),
    ) -> int:
        if item not in self.items:
            self.items[item] = self.insert("item", item=item, kind=kind, title=title, attributes="{}", flags="[]")
            self.insert("sighting", item=self.items[item], source=source, place=place, since=since, until=until)
        node = None
        if author_entity is not None:
            node = self.db.execute(
                "SELECT node FROM identity WHERE entity = ?", (self.entities[author_entity],)
            ).fetchall()[0][0]
        row = self.insert(
            "episode",
            episode=_digest(item, text, str(since)),
            item=self.items[item],
            source=source,
            kind=kind,
            section="",
            heading=json.dumps(list(heading)),
            title=title,
            text=text,
            occurred_at=ms(at),
            author=author,
            author_node=node,
            thread="",
            tags="[]",
            position=since,
        )
        self.insert("holding", episode=row, line=line, since=since, until=until)
        self.db.execute(
            "INSERT INTO passage (rowid, title, heading, text) VALUES (?, ?, ?, ?)",
            (row, title, " ".join(heading), text),
        )
        return row

    def fact(
        self,
        head: str,
        phrase: str,
        tail: str,
        *,
        start: str = "2024-01-01",
        end: str | None = None,
        confidence: float = 0.9,
        since: int = 1,
        until: int | None = None,
        episode: int | None = None,
        quote: str = "",
        superseded_by: int | None = None,
        reason: str = "",
        ended_in: int | None = None,
        at: str | None = None,
    ) -> int:
        """State `head phrase tail`: relation, class and direction are those that the schema gives the phrase."""
        kinds = [
            str(
                self.db.execute("SELECT type FROM entity_version WHERE entity = ?", (self.entities[name],)).fetchall()[
                    0
                ][0]
            )
            for name in (head, tail)
        ]
        match = _LEXICON.find(phrase, *kinds)[0]
        if match.direction == -1:
            head, tail = tail, head
        ends = {"head": self.entities[head], "tail": self.entities[tail]}
        public = _digest("fact", head, match.relation, match.phrase_class, tail)
        found = self.db.execute("SELECT id FROM fact WHERE fact = ?", (public,)).fetchone()
        row = (
            found[0]
            if found
            else self.insert("fact", fact=public, relation=match.relation, phrase_class=match.phrase_class, **ends)
        )
        self.insert(
            "fact_version",
            fact=row,
            phrase=phrase,
            valid_from=ms(start),
            valid_to=ms(end) if end else None,
            confidence=confidence,
            superseded_by=superseded_by,
            reason=reason,
            since=since,
            until=until,
        )
        for said, role in ((episode, "states"), (ended_in, "ends")):
            if said is None:
                continue
            text = str(self.db.execute("SELECT text FROM episode WHERE id = ?", (said,)).fetchall()[0][0])
            words = quote if role == "states" else ""
            begin = text.find(words) if words else None
            evidence = self.insert(
                "evidence",
                evidence=_digest(public, str(said), role, str(since)),
                episode=said,
                relation=match.relation,
                phrase_class=match.phrase_class,
                phrase=phrase,
                quote=words,
                start=begin,
                stop=None if begin is None else begin + len(words),
                confidence=confidence,
                tier=1,
                valid_from=None,
                valid_to=None,
                ends=role == "ends",
                occurred_at=ms(at or start),
                since_at=ms(at or start),
                trust=2,
                **ends,
            )
            self.insert("support", fact=row, evidence=evidence, role=role, since=since, until=until)
        return row

    def people(self, *names: str) -> None:
        for name in names:
            self.entity(name, "Person")

    def reader(self) -> Reader:
        return Reader.open(self.path)

    def ask(self, question: str, **options: Any) -> dict[str, Any]:
        reader = self.reader()
        try:
            return ask(reader, question, **{"now": NOW, "vectors": False, **options})
        finally:
            reader.close()


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Builder]:
    builder = Builder(tmp_path / "graph.db")
    builder.source()
    yield builder
    builder.db.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    """A small company's graph that questions are asked of; nothing writes to it after this."""
    b = Builder(tmp_path_factory.mktemp("world") / "graph.db")
    b.source(identity={"names": ["Robin Vale"], "keys": ["email:robin@example.com"]})
    b.source("code", "git")
    b.entity("Robin Vale", "Person", keys=("email:robin@example.com",), aliases=("Robin",))
    b.people("Alice Moss", "Nadia Okafor", "Tom Brandt", "Wen Li")
    for name in ("Acme", "Globex", "Platform Team"):
        b.entity(name, "Organization")
    for name in ("Berlin", "Lisbon"):
        b.entity(name, "Place")
    for name in ("Heron", "Osprey", "billing-service", "Kafka", "Postgres", "MySQL", "AWS", "Redis"):
        b.entity(name, "Artifact")
    for name in ("March outage", "expired certificate", "missed invoices", "retro", "work", "owner"):
        b.entity(name, "Event" if name in ("March outage", "retro") else "Concept")
    b.entity("heron", "Artifact", keys=("repo:heron",), label="repo")
    b.entity("src/app.py", "Artifact", keys=("path:heron:src/app.py",))
    b.entity("heron#12", "Artifact", keys=("issue:heron#12",))
    b.entity("Queues", "Concept", keys=("note:aa",))
    b.entity("Oncall guide", "Concept", keys=("note:bb",))
    b.entity("kafka-notes", "Concept", label="tag")
    b.entity("Project Merlin", "Concept")
    b.fact("Wen Li", "leads", "Project Merlin")
    b.fact("Wen Li", "lives in", "Lisbon", start="2020-01-01", end="2021-01-01")
    b.entity("Chess Club", "Organization")
    b.fact("Wen Li", "is a member of", "Chess Club")
    note = b.episode(
        "# Team\n\nAlice Moss works at Globex.\nRobin owns Heron.\n",
        item="note:aa",
        title="Team",
        place="people/Team.md",
        line=3,
    )
    b.fact("Alice Moss", "works at", "Acme", start="2022-03-01", end="2024-05-01", reason="a later employer")
    b.fact("Alice Moss", "works at", "Globex", start="2024-05-01", episode=note, quote="Alice Moss works at Globex")
    b.fact("Nadia Okafor", "works at", "Acme", start="2023-02-01")
    b.fact("Tom Brandt", "works at", "Acme", start="2020-02-01", end="2021-02-01")
    b.fact("Alice Moss", "lives in", "Berlin", start="2023-01-01")
    b.fact("Robin Vale", "works at", "Acme", start="2021-01-01")
    b.fact("Robin Vale", "is a member of", "Platform Team")
    b.fact("Robin Vale", "owns", "Heron", episode=note, quote="Robin owns Heron")
    b.fact("Nadia Okafor", "leads", "Osprey", start="2025-01-01")
    b.fact("Tom Brandt", "leads", "Osprey", start="2023-01-01", end="2025-01-01")
    b.fact("billing-service", "depends on", "Kafka")
    b.fact("Heron", "depends on", "Kafka")
    b.fact("Heron", "depends on", "Redis", start="2022-01-01", end="2023-01-01")
    b.fact("Heron", "stores its data in", "MySQL", start="2022-01-01", end="2024-02-01")
    b.fact("Heron", "stores its data in", "Postgres", start="2024-02-01")
    b.fact("Heron", "is hosted on", "AWS")
    b.fact("Robin Vale", "works on", "Heron")
    b.fact("Wen Li", "works on", "Heron")
    b.fact("expired certificate", "caused", "March outage")
    b.fact("March outage", "caused", "missed invoices")
    b.fact("Wen Li", "attended", "retro")
    b.fact("Osprey", "was formerly called", "billing-service")
    b.fact("Queues", "links to", "Kafka")
    b.fact("Oncall guide", "links to", "Kafka")
    b.fact("Oncall guide", "is tagged", "tag")
    b.fact("Wen Li", "reports to", "Robin Vale")
    for number, (author, when) in enumerate(
        (
            ("Robin Vale", "2026-05-27"),
            ("Robin Vale", "2026-05-01"),
            ("Wen Li", "2026-05-28"),
            ("Nadia Okafor", "2024-05-28"),
        )
    ):
        name = f"Fix queue {number}"
        b.entity(name, "Event", keys=(f"commit:{number}abcdef0123456789",))
        b.fact(author, "authored", name, start=when)
        b.fact(name, "is part of", "repo", start=when)
        if number != 1:
            b.fact(name, "changes", "src/app.py", start=when)
        if number == 2:
            b.fact(name, "fixes", "heron#12", start=when)
    yield b
    b.db.close()
