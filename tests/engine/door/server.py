"""A model's server that a test scripts, over HTTP on loopback or over HTTPS under a name that is not this machine's."""

from __future__ import annotations

import json
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

import trustme

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

HOST = "llm.example"


@dataclass
class Seen:
    """One request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def text(self) -> str:
        """All that the messages say."""
        return "\n".join(message["content"] for message in self.body["messages"])


@dataclass
class Told:
    """What to answer."""

    status: int = 200
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    cut: int = 0  # so many bytes fewer than announced
    drip: int = 0  # so many bytes, one by one, each after `wait`


def said(content: str, **more: Any) -> Told:
    """Answer as a chat model does."""
    usage = {"prompt_tokens": 100, "completion_tokens": 20}
    return Told(200, {"choices": [{"message": {"role": "assistant", "content": content}}], "usage": usage, **more})


class ModelServer:
    """Answers by its script, the last entry for ever; keeps what it was asked, byte for byte.

    Args:
        certificate: A folder to put the authority's `ca.pem` in; then it speaks TLS, as `HOST`.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        self.seen: list[Seen] = []
        self.script: list[Told | Callable[[Seen], Told]] = [said("fine")]
        self.stopping = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length", 0)))
                seen = Seen(self.command, self.path, dict(self.headers), raw)
                server.seen.append(seen)
                entry = server.script.pop(0) if len(server.script) > 1 else server.script[0]
                with suppress(OSError):
                    self.answer(entry(seen) if callable(entry) else entry)

            def do_GET(self) -> None:
                self.do_POST()

            def answer(self, told: Told) -> None:
                if told.wait and not told.drip:
                    server.stopping.wait(told.wait)
                body = told.body if isinstance(told.body, (str, bytes)) else json.dumps(told.body)
                raw = body if isinstance(body, bytes) else body.encode()
                self.send_response(told.status)
                headers = {"Content-Type": "application/json", "Content-Length": str(len(raw)), **told.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for number in range(told.drip):
                    server.stopping.wait(told.wait)
                    self.wfile.write(raw[number : number + 1])
                    self.wfile.flush()
                if not told.drip:
                    self.wfile.write(raw[: len(raw) - told.cut])
                self.close_connection = bool(told.cut or told.drip)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        if certificate is not None:
            authority = trustme.CA()
            authority.cert_pem.write_to_path(certificate / "ca.pem")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority.issue_cert(HOST).configure_cert(context)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self.url = f"https://{HOST}:{self.port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Clock:
    """Time that passes when told, from a Tuesday noon UTC on."""

    def __init__(self) -> None:
        self.now = 1_764_072_000.0

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds
