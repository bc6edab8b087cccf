"""A proxy for HTTPS on loopback: to the program that uses it, a test's server is one on the internet."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def tunnel(port: int, asked: list[str]) -> Iterator[str]:
    """Give the URL of a proxy that leads every connection to a port of this machine, and notes where it was to lead."""

    class Handler(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            with closing(socket.create_connection(("127.0.0.1", port))) as far:
                self.send_response(200)
                self.end_headers()
                near = self.connection
                while True:
                    ready, _, _ = select.select([near, far], [], [], 60)
                    for one in ready:
                        data = one.recv(65_536)
                        if not data:
                            return
                        (far if one is near else near).sendall(data)
                    if not ready:
                        return

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
