"""Lists the notes of a vault and tells new, changed and unchanged ones apart by their stamps; reads no note."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxsync.connectors.base import digest
from ctxsync.connectors.notes.disk import Disk, Stamp
from ctxsync.connectors.notes.ignore import IGNORE_FILES, Rules, is_copy, is_temporary
from ctxsync.connectors.notes.note import KINDS, kind_of
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pathspec import GitIgnoreSpec

    from ctxsync.connectors.base import Json

MAX_IGNORE_FILE = 1_000_000  # characters


@dataclass(frozen=True, slots=True)
class Found:
    """A note's file: `raw` is the path for open(), its spelling and bytes as the disk has them."""

    raw: str
    stamp: Stamp


@dataclass(slots=True)
class Listing:
    """What one walk saw. Paths are relative to the vault, NFC, with `/`.

    Args:
        loose: Notes that are new or whose stamp differs from the known one.
        present: Every note there is, placeholders included.
        unreadable: Folders (with `/` at the end, empty for the vault itself) that could not be listed, and why.
        broken: Other places that cannot be read (links that lead nowhere, ignore files), and why.
        clashes: Second spellings of a path that is taken: by their own spelling, that path and the raw path.
        skipped: Files of kinds that no parser knows.
        rules: Digest of everything that ignores: when it changes, known paths are matched again.
    """

    loose: dict[str, Found] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    clashes: dict[str, tuple[str, str]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    rules: str = ""


def walk(
    disk: Disk,
    root: str,
    known: Mapping[str, Json],
    *,
    include: GitIgnoreSpec | None = None,
    exclude: GitIgnoreSpec | None = None,
    rules_before: str = "",
) -> Listing:
    """Walk a vault.

    Args:
        disk: Where to look.
        root: The vault, absolute.
        known: By path, a list that opens with size, mtime in nanoseconds and inode; other keys start with `/`.
        include: Only what matches is a note; None takes everything.
        exclude: What matches is no note.
        rules_before: `Listing.rules` of the walk that made `known`; while it holds, unchanged notes are not matched.

    Folders first in their own place; a symlinked folder is followed once, last, and never back into the vault.
    """
    return _Walk(disk, root, known, include, exclude).run(rules_before)


class _Walk:
    def __init__(
        self,
        disk: Disk,
        root: str,
        known: Mapping[str, Json],
        include: GitIgnoreSpec | None,
        exclude: GitIgnoreSpec | None,
    ) -> None:
        self.disk, self.root, self.known = disk, root, known
        self.include, self.exclude = include, exclude
        self.listing = Listing()
        self.ignore_texts: list[Json] = [
            [str(pattern.pattern) for pattern in spec.patterns] if spec else [] for spec in (include, exclude)
        ]
        self.unmatched: list[tuple[str, Rules]] = []  # unchanged notes, for when the rules changed
        self.odd: list[tuple[str, str, os.stat_result, Rules]] = []  # spelled otherwise than NFC
        self.links: list[tuple[str, str, Rules]] = []  # symlinked folders
        self.real_roots = [os.path.realpath(root)]

    def run(self, rules_before: str) -> Listing:
        self._folders(self.root, "", Rules())
        while self.links:
            self.links.sort(key=lambda link: (link[0].count("/"), link[0]), reverse=True)  # shallow ones first
            prefix, raw, rules = self.links.pop()
            real = os.path.realpath(raw)
            if not any(_inside(real, taken) for taken in self.real_roots):
                self.real_roots.append(real)
                self._folders(raw, prefix, rules, real)
        for path, raw, found, rules in sorted(self.odd, key=lambda each: (each[0], each[1])):
            if path in self.listing.present:
                self.listing.clashes[_printable(raw[len(self.root) + 1 :])] = (path, raw)
            else:
                self._file(path, raw, found, rules)
        self.listing.rules = digest(*self.ignore_texts)
        if self.listing.rules != rules_before:
            self.listing.present.difference_update(path for path, rules in self.unmatched if self._refused(path, rules))
        return self.listing

    def _folders(self, top: str, prefix: str, rules: Rules, real: str = "") -> None:
        """Walk a folder and what is below it, without following links."""
        waiting = [(top, prefix, rules, real)]
        while waiting:
            folder, prefix, rules, real = waiting.pop()
            try:
                entries = self.disk.list(folder)
            except OSError as error:
                self.listing.unreadable[prefix] = error.strerror or str(error)
                continue
            if real and any(taken != real and _inside(real, taken) for taken in self.real_roots):
                continue  # a followed folder holds the vault, or another followed folder
            rules = self._rules_in(prefix, entries, rules)
            for entry in reversed(entries):
                if entry.is_dir(follow_symlinks=False):
                    path = prefix + _nfc(entry.name)
                    if not (is_temporary(entry.name) or is_copy(path) or self._folder_refused(path + "/", rules)):
                        waiting.append((entry.path, path + "/", rules, real and f"{real}/{entry.name}"))
            self._files(prefix, entries, rules)

    def _files(self, prefix: str, entries: list[os.DirEntry[str]], rules: Rules) -> None:
        known, listing = self.known, self.listing
        matched = bool(rules.specs or self.include or self.exclude)
        for entry in entries:
            name = entry.name
            if is_temporary(name):
                if name.endswith(".icloud") and name[0] == ".":  # stands for a note that was moved to the cloud
                    listing.present.add(prefix + _nfc(name[1:-7]))
                continue
            if kind_of(name) not in KINDS:
                self._unknown(prefix, entry, rules)
                continue
            if entry.is_dir(follow_symlinks=False):
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISLNK(found.st_mode):
                self._link(prefix, entry, rules)
                continue
            path = prefix + name
            before = known.get(path)
            if (
                isinstance(before, list)
                and before[0] == found.st_size
                and before[1] == found.st_mtime_ns
                and before[2] == found.st_ino
                and _is_nfc(name)
            ):
                listing.present.add(path)
                if matched:
                    self.unmatched.append((path, rules))
            elif _is_nfc(name):
                self._file(path, entry.path, found, rules)
            else:
                self.odd.append((_spelled(path), entry.path, found, rules))

    def _file(self, path: str, raw: str, found: os.stat_result, rules: Rules) -> None:
        """Take a note that is new or looks changed."""
        if not stat.S_ISREG(found.st_mode) or self._refused(path, rules):
            return
        self.listing.present.add(path)
        if self.disk.is_placeholder(raw, found):
            return
        before = self.known.get(path)
        now = (found.st_size, found.st_mtime_ns, found.st_ino)
        if not isinstance(before, list) or tuple(before[:3]) != now:
            self.listing.loose[path] = Found(raw, Stamp(*now))

    def _link(self, prefix: str, entry: os.DirEntry[str], rules: Rules) -> None:
        """Take what a symlink leads to: a folder later, a file unless it is in the vault itself."""
        path = _spelled(prefix + entry.name)
        try:
            found = self.disk.stat(entry.path)
        except OSError as error:
            if not self._refused(path, rules):
                self.listing.present.add(path)
                self.listing.broken[path] = f"The link leads nowhere: {error.strerror or error}."
            return
        if stat.S_ISDIR(found.st_mode):
            if not self._folder_refused(path + "/", rules):
                self.links.append((path + "/", entry.path, rules))
        elif not _inside(os.path.realpath(entry.path), self.real_roots[0]):
            self._file(path, entry.path, found, rules)

    def _unknown(self, prefix: str, entry: os.DirEntry[str], rules: Rules) -> None:
        if entry.is_dir(follow_symlinks=False):
            return
        if entry.is_symlink() and _leads_to_folder(entry):
            self._link(prefix, entry, rules)
        elif not self._refused(_spelled(prefix + entry.name), rules, kind=True):
            self.listing.skipped[kind_of(entry.name) or "(none)"] += 1

    def _rules_in(self, prefix: str, entries: list[os.DirEntry[str]], rules: Rules) -> Rules:
        by_name = {entry.name: entry for entry in entries if entry.name in IGNORE_FILES}
        text = ""
        for name in IGNORE_FILES:
            if name in by_name:
                try:
                    text += self.disk.read(by_name[name].path).data.decode(errors="replace")[:MAX_IGNORE_FILE] + "\n"
                except (OSError, BadItem) as error:
                    self.listing.broken[prefix + name] = f"The ignore file cannot be read: {error}."
        if not text.strip():
            return rules
        self.ignore_texts.append([prefix, text])
        return rules.within(prefix, text)

    def _folder_refused(self, path: str, rules: Rules) -> bool:
        return (self.exclude is not None and self.exclude.match_file(path)) or rules.ignores(path)

    def _refused(self, path: str, rules: Rules, *, kind: bool = False) -> bool:
        if self.include is not None and not kind and not self.include.match_file(path):
            return True
        return self._folder_refused(path, rules)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links in a circle
        return False


def _is_nfc(name: str) -> bool:
    return name.isascii() or _spelled(name) == name


def _nfc(name: str) -> str:
    return name if name.isascii() else _spelled(name)


def _spelled(path: str) -> str:
    """Return a path as a place: NFC, and with bytes that are not UTF-8 written as escapes."""
    return unicodedata.normalize("NFC", _printable(path))


def _printable(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
