"""A model on trial: which stored episodes it has not read, and what becomes of one that it reads; knows no settings, no lock.

Its results are `episode.extracted` events of a run whose name says that it is a trial, so that they count for nothing
until that run is adopted (`ctxsync.events.runs`). A tier of the first pass reads as it would there; a tier above it reads
what tiers 0 and 1 leave to higher tiers at all, on top of their result, whatever the gate says.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import orjson

from ctxsync.engine.extraction import escalation, reactor
from ctxsync.engine.extraction.escalation import Outcome, Step, Waiting
from ctxsync.errors import ExtractionError
from ctxsync.events.runs import TRIAL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import apsw

    from ctxsync.engine.extraction.base import Episode
    from ctxsync.engine.extraction.chain import Chain, ExtractionFailure
    from ctxsync.engine.schema import Schema
    from ctxsync.events.store import EventStore, NewEvent

BATCH: Final = 64
"""Episodes that a chain reads together: enough for the models' batches, and little lost by a stop."""

# x: the latest result of tiers 0 and 1, which a higher tier builds on. An outage says nothing of the episode.
WAITING = """
FROM episode AS e JOIN item AS i ON i.id = e.item
JOIN extraction AS x ON x.episode = e.episode AND x.position = (
    SELECT max(o.position) FROM extraction AS o WHERE o.episode = e.episode AND o.tier <= 1)
WHERE (:first OR x.wish > 0)
AND EXISTS (SELECT 1 FROM holding AS h WHERE h.episode = e.id AND h.until IS NULL)
AND (:source = '' OR e.source = :source)
AND e.source NOT IN (SELECT value FROM json_each(:closed))
AND NOT EXISTS (
    SELECT 1 FROM sighting AS s JOIN json_each(:closed) AS c ON c.value = s.source
    WHERE s.item = e.item AND s.until IS NULL)
AND NOT EXISTS (SELECT 1 FROM trial AS t WHERE t.episode = e.episode AND t.run = :run)
AND NOT EXISTS (
    SELECT 1 FROM failure AS f WHERE f.episode = e.episode AND f.run = :run AND f.reason <> 'ProviderDown'
    AND (f.retry_at = 0 OR f.retry_at > :now))
"""
NEWEST = (
    f"SELECT e.episode, i.item, e.source, x.position, e.position {WAITING} "
    "ORDER BY e.occurred_at DESC, e.episode LIMIT :most"
)
SIZES = f"SELECT octet_length(e.text) {WAITING} ORDER BY e.occurred_at DESC, e.episode LIMIT :most"
READ = """
SELECT count(DISTINCT t.episode) FROM trial AS t JOIN episode AS e ON e.episode = t.episode
WHERE t.run = :run AND (:source = '' OR e.source = :source)
AND EXISTS (SELECT 1 FROM holding AS h WHERE h.episode = e.id AND h.until IS NULL)
"""
HELD = """
SELECT 1 FROM episode AS e JOIN holding AS h ON h.episode = e.id AND h.until IS NULL WHERE e.episode = ? LIMIT 1
"""
ALL = 2**62


class _TrialStep(Step):
    """A step whose results are a trial's."""

    @property
    def run(self) -> str:
        """What names everything that decides its results, marked as a trial."""
        return f"{TRIAL}{super().run}"


@dataclass(frozen=True, slots=True)
class Trier:
    """Who is tried: a chain of tiers 0 and 1, or a step above them.

    Args:
        name: What it is called here.
        tier: The tier of its results.
        reads: The chain or the step.
        prices: US dollars for a million tokens read, and written.
        per_minute: Requests a minute that are allowed; 0: no limit.
        per_day: Tokens a day that are allowed; 0: no limit.
    """

    name: str
    tier: int
    reads: Chain | Step
    prices: tuple[float, float] = (0.0, 0.0)
    per_minute: int = 0
    per_day: int = 0

    @property
    def run(self) -> str:
        """The run of the trial."""
        return f"{TRIAL}{self.reads.run}"

    @property
    def model(self) -> str:
        """The model's name as its results will have it."""
        return self.reads.tier.model if isinstance(self.reads, Step) else self.reads.model

    @property
    def cloud(self) -> bool:
        """Say whether texts leave this machine."""
        return isinstance(self.reads, Step) and self.reads.cloud

    @property
    def batch(self) -> int:
        """How many episodes it reads together."""
        return 1 if isinstance(self.reads, Step) else BATCH


