"""What mail stands where below a path: mbox files, Maildirs, files of one message. Reads names and first bytes.

Folders of spam and trash are left out by their names. Paths are relative to the source, with `/`; bytes that are not
UTF-8 are written as escapes.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.mail.folders import is_left_out, sent_role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pathspec import GitIgnoreSpec

INBOX: Final = "INBOX"  # the place of a Maildir that is the source itself
_SUFFIX = re.compile(r"\.(?:mbox|mbx|sbd|mail|eml)(?=/|$)", re.IGNORECASE)
_EML = (".eml", ".emlx")
_UTF7 = re.compile(r"&[A-Za-z0-9+,]*-")
_OPENS = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]{0,64}From ")
_FLAGS: Final = re.compile(r"[:;!]2,[^/]{0,60}\Z")  # what a Maildir writes behind a message's name
_KEPT_BY_SERVERS = re.compile(r"\.|dovecot|courier|maildir|subscriptions", re.IGNORECASE)
_KIND = re.compile(r"\.[a-z0-9]{1,10}\Z")
_HEADER = re.compile(rb"[!-9;-~]{1,70}:[ \t\r\n]")
_MAIL = re.compile(
    rb"^(?:from|date|subject|message-id|received|return-path|delivered-to|to):", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Found:
    """A file: its path for open(), and what tells a change of it without reading."""

    raw: str
    size: int
    mtime_ns: int
    inode: int


@dataclass(slots=True)
class Survey:
    """What one look found.

    Args:
        mboxes: By path.
        files: Single messages: those of Maildirs by folder, `/` and the name without flags; `.eml` files by path.
        maildirs: The folders that are Maildirs.
        unreadable: Folders and files that could not be looked into, and why; the source itself is the empty path.
        skipped: Files that hold no mail, by kind, and folders of spam and trash.
    """

    mboxes: dict[str, Found] = field(default_factory=dict)
    files: dict[str, tuple[str, Found]] = field(default_factory=dict)
    maildirs: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


def role_of(place: str) -> str:
    """Return `sent` for a place (a file's or folder's path) that holds sent mail, else nothing."""
    return sent_role(_folder_name(place))


def survey(root: str, include: GitIgnoreSpec | None, exclude: GitIgnoreSpec | None) -> Survey:
    """Look through a path.

    Args:
        root: Absolute; an mbox or `.eml` file, a Maildir, or a folder of any of these. Of a file whose name tells
            nothing, its first lines do.
        include: Only what matches is read, spam and trash too when it does; None takes everything else.
        exclude: What matches is left out.
    """
    found = Survey()
    _Look(root, include, exclude, found).run()
    return found


class _Look:
    def __init__(self, root: str, include: GitIgnoreSpec | None, exclude: GitIgnoreSpec | None, found: Survey) -> None:
        self.root, self.include, self.exclude, self.found = root, include, exclude, found
        self.seen: set[tuple[int, int]] = set()  # folders, against links in a circle

    def run(self) -> None:
        try:
            top = Path(self.root).stat()
        except OSError as error:
            self.found.unreadable[""] = error.strerror or str(error)
            return
        if stat.S_ISREG(top.st_mode):
            self._file(_shown(Path(self.root).name), self.root, top)
            if not (self.found.mboxes or self.found.files or self.found.unreadable):
                self.found.unreadable[""] = "It is neither an mbox nor a message"
            return
        waiting = [("", self.root)]
        while waiting:
            path, raw = waiting.pop()
            waiting += reversed(list(self._folder(path, raw)))

    def _folder(self, path: str, raw: str) -> Iterator[tuple[str, str]]:
        """Take the files of a folder; yield the folders in it."""
        try:
            here = Path(raw).stat()
            with os.scandir(raw) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self.found.unreadable[path] = error.strerror or str(error)
            return
        if (here.st_dev, here.st_ino) in self.seen:
            return
        self.seen.add((here.st_dev, here.st_ino))
        names = {entry.name for entry in entries}
        is_maildir = "cur" in names and Path(raw, "cur").is_dir() and ("new" in names or "tmp" in names or _holds(raw))
        if is_maildir:
            self._maildir(path or INBOX, raw)
        for entry in entries:
            below = f"{path}/{_shown(entry.name)}" if path else _shown(entry.name)
            try:
                if entry.is_dir():
                    if not (is_maildir and entry.name in {"cur", "new", "tmp"}) and not self._refused(
                        f"{below}/", folder=True
                    ):
                        yield below, entry.path
                elif not (is_maildir and _KEPT_BY_SERVERS.match(entry.name)):
                    self._file(below, entry.path, entry.stat())
            except OSError as error:
                if not self._refused(below):
                    self.found.unreadable[below] = error.strerror or str(error)

    def _maildir(self, folder: str, raw: str) -> None:
        if self._refused(f"{folder}/"):
            return
        self.found.maildirs.add(folder)
        for part in ("new", "cur"):
            try:
                with os.scandir(Path(raw, part)) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except FileNotFoundError:
                continue
            except OSError as error:
                self.found.unreadable[folder] = error.strerror or str(error)
                continue
            for entry in entries:
                if entry.name.startswith(".") or entry.is_dir():
                    continue
                try:
                    known = entry.stat()
                except FileNotFoundError:
                    continue  # renamed since: its flags changed; it is listed under its new name, now or next time
                if not stat.S_ISREG(known.st_mode):
                    continue  # reading a pipe would wait without end
                name = _shown(_FLAGS.sub("", entry.name))
                self.found.files[f"{folder}/{name}"] = (folder, _stamp(entry.path, known))

    def _file(self, path: str, raw: str, known: os.stat_result) -> None:
        name = path.rsplit("/", 1)[-1].lower()
        single = name.endswith(_EML)
        if not stat.S_ISREG(known.st_mode) or self._refused(path, named=not single and raw != self.root):
            return
        if single:
            self.found.files[path] = (path, _stamp(raw, known))
            return
        if name.endswith((".mbox", ".mbx")) and not known.st_size:
            self.found.mboxes[path] = _stamp(raw, known)
            return
        try:
            with Path(raw).open("rb") as file:
                start = file.read(4096)
        except OSError as error:
            self.found.unreadable[path] = error.strerror or str(error)
            return
        kind = _KIND.search(_FLAGS.sub("", name))
        if _OPENS.match(start):
            self.found.mboxes[path] = _stamp(raw, known)
        elif name.endswith((".mbox", ".mbx")):
            self.found.unreadable[path] = "It does not begin as an mbox does, with `From `"
        elif (kind is None or kind[0][1:].isdigit()) and _HEADER.match(start) and _MAIL.search(start):
            # A message that no suffix tells: MH numbers its files, other stores name them as they like.
            self.found.files[path] = (path, _stamp(raw, known))
        else:
            self.found.skipped[kind[0] if kind else "(none)"] += 1

    def _refused(self, path: str, *, folder: bool = False, named: bool = True) -> bool:
        """Say whether a path is left out.

        A folder is entered although `include` names only what is below it. `named` says that the path is a folder's
        or an mbox's, whose name tells spam.
        """
        if self.exclude is not None and self.exclude.match_file(path):
            return True
        if self.include is not None:
            return not folder and not self.include.match_file(path)
        if named and is_left_out(_folder_name(path)):
            self.found.skipped["spam and trash"] += 1
            return True
        return False


def _holds(raw: str) -> bool:
    """Say whether a folder's `cur` holds a message with a Maildir's flags: copies lose empty folders beside it."""
    try:
        with os.scandir(Path(raw, "cur")) as listing:
            return any(_FLAGS.search(entry.name) for entry in listing)
    except OSError:
        return False


def _stamp(raw: str, known: os.stat_result) -> Found:
    return Found(raw, known.st_size, known.st_mtime_ns, known.st_ino)


def _folder_name(path: str) -> str:
    """Return a path as a folder's name: without suffixes, Maildir++ dots, and modified UTF-7."""
    name = _SUFFIX.sub("", path.strip("/"))
    if _UTF7.search(name):
        from imapclient.imap_utf7 import decode

        try:
            return str(decode(name.encode("ascii", "replace")))
        except (ValueError, UnicodeError):
            return name
    return name


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")
