"""The one place that lists and reads files; a test gives the connector another one. It knows no notes."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ctxsync.errors import BadItem

MAX_BYTES = 16 * 1024 * 1024  # a larger note is data; it is quarantined, not read into memory
_CHUNK = 1024 * 1024
_SECOND = 1_000_000_000  # nanoseconds
_COARSE = 2 * _SECOND  # FAT keeps even seconds, older network file systems whole ones
_FINE = _SECOND // 20  # ext4, APFS and NTFS tick every 10 ms or faster
NEVER = -1  # an mtime that no file has: read again next time


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells a changed file without reading it: bytes, nanoseconds, inode."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Contents:
    """A file as read.

    Args:
        data: Its bytes.
        raw_digest: SHA-256 (hex) of them.
        stamp: Its stamp; `mtime_ns` is NEVER when a write right after the reading could leave the mtime as it is.
        modified_ns: Its mtime.
    """

    data: bytes
    raw_digest: str
    stamp: Stamp
    modified_ns: int


class TooLarge(BadItem):
    """A file over the limit; `raw_digest` is of all its bytes."""

    def __init__(self, message: str, raw_digest: str, stamp: Stamp) -> None:
        super().__init__(message, remedy="Split it, or exclude it in config.toml.")
        self.raw_digest = raw_digest
        self.stamp = stamp


class Disk:
    """The real file system."""

    def list(self, folder: str) -> list[os.DirEntry[str]]:
        """Return a folder's entries by name; raises OSError."""
        with os.scandir(folder) as entries:
            return sorted(entries, key=_name)

    def stat(self, path: str) -> os.stat_result:
        """Return the stat of what a path leads to; raises OSError."""
        return Path(path).stat()

    def is_placeholder(self, path: str, found: os.stat_result) -> bool:
        """Say whether a file's bytes are elsewhere (iCloud): it has a size and no block.

        Some file systems keep small files without blocks, or report none at all; asking for the first data tells.
        """
        if found.st_blocks or not found.st_size:
            return False
        if sys.platform == "darwin":
            return True
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            os.lseek(handle, 0, os.SEEK_DATA)
        except OSError as error:
            return error.errno == errno.ENXIO
        finally:
            os.close(handle)
        return False

    def read(self, path: str) -> Contents:
        """Read a file whole; raises OSError, or `TooLarge` over MAX_BYTES."""
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe in a file's place must not block
        with os.fdopen(handle, "rb") as file:
            begun = time.time_ns()
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            if before.st_size > MAX_BYTES:
                hasher = hashlib.sha256()
                while chunk := file.read(_CHUNK):
                    hasher.update(chunk)
                limit = MAX_BYTES // 1024 // 1024
                message = f"The file has {before.st_size:,} bytes; notes of up to {limit} MB are read."
                raise TooLarge(message, hasher.hexdigest(), stamp_of(before))
            data = file.read(MAX_BYTES + 1)
            after = os.fstat(file.fileno())
        racy = after.st_mtime_ns > begun - (_COARSE if after.st_mtime_ns % _SECOND == 0 else _FINE)
        moved = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
        mtime_ns = NEVER if racy or moved else after.st_mtime_ns
        return Contents(
            data, hashlib.sha256(data).hexdigest(), Stamp(after.st_size, mtime_ns, after.st_ino), after.st_mtime_ns
        )


def stamp_of(found: os.stat_result) -> Stamp:
    """Return the stamp of a stat result."""
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ino)


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name
