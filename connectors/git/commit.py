"""One commit as an item: decoding, times, identities, trailers. Reads nothing; runs nothing.

What a commit says is hostile text: it is kept as text, and whatever is irregular is tolerated, kept raw and flagged.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ctxsync.connectors.base import UTC_OFFSET, Item, Json, Person, Section
from ctxsync.connectors.people import address_key, is_automatic

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxsync.connectors.git.history import Record

# More files than this are an import of somebody else's tree: they are counted, and the rest goes unnamed.
FILES_CAP = 10_000
_LATEST = 253_402_300_799_000  # the year 9999's last second, the last that RFC 3339 can write
_DAY = 86_400_000
_CO_AUTHOR = re.compile(r"^co-authored-by:[ \t]*([^<>\n]*)<([^<>\n]*)>[ \t]*$", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"#\d{1,9}\b")
_PROJECT = re.compile(r"(?<![\w/&#.-])[\w.-]{1,100}/[\w.-]{1,100}\Z")
_CLOSES = re.compile(r"\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?)\b:?[ \t]{1,4}\Z", re.IGNORECASE)
_AND = re.compile(r"[ \t]*,[ \t]*|[ \t]+and[ \t]+")
_REVERTS = re.compile(r"\bThis reverts commit ([0-9a-f]{7,64})\b", re.IGNORECASE)
_IDENT = re.compile(r"(.*?) ?<([^<>]*)>(?: (-?\d+)(?: [+-]\d+)?)?")
_ADDRESS = re.compile(r"[^\s<>@]+@[^\s<>@]+")
_ZONE = re.compile(r" ([+-])(\d\d)([0-5]\d)\Z", re.ASCII)
# git's iconv has already tried: these are what it may not have. No codec that could make anything but text.
_CHARSETS = ("iso8859", "cp", "koi8", "mac", "gb", "big5", "euc", "shift_jis", "iso2022", "johab", "tis")


@dataclass(frozen=True, slots=True)
class Context:
    """What all commits of a stream share.

    Args:
        repository: The repository's name.
        now: Milliseconds UTC; 0 when it is not known. Later author dates than a day after it are clamped to it.
        shallow: Ids of commits whose parents, and with them their changes, are not here.
        wanted: Says whether a path is listed.
    """

    repository: str
    now: int = 0
    shallow: frozenset[str] = frozenset()
    wanted: Callable[[str], bool] | None = None


def is_regular(record: Record) -> bool:
    """Say whether the record says all there is: one that does not is made from the object's own bytes as well."""
    return record.is_clean and record.author_time != "" and record.committer_time != ""


def commit_item(record: Record, context: Context, raw: bytes = b"") -> Item:
    """Return the commit as an item.

    Args:
        record: As git printed it.
        context: What the stream's commits share.
        raw: The object's own bytes, for an irregular record.
    """
    flags: set[str] = set()
    charset = _charset(raw) if raw else ""

    def text(field: str) -> str:
        if field.isascii():
            return field
        data = field.encode("utf-8", "surrogateescape")
        for name in ("utf-8", charset) if charset else ("utf-8",):
            with contextlib.suppress(UnicodeDecodeError):
                return data.decode(name)
        flags.add("decoded-lossy")
        return data.decode("utf-8", "replace")

    author_raw, committer_raw = (_header(raw, b"author"), _header(raw, b"committer")) if raw else ("", "")
    name, email, time = _ident(record.author_name, record.author_email, record.author_time, author_raw, flags)
    by, by_email, by_time = _ident(
        record.committer_name, record.committer_email, record.committer_time, committer_raw, flags
    )
    message = record.message
    if not record.is_clean:
        name, email, by, by_email, message = map(text, (name, email, by, by_email, message))
    author, committer = person(name, email), person(by, by_email)
    if "\r" in message:
        message = message.replace("\r\n", "\n").replace("\r", "\n")
    latest = context.now or _LATEST
    attributes: dict[str, Json] = {
        "repository": context.repository,
        "sha": record.sha,
        "committer": _as_json(committer),
        "committed_at": _time(by_time, _LATEST, flags),
        "parents": list(record.parents),
        "merge": len(record.parents) > 1,
        **_files(record, context, flags),
        **trailers(message),
    }
    if "ident-malformed" in flags:
        attributes["raw_author"] = author_raw
        attributes["raw_committer"] = committer_raw
    if is_automatic(email, author.name):
        attributes["bot"] = True
    if offset := _utc_offset(record.author_date):
        attributes[UTC_OFFSET] = offset
    title = message.lstrip().partition("\n")[0].rstrip()
    if not title:
        flags.add("message-empty")
    occurred_at = _time(time, latest, flags)
    section = Section(key="message", text=message, occurred_at=occurred_at, author=author, attributes=attributes)
    return Item(
        id=f"commit:{record.sha}",
        kind="commit",
        title=title or f"commit {record.sha[:12]}",
        sections=(section,),
        flags=tuple(sorted(flags)),
        raw_digest=hashlib.sha256(raw).hexdigest() if raw else "",
    )


