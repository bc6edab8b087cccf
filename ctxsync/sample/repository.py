"""Builds the sample repository from a list of commits with `git fast-import`; knows nothing of ctxsync's log or graph."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ROBIN = "Robin Vale <robin@example.com>"
NADIA = "Nadia Okoro <nadia@example.com>"
SAM = "Sam Whitlock <sam@example.com>"
PRIYA = "Priya Raman <priya@example.com>"


@dataclass(frozen=True, slots=True)
class _Commit:
    when: str
    author: str
    message: str
    files: tuple[tuple[str, str], ...]


COMMITS = (
    _Commit(
        "2025-11-17T10:02:00+00:00",
        ROBIN,
        "Start the tides repository\n\nOne place for the API and the ingest, so that a change to both is one change.\n",
        (("README.md", "# tides\n"), ("api/app.py", "routes = []\n")),
    ),
    _Commit(
        "2025-11-26T16:40:00+00:00",
        NADIA,
        "Read buoys in batches of fifty\n\nOne request a buoy kept the gateway busy for longer than a minute.\n",
        (("ingest/reader.py", "BATCH = 50\n"),),
    ),
    _Commit(
        "2026-01-19T09:15:00+00:00",
        SAM,
        "Add a health page to the API\n\nFixes #3\n",
        (("api/health.py", "OK = 'ok'\n"),),
    ),
    _Commit(
        "2026-02-11T14:27:00+00:00",
        SAM,
        "Page through tides instead of sending all of them\n\nA harbour with three years of data took nine seconds.\n\n"
        "Co-authored-by: Robin Vale <robin@example.com>\n",
        (("api/app.py", "routes = ['tides']\nPAGE = 200\n"), ("api/paging.py", "def page(rows, n): return rows[:n]\n")),
    ),
    _Commit(
        "2026-03-11T08:05:00+00:00",
        NADIA,
        "Renew the queue's certificate by itself\n\nIt expired in the night and nobody was told.\n\nFixes #17\n",
        (("ingest/certificates.py", "RENEW_DAYS = 14\n"),),
    ),
    _Commit(
        "2026-04-22T11:48:00+00:00",
        PRIYA,
        "Round invoices to whole cents, once\n\nRounding each line lost a cent on every ninth invoice.\n",
        (("billing/rounding.py", "def total(lines): return round(sum(lines), 2)\n"),),
    ),
    _Commit(
        "2026-06-02T15:30:00+00:00",
        NADIA,
        "Keep late readings for a day before closing the hour\n",
        (("ingest/watermark.py", "HOURS = 24\n"),),
    ),
    _Commit(
        "2026-07-14T13:13:00+00:00",
        SAM,
        "Turn paging on for every port\n\nFixes #21\n",
        (("api/app.py", "routes = ['tides']\nPAGE = 100\n"),),
    ),
    _Commit(
        "2026-08-27T10:10:00+00:00",
        ROBIN,
        "Run the tests in the cellar\n",
        (("ci.sh", "exec python -m unittest\n"),),
    ),
    _Commit(
        "2026-11-09T17:55:00+00:00",
        SAM,
        "Give the reader's retries a ceiling\n\nFrom the list that Nadia left.\n",
        (("ingest/reader.py", "BATCH = 50\nRETRIES = 5\n"),),
    ),
    _Commit(
        "2026-11-16T21:20:00+00:00",
        PRIYA,
        "Read orders from the new database\n\nCo-authored-by: Robin Vale <robin@example.com>\n",
        (("billing/orders.py", "DSN = 'service=orders'\n"),),
    ),
)


def build(folder: Path) -> None:
    """Create the repository in `folder`, which must not exist; the same commits each time, SHAs included."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(
        ["git", "init", "--quiet", "--initial-branch=main", "--template=", str(folder)], check=True, env=environment
    )
    subprocess.run(["git", "-C", str(folder), "fast-import", "--quiet"], input=_stream(), check=True, env=environment)
    subprocess.run(["git", "-C", str(folder), "reset", "--quiet", "--hard", "main"], check=True, env=environment)


def _stream() -> bytes:
    lines: list[str] = []
    for commit in COMMITS:
        when = int(datetime.fromisoformat(commit.when).timestamp())
        ident = f"{commit.author} {when} +0000"
        lines.append(f"commit refs/heads/main\nauthor {ident}\ncommitter {ident}\n{_data(commit.message)}")
        lines.extend(f"M 100644 inline {path}\n{_data(text)}" for path, text in commit.files)
    return "".join(lines).encode()


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"
