"""Every error that ctxsync raises on purpose; a leaf that all layers may import and that imports none of them.

CtxsyncError
├── ConfigError            config.toml cannot be used: names the key and the nearest valid one
├── ModelError             a model's files on this machine: missing, damaged, refused, or not to be had
├── UsageError             the command line asks for something that does not exist (exit 2)
├── StoreError             events.db
│   ├── StoreMissing       no log at this home yet
│   ├── StoreCorrupt       damaged, truncated, or the hash chain is broken
│   ├── StoreTooNew        written by a newer ctxsync
│   ├── StoreLocked        another writer holds the lock, or the database stayed busy
│   ├── StoreFull          the disk is full
│   └── PositionConflict   the log or the graph moved under a guarded write
├── GraphError             graph.db
│   ├── GraphMissing       not built yet
│   └── GraphStale         belongs to another log, or to another version: rebuild
├── SourceError            a connector's source; never stops other sources
│   ├── AuthError          refused login, revoked token
│   ├── RateLimited        carries retry_after in seconds
│   ├── Unavailable        unreachable now: missing root, network, server
│   ├── CursorExpired      the cursor no longer means anything at the source
│   ├── SuspiciousDeletion more vanished in one pass than the breaker lets through
│   └── BadItem            one item that cannot be read; quarantined
└── ExtractionError        one episode that a tier could not extract
    └── ProviderError      a model's server gave no answer that can be used
        ├── DoorClosed     nothing was sent: the settings do not let this text leave the machine
        ├── ProviderLimited its rate limit, or our own budget; carries retry_after in seconds
        ├── ProviderDown   unreachable, too slow, failing, or left alone for a while because it failed
        ├── ProviderRefused the key, the model or the request is refused
        └── BadReply       an answer that is not what was asked for: HTML, half a JSON, nothing

An error's text is one or two sentences for a person. `remedy` names the next command to run. `exit_code` is what the
command line exits with (DESIGN: 1 failed, 2 usage, 3 paused or quarantined).
"""

from __future__ import annotations


class CtxsyncError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: What happened, for a person.
        remedy: The next command to run or thing to do; empty when there is none.
    """

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class ConfigError(CtxsyncError):
    """`config.toml` cannot be used."""


class ModelError(CtxsyncError):
    """A model cannot be added, fetched or opened."""


class UsageError(CtxsyncError):
    """The command line names something that does not exist."""

    exit_code = 2


class StoreError(CtxsyncError):
    """The event log failed."""


class StoreMissing(StoreError):
    """There is no event log at this home."""


class StoreCorrupt(StoreError):
    """The event log is damaged, truncated, or its hash chain is broken."""


class StoreTooNew(StoreError):
    """The event log or graph was written by a newer ctxsync."""


class StoreLocked(StoreError):
    """Another writer holds the log."""


class StoreFull(StoreError):
    """The disk that holds the home is full; nothing of the failed batch was stored."""


class PositionConflict(StoreError):
    """A guarded write found another position than it expected."""


class GraphError(CtxsyncError):
    """The graph failed."""


class GraphMissing(GraphError):
    """The graph has not been built yet."""


class GraphStale(GraphError):
    """The graph belongs to another log or another layout and must be rebuilt."""


class SourceError(CtxsyncError):
    """One source failed; others go on."""


class AuthError(SourceError):
    """The source refused the credentials."""


class RateLimited(SourceError):
    """The source asks to wait.

    Args:
        message: What happened.
        retry_after: Seconds to wait before the next request.
    """

    def __init__(self, message: str, *, retry_after: float, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after


class Unavailable(SourceError):
    """The source cannot be reached now."""


class CursorExpired(SourceError):
    """The source no longer knows what the cursor points at."""


class SuspiciousDeletion(SourceError):
    """More items vanished in one pass than the deletion breaker lets through.

    Args:
        message: What happened.
        vanished: How many items vanished.
        known: How many items the stream had.
    """

    exit_code = 3

    def __init__(self, message: str, *, vanished: int, known: int, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.vanished = vanished
        self.known = known


class BadItem(SourceError):
    """One item that cannot be read."""

    exit_code = 3


class ExtractionError(CtxsyncError):
    """One tier could not extract one episode."""


class ProviderError(ExtractionError):
    """A model's server gave no answer that can be used."""


class DoorClosed(ProviderError):
    """Nothing was sent: the settings do not let this text leave the machine."""


class ProviderLimited(ProviderError):
    """The provider asks to wait, or our own budget for it is used up.

    Args:
        message: What happened.
        retry_after: Seconds to wait before the next call.
    """

    def __init__(self, message: str, *, retry_after: float, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after


class ProviderDown(ProviderError):
    """The provider cannot be reached, does not answer in time, fails, or failed so often that it is left alone."""


class ProviderRefused(ProviderError):
    """The provider refuses the key, the model or the request."""


class BadReply(ProviderError):
    """The provider's answer is not JSON, is cut off, is empty, or is too long."""
