"""A 1 GB mbox: that its reading streams in flat memory, and how fast messages become items.

The memory is the whole process's, over what it held before the reading; the cursor of 100,000 messages is part of it.
The baseline iterates the same bytes with the standard library's `mailbox.mbox`, which parses each message too and
makes no item of it; it is measured on the first part of the file, for it is as slow.
"""

from __future__ import annotations

import gc
import mailbox
import tempfile
import time
from contextlib import closing
from itertools import islice
from pathlib import Path

from benchmarks.report import Row
from ctxsync.connectors.base import Json, Options, Stream
from ctxsync.connectors.mailbox import MailboxConnector

SIZE = 1_000_000_000  # bytes
PART = 5_000  # messages that the baseline iterates
NOW = 1_790_000_000_000

WORDS = (
    "The beans are ripe and the peas will follow next week, so bring the large baskets and the scales.\n"
    "Theo asked whether the shed can be painted before the harvest; the paint is on the shelf by the door.\n\n"
)


def message(number: int) -> bytes:
    quoted = "".join(f"> {line}\n" for line in WORDS.splitlines()) if number % 3 else ""
    attached = "QmVhbnMgYW5kIHBlYXMsIHBlYXMgYW5kIGJlYW5zLCBiZWFucyBhbmQgcGVhcy4KQmVhbnMgYW5kIHBl\n" * (number % 5 * 100)
    head = (
        f"From rosa@example.com Tue Mar  3 10:00:00 2026\n"
        f"Received: from a.example.com by b.example.com; Tue, 3 Mar 2026 10:00:00 +0000\n"
        f"From: Rosa Quint <rosa{number % 500}@example.com>\nTo: Robin Vale <robin@example.com>, theo@example.com\n"
        f"Subject: Re: The garden, letter {number}\nDate: Tue, 3 Mar 2026 10:00:{number % 60:02} +0000\n"
        f"Message-ID: <m{number}@example.com>\nIn-Reply-To: <m{number - number % 7}@example.com>\n"
    )
    text = (
        f"Letter {number}.\n\n{WORDS * (1 + number % 4)}\nOn Mon, 2 Mar 2026, Robin Vale wrote:\n{quoted}\n-- \nRosa\n"
    )
    if not attached:
        return f"{head}Content-Type: text/plain; charset=utf-8\n\n{text}\n".encode()
    return (
        f'{head}Content-Type: multipart/mixed; boundary="cut"\n\n--cut\nContent-Type: text/plain\n\n{text}\n--cut\n'
        f"Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n{attached}\n--cut--\n\n"
    ).encode()


def make_mbox(path: Path, size: int) -> int:
    number = 0
    with path.open("wb", buffering=8_000_000) as file:
        while file.tell() < size:
            file.writelines(map(message, range(number, number + 200)))
            number += 200
    return number


def resident() -> float:
    """Return this process's resident memory in MB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    return 0.0


def one_pass(path: Path, cursor: dict[str, Json]) -> tuple[float, int, list[float]]:
    """Read once; return the seconds, the items observed, and the resident memory at each tenth of a thousand."""
    begun = time.perf_counter()
    observed = 0
    memory: list[float] = []
    connector = MailboxConnector("mail", {"path": str(path)}, Options(now=NOW))
    for number, batch in enumerate(connector.read(Stream("mail"), dict(cursor) or None), 1):
        observed += sum(type(change).__name__ == "Observed" for change in batch.changes)
        cursor.update(batch.cursor)
        for key in [key for key, value in batch.cursor.items() if value is None]:
            del cursor[key]
        if number % 20 == 0:
            memory.append(resident())
    return time.perf_counter() - begun, observed, memory


def standard_library(path: Path, messages: int) -> float:
    begun = time.perf_counter()
    with closing(mailbox.mbox(path, create=False)) as box:
        for _ in islice(iter(box), messages):
            pass
    return time.perf_counter() - begun


def rows(size: int = SIZE) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "part.mbox"
        part.write_bytes(b"".join(map(message, range(PART))))
        path = Path(folder) / "long.mbox"
        count = make_mbox(path, size)
        time.sleep(2.1)  # so that the file is older than what counts as just written
        one_pass(part, {})
        baseline = standard_library(part, PART)
        seconds, _, _ = one_pass(part, {})
        gc.collect()
        before = resident()
        cursor: dict[str, Json] = {}
        whole, observed, memory = one_pass(path, cursor)
        if observed != count:
            raise SystemExit(f"{observed} of {count} messages were observed")
        again, none, _ = one_pass(path, cursor)
        with path.open("ab") as file:
            file.write(b"".join(message(number) for number in range(count, count + 10)))
        time.sleep(2.1)
        grown, new, _ = one_pass(path, cursor)
        if (none, new) != (0, 10):
            raise SystemExit(f"an unchanged mbox gave {none} messages, ten more gave {new}")
    quarter = memory[len(memory) // 4]
    return [
        Row(f"mailbox: messages a second; mailbox.mbox iterates {PART:,}", PART / seconds, "/s", PART / baseline),
        Row(f"mailbox: a 1 GB mbox, {count:,} messages", whole, "s"),
        Row("  memory over that before, at its most", max(memory) - before, "MB"),
        Row("  memory in the last three quarters", max(memory) - quarter, "MB", most=100),
        Row("  unchanged", again, "s"),
        Row("  ten messages more", grown, "s"),
    ]
