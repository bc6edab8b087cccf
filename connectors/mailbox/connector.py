"""The mailbox connector: mail in files becomes batches; knows nothing of the log, and writes nothing.

A source is one stream. Its places are mbox files, Maildir folders and `.eml` files, by path, and the labels of Google
Takeout: a message that is moved from one to another is the same item, seen elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.base import Batch, Options, Stream, digest
from ctxsync.connectors.globs import globs
from ctxsync.connectors.since import since
from ctxsync.errors import ConfigError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from ctxsync.connectors.base import Json
    from ctxsync.connectors.mailbox.passing import Limits

# What the parser makes of a message; a new number reads everything once more.
_READING: Final = 1


class MailboxConnector:
    """An mbox file, a Maildir, a folder of `.eml`, a Google Takeout, or a folder of any of these.

    Args:
        name: The source's name.
        settings: `path` (absolute), `include` and `exclude` (lists of gitignore globs of files and folders), `since`
            (`2024-01-31`: older messages are not read), `max_body` (bytes of a message that are read).
        options: What the runner asks of this read.
        batch: Messages a batch at most; 0 for the default.

    Raises:
        ConfigError: A setting is missing or means nothing.
    """

    def __init__(self, name: str, settings: Mapping[str, Json], options: Options, *, batch: int = 0) -> None:
        path = settings.get("path")
        if not isinstance(path, str) or not path:
            raise ConfigError(f"The source `{name}` has no `path`.", remedy="Add it to config.toml.")
        self.name = name
        self.root = str(Path(path))
        self.options = options
        self.degraded = ""
        self._include = globs(name, settings, "include")
        self._exclude = globs(name, settings, "exclude")
        first = since(name, settings.get("since"))
        self._since = int(first.timestamp() * 1000) if first else 0
        self._max_body = _max_body(name, settings.get("max_body"))
        self._batch = batch
        told: list[Json] = [settings.get(key) for key in ("include", "exclude", "since", "max_body")]
        self._rules = digest(_READING, told)

    def discover(self) -> Iterable[Stream]:
        """Return the one stream of the source."""
        return (Stream(self.name),)

    def read(self, stream: Stream, cursor: Mapping[str, Json] | None) -> Iterator[Batch]:  # noqa: ARG002 (one stream)
        """Yield what changed since the cursor.

        Raises `Unavailable` when the path cannot be looked into, and `SuspiciousDeletion` after everything else when
        too much vanished, of the whole or of one mbox or folder; either way no deletion of it is recorded.
        """
        from ctxsync.connectors.mailbox.ledger import Ledger
        from ctxsync.connectors.mailbox.passing import BATCH, Pass
        from ctxsync.connectors.mailbox.survey import survey

        found = survey(self.root, self._include, self._exclude)
        if "" in found.unreadable:
            raise Unavailable(
                f"{self.root} cannot be read: {found.unreadable['']}.",
                remedy="Mount the disk or correct `path` of the source in config.toml, "
                f"then run `ctxsync sync {self.name}`.",
            )
        yield from Pass(
            self.name,
            self.root,
            options=self.options,
            limits=self._limits(),
            survey=found,
            ledger=Ledger(cursor or {}),
            rules=self._rules,
            size=self._batch or BATCH,
        ).run()

    def watch(self, wake: Callable[[Stream], None]) -> AbstractContextManager[None]:
        """Wake when a file below the path changed; `degraded` says why this is by polling, where it is."""
        from ctxsync.connectors.notes.watch import watching

        root = Path(self.root)
        folder, file = (root, "") if root.is_dir() else (root.parent, root.name)
        return watching(str(folder), lambda: wake(Stream(self.name)), self._report, file=file)

    def _limits(self) -> Limits:
        from ctxsync.connectors.mail.message import MAX_BODY
        from ctxsync.connectors.mailbox.passing import Limits

        return Limits(self._since, self._max_body or MAX_BODY)

    def _report(self, reason: str) -> None:
        self.degraded = reason


def _max_body(name: str, value: Json) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(
            f"`max_body` of the source {name} must be a number of bytes.", remedy="Correct it in config.toml."
        )
    return value
