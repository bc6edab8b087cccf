"""Which episodes a higher tier should read, and what becomes of one that it read; knows no provider, no settings, no lock.

Tiers 0 and 1 have read everything before. Of what the graph holds now, the newest episode whose latest lower result asks
for more comes first. A higher tier's result has the lower ones' in it; its failure leaves them as they are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from ctxsync.connectors.base import digest
from ctxsync.engine.extraction import reactor
from ctxsync.engine.extraction.base import Entity, Extraction, Relation
from ctxsync.engine.extraction.chain import merged
from ctxsync.engine.extraction.gate import STARTING
from ctxsync.engine.extraction.invalidation import with_ends
from ctxsync.errors import ExtractionError, ProviderDown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import apsw

    from ctxsync.engine.extraction.base import Episode, Tier
    from ctxsync.engine.extraction.gate import Gate
    from ctxsync.engine.extraction.invalidation import Statements
    from ctxsync.engine.schema import Schema
    from ctxsync.events.store import EventStore, NewEvent

# Raise it with every change that alters what a higher tier's answer becomes in the log.
CODE_VERSION: Final = 1
ATTEMPTS: Final = {ProviderDown.__name__: 3}
"""How often an episode is tried in all, by the class of what went wrong: an outage says nothing of the episode."""
OTHER_ATTEMPTS: Final = 2
DAY_MS: Final = 86_400_000
"""A failed episode is tried again after a day: the model, the server or the text's neighbours may be other ones then."""

WAITING = """
FROM extraction AS x INDEXED BY extraction_wish JOIN episode AS e ON e.episode = x.episode JOIN item AS i ON i.id = e.item
WHERE x.wish > 0 AND x.wish >= :wish AND x.tier < :lowest
AND NOT EXISTS (
    SELECT 1 FROM extraction AS o WHERE o.episode = x.episode
    AND (o.run = :run OR o.tier > :highest OR (o.tier < :lowest AND o.position > x.position)))
AND NOT EXISTS (
    SELECT 1 FROM failure AS f WHERE f.episode = x.episode AND f.run = :run AND (f.retry_at = 0 OR f.retry_at > :now))
AND NOT EXISTS (
    SELECT 1 FROM json_each(:below) AS b
    WHERE NOT EXISTS (SELECT 1 FROM extraction AS o WHERE o.episode = x.episode AND o.run = b.value)
    AND NOT EXISTS (SELECT 1 FROM failure AS f WHERE f.episode = x.episode AND f.run = b.value))
AND NOT EXISTS (
    SELECT 1 FROM adopted AS a JOIN extraction AS o ON o.run = a.run AND o.episode = x.episode)
AND NOT EXISTS (SELECT 1 FROM adopted AS a JOIN trial AS o ON o.run = a.run AND o.episode = x.episode)
AND EXISTS (SELECT 1 FROM holding AS h WHERE h.episode = e.id AND h.until IS NULL)
AND e.source NOT IN (SELECT value FROM json_each(:closed))
AND NOT EXISTS (
    SELECT 1 FROM sighting AS s JOIN json_each(:closed) AS c ON c.value = s.source
    WHERE s.item = e.item AND s.until IS NULL)
"""
NEWEST = f"SELECT x.episode, i.item, e.source, x.position, e.position {WAITING} ORDER BY x.occurred_at DESC LIMIT :most"
SUMS = f"SELECT e.source, count(*), sum(octet_length(e.text)) {WAITING} GROUP BY e.source ORDER BY e.source"
ONE = f"SELECT 1 {WAITING.replace('INDEXED BY extraction_wish ', '')} AND x.episode = :episode LIMIT 1"
FAILED = "SELECT attempt FROM failure WHERE episode = ? AND run = ?"
FAILED_BELOW = "SELECT reason FROM failure WHERE episode = ? AND run = ?"


