"""How much of a prompt a llama.cpp server reads again: the prefix is the same bytes for every text, so only the text.

The server says itself how long it took over each prompt (`timings`). Nothing is measured where the packages of the small
model are missing.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.extraction import sections
from benchmarks.report import Row
from ctxsync.engine.door.door import Door
from ctxsync.engine.door.ledger import Ledger
from ctxsync.engine.door.provider import Call, Provider, Reply
from ctxsync.engine.extraction.base import Extraction
from ctxsync.engine.extraction.llm.tier import LlmTier
from ctxsync.engine.schema import universal
from tests.engine.extraction.llm import llama

REPEATS = 3


class Timing(Door):
    """A door that keeps what the server says of its time."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(allow_cloud=False, scrub=False, ledger=ledger)
        self.prompt_ms: list[float] = []

    def send(self, provider: Provider, call: Call) -> Reply:
        reply = super().send(provider, call)
        self.prompt_ms.append(float(reply.body["timings"]["prompt_ms"]))
        return reply


def rows() -> list[Row]:
    if missing := llama.missing():
        print(f"prompt prefix reuse: {missing}", file=sys.stderr)
        return []
    first: list[float] = []
    second: list[float] = []
    made = sections(2)
    for _ in range(REPEATS):  # a server of its own each time, for its cache starts empty
        with (
            tempfile.TemporaryDirectory() as home,
            llama.running() as url,
            Timing(Ledger(Path(home) / "egress.db")) as door,
        ):
            asked = Provider("local", url, "smollm2-135m", tier=2, requests_per_minute=0, tokens_per_day=0, timeout=300)
            tier = LlmTier(universal(), door, [asked], tokens=64)
            for episode, times in zip(made, (first, second), strict=True):
                door.prompt_ms.clear()
                list(tier.extract([episode], [Extraction(episode.id, 1, "none")]))
                times.append(door.prompt_ms[0])
    return [
        Row(
            "prompt prefix reuse: the second prompt",
            statistics.median(second),
            "ms",
            statistics.median(first),
            most=0.25,
        )
    ]
