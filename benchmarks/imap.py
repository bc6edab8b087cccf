"""How long mail takes from a real Dovecot to batches and into the log, beside imapclient fetching the same bytes only.

10,000 messages of 1 to 20 kB (list mail with quotations, some with HTML or an attachment) are written as Maildir files;
the server's index of them is built before anything is timed. The baseline is a bare imapclient loop that fetches the same
chunks and parses nothing of the messages. The unchanged pass counts commands with a proxy that notes what the server was asked.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from base64 import encodebytes
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import imapclient

from benchmarks.git_history import peak, timed
from benchmarks.report import Row
from ctxsync.config import Config
from ctxsync.connectors.imap import ImapConnector
from ctxsync.connectors.imap.connector import BATCH
from ctxsync.connectors.imap.fetching import CHUNK_BYTES
from ctxsync.events.store import EventStore
from ctxsync.sync import SourceReport, SyncRequest, options_for, read_source
from tests.connectors.imap.dovecot import DOVECOT, NEEDS, PASSWORD, Dovecot, serving
from tests.connectors.imap.wire import traced

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGES = 10_000
FOLDERS = 2
REPEATS = 3
LINE = 100_000_000  # bits a second


def messages(number: int) -> Iterator[bytes]:
    """Yield messages of 1 to 20 kB, most of them small, as people and lists write them."""
    chance = random.Random(1)
    words = [
        "the",
        "report",
        "was",
        "late",
        "because",
        "two",
        "pumps",
        "failed",
        "and",
        "nobody",
        "had",
        "read",
        "the",
        "manual",
        "that",
        "Maya",
        "left",
        "on",
        "the",
        "desk",
    ]

    def lines(count: int, mark: str = "") -> str:
        return "\n".join(mark + " ".join(chance.choices(words, k=12)) for _ in range(count)) + "\n"

    for at in range(number):
        day = f"{1 + at % 28:02d} {('Jan', 'Feb', 'Mar', 'Apr', 'May')[at % 5]} 2024 10:{at % 60:02d}:00 +0100"
        head = (
            f"Return-Path: <robin{at % 90}@example.com>\nReceived: from a.example.com by b.example.org; {day}\n"
            f"Received: from c.example.com by a.example.com; {day}\nFrom: Robin Vale <robin{at % 90}@example.com>\n"
            f"To: Maya Lindqvist <maya@example.org>, list{at % 7}@example.org\nSubject: Re: Pump {at % 400}\nDate: {day}\n"
            f"Message-ID: <{at}@example.com>\nIn-Reply-To: <{max(0, at - 7)}@example.com>\n"
            f"References: <{max(0, at - 14)}@example.com> <{max(0, at - 7)}@example.com>\nMIME-Version: 1.0\n"
        )
        long = chance.randint(6, 270)  # lines of 65 bytes: 1 to 18 kB
        own = lines(long // 3) + "\nOn Monday, Maya wrote:\n" + lines(long - long // 3, "> ")
        plain = f"Content-Type: text/plain; charset=utf-8\n\n{own}\n-- \nRobin Vale\n"
        if at % 5 == 0:
            page = f"<html><body><p>{lines(20)}</p><blockquote>{lines(60)}</blockquote></body></html>"
            html = f"Content-Type: text/html; charset=utf-8\n\n{page}\n"
            text = f"{head}Content-Type: multipart/alternative; boundary=b\n\n--b\n{plain}--b\n{html}--b--\n"
        elif at % 11 == 0:
            file = encodebytes(chance.randbytes(chance.randint(1_000, 9_000))).decode()
            part = f"Content-Type: image/png; name=pump.png\nContent-Transfer-Encoding: base64\n\n{file}"
            text = f"{head}Content-Type: multipart/mixed; boundary=b\n\n--b\n{plain}--b\n{part}--b--\n"
        else:
            text = head + plain
        yield text.encode()


def deliver(server: Dovecot, user: str, number: int) -> int:
    """Write the messages as Maildir files and have the server index them; return their bytes with CRLF line ends."""
    size = 0
    for folder, first in (("", 0), (".Archive", 1)):
        path = server.maildir(user) / folder
        for name in ("cur", "new", "tmp"):
            (path / name).mkdir(parents=True, exist_ok=True)
        for at, message in enumerate(messages(number)):
            if at % FOLDERS == first:
                (path / "cur" / f"{1_700_000_000 + at}.M{at}P1.example:2,S").write_bytes(message)
                size += len(message) + message.count(b"\n")
    if os.geteuid() == 0:
        owner = (server.folder / "mail").stat()
        for path in [server.maildir(user), *server.maildir(user).rglob("*")]:
            shutil.chown(path, owner.st_uid, owner.st_gid)
    with server.client(user) as client:
        for folder in ("INBOX", "Archive"):
            client.select_folder(folder, readonly=True)
            client.fetch(client.search("ALL"), ["RFC822.SIZE"])
    return size


def bare(server: Dovecot, user: str, port: int = 0) -> None:
    """Fetch everything in chunks as the connector does, and do nothing with it."""
    with imapclient.IMAPClient("127.0.0.1", port or server.port, ssl=False, timeout=60) as client:
        client.login(user, PASSWORD)
        for folder in ("INBOX", "Archive"):
            client.select_folder(folder, readonly=True)
            found: dict[int, Any] = client.fetch(client.search("ALL"), ["RFC822.SIZE", "INTERNALDATE"])
            chunk: list[int] = []
            held = 0
            for uid in [*sorted(found, reverse=True), 0]:
                size = found[uid][b"RFC822.SIZE"] if uid else 0
                if chunk and (not uid or len(chunk) == BATCH or held + size > CHUNK_BYTES):
                    client.fetch(chunk, ["BODY.PEEK[]"])
                    chunk, held = [], 0
                chunk.append(uid)
                held += size


def connector(port: int, user: str) -> ImapConnector:
    settings = {"host": "127.0.0.1", "port": port, "tls": "none", "user": user, "password": "env:IMAP_BENCH"}
    now = time.time_ns() // 1_000_000
    return ImapConnector("work", settings, options_for(Config(), "work", SyncRequest(), now))


def batches(port: int, user: str) -> int:
    one = connector(port, user)
    (stream,) = one.discover()
    return sum(batch.seen for batch in one.read(stream, None))


def into(store: EventStore, port: int, user: str) -> SourceReport:
    report = SourceReport("work")
    read_source(store, connector(port, user), time.time_ns() // 1_000_000, report)
    if report.problems:
        raise SystemExit(str(report.problems))
    return report


@contextmanager
def throttled(port: int) -> Iterator[int]:
    """Put a line of 100 Mbit/s before the server."""
    with traced(port) as wire:

        def slowly(data: bytes) -> bytes:
            time.sleep(len(data) * 8 / LINE)
            return data

        wire.fault = slowly
        yield wire.port


def rows(number: int = MESSAGES) -> list[Row]:
    if DOVECOT is None:
        sys.stderr.write(f"{NEEDS}\n")
        return []
    os.environ["IMAP_BENCH"] = PASSWORD
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        user = server.user()
        size = deliver(server, user, number)
        bare(server, user)
        fetching, reading, logging = [], [], []
        for turn in range(REPEATS):  # interleaved, so that a busy moment falls on all alike
            fetching.append(timed(lambda: bare(server, user)))
            reading.append(timed(lambda: batches(server.port, user)))
            with EventStore.open(Path(folder) / f"{turn}.db", write=True) as store:
                logging.append(timed(lambda: into(store, server.port, user)))
        late = peak()
        with throttled(server.port) as port:
            far = timed(lambda: bare(server, user, port))[0], timed(lambda: batches(port, user))[0]
        with EventStore.open(Path(folder) / "0.db", write=True) as store, traced(server.port) as wire:
            again = timed(lambda: into(store, wire.port, user))[0]
            trips = len(wire.commands())
    base, read, logged = (statistics.median(clock for clock, _ in each) for each in (fetching, reading, logging))
    return [
        Row(f"IMAP backfill of {number:,} messages ({size / 1e6:.0f} MB); bare imapclient", read, "s", base, most=2),
        Row("  the same two over a line of 100 Mbit/s", far[1], "s", far[0], most=2),
        Row("  into the log", logged, "s", base),
        Row("  messages into the log", number / logged, "/s"),
        Row("  pass with nothing new", again, "s"),
        Row("  commands of that pass, a folder", trips / FOLDERS, "", most=10),
        Row("  peak memory", late, "MB"),
    ]
