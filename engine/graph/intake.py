"""What names, ties and claims the evidence counts, and which of them changed; decides nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.engine.graph import nodes
from ctxsync.engine.graph.records import add_name

if TYPE_CHECKING:
    from ctxsync.engine.graph.memory import Memory
    from ctxsync.engine.graph.records import Naming, Node

Mention = tuple[int, str, str]  # node, name, type


class Intake:
    """Takes changes of evidence and keeps what must be looked at again.

    Args:
        memory: The objects of the batch.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._scopes: dict[str, dict[Mention, int]] = {}
        self._first: dict[int, tuple[str, str, str]] = {}
        self._keyed: set[int] = set()
        self._names: set[str] = set()
        self._firsts: set[int] = set()
        self._moved: set[int] = set()
        self.entities: set[int] = set()

    def forget(self) -> None:
        """Let go of what is cached, with the memory."""
        self._scopes.clear()
        self._first.clear()

    def refer(self, node: Node, change: int) -> None:
        """Count one more, or one fewer, thing that names the node."""
        before = node.refs
        node.refs += change
        self.memory.dirty.add(node.id)
        if before == 0 or node.refs == 0:
            self._wake(node)

    def _wake(self, node: Node) -> None:
        self._moved.add(node.id)
        if node.kind == nodes.NAME:
            self._names.add(node.text[5:])
        elif node.kind == nodes.FIRST:
            self._firsts.add(node.id)
        else:
            self._keyed.add(node.id)

    def call(self, node: Node, name: str, type_: str, count: int, weight: int) -> None:
        """Count names that a node is called by; negative takes them back."""
        memory = self.memory
        if node.entity:
            entity = memory.entity_at(node.entity)
            known = add_name(entity, (name, type_, node.kind), count, weight)
            # One more vote for what is shown changes nothing, nor does one more name of what is only pointed at.
            counts_for_nothing = type_ == "" and node.kind in nodes.REFERRED_TO
            if not known or count < 0 or (entity.shown != (name, type_) and not counts_for_nothing):
                self.entities.add(node.entity)
        key = (name, type_)
        old = node.names.get(key, (0, 0))
        new = (old[0] + count, old[1] + weight)
        if new[0]:
            node.names[key] = new
            memory.rows.put("naming", (node.id, name, type_), *new)
        else:
            node.names.pop(key, None)
            memory.rows.drop("naming", (node.id, name, type_))
        if bool(old[0]) != bool(new[0]) and nodes.is_person_kind(node.kind):
            plain = nodes.normal(name)
            if nodes.is_full(plain):
                self._bear(node, plain, 1 if new[0] else -1)

    def _bear(self, node: Node, plain: str, change: int) -> None:
        had = node.full.get(plain, 0)
        node.full[plain] = had + change
        bearers = self.memory.bearers(plain, change=True)
        if had == 0:
            bearers.add(node.id)
            self.memory.rows.put("bearer", (plain, node.id))
            self._names.add(plain)
        elif had + change == 0:
            del node.full[plain]
            bearers.discard(node.id)
            self.memory.rows.drop("bearer", (plain, node.id))
            self._names.add(plain)

    def tie(self, one: Node, other: Node, change: int) -> None:
        """Count one more, or one fewer, reason why two keys are one entity."""
        for node, peer in ((one, other), (other, one)):
            count = node.ties.get(peer.id, 0) + change
            if count:
                node.ties[peer.id] = count
                self.memory.rows.put("tie", (node.id, peer.id), count)
            else:
                node.ties.pop(peer.id, None)
                self.memory.rows.drop("tie", (node.id, peer.id))
            self._keyed.add(node.id)

    def claim(self, plain: str, node: Node, source: str, change: int) -> None:
        """Count one more, or one fewer, claim of a note to a name."""
        claims = self.memory.claims(plain, change=True)
        count = claims.get((node.id, source), 0) + change
        if count:
            claims[node.id, source] = count
            self.memory.rows.put("claim", (plain, node.id, source), count)
        else:
            claims.pop((node.id, source), None)
            self.memory.rows.drop("claim", (plain, node.id, source))
        self._names.add(plain)
        self._keyed.add(node.id)

    def mention(self, place: tuple[str, str], node: Node, called: Naming, change: int) -> None:
        """Note that a place (scope, source) names a node, or no longer does."""
        scope, source = place
        memory = self.memory
        mentions = self._scopes.get(scope)
        if mentions is None and memory.complete:
            mentions = self._scopes[scope] = {}
        if mentions is not None:
            key = (node.id, *called)
            count = mentions.get(key, 0) + change
            if count:
                mentions[key] = count
            else:
                del mentions[key]
        firsts = memory.firsts_in(scope)
        if node.kind == nodes.FIRST and node.id not in firsts:
            plain = node.text[len(scope) + 7 :]
            self._first[node.id] = (scope, plain, source)
            memory.rows.add("first_name", node.id, scope, plain, source)
            firsts = memory.firsts_in(scope, change=True)
            firsts.add(node.id)
            memory.firsts_named(plain, change=True).add(node.id)
        self._firsts |= firsts

    def judge(self, node: Node) -> None:
        """Look again at a node that a person decided about."""
        self._wake(node)
