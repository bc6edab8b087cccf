"""The notes connector: one vault's changes become batches; knows nothing of the log, and writes nothing.

A pass lists the vault, reads what looks new or changed, pairs what moved, and yields moves, then new versions, then
deletions, in bounded batches, each with the cursor patch that covers it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ctxsync.connectors.base import Batch, Options, Stream
from ctxsync.connectors.globs import globs
from ctxsync.connectors.notes.disk import Disk
from ctxsync.connectors.notes.ledger import Ledger
from ctxsync.connectors.notes.passing import BATCH, Pass
from ctxsync.connectors.notes.walk import walk
from ctxsync.errors import ConfigError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from ctxsync.connectors.base import Json


class NotesConnector:
    """A folder of Markdown, an Obsidian vault or a Logseq graph.

    Args:
        name: The source's name.
        settings: `path` (absolute), `include` and `exclude` (lists of gitignore globs).
        options: What the runner asks of this read.
        disk: The file system; tests pass their own.
        batch: Notes a batch at most.

    Raises:
        ConfigError: There is no path, or a glob is none.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Json],
        options: Options,
        *,
        disk: Disk | None = None,
        batch: int = BATCH,
    ) -> None:
        path = settings.get("path")
        if not isinstance(path, str) or not path:
            raise ConfigError(f"The source `{name}` has no `path`.", remedy="Add it to config.toml.")
        self.name = name
        self.root = str(Path(path))
        self.options = options
        self.degraded = ""
        self._include = globs(name, settings, "include")
        self._exclude = globs(name, settings, "exclude")
        self._disk = disk or Disk()
        self._batch = batch

    def discover(self) -> Iterable[Stream]:
        """Return the one stream of a vault."""
        return (Stream(self.name),)

    def read(self, stream: Stream, cursor: Mapping[str, Json] | None) -> Iterator[Batch]:
        """Yield what changed since the cursor.

        Raises `Unavailable` when the vault cannot be listed, and `SuspiciousDeletion` after everything else when too
        much vanished; either way no deletion is recorded.
        """
        ledger = Ledger(stream.source, cursor or {})
        listing = walk(
            self._disk,
            self.root,
            ledger.known,
            include=self._include,
            exclude=self._exclude,
            rules_before=ledger.rules(),
        )
        if "" in listing.unreadable:  # missing, not a folder, not mounted, not ours
            raise self._unavailable(f"{self.root} cannot be listed: {listing.unreadable['']}.")
        yield from Pass(
            self.name,
            self.root,
            disk=self._disk,
            options=self.options,
            listing=listing,
            ledger=ledger,
            size=self._batch,
        ).run()

    def watch(self, wake: Callable[[Stream], None]) -> AbstractContextManager[None]:
        """Wake when something in the vault changed; `degraded` says why this is by polling, where it is."""
        from ctxsync.connectors.notes.watch import watching

        return watching(self.root, lambda: wake(Stream(self.name)), self._report)

    def _report(self, reason: str) -> None:
        self.degraded = reason

    def _unavailable(self, message: str) -> Unavailable:
        remedy = f"Mount the disk or correct `path` of the source in config.toml, then run `ctxsync sync {self.name}`."
        return Unavailable(message, remedy=remedy)
