"""Bytes with a declared charset become text, whatever they are; knows nothing of messages."""

from __future__ import annotations

import codecs
import re
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LOSSY = "decoded-lossy"
DETECTION_SAMPLE = 16_384  # bytes; detection is slow, and a page of text shows its charset
DETECTION_LEAST = 24  # bytes
MAX_GUESSES = 500
# EBCDIC and UTF-7 read any bytes at all, as nonsense.
_NOT_IN_MAIL = "cp037 cp273 cp424 cp500 cp864 cp875 cp1026 cp1140 utf_7 utf_16 utf_16_be utf_16_le utf_32 utf_32_be utf_32_le".split()  # noqa: SIM905

# Names seen in mail that no codec registers. GB2312 and the like are declared for text that needs their supersets.
_ALIASES = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "shift_jis": "cp932",
    "x-sjis": "cp932",
    "iso-8859-8-i": "iso-8859-8",
    "iso-8859-6-i": "iso-8859-6",
    "x-mac-roman": "mac-roman",
    "macintosh": "mac-roman",
    "ansi": "cp1252",
    "ansi_x3.110-1983": "cp1252",
    "latin-1": "cp1252",
    "iso-8859-1": "cp1252",  # bytes 0x80-0x9f are Windows' in practice, as in every browser
    "us-ascii": "ascii",
    "x-unknown": "",
    "unknown-8bit": "",
    "x-user-defined": "",
    "default": "",
    "8bit": "",
    "binary": "",
}
_NO_TEXT = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "unicode-escape"})
_guesses_left: ContextVar[list[int] | None] = ContextVar("guesses_left", default=None)
_NUMBERED = re.compile(r"^(?:x-)?(?:cp|windows|win|ibm|dos)[-_ ]?(\d{3,5})", re.IGNORECASE)


@contextmanager
def few_guesses() -> Iterator[None]:
    """Detect the charsets of so many texts only, as long as the context lasts: a message may hold a hundred thousand."""
    token = _guesses_left.set([MAX_GUESSES])
    try:
        yield
    finally:
        _guesses_left.reset(token)


def decode(data: bytes, declared: str = "") -> tuple[str, bool]:
    """Return the text of `data` and whether something was lost. Never raises.

    Blank lines at the end are cut. The declared charset, else UTF-8, else detection, else UTF-8 with replacement characters.

    Args:
        data: Bytes, after the transfer encoding was taken off.
        declared: The charset as the message names it, however wrong; empty when it names none.
    """
    name = codec_of(declared)
    if not name.startswith(("utf-16", "utf-32")):
        data = data.rstrip(b"\r\n")  # stores add and cut blank lines; no guess may hang on them
    if name:
        try:
            return _clean(data.decode(name)), False
        except (UnicodeError, LookupError, ValueError):
            pass
    try:
        return _clean(data.decode("utf-8")), False
    except UnicodeDecodeError:
        pass
    detected = "" if _mostly_utf8(data) else _detected(data)
    for candidate in (detected, "cp1252" if name in {"cp1252", "ascii"} else ""):
        if candidate:
            try:
                return _clean(data.decode(candidate)), False
            except (UnicodeError, LookupError):
                continue
    stateful = name if name and not _is_single_byte(name) else "utf-8"
    try:
        return _clean(data.decode(stateful, "replace")), True
    except (UnicodeError, LookupError):
        return _clean(data.decode("utf-8", "replace")), True


@lru_cache(maxsize=256)
def codec_of(declared: str) -> str:
    """Return the name of the codec of a charset as declared in a message; empty when there is none.

    Only the first word counts (`utf-8 euao6y69zh2w`), and Windows' and IBM's code pages go by their number (`cp-850`).
    """
    words = declared.replace('"', " ").replace("'", " ").split()
    if not words:
        return ""
    name = words[0].strip(" ;,").casefold()
    name = _ALIASES.get(name, name)
    for candidate in (name, *_numbered(name)):
        if not candidate or candidate in _NO_TEXT:
            continue
        try:
            found = codecs.lookup(candidate)
        except (LookupError, ValueError, UnicodeError):
            continue
        # Codecs such as hex or zip are no charsets; `_is_text_encoding` is how the standard library tells.
        if getattr(found, "_is_text_encoding", True) and found.name not in _NO_TEXT:
            return found.name
    return ""


def _numbered(name: str) -> tuple[str, ...]:
    found = _NUMBERED.match(name)
    return (f"cp{found[1]}",) if found else ()


def _is_single_byte(name: str) -> bool:
    return name == "ascii" or name.startswith(("cp125", "iso8859", "koi8", "mac"))


def _mostly_utf8(data: bytes) -> bool:
    """Say whether a text is UTF-8 but for a little damage: detection would read all of it as something else."""
    text = data[:DETECTION_SAMPLE].decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(1 for character in text if character > "\x7f" and character != "\ufffd")
    return good > 2 * bad


def _detected(data: bytes) -> str:
    """Guess a charset by the text; a short one tells nothing, and is taken for Windows' Latin."""
    from charset_normalizer import from_bytes

    sample = data.strip()[:DETECTION_SAMPLE]
    if len(sample) < DETECTION_LEAST:
        return "cp1252"
    left = _guesses_left.get()
    if left is not None:
        left[0] -= 1
        if left[0] < 0:
            return ""
    best = from_bytes(sample, enable_fallback=False, cp_exclusion=_NOT_IN_MAIL).best()
    return "" if best is None else best.encoding


def _clean(text: str) -> str:
    """Return text that any JSON and any terminal's log can hold: LF line ends, no NUL, no lone surrogates."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode().removeprefix("\ufeff")
