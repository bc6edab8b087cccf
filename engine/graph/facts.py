"""What a group of evidence says: a pure function from statements to spans of valid time. Knows no table and no order.

GROUP    the evidence of one head, relation and phrase class; of one tail as well, unless the class is single-valued
SPAN     a stretch of valid time in which the head had the tail
STAND    a span stands at a moment when it has started and not ended

Evidence is taken in the order of its own time, never in the order it arrived:

- A statement of a tail that stands supports that span. One that does not stand opens a new span.
- In a single-valued class a statement ends every other tail that stands and is not more trusted. A less trusted
  statement leaves it standing beside itself: a person decides.
- An end closes the span that stands, if the end is later than its start and not less trusted. Where the tail was never
  stated it leaves a closed span: from the start that the text gives, else without length, for nobody said since when.
- A denial (a person's correction) takes away the statements of its tail that are not younger nor more trusted.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

STATES, ENDS, DENIES = 0, 1, 2
ROLES = ("states", "ends", "denies")
CONFIDENCE_CAP = 0.99
_UNIT = 1_000_000


class Evidence(NamedTuple):
    """One statement. `mode` is STATES, ENDS or DENIES; times are milliseconds UTC; `content` is its content id.

    `occurred_at` is when its text was written; of what an edit restates, when its item first said so.
    """

    id: int
    content: str
    head: int
    relation: str
    phrase_class: str
    phrase: str
    tail: int
    confidence: float
    valid_from: int | None
    valid_to: int | None
    mode: int
    occurred_at: int
    trust: int


class Member(NamedTuple):
    """Evidence with the tail it has under the identities of the moment. `own` is False for another class's end."""

    tail: int
    evidence: Evidence
    own: bool = True


class FactSpan(NamedTuple):
    """A span of valid time. `superseded_by` is the tail that took over."""

    tail: int
    phrase: str
    valid_from: int
    valid_to: int | None
    confidence: float
    superseded_by: int | None
    reason: str


class Verdict(NamedTuple):
    """What a group says: its spans, and which evidence supports which tail in which role."""

    spans: list[FactSpan]
    support: list[tuple[int, int, str]]


class _Span:
    __slots__ = ("best", "by", "doubt", "end", "end_trust", "phrase", "reason", "start", "tail", "top", "trust")

    def __init__(self, tail: int, start: int) -> None:
        self.tail = tail
        self.start = start
        self.end: int | None = None
        self.end_trust = 0
        self.by: int | None = None
        self.reason = ""
        self.trust = 0
        self.doubt = 0
        self.top = 0.0
        self.best: tuple[int, float] | None = None
        self.phrase = ""

    def add(self, evidence: Evidence) -> None:
        self.trust = max(self.trust, evidence.trust)
        self.doubt += doubt(evidence.confidence)
        self.top = max(self.top, evidence.confidence)
        merit = (evidence.trust, evidence.confidence)
        if self.best is None or merit > self.best:
            self.best, self.phrase = merit, evidence.phrase
        stated = evidence.valid_to
        if stated is not None and stated > self.start and evidence.trust >= self.end_trust:
            self.end, self.end_trust, self.by, self.reason = stated, evidence.trust, None, "stated"

    def close(self, at: int, trust: int, by: int | None, reason: str) -> None:
        self.end, self.end_trust, self.by, self.reason = at, trust, by, reason

    def stands(self, at: int) -> bool:
        return self.end is None or self.end > at

    def value(self) -> FactSpan:
        confidence = combined(self.doubt, self.top)
        return FactSpan(self.tail, self.phrase, self.start, self.end, confidence, self.by, self.reason)


