"""Socket Mode with slack-sdk's own client: events wake, nothing more; every silence ends with reading everything."""

from __future__ import annotations

import time
from contextlib import contextmanager
from queue import Empty, Queue
from typing import TYPE_CHECKING

import pytest

from ctxsync.connectors.base import Options, Stream
from ctxsync.connectors.slack import SlackConnector
from ctxsync.connectors.slack.live import Pace
from ctxsync.errors import AuthError
from tests.connectors.slack.conftest import DAY
from tests.connectors.slack.server import APP_TOKEN, BOT_TOKEN, NOW, Workspace, error, limited
from tests.connectors.slack.socket_server import SocketServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.connectors.slack.conftest import Reader
    from tests.connectors.slack.server import Server

ALL = Stream("team", ".directory")
LONG = 60.0  # seconds: longer than any of these tests
WAIT = 10.0  # seconds: what a test waits at most


@pytest.fixture
def socket(workspace: Workspace) -> Iterator[SocketServer]:
    with SocketServer() as running:
        workspace.socket_url = running.url
        yield running


class Watching:
    """A watch that runs, and the wakes that came."""

    def __init__(self, connector: SlackConnector) -> None:
        self.connector = connector
        self.wakes: Queue[Stream] = Queue()

    def next(self) -> Stream:
        return self.wakes.get(timeout=WAIT)

    def until(self, stream: Stream) -> None:
        """Wait for a wake of a stream; others may come before."""
        while self.next() != stream:
            pass


@contextmanager
def watching(
    server: Server, monkeypatch: pytest.MonkeyPatch, *, app: str = APP_TOKEN, **pace: float
) -> Iterator[Watching]:
    monkeypatch.setenv("SLACK_APP_TOKEN", app)
    settings = {"token": "env:SLACK_TOKEN", "api_url": server.url} | (
        {"app_token": "env:SLACK_APP_TOKEN"} if app else {}
    )
    usual = {"poll": LONG, "safety": LONG, "silence": LONG, "check": 1.0, "backoff": 0.05}
    watch = Watching(SlackConnector("team", settings, Options(), pace=Pace(**usual | pace)))
    with watch.connector.watch(watch.wakes.put):
        yield watch


def message(channel: str = "C01", text: str = "hello") -> dict[str, str]:
    return {"type": "message", "channel": channel, "user": "U01", "text": text, "ts": "1749999999.000100"}


