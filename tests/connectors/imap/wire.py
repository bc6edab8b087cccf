"""A tracing proxy before a server: what the client said, and faults on what the server says; knows no IMAP beyond lines."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Fault = "Callable[[bytes], bytes | None]"


class Wire:
    """A proxy that listens on `port`.

    Args:
        target: The server's port on this machine.

    Attributes:
        lines: Every line that clients sent, without tags.
        connections: How many there were.
        fault: Gets what the server says and returns what arrives; None hangs up. Per connection and in order.
        arrived: Set whenever a client said something.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.lines: list[str] = []
        self.connections = 0
        self.refuses = False
        self.fault: Callable[[bytes], bytes | None] = lambda data: data
        self.arrived = threading.Condition()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def commands(self) -> list[str]:
        """Return the commands so far: `UID FETCH 1:3 (UID BODY.PEEK[])`; the password of a login is left out."""
        return [line for line in self.lines if line]

    def clear(self) -> None:
        with self.arrived:
            self.lines.clear()
            self.connections = 0

    def wait_for(self, pattern: str, timeout: float = 10) -> None:
        """Wait until a client has said something that matches."""

        def said() -> bool:
            return any(re.search(pattern, line) for line in self.lines)

        with self.arrived:
            if not self.arrived.wait_for(said, timeout):
                raise AssertionError(f"no {pattern} in {self.lines}")

    def cut(self) -> None:
        """Break every connection that is open."""
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()
        for thread in self._threads:
            thread.join(5)

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with self.arrived:
                self.connections += 1
            if self.refuses:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.target))
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open |= {client, server}
            self._start(self._pump, client, server, self._note)
            self._start(self._pump, server, client, None)

    def _pump(self, source: socket.socket, sink: socket.socket, note: Callable[[bytes], None] | None) -> None:
        buffer = b""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if note is not None:
                    *lines, buffer = (buffer + data).split(b"\r\n")
                    for line in lines:
                        note(line)
                    sink.sendall(data)
                    continue
                passed = self.fault(data)
                if passed is None:
                    break
                sink.sendall(passed)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        if note is not None:
            return
        source.close()
        sink.close()
        self._open -= {source, sink}

    def _note(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        tag, _, rest = text.partition(" ")
        said = rest if re.fullmatch(r"[A-Z]{4}\d+", tag) else text
        if said.upper().startswith(("LOGIN", "AUTHENTICATE PLAIN ")):
            said = said.split()[0]
        with self.arrived:
            self.lines.append(said)
            self.arrived.notify_all()


@contextmanager
def traced(target: int) -> Iterator[Wire]:
    """Put a wire before a server for the time of the context."""
    wire = Wire(target)
    try:
        yield wire
    finally:
        wire.close()
