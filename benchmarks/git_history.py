"""How long a git history takes to become changes, and events in the log, beside git's own listing of it.

The repository (50,000 commits by default, made by `git fast-import`) is kept in a cache folder between runs; a path as
the second argument measures another one. The baseline is `git log -z --raw` of the same refs into nothing. Memory is
the peak of this process after a tenth of the batches, and at the end. Prints and returns rows (what, value, unit).
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ctxsync.changes import to_events
from ctxsync.connectors.base import Json, Options, Stream
from ctxsync.connectors.git import GitConnector
from ctxsync.events.store import EventStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.connectors.base import Batch


def history(commits: int) -> Iterator[bytes]:
    """Yield a fast-import stream: a line of commits with one to four files each, and a merge every hundred."""
    chance = random.Random(1)
    for number in range(1, commits + 1):
        message = (
            f"Change {number} of module {number % 97}\n\nWhy it was done, at some length, for #{number % 300}.\n\n"
            f"Fixes #{number % 50}\nCo-authored-by: Sam Reed <sam@example.com>\n"
        )
        when = f"{1_500_000_000 + number * 600} +0100"
        yield (
            f"commit refs/heads/main\nmark :{number}\nauthor Robin {number % 20} <robin{number % 20}@example.com> {when}\n"
            f"committer Robin Vale <robin@example.com> {when}\ndata {len(message)}\n{message}"
        ).encode()
        if number > 1:
            yield b"from :%d\n" % (number - 1)
        if number % 100 == 0:
            yield b"merge :%d\n" % (number - 50)
        for _ in range(chance.randint(1, 4)):
            folder, part, file = chance.randint(0, 30), chance.randint(0, 20), chance.randint(0, 9)
            yield b"M 100644 inline src/d%d/e%d/f%d.py\ndata 8\n%08d\n" % (folder, part, file, number)
        yield b"\n"


def repository(commits: int) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    path = cache / "ctxsync-benchmarks" / f"history-{commits}.git"
    if not (path / "made").exists():
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
        importing = subprocess.Popen(
            ["git", "-C", str(path), "fast-import", "--quiet", "--force"], stdin=subprocess.PIPE
        )
        with importing:
            if importing.stdin is not None:
                importing.stdin.writelines(history(commits))
        (path / "made").touch()
    return path


def used() -> tuple[float, float]:
    """Return seconds of the clock, and of the processors: ours and those of git processes that ended."""
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter(), mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def baseline(path: Path) -> tuple[float, float]:
    refs = ("--branches", "--tags", "--remotes", "HEAD")
    begun = used()
    subprocess.run(["git", "-C", str(path), "log", "-z", "--raw", *refs], stdout=subprocess.DEVNULL, check=True)
    clock, processors = used()
    return clock - begun[0], processors - begun[1]


def batches(path: Path, cursor: dict[str, Json]) -> Iterator[Batch]:
    connector = GitConnector("code", {"path": str(path)}, Options(now=time.time_ns() // 1_000_000))
    return connector.read(Stream("code"), cursor)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(commits: int = 50_000, at: str = "") -> list[tuple[str, float, str]]:
    path = Path(at) if at else repository(commits)
    baseline(path)
    plain, plain_work = baseline(path)

    cursor: dict[str, Json] = {}
    started, before = used()
    seen, early = 0, 0.0
    for batch in batches(path, cursor):
        seen += batch.seen
        cursor.update(batch.cursor)
        if not early and seen >= commits // 10:
            early = peak()
    ended, after = used()
    changes, work = ended - started, after - before
    late = peak()
    cursor = {key: value for key, value in cursor.items() if value is not None}

    begun = time.perf_counter()
    changed = sum(len(batch.changes) for batch in batches(path, cursor))
    again = time.perf_counter() - begun
    if changed:
        raise SystemExit("a pass over an unchanged history found changes")

    with tempfile.TemporaryDirectory() as folder:
        store = EventStore.open(Path(folder) / "events.db", write=True)
        begun = time.perf_counter()
        for batch in batches(path, {}):
            events = list(to_events("code", batch.changes, time.time_ns() // 1_000_000))
            store.append(events, cursors={("code", "."): batch.cursor})
        logged = time.perf_counter() - begun
        store.close()
    return [
        ("commits", float(seen), ""),
        ("git log -z --raw", plain, "s"),
        ("history into changes", changes, "s"),
        ("ratio", changes / plain, "x"),
        ("ratio of processor time", work / plain_work, "x"),
        ("unchanged pass", again, "s"),
        ("history into the log", logged, "s"),
        ("commits a second into the log", seen / logged, ""),
        ("peak memory after a tenth", early, "MB"),
        ("peak memory after all", late, "MB"),
        ("cursor", sum(len(key) + len(str(value)) for key, value in cursor.items()) / 1e6, "MB"),
    ]


if __name__ == "__main__":
    arguments = sys.argv[1:]
    for what, value, unit in main(int(arguments[0]) if arguments else 50_000, *arguments[1:2]):
        print(f"{what:32} {value:12.3f} {unit}")
