"""What people and jobs decide: statements of their own, and which nodes are one entity or are not. Knows no episode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.engine.graph import facts, nodes, statements
from ctxsync.engine.graph.rows import query

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from ctxsync.engine.graph.identity import Identity
    from ctxsync.engine.graph.memory import Memory
    from ctxsync.engine.graph.records import Entity, Node
    from ctxsync.engine.graph.statements import Mention, Plan, Said
    from ctxsync.events.store import Event

TRUST = 3
"""A person's word, above own notes (2) and others' words (1)."""

IS_TIED = "SELECT 1 FROM verdict WHERE node = ? AND kind = 'tie' AND value = ?"
ADD_VERDICT = "INSERT OR IGNORE INTO verdict (node, kind, value) VALUES (?, ?, ?)"
DROP_VERDICT = "DELETE FROM verdict WHERE node = ? AND kind = ? AND value = ?"
DROP_VERDICTS = "DELETE FROM verdict WHERE node = ? AND kind = ?"
VERDICTS = "SELECT node, kind, value FROM verdict WHERE kind IN ('name', 'type')"


class People:
    """Applies the events of people and jobs.

    Args:
        db: The graph, inside a transaction of the caller's.
        memory: The objects of the batch.
        identity: Told of names, ties and verdicts.
        name: Counts a mention, once more or once fewer, and returns its node.
        say: Takes a statement, with when it was made (ms UTC) and its trust.
    """

    def __init__(
        self,
        db: apsw.Connection,
        memory: Memory,
        identity: Identity,
        name: Callable[[Mention, int], Node],
        say: Callable[[Said, int, int], None],
    ) -> None:
        self.db = db
        self.memory = memory
        self.identity = identity
        self._name = name
        self._say = say
        self.wanted: dict[str, dict[str, str]] = {"name": {}, "type": {}}
        for node, kind, value in query(db, VERDICTS):
            self.wanted[kind][node] = value
        self.handlers: dict[str, Callable[[Event], None]] = {
            "fact.asserted": self._asserted,
            "fact.confirmed": self._asserted,
            "fact.invalidated": self._invalidated,
            "fact.corrected": self._corrected,
            "entity.linked": self._linked,
            "entity.merged": self._merged,
            "entity.unmerged": self._unmerged,
            "entity.renamed": self._renamed,
            "entity.retyped": self._retyped,
        }

    def decided(self, kind: str, entity: Entity) -> str:
        """Return the name or type that a person wants an entity to have; of several, that of its first node by rank."""
        decided = self.wanted[kind]
        if not decided:
            return ""
        texts = [self.memory.node_at(id_).text for id_ in entity.nodes]
        hits = sorted((text for text in texts if text in decided), key=nodes.rank)
        return decided[hits[0]] if hits else ""

    def _tell(self, event: Event, plan: Plan) -> None:
        for mention in plan.mentions:
            node = self._name(mention, 1)
            if node.kind == nodes.FIRST:
                scope = node.text[len(nodes.FIRST) + 1 :].rpartition(":")[0]
                self.identity.mention((scope, event.source), node, (mention.name, mention.type), 1)
        for said in plan.said:
            self._say(said, event.occurred_at, TRUST)

    def _asserted(self, event: Event) -> None:
        self._tell(event, statements.stated(event.subject, event.payload["statement"], facts.STATES, event.occurred_at))

    def _invalidated(self, event: Event) -> None:
        payload = event.payload
        self._tell(
            event,
            statements.stated(
                event.subject, payload["statement"], facts.ENDS, event.occurred_at, valid_to=payload["valid_to"]
            ),
        )

    def _corrected(self, event: Event) -> None:
        payload = event.payload
        self._tell(event, statements.stated(event.subject, payload["statement"], facts.DENIES, event.occurred_at))
        if payload.get("correction"):
            self._tell(event, statements.stated(event.subject, payload["correction"], facts.STATES, event.occurred_at))

    def _linked(self, event: Event) -> None:
        self._join(event.payload["node"], event.payload["to"])

    def _merged(self, event: Event) -> None:
        self._join(event.payload["node"], event.payload["into"])

    def _join(self, text: str, other: str) -> None:
        identity = self.identity
        if text == other:
            return
        node, target = self.memory.node(text), self.memory.node(other)
        self._reconcile(text, other)
        if nodes.is_key(text) and nodes.is_key(other):
            self.db.execute(ADD_VERDICT, (text, "tie", other))
            identity.tie(node, target, 1)
            return
        if nodes.is_key(text):
            node, target = target, node
        self.db.execute(DROP_VERDICTS, (node.text, "link"))
        self.db.execute(ADD_VERDICT, (node.text, "link", target.text))
        identity.links[node.text] = target.text
        identity.judge(node)

    def _reconcile(self, text: str, other: str) -> None:
        for one, two in ((text, other), (other, text)):
            self.db.execute(DROP_VERDICT, (one, "apart", two))
            self.identity.apart.get(one, set()).discard(two)

    def _unmerged(self, event: Event) -> None:
        identity = self.identity
        text, other = event.payload["node"], event.payload["into"]
        node, target = self.memory.node(text), self.memory.node(other)
        for one, two in ((text, other), (other, text)):
            if self.db.execute(IS_TIED, (one, two)).get:
                self.db.execute(DROP_VERDICT, (one, "tie", two))
                identity.tie(node, target, -1)
            if identity.links.get(one) == two:
                del identity.links[one]
                self.db.execute(DROP_VERDICT, (one, "link", two))
            self.db.execute(ADD_VERDICT, (one, "apart", two))
            identity.apart.setdefault(one, set()).add(two)
        identity.judge(node)
        identity.judge(target)

    def _renamed(self, event: Event) -> None:
        self._decide(event.payload["node"], "name", event.payload["name"])

    def _retyped(self, event: Event) -> None:
        self._decide(event.payload["node"], "type", event.payload["to"])

    def _decide(self, text: str, kind: str, value: str) -> None:
        self.db.execute(DROP_VERDICTS, (text, kind))
        self.db.execute(ADD_VERDICT, (text, kind, value))
        self.wanted[kind][text] = value
        node = self.memory.node(text)
        if node.entity:
            self.identity.entities.add(node.entity)
