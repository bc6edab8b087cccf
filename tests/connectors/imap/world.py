"""An account on a real mail server with what can happen to it: a world of the contract suite.

The contract speaks of a root on a disk. Here it is a folder without which the server, behind a proxy, hangs up and names it.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import imapclient

from ctxsync.connectors.base import Options
from ctxsync.connectors.imap import ImapConnector
from tests.connectors.imap.dovecot import PASSWORD, served
from tests.connectors.imap.wire import Wire
from tests.connectors.mailbox.worlds import SHOCK, deep, message

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Connector, Json

SECRET = "CTXSYNC_TEST_IMAP_PASSWORD"


class ImapAccount:
    kind = "imap"

    def __init__(self, folder: Path, *, name: str, now: int, batch: int) -> None:
        self.server = served()
        self.root = folder / "account"
        self.root.mkdir()
        (self.root / "mounted").touch()
        self.wire = Wire(self.server.port)
        self.wire.fault = self._answered
        self.location = self.server.user()
        self.options: dict[str, Json] = {
            "host": "127.0.0.1",
            "port": self.wire.port,
            "tls": "none",
            "password": f"env:{SECRET}",
        }
        self.name, self.now, self.batch = name, now, batch
        self.uids: list[int] = []
        self.count = 0
        self.bad = 0
        self.client = imapclient.IMAPClient("127.0.0.1", self.server.port, ssl=False, timeout=20)
        self.client.login(self.location, PASSWORD)
        self.client.select_folder("INBOX")

    def close(self) -> None:
        self.client.logout()
        self.wire.close()

    def _answered(self, data: bytes) -> bytes:
        if data.startswith(b"* OK") and not (self.root / "mounted").is_file():
            return b"* BYE " + str(self.root).encode() + b" is not mounted\r\n"
        return data

    def connector(self, **options: Any) -> Connector:
        settings: dict[str, Json] = {**self.options, "user": self.location}
        return ImapConnector(self.name, settings, Options(**{"now": self.now, **options}), batch=self.batch)

    def put(self, raw: bytes) -> int:
        told = self.client.append("INBOX", raw)  # [APPENDUID validity uid]
        return int(told.split(b"]")[0].split()[-1])

    def expunge(self, *uids: int) -> None:
        self.client.delete_messages(list(uids))
        self.client.uid_expunge(list(uids))

    def add(self, count: int, title: str = "") -> None:
        for number in range(count):
            self.count += 1
            self.uids.append(self.put(message(self.count, subject="" if number else title)))

    def edit(self) -> None:
        """Mail never changes: another message takes the place of one."""
        self.expunge(self.uids[0])
        self.count += 1
        self.uids[0] = self.put(message(self.count, body="Other words."))

    def remove(self, count: int) -> None:
        self.expunge(*self.uids[-count:])
        del self.uids[-count:]

    def stir(self) -> None:
        self.client.set_flags(self.uids, [b"\\Seen", b"\\Answered", b"$Label1"])

    def spoil(self) -> None:
        self.bad = self.put(deep(300))

    def mend(self) -> None:
        self.expunge(self.bad)
        self.put(message("mended"))

    def shock(self) -> None:
        """Put the file where Dovecot finds it, for APPEND takes no NUL."""
        path = self.server.maildir(self.location) / "new" / "1750000000.M1P1.example"
        path.write_bytes(SHOCK)
        owner = path.parent.stat()
        shutil.chown(path, owner.st_uid, owner.st_gid)
