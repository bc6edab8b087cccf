"""The token goes to the host that the settings name, and to no other."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from ctxsync.connectors.slack.api import Api, Timing
from ctxsync.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "xoxb-of-the-harbour"


@pytest.fixture
def elsewhere() -> Iterator[list[str]]:
    """A server that notes what anybody shows it, and answers that all is well."""
    shown: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            shown.append(f"{self.path} {self.headers} {self.rfile.read(size).decode()}")
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"ok": true, "team_id": "T0666"}')

        do_POST = do_GET  # noqa: N815 (as the standard library calls it)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        shown.append(f"http://localhost:{server.server_port}/api/auth.test")
        yield shown
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_not_followed_and_shows_nobody_the_token(elsewhere: list[str], code: int) -> None:
    target = elsewhere.pop()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(code)
            self.send_header("Location", target)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        api = Api("team", TOKEN, f"http://127.0.0.1:{server.server_port}/api/", Timing(sleep=lambda _: None))
        with pytest.raises(Unavailable, match=f"HTTP {code}") as raised:
            api.call("auth.test")
        server.shutdown()
        thread.join()
    assert elsewhere == []
    assert TOKEN not in str(raised.value)
