"""Makes text from notes and commits harmless to a terminal; knows nothing of commands or layouts.

A note may hold escape sequences that recolour, retitle or write the clipboard (OSC 52), hide a link's target (OSC 8),
or bidi overrides that make a text read otherwise than it is stored. Here each such character becomes a visible sign.
"""

from __future__ import annotations

import re
from typing import Any

# C0 but tab and line feed, DEL and C1; bidi embeddings, overrides, isolates and marks; line and paragraph separators;
# interlinear annotation and tag characters; lone surrogates (undecodable bytes).
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_CONTROL_PICTURES = 0x2400
_DEL = 0x7F
_SPACES = re.compile(r"\s+")


def _sign(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == _DEL:
        return "\N{SYMBOL FOR DELETE}"
    if 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    if code in {0x2028, 0x2029}:
        return "\n"
    return f"<U+{code:04X}>"


def inert(text: str) -> str:
    """Return `text` with every character that acts on a terminal shown as a sign (ESC as ``␛``); lines and tabs stay."""
    return _UNSAFE.sub(_sign, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return `text` inert and on one line, runs of white space as single spaces."""
    return _SPACES.sub(" ", inert(text)).strip()


def inert_document(document: Any) -> Any:
    """Return a JSON document with every string in it, keys included, made inert."""
    if isinstance(document, str):
        return inert(document)
    if isinstance(document, dict):
        return {inert(key): inert_document(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [inert_document(value) for value in document]
    return document


def json_inert(text: str) -> str:
    """Return JSON text in which such characters stand as escapes: the same document, and harmless on a terminal."""
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def typed(text: str) -> str:
    """Return an argument as typed, with bytes that are not UTF-8 replaced: it can be stored, matched and printed."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
