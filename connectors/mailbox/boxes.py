"""The mbox files of a pass: which of them are read, and what of those that are gone goes with them.

An mbox that only grew keeps its chunks; that its old part is the same is told by the bytes at each chunk's end, so what
was overwritten at the same length while the file grew shows at the next change without growth only. Any other change
is a reading of the whole file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ctxsync.connectors.mailbox.chunks import Chunk
from ctxsync.connectors.mailbox.ledger import messages_of, path_of_chunk
from ctxsync.connectors.mailbox.passing import Pass, Removal
from ctxsync.connectors.mailbox.reading import Reading, chunks_of
from ctxsync.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.connectors.base import Batch
    from ctxsync.connectors.mailbox.survey import Found


class Boxes:
    """The mbox files of a pass."""

    def __init__(self, run: Pass) -> None:
        self.run = run
        self.to_read: list[str] = []
        self.gone: list[str] = []

    @property
    def has_work(self) -> bool:
        """Whether anything is new, changed or gone."""
        return bool(self.to_read or self.gone)

    def look(self) -> None:
        """Compare what stands there with what is known."""
        run = self.run
        with_bad: set[str] = set()
        for key, value in run.ledger.known.items():
            if key.startswith("c/") and isinstance(value, dict) and "bad" in value:
                with_bad.add(path_of_chunk(key))
            elif key.startswith("b/") and key[2:] not in run.survey.mboxes and not run.is_hidden(key[2:]):
                self.gone.append(key[2:])
        for path, found in run.survey.mboxes.items():
            known = run.ledger.mbox(path)
            same = known is not None and known.is_read and (known.size, known.mtime_ns) == (found.size, found.mtime_ns)
            if known is None or not same or run.anew or (run.options.retry_quarantined and path in with_bad):
                self.to_read.append(path)
            else:
                run.counts[path] += known.messages
                run.seen += known.messages
                run.unchanged += known.messages

    def read(self) -> Iterator[Batch]:
        """Yield what is new or changed, then note what is gone."""
        for path in sorted(self.to_read):
            yield from self._box(path, self.run.survey.mboxes[path])
        for path in sorted(self.gone):
            exists = os.path.lexists(os.path.join(self.run.root, path))  # noqa: PTH118 (no object for each file)
            reason = "excluded" if exists else "deleted"
            for key, value in chunks_of(self.run, path):
                bad = tuple(f"{path}#{each[0]}" for each in Chunk.of(key, value).bad)
                self.run.removals.append(Removal(path, key, tuple(messages_of(key, value)), bad, reason))
            self.run.removals.append(Removal(path, f"b/{path}", (), (), reason))

    def _box(self, path: str, found: Found) -> Iterator[Batch]:
        try:
            with Path(found.raw).open("rb") as file:
                yield from Reading(self.run, path, file).read()
        except FileNotFoundError:
            return  # gone since; the next pass tells
        except OSError as error:
            raise Unavailable(
                f"{found.raw} cannot be read: {error.strerror or error}.",
                remedy=f"Correct its permissions or the disk, then run `ctxsync sync {self.run.source}`.",
            ) from error
