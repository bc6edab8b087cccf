"""Rows of names in a block: `Pakistan, Nepal, Oman and Iran` is a list of four, `Milan, Ohio` a row of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.mentions import Mention

_SEPARATORS = frozenset({",", ";", "and", "or", "&"})
_JOINING = frozenset({"and", "or", "&"})
# Names in a row up to which they are counted.
_MOST = 6


@dataclass(slots=True)
class Row:
    """Names with nothing but commas and `and` between them.

    Args:
        names: How many, up to 6.
        joined: There is an `and` or the like between two of them.
    """

    names: int = 1
    joined: bool = False


def rows(mentions: Sequence[Mention], lower: Sequence[str]) -> dict[int, Row]:
    """Return the row of each mention that stands in one, by its first token.

    Args:
        mentions: A block's, in order, none within another.
        lower: The block's words in lower case.
    """
    found: dict[int, Row] = {}
    last: Mention | None = None
    for mention in mentions:
        if last is not None and last.end < mention.start:
            between = lower[last.end : mention.start]
            if _SEPARATORS.issuperset(between):
                row = found.setdefault(last.start, Row())
                row.names = min(row.names + 1, _MOST)
                row.joined = row.joined or not _JOINING.isdisjoint(between)
                found[mention.start] = row
        last = mention
    return found
