"""Messages for the tests of the parser, and what a reader would see of their items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.connectors.mail.message import mail_item

if TYPE_CHECKING:
    from ctxsync.connectors.base import Item, Section

NOW = 1_790_000_000_000
CAME = 1_700_000_000_000


def letter(body: str | bytes = "Hello.\n", headers: str | bytes = "", *, own: str = "<one@example.com>") -> bytes:
    """Return a message; `headers` come first and may repeat the usual ones, which then do not count."""
    first = headers if isinstance(headers, bytes) else headers.encode()
    usual = b"From: Rosa Quint <rosa@example.com>\nTo: robin@example.com\nSubject: Beans\n"
    usual += b"Date: Tue, 3 Mar 2026 10:00:00 +0100\n" + (f"Message-ID: {own}\n".encode() if own else b"")
    names = {line.split(b":")[0].lower() for line in first.splitlines()}
    kept = b"".join(line + b"\n" for line in usual.splitlines() if line.split(b":")[0].lower() not in names)
    first += b"" if not first or first.endswith(b"\n") else b"\n"
    return first + kept + b"\n" + (body if isinstance(body, bytes) else body.encode())


def read(raw: bytes, **options: Any) -> Item:
    """Return the item of a message that came at CAME."""
    return mail_item(raw, **{"received": CAME, "now": NOW, **options})


def body(raw: bytes, **options: Any) -> Section:
    """Return the body of a message."""
    return read(raw, **options).sections[0]


def text(raw: bytes) -> str:
    """Return what a reader sees of the body."""
    return body(raw).text


def marked(section: Section) -> str:
    """Return a section's text with what is quoted in double braces."""
    parts, at = [], 0
    for start, end in section.quoted:
        parts += [section.text[at:start], "{{", section.text[start:end], "}}"]
        at = end
    return "".join(parts) + section.text[at:]


def own_words(section: Section) -> str:
    """Return what is not quoted."""
    parts, at = [], 0
    for start, end in section.quoted:
        parts.append(section.text[at:start])
        at = end
    return "".join(parts) + section.text[at:]


def html(page: str) -> bytes:
    """Return a message that is HTML only."""
    return letter(page, "Content-Type: text/html; charset=utf-8")


def multipart(*parts: str, kind: str = "mixed", headers: str = "") -> bytes:
    """Return a multipart message of parts, each with its own header."""
    joined = "".join(f"--cut\n{part}\n" for part in parts)
    return letter(f"{joined}--cut--\n", f'Content-Type: multipart/{kind}; boundary="cut"\n{headers}')
