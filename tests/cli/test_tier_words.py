"""What the command line says of higher tiers, and what `init` asks."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.cli import render_backlog, render_extract
from ctxsync.cli.gate_words import in_words
from ctxsync.cli.output import console

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("tier0:bulk", "no higher tier reads it: it is bulk mail"),
        ("escalate:few-entities 0.4<1.5", "asks for a higher tier: 0.4 entities in ten words, fewer than 1.5"),
        ("escalate:low-confidence 0.35<0.4", "asks for a higher tier: mean confidence 0.35, under 0.4"),
        ("escalate:types 0.50<0.6", "asks for a higher tier: a share of 0.50 has a type of the schema, under 0.6"),
        ("escalate:long-text 26>25 words, 4<5 entities",
         "asks for a higher tier: long, and little found: 26>25 words, 4<5 entities"),
        ("escalate:complex ::", "asks for a higher tier: a sign of a hard text: ::"),
        ("escalate:few-entities", "asks for a higher tier: few-entities"),
        ("keep:density 6.7>=1.5, confidence 0.80", "good enough: density 6.7 of at least 1.5, confidence 0.80"),
        ("tier2:failed BadReply", "tier 2 failed: BadReply"),
        ("tier2:ollama:qwen3:8b", "tier 2 read it: ollama:qwen3:8b"),
        ("llm:dropped:dangling=1", "the model's answer: dropped dangling=1"),
        ("door:secret:aws-key", "kept back from the cloud: aws-key"),
        ("something else", "something else"),
    ],
)  # fmt: skip
def test_decisions_of_the_gate_in_words(entry: str, words: str) -> None:
    assert in_words(entry).removesuffix(" (a secret)") == words


def tier(**more: Any) -> dict[str, Any]:
    return {
        "tier": 3,
        "waiting": 1200,
        "tokens": 1_300_000,
        "cost_usd": 0.131,
        "ends": "2026-01-07T09:30:00.000Z",
        **more,
    }


def backlog(**more: Any) -> dict[str, Any]:
    return {"tiers": [], "asking": 0, "rests": [], "local": "", **more}


def test_a_backlog_says_how_much_what_it_costs_and_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    rest = {"tier": 3, "until": "2026-01-05T12:00:00.000Z", "why": "cerebras asks to wait."}
    render_backlog.backlog(console(), backlog(tiers=[tier(), tier(tier=2, waiting=0)], rests=[rest]))
    told = " ".join(capsys.readouterr().out.split())
    assert "1,200 episodes for tier 3 (cloud), about 1,300,000 tokens, $0.13, done about 2026-01-07 09:30 UTC" in told
    assert "tier 3 until 2026-01-05 12:00 UTC: cerebras asks to wait." in told
    assert "tier 2" not in told


def test_where_no_higher_tier_is_set_up_the_reason_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    render_backlog.backlog(console(), backlog(asking=1, local="Ollama has no model that fits."))
    told = " ".join(capsys.readouterr().out.split())
    assert "1 episode would gain from a higher tier: Ollama has no model that fits." in told


def test_explain_tells_what_failed_and_what_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    run = {"tier": 1, "run": "r1", "model": "m", "outcome": "extracted", "counts": True}
    failed = {
        "tier": 2, "run": "r2", "model": "ollama:x", "outcome": "failed", "counts": False, "error": "Half a JSON.",
        "reason": "BadReply", "attempt": 1, "retry_at": "2026-01-06T10:00:00.000Z",
    }  # fmt: skip
    body = {"tier": 1, "run": "r1", "model": "m", "position": 1, "entities": [], "relations": [], "confidence": 1.0}
    episode = {
        "title": "T", "heading": [], "source": "vault", "locator": "a.md:1", "episode": "e", "text": "x",
        "extractions": [body], "failures": [{"position": 2}], "runs": [run, failed],
        "waits": [{"tier": 3, "until": None, "why": "Its turn has not come."}],
    }  # fmt: skip
    render_extract.explanation(console(), {"episodes": [episode]})
    told = capsys.readouterr().out
    assert "run r1 (this one counts)" in told
    assert "tier 2 failed: Half a JSON.  ollama:x" in told
    assert "BadReply, attempt 1; tried again after 2026-01-06 10:00 UTC" in told
    assert "waits for tier 3: Its turn has not come." in told


def test_a_misspelt_place_and_a_wrong_id_name_the_nearest(synced: Any) -> None:
    assert "Did you mean People/Nadia Okoro.md?" in " ".join(synced("explain", "People/Nadja Okoro.md").err.split())
    assert "Did you mean People/Nadia Okoro.md?" in " ".join(synced("explain", "Nadia Okorro.md").err.split())
    episode = synced("search", "Fennel", "--json").json["passages"][0]["episode"]
    wrong = episode[:-1] + ("0" if episode[-1] != "0" else "1")
    assert f"Did you mean {episode}?" in synced("explain", wrong).err
    assert "Did you mean" not in synced("explain", "zzzzzzzz").err


def test_extract_of_a_tier_that_is_not_there_says_why(line: Any) -> None:
    ran = line("extract", "--tier", "4", "Rosa Quint works at Acme")
    assert ran.code == 2
    assert "There is no tier 4 here. The mode is local-only" in ran.err
    assert line("extract", "--tier", "5", "x").code == 2


# init


def test_init_is_local_only_where_nobody_is_there_to_say_yes(line: Any) -> None:
    ran = line("init", "--json", CEREBRAS_API_KEY="csk-1")
    assert (ran.json["mode"], ran.json["found"]) == ("local-only", ["CEREBRAS_API_KEY"])
    settings = line("config", "show", "--json").json
    assert (settings["privacy"]["allow_cloud"], settings["cerebras"]["api_key"]) == (False, "")


@pytest.mark.parametrize(("answer", "mode"), [("y\n", "cloud-fallback"), ("n\n", "local-only"), ("\n", "local-only")])
def test_init_asks_at_a_terminal_before_it_lets_the_cloud_in(tmp_path: Path, answer: str, mode: str) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "CTXSYNC_HOME": str(tmp_path / "home"), "CEREBRAS_API_KEY": "csk-1", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-m", "ctxsync", "init", "--name", "R"],
        stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment,
    )  # fmt: skip
    asked, until = b"", time.monotonic() + 60
    while b"[y/N]" not in asked and time.monotonic() < until:
        if select.select([ours], [], [], 1)[0]:
            asked += os.read(ours, 4096)
    os.write(ours, answer.encode())
    out = process.communicate(timeout=60)[0].decode()
    os.close(theirs)
    os.close(ours)
    assert b"Cerebras" in asked
    from ctxsync.config import load_config
    from ctxsync.home import Home

    config = load_config(Home(tmp_path / "home"))
    assert (config.mode, config.extraction.mode, config.privacy.allow_cloud) == (mode, mode, mode != "local-only")
    assert config.cerebras.api_key == ("env:CEREBRAS_API_KEY" if mode != "local-only" else "")
    assert ("CEREBRAS_API_KEY is set and not used" in out) == (mode == "local-only")


def test_status_and_help_import_no_http_library_and_no_language_model(synced: Any) -> None:
    seen = "import sys; from ctxsync.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    seen += "print([name for name in ('httpx', 'spacy', 'presidio_analyzer') if name in sys.modules], file=sys.stderr)"
    for command in (["status"], ["--help"], ["explain", "Lyon.md"]):
        code = f"import sys; sys.argv = ['ctxsync', *{command!r}]; {seen}"
        environment = {**os.environ, "CTXSYNC_HOME": str(synced.home)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stderr.strip().endswith("[]"), command
