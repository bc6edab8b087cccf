"""What a value of config.toml must look like, and on which line a key stands; knows no table and raises nothing."""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from urllib.parse import urlsplit

RESERVED_NAMES = ("ctxsync", "log")  # the log's own `source` for jobs and people, and for `ctxsync log`
NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_CRON_FIELD = re.compile(r"[0-9A-Za-z*,/-]+")
_HOST = re.compile(r"[\w.:-]+")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def ill_formed(form: str, value: Any) -> str:
    """Return what a value of a form must be when it is not that, else nothing."""
    if form == "date" and value:
        try:
            day = date.fromisoformat(value).isoformat()
        except ValueError:
            day = ""
        if day != value:
            return 'a date, as "2024-01-31"'
    if form == "host" and not _HOST.fullmatch(value):
        return 'the name of a server, as "imap.example.com"'
    if form == "text" and not value.strip():
        return "a text that is not empty"
    if form == "url" or (form == "url?" and value):
        try:
            parts = urlsplit(value)
            host = parts.hostname
        except ValueError:
            host = None
        # A token goes there: in the clear only where no wire is.
        if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)):
            return "an address that begins with https://"
    return ""


def name_rule() -> str:
    """Return what a source may be called, for messages."""
    return f"use lower-case letters, digits, dot, dash and underscore, and not {' or '.join(RESERVED_NAMES)}"


def line_of(text: str, path: tuple[str | int, ...]) -> int:
    """Return the 1-based line where a key stands, or its table's; 0 when it cannot be told.

    Args:
        text: TOML, one key a line as people write it; dotted and inline tables are not looked into.
        path: Keys from the top; an index after the name of an array of tables.
    """
    table, index, key = str(path[0]), -1, ""
    rest = list(path[1:])
    if rest and isinstance(rest[0], int):
        index = int(rest.pop(0))
    if rest:
        key = str(rest[0])
    current, seen, header_line = "", -1, 0
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if header := re.match(r"\[{1,2}\s*[\"']?([^\]\"']+?)[\"']?\s*\]{1,2}", stripped):
            current = header[1]
            if current == table:
                seen += 1
                if index in (-1, seen):
                    header_line = number
            continue
        name = stripped.split("=", 1)[0].strip().strip("\"'")
        if current == table and index in (-1, seen) and key and name == key:
            return number
        if not current and name == table:
            return number
    return header_line


def is_cron(line: str) -> bool:
    """Say whether a text has the five fields of a cron line."""
    parts = line.split()
    return len(parts) == 5 and all(_CRON_FIELD.fullmatch(part) for part in parts)