@dataclass(frozen=True, slots=True)
class Scope:
    """What is to be read: of one source, or of all when it is empty; `closed` are sources whose texts it may not have."""

    source: str = ""
    closed: Collection[str] = ()


def _bindings(trier: Trier, scope: Scope, now: int, most: int) -> dict[str, Any]:
    closed = orjson.dumps(sorted(scope.closed)).decode()
    first = not isinstance(trier.reads, Step)
    named = {"first": first, "source": scope.source, "closed": closed}
    return {**named, "run": trier.run, "now": now, "most": most or ALL}


def waiting(db: apsw.Connection, trier: Trier, scope: Scope, *, now: int, most: int = 0) -> list[Waiting]:
    """Return the held episodes that a trial has not read, the newest first; at most so many, 0 for all. `now`: ms UTC."""
    return [Waiting(*row) for row in db.execute(NEWEST, _bindings(trier, scope, now, most))]


def sizes(db: apsw.Connection, trier: Trier, scope: Scope, *, now: int, most: int = 0) -> list[int]:
    """Return the bytes of the text of each such episode."""
    return [size for (size,) in db.execute(SIZES, _bindings(trier, scope, now, most))]


def is_held(db: apsw.Connection, episode: str) -> bool:
    """Say whether an episode is held now: a trial takes long, and texts go meanwhile."""
    return db.execute(HELD, (episode,)).get is not None


def has_read(db: apsw.Connection, run: str, source: str) -> int:
    """Return how many held episodes, of a source or of all, a trial has read."""
    count: int = db.execute(READ, {"run": run, "source": source}).get
    return count


def read(
    store: EventStore, db: apsw.Connection, trier: Trier, batch: Sequence[Waiting], *, now: int
) -> Iterator[Outcome]:
    """Read episodes, and yield what the log should say of each; those that were erased meanwhile are left out.

    Args:
        store: The log; read only.
        db: The graph; read only.
        trier: Who reads. A step may take minutes for each.
        batch: What.
        now: ms UTC.
    """
    if isinstance(trier.reads, Step):
        step = _TrialStep(**{field.name: getattr(trier.reads, field.name) for field in fields(trier.reads)})
        for one in batch:
            found = escalation.read(store, db, step, one, now=now)
            if found is not None:
                yield found
        return
    chain = trier.reads
    known = [(one, given[0]) for one in batch if (given := escalation.given(store, one)) is not None]
    results = chain.extract([episode for _, episode in known])
    for (one, episode), (extraction, failures) in zip(known, results, strict=True):
        if failures:  # what tier 0 found alone would count for less than what stands
            event = _failed(one.source, episode, failures[-1], trier.run)
            yield Outcome(one, event, ExtractionError(failures[-1].error))
        else:
            yield Outcome(one, _extracted(one.source, episode, extraction, trier.run, chain.schema))


def _extracted(source: str, episode: Episode, extraction: Any, run: str, schema: Schema) -> NewEvent:
    return reactor.extracted(source, episode, extraction, run=run, schema=schema.digest)


def _failed(source: str, episode: Episode, failure: ExtractionFailure, run: str) -> NewEvent:
    from ctxsync.events.model import ExtractionFailed
    from ctxsync.events.store import NewEvent

    payload = ExtractionFailed(
        episode=episode.id, item=episode.item, run=run, tier=failure.tier, model=failure.model, error=failure.error
    )
    return NewEvent(source, f"episode:{episode.id}", payload, episode.occurred_at)
