"""The other end of Socket Mode: a WebSocket that greets, sends envelopes and notes what is acknowledged, as documented
at docs.slack.dev/apis/events-api/using-socket-mode. The protocol is the `websockets` library's.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from itertools import count
from queue import Queue
from typing import TYPE_CHECKING, Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

if TYPE_CHECKING:
    from websockets.sync.server import ServerConnection


class SocketServer:
    """Sends to the connection that was opened last; `opened` has each connection as it comes."""

    def __init__(self) -> None:
        self.opened: Queue[ServerConnection] = Queue()
        self.acknowledged: Queue[str] = Queue()
        self.current: ServerConnection | None = None
        self._ids = count(1)
        self._server = serve(self._handle, "127.0.0.1", 0, ping_interval=None)
        port = self._server.socket.getsockname()[1]
        self.url = f"ws://127.0.0.1:{port}/link/?ticket=of-the-harbour&app_id=A01"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()

    def _handle(self, connection: ServerConnection) -> None:
        hello = {"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A01"}, "debug_info": {}}
        connection.send(json.dumps(hello))
        self.current = connection
        self.opened.put(connection)
        with suppress(ConnectionClosed):
            for message in connection:
                self.acknowledged.put(json.loads(message)["envelope_id"])

    def envelope(self, event: dict[str, Any], *, id_: str = "", attempt: int = 0) -> str:
        """Send an event; return its envelope's id. With an id and an attempt, it is one that is sent again."""
        id_ = id_ or f"envelope-{next(self._ids)}"
        callback = {"type": "event_callback", "team_id": "T0HARBOUR", "event": event, "event_id": f"Ev-{id_}"}
        self.send(
            {
                "envelope_id": id_,
                "type": "events_api",
                "accepts_response_payload": False,
                "payload": callback,
                "retry_attempt": attempt,
                "retry_reason": "timeout" if attempt else "",
            }
        )
        return id_

    def send(self, message: dict[str, Any]) -> None:
        assert self.current is not None
        self.current.send(json.dumps(message))

    def drop(self) -> None:
        """Cut the connection without a farewell."""
        assert self.current is not None
        self.current.socket.shutdown(2)
