"""Mailboxes on disk for the contract suite, one of each kind; and messages to put into them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.base import Options
from ctxsync.connectors.mailbox import MailboxConnector

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Connector

FIRST = 1_700_000_000  # seconds
SHOCK = (
    b"From: \x1b[31m\xff <\xed\xa0\x80@x>\nTo: (c):\nSubject: =?utf-8?b?77+/8J?= \xf0\x9f\x00\n"
    b"Message-ID: <[shock@\xed\xa0\x80]>\nDate: 99 Foo 2026\nContent-Type: text/plain; charset=utf-16; name*\n\n"
    b"\x1b]0;x\x07 \xff\xfe\x00\xd8\n"
)


def message(
    number: int | str,
    *,
    subject: str = "",
    body: str = "",
    sender: str = "Rosa Quint <rosa@example.com>",
    message_id: str | None = None,
    more: str = "",
) -> bytes:
    """Return a plain message."""
    own = f"<m{number}@example.com>" if message_id is None else message_id
    lines = [
        f"From: {sender}",
        "To: Robin Vale <robin@example.com>",
        f"Subject: {subject or f'Message {number}'}",
        "Date: Mon, 3 Mar 2025 10:00:00 +0000",
        *([f"Message-ID: {own}"] if own else []),
        *more.splitlines(),
        "",
        body or f"Words of message {number}.\n\nFrom here on, more of them.",
    ]
    return ("\n".join(lines) + "\n").encode()


def deep(depth: int) -> bytes:
    """Return a message with multiparts within multiparts."""
    head = b"From: rosa@example.com\nSubject: deep\nMessage-ID: <deep@example.com>\n"
    parts = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (level, level) for level in range(depth)
    )
    return head + parts + b"Content-Type: text/plain\n\nhi\n"


def munged(data: bytes) -> bytes:
    """Return a message as mboxrd keeps it."""
    return re.sub(rb"^(>*From )", rb">\1", data, flags=re.MULTILINE)


class Mail:
    """What the three kinds share; `slots` holds the messages, in order, the spoiled one apart."""

    kind = "mailbox"

    def __init__(self, folder: Path, *, name: str, now: int, batch: int) -> None:
        self.root = folder / "mail"
        self.root.mkdir()
        self.name, self.now, self.batch = name, now, batch
        self.slots: list[bytes] = []
        self.odd: list[bytes] = []
        self.count = 0
        self.stirred = 0

    def connector(self, **options: Any) -> Connector:
        settings = {"path": str(self.root)}
        return MailboxConnector(self.name, settings, Options(**{"now": self.now, **options}), batch=self.batch)

    def save(self) -> None:
        raise NotImplementedError

    def put(self, path: Path, data: bytes) -> None:
        if path.exists() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.stirred += 1
        at = FIRST + self.stirred
        os.utime(path, (at, at))

    def add(self, count: int, title: str = "") -> None:
        for number in range(count):
            self.count += 1
            self.slots.append(message(self.count, subject=(not number and title) or ""))
        self.save()

    def edit(self) -> None:
        """Mail never changes: another message takes the place of one."""
        self.slots[0] = self.slots[0].replace(b"Subject: ", b"Subject: edited ", 1)
        self.save()

    def remove(self, count: int) -> None:
        del self.slots[-count:]
        self.save()

    def spoil(self) -> None:
        self.odd = [deep(200)]
        self.save()

    def mend(self) -> None:
        self.odd = [deep(2)]
        self.save()

    def shock(self) -> None:
        self.slots.append(SHOCK)
        self.save()

    def stir(self) -> None:
        raise NotImplementedError


class MboxMail(Mail):
    """One mbox in a folder. The spoiled message stands first, so that all others shift."""

    ends = b"\n"
    flags = b""

    def save(self) -> None:
        parts = []
        for data in [*self.odd, *self.slots]:
            text = b"From rosa@example.com Mon Mar  3 10:00:00 2025\n" + self.flags + munged(data) + b"\n"
            parts.append(text.replace(b"\n", self.ends))
        self.put(self.root / "Inbox.mbox", b"".join(parts))

    def stir(self) -> None:
        self.ends = b"\r\n"
        self.flags = b"X-Mozilla-Status: 0001\nStatus: RO\n"
        self.save()


class MaildirMail(Mail):
    """A Maildir with a folder beside its inbox."""

    flags = ":2,S"

    def save(self) -> None:
        keep = set()
        for number, data in enumerate([*self.slots, *self.odd]):
            found = re.search(rb"Message-ID: <(\w+)", data)
            unique = found[1].decode() if found else "shock"
            folder = self.root / (".Archive/cur" if number % 2 and data not in self.odd else "cur")
            if unique == "deep":
                unique += str(len(data))
            elif number == 0:
                unique += str(len(data))  # messages in a Maildir are never written again
            path = folder / f"{FIRST}.{unique}.example{self.flags}"
            keep.add(path)
            self.put(path, data)
        for sub in ("cur", "new", "tmp", ".Archive/cur", ".Archive/new"):
            (self.root / sub).mkdir(parents=True, exist_ok=True)
        for path in self.root.rglob("cur/*"):
            if path not in keep:
                path.unlink()

    def stir(self) -> None:
        self.flags = ":2,FRS"
        self.save()


class EmlMail(Mail):
    """A tree of `.eml` files."""

    ends = b"\n"

    def save(self) -> None:
        keep = set()
        for number, data in enumerate(self.slots):
            path = self.root / f"d{number % 3}" / f"{number}.eml"
            keep.add(path)
            self.put(path, data.replace(b"\n", self.ends))
        for data in self.odd:
            keep.add(self.root / "odd.eml")
            self.put(self.root / "odd.eml", data)
        for path in self.root.rglob("*.eml"):
            if path not in keep:
                path.unlink()

    def stir(self) -> None:
        self.ends = b"\r\n"
        self.save()


KINDS = {"mbox": MboxMail, "maildir": MaildirMail, "eml": EmlMail}
