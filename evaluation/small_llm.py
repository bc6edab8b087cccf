"""What becomes of the answers of a real, very small model: `python -m evaluation.small_llm [COUNT]`.

SmolLM2-135M on a llama.cpp server, decoding under the schema, through the tier and the door, on episodes of the gold
set's open half. It says whether answers are JSON and what is done with those that are not; what so small a model says of
a text is worth little, and is not scored.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import orjson

from ctxsync.engine.door.door import Door
from ctxsync.engine.door.ledger import Ledger
from ctxsync.engine.door.provider import Call, Provider, Reply
from ctxsync.engine.extraction.base import Episode, Extraction
from ctxsync.engine.extraction.llm.shape import Limits, shape
from ctxsync.engine.extraction.llm.tier import LlmTier
from ctxsync.engine.schema import universal
from ctxsync.errors import BadReply
from tests.engine.extraction.llm import llama

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 50
TOKENS = 384
_GOLD = Path(__file__).parent / "gold" / "open.jsonl"


class Noting(Door):
    """A door that keeps the words of each answer."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(allow_cloud=False, scrub=False, ledger=ledger)
        self.words: list[str] = []

    def send(self, provider: Provider, call: Call) -> Reply:
        reply = super().send(provider, call)
        self.words.append(str(reply.body["choices"][0]["message"]["content"]))
        return reply


def provider(url: str) -> Provider:
    """Return the server as a provider without limits."""
    return Provider("local", url, "smollm2-135m", tier=2, requests_per_minute=0, tokens_per_day=0, timeout=300)


def episodes(count: int) -> Iterator[Episode]:
    for line in _GOLD.read_text(encoding="utf-8").splitlines()[:count]:
        row = json.loads(line)
        at = int(datetime.fromisoformat(row["occurred_at"]).timestamp() * 1000)
        quoted = tuple((start, end) for start, end in row.get("quoted", ()))
        name = (row.get("author") or {}).get("name", "")
        yield Episode(row["id"], row["id"], "text", "", row["text"], at, author_name=name, quoted=quoted)


def valid(words: str, wanted: dict[str, Any]) -> bool:
    """Say whether an answer is JSON of the shape that was asked for, as it came."""
    try:
        jsonschema.validate(orjson.loads(words), wanted)
    except (orjson.JSONDecodeError, jsonschema.ValidationError):
        return False
    return True


def rows(count: int = COUNT) -> list[tuple[str, str, str, str]]:
    """Return a line for each figure: set, what, value, size; one that says why when the packages are not there."""
    if missing := llama.missing():
        return [("small LLM", "not measured", "-", missing)]
    schema = universal()
    wanted = shape(schema, Limits.of(TOKENS))
    results: list[tuple[bool, Any, float]] = []
    with (
        tempfile.TemporaryDirectory() as home,
        llama.running() as url,
        Noting(Ledger(Path(home) / "egress.db")) as door,
    ):
        tier = LlmTier(schema, door, [provider(url)], tokens=TOKENS)
        for episode in episodes(count):
            door.words.clear()
            begun = time.perf_counter()
            [result] = tier.extract([episode], [Extraction(episode.id, 1, "none")])
            results.append((valid(door.words[0] if door.words else "", wanted), result, time.perf_counter() - begun))
    total = len(results)
    good = sum(is_valid for is_valid, _, _ in results)
    used = [result for _, result, _ in results if isinstance(result, Extraction)]
    mended = sum("llm:repaired" in result.gate or "llm:cut-off" in result.gate for result in used)
    again = sum("llm:second-try" in result.gate for result in used)
    failed = [result for _, result, _ in results if isinstance(result, BadReply)]
    astray = sum("Nothing in the answer" in error.message for error in failed)
    other = total - len(used) - len(failed)
    seconds = sorted(taken for _, _, taken in results)
    return [
        (
            "small LLM (SmolLM2-135M)",
            "first answers that are valid JSON of the shape",
            f"{good / total:.2f}",
            f"{good} of {total}",
        ),
        (
            "",
            "extracted; of those mended in code, on the second try",
            f"{len(used) / total:.2f}",
            f"{len(used)}; {mended}, {again}",
        ),
        (
            "",
            "typed failures; of those valid JSON about no text",
            f"{len(failed) / total:.2f}",
            f"{len(failed)}; {astray}",
        ),
        ("", "anything else", f"{other / total:.2f}", f"{other}"),
        ("", "seconds an episode, median", f"{seconds[total // 2]:.1f}", f"longest {seconds[-1]:.1f}"),
    ]


if __name__ == "__main__":
    for line in rows(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT):
        print(" | ".join(line))
