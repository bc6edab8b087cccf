"""Which messages of an export are taken, as the settings say; knows no file and no cursor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is taken.

    Args:
        bots: Messages of bots and apps are.
        since: Microseconds UTC: earlier messages are not; 0 for no such limit.
        channel: False when the channel as a whole is left out.
    """

    bots: bool = True
    since: int = 0
    channel: bool = True

    def rules(self) -> str:
        """Return what tells one choice of messages from another."""
        return f"bots={self.bots} since={self.since}"

    def too_old(self, day: str) -> bool:
        """Say whether nothing of a day `2024-01-31` is late enough; days may be of any time zone."""
        if not self.since:
            return False
        first = datetime.fromtimestamp(self.since // 1_000_000, UTC) - timedelta(days=1)
        return day < first.strftime("%Y-%m-%d")
