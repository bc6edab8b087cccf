"""What keeps text on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ctxsync.engine.door.door import Door
from ctxsync.engine.door.ledger import Ledger
from ctxsync.engine.door.provider import Provider, is_loopback
from ctxsync.errors import DoorClosed, ProviderDown, ProviderRefused
from tests.engine.door.conftest import at, call
from tests.engine.door.server import Told

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.door.server import ModelServer


@pytest.mark.parametrize("scrub", [True, False])
def test_with_allow_cloud_off_nothing_is_sent_whatever_else_is_configured(
    cloud: ModelServer, tmp_path: Path, scrub: bool
) -> None:
    closed = Door(allow_cloud=False, scrub=scrub, ledger=Ledger(tmp_path / "egress.db"))

    with closed, pytest.raises(DoorClosed, match=r"allow_cloud = true under \[privacy\]"):
        closed.send(at(cloud), call(cloud_allowed=True))

    assert cloud.seen == []
    assert not (tmp_path / "egress.db").exists()


def test_a_source_that_keeps_its_text_is_asked_first(cloud: ModelServer, door: Door, provider: Provider) -> None:
    with pytest.raises(DoorClosed, match='the source "vault" keeps its text'):
        door.send(provider, call(cloud_allowed=False))

    assert cloud.seen == []


def test_the_key_is_not_even_resolved_for_a_call_that_is_not_made(provider: Provider, closed: Door) -> None:
    def asked() -> str:
        raise AssertionError

    with pytest.raises(DoorClosed):
        closed.send(replace(provider, api_key=asked), call())


def test_the_cloud_is_not_spoken_to_without_tls(cloud: ModelServer, door: Door, provider: Provider) -> None:
    with pytest.raises(DoorClosed, match="not one of https"):
        door.send(replace(provider, url=provider.url.replace("https", "http")), call())

    assert cloud.seen == []


def test_a_server_on_this_machine_is_always_asked_and_gets_the_text_as_it_is(
    local: ModelServer, closed: Door, tmp_path: Path
) -> None:
    reply = closed.send(at(local, api_key=None), call("Rosa's password = hunter2", cloud_allowed=False))

    assert reply.body["choices"][0]["message"]["content"] == "fine"
    assert local.seen[0].text == "Read.\nRosa's password = hunter2"
    assert not (tmp_path / "egress.db").exists()


def test_proxies_of_the_environment_see_nothing_that_goes_to_this_machine(
    local: ModelServer, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)

    assert door.send(at(local), call()).status == 200


def test_only_this_machine_is_asked_for_lists(local: ModelServer, door: Door, provider: Provider) -> None:
    assert door.get(at(local), "/v1/models")["usage"]["prompt_tokens"] == 100
    with pytest.raises(DoorClosed):
        door.get(provider, "/v1/models")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.8.7", "::1", "localhost"])
def test_loopback_is_a_literal(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost.example",
        "http://localhost.",
        "http://127.0.0.1.nip.io",
        "http://0x7f.1",
        "http://2130706433",
        "http://127.1",
        "http://0.0.0.0",
        "http://[::ffff:127.0.0.1]",
        "http://127.0.0.1@evil.example",
        "http://evil.example\\@127.0.0.1",
        "http://127.0.0.1 .evil.example",
        "http://evil.example#@127.0.0.1",
        "http://evil.example?127.0.0.1",
        "http://１２７.0.0.1",  # noqa: RUF001
        "ftp://127.0.0.1",
        "127.0.0.1",
        "",
        "http://192.168.0.5:11434",
        "http://ollama.lan",
    ],
)
def test_nothing_else_is_this_machine(url: str) -> None:
    assert not Provider("x", url, "m").local


def test_a_redirect_is_not_followed(cloud: ModelServer, door: Door, provider: Provider, local: ModelServer) -> None:
    cloud.script = [Told(307, "", {"Location": f"{local.url}/steal"})]

    with pytest.raises(ProviderRefused, match="not followed"):
        door.send(provider, call())

    assert local.seen == []


@pytest.mark.parametrize(
    ("base", "path", "whole"),
    [
        ("https://api.cerebras.ai/v1", "/v1/chat/completions", "https://api.cerebras.ai/v1/chat/completions"),
        (
            "https://api.deepinfra.com/v1/openai/",
            "/v1/chat/completions",
            "https://api.deepinfra.com/v1/openai/chat/completions",
        ),
        ("https://openrouter.ai/api/v1", "/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
        ("http://127.0.0.1:11434", "/api/chat", "http://127.0.0.1:11434/api/chat"),
        ("http://[::1]:8080/", "/v1/models", "http://[::1]:8080/v1/models"),
    ],
)
def test_a_base_with_a_path_is_the_root_of_its_api(base: str, path: str, whole: str) -> None:
    assert Provider("x", base, "m").at(path) == whole


def test_a_certificate_of_nobody_known_is_refused(
    cloud: ModelServer, door: Door, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")

    with pytest.raises(ProviderDown, match="certificate verify failed"):
        door.send(provider, call())

    assert cloud.seen == []
