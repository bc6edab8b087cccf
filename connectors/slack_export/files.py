"""The files of an export, in a folder or in a zip, none of them trusted; knows no Slack.

A zip is never unpacked: its members are read one at a time. What could do harm (a name that leads out of the export,
a link, a member that would unpack to a multiple of what it holds) is listed with why it is not read.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Final

from ctxsync.connectors.slack.directory import readable
from ctxsync.errors import BadItem, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_BYTES: Final = 256_000_000
"""A file that is parsed as a whole is no larger: its values take several times that in memory."""
MAX_RATIO: Final = 200
"""JSON packs to a twentieth; deflate's own limit is 1032, and only what was made for it comes near."""
_SMALL: Final = 1_000_000  # bytes: what unpacks to less may have any ratio
_MAX_DEPTH: Final = 4  # folders: an enclosing one or two, the export, a channel
_MAX_FILES: Final = 2_000_000
# Uploads beside the messages, and what systems leave in folders and zips.
_NOT_LOOKED_INTO: Final = ("__uploads", "attachments", "__MACOSX", "__avatars")
_ENCRYPTED: Final = 0x1
UNREADABLE: Final = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What reading a file, a zip's member or something gzipped raises."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of an export.

    Args:
        path: Relative to what the source's `path` names, `/` between the parts.
        size: Bytes, unpacked.
        stamp: Changes when its bytes do: size and time of change, or a zip member's size and checksum.
        opener: Opens it for reading bytes.
        disk: Where it is on this disk; None for a zip's member.
    """

    path: str
    size: int
    stamp: str
    opener: Callable[[], IO[bytes]]
    disk: Path | None = None

    @property
    def name(self) -> str:
        """Its own name, without folders."""
        return self.path.rpartition("/")[2]

    def read(self) -> bytes:
        """Return its bytes; raises `BadItem` when it cannot be read, or is too large to be parsed."""
        if self.size > MAX_BYTES:
            raise BadItem(
                f"{self.path} has {self.size:,} bytes, and {MAX_BYTES:,} are the most that is read at once.",
                remedy="Make an export of a shorter time, or with slackdump: `slackdump convert -f export`.",
            )
        try:
            with self.opener() as opened:
                return opened.read()
        except UNREADABLE as error:
            raise BadItem(
                f"{self.path} cannot be read: {error}.", remedy="Copy the export again: it may be incomplete."
            ) from error


@dataclass(slots=True)
class Listing:
    """What an export holds.

    Args:
        files: By path, in order.
        refused: Why others are not read, by path.
        archive: The zip, which stays open for its members; None for a folder.
    """

    files: dict[str, File] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    archive: zipfile.ZipFile | None = None


def listing(path: Path, source: str) -> Listing:
    """Return what the file or folder at the path holds.

    Raises:
        Unavailable: It is missing, cannot be read, or is a zip that is broken off or encrypted.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _folder(path)
        if zipfile.is_zipfile(path):
            return _zip(path, source)
        with path.open("rb") as opened:
            begins = opened.read(4)
    except OSError as error:
        raise Unavailable(
            f"{error.filename or path} cannot be read: {error.strerror or error}.",
            remedy=f"Mount the disk or correct `path` of the source in config.toml, then run `ctxsync sync {source}`.",
        ) from error
    if begins[:2] == b"PK":
        raise Unavailable(
            f"{path} is no whole zip: its end is missing.",
            remedy=f"Copy or download it again, then run `ctxsync sync {source}`.",
        )
    found = Listing()
    name = readable(path.name)
    found.files[name] = _file(path, name, path.stat())
    return found


def _file(path: Path, name: str, state: os.stat_result) -> File:
    return File(name, state.st_size, f"{state.st_size}:{state.st_mtime_ns}", lambda: path.open("rb"), path)


def _folder(root: Path) -> Listing:
    found = Listing()
    for entry, name in _walk(str(root), "", 0):
        if entry.is_symlink():
            found.refused[name] = "It is a link, and only files of the export itself are read."
        elif len(found.files) < _MAX_FILES:
            found.files[name] = _file(Path(entry.path), name, entry.stat())
    return found


def _is_hidden(name: str) -> bool:
    return name.startswith(".") and name.strip(".") != ""


def _walk(folder: str, prefix: str, depth: int) -> Iterator[tuple[os.DirEntry[str], str]]:
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        if _is_hidden(entry.name) or entry.name in _NOT_LOOKED_INTO:
            continue
        name = f"{prefix}{readable(entry.name)}"  # bytes that are no text have no place in an event
        if entry.is_dir(follow_symlinks=False):
            if depth < _MAX_DEPTH:
                yield from _walk(entry.path, f"{name}/", depth + 1)
        else:
            yield entry, name


def _zip(path: Path, source: str) -> Listing:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise Unavailable(
            f"{path} is no whole zip: {error}.",
            remedy=f"Copy or download it again, then run `ctxsync sync {source}`.",
        ) from error
    found = Listing(archive=archive)
    for info in archive.infolist()[:_MAX_FILES]:
        parts = info.filename.split("/")
        if info.is_dir() or any(part in _NOT_LOOKED_INTO or _is_hidden(part) for part in parts):
            continue
        if info.flag_bits & _ENCRYPTED:
            raise Unavailable(
                f"{path} is encrypted.",
                remedy=f"Unpack it with its password and name the folder as `path`, then run `ctxsync sync {source}`.",
            )
        _member(found, archive, info)
    return found


def _member(found: Listing, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    name = info.filename
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "\\" in name or ":" in parts[0]:
        found.refused[name] = "Its name leads out of the export."
    elif stat.S_ISLNK(info.external_attr >> 16):
        found.refused[name] = "It is a link, and only files of the export itself are read."
    elif info.file_size > _SMALL and info.file_size > MAX_RATIO * max(info.compress_size, 1):
        found.refused[name] = (
            f"It would unpack to {info.file_size:,} bytes, {info.file_size // max(info.compress_size, 1)} times what "
            "it holds: no export is like that."
        )
    elif (before := found.files.get(name)) is None:
        stamp = f"{info.file_size}:{info.CRC:08x}"
        found.files[name] = File(name, info.file_size, stamp, lambda: archive.open(info))
    elif before.stamp != f"{info.file_size}:{info.CRC:08x}":
        found.refused[f"{name} (2)"] = "The zip holds two files of this name; the first one is read."
