"""Events into the graph, one at a time, each at its own position. Knows no SQL but what looks episodes up.

What an event changes is first noted (held sections, mentions, evidence), then settled: identities, how entities are
shown, facts. So every version row stands at the position of the event that caused it, whatever the batch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from ctxsync.engine import schema as schemas
from ctxsync.engine.extraction.gate import wish
from ctxsync.engine.graph import entities, statements
from ctxsync.engine.graph.facts import Evidence
from ctxsync.engine.graph.groups import Groups, rules_of
from ctxsync.engine.graph.identity import Identity
from ctxsync.engine.graph.invitations import Invitations
from ctxsync.engine.graph.items import Items
from ctxsync.engine.graph.memory import Memory, loads
from ctxsync.engine.graph.people import People
from ctxsync.engine.graph.rows import query
from ctxsync.engine.graph.trust import SEEN_ALIKE, Trust
from ctxsync.engine.graph.waiting import Waiting
from ctxsync.events.runs import is_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import apsw

    from ctxsync.engine.graph.records import Episode, Node
    from ctxsync.engine.graph.statements import Plan
    from ctxsync.events.store import Event

KEPT_READINGS = 10_000
"""Extractions whose undated statements are remembered: an edited note's other sections are asked for at each edit."""

SET_SOURCE = """
INSERT OR REPLACE INTO source (name, kind, location, trust, removed, identity) VALUES (?, ?, ?, ?, ?, ?)
"""
ADOPTED = "SELECT source, run FROM adopted"
SET_ADOPTED = "INSERT OR REPLACE INTO adopted (source, run) VALUES (?, ?)"
EPISODES_OF_SOURCE = "SELECT episode FROM episode WHERE source = ? ORDER BY id"
# Of kinds that several sources show alike also what another source showed first.
EPISODES_COUNTED = """
SELECT episode FROM episode WHERE counted > 0 AND (source = :source OR (kind IN ('mail', 'slack') AND item IN (
    SELECT item FROM sighting WHERE source = :source AND until IS NULL))) ORDER BY id
"""
EPISODES_ALL = "SELECT episode FROM episode ORDER BY id"
OPEN_MENTIONS = "SELECT rowid FROM mention WHERE episode = ? AND until IS NULL"
OPEN_EVIDENCE = "SELECT id FROM evidence WHERE episode = ? AND active"
OLD_EVIDENCE = "SELECT evidence, id FROM evidence WHERE episode = ?"
SIGHTED_ITEMS = "SELECT DISTINCT i.item FROM sighting AS s JOIN item AS i ON i.id = s.item WHERE s.source = ? AND s.until IS NULL ORDER BY i.item"
REMOVED_SIGHTINGS = """
SELECT i.item, s.place FROM sighting AS s JOIN item AS i ON i.id = s.item
WHERE s.source = ? AND s.until = (SELECT value FROM meta WHERE key = ?) ORDER BY i.item, s.place
"""
DROP_META = "DELETE FROM meta WHERE key = ?"
META = "SELECT value FROM meta WHERE key = ?"
SET_META = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"


