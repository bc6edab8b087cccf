"""How often each Web API method may be called: a clockwork over seconds. Calls nothing and waits for nothing itself.

Slack counts calls per method, workspace and app, in tiers of so many a minute with bursts tolerated
(docs.slack.dev/apis/web-api/rate-limits). Staying inside costs no refused calls; what the server says in a 429
counts more than any tier, so that an app held to one call a minute is simply told so.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PER_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100}
"""Calls a minute of each tier, as documented; the documented numbers are lower bounds."""
TIER = {
    "auth.test": 4,  # "special": hundreds a minute
    "team.info": 3,
    "users.list": 2,
    "conversations.list": 2,
    "conversations.info": 3,
    "conversations.history": 3,
    "conversations.replies": 3,
}


_SHARED: dict[bytes, Budget] = {}


@dataclass(slots=True)
class _Bucket:
    """`level` calls are left as of `at`; none before `blocked`."""

    level: float
    at: float
    blocked: float = 0.0


@dataclass(slots=True)
class Budget:
    """A bucket a method: a minute's worth of calls at once, then at the tier's pace.

    Args:
        clock: Monotonic seconds.
    """

    clock: Callable[[], float]
    _buckets: dict[str, _Bucket] = field(default_factory=dict)

    def wait(self, method: str) -> float:
        """Return the seconds until a method may be called; 0 when it may be now."""
        bucket, rate, now = self._filled(method)
        missing = max(0.0, 1.0 - bucket.level) / rate
        return max(missing, bucket.blocked - now, 0.0)

    def spend(self, method: str) -> None:
        """Note a call."""
        bucket, _, _ = self._filled(method)
        bucket.level -= 1.0

    def refused(self, method: str, seconds: float) -> None:
        """Note that the server refused a call and asked for so many seconds of rest."""
        bucket, _, now = self._filled(method)
        bucket.blocked = now + seconds
        bucket.level = max(bucket.level, 1.0)  # the server's own count stands in for ours from here

    def _filled(self, method: str) -> tuple[_Bucket, float, float]:
        size = PER_MINUTE[TIER.get(method, 2)]
        rate, now = size / 60.0, self.clock()
        bucket = self._buckets.setdefault(method, _Bucket(float(size), now))
        bucket.level = min(float(size), bucket.level + (now - bucket.at) * rate)
        bucket.at = now
        return bucket, rate, now


def shared(url: str, token: str) -> Budget:
    """Return the budget of a token in this process, by the real clock: the passes of a watch are counted together."""
    key = hashlib.sha256(f"{url}\0{token}".encode()).digest()
    return _SHARED.setdefault(key, Budget(time.monotonic))
