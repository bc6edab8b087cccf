"""Where everything of one person lives on disk; knows paths and permissions, and nothing of what the files hold.

A home holds `config.toml`, `events.db` (the log), `graph.db` (the projection), `cache.db` (vectors), `writer.lock`,
`runs.json` (when each source and job last ran), `egress.db` (what was sent to a cloud model) and `spool/` (hints of git
hooks). It is 0700 and its files are 0600.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from ctxsync.errors import ConfigError

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_OURS = ("config.toml", "events.db")


@dataclass(frozen=True, slots=True)
class Home:
    """One home. Building it touches no disk.

    Args:
        path: The folder, absolute.
    """

    path: Path

    @property
    def config_path(self) -> Path:
        """The settings."""
        return self.path / "config.toml"

    @property
    def events_path(self) -> Path:
        """The event log."""
        return self.path / "events.db"

    @property
    def graph_path(self) -> Path:
        """The projection."""
        return self.path / "graph.db"

    @property
    def cache_path(self) -> Path:
        """The vectors: may be deleted."""
        return self.path / "cache.db"

    @property
    def egress_path(self) -> Path:
        """What was sent to cloud models; there is none before the first such call."""
        return self.path / "egress.db"

    @property
    def lock_path(self) -> Path:
        """The lock that one writer holds."""
        return self.path / "writer.lock"

    @property
    def runs_path(self) -> Path:
        """When each source and job last ran: may be deleted."""
        return self.path / "runs.json"

    @property
    def spool_path(self) -> Path:
        """Where git hooks leave hints."""
        return self.path / "spool"

    def create(self) -> None:
        """Make the folder if need be and close it to others whatever the umask says.

        A folder of something else (not empty, and none of our files in it) keeps the mode it has: `doctor` tells.

        Raises:
            ConfigError: The folder cannot be made, or a file stands there.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
            if self._is_ours() or not any(self.path.iterdir()):
                self.path.chmod(FOLDER_MODE)
            for path in self.files():
                if stat.S_IMODE(path.stat().st_mode) & 0o077:
                    path.chmod(FILE_MODE)
        except FileExistsError as error:
            raise ConfigError(f"{self.path} is a file, not a folder.", remedy="Choose another --home.") from error
        except OSError as error:
            raise ConfigError(
                f"The home {self.path} cannot be used: {error.strerror}.", remedy="Choose another --home."
            ) from error

    def files(self) -> list[Path]:
        """Return those of our files that exist, the databases' side files included, in order of name."""
        databases = [
            path.with_name(path.name + side)
            for path in (self.events_path, self.graph_path, self.cache_path, self.egress_path)
            for side in ("", "-wal", "-shm")
        ]
        holder = self.lock_path.with_name(f"{self.lock_path.name}.holder")
        known = [self.config_path, self.lock_path, holder, self.runs_path, *databases]
        return sorted(path for path in known if path.is_file())

    def reserve(self, path: Path) -> None:
        """Create an empty file with mode 0600 where none stands, so that a database is never born readable."""
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE)
            os.fchmod(handle, FILE_MODE)
            os.close(handle)
        except FileExistsError:
            return
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror}.", remedy="Run `ctxsync doctor`.") from error

    def _is_ours(self) -> bool:
        return any((self.path / name).exists() for name in _OURS)


def resolve(option: str | os.PathLike[str] | None = None) -> Home:
    """Return the home: `--home`, else `CTXSYNC_HOME`, else the platform's data directory for ctxsync.

    Args:
        option: The value of `--home`; None or empty when it was not given.

    Raises:
        ConfigError: Its name is not UTF-8.
    """
    chosen = os.fspath(option) if option else os.environ.get("CTXSYNC_HOME", "")
    if chosen:
        path = expanded(chosen).absolute()
        try:
            str(path).encode()
        except UnicodeEncodeError:
            # SQLite opens files by UTF-8 names alone.
            raise ConfigError("The name of the home is not UTF-8.", remedy="Choose another --home.") from None
        return Home(path)
    import platformdirs

    return Home(platformdirs.user_data_path("ctxsync", appauthor=False))


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with a leading `~` expanded; one that names no user stays as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib's raises


def real(path: Path) -> Path:
    """Return where a path leads, links followed; one that leads round in a circle stays as it is."""
    return Path(os.path.realpath(path))


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step: written beside it with mode 0600, flushed to the disk, renamed over it.

    Raises:
        OSError: The folder is missing, read-only or full; the old file is untouched.
    """
    import tempfile

    target = Path(os.path.realpath(path))  # a config.toml that is a link into dotfiles stays a link
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            os.fchmod(handle, FILE_MODE)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
