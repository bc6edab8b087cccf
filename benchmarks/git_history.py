"""How long a git history takes to become events in the log, beside git's own listing of it piped to nothing.

The repository (50,000 commits by default, made by `git fast-import`) is kept in a cache folder between runs. The
baseline is `git log -z --raw` of the same refs. Memory is the peak of this process after a tenth of the commits, and at
the end. Tier 0 of the extraction over the same commits is measured on its own: it reads the log afterwards.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import Row
from ctxsync.config import Config
from ctxsync.connectors.git import GitConnector
from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.reactor import extract_pending
from ctxsync.engine.schema import universal
from ctxsync.events.store import EventStore
from ctxsync.sync import SourceReport, Step, SyncRequest, options_for, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMITS = 50_000
REPEATS = 3


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


def clock() -> tuple[float, float]:
    """Return seconds of the clock, and of the processors: ours and those of git processes that ended."""
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter(), mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Return how many seconds it takes, of the clock and of the processors."""
    begun = clock()
    action()
    ended = clock()
    return ended[0] - begun[0], ended[1] - begun[1]


def plain(path: Path) -> None:
    refs = ("--branches", "--tags", "--remotes", "HEAD")
    subprocess.run(["git", "-C", str(path), "log", "-z", "--raw", *refs], stdout=subprocess.DEVNULL, check=True)


def into(store: EventStore, path: Path, progress: Callable[[Step], None] = lambda _: None) -> SourceReport:
    """Read what is new in the repository into a log, as a pass does."""
    now = time.time_ns() // 1_000_000
    report = SourceReport("code")
    connector = GitConnector("code", {"path": str(path)}, options_for(Config(), "code", SyncRequest(), now))
    read_source(store, connector, now, report, progress=progress)
    if report.problems:
        raise SystemExit(str(report.problems))
    return report


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def rows(commits: int = COMMITS, at: str = "") -> list[Row]:
    path = Path(at) if at else repository(commits)
    early = 0.0

    def watch(step: Step) -> None:
        nonlocal early
        if not early and step.done >= commits // 10:
            early = peak()

    plain(path)
    listings, loggings = [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(REPEATS):  # interleaved, so that a busy moment falls on both alike
            listings.append(timed(lambda: plain(path)))
            with EventStore.open(Path(folder) / f"{turn}.db", write=True) as store:
                loggings.append(timed(lambda: into(store, path, watch)))
        late = peak()
        chain = Chain(universal(), Identity(), ())
        with EventStore.open(Path(folder) / "0.db", write=True) as store:
            again = timed(lambda: into(store, path))[0]
            structural = timed(lambda: extract_pending(store, chain))
            seen = sum(1 for _ in store.read(types=("item.observed",)))
    listing, logging = (statistics.median(seconds for seconds, _ in each) for each in (listings, loggings))
    worked, working = (statistics.median(work for _, work in each) for each in (listings, loggings))
    return [
        Row("git history into the log, structural; git log -z --raw", logging, "s", listing, most=3),
        Row("  the same, in processor time", working, "s", worked),
        Row("  commits", seen / logging, "/s"),
        Row("  unchanged pass", again, "s"),
        Row("peak memory after all commits; after a tenth", late, "MB", early, most=1.1),
        Row("  tier 0 of those commits into the log; git log -z --raw", structural[0], "s", listing),
    ]
