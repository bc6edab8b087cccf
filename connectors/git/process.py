"""Running the real git on a repository that may be hostile; knows nothing of commits, items or cursors.

Every process is started through GitPython with the caller's `GIT_*` variables removed (a hook inherits `GIT_DIR`),
with everything switched off that a repository's own configuration could make git run, and without network.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ctxsync.errors import AuthError, SourceError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CHUNK = 1 << 18
_STDERR_KEPT = 16_384
# What a repository's own configuration could otherwise run, or hide from a listing.
_SAFE = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "diff.external=",
    "diff.orderFile=/dev/null",
    "gpg.program=false",
    "log.showRoot=true",
    "log.showSignature=false",
    "protocol.allow=never",
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


class Damaged(Unavailable):
    """An object that the history needs cannot be read: damaged, or left out of a partial clone."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository's folder: a working tree, a linked worktree, or a bare repository.

    Args:
        path: The folder itself; a folder inside a repository is not one.
        source: Name of the configured source, for remedies.
    """

    path: Path
    source: str

    def stream(self, *arguments: str, stdin: Iterable[str] = (), warnings: list[str] | None = None) -> Iterator[bytes]:
        """Run git and yield its output in chunks as it comes.

        Args:
            arguments: The subcommand and its arguments.
            stdin: Lines for its standard input, without line ends.
            warnings: Takes what git complained about although it succeeded, a line an entry.

        Raises:
            AuthError: git refuses the repository.
            Damaged: an object cannot be read.
            Unavailable: anything else that failed, a missing git included.
        """
        if not self.path.is_dir():
            raise Unavailable(
                f"The repository {self.path} is not there.",
                remedy=f"Mount it or correct the path, then run `ctxsync sync {self.source}`.",
            )
        with tempfile.TemporaryFile() as file:
            lines = cast("BinaryIO", file)
            lines.writelines(f"{line}\n".encode() for line in stdin)
            lines.seek(0)
            running = _start(self.path, arguments, lines)
            complaints = _Complaints(running.stderr)
            _widen(running.stdout)
            finished = False
            try:
                while chunk := os.read(running.stdout.fileno(), CHUNK):
                    yield chunk
                finished = True
            finally:
                if not finished:
                    running.terminate()
                running.stdout.close()
                status = running.wait()
                text = complaints.text()
        if status:
            raise explain(text, status, self)
        if warnings is not None:
            warnings += text.splitlines()

    def output(self, *arguments: str, stdin: Iterable[str] = (), warnings: list[str] | None = None) -> bytes:
        """Run git and return all of its output; raises as `stream`."""
        return b"".join(self.stream(*arguments, stdin=stdin, warnings=warnings))


def _widen(pipe: BinaryIO) -> None:
    """Let git run ahead by whole chunks while one is worked on; where the pipe stays small, it only waits more."""
    set_size = getattr(fcntl, "F_SETPIPE_SZ", None)
    if set_size is not None:
        with contextlib.suppress(OSError):  # over the system's limit for this user
            fcntl.fcntl(pipe.fileno(), set_size, 4 * CHUNK)


class _Complaints:
    """Drains standard error in a thread: git blocks when nobody reads its warnings."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while chunk := self._pipe.read(4096):
            self._kept += chunk
            del self._kept[:-_STDERR_KEPT]

    def text(self) -> str:
        """Return the end of what was complained about, once the process is over."""
        self._thread.join()
        self._pipe.close()
        return self._kept.decode("utf-8", "replace")


def _start(path: Path, arguments: tuple[str, ...], stdin: BinaryIO) -> Any:
    """Start git and return its process: a `subprocess.Popen[bytes]` inside GitPython's wrapper."""
    try:
        import git  # noqa: PLC0415, RUF100 - half a second, and it looks for git while it is imported
    except ImportError as error:
        raise _no_git() from error
    # GitPython copies os.environ and can only add to it, so env(1) takes the inherited variables away.
    scrubbed = [part for name in sorted(os.environ) if name.startswith("GIT_") for part in ("-u", name)]
    options = [part for setting in _SAFE for part in ("-c", setting)]
    # Without a ceiling git would silently answer for whatever repository encloses the folder.
    ceiling = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 (of the real path, as git compares it)
    settings = [f"{name}={value}" for name, value in {**_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": ceiling}.items()]
    command = ["env", *scrubbed, *settings, "git", "--no-pager", "--no-replace-objects", *options]
    command += ["-C", os.path.realpath(path), *arguments]
    try:
        wrapped = git.Git().execute(command, istream=stdin, as_process=True)
    except git.exc.GitCommandNotFound as error:
        raise _no_git() from error
    process = wrapped.proc
    if process is None:
        raise _no_git()
    wrapped.proc = None  # ours to end: the wrapper would interrupt it whenever it is collected
    return process


def _no_git() -> Unavailable:
    return Unavailable("git is not installed, or not on PATH.", remedy="Install git 2.31 or newer, then sync again.")


def explain(complaint: str, status: int, repository: Repository) -> SourceError:
    """Turn git's complaint into a typed error that names the next command.

    Args:
        complaint: What git wrote to standard error, untranslated.
        status: Its exit status, not 0.
        repository: Whose it was.
    """
    path, again = repository.path, f"then run `ctxsync sync {repository.source}`."
    if "dubious ownership" in complaint or "unsafe repository" in complaint:
        named = re.search(r"--add safe\.directory (.+)", complaint)
        folder = named[1].strip() if named else str(path)
        return AuthError(
            f"git refuses to read {path} because another user owns it.",
            remedy=f"If you trust it, run `git config --global --add safe.directory {folder}`, {again}",
        )
    if "safe.bareRepository" in complaint:
        return AuthError(
            f"git refuses to read the bare repository {path}.",
            remedy=f"Run `git config --global safe.bareRepository all`, {again}",
        )
    if "Permission denied" in complaint or "Operation not permitted" in complaint:
        return AuthError(f"{path} may not be read by this user.", remedy=f"Correct its permissions, {again}")
    if "not a git repository" in complaint or "not a git command" in complaint:
        return Unavailable(
            f"{path} is not a git repository.",
            remedy=f"Give the repository's top folder as the path in config.toml, {again}",
        )
    if "repository extension" in complaint or "repo version" in complaint or "unknown repository" in complaint:
        return Unavailable(
            f"{path} was made by a newer git than the one on PATH.", remedy=f"Install a newer git, {again}"
        )
    if status == 127 and "git" in complaint and "env" in complaint:
        return _no_git()
    if status < 0:
        return Unavailable(f"git was stopped by signal {-status} while it read {path}.", remedy=f"Free memory, {again}")
    last = complaint.strip().splitlines()[-1].strip() if complaint.strip() else f"exit status {status}"
    return Damaged(
        f"git could not read {path}: {last}",
        remedy=f"Run `git -C {path} fsck` (and `git fetch --refetch` in a partial clone), {again}",
    )
