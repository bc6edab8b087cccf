"""One mail account on a real server with a trace of what it was asked, and a reader that keeps the cursor as the log does."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import (
    Change,
    Json,
    Moved,
    Observed,
    Options,
    Quarantined,
    Released,
    Sighted,
    Unsighted,
)
from ctxsync.connectors.imap import ImapConnector
from ctxsync.connectors.imap.session import Session
from tests.connectors.imap.dovecot import PASSWORD
from tests.connectors.imap.scripted import Scripted, scripted
from tests.connectors.imap.wire import Wire, traced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.connectors.base import Batch
    from tests.connectors.imap.dovecot import Dovecot

NOW = 1_750_000_000_000
NAME = "work"
READS_ONLY = re.compile(
    r"^(UID )?(CAPABILITY|LOGIN|AUTHENTICATE|ENABLE|LIST|STATUS|EXAMINE|SEARCH|FETCH|LOGOUT|IDLE|DONE|STARTTLS)\b"
)


def letter(number: int | str, body: str = "", **headers: str) -> bytes:
    """Return a message from a person who does not exist."""
    message = EmailMessage()
    message["From"] = headers.pop("sender", "Robin Vale <robin@example.com>")
    message["To"] = "Maya Lindqvist <maya@example.org>"
    message["Subject"] = headers.pop("subject", f"Letter {number}")
    message["Date"] = format_datetime(datetime(2024, 3, 1, 10, 0, tzinfo=UTC))
    message["Message-ID"] = f"<{number}@example.com>"
    for name, value in headers.items():
        message[name] = value
    message.set_content(body or f"This is letter {number}.\n")
    return message.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


class Reader:
    """An account as the runner reads it: the cursor is kept, and what the changes mean is folded.

    Attributes:
        cursor: As the log holds it.
        items: Title of each item, by id.
        places: Where each item is.
        roles: What its places mean.
        bad: Places in quarantine, with why.
    """

    def __init__(self, port: int, user: str = "robin", **settings: Json) -> None:
        self.settings: dict[str, Json] = {
            "host": "127.0.0.1",
            "port": port,
            "tls": "none",
            "user": user,
            "password": "env:IMAP_TEST_PASSWORD",
            **settings,
        }
        self.cursor: dict[str, Json] = {}
        self.items: dict[str, str] = {}
        self.places: dict[str, set[str]] = defaultdict(set)
        self.roles: dict[tuple[str, str], str] = {}
        self.bad: dict[str, str] = {}
        self.batches: list[Batch] = []
        self.timeouts = {"connect": 5.0, "read": 5.0}

    def connector(self, *, batch: int = 200, **options: Any) -> ImapConnector:
        return ImapConnector(
            NAME,
            self.settings,
            Options(**{"now": NOW, **options}),
            batch=batch,
            opened=lambda account: Session(account, **self.timeouts),
        )

    def stream(self, *, batch: int = 200, **options: Any) -> Iterator[Batch]:
        """Yield batches, each of them kept."""
        connector = self.connector(batch=batch, **options)
        (stream,) = connector.discover()
        for one in connector.read(stream, dict(self.cursor) or None):
            self.cursor.update(one.cursor)
            for key in [key for key, value in one.cursor.items() if value is None]:
                del self.cursor[key]
            self.batches.append(one)
            for change in one.changes:
                self._fold(change)
            yield one

    def read(self, *, batch: int = 200, **options: Any) -> list[Change]:
        """Do one pass and return its changes."""
        return [change for one in self.stream(batch=batch, **options) for change in one.changes]

    def titles(self, place: str = "") -> list[str]:
        """Return the titles of what is held, at a place or anywhere."""
        held = (item for item, at in self.places.items() if (place in at if place else at))
        return sorted(self.items[item] for item in held)

    def _fold(self, change: Change) -> None:
        match change:
            case Observed(item, _):
                self.items[item.id] = item.title
            case Sighted(item, place, role):
                self.places[item].add(place)
                self.roles[item, place] = role
            case Unsighted(item, place, _):
                self.places[item].discard(place)
            case Moved(item, place, to):
                self.places[item] ^= {place, to}
            case Quarantined(place, error, _, _):
                self.bad[place] = error
            case Released(place):
                del self.bad[place]
            case _:
                raise AssertionError(change)


class Mail(Reader):
    """A user of the real server, read through a wire that notes every command."""

    def __init__(self, server: Dovecot, wire: Wire) -> None:
        self.server, self.wire = server, wire
        self.user = server.user()
        super().__init__(wire.port, self.user)

    def put(self, *messages: bytes, folder: str = "INBOX", flags: Sequence[bytes] = ()) -> None:
        """Deliver messages into a folder, which is made when it is not there."""
        with self.server.client(self.user) as client:
            if not client.folder_exists(folder):
                client.create_folder(folder)
            for message in messages:
                client.append(folder, message, flags)

    def expunge(self, *uids: int, folder: str = "INBOX") -> None:
        with self.server.client(self.user) as client:
            client.select_folder(folder)
            client.delete_messages(list(uids))
            client.uid_expunge(list(uids))

    def commands(self) -> list[str]:
        """Return what the server saw since `clear`, each of them checked for changing nothing."""
        for command in self.wire.commands():
            assert READS_ONLY.match(command), command
            assert "BODY[" not in command, command
        return self.wire.commands()


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAP_TEST_PASSWORD", PASSWORD)


@pytest.fixture
def mail(dovecot: Dovecot) -> Iterator[Mail]:
    with traced(dovecot.port) as wire:
        yield Mail(dovecot, wire)


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted() as one:
        yield one
