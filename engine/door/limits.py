"""Whether a provider may be asked now: its Retry-After, our budgets, and the breaker; works inside the ledger's transactions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ctxsync.errors import ProviderDown, ProviderLimited

if TYPE_CHECKING:
    import apsw

    from ctxsync.engine.door.provider import Provider

FAILURES = 5
"""So many calls in a row that fail open the breaker."""
FIRST_PAUSE = 60.0
"""Seconds for which it stays open the first time; each time a trial fails they double."""
LONGEST_PAUSE = 900.0
"""Seconds at most."""
LONGEST_WAIT = 86_400.0
"""Seconds of a Retry-After that are believed: a day. It also bounds what a clock that was set back can do."""
MINUTE = 60.0
DAY = 86_400

_REQUESTS = "SELECT at FROM call WHERE provider = ? AND at > ? AND at <= ? ORDER BY at"
_TOKENS = """
SELECT coalesce(sum(CASE status WHEN 'sent' THEN reserved ELSE coalesce(tokens_in, 0) + coalesce(tokens_out, 0) END), 0)
FROM call WHERE provider = ? AND at >= ? AND at < ?
"""
_STATE = "SELECT name, not_before, failures, opened, closed_until FROM provider WHERE name = ?"
_KEEP = "INSERT OR REPLACE INTO provider VALUES (:name, :not_before, :failures, :opened, :closed_until)"


@dataclass(slots=True)
class _State:
    name: str
    not_before: float = 0.0
    failures: int = 0
    opened: int = 0
    closed_until: float = 0.0


def admit(db: apsw.Connection, provider: Provider, tokens: int, now: float) -> None:
    """Let a call through that may take so many tokens, or say when to ask again.

    Raises:
        ProviderLimited: The provider asked to wait, or our own budget for it is used up.
        ProviderDown: It failed so often that it is left alone for a while.
    """
    name, state = provider.name, _state(db, provider.name)
    if (left := min(state.not_before - now, LONGEST_WAIT)) > 0:
        raise ProviderLimited(f"{name} asks to wait for {_words(left)}.", retry_after=left)
    trial = 2 * provider.timeout
    if (left := min(state.closed_until - now, max(LONGEST_PAUSE, trial))) > 0:
        raise ProviderDown(f"{name} failed {state.failures} times in a row; it is asked again in {_words(left)}.")
    times = recent(db, name, now)
    if 0 < provider.requests_per_minute <= len(times):
        raise ProviderLimited(
            f"{name} was asked {len(times)} times within a minute, which is its limit here.",
            retry_after=max(times[-provider.requests_per_minute] + MINUTE - now, 0.001),
            remedy=f"Wait, or raise requests_per_minute of [{name}]: `ctxsync config edit`.",
        )
    if 0 < provider.tokens_per_day < tokens_today(db, name, now) + tokens:
        raise ProviderLimited(
            f"The {provider.tokens_per_day:,} tokens a day of {name} are used up.",
            retry_after=DAY - now % DAY,
            remedy=f"They begin anew at midnight UTC; or raise tokens_per_day of [{name}]: `ctxsync config edit`.",
        )
    if state.failures >= FAILURES:
        # Half open: this call is the one trial. Others stay out until it has ended, or would have.
        state.closed_until = now + trial
        _keep(db, state)


def note(db: apsw.Connection, name: str, *, failed: bool, retry_after: float, now: float) -> None:
    """Take an outcome into account: a failure brings the breaker nearer to opening, any answer closes it."""
    state = _state(db, name)
    if retry_after > 0:
        state.not_before = max(min(state.not_before, now + LONGEST_WAIT), now + min(retry_after, LONGEST_WAIT))
    if failed:
        state.failures += 1
        if state.failures >= FAILURES:
            state.closed_until = now + min(FIRST_PAUSE * 2 ** min(state.opened, 10), LONGEST_PAUSE)
            state.opened += 1
    else:
        state.failures, state.opened, state.closed_until = 0, 0, 0.0
    _keep(db, state)


def recent(db: apsw.Connection, name: str, now: float) -> list[float]:
    """Return when a provider was asked within the last minute, the first time first."""
    return [at for (at,) in db.execute(_REQUESTS, (name, now - MINUTE, now + MINUTE))]


def tokens_today(db: apsw.Connection, name: str, now: float) -> int:
    """Return the tokens that a provider took in this UTC day; a call without an outcome counts as it was estimated."""
    midnight = now - now % DAY
    return int(db.execute(_TOKENS, (name, midnight, midnight + DAY)).get)


def _state(db: apsw.Connection, name: str) -> _State:
    row = db.execute(_STATE, (name,)).fetchone()
    return _State(*row) if row else _State(name)


def _keep(db: apsw.Connection, state: _State) -> None:
    db.execute(_KEEP, asdict(state))


def _words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
