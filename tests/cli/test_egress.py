"""`ctxsync egress`: what left, from the ledger; and that nothing did."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.door.ledger import Intent, Ledger, Outcome
from ctxsync.engine.door.provider import Provider

if TYPE_CHECKING:
    from tests.cli.conftest import Line

NOON = 1_764_072_000.0  # 2025-11-25T12:00:00Z
DIGEST = "ab" * 32


@pytest.fixture
def home(line: Line) -> Line:
    assert line("init", "--name", "Robin Vale", "--email", "robin@example.com").code == 0
    return line


@pytest.fixture
def sent(home: Line) -> Line:
    """A home from which three calls left: one answered, one turned away a day later, one of which nothing is known."""
    ledger = Ledger(home.home / "egress.db")
    one = Provider("cerebras", "https://api.cerebras.ai/v1", "qwen-3-32b")
    two = Provider("deepinfra", "https://api.deepinfra.com/v1/openai", "google/gemma")
    number = ledger.begin(one, Intent("qwen-3-32b", "ep-1", "vault", DIGEST, 2_000, 700, ("secret:aws",)), now=NOON)
    ledger.finish(number, one, Outcome("ok", 200, 600, 200, 0.25, 321.0), now=NOON + 1)
    number = ledger.begin(two, Intent("google/gemma", "ep-2", "mail", DIGEST, 1_000, 700), now=NOON + 86_400)
    ledger.finish(number, two, Outcome("limited", 429, retry_after=60), now=NOON + 86_401)
    ledger.begin(one, Intent("qwen-3-32b", "ep-3", "vault", DIGEST, 500, 700), now=NOON + 86_402)
    ledger.close()
    return home


def test_where_nothing_left_it_says_so_and_makes_no_ledger(home: Line) -> None:
    assert home("egress").out == "Nothing ever left this machine.\n"
    assert home("egress", "--json").json["calls"] == []
    assert not (home.home / "egress.db").exists()


def test_every_call_is_told_with_what_it_was_and_what_became_of_it(sent: Line) -> None:
    out = sent("egress", columns=140).out

    assert "2025-11-25 12:00:00  api.cerebras.ai  qwen-3-32b  answered" in out
    assert "ep-1 · vault · 2,000 bytes · 600 tokens in, 200 out · $0.250000" in out
    assert f"sha256 {DIGEST}" in out
    assert "kept back: aws" in out
    assert "turned away: a rate limit" in out
    assert "whether it was answered is not known" in out
    assert (
        "api.cerebras.ai: 2 calls, 1 answered, 600 tokens in, 200 out, $0.2500; secrets kept back from 1 of them" in out
    )
    assert "in all: 3 calls, 1 answered" in out


def test_json_holds_the_same(sent: Line) -> None:
    document: Any = sent("egress", "--json").json

    assert document["calls"][0] == {
        "at": "2025-11-25T12:00:00Z",
        "provider": "cerebras",
        "host": "api.cerebras.ai",
        "model": "qwen-3-32b",
        "source": "vault",
        "episode": "ep-1",
        "sha256": DIGEST,
        "bytes": 2000,
        "status": "ok",
        "http": 200,
        "tokens_in": 600,
        "tokens_out": 200,
        "cost_usd": 0.25,
        "ms": 321.0,
        "flags": ["secret:aws"],
    }
    assert document["totals"]["calls"] == 3
    assert document["totals"]["bytes"] == 3500
    assert document["totals"]["hosts"]["api.deepinfra.com"]["answered"] == 0


def test_since_leaves_out_what_was_before(sent: Line) -> None:
    assert [call["episode"] for call in sent("egress", "--since", "2025-11-26", "--json").json["calls"]] == [
        "ep-2",
        "ep-3",
    ]
    assert sent("egress", "--since", "2030").out == "Nothing has left this machine since 2030.\n"


def test_since_that_is_no_time_is_told(sent: Line) -> None:
    ran = sent("egress", "--since", "soonish")

    assert ran.code == 2
    assert "--since: 'soonish' is not a time" in ran.err


def test_a_damaged_ledger_is_told_and_not_thrown_away(home: Line) -> None:
    (home.home / "egress.db").write_bytes(b"no database" * 500)

    ran = home("egress")

    assert ran.code == 1
    assert "ledger" in ran.err
    assert (home.home / "egress.db").read_bytes().startswith(b"no database")


def test_it_loads_no_model_and_no_http_library(sent: Line) -> None:
    code = (
        "import sys; from ctxsync.cli import main\n"
        "sys.argv = ['ctxsync', 'egress']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('httpx', 'spacy', 'presidio_analyzer', 'pydantic', 'numpy', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"CTXSYNC_HOME": str(sent.home), "PATH": "/usr/bin:/bin"},
    )

    assert done.stdout.splitlines()[-1] == "[]"
