"""UIDs listed in windows that keep answers short, from the highest down; knows no folder and no item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WINDOW: Final = 10_000
"""UIDs a window at first, and how many an answer should hold: 70 kB. RFC 3501 sets no limit to a line; servers and
libraries do, from some 100 kB up."""


def windows(
    search: Callable[[int, int], list[int]], low: int, high: int, exists: int
) -> Iterator[tuple[int, int, list[int]]]:
    """Yield (first, last, UIDs there) for windows that cover a range, from its end to its beginning.

    Args:
        search: Returns the UIDs in a range of UIDs, both ends included.
        low: First UID of the range.
        high: Last UID; 0 when the server does not tell, which takes a single window.
        exists: How many messages the folder has: when they are few, one window is enough however far UIDs spread.
    """
    if high == 0 or exists <= WINDOW:
        yield low, high, search(low, high)
        return
    size = WINDOW
    while high >= low:
        first = max(low, high - size + 1)
        found = search(first, high)
        yield first, high, found
        high = first - 1
        # Where expunged UIDs left gaps, windows grow until they hold enough, and shrink again where they are full.
        if len(found) < WINDOW // 4:
            size *= 4
        elif len(found) > WINDOW:
            size = max(WINDOW, size // 4)
