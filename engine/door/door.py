"""The door; stub."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxsync.engine.door.ledger import Ledger
    from ctxsync.engine.door.provider import Call, Provider, Reply
    from ctxsync.engine.privacy.scrub import Scrubber


class Door:
    """Sends texts to models."""

    def __init__(
        self,
        *,
        allow_cloud: bool,
        scrub: bool,
        ledger: Ledger,
        scrubber: Callable[[], Scrubber] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._allow_cloud, self._scrub, self._ledger, self._scrubber = allow_cloud, scrub, ledger, scrubber
        self._clock = clock

    def send(self, provider: Provider, call: Call) -> Reply:
        """Return the answer to a call; raises `ProviderError`s."""
        raise NotImplementedError

    def get(self, provider: Provider, path: str) -> Any:
        """Return what a local provider answers to a GET."""
        raise NotImplementedError
