"""Asks higher tiers about what the first ones are not sure of: one episode at a time, within caps; knows no model.

A model may take minutes for an answer. So the writer lock is held only while an answer is stored: other commands, and the
notes that change meanwhile, wait for nobody's model. What is counted and what rests survives this process: the counts of
a day stand in the log beside the answers they count, and who is left alone until when stands in `runs.json`.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from ctxsync import runs
from ctxsync.engine.graph.store import translated
from ctxsync.errors import (
    CtxsyncError,
    DoorClosed,
    GraphError,
    ProviderDown,
    ProviderLimited,
    ProviderRefused,
    StoreError,
    StoreMissing,
)
from ctxsync.escalation_notes import (
    DAY,
    JOB,
    closed_sources,
    counted,
    full_sources,
    is_resting,
    may_escalate,
    noted,
    resting,
    settings_of,
    spent_today,
)
from ctxsync.sync import RUNNER, Step, no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

    from ctxsync.app import App
    from ctxsync.engine.extraction import escalation
    from ctxsync.engine.extraction.invalidation import GraphFacts
    from ctxsync.events.store import EventStore

AHEAD: Final = 64
"""Episodes looked up at a time."""
FIRST_REST, LONGEST_REST = 60.0, 3_600.0
"""Seconds for which a tier whose servers fail is left alone: doubled each time, until an answer comes."""
PATIENCE: Final = 3
"""Failures in a row that say something of the server, not of the texts."""
ASKING = "SELECT 1 FROM extraction WHERE wish >= ? LIMIT 1"


@dataclass(slots=True)
class Rest:
    """A tier that is left alone: until when (ms UTC), why, and how often in a row its servers failed."""

    until: int
    why: str
    times: int = 0


class Escalator:
    """Higher tiers at work on one home.

    Args:
        app: The home.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._steps: list[escalation.Step] | None = None
        self._facts: GraphFacts | None = None
        self._db: apsw.Connection | None = None
        self._queues: dict[str, deque[escalation.Waiting]] = {}
        self._taken: set[tuple[str, str]] = set()  # asked about, which the graph does not know yet
        self._skipped: set[tuple[str, str]] = set()
        self._troubles: dict[int, int] = {}
        self._behind = False
        self._new_facts = 0
        self.rests = {int(tier): Rest(**rest) for tier, rest in noted(app).get("rests", {}).items()}

    def next(self) -> escalation.Outcome | None:
        """Have the next episode read, which may take minutes, and return what to `keep`; None when nothing can be done.

        It writes nothing, and needs no lock.
        """
        from ctxsync.engine.extraction import escalation

        try:
            graph = self._app.graph()
        except GraphError:
            return None
        with closing(graph), translated(graph.path):
            self._db = graph.db
            if not self._asks(graph.db):
                return None
            try:
                store = self._app.store()
            except StoreMissing:
                return None
            with closing(store):
                for step in self.steps():
                    for waiting in self._waiting(store, graph.db, step):
                        try:
                            found = escalation.read(store, graph.db, step, waiting, now=self._app.clock())
                        except CtxsyncError as error:  # the ledger of calls cannot be written: nothing leaves then
                            self._rest(step, error, LONGEST_REST)
                            break
                        if found is None or isinstance(found.error, DoorClosed):
                            self._skipped.add((step.run, waiting.episode))
                            continue
                        if self._goes_on(step, found):
                            return found
                        break
        return None

    def keep(self, found: escalation.Outcome) -> None:
        """Store what came of a reading; takes the writer lock."""
        app, source = self._app, found.waiting.source
        with app.lock(JOB), app.store(write=True) as store:
            patch = counted(store, source, found.event.payload, app.clock())
            store.append([found.event, *found.also], cursors={(RUNNER, JOB): patch})
            self._behind = True
            if not any(self._queues.values()):
                self._project(store)

    def finish(self) -> None:
        """Bring the graph up to what was kept."""
        if self._behind:
            with self._app.lock(JOB), self._app.store(write=True) as store:
                self._project(store)

    @property
    def new_facts(self) -> int:
        """How many facts are believed now that were not before, by what was kept."""
        return self._new_facts

    def _project(self, store: EventStore) -> None:
        from ctxsync.upkeep import catch_up_graph

        self._new_facts += catch_up_graph(self._app, store, no_progress)
        self._behind = False
        self._taken = set(self._skipped)

    def steps(self) -> list[escalation.Step]:
        """Return the higher tiers of the settings, and note for `status` what they are."""
        if self._steps is None:
            from ctxsync.engine.extraction.invalidation import GraphFacts

            facts = GraphFacts(self._graph, self._app.clock)
            self._steps, local = self._app.higher(facts)
            places = [{**asdict(step.place), "cloud": step.cloud, "model": step.tier.model} for step in self._steps]
            note = {"steps": places, "local": local, "settings": settings_of(self._app), "rests": self._rests()}
            runs.record(self._app.home, "jobs", {JOB: note})
        return self._steps

    def _graph(self) -> apsw.Connection:
        assert self._db is not None  # facts are asked for inside `next` alone
        return self._db

    def _asks(self, db: apsw.Connection) -> bool:
        """Say whether anything may be there to do: building the steps would be for nothing else."""
        config = self._app.config
        if not may_escalate(self._app):
            return False
        return db.execute(ASKING, (1 if config.mode == "cloud-quality" else 2,)).get is not None

    def _waiting(self, store: EventStore, db: apsw.Connection, step: escalation.Step) -> Iterator[escalation.Waiting]:
        """Yield what waits for a step, once a process, while its caps last."""
        from ctxsync.engine.extraction import escalation

        now = self._app.clock()
        rest = self.rests.get(step.lowest)
        if rest is not None and is_resting(rest.until, now):
            return
        if step.cloud and not self._affordable(step, now):
            return
        closed = closed_sources(self._app, db, cloud=step.cloud) | full_sources(self._app, store)
        queue = self._queues.setdefault(step.run, deque())
        if not queue:
            most = AHEAD + len(self._taken)
            found = escalation.newest(db, step.place, closed, now=now, most=most)
            queue.extend(waiting for waiting in found if (step.run, waiting.episode) not in self._taken)
        while queue:
            waiting = queue.popleft()
            self._taken.add((step.run, waiting.episode))
            # Looked up again: since the queue was filled, it may have been changed, deleted, or shown by a closed source.
            if escalation.waits(db, step.place, closed, waiting.episode, now=now):
                yield waiting

    def _affordable(self, step: escalation.Step, now: int) -> bool:
        """Say whether the cap on a day's cost leaves something; without the ledger nothing leaves at all."""
        cap = self._app.config.caps.usd_per_day
        try:
            spent = spent_today(self._app)
        except StoreError as error:
            self._rest(step, error, LONGEST_REST)
            return False
        if not cap or spent < cap:
            return True
        self._rest(step, CtxsyncError(f"The cap on cost is reached: ${spent:.2f} today."), DAY - now / 1000 % DAY)
        return False

    def _goes_on(self, step: escalation.Step, found: escalation.Outcome) -> bool:
        """Say whether an outcome is to be kept; a tier that cannot answer now is left alone for a while."""
        error = found.error
        if isinstance(error, ProviderLimited):
            self._rest(step, error, max(1.0, error.retry_after))
            return False
        if not isinstance(error, ProviderDown | ProviderRefused):
            self._troubles[step.lowest] = 0
            if self.rests.pop(step.lowest, None) is not None:
                self._note_rests()
            return True
        troubles = self._troubles[step.lowest] = self._troubles.get(step.lowest, 0) + 1
        times = self.rests[step.lowest].times if step.lowest in self.rests else 0
        if troubles >= PATIENCE or times:
            self._rest(step, error, min(FIRST_REST * 2**times, LONGEST_REST), times + 1)
        return True

    def _rest(self, step: escalation.Step, error: CtxsyncError, seconds: float, times: int = 0) -> None:
        until = self._app.clock() + int(min(seconds, DAY) * 1000)
        self.rests[step.lowest] = Rest(until, error.message, times)
        self._queues.pop(step.run, None)
        self._taken = {one for one in self._taken if one[0] != step.run}
        self._note_rests()

    def _note_rests(self) -> None:
        runs.record(self._app.home, "jobs", {JOB: {"rests": self._rests()}})

    def _rests(self) -> dict[str, Any]:
        return {str(tier): asdict(rest) for tier, rest in self.rests.items()}


def escalate(
    app: App,
    *,
    seconds: float,
    progress: Callable[[Step], None] = no_progress,
    done: dict[str, Any],
) -> None:
    """Escalate for so many seconds, or until nothing waits; the caller holds no lock.

    Args:
        app: The home.
        seconds: At most so long; the last answer is waited for.
        progress: Told after each episode; what it raises ends it there.
        done: Gets `escalated` and `escalation_failed` (episodes), and `rests`: tiers that are left alone for a while;
            its `facts` and `new_facts` are brought up to that.
    """
    done |= {"escalated": 0, "escalation_failed": 0}
    if seconds <= 0 or not may_escalate(app):
        return
    escalator = Escalator(app)
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until and (found := escalator.next()) is not None:
            escalator.keep(found)
            done["escalated" if found.error is None else "escalation_failed"] += 1
            progress(Step("escalate", done["escalated"] + done["escalation_failed"]))
    finally:
        escalator.finish()
        done["rests"] = resting(app)
        if escalator.new_facts:
            done["new_facts"] += escalator.new_facts
            with closing(app.graph()) as graph:
                done["facts"] = graph.count("facts_current")
