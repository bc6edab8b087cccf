"""`ctxsync rebuild --model` through the installed command: what it says, asks of servers, and leaves alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.test_tiers_end_to_end import FACT, Cloud, Desk, cloud, local
from tests.engine.door.server import said
from tests.engine.extraction.llm import scripted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Line

__all__ = ["cloud", "local"]  # fixtures

# Passes of `sync` ask no higher tier: what is asked, the trial asked.
QUIET = "[extraction]\nseconds_per_pass = 0\n"
OFF = "[local_llm]\nbackend = 'off'\n"
NEWS: dict[str, Any] = {
    **FACT,
    "entities": [*FACT["entities"], {"id": "e3", "name": "Lisbon", "type": "Place"}],
    "relations": [
        *FACT["relations"],
        {
            "head": "e2", "relation": "located_at", "tail": "e3", "phrase": "is based in", "quote": "out of Lisbon",
            "confidence": 0.9, "valid_from": None, "valid_to": None,
        },
    ],
}  # fmt: skip
TEXT = "Rosa Quint works at Acme. They ship out of Lisbon."


def state(desk: Desk) -> str:
    found: str = desk.json("status")["state_hash"]
    return found


@pytest.mark.slow
def test_a_local_model_is_tried_compared_adopted_and_taken_back(tmp_path: Path, local: scripted.Server) -> None:
    local.answers(scripted.chat(json.dumps(NEWS)))
    desk = Desk(tmp_path, QUIET + f'[local_llm]\nbackend = "openai"\nurl = "{local.url}"\nmodel = "tiny"\n')
    desk.note("one", TEXT)
    desk.json("sync")
    before = state(desk)
    told = desk.json("rebuild", "--model", "local", "--diff")
    assert (told["read"], told["held"], told["left"], told["adopted"]) == (1, 1, 0, None)
    assert told["run"].startswith("trial:")
    gained = [(one["head"], one["relation"], one["tail"]) for one in told["diff"]["gained"]]
    assert ("Acme", "located_at", "Lisbon") in gained
    assert state(desk) == before
    assert desk.outcome("one") == ("1 extracted counts", "2 extracted")
    asked = len(local.seen)
    shown = desk.run("rebuild", "--model", "tiny", "--diff")
    assert len(local.seen) == asked
    assert "+ Acme is based in Lisbon" in shown
    assert "“out of Lisbon”" in shown
    assert "Nothing counts yet." in shown
    adopted = desk.json("rebuild", "--model", "local", "--adopt")["adopted"]
    assert (adopted["run"], adopted["changed"]) == (told["run"], True)
    assert state(desk) == adopted["state_hash"] != before
    assert desk.outcome("one") == ("1 extracted", "2 extracted counts")
    assert desk.json("rebuild")["state_hash"] == adopted["state_hash"]
    assert desk.json("verify", "--deep")["graph"] == "agrees"
    back = desk.json("rebuild", "--adopt-default")
    assert (back["run"], back["state_hash"]) == ("", before)
    assert desk.json("rebuild")["state_hash"] == before


@pytest.mark.slow
def test_the_built_in_extractor_can_be_tried_like_any_other(tmp_path: Path) -> None:
    desk = Desk(tmp_path, QUIET + OFF)
    desk.note("one", TEXT)
    desk.json("sync")
    told = desk.json("rebuild", "--model", "builtin", "--diff", "--source", "vault")
    assert (told["read"], told["tokens"], told["cloud"], told["source"]) == (1, 0, False, "vault")
    assert {key: told["diff"]["counts"][key] for key in ("gained", "lost", "changed")} == {
        "gained": 0, "lost": 0, "changed": 0,
    }  # fmt: skip
    assert "Nothing would change" in desk.run("rebuild", "--model", "builtin", "--diff")


@pytest.mark.slow
def test_a_cloud_model_is_tried_by_its_server_s_name_after_an_estimate(tmp_path: Path, cloud: Cloud) -> None:
    cloud.answers(cerebras=said("{}"), deepinfra=said(json.dumps(NEWS)))
    allowed = QUIET + "[privacy]\nallow_cloud = true\npii_scrubbing = false\n"
    desk = Desk(tmp_path, allowed + cloud.settings, **cloud.environment)
    desk.note("one", TEXT)
    desk.json("sync")
    assert cloud.server.seen == []
    told = desk.json("rebuild", "--model", "deepinfra", "--diff")
    assert (told["tier"], told["cloud"], told["read"]) == (4, True, 1)
    assert told["estimate"]["tokens"] > 1_000
    assert told["estimate"]["cost_usd"] > 0
    assert cloud.paths() == ["deepinfra"]
    assert told["cost_usd"] == pytest.approx((100 * 0.07 + 20 * 0.34) / 1e6, abs=1e-6)
    assert len(desk.json("egress")["calls"]) == 1


@pytest.mark.slow
def test_with_the_cloud_closed_naming_a_server_sends_nothing(tmp_path: Path, cloud: Cloud) -> None:
    desk = Desk(tmp_path, QUIET + cloud.settings, **cloud.environment)
    desk.note("one", TEXT)
    desk.json("sync")
    desk.run("rebuild", "--model", "cerebras", code=1)
    assert cloud.server.seen == []


@pytest.mark.slow
def test_a_server_that_is_gone_stops_the_trial_and_adopts_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, QUIET + '[local_llm]\nbackend = "openai"\nurl = "http://127.0.0.1:9"\nmodel = "tiny"\n')
    for name in ("one", "two", "three"):
        desk.note(name, TEXT)
    desk.json("sync")
    before = state(desk)
    desk.run("rebuild", "--model", "local", "--adopt", code=1)
    assert state(desk) == before


def test_an_unknown_model_is_told_all_that_there_are(synced: Line) -> None:
    ran = synced("rebuild", "--model", "gpt-9")
    assert ran.code == 2
    told = " ".join(ran.err.split())
    for part in (
        'There is no model "gpt-9" here.',
        "builtin",
        "gliner2 (It is not installed)",
        "[cerebras] has no api_key",
    ):
        assert part in told
    assert "local (No local model" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--diff",), "Name a model"),
        (("--adopt",), "Name a model"),
        (("--source", "vault"), "Name a model"),
        (("--model", "builtin", "--adopt-default"), "names no model"),
        (("--model", "builtin", "--source", "nowhere"), 'Nothing is stored of a source "nowhere"'),
    ],
)
def test_options_that_do_not_go_together_are_refused(synced: Line, arguments: tuple[str, ...], said: str) -> None:
    ran = synced("rebuild", *arguments)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())


def test_gliner_and_a_server_without_a_key_say_what_is_missing(synced: Line) -> None:
    ran = synced("rebuild", "--model", "gliner2")
    assert ran.code == 1
    assert "ctxsync models list" in ran.err
    ran = synced("rebuild", "--model", "cerebras")
    assert ran.code == 1
    assert "[cerebras] has no api_key" in " ".join(ran.err.split())