class Projector:
    """Applies events.

    Args:
        db: The graph, inside a transaction of the caller's.
        payload_at: Returns an event's payload by position, None when it was erased.
        complete: The graph is empty.
    """

    def __init__(
        self, db: apsw.Connection, payload_at: Callable[[int], Mapping[str, Any] | None], *, complete: bool
    ) -> None:
        self.db = db
        self.payload_at = payload_at
        self.memory = Memory(db, complete=complete)
        self.identity = Identity(self.memory)
        text = db.execute(META, ("schema",)).get
        self.learned: dict[str, bool] = loads(db.execute(META, ("rules",)).get or "{}")
        self.schema = schemas.parse(text) if text else schemas.universal()
        self.groups = Groups(self.memory, rules_of(self.schema, self.learned))
        self.trust = Trust(db)
        self.items = Items(self.memory, self.identity, self._count, self._undated, self.trust)
        self.invitations = Invitations(self.memory, self._counted_plan, self._trust)
        self._undated_at = lru_cache(maxsize=KEPT_READINGS)(self._read_undated)
        self._event: Event | None = None
        self.adopted: dict[str, str] = dict(query(db, ADOPTED))
        self._incoming: list[Evidence] = []
        self.waiting = Waiting(db)
        self.people = People(db, self.memory, self.identity, self._name, self._assert)
        self._handlers: dict[str, Callable[[Event], None]] = {
            "item.observed": self.items.observed,
            "item.sighted": self.items.sighted,
            "item.unsighted": self.items.unsighted,
            "item.moved": self.items.moved,
            "item.replaced": self.items.replaced,
            "source.configured": self._configured,
            "schema.adopted": self._schema_adopted,
            "schema.rule_learned": self._rule_learned,
            "episode.extracted": self._extracted,
            "extraction.failed": self._failed,
            "extraction.adopted": self._run_adopted,
            **self.waiting.handlers,
            **self.people.handlers,
        }

    def apply(self, event: Event) -> None:
        """Apply one event. Types that say nothing of the graph change nothing."""
        self.memory.rows.add("moment", event.position, event.recorded_at)
        self._event = event
        handler = self._handlers.get(event.type)
        if handler is not None:
            handler(event)
            self._settle(event.position)

    def _settle(self, position: int) -> None:
        memory = self.memory
        touched = [id_ for id_ in self.identity.settle(position) if memory.node_at(id_).evident]
        for evidence in self._incoming:
            self.groups.place(evidence)
            memory.node_at(evidence.head).evident = memory.node_at(evidence.tail).evident = True
        self._incoming.clear()
        for evidence in self.groups.of_nodes(touched) if touched else ():
            self.groups.place(evidence)
        for id_ in sorted(self.identity.entities):
            entity = memory.entity_at(id_)
            entities.settle(
                memory, entity, position, self.people.decided("name", entity), self.people.decided("type", entity)
            )
        self.identity.entities.clear()
        self.groups.settle(position)

    def flush(self) -> None:
        """Write what waits."""
        self.memory.flush()

    @property
    def size(self) -> int:
        """How many objects are held in memory."""
        return self.memory.size + self.groups.size

    def forget(self) -> None:
        """Let go of what is in memory; everything must be written."""
        self.memory.forget()
        self.identity.forget()
        self.groups.forget()
        self.invitations.forget()

    # Episodes

    def _extracted(self, event: Event) -> None:
        payload = event.payload
        text = payload["episode"]
        episode = self.memory.find_episode(text)
        if is_trial(payload["run"]):
            self._tried(event, episode)
            return
        before = None if episode is None else self.items.before_reading(episode)
        self.memory.runs(text).append((payload["run"], payload["tier"], event.position))
        wished = wish(payload["tier"], payload.get("gate") or ())
        row = (text, event.position, payload["run"], payload["tier"], event.occurred_at, wished)
        self.memory.rows.add("extraction", *row)
        if episode is not None:
            if before is not None:
                self.items.read(episode, before, event.position)
            self._count(episode, event.position)

    def _tried(self, event: Event, episode: Episode | None) -> None:
        """Keep a trial's result aside. It makes nothing read, and dates nothing; it counts where it is adopted."""
        payload = event.payload
        text, row = payload["episode"], (payload["run"], payload["tier"], event.position)
        self.memory.trials(text).append(row)
        self.memory.rows.add("trial", text, event.position, *row[:2])
        if episode is not None:
            self._count(episode, event.position)

    def _failed(self, event: Event) -> None:
        payload = event.payload
        if attempt := payload.get("attempt"):
            row = (
                payload["episode"],
                payload["run"],
                attempt,
                payload.get("retry_at") or 0,
                payload.get("reason") or "",
            )
            self.memory.rows.add("failure", *row)

    def _chosen(self, episode: Episode) -> int:
        """Return the position of the extraction that counts; 0 when none does."""
        runs = self.memory.runs(episode.text) if episode.believed else []
        if not runs:
            return 0
        if self.adopted:
            run = self.adopted.get(episode.source) or self.adopted.get("") or ""
            known = self.memory.trials(episode.text) if is_trial(run) else runs
            hits = [position for name, _, position in known if name == run]
            if hits:
                return hits[-1]
        return max(runs, key=lambda k: (k[1], k[2]))[2]

    def _count(self, episode: Episode, position: int, again: bool = False) -> None:
        """Count the extraction that is to be counted now, instead of the one before; `again` though it is the same."""
        chosen = self._chosen(episode)
        before = max(episode.counted, 0)
        if chosen == before and not again:
            return
        if again and chosen == before:
            if chosen:
                plan = self._plan(episode, chosen)
                self._invite(episode, plan, counts=True)
                self._again(episode, plan)
            return
        if before:
            plan = self._plan(episode, before)
            self._invite(episode, plan, counts=False)
            self._mentions(episode, plan, position, -1)
            self._withdraw(episode)
        if chosen:
            plan = self._plan(episode, chosen)
            self._mentions(episode, plan, position, 1)
            self._invite(episode, plan, counts=True)
            self._support(episode, plan, self._trust(episode), new=episode.counted == 0)
        episode.counted = chosen or -abs(episode.counted)
        self.memory.rows.add("episode_counted", episode.counted, episode.id)

    def _again(self, episode: Episode, plan: Plan) -> None:
        """Take what an episode says out and in again: its trust, or since when it says so, is another."""
        self.memory.flush()
        self._withdraw(episode)
        self._support(episode, plan, self._trust(episode), new=False)

    def _invite(self, episode: Episode, plan: Plan, *, counts: bool) -> None:
        """Let the latest message on a meeting speak of it, and those before it no longer."""
        if plan.invites:
            for other in self.invitations.change(episode, plan, counts=counts):
                told = self._counted_plan(other)
                if told is not None:
                    self._again(other, told)

    def _counted_plan(self, episode: Episode) -> Plan | None:
        return self._plan(episode, episode.counted) if episode.counted > 0 else None

    def _plan(self, episode: Episode, position: int) -> Plan:
        event = self._event
        found = event.payload if event is not None and event.position == position else self.payload_at(position)
        return statements.NOTHING if found is None else statements.plan(episode.text, episode.scope, found)

    def _undated(self, text: str) -> Iterator[tuple[str, int]]:
        """Yield what names the undated statements that any run found in an episode, with when it occurred."""
        episode = self.memory.find_episode(text)
        if episode is not None:
            for _, _, position in self.memory.runs(text):
                for key in self._undated_at(text, position):
                    yield key, episode.occurred_at

    def _read_undated(self, text: str, position: int) -> tuple[str, ...]:
        episode = self.memory.find_episode(text)
        said = () if episode is None else self._plan(episode, position).said
        return tuple(key for key in map(statements.undated, said) if key)

    def _trust(self, episode: Episode) -> int:
        item = self.memory.item(episode.item) if episode.kind in SEEN_ALIKE else None
        return self.trust.of(episode, item)

    def _mentions(self, episode: Episode, plan: Plan, position: int, change: int) -> None:
        rows = self.memory.rows
        if change < 0:
            self.memory.flush()
            for (rowid,) in query(self.db, OPEN_MENTIONS, (episode.id,)):
                rows.add("mention_until", position, rowid)
        place = (episode.scope, episode.source)
        for mention in plan.mentions:
            node = self._name(mention, change)
            _, name, type_, start, stop, _ = mention
            if change > 0:
                rows.insert("mention", episode.id, node.id, name, type_, start, stop, position)
            self.identity.mention(place, node, (name, type_), change)

    def _name(self, mention: statements.Mention, change: int) -> Node:
        memory, identity = self.memory, self.identity
        first = memory.node(mention.nodes[0])
        identity.refer(first, change)
        identity.call(first, mention.name, mention.type, change, change * mention.weight)
        for text in mention.nodes[1:]:
            other = memory.node(text)
            identity.refer(other, change)
            identity.tie(first, other, change)
        return first

    def _withdraw(self, episode: Episode) -> None:
        gone = [id_ for (id_,) in query(self.db, OPEN_EVIDENCE, (episode.id,))]
        if self._incoming:
            self._incoming = [one for one in self._incoming if one.id not in gone]
        for id_ in gone:
            evidence = self.groups.by_id(id_)
            self.groups.remove(evidence)
            self.memory.rows.add("evidence_active", 0, evidence.trust, evidence.occurred_at, id_)

    def _support(self, episode: Episode, plan: Plan, trust: int, *, new: bool) -> None:
        known: dict[str, int] = {}
        if not new:
            self.memory.flush()
            known = dict(query(self.db, OLD_EVIDENCE, (episode.id,)))
        at, since = episode.occurred_at, self.items.since(episode)
        stated = plan.said
        if plan.invites:
            silent = self.invitations.silent(episode, plan)
            stated = [said for said in stated if not statements.speaks_of(said, silent)]
        for said in stated:
            start = min(at, since.get(statements.undated(said), at)) if since else at
            self._say(said, episode.id, (at, start), trust, known.get(said.content))

    def _say(
        self, said: statements.Said, episode: int | None, at: tuple[int, int], trust: int, id_: int | None = None
    ) -> None:
        memory = self.memory
        head, tail = memory.node(said.head), memory.node(said.tail)
        if id_ is None:
            id_ = memory.rows.insert(
                "evidence", said.content, episode, head.id, *said[2:5], tail.id, *said[6:], *at, trust
            )
        else:
            memory.rows.add("evidence_active", 1, trust, at[1], id_)
        self._incoming.append(
            Evidence(id_, said.content, head.id, *said[2:5], tail.id, said.confidence, *said[11:14], at[1], trust)
        )

    def _assert(self, said: statements.Said, at: int, trust: int) -> None:
        self._say(said, None, (at, at), trust)

    def _recount(self, sql: str, bindings: tuple[str, ...] | dict[str, str], position: int, *, again: bool) -> None:
        self.memory.flush()
        for (text,) in query(self.db, sql, bindings):
            episode = self.memory.find_episode(text)
            if episode is not None:
                self._count(episode, position, again)

    def _run_adopted(self, event: Event) -> None:
        source, run = event.payload.get("source") or "", event.payload["run"]
        self.adopted[source] = run
        self.db.execute(SET_ADOPTED, (source, run))
        if source:
            self._recount(EPISODES_OF_SOURCE, (source,), event.position, again=False)
        else:
            self._recount(EPISODES_ALL, (), event.position, again=False)

    # Sources and schema

    def _configured(self, event: Event) -> None:
        payload = event.payload
        name, removed = payload["name"], bool(payload.get("removed"))
        identity = {
            "names": list(payload.get("identity_names") or ()),
            "keys": list(payload.get("identity_keys") or ()),
        }
        body = orjson.dumps(identity).decode()
        self.db.execute(SET_SOURCE, (name, payload["kind"], payload["location"], payload["trust"], removed, body))
        weighed_otherwise = self.trust.configured(payload)
        self.memory.flush()
        if not removed:
            for item, place in query(self.db, REMOVED_SIGHTINGS, (name, f"removed:{name}")):
                self.items.restore(item, name, place, event.position)
            self.db.execute(DROP_META, (f"removed:{name}",))
            self.waiting.bring_back(name)
        else:
            self.db.execute(SET_META, (f"removed:{name}", event.position))
            self.waiting.set_aside(name)
            for (item,) in query(self.db, SIGHTED_ITEMS, (name,)):
                self.items.remove_source(item, name, event.position)
        if weighed_otherwise:
            self._recount(EPISODES_COUNTED, {"source": name}, event.position, again=True)

    def _schema_adopted(self, event: Event) -> None:
        text = event.payload["toml"]
        self.db.execute(SET_META, ("schema", text))
        self.schema = schemas.parse(text)
        self._take_rules()

    def _rule_learned(self, event: Event) -> None:
        self.learned[event.payload["phrase_class"]] = bool(event.payload["single"])
        self.db.execute(SET_META, ("rules", orjson.dumps(self.learned, option=orjson.OPT_SORT_KEYS).decode()))
        self._take_rules()

    def _take_rules(self) -> None:
        before, after = self.groups.rules, rules_of(self.schema, self.learned)
        changed = (before.single ^ after.single) | (before.symmetric ^ after.symmetric)
        for name in sorted(changed):
            self.groups.regroup(after, name)
        self.groups.rules = after
