"""Bytes of a text file become a string, whatever they are; knows nothing of Markdown or of files."""

from __future__ import annotations

import codecs

LOSSY = "decoded-lossy"
DETECTION_SAMPLE = 32_768  # bytes; detection is slow, and a page of text shows its charset

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the text with LF line ends and without NUL, and the flags that say what was lost.

    A byte order mark decides; else UTF-8, else UTF-16 without a mark (every other byte NUL), else detection, else
    UTF-8 with replacement characters (flag `decoded-lossy`). Never raises.
    """
    for mark, charset in _BOMS:
        if data.startswith(mark):
            text, flags = _as(data[len(mark) :], charset)
            return _plain(text), flags
    charset = _wide(data)
    if charset:
        text, flags = _as(data, charset)
        return _plain(text), flags
    try:
        return _plain(data.decode()), ()
    except UnicodeDecodeError:
        text, flags = _as(data, _detected(data))
        return _plain(text), flags


def _as(data: bytes, charset: str) -> tuple[str, tuple[str, ...]]:
    try:
        return data.decode(charset), ()
    except (UnicodeError, LookupError):
        # Detection guessed wrong, or the file is damaged: what UTF-8 can read stays readable.
        wide = charset if charset.startswith(("utf-16", "utf-32")) else "utf-8"
        return data.decode(wide, "replace"), (LOSSY,)


def _wide(data: bytes) -> str:
    """Name UTF-16 without a mark: mostly ASCII letters with a NUL on one side of each."""
    sample = data[:1024]
    half = len(sample) // 2
    if half < 2:
        return ""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > 0.7 * half and even == 0:
        return "utf-16-le"
    if even > 0.7 * half and odd == 0:
        return "utf-16-be"
    return ""


def _detected(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:DETECTION_SAMPLE]).best()
    return "utf-8" if best is None else best.encoding


def _plain(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    # Exotic charsets can yield lone surrogates, which no JSON holds.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
