"""One writer at a time, across processes; knows only the lock file's path, and nothing of what is written."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import orjson
from filelock import FileLock, Timeout

from ctxsync.errors import StoreError, StoreLocked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

WAIT_SECONDS: Final = 60.0
"""DESIGN, Commands: a second writer waits 60 s."""


def ignore(_: str) -> None:
    """Tell nobody."""


class WriterLock:
    """Context manager that holds the writer's lock; the system frees it when the process ends, however it ends.

    Who holds it stands in a second file beside it (`<name>.holder`): it names the holder to those who wait, and
    decides nothing.

    Args:
        path: The lock file; its folder must exist.
        purpose: What this process does, for those who wait: `sync`, `rebuild` …
        timeout: Seconds to wait for another holder.
        on_wait: Told once, before waiting, who holds the lock.
    """

    def __init__(
        self,
        path: Path,
        purpose: str,
        timeout: float = WAIT_SECONDS,
        on_wait: Callable[[str], None] = ignore,
    ) -> None:
        self._path = path
        self._purpose = purpose
        self._timeout = timeout
        self._on_wait = on_wait
        self._lock = FileLock(path, mode=0o600)

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            StoreLocked: Another process held it for the whole time.
            StoreError: The lock file cannot be made.
        """
        try:
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                self._on_wait(f"Waiting for {self.holder()}.")
                self._lock.acquire(timeout=self._timeout)
        except Timeout:
            raise StoreLocked(
                f"Another process is writing: {self.holder()} (waited {self._timeout:g} s).",
                remedy="Let it finish or stop it, then run the command again.",
            ) from None
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be locked ({error.strerror}).",
                remedy="Check the permissions of the folder: ctxsync doctor",
            ) from error
        self._write_holder()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._holder_path().unlink(missing_ok=True)
        self._lock.release()

    def holder(self) -> str:
        """Say who holds the lock, for a person; the lock may be free by the time it is read."""
        try:
            found = orjson.loads(self._holder_path().read_bytes())
            since = datetime.fromtimestamp(found["since"], tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            purpose = "".join(filter(str.isprintable, str(found["purpose"])))
            return f"process {int(found['pid'])} ({purpose}, since {since})"
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            return "another process of ctxsync"

    def _holder_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}.holder")

    def _write_holder(self) -> None:
        """Best effort: a full disk must not cost the lock."""
        fresh = self._path.with_name(f"{self._path.name}.holder.new")
        data = orjson.dumps({"pid": os.getpid(), "purpose": self._purpose, "since": int(time.time())})
        with contextlib.suppress(OSError):
            fresh.write_bytes(data)
            fresh.chmod(0o600)
            fresh.replace(self._holder_path())
