"""The IMAP connector: settings in, batches out; holds no connection between two reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.connectors.base import Stream
from ctxsync.connectors.imap.account import account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from ctxsync.connectors.base import Batch, Json, Options
    from ctxsync.connectors.imap.account import Account
    from ctxsync.connectors.imap.session import Session

BATCH = 200


class ImapConnector:
    """One mail account on an IMAP server: one stream, whose cursor holds every folder.

    Args:
        name: The source's name.
        settings: `host`, `user`, `port`, `tls`, `tls_ca`, `password`, `oauth_token`, `folders`, `exclude`, `since`,
            `max_body`.
        options: What the runner asks of this read.
        batch: Messages a batch at most.
        opened: Opens a session; tests pass their own, with other timeouts.

    Raises:
        ConfigError: A setting is missing or means nothing.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Json],
        options: Options,
        *,
        batch: int = BATCH,
        opened: Callable[[Account], Session] | None = None,
    ) -> None:
        self.name = name
        self.degraded = ""
        self._account = account(name, settings)
        self._options = options
        self._batch = batch
        self._opened = opened or _opened

    def discover(self) -> Iterable[Stream]:
        """Return the one stream of an account."""
        return (Stream(self.name),)

    def read(self, stream: Stream, cursor: Mapping[str, Json] | None) -> Iterator[Batch]:  # noqa: ARG002 - there is one
        """Yield what changed since the cursor: new mail, newest first, then what is gone.

        Raises:
            AuthError: The server refuses the login.
            RateLimited: It has too many connections.
            Unavailable: It cannot be reached or trusted, went away, or has a folder that cannot be opened.
            SuspiciousDeletion: Too much is gone; everything else has been yielded.
        """
        from ctxsync.connectors.imap.fetching import Line
        from ctxsync.connectors.imap.ledger import Ledger
        from ctxsync.connectors.imap.passing import Pass

        line = Line(self._account, self._opened)
        try:
            yield from Pass(self._account, self._options, line, Ledger(cursor or {}), size=self._batch).run()
        finally:
            line.close()

    def watch(self, wake: Callable[[Stream], None]) -> AbstractContextManager[None]:
        """Wake when a message came or went; `degraded` says why it is noticed late, where it is."""
        from ctxsync.connectors.imap.watch import watching

        return watching(self._account, self._opened, lambda: wake(Stream(self.name)), self._report)

    def _report(self, reason: str) -> None:
        self.degraded = reason


def _opened(where: Account) -> Session:
    from ctxsync.connectors.imap.session import Session

    return Session(where)