def trailers(message: str) -> dict[str, Json]:
    """Return `co_authors`, `fixes` (issues it closes), `refs` (issues it only mentions) and `reverts`, in order."""
    co_authors: list[Json] = []
    if "uthored-" in message or "UTHORED-" in message:
        # The expression looks at every character, and trailers come last. (lower() moves what is not ASCII.)
        first = message.lower().find("co-authored-by:") if message.isascii() else 0
        found = dict.fromkeys(_CO_AUTHOR.findall(message, first)) if first >= 0 else {}
        co_authors = [_as_json(person(name, email)) for name, email in found]
    fixes, refs = _issues(message) if "#" in message else ({}, {})
    reverts = dict.fromkeys(_REVERTS.findall(message)) if "reverts commit" in message else {}
    return {"co_authors": co_authors, "fixes": list(fixes), "refs": list(refs), "reverts": list(reverts)}


def _issues(message: str) -> tuple[dict[str, None], dict[str, None]]:
    """Return the issues that a message closes and those it only mentions, in order of first mention.

    Looks for numbers first and then at what stands before each, so that no text takes more than linear time.
    """
    fixes: dict[str, None] = {}
    refs: dict[str, None] = {}
    closed_until = -1
    for number in _NUMBER.finditer(message):
        start = number.start()
        before = message[start - 1 : start]
        if before.isalnum() or (before and before in "_/&#.-"):
            project = _PROJECT.search(message[max(0, start - 202) : start])
            if project is None:
                continue
            start -= len(project[0])
        issue = message[start : number.end()]
        goes_on = 0 <= closed_until <= start <= closed_until + 20 and _AND.fullmatch(message, closed_until, start)
        if goes_on or _CLOSES.search(message, max(0, start - 14), start):
            fixes[issue] = None
            closed_until = number.end()
        else:
            refs[issue] = None
    return fixes, {issue: None for issue in refs if issue not in fixes}


@lru_cache(maxsize=4096)
def person(name: str, email: str) -> Person:
    """Return someone as git names them; what is no e-mail address is no key, and a machine's is no person's."""
    key = address_key(email)
    if key.startswith("email:") and is_automatic("", name):
        key = "address:" + key.removeprefix("email:")
    return Person(name.strip(), (key,) if key else ())


def _as_json(someone: Person) -> dict[str, Json]:
    return {"name": someone.name, "keys": list(someone.keys)}


def _files(record: Record, context: Context, flags: set[str]) -> dict[str, Json]:
    if record.sha in context.shallow:
        flags.add("shallow")
        return {"files": [], "file_count": 0}
    if record.files is None:
        flags.add("files-unreadable")
        return {"files": [], "file_count": 0}
    files: list[Json] = []
    count = 0
    plain = record.files.isascii()
    parts = iter(record.files.split("\0")) if record.files else iter(())
    for status in parts:
        old = next(parts) if status[0] in "RC" else ""
        path = next(parts)
        if not plain:
            path = _path(path, flags)
        if context.wanted is not None and not context.wanted(path):
            continue
        count += 1
        if count <= FILES_CAP:
            file: dict[str, Json] = {"path": path, "status": status[0]}
            if old:
                file["old_path"] = _path(old, flags)
            files.append(file)
    if count > FILES_CAP:
        flags.add("files-capped")
    return {"files": files, "file_count": count}


def _path(path: str, flags: set[str]) -> str:
    if path.isascii():
        return path
    data = path.encode("utf-8", "surrogateescape")
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode()
    flags.add("path-not-utf8")
    # Escaped, not replaced: two such paths stay two, and the bytes can be read off.
    return data.decode("utf-8", "backslashreplace")


def _ident(name: str, email: str, time: str, raw: str, flags: set[str]) -> tuple[str, str, str]:
    """Return name, e-mail and seconds; from the raw header where git could make nothing of it."""
    if time:
        return name, email, time
    whole = _IDENT.fullmatch(raw)
    if whole and whole[3]:
        return whole[1], whole[2], whole[3]  # git takes no negative seconds; they are no malformed identity
    flags.add("ident-malformed")
    if name or email:
        return name, email, ""
    address = _ADDRESS.search(raw)
    return raw.partition("<")[0].strip(), address[0] if address else "", ""


def _time(seconds: str, latest: int, flags: set[str]) -> int:
    """Return milliseconds within 1970 and `latest` (and a day); later, earlier and missing times are clamped."""
    try:
        value = int(seconds[:20]) * 1000
    except ValueError:
        value = -1
    if 0 <= value <= min(latest + _DAY, _LATEST):
        return value
    flags.add("time-clamped")
    return 0 if value < 0 else latest


def _utc_offset(date: str) -> int:
    """Return the zone of git's raw date, minutes east of UTC; 0 for what is no zone of this world."""
    zone = _ZONE.search(date)
    if zone is None:
        return 0
    minutes = int(zone[2]) * 60 + int(zone[3])
    return (-minutes if zone[1] == "-" else minutes) if minutes < _DAY // 60_000 else 0


def _header(raw: bytes, name: bytes) -> str:
    head = raw.partition(b"\n\n")[0]
    found = re.search(rb"^" + name + rb" (.*)$", head, re.MULTILINE)
    return found[1].decode("utf-8", "replace") if found else ""


def _charset(raw: bytes) -> str:
    """Return the declared charset where Python knows it and it is one that text was ever written in."""
    declared = _header(raw, b"encoding").strip()
    with contextlib.suppress(LookupError, ValueError):
        name = codecs.lookup(declared).name if declared else ""
        return name if name.startswith(_CHARSETS) else ""
    return ""
