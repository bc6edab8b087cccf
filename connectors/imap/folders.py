"""Which folders of an account are read, and what they are called here; asks no server.

A folder's place is its name as people see it: decoded from modified UTF-7, levels apart with `/`. Patterns are matched
against places without regard to case; `*` and `?` are wild, and a bracket is only a bracket, for `[Gmail]` is a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from typing import TYPE_CHECKING

from ctxsync.connectors.mail.folders import is_left_out, sent_role

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctxsync.connectors.imap.answers import Listed

_SPECIAL = ("all", "archive", "drafts", "flagged", "junk", "sent", "trash", "important", "inbox")
_CLOSED = frozenset({"noselect", "nonexistent"})


@dataclass(frozen=True, slots=True)
class Folder:
    r"""A folder to read.

    Args:
        place: Its name here.
        name: Its name for the server.
        role: `sent` for sent mail.
        everything: It holds every message of the account (Gmail's All Mail, `\All`).
    """

    place: str
    name: bytes
    role: str = ""
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be read.

    Args:
        folders: In the order in which they are read: INBOX, then as the server lists them.
        left: Places that are there and not read, for they are left out.
    """

    folders: tuple[Folder, ...]
    left: frozenset[str]


def choose(listing: Iterable[Listed], wanted: Sequence[str], unwanted: Sequence[str]) -> Choice:
    """Return the folders to read.

    Args:
        listing: Every folder of the account.
        wanted: Patterns; empty means all but spam, trash and the like. These are read only when a pattern without
            wildcards names them.
        unwanted: Patterns of folders that are left out whatever `wanted` says.
    """
    folders, left = [], set()
    taken: set[str] = set()
    for one in listing:
        if one.flags & _CLOSED:
            continue
        place = place_of(one.name, one.delimiter)
        if place in taken:
            continue
        taken.add(place)
        use = [flag for flag in _SPECIAL if flag in one.flags]
        named = any(pattern.casefold() == place.casefold() for pattern in wanted)
        read = named or ((not wanted or matches(place, wanted)) and not is_left_out(place, use))
        if read and not matches(place, unwanted):
            folders.append(Folder(place, one.name, sent_role(place, use), "all" in one.flags))
        else:
            left.add(place)
    folders.sort(key=lambda folder: folder.place != "INBOX")
    return Choice(tuple(folders), frozenset(left))


def matches(place: str, patterns: Iterable[str]) -> bool:
    """Say whether one of the patterns fits a place."""
    return any(re.match(translate(pattern.casefold().replace("[", "[[]")), place.casefold()) for pattern in patterns)


def place_of(name: bytes, delimiter: str) -> str:
    """Return what a folder is called here; two names never get the same place, but for spellings of INBOX."""
    levels = [decoded(part) for part in (name.split(delimiter.encode("latin-1")) if delimiter else [name])]
    if delimiter != "/":
        levels = [level.replace("/", "%2F") for level in levels]
    if levels[0].upper() == "INBOX":
        levels[0] = "INBOX"
    return "/".join(levels)


def decoded(name: bytes) -> str:
    """Return a name in modified UTF-7 as text; one that is not, as UTF-8 or else byte for byte."""
    from imapclient.imap_utf7 import decode

    if name.isascii():
        try:
            text = str(decode(name))
            text.encode()
        except ValueError:
            text = name.decode("ascii")
        return text
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("latin-1")