@dataclass(frozen=True, slots=True)
class Place:
    """What the graph must know of a step to say what waits for it.

    Args:
        run: What names everything that decides its results.
        lowest: The lowest tier number that its results may have.
        highest: The highest one.
        every: It reads every episode, and not only those whose result asks for it.
        below: The runs of the steps before it: it reads what they have read and are not sure of, or have failed at.
    """

    run: str
    lowest: int
    highest: int
    every: bool = False
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A higher tier in its place in the chain.

    Args:
        tier: What reads.
        schema: What it extracts into.
        lowest: The lowest tier number that its results may have.
        highest: The highest one.
        every: It reads every episode, and not only those whose result asks for it.
        cloud: It may let texts leave this machine.
        below: The steps before it.
        statements: Says what the facts are that its answers may end.
        gate: Judges its results.
    """

    tier: Tier
    schema: Schema
    lowest: int
    highest: int
    every: bool = False
    cloud: bool = False
    below: tuple[Step, ...] = ()
    statements: Statements | None = None
    gate: Gate = STARTING

    @property
    def run(self) -> str:
        """What names everything that decides the step's results but the lower tiers' part in them.

        Those are left out so that a change of the built-in rules, which costs nothing, has no model asked again.
        """
        return digest("escalation", CODE_VERSION, self.lowest, self.tier.model, self.schema.digest)[:16]

    @property
    def place(self) -> Place:
        """Where it stands in the chain."""
        return Place(self.run, self.lowest, self.highest, self.every, tuple(step.run for step in self.below))


@dataclass(frozen=True, slots=True)
class Waiting:
    """An episode that a step should read: its id and item, its source, and where its lower result and its text stand."""

    episode: str
    item: str
    source: str
    result_at: int
    observed_at: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one reading: the event that says so, and what else is stored with it; `error` where the step failed."""

    waiting: Waiting
    event: NewEvent
    error: ExtractionError | None = None
    also: tuple[NewEvent, ...] = ()


def _bindings(step: Place, closed: Collection[str], now: int) -> dict[str, Any]:
    return {
        "wish": 1 if step.every else 2,
        "lowest": step.lowest,
        "highest": step.highest,
        "run": step.run,
        "below": orjson.dumps(list(step.below)).decode(),
        "closed": orjson.dumps(sorted(closed)).decode(),
        "now": now,
    }


def newest(db: apsw.Connection, step: Place, closed: Collection[str], *, now: int, most: int) -> list[Waiting]:
    """Return the episodes that a step should read next, the newest first.

    Args:
        db: The graph.
        step: Who should read.
        closed: Sources whose texts it may not have now; an item that one of them shows as well is left out.
        now: ms UTC.
        most: At most so many.
    """
    rows = db.execute(NEWEST, {**_bindings(step, closed, now), "most": most})
    return [Waiting(*row) for row in rows]


def sums(db: apsw.Connection, step: Place, closed: Collection[str], *, now: int) -> dict[str, tuple[int, int]]:
    """Return how many episodes wait for a step, and the bytes of their texts, by source."""
    return {source: (number, size) for source, number, size in db.execute(SUMS, _bindings(step, closed, now))}


def waits(db: apsw.Connection, step: Place, closed: Collection[str], episode: str, *, now: int) -> bool:
    """Say whether an episode waits for a step."""
    return db.execute(ONE, {**_bindings(step, closed, now), "episode": episode}).get is not None


