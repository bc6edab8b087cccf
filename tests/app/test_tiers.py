"""Which tiers settings ask for, and what doctor says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync import tiers
from ctxsync.app import App
from ctxsync.config import parse
from ctxsync.doctor_tiers import examine
from ctxsync.errors import ProviderRefused
from ctxsync.home import Home
from tests.engine.extraction.llm import scripted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPEN = "[privacy]\nallow_cloud = true\n"
KEYS = "[cerebras]\napi_key = 'env:CEREBRAS_KEY'\n[openrouter]\napi_key = 'env:ROUTER_KEY'\n"
MINE = "[[providers]]\nname = 'mine'\nurl = '{url}'\nmodel = 'm'\ntier = {tier}\n"


@pytest.fixture
def server() -> Iterator[scripted.Server]:
    with scripted.serving() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture(autouse=True)
def nothing_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "OLLAMA", "http://127.0.0.1:9")
    monkeypatch.setattr(tiers, "LLAMA_CPP", "http://127.0.0.1:9")


def steps(text: str, home: Home) -> list[tuple[int, int, bool, bool, str]]:
    """Return the steps that settings make: lowest and highest tier, every, cloud, and whom they ask."""
    found, _ = tiers.higher(parse(text), home)
    return [(s.lowest, s.highest, s.every, s.cloud, s.tier.model.partition("/")[0]) for s in found]


def test_without_a_local_server_and_keys_there_is_nothing_above_tier_1(home: Home) -> None:
    assert steps("", home) == []
    found, local = tiers.higher(parse(""), home)
    assert (found, local.why) == ([], "Neither Ollama nor a llama.cpp server answers on this machine.")


@pytest.mark.parametrize(
    ("mode", "privacy", "expected"),
    [
        ("local-only", OPEN, [(2, 2, False, False, "ollama:tiny")]),
        ("cloud-fallback", "", [(2, 2, False, False, "ollama:tiny")]),
        (
            "cloud-fallback",
            OPEN,
            [
                (2, 2, False, False, "ollama:tiny"),
                (3, 4, False, True, "cerebras:qwen-3-32b,openrouter:nousresearch"),
            ],
        ),
        ("cloud-quality", OPEN, [(3, 4, True, True, "cerebras:qwen-3-32b,openrouter:nousresearch")]),
        ("cloud-quality", "", [(2, 2, False, False, "ollama:tiny")]),
    ],
)
def test_the_mode_says_whom_the_chain_asks(home: Home, mode: str, privacy: str, expected: Any) -> None:
    local = "[local_llm]\nbackend = 'ollama'\nmodel = 'tiny'\n"
    assert steps(f"[extraction]\nmode = '{mode}'\n{privacy}{local}{KEYS}", home) == expected


def test_a_server_elsewhere_without_a_key_is_not_asked(home: Home) -> None:
    assert steps(f"[extraction]\nmode = 'cloud-fallback'\n{OPEN}", home) == []


def test_a_provider_on_this_machine_is_asked_in_local_only_and_one_elsewhere_is_not(home: Home) -> None:
    here, there = MINE.format(url="http://127.0.0.1:8000/v1", tier=2), MINE.format(url="https://x.example/v1", tier=2)
    assert steps(here, home) == [(2, 2, False, False, "mine:m")]
    assert steps(there, home) == []
    assert steps(f"[extraction]\nmode = 'cloud-fallback'\n{OPEN}{there}", home) == [(2, 2, False, True, "mine:m")]


def test_a_local_model_that_is_not_on_this_machine_counts_as_cloud(home: Home) -> None:
    far = "[local_llm]\nbackend = 'openai'\nurl = 'https://gpu.example/v1'\nmodel = 'm'\n"
    assert steps(far + OPEN, home) == []
    assert steps(f"[extraction]\nmode = 'cloud-fallback'\n{OPEN}{far}", home) == [(2, 2, False, True, "local:m")]


def test_backend_off_asks_nobody_here(home: Home, server: scripted.Server) -> None:
    assert steps(f"[local_llm]\nbackend = 'off'\nurl = '{server.url}'\nmodel = 'm'\n", home) == []


def test_ollama_is_found_and_the_model_chosen_by_free_memory(
    home: Home, server: scripted.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "OLLAMA", server.url)
    server.pages["/api/tags"] = {"models": [{"name": "qwen3:8b"}, {"name": "nuextract:2.0-2b"}]}
    for free, expected in (("3", []), ("6", ["ollama:nuextract:2.0-2b"]), ("12", ["ollama:qwen3:8b"])):
        monkeypatch.setenv("CTXSYNC_VRAM_OVERRIDE", free)
        assert [step[-1] for step in steps("", home)] == expected


def test_a_llama_cpp_server_is_found_and_another_program_on_its_port_is_not_taken_for_one(
    home: Home, server: scripted.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "LLAMA_CPP", server.url)
    server.pages["/props"] = {"hello": "world"}
    assert steps("", home) == []
    server.pages["/props"] = {"default_generation_settings": {"n_ctx": 4096}}
    server.pages["/v1/models"] = {"data": [{"id": "tiny.gguf"}]}
    assert [step[-1] for step in steps("", home)] == ["local:tiny.gguf"]


def test_a_key_that_is_not_there_refuses_by_name(home: Home) -> None:
    (provider,) = tiers.remote(parse("[cerebras]\napi_key = 'env:NO_SUCH_KEY'\n"))
    assert provider.api_key is not None
    with pytest.raises(ProviderRefused, match=r"The api_key of \[cerebras\] is to come from \$NO_SUCH_KEY"):
        provider.api_key()


def test_the_door_knows_who_i_am_so_that_my_own_names_stay_here(home: Home) -> None:
    mine = parse("[identity]\nnames = ['Zyx']\nemails = ['zyx@example.com']\nslack = ['T01:U02']\n")
    make = tiers.open_door(mine, home)._make_scrubber
    assert make is not None
    assert {value for value, _ in make()._own} == {"Zyx", "zyx@example.com", "T01", "U02"}


# doctor


def told(text: str, home: Home) -> dict[str, tuple[str, str]]:
    return {one.check: (one.level, one.message) for one in examine(App(home, parse(text)))}


def test_doctor_says_that_a_cloud_mode_is_forbidden(home: Home) -> None:
    level, message = told(f"[extraction]\nmode = 'cloud-quality'\n{KEYS}", home)["mode"]
    assert (level, "allow_cloud = false makes it local-only" in message) == ("warning", True)


def test_doctor_says_what_may_leave_and_whose_does_not(home: Home) -> None:
    source = "[[sources]]\nname = 'vault'\ntype = 'notes'\npath = '/v'\nallow_cloud = false\n"
    found = told(f"[extraction]\nmode = 'cloud-fallback'\n{OPEN}{source}", home)
    assert "but for those of vault may leave this machine, with pseudonyms" in found["mode"][1]
    assert found["cloud"][0] == "warning"


def test_doctor_finds_a_key_that_is_missing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEREBRAS_KEY", "csk-1")
    monkeypatch.delenv("ROUTER_KEY", raising=False)
    found = told(f"[extraction]\nmode = 'cloud-fallback'\n{OPEN}{KEYS}", home)
    assert (found["cloud cerebras"][0], found["cloud openrouter"][0]) == ("ok", "error")
    assert "30 requests a minute, 1,000,000 tokens a day" in found["cloud cerebras"][1]


def test_doctor_looks_whether_the_local_model_answers_and_is_installed(home: Home, server: scripted.Server) -> None:
    server.pages["/api/tags"] = {"models": [{"name": "qwen3:8b"}]}
    local = f"[local_llm]\nbackend = 'ollama'\nurl = '{server.url}'\nmodel = "
    assert told(f"{local}'qwen3:8b'\n", home)["local LLM"] == ("ok", f"qwen3:8b at {server.url} answers.")
    level, message = told(f"{local}'qwen3:4b'\n", home)["local LLM"]
    assert (level, "run `ollama pull qwen3:4b`" in message) == ("warning", True)
    assert told("[local_llm]\nbackend = 'ollama'\nmodel = 'x'\n", home)["local LLM"][0] == "warning"
    assert told("", home)["local LLM"][0] == "ok"


def test_doctor_recommends_a_model_for_the_memory_that_is_free(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXSYNC_VRAM_OVERRIDE", "10")
    assert "enough for nuextract:2.0-4b in Ollama" in told("", home)["local LLM"][1]
    monkeypatch.setenv("CTXSYNC_VRAM_OVERRIDE", "much")
    assert told("", home)["local LLM"][0] == "error"
