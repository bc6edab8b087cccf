"""Every higher tier through the installed command and its settings, against live servers that a test scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.tunnel import tunnel
from tests.engine.door.server import HOST, ModelServer, Seen, Told, said
from tests.engine.extraction.llm import scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CTXSYNC = Path(sys.executable).with_name("ctxsync")
ALL_ASK = "\n[gate]\nentities_per_ten_words = 10.0\n"
FACT: dict[str, Any] = {
    "entities": [{"id": "e1", "name": "Rosa Quint", "type": "Person"}, {"id": "e2", "name": "Acme", "type": "Organization"}],
    "relations": [
        {
            "head": "e1", "relation": "part_of", "tail": "e2", "phrase": "works at", "quote": "Rosa Quint works at Acme",
            "confidence": 0.9, "valid_from": None, "valid_to": None,
        }
    ],
    "invalidates": [], "suggestions": [], "confidence": 0.9,
}  # fmt: skip
WRONG_ID = {**FACT, "relations": [{**FACT["relations"][0], "tail": "e9"}], "invalidates": ["F77"]}
SCHEMA = {"type": "object", "properties": {"entities": {"type": "array"}, "relations": {"type": "array"}}}


class Desk:
    """A home and a vault; each command is a process of its own."""

    def __init__(self, root: Path, settings: str, **environment: str) -> None:
        self.vault, self.home = root / "vault", root / "home"
        self.vault.mkdir()
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.environment = {**keep, "CTXSYNC_HOME": str(self.home), "GIT_CONFIG_GLOBAL": "/dev/null", **environment}
        self.run("init", "--name", "Robin Vale", "--email", "robin@example.com")
        self.run("source", "add", "notes", str(self.vault), "--name", "vault")
        text = (self.home / "config.toml").read_text()
        text = text[: text.index("[extraction]")] + text[text.index("[[sources]]\nname") :]
        (self.home / "config.toml").write_text(text + ALL_ASK + settings)

    def note(self, name: str, text: str = "Rosa Quint works at Acme.") -> None:
        (self.vault / f"{name}.md").write_text(f"{text} This is the note called {name}.\n")

    def run(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [CTXSYNC, *arguments], env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code))

    def explained(self, name: str) -> Any:
        (episode,) = self.json("explain", f"{name}.md")["episodes"]
        return episode

    def outcome(self, name: str) -> tuple[str, ...]:
        """Return what became of a note: of each run its tier and outcome, and which counts."""
        return tuple(
            f"{run['tier']} {run.get('reason') or run['outcome']}" + (" counts" if run["counts"] else "")
            for run in self.explained(name)["runs"]
        )


@pytest.fixture
def local() -> Iterator[scripted.Server]:
    with scripted.serving() as server:
        yield server


def by_note(answers: dict[str, scripted.Answer]) -> Callable[[Any], scripted.Answer]:
    """Answer by which note is asked about."""

    def answer(body: Any) -> scripted.Answer:
        text = body["messages"][-1]["content"]
        return next(answers[name] for name in answers if f"called {name}." in text)

    return answer


@pytest.mark.slow
def test_a_local_server_that_answers_badly_in_every_way_fails_by_name_and_keeps_what_tier_1_found(
    tmp_path: Path, local: scripted.Server
) -> None:
    answers = {
        "fine": scripted.chat(json.dumps(FACT)),
        "html": scripted.Answer(200, b"<html><body>Bad gateway</body></html>", {"Content-Type": "text/html"}),
        "half": scripted.chat(json.dumps(FACT)[:40]),
        "schema": scripted.chat(json.dumps(SCHEMA)),
        "wrong": scripted.chat(json.dumps(WRONG_ID)),
    }
    local.answers(by_note(answers))
    desk = Desk(
        tmp_path, f'[local_llm]\nbackend = "openai"\nurl = "{local.url}"\nmodel = "tiny"\ntimeout = 1.0\n'
    )  # fmt: skip
    for name in answers:
        desk.note(name)
    told = desk.json("sync")
    assert (told["extracted"], told["escalated"], told["escalation_failed"]) == (5, 2, 3)
    for name in ("html", "half", "schema"):
        assert desk.outcome(name) == ("1 extracted counts", "2 BadReply"), name
        (failure,) = desk.explained(name)["failures"]
        assert "tiny at local gave no answer that can be used" in failure["error"]
    assert desk.outcome("fine") == ("1 extracted", "2 extracted counts")
    run = desk.explained("fine")["runs"][1]
    assert (run["tokens_in"], run["tokens_out"], run["cost_usd"]) == (600, 200, 0.0)
    assert run["why"][0].startswith("asks for a higher tier: ")
    assert "entities in ten words, fewer than 10" in run["why"][0]
    # A wrong id: what hangs on it is left out, and counted.
    assert desk.outcome("wrong") == ("1 extracted", "2 extracted counts")
    assert {"llm:dropped:dangling=1", "llm:dropped:unknown-fact=1"} <= set(desk.explained("wrong")["runs"][1]["gate"])
    # Nothing is asked twice: not what was read, nor, before a day is over, what failed.
    asked = len(local.seen)
    assert desk.json("sync")["escalated"] == 0
    assert len(local.seen) == asked
    assert "tier 2 failed" in desk.run("explain", "half.md")
    shares = desk.json("status")["tier_shares"]
    assert (shares["1"]["episodes"], shares["2"]["episodes"]) == (3, 2)


@pytest.mark.slow
def test_a_local_server_that_hangs_limits_or_is_gone(tmp_path: Path, local: scripted.Server) -> None:
    local.answers(scripted.Answer(hangs=True))
    desk = Desk(tmp_path, f'[local_llm]\nbackend = "ollama"\nurl = "{local.url}"\nmodel = "tiny"\ntimeout = 0.5\n')
    desk.note("slow")
    assert desk.json("sync")["escalation_failed"] == 1
    assert desk.outcome("slow") == ("1 extracted counts", "2 ProviderDown")
    run = desk.explained("slow")["runs"][1]
    assert (run["attempt"], run["retry_at"] > run["recorded_at"]) == (1, True)
    # 429 is no failure: the episode waits.
    local.answers(scripted.Answer(429, b"{}", {"Retry-After": "600"}))
    desk.note("limited")
    told = desk.json("sync")
    assert (told["escalated"], told["escalation_failed"], len(told["rests"])) == (0, 0, 1)
    assert desk.outcome("limited") == ("1 extracted counts",)
    (waits,) = desk.explained("limited")["waits"]
    assert (waits["tier"], waits["until"]) == (2, told["rests"][0]["until"])
    assert "waits for tier 2" in desk.run("explain", "limited.md")
    backlog = desk.json("status")["backlog"]
    assert (backlog["tiers"][0]["waiting"], backlog["rests"][0]["tier"]) == (1, 2)
    assert "rests" in desk.run("status")
    asked = len(local.seen)
    desk.json("sync")
    assert len(local.seen) == asked


@pytest.mark.slow
def test_extract_asks_the_tier_it_is_told_to(tmp_path: Path, local: scripted.Server) -> None:
    local.answers(scripted.ollama(json.dumps(FACT)))
    desk = Desk(tmp_path, f'[local_llm]\nbackend = "ollama"\nurl = "{local.url}"\nmodel = "tiny"\ntimeout = 5.0\n')
    told = desk.json("extract", "--tier", "2", "Rosa Quint works at Acme.")
    assert (told["tier"], told["tokens_in"], told["tokens_out"]) == (2, 5, 7)
    assert told["model"].endswith("ollama:tiny")
    local.answers(scripted.ollama("no JSON"))
    told = desk.json("extract", "--tier", "2", "Rosa Quint works at Acme.", code=1)
    assert told["tier"] == 1
    assert "gave no answer that can be used" in told["failures"][0]
    desk.run("extract", "--tier", "3", "Rosa Quint works at Acme.", code=2)


# Servers elsewhere


class Cloud:
    """Cerebras and DeepInfra under a name that is not this machine's."""

    def __init__(self, server: ModelServer, environment: dict[str, str]) -> None:
        self.server, self.environment = server, environment
        base = f"https://{HOST}:{server.port}"
        self.settings = (
            "[local_llm]\nbackend = 'off'\n"
            f"[cerebras]\napi_key = 'env:CEREBRAS_API_KEY'\nurl = '{base}/cerebras/v1'\n"
            f"[deepinfra]\napi_key = 'env:DEEPINFRA_API_KEY'\nurl = '{base}/deepinfra/v1'\n"
        )

    def answers(self, *, cerebras: Told, deepinfra: Told) -> None:
        def answer(seen: Seen) -> Told:
            return cerebras if seen.path.startswith("/cerebras/") else deepinfra

        self.server.script = [answer]

    def paths(self) -> list[str]:
        return [seen.path.split("/")[1] for seen in self.server.seen]


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer(tmp_path))
        proxy = stack.enter_context(tunnel(server.port, []))
        keys = {"CEREBRAS_API_KEY": "csk-000000000000", "DEEPINFRA_API_KEY": "di-000000000000"}
        yield Cloud(server, {"HTTPS_PROXY": proxy, "SSL_CERT_FILE": str(tmp_path / "ca.pem"), **keys})


