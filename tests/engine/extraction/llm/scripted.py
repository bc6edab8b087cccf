"""An HTTP server on loopback that answers as a test's script says, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Body = dict[str, Any]


@dataclass(slots=True)
class Answer:
    """What is sent back; `hangs` sends nothing until the test is over."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False


def chat(content: str, *, tokens: tuple[int, int] = (600, 200)) -> Answer:
    """Return an answer of OpenAI's API."""
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    message = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    return Answer(body=json.dumps({"choices": [message], "usage": usage}).encode())


def ollama(content: str) -> Answer:
    """Return an answer of Ollama's API."""
    said = {"message": {"role": "assistant", "content": content}, "done": True, "prompt_eval_count": 5, "eval_count": 7}
    return Answer(body=json.dumps(said).encode())


class Server:
    """Answers each POST with the next answer of the script, the last one again and again; GETs from `pages`."""

    def __init__(self) -> None:
        self.script: list[Answer | Callable[[Body], Answer]] = []
        self.pages: dict[str, Any] = {}
        self.seen: list[tuple[str, Body]] = []
        self.over = threading.Event()
        self.url = ""

    def answers(self, *script: Answer | Callable[[Body], Answer]) -> None:
        """Set the script, and forget what was asked."""
        self.script = list(script)
        self.seen.clear()

    @property
    def bodies(self) -> list[Body]:
        """Return what was asked."""
        return [body for _, body in self.seen]

    def take(self, path: str, body: Body) -> Answer:
        """Return the answer to a request."""
        self.seen.append((path, body))
        following = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return following if isinstance(following, Answer) else following(body)


@contextmanager
def serving() -> Iterator[Server]:
    """Yield a server that listens."""
    script = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = script.take(self.path, body)
            if answer.hangs:
                script.over.wait(30)
                return
            self._send(answer)

        def do_GET(self) -> None:
            page = script.pages.get(self.path)
            self._send(Answer(404) if page is None else Answer(body=json.dumps(page).encode()))

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield script
    finally:
        script.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
