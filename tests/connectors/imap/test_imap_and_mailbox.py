"""The same mail from a file and from a server is the same items: meeting it again adds nothing to the log."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from ctxsync.connectors.base import Options
from ctxsync.connectors.mailbox import MailboxConnector
from ctxsync.events.store import EventStore
from ctxsync.sync import SourceReport, read_source
from tests.connectors.imap.conftest import NOW, Mail, letter

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Connector

HEAD = b"From: Rosa Quint <rosa@example.com>\nTo: robin@example.com\nDate: Mon, 3 Mar 2025 10:00:00 +0000\n"
MESSAGES = {
    "plain": letter(1).replace(b"\r\n", b"\n"),
    "lines that mbox munges": letter(2, "From the start.\n>From here\n\nFrom there\n").replace(b"\r\n", b"\n"),
    "no Message-ID": HEAD + b"Subject: none\n\nWords.\n",
    "raw 8-bit header": HEAD + b"Subject: gr\xfc\xdfe\nMessage-ID: <8@example.com>\n\nbody \xe9\n",
    "base64": HEAD
    + b"Subject: b64\nMessage-ID: <b@example.com>\nContent-Transfer-Encoding: base64\n"
    + b"Content-Type: text/plain; charset=utf-8\n\nR3LDvMOfZQo=\n",
    "no line end at the end": HEAD + b"Subject: cut\nMessage-ID: <c@example.com>\n\nno end",
    "blank lines at the end": HEAD + b"Subject: blank\nMessage-ID: <d@example.com>\n\nend\n\n\n\n",
    "an attached message": HEAD
    + b'Subject: fwd\nMessage-ID: <f@example.com>\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n\nSee below.\n'
    + b"--b\nContent-Type: message/rfc822\n\nFrom: a@example.org\nSubject: inner\n\nFrom inside\n\n--b\n"
    + b"Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nAAECAw==\n--b--\n",
    "html": HEAD
    + b"Subject: h\nMessage-ID: <h@example.com>\nContent-Type: text/html; charset=latin1\n\n<p>caf\xe9 &amp; more</p>\n",
    "no date": b"From: rosa@example.com\nSubject: when\nMessage-ID: <w@example.com>\n\nbody\n",
    "nothing but a header": HEAD + b"Subject: empty\nMessage-ID: <e@example.com>\n\n",
}


class Log:
    """A log and what each pass adds to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def sync(self, connector: Connector) -> list[str]:
        report = SourceReport(connector.name)
        with EventStore.open(self.path, write=True) as store:
            before = store.head()[0]
            read_source(store, connector, NOW, report)
            assert report.problems == []
            assert report.quarantined == 0
            return [event.type for event in store.read(before)]


def mailbox(path: Path) -> Connector:
    return MailboxConnector("takeout", {"path": str(path)}, Options(now=NOW))


def test_a_mailbox_that_was_imported_adds_nothing_when_it_is_synced(mail: Mail, tmp_path: Path) -> None:
    path = tmp_path / "All mail.mbox"
    munged = (re.sub(rb"^(>*From )", rb">\1", raw, flags=re.MULTILINE) for raw in MESSAGES.values())
    path.write_bytes(b"".join(b"From rosa@example.com Mon Mar  3 10:00:00 2025\n" + raw + b"\n" for raw in munged))
    mail.put(*(raw.replace(b"\n", b"\r\n") for raw in MESSAGES.values()), folder="Archive")
    log = Log(tmp_path / "events.db")
    assert log.sync(mailbox(path)).count("item.observed") == len(MESSAGES)
    assert log.sync(mail.connector()) == ["item.sighted"] * len(MESSAGES)
    assert log.sync(mail.connector()) == []
    # The server builds the folder anew: none is new, and none is gone.
    with mail.server.client(mail.user) as client:
        client.delete_folder("Archive")
    mail.put(*(raw.replace(b"\n", b"\r\n") for raw in MESSAGES.values()), folder="Archive")
    assert log.sync(mail.connector()) == []


@pytest.mark.parametrize("name", MESSAGES)
def test_each_kind_of_message_is_the_same_item_from_a_file_and_a_server(mail: Mail, tmp_path: Path, name: str) -> None:
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "one.eml").write_bytes(MESSAGES[name])
    mail.put(MESSAGES[name].replace(b"\n", b"\r\n"))
    log = Log(tmp_path / "events.db")
    assert log.sync(mail.connector()) == ["item.observed", "item.sighted"]
    assert log.sync(mailbox(tmp_path / "mail")) == ["item.sighted"]
