"""`ctxsync watch`: keeps the graph current while files change; wakes come from anywhere, passes run one at a time here.

The writer lock is taken for each pass and given back after it, so `sync`, `log` and `rebuild` in another terminal get
in between; models and connectors' watches stay. A lost wake only delays: every source is read again at the start, and
whenever the `reconcile` job of `[jobs]` says so.
"""

from __future__ import annotations

import signal
import stat
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, cast

from ctxsync import runs, spool
from ctxsync.errors import CtxsyncError, StoreLocked
from ctxsync.idling import Idle
from ctxsync.jobs import scheduled
from ctxsync.passes import connect
from ctxsync.sync import SyncRequest
from ctxsync.upkeep import warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ctxsync.app import App
    from ctxsync.connectors.base import Stream, Watches
    from ctxsync.source_settings import SourceConfig

DEBOUNCE = 0.3
"""Seconds of quiet after a wake before a pass: an editor's save is several file events."""
LONGEST_WAIT = 2.0
"""Seconds after which a pass starts though wakes keep coming."""
LOCK_WAIT = 5.0
"""Seconds to wait for another writer before looking whether to stop."""
TRY_AGAIN = 300.0
"""Seconds after which a server that could not be watched is tried again: a wait for it holds up the passes."""
RECONCILE = "reconcile"
_SPOOL = "\0spool"  # no source is called so
_STOP = "\0stop"
_ANSWER = "\0answer"


