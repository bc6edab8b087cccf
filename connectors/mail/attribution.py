"""Whether a line or a few say whose words follow: `On … Rosa wrote:`. Knows no text round them.

A library (quotequail) tells where it knows the line; what ends in a colon and holds a date, an address or a verb of
writing is such a line in any language.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.mail.words import OPENS, WROTE

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST: Final = 320  # characters of an attribution: two addresses and a date
_DATE = re.compile(r"\d{1,4}[-/.]\s?\d{1,2}[-/.]\s?\d{1,4}|\d{1,2}:\d{2}|\b(?:19|20)\d{2}\b|年.{1,4}月")
_ADDRESS = re.compile(r"[^\s<>@]{1,80}@[^\s<>@]{1,80}")


def opens_reply(said: str, lines: Sequence[str]) -> bool:
    """Say whether lines that end in a colon attribute all that follows them, without `>` before it.

    Args:
        said: The lines joined by blanks.
        lines: As they stand.
    """
    return (
        len(said) <= LONGEST
        and bool(OPENS.match(said))
        and bool(_DATE.search(said))
        and (bool(WROTE.search(said)) or told_by_library(lines))
    )


def is_attribution(said: str, *, opening: bool) -> bool:
    """Say whether what stands above `>` lines attributes them; `opening` says that it is more than one line."""
    if not said.endswith((":", "\uff1a", ":-", "...", "\u2026", ">", "> :")):
        return False
    wrote = bool(WROTE.search(said))
    if opening and not OPENS.match(said) and not wrote:
        return False
    ends = said.endswith((":", "\uff1a", ":-"))
    if wrote and (ends or _ADDRESS.search(said) or _DATE.search(said)):
        return True
    return ends and bool(_DATE.search(said) or _ADDRESS.search(said) or told_by_library([said]))


def is_open(said: str) -> bool:
    """Say whether a line is the end of an attribution whose colon was lost: date and address, no sentence."""
    return bool(OPENS.match(said) and _DATE.search(said) and _ADDRESS.search(said))


def told_by_library(lines: Sequence[str]) -> bool:
    """Say whether the library knows the lines for the beginning of a reply or a forward."""
    from quotequail import quote

    text = "\n".join(lines)
    return len(text) <= LONGEST and len(quote(text, quote_intro_line=True)) == 2
