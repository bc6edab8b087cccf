"""How long after its delivery a new mail answers `ctxsync ask`, while `ctxsync watch` runs: a real Dovecot, real commands.

Each mail states one fact in a sentence. The clock runs from the server's acceptance to the end of the first `ask` that
names the fact; it holds IDLE, the fetch, the extraction, the graph, and the start of the command that asks.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import Row
from tests.connectors.imap.dovecot import DOVECOT, NEEDS, PASSWORD, serving

if TYPE_CHECKING:
    from typing import IO

PEOPLE = ("Ines Faro", "Tom Rahn", "Kofi Brandt", "Yuki Sato", "Lena Moreau", "Omar Haddad", "Rosa Quint", "Piet Novak")
PATIENCE = 30.0


def letter(name: str) -> bytes:
    """Return a mail that says where somebody works."""
    first, last = name.split()
    return (
        f"From: Maya Lindqvist <maya@example.org>\r\nTo: robin@example.com\r\nSubject: About {first}\r\n"
        f"Message-ID: <{first}@example.org>\r\nDate: Tue, 3 Mar 2026 10:00:00 +0100\r\n\r\n"
        f"Good morning,\r\n\r\n{name} works at {last} Labs since February 2026.\r\n\r\nMaya\r\n"
    ).encode()


def until(lines: IO[str], word: str) -> None:
    """Read lines up to the one that has a word."""
    for line in lines:
        if word in line:
            return
    raise SystemExit(f"`ctxsync watch` ended before it said {word!r}")


def rows() -> list[Row]:
    if DOVECOT is None:
        sys.stderr.write(f"{NEEDS}\n")
        return []
    script = str(Path(sys.executable).with_name("ctxsync"))
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        user = server.user()
        environment = {**os.environ, "CTXSYNC_HOME": f"{folder}/home", "ARRIVAL_PASSWORD": PASSWORD}
        subprocess.run([script, "init"], env=environment, stdout=subprocess.DEVNULL, check=True)
        with Path(folder, "home", "config.toml").open("a") as settings:
            settings.write(
                f'\n[[sources]]\nname = "work"\ntype = "imap"\nhost = "127.0.0.1"\nport = {server.port}\ntls = "none"\n'
                f'user = "{user}"\npassword = "env:ARRIVAL_PASSWORD"\n'
            )
        watching = subprocess.Popen([script, "watch"], env=environment, stderr=subprocess.PIPE, text=True)
        taken = []
        try:
            if watching.stderr is not None:
                until(watching.stderr, "ready")
            with server.client(user) as client:
                for name in PEOPLE:
                    client.append("INBOX", letter(name))
                    begun = time.perf_counter()
                    while not answered(script, environment, name):
                        if time.perf_counter() - begun > PATIENCE:
                            raise SystemExit(f"the mail about {name} did not answer within {PATIENCE} s")
                    taken.append(time.perf_counter() - begun)
        finally:
            watching.terminate()
            watching.communicate()
    return [
        Row("a new mail answers `ctxsync ask` after its delivery: median", statistics.median(taken), "s", most=3),
        Row("  the slowest of eight", max(taken), "s", most=3),
    ]


def answered(script: str, environment: dict[str, str], name: str) -> bool:
    """Ask where somebody works; say whether a fact, and not only a passage, answers."""
    command = [script, "ask", f"where does {name} work"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
    return said.startswith(f"{name} works at {name.split()[1]} Labs")
