"""A cloud server under a name of its own, and a door to it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.door.door import Door
from ctxsync.engine.door.ledger import Ledger
from ctxsync.engine.door.provider import Call, Provider
from tests.engine.door.server import HOST, Clock, ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "csk-not-a-real-key-000000"


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server that is `llm.example` for this process: the name is asked for, and leads to loopback."""
    resolve = socket.getaddrinfo

    def resolved(host: Any, *rest: Any, **more: Any) -> Any:
        return resolve("127.0.0.1" if host in (HOST, HOST.encode()) else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer(tmp_path) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        yield server


@pytest.fixture
def local() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "egress.db")
    yield made
    made.close()


@pytest.fixture
def door(ledger: Ledger, clock: Clock) -> Iterator[Door]:
    """A door that lets text out; names stay in it, since what finds them takes seconds to load."""
    with Door(allow_cloud=True, scrub=False, ledger=ledger, clock=clock) as made:
        yield made


@pytest.fixture
def closed(ledger: Ledger) -> Iterator[Door]:
    """A door as it is if nothing is configured."""
    with Door(allow_cloud=False, scrub=True, ledger=ledger) as made:
        yield made


@pytest.fixture
def provider(cloud: ModelServer) -> Provider:
    return at(cloud)


def at(server: ModelServer, **more: Any) -> Provider:
    settings: dict[str, Any] = {"name": "cerebras", "url": server.url, "model": "big", "api_key": lambda: KEY}
    return Provider(**settings | {"timeout": 5.0} | more)


def call(text: str = "Rosa works at Acme.", **more: Any) -> Call:
    body = {"messages": [{"role": "system", "content": "Read."}, {"role": "user", "content": text}], "max_tokens": 50}
    return Call("/v1/chat/completions", body | more.pop("body", {}), episode="e1", source="vault", **more)
