"""Mail, Slack, notes and commits as sources give them, through the real log, chain and projection."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ctxsync.changes import to_events
from ctxsync.connectors.base import Item, Moved, Observed, Person, Section, Sighted, Unsighted
from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.reactor import extract_pending
from ctxsync.engine.graph import Graph, catch_up, rebuild
from ctxsync.engine.reading import Reader, ask
from ctxsync.events.model import SourceConfigured
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.engine.extraction.chain import Chain

ROBIN = Identity(("Robin Vale", "Robin"), ("email:robin@example.com",))
FACTS = """
SELECT h.name, f.relation, f.phrase_class, t.name, v.phrase, v.valid_from, v.valid_to
FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
JOIN entity_version AS h ON h.entity = f.head AND h.until IS NULL
JOIN entity_version AS t ON t.entity = f.tail AND t.until IS NULL
WHERE v.until IS NULL ORDER BY 1, 2, 3, 4
"""
ENTITIES = """
SELECT v.name, v.type, (SELECT group_concat(k.kind || ':' || k.value, ' ') FROM (
    SELECT kind, value FROM identity_key WHERE entity = v.entity AND until IS NULL ORDER BY kind, value) AS k)
FROM entity_version AS v WHERE v.until IS NULL ORDER BY 1, 2, 3
"""
TRUSTS = """
SELECT DISTINCT e.trust FROM evidence AS e JOIN episode AS ep ON ep.id = e.episode JOIN item AS i ON i.id = ep.item
WHERE i.item = ? AND e.active
"""


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def who(name: str, *keys: str) -> dict[str, Any]:
    return {"name": name, "keys": list(keys)}


NADIA = who("Nadia Okoro", "email:nadia@example.com")
ME = who("Robin Vale", "email:robin@example.com")


def mail(
    name: str,
    text: str = "Hello.",
    *,
    subject: str = "Lunch",
    sender: dict[str, Any] | None = NADIA,
    at: str = "2026-03-02T09:00",
    to: Any = (ME,),
    thread: str = "",
    quoted: Any = (),
    **stated: Any,
) -> Item:
    """Return a mail as the parser makes it; its Message-ID is `<name>@example.com`."""
    own = f"{name}@example.com"
    author = None if sender is None else Person(sender["name"], tuple(sender["keys"]))
    attributes = {
        "message_id": own,
        "from": [] if sender is None else [sender],
        "to": list(to),
        **stated,
    }
    section = Section(
        "body",
        text,
        ms(at),
        author=author,
        thread=f"mail:{thread or own}",
        quoted=tuple(quoted),
        attributes={key: value for key, value in attributes.items() if value},
    )
    return Item(f"mail:{name}", "mail", subject, (section,))


def said(
    ts: str, text: str, *, user: str = "U1", name: str = "Nadia Okoro", channel: str = "C1", at: str = "", **stated: Any
) -> Item:
    """Return a Slack message of the workspace T1."""
    root = stated.get("thread_ts", ts)
    section = Section(
        "message",
        text,
        ms(at) if at else int(float(ts) * 1000),
        author=Person(name, (f"slack:T1:{user}",)),
        thread=f"slack:T1/{channel}/{root}",
        links=stated.pop("links", ()),
        quoted=stated.pop("quoted", ()),
        attributes={"team": "T1", "channel": channel, "ts": ts, **stated},
    )
    return Item(f"slack:T1/{channel}/{ts}", "slack", text[:80], (section,))


def directory(*people: tuple[str, str, str], bots: Any = (), channels: Any = (("C1", "general"),)) -> Item:
    """Return the directory of T1; `people` are (user, name, e-mail)."""
    listed: list[Any] = [
        {"key": f"slack:T1:{user}", "name": name, "names": [name], "email": email, "bot": False}
        for user, name, email in people
    ]
    listed += [
        {"key": f"address:slack:T1:{user}", "name": name, "names": [name], "email": email, "bot": True}
        for user, name, email in bots
    ]
    known: list[Any] = [{"id": id_, "name": name, "topic": ""} for id_, name in channels]
    return Item(
        "slack-directory:T1",
        "directory",
        "Example",
        (),
        attributes={"team": "T1", "people": listed, "channels": known},
    )


def note(title: str, text: str, *, at: str = "2026-01-01", keys: Any = (), names: Any = (), **attributes: Any) -> Item:
    section = Section("", text, ms(at))
    return Item(f"note:{title}", "note", title, (section,), tuple(names), tuple(keys), attributes)


def commit(
    sha: str, subject: str, *, author: dict[str, Any] = ME, at: str = "2026-02-01", text: str = "", **more: Any
) -> Item:
    attributes = {"repository": "heron", "sha": sha, "files": [], **more}
    person = Person(author["name"], tuple(author["keys"]))
    return Item(
        f"commit:{sha}",
        "commit",
        subject,
        (Section("message", text or subject, ms(at), author=person, attributes=attributes),),
    )


@dataclass
class World:
    """A log and its graph. Sources are configured with the first item that they show."""

    root: Path
    chain: Chain
    store: EventStore
    known: dict[str, str] = field(default_factory=dict)

    def source(self, name: str, *, trust: str = "others", removed: bool = False, keys: Any = ROBIN.keys) -> None:
        self.known[name] = trust
        payload = SourceConfigured(
            name=name,
            kind="x",
            location=f"/{name}",
            trust=trust,  # type: ignore[arg-type]  # one of the two
            removed=removed,
            identity_names=ROBIN.names,
            identity_keys=tuple(keys),
        )
        self.store.append([NewEvent("ctxsync", f"source:{name}", payload, 0)])

    def show(self, source: str, item: Item, place: str = "INBOX", role: str = "") -> None:
        """Let a source show an item at a place."""
        if source not in self.known:
            self.source(source, trust="own" if source == "vault" else "others")
        self._append(source, Observed(item, place), Sighted(item.id, place, role))

    def see(self, source: str, item: str, place: str = "INBOX", role: str = "") -> None:
        self._append(source, Sighted(item, place, role))

    def lose(self, source: str, item: str, place: str = "INBOX") -> None:
        self._append(source, Unsighted(item, place))

    def move(self, source: str, item: str, place: str, to: str) -> None:
        self._append(source, Moved(item, place, to))

    def _append(self, source: str, *changes: Any) -> None:
        self.store.append(list(to_events(source, changes, 0)))

    def read(self) -> Graph:
        """Extract and project what waits; return the graph, after checking that a rebuild gives the same."""
        extract_pending(self.store, self.chain)
        graph = Graph.open(self.root / "graph.db", write=True)
        catch_up(self.store, graph)
        whole = rebuild(self.store, self.root / "rebuilt.db")
        assert (graph.state_hash(), graph.history_hash()) == (whole.state_hash(), whole.history_hash())
        whole.close()
        return graph

    def facts(self, *, tiers: bool = False) -> list[str]:
        """Return the facts, a line each; without `tiers`' structure only those between named things."""
        with self.read() as graph:
            rows = graph.db.execute(FACTS).fetchall()
        return [f"{h} -{phrase}-> {t}" if tiers else f"{h} {c} {t}" for h, _, c, t, phrase, _, _ in rows]

    def spans(self, phrase_class: str) -> list[tuple[str, str, str | None, str | None]]:
        with self.read() as graph:
            rows: list[Any] = graph.db.execute(FACTS).fetchall()
        return [(h, t, day(start), day(end)) for h, _, c, t, _, start, end in rows if c == phrase_class]

    def entities(self) -> dict[str, tuple[str, str]]:
        """Return {keys: (name, type)} of what has keys."""
        with self.read() as graph:
            return {keys: (name, kind) for name, kind, keys in graph.db.execute(ENTITIES) if keys}

    def trust(self, item: str) -> int:
        with self.read() as graph:
            return int(graph.db.execute(TRUSTS, (item,)).get)

    def ask(self, question: str, now: str = "2026-06-01", **options: Any) -> dict[str, Any]:
        self.read().close()
        reader = Reader.open(self.root / "graph.db")
        try:
            return ask(reader, question, **{"now": ms(now), "vectors": False, **options})
        finally:
            reader.close()


def day(at: int | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M")
