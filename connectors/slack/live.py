"""Tells that something in a workspace may have changed, never what: the next pass asks the API. Keeps no message.

With an app-level token, Slack sends each event over a WebSocket (Socket Mode): every envelope is acknowledged at
once and is a wake, nothing more, so an envelope that is sent again does no harm. A connection that dies is replaced,
and so is one that only looks alive: after a new connection, and after a silence, everything is read again, because
what was sent in between is lost. Without a token, or while there is no connection, the watch wakes at intervals.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.base import Stream
from ctxsync.connectors.slack.api import silent_logger, web_client
from ctxsync.connectors.slack.directory import STREAM
from ctxsync.connectors.slack.listening import Listening, ended, listens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slack_sdk.socket_mode import SocketModeClient
    from slack_sdk.socket_mode.request import SocketModeRequest


@dataclass(frozen=True, slots=True)
class Pace:
    """How the watch waits; all in seconds.

    Args:
        poll: Between wakes while nothing tells of changes.
        safety: Between wakes while something does: events can be lost.
        silence: Without any message after which a connection is replaced, however alive it looks. (Events that stop
            coming over a connection that answers pings: slackapi/python-slack-sdk#1701.)
        check: Between looks at the connection.
        backoff: Before the second attempt to connect; doubled up to `poll`.
        start: How long entering the watch waits for the first connection.
    """

    poll: float = 300.0
    safety: float = 900.0
    silence: float = 600.0
    check: float = 2.0
    backoff: float = 2.0
    start: float = 10.0


@contextmanager
def watching(live: Live) -> Iterator[None]:
    """Wake until left; entering waits a little for the first connection."""
    live.start()
    try:
        yield
    finally:
        live.stop()


class Live:
    """One watch.

    Args:
        source: The source's name.
        token: An app-level token (xapp-…); empty without one.
        url: Where the Web API's methods are.
        wake: Called with the stream that may have changed; the directory's stands for everything.
        degrade: Told why changes are only asked for at intervals, and "" when they are told of again.
        pace: How to wait.
    """

    def __init__(  # noqa: PLR0917 - as `watch` has them
        self,
        source: str,
        token: str,
        url: str,
        wake: Callable[[Stream], None],
        degrade: Callable[[str], None],
        pace: Pace,
    ) -> None:
        self._source, self._token, self._url = source, token, url
        self._wake, self._degrade, self._pace = wake, degrade, pace
        self._stopped = threading.Event()
        self._look = threading.Event()  # set when the connection should be looked at before the time
        self._renew = threading.Event()  # set when Slack takes the connection back
        self._tried = threading.Event()  # set after the first attempt to connect
        self._known = listens(source, url) if token else Listening()
        self._heard = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"slack-{source}", daemon=True)

    def start(self) -> None:
        """Begin, and wait until the first attempt to connect has ended, or for `Pace.start`."""
        self._thread.start()
        self._tried.wait(self._pace.start)

    def stop(self) -> None:
        """End the watch; nothing is woken after that."""
        self._stopped.set()
        self._look.set()
        self._thread.join(self._pace.start)

    def _run(self) -> None:
        if not self._token:
            self._degrade(f"without an app_token it is read every {self._pace.poll:g} s")
            self._tried.set()
            while not self._stopped.wait(self._pace.poll):
                self._wake_all()
            return
        client = self._client()
        try:
            self._supervise(client)
        finally:
            ended(self._source, self._url)
            self._tried.set()
            _close(client)

    def _supervise(self, client: SocketModeClient) -> None:
        """Keep a connection, and wake for everything whenever events may have been lost."""
        pace = self._pace
        woken, wait, next_try = time.monotonic(), pace.backoff, 0.0
        while not self._stopped.is_set():
            now = time.monotonic()
            silent = now - self._heard >= pace.silence
            if (silent or self._renew.is_set() or _ended(client)) and now >= next_try:
                self._heard = now
                self._renew.clear()
                why = self._connect(client)
                self._tried.set()
                self._degrade(why and f"Socket Mode: {why}; it is read every {pace.poll:g} s")
                if why:
                    next_try, wait = now + wait, min(2 * wait, pace.poll)
                else:
                    next_try, wait, woken = 0.0, pace.backoff, now
            if now - woken >= (pace.safety if client.is_connected() else pace.poll):
                woken = now
                self._wake_all()
            self._look.wait(pace.check if client.is_connected() else min(pace.check, max(0.01, next_try - now)))
            self._look.clear()

    def _connect(self, client: SocketModeClient) -> str:
        """Open a new connection; return why that failed, or nothing."""
        from slack_sdk.errors import SlackApiError

        self._known.lost()
        _end(client)
        try:
            client.wss_uri = str(client.web_client.apps_connections_open(app_token=self._token)["url"])
            client.connect()
        except SlackApiError as error:
            return f"Slack refuses the app_token ({error.response.get('error', '')})"
        except Exception as error:  # noqa: BLE001 - whatever a connection can fail with: the watch goes on without it
            return f"no connection ({type(error).__name__})"
        return "" if client.is_connected() else "no connection"

    def _client(self) -> SocketModeClient:
        from slack_sdk.socket_mode import SocketModeClient

        client = SocketModeClient(
            app_token=self._token,
            web_client=web_client("", self._url),
            logger=silent_logger(),
            auto_reconnect_enabled=False,  # `_supervise` does it, at a pace that apps.connections.open allows
            ping_interval=self._pace.check,
            concurrency=2,
            on_close_listeners=[lambda _code, _reason: self._look.set()],
            on_error_listeners=[lambda _error: self._look.set()],
        )
        # What slack-sdk would do itself on a `disconnect` message, waiting for the old connection first.
        client.connect_to_new_endpoint = self._taken_back  # type: ignore[method-assign]
        client.message_listeners.append(self._on_message)
        client.socket_mode_request_listeners.append(self._on_request)
        return client

    def _taken_back(self, force: bool = False) -> None:  # noqa: ARG002 - the library's signature
        self._renew.set()
        self._look.set()

    def _on_message(self, _client: Any, message: dict[str, Any], _raw: str | None = None) -> None:
        """Note a sign of life; a `hello` begins a connection, and what was sent before it is lost."""
        self._heard = time.monotonic()
        if message.get("type") == "hello":
            self._known.begun()
            self._wake_all()

    def _on_request(self, client: Any, request: SocketModeRequest) -> None:
        """Acknowledge an envelope (Slack wants that within 3 s, else it sends it again), then wake."""
        from slack_sdk.socket_mode.response import SocketModeResponse

        with suppress(Exception):  # the connection went: Slack sends it again over the next one
            client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        event = request.payload.get("event") if isinstance(request.payload, dict) else None
        channel = self._known.event(event) if isinstance(event, dict) else ""
        if not self._stopped.is_set():
            self._wake(Stream(self._source, channel or STREAM))

    def _wake_all(self) -> None:
        self._known.doubted()
        if not self._stopped.is_set():
            self._wake(Stream(self._source, STREAM))


def _ended(client: SocketModeClient) -> bool:
    """Say whether there is no connection any more.

    slack-sdk notices a connection that the other side just cut only after several unanswered pings, and reads from it
    in a busy loop till then.
    """
    session = client.current_session
    sock = session.sock if session is not None else None
    if sock is None:
        return True
    try:
        with socket.socket(fileno=os.dup(sock.fileno())) as same:
            return same.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        return True


def _end(client: SocketModeClient) -> None:
    """End the connection, if there is one, without waiting for what it waits for."""
    session = client.current_session
    client.current_session_state.terminated = True
    if session is not None and (sock := session.sock) is not None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        with suppress(Exception):
            session.disconnect()


def _close(client: SocketModeClient) -> None:
    """Close a client without waiting for what it waits for: an answer, or a message to process."""
    client.closed = True
    _end(client)
    client.message_queue.put(None)
    with suppress(Exception):
        client.close()
