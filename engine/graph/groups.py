"""Fact groups: which evidence stands in which, and what changed of their facts when it did. Knows no identity rule.

A group is named by (head entity, relation, phrase class, tail entity), the last being 0 in a single-valued class. Ends
of other classes of the same relation reach into a group where head and tail are the same: 'left' ends employment and
membership alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from ctxsync.connectors.base import digest
from ctxsync.engine.graph import facts
from ctxsync.engine.graph.facts import Evidence, Member, Tally
from ctxsync.engine.graph.rows import first, query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ctxsync.engine.graph.memory import Memory
    from ctxsync.engine.graph.records import Fact
    from ctxsync.engine.schema import Schema

Key = tuple[int, str, str, int]

EVIDENCE_OF_NODE = """
SELECT id, evidence, head, relation, phrase_class, phrase, tail, confidence, valid_from, valid_to, ends, since_at, trust
FROM evidence WHERE (head = :node OR tail = :node) AND active
"""
EVIDENCE_OF_CLASS = """
SELECT id, evidence, head, relation, phrase_class, phrase, tail, confidence, valid_from, valid_to, ends, since_at, trust
FROM evidence WHERE phrase_class = ? AND active
"""
EVIDENCE_BY_ID = """
SELECT id, evidence, head, relation, phrase_class, phrase, tail, confidence, valid_from, valid_to, ends, since_at, trust
FROM evidence WHERE id = ?
"""
ENDS_OF_NODES = """
SELECT e.id, evidence, head, relation, phrase_class, phrase, tail, confidence, valid_from, valid_to, ends, since_at, trust
FROM json_each(?) AS j CROSS JOIN evidence AS e ON e.head = j.value AND e.relation = ? AND e.ends > 0
WHERE e.ends = 1 AND e.active
"""
FACTS_OF_GROUP = "SELECT fact FROM fact WHERE head = ? AND relation = ? AND phrase_class = ?"
HOME = """
SELECT f.head, f.tail FROM support AS s JOIN fact AS f ON f.id = s.fact
WHERE s.evidence = ? AND s.until IS NULL AND f.phrase_class = ?
"""


class Rules(NamedTuple):
    """What the adopted schema says of classes."""

    single: frozenset[str]
    symmetric: frozenset[str]
    classes: Mapping[str, tuple[str, ...]]  # the classes of each relation, the one without a name among them


def rules_of(schema: Schema, learned: Mapping[str, bool]) -> Rules:
    """Return a schema's rules; learned cardinality overrides what it declares."""
    known = schema.classes.values()
    single = {k.name for k in known if learned.get(k.name, k.single) and not k.symmetric}
    single |= {name for name, one in learned.items() if one and name not in schema.classes}
    classes = {
        relation: ("", *sorted(k.name for k in known if k.relation == relation)) for relation in schema.relations
    }
    return Rules(frozenset(single), frozenset(k.name for k in known if k.symmetric), classes)


class Group:
    """The evidence of a group by id, and its facts by tail entity.

    While a group only states, its evidence is added up in `tally`, and what came since the last settling is `fresh`.
    """

    __slots__ = ("facts", "fresh", "members", "tally")

    def __init__(self) -> None:
        self.members: dict[int, Member] = {}
        self.facts: dict[int, Fact] = {}
        self.fresh: list[Evidence] = []
        self.tally: Tally | None = None


