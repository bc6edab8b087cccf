"""Tells that something in a folder changed, never what: the next pass finds out. Falls back to a timer."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from ctxsync.connectors.notes.ignore import is_temporary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUIET = 1.0  # seconds without an event before a wake: an atomic or backup-style save is over by then
LONGEST = 10.0  # seconds after which a folder that never rests is read all the same
POLL = 60.0  # seconds between wakes without a watcher
SAFETY = 900.0  # seconds between wakes with one: queues overflow and networks drop events


class Watching(Protocol):
    """What is used of a watchdog observer."""

    def schedule(self, event_handler: FileSystemEventHandler, path: str, *, recursive: bool = ...) -> object:
        """Watch a folder."""
        ...

    def start(self) -> None:
        """Start; raises OSError when a limit of the system is reached."""
        ...

    def stop(self) -> None:
        """Stop."""
        ...

    def join(self) -> None:
        """Wait until stopped."""
        ...


class Debounce:
    """When to wake, given when events came: a pure clockwork over monotonic seconds."""

    def __init__(self, now: float, every: float) -> None:
        self.every = every
        self.first: float | None = None
        self.last = 0.0
        self.timer = now + every

    def event(self, now: float) -> None:
        """Note an event."""
        if self.first is None:
            self.first = now
        self.last = now

    def due(self) -> float:
        """Return the moment of the next wake as things stand."""
        if self.first is None:
            return self.timer
        return min(self.last + QUIET, self.first + LONGEST, self.timer)

    def woke(self, now: float) -> None:
        """Start afresh after a wake."""
        self.first = None
        self.timer = now + self.every


class _Handler(FileSystemEventHandler):
    def __init__(self, root: str, note: Callable[[], None], file: str = "") -> None:
        self.root, self.note, self.file = root, note, file

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Note events that can change what a pass finds; reading a file can not."""
        if event.event_type in ("opened", "closed_no_write"):
            return
        if event.is_directory and event.event_type == "modified":
            return  # its own entries have events of their own, and ours are the ones that matter
        if any(path and self._matters(os.fsdecode(path)) for path in (event.src_path, event.dest_path)):
            self.note()

    def _matters(self, path: str) -> bool:
        if self.file:
            return Path(path).name == self.file
        parts = Path(os.path.relpath(path, self.root)).parts
        return not parts or parts[-1] in (".gitignore", ".ctxsyncignore") or not any(map(is_temporary, parts))


@contextmanager
def watching(
    root: str,
    wake: Callable[[], None],
    report: Callable[[str], None],
    observer: Callable[[], Watching] = Observer,
    *,
    file: str = "",
    safety: float = SAFETY,
    poll: float = POLL,
) -> Iterator[None]:
    """Call `wake` from a thread when something below `root` may have changed, until the context is left.

    Args:
        root: The folder.
        wake: Called at most about once a second.
        report: Called with a reason when no watcher can be had and a timer stands in.
        observer: Makes the watcher.
        file: The name of the one file in the folder that matters; what is below the folder is not looked at then.
        safety: Seconds between wakes beside a watcher.
        poll: Seconds between wakes without one.
    """
    changed = threading.Condition()
    stopped = False
    watcher = observer()
    started = False
    clockwork = Debounce(time.monotonic(), safety)

    def note() -> None:
        with changed:
            clockwork.event(time.monotonic())
            changed.notify()

    try:
        watcher.schedule(_Handler(root, note, file), root, recursive=not file)
        watcher.start()
        started = True
    except (OSError, RuntimeError) as error:
        clockwork = Debounce(time.monotonic(), poll)
        report(f"The folder is looked at every {poll:.0f} seconds, for it cannot be watched: {error}")

    def loop() -> None:
        while True:
            with changed:
                while not stopped and (wait := clockwork.due() - time.monotonic()) > 0:
                    changed.wait(wait)
                if stopped:
                    return
                clockwork.woke(time.monotonic())
            wake()

    thread = threading.Thread(target=loop, name="notes-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        with changed:
            stopped = True
            changed.notify()
        thread.join()
        if started:
            watcher.stop()
            watcher.join()
