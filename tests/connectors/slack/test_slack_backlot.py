"""A second opinion: an emulator of Slack's Web API that its own authors measured against Slack. It speaks no Socket Mode.

It is a package of the `dev` extra; where it is not installed, these are skipped.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Change, Json, Observed, Options, Sighted, Stream, Unsighted
from ctxsync.connectors.slack import SlackConnector
from ctxsync.connectors.slack.api import Api, Timing
from tests.connectors.slack.server import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(find_spec("backlot") is None, reason="backlot is not installed (the dev extra has it)")

SAID = 41  # messages and replies in the corpus that comes with it
TOKEN = "admin-service-token"
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("backlot")
    command = [sys.executable, "-m", "backlot"]
    environment = {**os.environ, "BACKLOT_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "HOME": str(data)}
    at = ["--data-dir", str(data)]
    subprocess.run([*command, "import", "--bundled", *at], env=environment, check=True, capture_output=True)
    port = free_port()
    with subprocess.Popen(
        [*command, "serve", *at, "--port", str(port), "--disable-telemetry"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        assert any("Uvicorn running" in line for line in server.stderr), "backlot ended"
        yield f"http://127.0.0.1:{port}/slack/api/"
        server.terminate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Team:
    """Reads the emulator again and again."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.now = int(time.time() * 1000)
        clock = Clock()
        self.timing = Timing(clock, clock.sleep)
        self.cursors: dict[str, dict[str, Json]] = {}

    def sync(self, batch: int = 200) -> list[Change]:
        settings: dict[str, Json] = {"token": "env:SLACK_TOKEN", "api_url": self.url}
        connector = SlackConnector("team", settings, Options(now=self.now), batch=batch, timing=self.timing)
        changes: list[Change] = []
        for stream in connector.discover():
            changes += self.read(connector, stream)
        return changes

    def read(self, connector: SlackConnector, stream: Stream) -> list[Change]:
        changes: list[Change] = []
        cursor = self.cursors.setdefault(stream.name, {})
        for found in connector.read(stream, dict(cursor)):
            changes += found.changes
            cursor.update(found.cursor)
            for key in [key for key, value in found.cursor.items() if value is None]:
                cursor.pop(key)
        return changes


@pytest.fixture
def team(url: str, monkeypatch: pytest.MonkeyPatch) -> Team:
    monkeypatch.setenv("SLACK_TOKEN", TOKEN)
    return Team(url)


@pytest.mark.parametrize("batch", [1, 3, 200])
def test_everything_is_held_once_whatever_the_pages(team: Team, batch: int) -> None:
    changes = team.sync(batch)
    observed = [change.item for change in changes if isinstance(change, Observed)]
    messages = {item.id: item for item in observed if item.kind == "slack"}
    assert len(messages) == SAID
    assert len(observed) == SAID + 1
    assert sum(isinstance(change, Sighted) for change in changes) == SAID + 1
    assert all(item.sections[0].author and item.sections[0].author.name for item in messages.values())
    threads = [item.sections[0].thread for item in messages.values()]
    assert len(set(threads)) < len(threads)
    assert team.sync(batch) == []


def test_what_is_said_edited_answered_and_deleted_is_followed(team: Team) -> None:
    client = Api("team", TOKEN, team.url, team.timing)
    (room,) = [one for one in client.call("conversations.list")["channels"] if one["name"] == "general"]

    def post(text: str, **more: Any) -> str:
        return str(client.call("chat.postMessage", channel=room["id"], text=text, **more)["ts"])

    team.sync()
    first, second = post("first words"), post("other words")
    answer = post("an answer", thread_ts=first)
    team.now = int(time.time() * 1000)
    assert said(team.sync()) == {first: "first words", second: "other words", answer: "an answer"}
    client.call("chat.update", channel=room["id"], ts=second, text="better words")
    assert said(team.sync()) == {second: "better words"}
    client.call("chat.delete", channel=room["id"], ts=second)
    assert [change.item.rpartition("/")[2] for change in team.sync() if isinstance(change, Unsighted)] == [second]
    team.now += 40 * DAY_MS
    late = post("after forty days", thread_ts=first)
    assert said(team.sync()) == {late: "after forty days"}
    assert team.sync() == []


def said(changes: list[Change]) -> dict[str, str]:
    return {
        change.item.id.rpartition("/")[2]: change.item.sections[0].text
        for change in changes
        if isinstance(change, Observed)
    }
