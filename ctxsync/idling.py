"""What `ctxsync watch` does while nothing changes: higher tiers read on, one episode at a time, in a thread of its own.

The thread only asks; what it was answered is stored by the watch's own thread, between its passes. So no note waits for
a model, and a watch that is stopped waits for none either.
"""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from ctxsync.config import load_config
from ctxsync.errors import CtxsyncError, StoreLocked
from ctxsync.escalating import Escalator
from ctxsync.escalation_notes import may_escalate

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxsync.app import App
    from ctxsync.config import Config
    from ctxsync.engine.extraction.escalation import Outcome

LOOK_AGAIN: Final = 300.0
"""Seconds after which it looks again though nothing changed: caps begin anew, servers come back."""


class Idle:
    """Escalation beside a watch.

    Args:
        app: The home.
        wake: Called from its thread when an answer is there, or none is to be had.
        report: Told a line; called from the watch's thread only.
    """

    def __init__(self, app: App, wake: Callable[[], None], report: Callable[[str], None]) -> None:
        self._app, self._wake, self._report = app, wake, report
        self._escalator: Escalator | None = None
        self._thread: threading.Thread | None = None
        self._answers: SimpleQueue[Outcome | CtxsyncError | None] = SimpleQueue()
        self._kept: Outcome | None = None
        self._again = 0.0
        self._count = 0

    @property
    def due(self) -> float | None:
        """When to call `go_on` though nothing woke it, in monotonic seconds; None while it waits for an answer."""
        return None if self._thread is not None or not may_escalate(self._app) else self._again

    def changed(self) -> None:
        """Say that there may be something new to read."""
        self._again = 0.0

    def go_on(self) -> None:
        """Store what was answered, and ask on; returns at once but for the storing."""
        self._store()
        due = self.due
        if due is None or due > time.monotonic() or self._kept is not None:
            return
        if (why := self._held()) is not None:
            self._again = time.monotonic() + LOOK_AGAIN
            self._report(f"higher tiers pause: {why}")
            return
        if self._escalator is None:
            self._escalator = Escalator(self._app)
        self._thread = threading.Thread(target=self._ask, args=(self._escalator,), daemon=True, name="escalation")
        self._thread.start()

    def _held(self) -> str | None:
        """Say why nothing may be asked though this process' settings let it: what may leave was changed meanwhile."""
        try:
            now = load_config(self._app.home)
        except CtxsyncError as error:
            return error.message
        if _leaves(now) == _leaves(self._app.config):
            return None
        return "what may leave this machine was changed in config.toml; start `ctxsync watch` again"

    def _ask(self, escalator: Escalator) -> None:
        try:
            self._answers.put(escalator.next())
        except CtxsyncError as error:
            self._answers.put(error)
        except BaseException:
            self._answers.put(None)
            raise
        finally:
            self._wake()

    def _store(self) -> None:
        try:
            answer = self._kept or self._answers.get_nowait()
        except Empty:
            return
        self._thread = None
        escalator = self._escalator
        assert escalator is not None  # something was asked
        if answer is None or isinstance(answer, CtxsyncError):
            self._again = time.monotonic() + LOOK_AGAIN
            self._escalator = None  # the next one finds servers that were started meanwhile
            if self._count:
                self._report(f"higher tiers: {self._count} read")
            self._count = 0
            if answer is not None:
                self._report(f"higher tiers failed: {answer}")
            return
        try:
            self._kept = answer
            escalator.keep(answer)
            self._kept = None
            self._count += 1
            escalator.finish()
        except StoreLocked:
            self._again = time.monotonic() + 1.0  # the other writer is at work: the answer is stored after it
        except CtxsyncError as error:
            self._kept = None
            self._again = time.monotonic() + LOOK_AGAIN
            self._report(f"higher tiers failed: {error}")


def _leaves(config: Config) -> tuple[object, ...]:
    return config.privacy, config.mode, {source.name: config.cloud_allowed(source.name) for source in config.sources}