def test_an_event_is_acknowledged_at_once_and_wakes_its_channel(
    server: Server, socket: SocketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(server, monkeypatch) as watch:
        assert watch.next() == ALL
        assert watch.connector.degraded == ""
        begun = time.monotonic()
        sent = socket.envelope(message("C07"))
        assert socket.acknowledged.get(timeout=WAIT) == sent
        assert time.monotonic() - begun < 3
        assert watch.next() == Stream("team", "C07")
        socket.envelope({"type": "channel_created", "channel": {"id": "C08", "name": "new"}})
        assert watch.next() == ALL
        socket.envelope({"type": "user_change"})
        assert watch.next() == ALL


def test_while_events_come_a_pass_asks_only_for_the_channels_that_they_name(
    server: Server, socket: SocketServer, workspace: Workspace, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2, 7):
        workspace.room(f"C0{number}", f"room-{number}")
    workspace.room("G01", "council", kind="private_channel")
    with watching(server, monkeypatch) as watch:
        watch.until(ALL)
        reader.sync()
        said = workspace.post("C03")
        socket.envelope(message("C03") | {"channel_type": "channel"})
        watch.until(Stream("team", "C03"))
        workspace.calls.clear()
        assert [stream.name for stream in reader.connector().discover()][1] == "C03"
        reader.sync()
        assert reader.held("C03") == [said]
        # Of private channels no event has come: the app may not be subscribed to theirs.
        assert sorted(given["channel"] for _, given in workspace.calls) == ["C03", "G01"]
        workspace.calls.clear()
        reader.sync(retry_quarantined=True)
        assert workspace.count("conversations.history") == 7
        # A pass that failed, a person who came, a connection that went: then it is asked again.
        socket.envelope(message("C03") | {"channel_type": "channel"})
        watch.until(Stream("team", "C03"))
        workspace.fail("conversations.history", limited(900))
        assert reader.sync().keys() == {"C03", "G01"}
        workspace.user("U03", "Tomas Brandt")
        workspace.calls.clear()
        reader.sync()
        assert {"C03", "G01"} == {given["channel"] for method, given in workspace.calls if "history" in method}
        assert "slack:T0HARBOUR:U03" in str(reader.items["slack-directory:T0HARBOUR"].attributes)
        socket.drop()
        watch.until(ALL)
        workspace.calls.clear()
        reader.sync()
        assert workspace.count("conversations.history") == 7
    workspace.calls.clear()
    reader.sync()
    assert workspace.count("conversations.history") == 7


def test_a_reply_to_an_old_thread_is_found_as_soon_as_an_event_names_it(
    server: Server, socket: SocketServer, workspace: Workspace, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = workspace.post("C01", at=NOW - 300 * DAY)
    first = workspace.post("C01", thread_ts=parent, at=NOW - 299 * DAY)
    workspace.post("C01")
    with watching(server, monkeypatch) as watch:
        watch.until(ALL)
        reader.sync()
        answer = workspace.post("C01", "after all this time", thread_ts=parent)
        socket.envelope(message() | {"channel_type": "channel", "thread_ts": parent})
        watch.until(Stream("team", "C01"))
        reader.sync()
        assert reader.text(answer) == "after all this time"
        workspace.delete("C01", first)
        gone = {"type": "message", "subtype": "message_deleted", "channel": "C01", "channel_type": "channel"}
        socket.envelope(gone | {"previous_message": {"ts": first, "thread_ts": parent}})
        watch.until(Stream("team", "C01"))
        reader.sync()
        assert first not in reader.held()


def test_an_envelope_that_is_sent_again_is_acknowledged_again_and_changes_nothing(
    server: Server,
    socket: SocketServer,
    workspace: Workspace,
    reader: Reader,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = workspace.post("C01")
    with watching(server, monkeypatch) as watch:
        watch.until(ALL)
        for attempt in range(3):
            socket.envelope(message(), id_="envelope-again", attempt=attempt)
            assert socket.acknowledged.get(timeout=WAIT) == "envelope-again"
            watch.until(Stream("team", "C01"))
            reader.read()
    assert reader.held() == [said]
    assert reader.written == 2


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
def test_a_connection_that_slack_takes_back_is_replaced_and_everything_is_read(
    server: Server, socket: SocketServer, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    with watching(server, monkeypatch) as watch:
        socket.opened.get(timeout=WAIT)
        watch.until(ALL)
        socket.send({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}})
        socket.opened.get(timeout=WAIT)
        watch.until(ALL)
        socket.envelope(message("C07"))
        watch.until(Stream("team", "C07"))


def test_what_was_said_while_the_connection_was_down_is_found(
    server: Server, socket: SocketServer, workspace: Workspace, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.read()
    with watching(server, monkeypatch) as watch:
        socket.opened.get(timeout=WAIT)
        watch.until(ALL)
        workspace.fail("apps.connections.open", error("internal_error"))
        socket.drop()
        said = workspace.post("C01")
        socket.opened.get(timeout=WAIT)
        watch.until(ALL)
        reader.read()
        assert reader.held() == [said]
        socket.envelope(message("C07"))
        watch.until(Stream("team", "C07"))


def test_a_connection_that_only_looks_alive_is_replaced_and_everything_is_read(
    server: Server, socket: SocketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pings are answered, and no event comes any more."""
    with watching(server, monkeypatch, silence=0.3, check=0.05) as watch:
        first = socket.opened.get(timeout=WAIT)
        watch.until(ALL)
        second = socket.opened.get(timeout=WAIT)
        assert second is not first
        watch.until(ALL)


def test_a_refused_app_token_is_told_and_the_watch_wakes_at_intervals(
    server: Server, socket: SocketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(server, monkeypatch, app="xapp-of-nobody", poll=0.1) as watch:
        assert "invalid_auth" in watch.connector.degraded
        assert "xapp-of-nobody" not in watch.connector.degraded
        assert [watch.next(), watch.next()] == [ALL, ALL]
    assert socket.opened.empty()


def test_without_an_app_token_it_wakes_at_intervals(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with watching(server, monkeypatch, app="", poll=0.05) as watch:
        assert "app_token" in watch.connector.degraded
        assert [watch.next(), watch.next()] == [ALL, ALL]


def test_an_app_token_that_is_nowhere_is_an_error_with_its_name(server: Server) -> None:
    connector = SlackConnector(
        "team", {"token": "env:SLACK_TOKEN", "api_url": server.url, "app_token": "env:NO_SUCH_NAME"}, Options()
    )
    with pytest.raises(AuthError, match="NO_SUCH_NAME"):
        connector.watch(lambda _: None)


def test_events_can_be_lost_so_everything_is_read_now_and_then(
    server: Server, socket: SocketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(server, monkeypatch, safety=0.2, check=0.05) as watch:
        socket.opened.get(timeout=WAIT)
        assert [watch.next(), watch.next(), watch.next()] == [ALL, ALL, ALL]
        assert socket.opened.empty()


def test_leaving_the_watch_is_quick_and_nothing_wakes_after_it(
    server: Server, socket: SocketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(server, monkeypatch) as watch:
        watch.until(ALL)
        begun = time.monotonic()
    assert time.monotonic() - begun < 1.5
    with pytest.raises(Empty):
        watch.wakes.get_nowait()


def test_no_token_is_in_a_repr(server: Server) -> None:
    connector = SlackConnector("team", {"token": "env:SLACK_TOKEN", "api_url": server.url}, Options())
    list(connector.discover())
    assert BOT_TOKEN not in repr(vars(connector))
