"""Trials: a model reads what is stored, and counts for nothing until it is adopted; knows no model and prints nothing.

What it makes of each episode is kept in the log as it comes, so a trial that is stopped goes on where it stopped. The
writer lock is held only while results are stored.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ctxsync.adopting import PURPOSE, adopt
from ctxsync.engine.graph.store import translated
from ctxsync.errors import (
    CtxsyncError,
    DoorClosed,
    ProviderDown,
    ProviderLimited,
    ProviderRefused,
    UsageError,
)
from ctxsync.escalation_notes import JOB, closed_sources, counted, full_sources, spent_today
from ctxsync.sync import RUNNER, Step, no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from ctxsync.app import App
    from ctxsync.engine.extraction.escalation import Outcome, Waiting
    from ctxsync.engine.extraction.trying import Scope, Trier
    from ctxsync.events.store import EventStore, NewEvent

PATIENCE: Final = 3
"""Failures in a row that say something of the server, not of the texts."""
LONGEST_WAIT: Final = 60.0
"""Seconds that a trial waits for a server that limits; where it asks for more, the trial stops and can go on later."""
EACH_MS: Final = 30.0
"""What an episode takes at tier 1 (SPEC "Tiers")."""
SOURCES = "SELECT name FROM source WHERE NOT removed ORDER BY name"


@dataclass(slots=True)
class Told:
    """What a pass of a trial did."""

    read: int = 0
    failed: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    interrupted: bool = False
    stopped: CtxsyncError | None = None


class _Stop(Exception):
    """The trial cannot go on now."""

    def __init__(self, error: CtxsyncError) -> None:
        super().__init__(error.message)
        self.error = error


class Trial:
    """A model on trial over one home.

    Args:
        app: The home.
        model: What it is called.
        source: Only episodes of this source; all when empty.
        limit: At most so many episodes in a pass; 0 for all.
        wait: Waits so many seconds for a server that limits.

    Raises:
        UsageError: There is no such model, or no such source.
        CtxsyncError: The model cannot be had: see `ctxsync.trial_models.named`. There is no log or no graph yet.
    """

    def __init__(
        self, app: App, model: str, *, source: str = "", limit: int = 0, wait: Callable[[float], None] = time.sleep
    ) -> None:
        from ctxsync.engine.extraction.invalidation import GraphFacts

        self._app, self._limit, self._wait = app, limit, wait
        self._db: apsw.Connection | None = None
        self._full: set[str] = set()
        self.trier: Trier = app.named_model(model, GraphFacts(self._graph, app.clock))
        self.source = source
        app.store().close()  # no log: nothing to read, and the error says what to run
        self._project()
        with closing(app.graph()) as graph, translated(graph.path):
            known = [name for (name,) in graph.db.execute(SOURCES)]
        if source and source not in known:
            raise UsageError(
                f'Nothing is stored of a source "{source}" (there are: {", ".join(known) or "none"}).',
                remedy="Run `ctxsync source list`.",
            )

    def _graph(self) -> apsw.Connection:
        assert self._db is not None  # facts are asked for while something is read
        return self._db

    def _project(self) -> int:
        from ctxsync.upkeep import catch_up_graph

        with self._app.lock(PURPOSE), self._app.store(write=True) as store:
            return catch_up_graph(self._app, store, no_progress)

    def _scope(self, db: apsw.Connection) -> Scope:
        from ctxsync.engine.extraction.trying import Scope

        return Scope(self.source, closed_sources(self._app, db, cloud=self.trier.cloud))

    # What there is to do

    def estimate(self) -> dict[str, Any]:
        """Return what a pass would read and cost, by what tiers of that number took before.

        Returns:
            `{"episodes", "closed": sources whose texts it may not have, "tokens", "cost_usd", "seconds"}`; tokens and
            cost are 0 for the first tiers.
        """
        from ctxsync.backlog import ANSWER_TOKENS, BYTES_A_TOKEN, PREFIX_TOKENS, measured_ms
        from ctxsync.engine.extraction import trying

        trier, app = self.trier, self._app
        with closing(app.graph()) as graph, closing(app.store()) as store, translated(graph.path):
            scope = self._scope(graph.db)
            sizes = trying.sizes(graph.db, trier, scope, now=app.clock(), most=self._limit)
            each = measured_ms(graph.db, store, trier.tier, trier.tier) if trier.batch == 1 else EACH_MS
        count = len(sizes)
        asked = count if trier.batch == 1 else 0
        tokens_in, tokens_out = asked * PREFIX_TOKENS + sum(sizes) / BYTES_A_TOKEN * bool(asked), asked * ANSWER_TOKENS
        paced = count * 60 / trier.per_minute if trier.per_minute else 0.0
        return {
            "episodes": count,
            "closed": sorted(scope.closed),
            "tokens": round(tokens_in + tokens_out),
            "cost_usd": round((tokens_in * trier.prices[0] + tokens_out * trier.prices[1]) / 1_000_000, 4),
            "seconds": round(max(count * each / 1000, paced), 1),
        }

    # Reading

    def read(self, progress: Callable[[Step], None] = no_progress) -> dict[str, Any]:
        """Read what the trial has not read; Ctrl-C, a server that is gone and a cap stop it, and keep what there is.

        Args:
            progress: Told after each batch; what it raises ends it there.

        Returns:
            `{"model", "name", "run", "tier", "cloud", "source", "read", "failed", "held": episodes read by the trial in
            all, "left": episodes that it has not read and may, "tokens", "cost_usd", "seconds", "interrupted",
            "stopped": why it could not go on, or None, "remedy"}`.
        """
        from ctxsync.engine.extraction import trying

        started, app, trier, told = time.monotonic(), self._app, self.trier, Told()
        with closing(app.graph()) as graph, translated(graph.path):
            todo = trying.waiting(graph.db, trier, self._scope(graph.db), now=app.clock(), most=self._limit)
        try:
            self._pass(todo, told, progress)
        except KeyboardInterrupt:
            told.interrupted = True
        except _Stop as stop:
            told.stopped = stop.error
        self._project()
        with closing(app.graph()) as graph, translated(graph.path):
            held = trying.has_read(graph.db, trier.run, self.source)
            left = len(trying.sizes(graph.db, trier, self._scope(graph.db), now=app.clock()))
        return {
            "model": trier.model,
            "name": trier.name,
            "run": trier.run,
            "tier": trier.tier,
            "cloud": trier.cloud,
            "source": self.source,
            "read": told.read,
            "failed": told.failed,
            "held": held,
            "left": left,
            "tokens": told.tokens,
            "cost_usd": round(told.cost_usd, 6),
            "seconds": round(time.monotonic() - started, 3),
            "interrupted": told.interrupted,
            "stopped": told.stopped.message if told.stopped else None,
            "remedy": told.stopped.remedy if told.stopped else "",
        }

    def _pass(self, todo: Sequence[Waiting], told: Told, progress: Callable[[Step], None]) -> None:
        app, size, troubles = self._app, self.trier.batch, 0
        for start in range(0, len(todo), size):
            found = self._read(todo[start : start + size])
            troubles = troubles + 1 if any(isinstance(one.error, ProviderDown) for one in found) else 0
            if found:
                with app.lock(PURPOSE), app.store(write=True) as store:
                    self._keep(store, found, told)
            if troubles >= PATIENCE:
                assert found[-1].error is not None
                raise _Stop(found[-1].error)
            progress(Step("try", min(start + size, len(todo)), len(todo)))
        if self._full:
            raise _Stop(
                CtxsyncError(
                    f"Of {', '.join(sorted(self._full))}, higher tiers have read as many texts as they may today.",
                    remedy="Go on after midnight UTC; or raise escalations_per_source of [caps]: `ctxsync config edit`.",
                )
            )

    def _read(self, batch: Sequence[Waiting]) -> list[Outcome]:
        """Return what came of a batch; waits for a server that limits for a short while."""
        from ctxsync.engine.extraction import trying

        app = self._app
        while True:
            with closing(app.graph()) as graph, closing(app.store()) as store, translated(graph.path):
                self._db = graph.db
                held = [one for one in batch if trying.is_held(graph.db, one.episode)]
                allowed = self._affordable(store, held)
                found = list(trying.read(store, graph.db, self.trier, allowed, now=app.clock()))
            refused = next(
                (one.error for one in found if isinstance(one.error, ProviderLimited | ProviderRefused)), None
            )
            if refused is None:
                return [one for one in found if not isinstance(one.error, DoorClosed)]  # of no text that may not leave
            if not isinstance(refused, ProviderLimited) or refused.retry_after > LONGEST_WAIT:
                raise _Stop(refused)
            self._wait(refused.retry_after)

    def _affordable(self, store: EventStore, batch: Sequence[Waiting]) -> Sequence[Waiting]:
        """Return what may be sent today; raises `_Stop` where the day's cost is reached."""
        if not self.trier.cloud:
            return batch
        cap = self._app.config.caps.usd_per_day
        if cap and (spent := spent_today(self._app)) >= cap:
            raise _Stop(
                CtxsyncError(
                    f"The cap on cost is reached: ${spent:.2f} today.",
                    remedy="It begins anew at midnight UTC; or raise usd_per_day of [caps]: `ctxsync config edit`.",
                )
            )
        full = full_sources(self._app, store)
        self._full |= full & {one.source for one in batch}
        return [one for one in batch if one.source not in full]

    def _keep(self, store: EventStore, found: Sequence[Outcome], told: Told) -> None:
        events: list[NewEvent] = []
        for one in found:
            payload = one.event.payload
            spent = vars(payload)
            told.read += one.error is None
            told.failed += one.error is not None
            told.tokens += spent.get("tokens_in", 0) + spent.get("tokens_out", 0)
            told.cost_usd += spent.get("cost_usd", 0.0)
            events.append(one.event)
        if self.trier.batch > 1:  # a model of the first tiers: it costs nothing
            store.append(events)
            return
        for one in found:
            patch = counted(store, one.waiting.source, one.event.payload, self._app.clock())
            if not self.trier.cloud:  # a model on this machine that was asked for has no share of a day
                patch = {name: value for name, value in patch.items() if name in ("tokens", "cost_usd")}
            store.append([one.event], cursors={(RUNNER, JOB): patch})

    # What it would change, and adopting it

    def diff(self) -> dict[str, Any]:
        """Return what adopting the trial would change; see `ctxsync.trial_diff.diff`."""
        from ctxsync.trial_diff import diff

        self._project()
        return diff(self._app, self.trier.run, self.source)

    def adopt(self, progress: Callable[[Step], None] = no_progress) -> dict[str, Any]:
        """Let the trial count from here on.

        Raises:
            UsageError: It has read nothing.
        """
        from ctxsync.engine.extraction import trying

        with closing(self._app.graph()) as graph, translated(graph.path):
            held = trying.has_read(graph.db, self.trier.run, self.source)
        if not held:
            raise UsageError(f"{self.trier.name} has read nothing of it: there is nothing to adopt.")
        return adopt(self._app, self.trier.run, self.source, progress)
