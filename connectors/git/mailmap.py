"""A `.mailmap` file's entries. Reads nothing, and joins nobody: the graph does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxsync.connectors.base import Json

_LINE = re.compile(r"([^<>#]*)<([^<>]*)>(?:([^<>]*)<([^<>]*)>)?")


def entries(text: str) -> list[Json]:
    """Return one mapping a line: `name`, `email` (proper), `old_name`, `old_email` (as commits have it).

    E-mail addresses come in lower case, as git compares them; what a line leaves out is empty. In the form
    `Proper Name <commit@example.com>` the one address is `old_email` and `email` both.
    """
    found: list[Json] = []
    for line in text.splitlines():
        match = None if line.lstrip().startswith("#") else _LINE.match(line)
        if match is None:
            continue
        name, email, old_name, old_email = (" ".join((part or "").split()) for part in match.groups())
        if not email and not old_email:
            continue
        old = old_email if match[4] is not None else email
        found.append({"name": name, "email": email.lower(), "old_name": old_name, "old_email": old.lower()})
    return found