class Groups:
    """Takes evidence in and out, and on `settle` writes what changed of the facts.

    Args:
        memory: The objects of the batch.
        rules: The adopted schema's.
    """

    def __init__(self, memory: Memory, rules: Rules) -> None:
        self.memory = memory
        self.rules = rules
        self._groups: dict[Key, Group] = {}
        self._home: dict[int, Key] = {}
        self._ends: dict[tuple[int, str], dict[int, Member]] = {}
        self._dirty: set[Key] = set()

    @property
    def size(self) -> int:
        """How many objects are held."""
        return len(self._groups) + len(self._home)

    def forget(self) -> None:
        """Let go of what is cached, with the memory."""
        self._groups.clear()
        self._home.clear()
        self._ends.clear()

    # Evidence

    def key(self, evidence: Evidence) -> tuple[Key, int]:
        """Return the group of evidence under the identities of now, and its tail."""
        memory = self.memory
        head, tail = memory.node_at(evidence.head).entity, memory.node_at(evidence.tail).entity
        phrase_class = evidence.phrase_class
        if phrase_class in self.rules.single:
            return (head, evidence.relation, phrase_class, 0), tail
        if phrase_class in self.rules.symmetric and memory.entity_at(head).text > memory.entity_at(tail).text:
            head, tail = tail, head
        return (head, evidence.relation, phrase_class, tail), tail

    def regroup(self, rules: Rules, phrase_class: str) -> None:
        """Take on rules under which a class is grouped otherwise."""
        evidence = self.of_class(phrase_class)
        for one in evidence:
            self.remove(one)
        parted = [key for key in self._groups if key[2] == phrase_class]
        left = [(key, fact) for key in parted for fact in self._groups.pop(key).facts.values()]
        self._dirty.difference_update(parted)
        self.rules = rules
        for one in evidence:
            self.place(one)
        # A fact keeps its open rows: the group that it belongs to now must find them.
        for (head, relation, _, _), fact in left:
            key = (head, relation, phrase_class, 0 if phrase_class in rules.single else fact.tail)
            group = self._group(key)
            group.facts[fact.tail] = fact
            group.tally = None
            self._dirty.add(key)

    def place(self, evidence: Evidence) -> None:
        """Put evidence into the group where it belongs now, out of the one where it was."""
        key, tail = self.key(evidence)
        id_ = evidence.id
        home = self._home.get(id_)
        if home is not None and home != key:
            self.remove(evidence)
        group = self._groups.get(key) or self._group(key)
        member = Member(tail, evidence)
        if group.members.get(id_) != member:
            group.members[id_] = member
            self._home[id_] = key
            self._dirty.add(key)
            if (
                group.tally is not None
                and tail != key[0]
                and evidence.mode == facts.STATES
                and evidence.valid_to is None
            ):
                group.fresh.append(evidence)
            else:
                group.tally = None
            if self._reaches(evidence):
                self._ends_of(key[0], evidence.relation)[evidence.id] = member
                self._reach(key, tail)

    def remove(self, evidence: Evidence) -> None:
        """Take evidence out of its group."""
        key = self._home.get(evidence.id)
        if key is None:
            return
        group = self._group(key)
        del self._home[evidence.id]
        group.tally = None
        member = group.members.pop(evidence.id, None)
        self._dirty.add(key)
        if member is not None and self._reaches(evidence):
            self._ends_of(key[0], evidence.relation).pop(evidence.id, None)
            self._reach(key, member.tail)

    def _reaches(self, evidence: Evidence) -> bool:
        """Say whether evidence may end facts of other classes; where both directions say the same it does not."""
        return evidence.mode == facts.ENDS and evidence.phrase_class not in self.rules.symmetric

    def _reach(self, key: Key, tail: int) -> None:
        """Look again at the groups of other classes that an end reaches."""
        head, relation, phrase_class, _ = key
        for other in self.rules.classes.get(relation, ()):
            if other != phrase_class and other not in self.rules.symmetric:
                reached = (head, relation, other, 0 if other in self.rules.single else tail)
                self._group(reached).tally = None
                self._dirty.add(reached)

    def of_nodes(self, ids: Iterable[int]) -> list[Evidence]:
        """Return the evidence that counts and touches any of these nodes; finds its groups on the way."""
        self.memory.flush()
        found: dict[int, Evidence] = {}
        for id_ in sorted(ids):
            found.update((row[0], Evidence(*row)) for row in query(self.memory.db, EVIDENCE_OF_NODE, {"node": id_}))
        self._locate(found.values())
        return list(found.values())

    def of_class(self, phrase_class: str) -> list[Evidence]:
        """Return all evidence of a class that counts."""
        self.memory.flush()
        found = [Evidence(*row) for row in query(self.memory.db, EVIDENCE_OF_CLASS, (phrase_class,))]
        self._locate(found)
        return found

    def by_id(self, id_: int) -> Evidence:
        """Return evidence that is in the database, and find its group."""
        found = Evidence(*first(self.memory.db, EVIDENCE_BY_ID, (id_,)))
        self._locate([found])
        return found

    def _locate(self, evidence: Iterable[Evidence]) -> None:
        for one in evidence:
            if one.id in self._home:
                continue
            for head, tail in query(self.memory.db, HOME, (one.id, one.phrase_class)):
                single = one.phrase_class in self.rules.single
                self._home[one.id] = (head, one.relation, one.phrase_class, 0 if single else tail)

    def _ends_of(self, head: int, relation: str) -> dict[int, Member]:
        found = self._ends.get((head, relation))
        if found is None:
            found = self._ends[head, relation] = {}
            if not self.memory.complete:
                heads = orjson.dumps(sorted(self.memory.entity_at(head).nodes)).decode()
                for row in query(self.memory.db, ENDS_OF_NODES, (heads, relation)):
                    one = Evidence(*row)
                    if self._reaches(one):
                        found[one.id] = Member(self.memory.node_at(one.tail).entity, one)
        return found

    def _group(self, key: Key) -> Group:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group()
            if not self.memory.complete:
                self._load(group, key)
            self._add_up(key, group)
        return group

    def _add_up(self, key: Key, group: Group) -> None:
        """Start a tally of a group that only states."""
        group.fresh.clear()
        group.tally = None
        head, relation, phrase_class, tail = key
        if not tail or tail == head:
            return
        if group.members and not all(Tally.fits(k.evidence) for k in group.members.values()):
            return
        if phrase_class not in self.rules.symmetric and self._known_ends(head, relation):
            return
        group.tally = Tally()
        for member in group.members.values():
            group.tally.add(member.evidence)

    def _known_ends(self, head: int, relation: str) -> dict[int, Member] | None:
        return self._ends.get((head, relation)) if self.memory.complete else self._ends_of(head, relation)

    def _load(self, group: Group, key: Key) -> None:
        memory = self.memory
        head, relation, phrase_class, tail = key
        if tail:
            texts = [self._fact_id(key, tail)]
        else:
            texts = [row[0] for row in query(memory.db, FACTS_OF_GROUP, (head, relation, phrase_class))]
        for text in texts:
            fact = memory.find_fact(text)
            if fact is None:
                continue
            group.facts[fact.tail] = fact
            for id_, _ in fact.support:
                if id_ not in group.members:
                    one = Evidence(*first(memory.db, EVIDENCE_BY_ID, (id_,)))
                    if one.phrase_class == phrase_class:
                        group.members[id_] = Member(fact.tail, one)
                        self._home[id_] = key

    def _fact_id(self, key: Key, tail: int) -> str:
        memory = self.memory
        return digest(memory.entity_at(key[0]).text, key[1], key[2], memory.entity_at(tail).text)

    # Settling

    def settle(self, position: int) -> None:
        """Evaluate the groups that changed, and write what differs from `position` on."""
        dirty = self._dirty
        if not dirty:
            return
        for key in sorted(dirty) if len(dirty) > 1 else tuple(dirty):
            group = self._group(key)
            if group.tally is not None:
                self._restate(key, group, group.tally, position)
            else:
                self._settle(key, group, position)
                self._add_up(key, group)
        dirty.clear()

    def _restate(self, key: Key, group: Group, tally: Tally, position: int) -> None:
        """Add what is fresh to a group that only states."""
        if not group.fresh:
            return
        memory = self.memory
        tail = key[3]
        fact = group.facts.get(tail)
        if fact is None:
            fact = group.facts[tail] = memory.fact(self._fact_id(key, tail), *key)
        for one in group.fresh:
            tally.add(one)
            fact.support[one.id, "states"] = memory.rows.insert("support", fact.id, one.id, "states", position)
        group.fresh.clear()
        span = tally.span(tail)
        if span not in fact.spans:
            self._replace_spans(fact, [span], {}, position)

    def _replace_spans(
        self, fact: Fact, spans: list[facts.FactSpan], by_tail: Mapping[int, Fact], position: int
    ) -> None:
        rows = self.memory.rows
        for gone in [k for k in fact.spans if k not in spans]:
            rows.add("fact_version_until", position, fact.spans.pop(gone))
        for span in spans:
            if span not in fact.spans:
                by = None if span.superseded_by is None else by_tail[span.superseded_by].id
                fact.spans[span] = rows.insert("fact_version", fact.id, *span[1:5], by, span.reason, position)

    def _verdict(self, key: Key, group: Group) -> facts.Verdict:
        head, relation, phrase_class, _ = key
        members = list(group.members.values())
        loops = [k for k in members if k.tail == head]
        if loops:
            members = [k for k in members if k.tail != head]
        if phrase_class not in self.rules.symmetric:
            ends = self._known_ends(head, relation)
            if ends and members:
                known = {k.tail for k in members}
                members += [
                    Member(k.tail, k.evidence, own=False)
                    for k in ends.values()
                    if k.evidence.phrase_class != phrase_class and k.tail in known
                ]
        found = facts.evaluate(members, single=key[3] == 0) if members else facts.Verdict([], [])
        # What says that a thing is its own part states no fact; its evidence keeps its place for when identities part.
        found.support.extend((head, k.evidence.id, facts.ROLES[k.evidence.mode]) for k in loops)
        return found

    def _settle(self, key: Key, group: Group, position: int) -> None:
        memory = self.memory
        rows = memory.rows
        spans, support = self._verdict(key, group)
        wanted: dict[int, tuple[list[facts.FactSpan], set[tuple[int, str]]]] = {}
        for tail, evidence, role in support:
            wanted.setdefault(tail, ([], set()))[1].add((evidence, role))
        for span in spans:
            wanted[span.tail][0].append(span)
        for tail in wanted:
            if tail not in group.facts:
                group.facts[tail] = memory.fact(self._fact_id(key, tail), *key[:3], tail)
        nothing: tuple[list[facts.FactSpan], set[tuple[int, str]]] = ([], set())
        for tail, fact in group.facts.items():
            stated, backing = wanted.get(tail, nothing)
            if fact.support.keys() != backing:
                for one in sorted(fact.support.keys() - backing):
                    rows.add("support_until", position, fact.support.pop(one))
                for one in sorted(backing - fact.support.keys()):
                    fact.support[one] = rows.insert("support", fact.id, *one, position)
            if fact.spans.keys() != set(stated):
                self._replace_spans(fact, stated, group.facts, position)
