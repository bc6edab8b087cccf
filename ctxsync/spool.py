"""Hints that git hooks leave in `HOME/spool/git`: which repositories changed; a lost or forged hint only costs a read.

A hint is a small file whose lines are absolute paths of a repository (its work tree or its git directory). Hooks write
it beside and rename it into place. Nothing in it is run or opened: a path only selects among configured sources.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ctxsync.config import Config
    from ctxsync.home import Home

LARGEST_HINT = 65_536
"""Bytes: a hint is a few paths; more is not ours."""
MOST_HINTS = 10_000
"""Files read in one go: the rest waits for the next one."""
OLDEST_HALF = 3600
"""Seconds: a hook writes its hint in a moment."""
_TAKEN = ".taken"


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint taken from the spool, not yet acted on.

    Args:
        file: The taken file; it stands until `settle`, so that a killed pass finds it again.
        repositories: Paths named in it.
    """

    file: Path
    repositories: tuple[str, ...]


def folder(home: Home) -> Path:
    """Return where git hooks write."""
    return home.spool_path / "git"


def take(home: Home) -> list[Hint]:
    """Take every hint that is there: renamed first, so that a hook that writes meanwhile leaves a new one.

    Hints that were taken before and not settled are among them.
    """
    place = folder(home)
    try:
        found = sorted(entry.name for entry in os.scandir(place))
    except OSError:
        return []
    names = [name for name in found if not name.startswith(".")][:MOST_HINTS]
    _sweep(place / name for name in found if name.startswith("."))
    hints: list[Hint] = []
    for name in names:
        path = place / name
        try:
            if not stat.S_ISREG(path.lstat().st_mode):
                continue
            if not name.endswith(_TAKEN):
                path = path.replace(place / f"{name}{_TAKEN}")
            hints.append(Hint(path, tuple(_read(path))))
        except OSError:
            continue  # another reader took it, or it cannot be read: a lost hint only delays
    return hints


def settle(hints: Iterable[Hint], config: Config, read: Iterable[str]) -> None:
    """Delete the hints whose sources, if they have any, were all read."""
    names = set(read)
    for hint in hints:
        if names.issuperset(sources_of(hint.repositories, config)):
            hint.file.unlink(missing_ok=True)


def sources_of(repositories: Iterable[str], config: Config) -> list[str]:
    """Return the names of the git sources that hints are about, in the order of config.toml."""
    wanted = {place for path in repositories for place in _places(path)}
    return [
        source.name
        for source in config.sources
        if source.type == "git" and not wanted.isdisjoint(_places(str(source.root)))
    ]


@contextmanager
def watched(home: Home, wake: Callable[[], None]) -> Iterator[None]:
    """Call `wake` from another thread when a hint arrives, until the context is left.

    Where the spool cannot be watched (no inotify left), hints wait for the next reconcile.
    """
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    class Arrivals(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            name = os.path.basename(os.fsdecode(event.dest_path or event.src_path))  # noqa: PTH119  any bytes
            whole = not name.startswith(".") and not name.endswith(_TAKEN)
            if whole and event.event_type in ("created", "moved", "closed"):
                wake()

    place = folder(home)
    observer = Observer()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        observer.schedule(Arrivals(), str(place))
        observer.start()
    except OSError:
        yield
        return
    try:
        yield
    finally:
        observer.stop()
        observer.join()


def _sweep(halves: Iterable[Path]) -> None:
    """Delete what hooks began and were killed over, long ago."""
    for path in halves:
        try:
            if time.time() - path.lstat().st_mtime > OLDEST_HALF:
                path.unlink()
        except OSError:
            continue


def _read(path: Path) -> list[str]:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        data = file.read(LARGEST_HINT + 1)
    if len(data) > LARGEST_HINT:
        return []
    lines = (os.fsdecode(line) for line in data.split(b"\n"))
    return [line for line in lines if line.startswith("/") and "\0" not in line]


def _places(path: str) -> set[str]:
    """Return the real paths by which one repository may be named: work tree, git directory, common directory."""
    real = os.path.realpath(path)
    found = {real}
    inner = os.path.join(real, ".git")  # noqa: PTH118  a hint's path may be any bytes
    try:
        if os.path.isdir(inner):  # noqa: PTH112  as above
            found.add(inner)
        elif os.path.isfile(inner):  # noqa: PTH113  as above
            text = Path(inner).read_bytes()[:4096]
            if text.startswith(b"gitdir:"):
                target = os.fsdecode(text.removeprefix(b"gitdir:").strip())
                found.add(os.path.realpath(os.path.join(real, target)))  # noqa: PTH118  as above
    except (OSError, ValueError):
        return found
    # A linked worktree's directory stands below the repository's, an absorbed submodule's below its superproject's.
    above = {place.split(part, 1)[0] for place in found for part in ("/worktrees/", "/.git/modules/") if part in place}
    return found | above
