"""Which styles hide what they are put on, in an attribute or in a page's style sheet; knows no text."""

from __future__ import annotations

import re
from typing import Final

MAX_SHEETS: Final = 100_000  # characters of a page's style sheets that are looked at

_NONE = re.compile(r"(?:^|;)(?:display:none|mso-hide:all|opacity:0(?:\.0+)?(?=;|!|$))")
_FLAT = re.compile(r"(?:^|;)(?:max-)?(?:height|width):0(?:px|pt|em|%)?(?=;|!|$)")
_AWAY = re.compile(r"(?:^|;)(?:text-indent|left|top):-\d{3,}")
_RULE = re.compile(r"([^{}]{1,300})\{([^{}]{0,3000})\}")
_BRACE = re.compile(r"[{};]")
_SIMPLE = re.compile(r"^(?:[a-z0-9]+)?([.#][\w-]+)$", re.IGNORECASE)


def is_hiding(style: str) -> bool:
    """Say whether a style, lower case and without white space, shows nothing of an element and what is in it."""
    return bool(
        _NONE.search(style)
        or ("overflow:hidden" in style and _FLAT.search(style))
        or (_AWAY.search(style) and ("absolute" in style or "text-indent" in style))
    )


def hidden_selectors(html: str) -> frozenset[str]:
    """Return the classes (`.c`) and ids (`#i`) that a style sheet in the page hides, outside of media queries."""
    found: set[str] = set()
    for selectors, body in _RULE.findall(_without_media(_without_comments(_sheets(html)))):
        if is_hiding("".join(body.lower().split())):
            simple = (_SIMPLE.match(selector.strip()) for selector in selectors.split(","))
            found.update(match[1] for match in simple if match)
    return frozenset(found)


def _sheets(html: str) -> str:
    """Return the page's style sheets, one behind the other."""
    found: list[str] = []
    left, end = MAX_SHEETS, 0
    lower = html.lower()
    if len(lower) != len(html):  # a letter whose small form is two: then places do not agree
        lower = html
    while left > 0 and (start := lower.find("<style", end)) >= 0:
        begin = lower.find(">", start) + 1
        end = lower.find("</style", begin) if begin else -1
        if end < 0:
            break
        found.append(html[begin : min(end, begin + left)])
        left -= end - begin + 1
    return "\n".join(found)


def _without_comments(sheet: str) -> str:
    kept: list[str] = []
    at = 0
    while (begin := sheet.find("/*", at)) >= 0 and (end := sheet.find("*/", begin + 2)) >= 0:
        kept.append(sheet[at:begin])
        at = end + 2
    return ("".join(kept) + sheet[at:]).replace("<!--", "").replace("-->", "")


def _without_media(sheet: str) -> str:
    """Return a style sheet without its `@` blocks: they hold for some screens only."""
    kept: list[str] = []
    at = 0
    while (begin := sheet.find("@", at)) >= 0:
        kept.append(sheet[at:begin])
        depth, at = 0, len(sheet)
        for brace in _BRACE.finditer(sheet, begin):
            depth += {"{": 1, "}": -1, ";": 0}[brace[0]]
            if depth <= 0:  # the block's end, or that of a rule without one
                at = brace.end()
                break
    return "".join(kept) + sheet[at:]