FALLBACK = "[extraction]\nmode = 'cloud-fallback'\n[privacy]\nallow_cloud = true\n"
QUALITY = FALLBACK.replace("cloud-fallback", "cloud-quality")


@pytest.mark.slow
def test_tier_3_reads_what_asks_and_tier_4_what_tier_3_limits(tmp_path: Path, cloud: Cloud) -> None:
    fine = said(json.dumps(FACT))
    cloud.answers(cerebras=fine, deepinfra=fine)
    desk = Desk(tmp_path, FALLBACK + "pii_scrubbing = false\n" + cloud.settings, **cloud.environment)
    desk.note("first")
    assert desk.json("sync")["escalated"] == 1
    assert desk.outcome("first") == ("1 extracted", "3 extracted counts")
    assert cloud.paths() == ["cerebras"]
    assert cloud.server.seen[0].body["model"] == "qwen-3-32b"
    cloud.answers(cerebras=Told(429, "{}", {"Retry-After": "3600"}), deepinfra=fine)
    desk.note("second")
    assert desk.json("sync")["escalated"] == 1
    assert desk.outcome("second") == ("1 extracted", "4 extracted counts")
    run = desk.explained("second")["runs"][1]
    assert run["cost_usd"] == pytest.approx((100 * 0.07 + 20 * 0.34) / 1e6)
    status = desk.json("status")
    assert (status["mode"], status["cost_usd"]) == ("cloud-fallback", pytest.approx(run["cost_usd"], abs=1e-6))


