"""Which identity nodes are one entity: rules over the whole evidence, recomputed only where it changed. Knows no facts.

ANCHOR   the node whose entity a node is; a node without one stands for itself
REP      the key that represents the keys united with it
ROOT     where the chain of anchors and reps ends: the node whose digest is the entity's id

The rules, in order; each looks only at the results of those before it, so the outcome depends on the evidence alone:
 1. Keys of one mention, of one mailmap entry, of one note, or merged by a person are one.
 2. A note is the person whose full name it claims, when it alone claims that name and exactly one person bears it.
 3. A name is the note that alone claims it; a name that several claim is nobody's. An unclaimed full name is the person
    who alone bears it.
 4. A first name is who alone fits it in its scope; where nobody does, the note of the same source that alone claims it.
A person's link goes before 3 and 4; what a person took apart is not joined again by 2, 3 or 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.engine.graph import nodes
from ctxsync.engine.graph.intake import Intake, Mention
from ctxsync.engine.graph.rows import first, query

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxsync.engine.graph.memory import Memory
    from ctxsync.engine.graph.records import Node

SCOPE_MENTIONS = """
SELECT m.node, m.name, m.type, count(*) FROM episode AS e JOIN mention AS m ON m.episode = e.id
WHERE e.scope = ? AND m.until IS NULL GROUP BY m.node, m.name, m.type
"""
FIRST_NAME = "SELECT scope, normal, source FROM first_name WHERE node = ?"
VERDICTS = "SELECT node, kind, value FROM verdict"


class Identity(Intake):
    """Takes changes of evidence, and on `settle` moves nodes between entities.

    Args:
        memory: The objects of the batch.
    """

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.links: dict[str, str] = {}
        self.apart: dict[str, set[str]] = {}
        for node, kind, value in query(memory.db, VERDICTS):
            if kind == "link":
                self.links[node] = value
            elif kind == "apart":
                self.apart.setdefault(node, set()).add(value)

    def settle(self, position: int) -> set[int]:
        """Apply the rules where evidence changed; return the nodes whose entity is another one from `position` on."""
        if not (self._keyed or self._names or self._firsts or self._moved):
            return set()
        self._unite()
        self._anchor_notes()
        self._anchor_names()
        affected = self._spread(self._moved)
        self._anchor_firsts(affected)
        moved = self._move(self._spread(affected), position)
        self._keyed, self._names, self._firsts, self._moved = set(), set(), set(), set()
        return moved

    def _united(self, node: Node) -> list[Node]:
        """Return all keys united with a key."""
        if not node.ties:
            return [node]
        memory = self.memory
        seen, todo = {node.id}, [node]
        for one in todo:
            for peer in one.ties:
                if peer not in seen:
                    seen.add(peer)
                    todo.append(memory.node_at(peer))
        return todo

    def _unite(self) -> None:
        done: set[int] = set()
        for id_ in sorted(self._keyed):
            if id_ in done:
                continue
            group = self._united(self.memory.node_at(id_))
            alive = [k for k in group if k.refs]
            rep = min(alive, key=lambda k: nodes.rank(k.text)).id if alive else id_
            for node in group:
                done.add(node.id)
                self._renamed(node)
                wanted = rep if node.refs else node.id
                if node.rep != wanted:
                    node.rep = wanted
                    self.memory.dirty.add(node.id)
                    self._moved.add(node.id)

    def _renamed(self, node: Node) -> None:
        """Look again at the names that a key bears or claims: it may count with others now, or no longer."""
        self._names.update(node.full)
        if node.kind == nodes.NOTE:
            self._names |= self.memory.claimed(node)

    def _reps(self, ids: Iterable[int]) -> dict[int, Node]:
        """Return one node of each group of united keys, the first by rank."""
        found: dict[int, Node] = {}
        for id_ in ids:
            node = self.memory.node_at(id_)
            best = found.get(node.rep)
            if best is None or nodes.rank(node.text) < nodes.rank(best.text):
                found[node.rep] = node
        return found

    def _person(self, plain: str) -> Node | None:
        found = self._reps(self.memory.bearers(plain)) if nodes.is_full(plain) else {}
        return _only(found)

    def _claimants(self, plain: str, source: str | None = None) -> dict[int, Node]:
        return self._reps({n for n, s in self.memory.claims(plain) if source is None or s == source})

    def _anchor_notes(self) -> None:
        memory = self.memory
        todo = {n for plain in self._names for n, _ in memory.claims(plain)}
        todo |= {id_ for id_ in self._keyed | self._moved if memory.node_at(id_).kind == nodes.NOTE}
        for rep in sorted({memory.node_at(id_).rep for id_ in todo}):
            node = memory.node_at(rep)
            people: dict[int, Node] = {}
            if node.kind == nodes.NOTE:
                for one in self._united(node):
                    if one.kind != nodes.NOTE or not one.refs:
                        continue
                    for plain in sorted(memory.claimed(one)):
                        person = self._person(plain) if len(self._claimants(plain)) == 1 else None
                        if person is not None and not self._kept_apart(one, person):
                            people[person.rep] = person
            self._anchor(node, _only(people))
        # A note that is represented by another key stands behind that key's anchor, not its own.
        for id_ in sorted(todo):
            node = memory.node_at(id_)
            if node.rep != id_:
                self._anchor(node, None)

    def _anchor_names(self) -> None:
        memory = self.memory
        for plain in sorted(self._names):
            node = memory.find_node(f"{nodes.NAME}:{plain}")
            if node is not None:
                self._anchor(node, self._owner(node, plain) if node.refs else None)
            self._firsts |= memory.firsts_named(plain)

    def _owner(self, node: Node, plain: str) -> Node | None:
        link = self.links.get(node.text)
        if link is not None:
            return self.memory.node(link)
        claimants = self._claimants(plain)
        found = _only(claimants) if claimants else self._person(plain)
        return None if found is None or self._kept_apart(node, found) else found

    def _kept_apart(self, node: Node, other: Node) -> bool:
        apart = self.apart.get(node.text)
        return apart is not None and any(k.text in apart for k in self._united(other))

    def _anchor(self, node: Node, other: Node | None) -> None:
        wanted = 0 if other is None or other is node else other.id
        if node.anchor == wanted:
            return
        memory = self.memory
        if node.anchor:
            memory.node_at(node.anchor).followers.discard(node.id)
        if wanted and other is not None:
            other.followers.add(node.id)
        node.anchor = wanted
        memory.dirty.add(node.id)
        self._moved.add(node.id)

    def _spread(self, start: set[int]) -> set[int]:
        """Return nodes with all that stand behind them."""
        memory = self.memory
        seen = set(start)
        todo = list(start)
        for id_ in todo:
            node = memory.node_at(id_)
            for other in (*node.followers, *node.ties):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen

    def root(self, node: Node, *, through_firsts: bool = True) -> Node | None:
        """Return the node that a node's entity is named after; None when nothing names it now.

        A chain of people's links that closes upon itself ends at its first node by rank.
        """
        memory = self.memory
        path: list[Node] = []
        while node.refs:
            if node in path:
                return min(path[path.index(node) :], key=lambda k: nodes.rank(k.text))
            if node.kind == nodes.FIRST and not through_firsts:
                return None
            path.append(node)
            beyond = node.rep if node.rep != node.id else node.anchor
            target = memory.node_at(beyond) if beyond else None
            if target is None or not target.refs:
                return node
            node = target
        return None

    def _anchor_firsts(self, affected: set[int]) -> None:
        memory = self.memory
        todo = set(self._firsts)
        for id_ in affected:
            todo |= memory.watchers(id_)
        for id_ in sorted(todo):
            node = memory.node_at(id_)
            before = node.anchor
            self._anchor(node, self._meant(node) if node.refs else None)
            if node.anchor != before:
                affected.add(id_)

    def _meant(self, node: Node) -> Node | None:
        link = self.links.get(node.text)
        if link is not None:
            return self.memory.node(link)
        scope, plain, source = self._first_name(node.id)
        fits: dict[int, Node] = {}
        watched: set[int] = set()
        for id_, name, type_ in self._mentions(scope):
            called = nodes.normal(name)
            if nodes.first_word(called) != plain:
                continue
            other = self.memory.node_at(id_)
            root = self._fit(other, called, type_)
            if other.kind != nodes.FIRST:
                watched.add(id_)
            if root is None or self._kept_apart(node, root):
                continue
            best = fits.get(root.id)
            if best is None or nodes.rank(other.text) < nodes.rank(best.text):
                fits[root.id] = other
        self._watch(node.id, watched)
        if fits:
            return _only(fits)
        claimants = self._claimants(plain, source)
        found = _only(claimants)
        return None if found is None or self._kept_apart(node, found) else found

    def _fit(self, node: Node, called: str, type_: str) -> Node | None:
        """Return the root of someone a first name may mean: a person by key, a note, a person's full name."""
        if node.kind == nodes.FIRST or (node.kind in nodes.THINGS and node.kind != nodes.NOTE):
            return None
        root = self.root(node, through_firsts=False)
        if root is None or node.kind != nodes.NAME:
            return root
        named = type_ == "Person" and nodes.is_full(called)
        return root if named or root.kind == nodes.NOTE or nodes.is_person_kind(root.kind) else None

    def _first_name(self, node: int) -> tuple[str, str, str]:
        found = self._first.get(node)
        if found is None:
            found = self._first[node] = first(self.memory.db, FIRST_NAME, (node,))
        return found

    def _mentions(self, scope: str) -> dict[Mention, int]:
        found = self._scopes.get(scope)
        if found is None:
            self.memory.flush()
            rows = query(self.memory.db, SCOPE_MENTIONS, (scope,))
            found = self._scopes[scope] = {(n, name, t): count for n, name, t, count in rows}
        return found

    def _watch(self, first: int, watched: set[int]) -> None:
        memory = self.memory
        before = memory.watched(first)
        for id_ in sorted(watched - before):
            memory.watchers(id_, change=True).add(first)
            memory.rows.put("candidate", (id_, first))
        for id_ in sorted(before - watched):
            memory.watchers(id_, change=True).discard(first)
            memory.rows.drop("candidate", (id_, first))
        before.clear()
        before |= watched

    def _move(self, affected: set[int], position: int) -> set[int]:
        memory = self.memory
        moved: set[int] = set()
        for id_ in sorted(affected):
            node = memory.node_at(id_)
            root = self.root(node)
            wanted = 0 if root is None else memory.entity(nodes.entity_id(root.text)).id
            if node.entity == wanted:
                continue
            if node.entity:
                old = memory.entity_at(node.entity)
                memory.sum_names(old, node, -1)
                old.nodes.discard(id_)
                old.touched.add(id_)
                self.entities.add(old.id)
                memory.rows.add("identity_until", position, node.row)
            if wanted:
                new = memory.entity_at(wanted)
                memory.sum_names(new, node, 1)
                new.nodes.add(id_)
                new.touched.add(id_)
                self.entities.add(wanted)
                node.row = memory.rows.insert("identity", id_, wanted, position)
            node.entity = wanted
            moved.add(id_)
        return moved


def _only(found: dict[int, Node]) -> Node | None:
    """Return what is found when it is found once."""
    return next(iter(found.values())) if len(found) == 1 else None