class Watch:
    """One run of `ctxsync watch`.

    Args:
        app: The home.
        report: Told one line for each thing done; called from the thread of `run` only.
        debounce: Seconds, see `DEBOUNCE`.
        signals: Stop on SIGINT and SIGTERM; only where `run` is called in the main thread.
    """

    def __init__(
        self, app: App, report: Callable[[str], None], *, debounce: float = DEBOUNCE, signals: bool = True
    ) -> None:
        self._app = app
        self._report = report
        self._debounce = debounce
        self._signals = signals
        self._wakes: SimpleQueue[str] = SimpleQueue()
        self._stopped = threading.Event()
        self._waiting = ""
        self._watching: dict[str, _Watched] = {}
        self._problems: set[tuple[str, ...]] = set()
        self._due: dict[str, float] = {}  # monotonic seconds at which a source that was told to wait is read again
        self._unwatchable: dict[str, tuple[float, str]] = {}
        self._idle = Idle(app, lambda: self.wake(_ANSWER), report)

    def wake(self, name: str) -> None:
        """Say that a source, or `reconcile`, is due; from any thread."""
        self._wakes.put(name)

    def stop(self) -> None:
        """End `run` after the step at hand; from any thread or a signal handler."""
        self._stopped.set()
        self._wakes.put(_STOP)

    def run(self) -> None:
        """Watch until stopped: an interrupted pass is left consistent, and the next one completes it."""
        with ExitStack() as stack:
            if self._signals:
                stack.enter_context(_signals(self.stop))
            self._app.home.create()
            stack.enter_context(scheduled({RECONCILE: self._app.config.jobs.reconcile}, self.wake))
            stack.enter_context(spool.watched(self._app.home, lambda: self.wake(_SPOOL)))
            stack.callback(self._unwatch)
            self._watch_sources()
            self._pass({RECONCILE})
            if not self._stopped.is_set():
                warm(self._app)
                self._report("ready")
            while not self._stopped.is_set():
                self._idle.go_on()
                names = self._next() - {_ANSWER}
                if names:
                    self._pass(names)
                    self._watch_sources()
        self._report("stopped")

    def _next(self) -> set[str]:
        """Wait for a wake, then for quiet, and return what is due."""
        idle = self._idle.due
        times = [*self._due.values(), *([] if idle is None else [idle])]
        try:
            wait = min(times) - time.monotonic() if times else None
            names = {self._wakes.get(timeout=None if wait is None else max(0.0, wait))}
        except Empty:
            names = set()
        now = time.monotonic()
        names |= {name for name, when in self._due.items() if when <= now}
        latest = time.monotonic() + LONGEST_WAIT
        while not self._stopped.is_set():
            try:
                names.add(self._wakes.get(timeout=max(0.0, min(self._debounce, latest - time.monotonic()))))
            except Empty:
                break
        return names

    def _pass(self, names: set[str]) -> None:
        """Do one pass for what is due; a failure is reported and leaves the watch running."""
        app = self._app
        if self._stopped.is_set():
            return
        hints = spool.take(app.home)
        hinted = spool.sources_of((path for hint in hints for path in hint.repositories), app.config)
        due = {*hinted, *names} - {_SPOOL, _STOP}
        everything = RECONCILE in names
        if not due:
            spool.settle(hints, app.config, ())
            return
        order = tuple(source.name for source in app.config.sources if everything or source.name in due)
        request = SyncRequest(
            sources=order,
            purpose="watch",
            timeout=LOCK_WAIT,
            on_wait=self._tell_wait,
            stopped=self._stopped.is_set,
        )
        try:
            result = app.sync(request) if order else None
        except StoreLocked:
            for name in sorted(names):
                self.wake(name)
            return
        except CtxsyncError as error:
            self._report(f"failed: {error}")
            return
        self._waiting = ""
        self._idle.changed()
        if result is not None:
            self._tell(result)
            if result["interrupted"]:
                return
        if everything:
            runs.record(app.home, "jobs", {RECONCILE: {"at": app.clock()}})

    def _tell_wait(self, line: str) -> None:
        if line != self._waiting:
            self._report(line)
        self._waiting = line

    def _tell(self, result: dict[str, Any]) -> None:
        for source in result["sources"]:
            parts = [f"{source[key]} {key}" for key in ("observed", "moved", "retracted") if source[key]]
            if parts:
                self._report(f"{source['name']}: {', '.join(parts)} in {source['seconds']:.1f} s")
        if result["extracted"] or result["new_facts"]:
            self._report(
                f"graph: {result['extracted']} extracted, {result['new_facts']} new facts in {result['seconds']:.1f} s"
            )
        read = {source["name"] for source in result["sources"]}
        self._due = {name: when for name, when in self._due.items() if name not in read}
        standing = {problem for problem in self._problems if problem[0] not in read}
        for problem in result["problems"]:
            if until := problem.get("until"):
                wait = datetime.fromisoformat(until).timestamp() - self._app.clock() / 1000
                self._due[problem["source"]] = time.monotonic() + max(wait, 1.0)
            said = tuple(str(problem[key]) for key in ("source", "kind", "place", "message"))
            standing.add(said)
            if said not in self._problems:
                name, kind, place, message = said
                self._report(
                    f"{name}: {kind} {place}: {message}" if place not in ("", ".") else f"{name}: {kind}: {message}"
                )
        self._problems = standing

    def _watch_sources(self) -> None:
        """Watch every source that can be and is not; one whose folder went or was replaced is watched anew."""
        for source in self._app.config.sources:
            known = self._watching.get(source.name)
            place = _identity(source.root)
            if known is not None and known.place != place:
                del self._watching[source.name]
                known.stack.close()
                self._report(f"{source.name}: {source.location} is no longer there")
            if source.name in self._watching or place is None:
                continue
            tried, _ = self._unwatchable.get(source.name, (-TRY_AGAIN, ""))
            if source.root is not None or time.monotonic() - tried >= TRY_AGAIN:
                self._watch_source(source, place)

    def _watch_source(self, source: SourceConfig, place: tuple[int, int]) -> None:
        def wake(stream: Stream) -> None:
            self.wake(stream.source)

        stack = ExitStack()
        try:
            connector = connect(self._app, source, SyncRequest(), self._app.clock())
            if hasattr(connector, "watch"):
                stack.enter_context(cast("Watches", connector).watch(wake))
        except (CtxsyncError, OSError) as error:
            from ctxsync.connectors.secrets import without_secrets

            stack.close()
            why = without_secrets(error)
            if self._unwatchable.get(source.name, (0.0, ""))[1] != why:
                self._report(f"{source.name}: cannot be watched ({why}); it is read at each reconcile")
            self._unwatchable[source.name] = (time.monotonic(), why)
            return
        self._unwatchable.pop(source.name, None)
        self._watching[source.name] = _Watched(place, stack)
        if degraded := getattr(connector, "degraded", ""):
            self._report(f"{source.name}: {degraded}")
        elif hasattr(connector, "watch"):
            self._report(f"{source.name}: watching {source.location}")

    def _unwatch(self) -> None:
        for watched in self._watching.values():
            watched.stack.close()
        self._watching.clear()


@dataclass(frozen=True, slots=True)
class _Watched:
    """A watch that runs: the folder it was started on, by device and inode, and what ends it."""

    place: tuple[int, int]
    stack: ExitStack


def _identity(path: Path | None) -> tuple[int, int] | None:
    """Return what a watch stands on: a folder, or that of a file, which may be replaced at any time; 0, 0 for a server."""
    if path is None:
        return 0, 0
    try:
        found = path.stat()
        if not stat.S_ISDIR(found.st_mode):
            found = path.parent.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Stop on the first SIGINT or SIGTERM; a second one falls to the handler that was there before."""
    before: dict[signal.Signals, Any] = {}

    def handle(_number: int, _frame: object) -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