@pytest.mark.slow
def test_cloud_quality_reads_every_episode_without_the_names_in_it(tmp_path: Path, cloud: Cloud) -> None:
    fine = said(json.dumps({**FACT, "entities": [], "relations": []}))
    cloud.answers(cerebras=fine, deepinfra=fine)
    desk = Desk(tmp_path, QUALITY + cloud.settings, **cloud.environment)
    (desk.home / "config.toml").write_text((desk.home / "config.toml").read_text().replace("= 10.0", "= 0.0"))
    desk.note("every", "Rosa Quint works at Acme. So says Robin Vale, robin@example.com.")
    assert desk.json("sync")["escalated"] == 1
    assert desk.outcome("every") == ("1 extracted", "3 extracted counts")
    for name in ("Rosa Quint", "Robin Vale", "robin@example.com"):
        assert name not in cloud.server.seen[0].text
    assert "the note called every" in cloud.server.seen[0].text


@pytest.mark.slow
def test_nothing_goes_to_the_cloud_unless_it_is_allowed(tmp_path: Path, cloud: Cloud) -> None:
    closed = QUALITY.replace("allow_cloud = true", "allow_cloud = false")
    desk = Desk(tmp_path, closed + cloud.settings, **cloud.environment)
    desk.note("kept")
    assert desk.json("sync")["escalated"] == 0
    desk.run("extract", "--tier", "3", "Rosa Quint works at Acme.", code=2)
    assert "cloud-quality is configured" in desk.run("status")
    levels = {finding["check"]: finding for finding in desk.json("doctor")["findings"]}
    assert "never asked: local-only" in levels["cloud cerebras"]["message"]
    assert levels["mode"]["level"] == "warning"
    assert cloud.server.seen == []


@pytest.mark.slow
def test_what_a_closed_source_says_leaves_in_no_other_texts_company(tmp_path: Path, cloud: Cloud) -> None:
    fine = said(json.dumps({**FACT, "entities": [], "relations": []}))
    cloud.answers(cerebras=fine, deepinfra=fine)
    diary = tmp_path / "diary"
    diary.mkdir()
    (diary / "secret.md").write_text("Lia Brandt works at Acme.\n")
    other = f"[[sources]]\nname = 'diary'\ntype = 'notes'\npath = '{diary}'\nallow_cloud = false\n"
    settings = QUALITY + "pii_scrubbing = false\n" + cloud.settings + other
    desk = Desk(tmp_path, settings, **cloud.environment)
    desk.note("open")
    assert desk.json("sync")["escalated"] == 1
    desk.note("next", "Tom Adler works at Acme.")
    assert desk.json("sync")["escalated"] == 1
    texts = [seen.text for seen in cloud.server.seen]
    assert "Rosa Quint part_of Acme" in texts[1]
    assert not any("Lia Brandt" in text for text in texts)