class Tally:
    """What `evaluate` says of a group that only states, of one tail and without stated ends: one span, added up."""

    __slots__ = ("best", "doubt", "phrase", "start", "top")

    def __init__(self) -> None:
        self.start: int | None = None
        self.doubt = 0
        self.top = 0.0
        self.best: tuple[Any, ...] = ()
        self.phrase = ""

    @staticmethod
    def fits(evidence: Evidence) -> bool:
        """Say whether evidence can be added up."""
        return evidence.mode == STATES and evidence.valid_to is None

    def add(self, evidence: Evidence) -> None:
        """Add a statement."""
        at = moment(evidence)
        confidence = evidence.confidence
        if self.start is None or at < self.start:
            self.start = at
        self.doubt += doubt(confidence)
        self.top = max(self.top, confidence)
        # The surest phrase; of equals the earliest, as in the order of `evaluate`.
        merit = (-evidence.trust, -confidence, at, evidence.occurred_at, evidence.content)
        if not self.best or merit < self.best:
            self.best, self.phrase = merit, evidence.phrase

    def span(self, tail: int) -> FactSpan:
        """Return the span."""
        return FactSpan(tail, self.phrase, self.start or 0, None, combined(self.doubt, self.top), None, "")


@lru_cache(maxsize=4096)
def doubt(confidence: float) -> int:
    """Return how little doubt one statement leaves, in millionths of a nat: whole numbers add up in any order."""
    return round(-math.log(max(1.0 - confidence, 1e-6)) * _UNIT)


@lru_cache(maxsize=4096)
def combined(doubts: int, top: float) -> float:
    """Return the noisy-or of independent statements, at most 0.99 unless one of them alone was surer."""
    return round(max(top, min(CONFIDENCE_CAP, 1.0 - math.exp(-doubts / _UNIT))), 6)


def moment(evidence: Evidence) -> int:
    """Return when evidence speaks of: the start of what it states, or the moment at which it ended."""
    stated = evidence.valid_to if evidence.mode == ENDS else evidence.valid_from
    return evidence.occurred_at if stated is None else stated


def _order(member: Member) -> tuple[int, int, int, str]:
    evidence = member.evidence
    return moment(evidence), evidence.mode, evidence.occurred_at, evidence.content


def _denied(members: list[Member]) -> tuple[list[Member], list[Member]]:
    """Split members into those that count and those that a person's denial took away."""
    denials = [k for k in members if k.evidence.mode == DENIES]
    if not denials:
        return members, []
    kept: list[Member] = []
    gone: list[Member] = []
    for member in members:
        said = member.evidence
        hit = said.mode == DENIES or any(
            no.tail == member.tail
            and no.evidence.trust >= said.trust
            and (no.evidence.occurred_at, no.evidence.content) >= (said.occurred_at, said.content)
            for no in denials
        )
        (gone if hit else kept).append(member)
    return kept, gone


def evaluate(evidence: Iterable[Member], *, single: bool) -> Verdict:
    """Return what the evidence of one group says, whatever order it comes in."""
    members = list(evidence)
    if len(members) == 1 and members[0].evidence.mode == STATES:
        return _alone(members[0])
    members, gone = _denied(members)
    support = [(k.tail, k.evidence.id, ROLES[k.evidence.mode]) for k in gone]
    spans: list[_Span] = []
    latest: dict[int, _Span] = {}
    for member in sorted(members, key=_order):
        tail, said, own = member
        at = moment(said)
        span = latest.get(tail)
        if said.mode == ENDS:
            if span is None or span.start >= at:
                if not own:
                    continue
                if span is None:
                    start = at if said.valid_from is None else min(said.valid_from, at)
                    span = latest[tail] = _Span(tail, start)
                    spans.append(span)
                    span.add(said)
                    span.close(at, said.trust, None, "ended")
            elif span.stands(at) and said.trust >= span.trust:
                span.close(at, said.trust, None, "ended")
            support.append((tail, said.id, "ends"))
            continue
        if span is None or not span.stands(at):
            span = latest[tail] = _Span(tail, at)
            spans.append(span)
        span.add(said)
        support.append((tail, said.id, "states"))
        if single:
            for other in latest.values():
                if other.tail != tail and other.stands(at) and said.trust >= other.trust:
                    other.close(at, said.trust, tail, "superseded")
    return Verdict([span.value() for span in spans], support)


def _alone(member: Member) -> Verdict:
    said = member.evidence
    start = moment(said)
    end = said.valid_to if said.valid_to is not None and said.valid_to > start else None
    confidence = combined(doubt(said.confidence), said.confidence)
    span = FactSpan(member.tail, said.phrase, start, end, confidence, None, "" if end is None else "stated")
    return Verdict([span], [(member.tail, said.id, "states")])
