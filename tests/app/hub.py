"""A hub over TLS on this machine, that speaks as huggingface.co does and fails as it is told."""

from __future__ import annotations

import hashlib
import json
import ssl
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    import trustme

REPO = "someone/gliner2-tiny-onnx"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Serves a folder as one repository.

    Args:
        folder: What it holds.
        authority: Signs its certificate.
    """

    def __init__(self, folder: Path, authority: trustme.CA) -> None:
        self.folder = folder
        self.asked: list[tuple[str, str]] = []
        """Path and `Range` of each request, in order."""
        self.answer: Callable[[Any, str], bool] = lambda _handler, _path: False
        """Given handler and path, answers itself and returns True, or leaves it to the hub."""
        self.listing: Callable[[dict[str, Any]], Any] = lambda listing: listing
        """What the hub makes of its list of files."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_port}"

    def listed(self) -> dict[str, Any]:
        """The list of files: large ones with SHA-256, the others as git names them."""
        siblings = []
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                content = path.read_bytes()
                entry: dict[str, Any] = {"rfilename": path.relative_to(self.folder).as_posix(), "size": len(content)}
                entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
                if path.suffix == ".onnx":
                    entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
                siblings.append(entry)
        return {"sha": COMMIT, "siblings": siblings, "cardData": {"license": "apache-2.0"}}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                hub.asked.append((path, self.headers.get("Range", "")))
                if hub.answer(self, path):
                    return
                base = f"/{REPO}/resolve/{COMMIT}/"
                if path == f"/api/models/{REPO}/revision/main":
                    self.give(json.dumps(hub.listing(hub.listed())).encode())
                elif path.startswith(base) and (hub.folder / path.removeprefix(base)).is_file():
                    self.give((hub.folder / path.removeprefix(base)).read_bytes())
                else:
                    self.give(b"not found", 404)

            def give(self, content: bytes, status: int = 200, *, only: int | None = None, **headers: str) -> None:
                """Answer; `only` so many bytes of what is announced, then the line ends."""
                start = int(self.headers.get("Range", "bytes=0-")[6:-1])
                if start and status == 200:
                    status, content = 206, content[start:]
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(content[:only])
                if only is not None:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        return Handler

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
