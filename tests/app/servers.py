"""A mail server as a connector sees it, which a test scripts: the runner is on trial here, no protocol."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.base import Batch, Item, Observed, Section, Sighted, Stream
from ctxsync.connectors.secrets import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NOW = 1_700_000_000_000


class MailServer:
    """What is on the server, what it answers with, and what it was asked.

    Args:
        refuses: Given the password, returns the error to raise at the login, None to let it in.
    """

    def __init__(self) -> None:
        self.refuses: Callable[[str], Exception | None] = lambda _: None
        self.unwatchable: Exception | None = None
        self.letters = {"mail:1": "Rosa Quint works at Acme since 2024-03."}
        self.asked: list[str] = []
        self.wake: Callable[[], None] = lambda: None

    def connector(self, name: str, settings: Mapping[str, Any], options: Any) -> _Mail:
        return _Mail(self, name, settings)

    def load(self) -> Callable[..., _Mail]:
        """Be an entry point."""
        return self.connector


class _Mail:
    def __init__(self, server: MailServer, name: str, settings: Mapping[str, Any]) -> None:
        self.server, self.name, self.settings = server, name, settings

    def _log_in(self) -> None:
        password = resolve(self.settings["password"], source=self.name, setting="password")
        self.server.asked.append("login")
        if error := self.server.refuses(password):
            raise error

    def discover(self) -> Iterator[Stream]:
        self._log_in()
        yield Stream(self.name, "INBOX")

    def read(self, stream: Stream, cursor: Mapping[str, Any] | None) -> Iterator[Batch]:
        self.server.asked.append(f"read {stream.name}")
        for number, text in self.server.letters.items():
            if number not in (cursor or {}):
                item = Item(number, "mail", text[:20], (Section("body", text, NOW),))
                yield Batch((Observed(item, stream.name), Sighted(number, stream.name)), {number: 1}, seen=1)

    @contextmanager
    def watch(self, wake: Callable[[Stream], None]) -> Iterator[None]:
        self.server.asked.append("watch")
        if self.server.unwatchable:
            raise self.server.unwatchable
        self.server.wake = lambda: wake(Stream(self.name, "INBOX"))
        yield