def read(store: EventStore, db: apsw.Connection, step: Step, waiting: Waiting, *, now: int) -> Outcome | None:
    """Let a step read an episode, and return what the log should say of it; None where its text was erased meanwhile.

    Args:
        store: The log; read only.
        db: The graph; read only.
        step: Who reads. It may take minutes.
        waiting: What.
        now: ms UTC.

    Raises:
        ExtractionError: As `reads`: the outcome says nothing of the episode; the caller decides which errors do.
    """
    found = given(store, waiting)
    if found is None:
        return None
    episode, lower = found
    started = time.perf_counter()
    result = next(iter(step.tier.extract([episode], [lower])))
    ms = round((time.perf_counter() - started) * 1000, 2)
    if isinstance(result, ExtractionError):
        attempt = (db.execute(FAILED, (waiting.episode, step.run)).get or 0) + 1
        return Outcome(waiting, failed(step, episode, waiting.source, result, attempt=attempt, ms=ms, now=now), result)
    tried = {one.lowest: db.execute(FAILED_BELOW, (waiting.episode, one.run)).get for one in step.below}
    full = joined(step, lower, result, tried)
    full.ms = ms
    event = reactor.extracted(waiting.source, episode, full, run=step.run, schema=step.schema.digest)
    return Outcome(waiting, event, also=tuple(reactor.suggested(store, event, episode)))


def given(store: EventStore, waiting: Waiting) -> tuple[Episode, Extraction] | None:
    """Return an episode and its lower result as the log has them; None where either was erased."""
    lower = next((event.payload for event in store.read(waiting.result_at - 1, upto=waiting.result_at)), None)
    observed = next(store.read(waiting.observed_at - 1, upto=waiting.observed_at), None)
    if lower is None or observed is None:
        return None
    own = reactor.is_own(store, observed.source)
    for episode in reactor.episodes_of(observed.payload, source=observed.source, own=own):
        if episode.id == waiting.episode:
            return episode, extraction_of(lower)
    return None


def extraction_of(payload: Mapping[str, Any]) -> Extraction:
    """Return what an `episode.extracted` says, as tiers have it."""
    entities = [_made(Entity, body, "keys", "span") for body in payload["entities"]]
    relations = [_made(Relation, body, "span") for body in payload["relations"]]
    return Extraction(
        payload["episode"],
        payload["tier"],
        payload["model"],
        entities,
        relations,
        list(payload.get("invalidates") or ()),
        list(payload.get("suggestions") or ()),
        payload["confidence"],
        list(payload.get("gate") or ()),
    )


def _made(kind: Any, body: Mapping[str, Any], *tuples: str) -> Any:
    return kind(**{**body, **{name: tuple(body[name]) for name in tuples if body.get(name) is not None}})


def joined(step: Step, lower: Extraction, upper: Extraction, tried: Mapping[int, str | None]) -> Extraction:
    """Return a step's result with the lower one's in it, what it ends stated, and the gate's words on each tier tried.

    Args:
        step: Who read.
        lower: What was found before.
        upper: What it found.
        tried: By the tier of each step below that failed, why; None for one that did not.
    """
    if step.statements is not None:
        upper = with_ends(upper, lower, step.statements)
    below = [f"tier{tier}:failed {reason}" for tier, reason in sorted(tried.items()) if reason]
    decided = step.gate.decide_again(upper, step.schema.entity_types)
    result = merged(lower, replace(upper, gate=[*below, f"tier{upper.tier}:{upper.model}", *upper.gate, *decided]))
    return replace(
        result,
        prompt_version=upper.prompt_version,
        tokens_in=upper.tokens_in,
        tokens_out=upper.tokens_out,
        cost_usd=upper.cost_usd,
    )


def failed(
    step: Step, episode: Episode, source: str, error: ExtractionError, *, attempt: int, ms: float, now: int
) -> NewEvent:
    """Return the event that says that a step failed, and from when it may try again."""
    from ctxsync.events.model import ExtractionFailed
    from ctxsync.events.store import NewEvent

    reason = type(error).__name__
    again = attempt < ATTEMPTS.get(reason, OTHER_ATTEMPTS)
    payload = ExtractionFailed(
        episode=episode.id,
        item=episode.item,
        run=step.run,
        tier=step.lowest,
        model=step.tier.model,
        error=error.message,
        reason=reason,
        attempt=attempt,
        retry_at=now + DAY_MS if again else 0,
        ms=ms,
    )
    return NewEvent(source, f"episode:{episode.id}", payload, episode.occurred_at)
