"""Slack's message markup as readable text: what it mentions, links to, quotes and shows as code.

Slack escapes `&`, `<` and `>` in what people write, so that `<…>` is always a token: a mention, a channel, a link, a
date. This knows markup only; `blocks.py` knows what a message is made of, `message.py` what a message is. Every scan is
linear, and the text that comes out is bounded.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ctxsync.connectors.base import Link
from ctxsync.connectors.slack.directory import readable

if TYPE_CHECKING:
    from ctxsync.connectors.base import Person
    from ctxsync.connectors.slack.directory import Directory

MAX_TEXT = 200_000  # characters; Slack cuts a message's text at 40,000, its attachments come on top
MAX_MARKS = 2_000  # links, mentions and ranges of one message, each
has_markup = re.compile(r"[<&>`*_~\r]").search
"""Says whether a text is more than its plain words."""
_FENCE = re.compile(r"```(.+?)```", re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`|<([^<>\n]+)>")
_QUOTE = re.compile(r"(?:&gt;|>)((?:&gt;|>){2})? ?")
_is_id = re.compile(r"[A-Z0-9]{2,40}").fullmatch
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:")
# Emphasis as Slack shows it: hugging its words on the inside, free on the outside.
_EMPHASIS = tuple(
    (
        mark,
        re.compile(
            rf"(?<![^\W_])(?<!{re.escape(mark)}){re.escape(mark)}(?=[^\s{mark}])([^{mark}\n]*?[^\s{mark}])"
            rf"{re.escape(mark)}(?!{re.escape(mark)})(?![^\W_])"
        ),
    )
    for mark in "*~_"
)


class Writer:
    """A message's text as it grows, with what stands where in it.

    Args:
        directory: What ids mean.

    Attributes:
        length: Characters so far.
        links: Links, in order.
        mentions: People and bots who are mentioned, each once, in order.
        channels: Ids of channels that are mentioned, each once, in order.
        code: Half-open ranges of code.
        quoted: Half-open ranges of others' words.
        cut: There was more than `MAX_TEXT`.
    """

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.length = 0
        self.links: list[Link] = []
        self.mentions: dict[str, Person] = {}
        self.channels: dict[str, None] = {}
        self.code: list[tuple[int, int]] = []
        self.quoted: list[tuple[int, int]] = []
        self.cut = False
        self._pieces: list[str] = []
        self.in_code = 0

    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._pieces)

    def raw(self, text: str) -> None:
        """Add text that is what it says."""
        if text:
            self.add(clean(text))

    def add(self, text: str) -> None:
        """Add text that is clean, and not empty."""
        length = self.length + len(text)
        if length > MAX_TEXT:
            text = text[: MAX_TEXT - self.length]
            self.cut = True
            length = MAX_TEXT
        self._pieces.append(text)
        self.length = length

    def line(self) -> None:
        """Begin a new line, unless this is one."""
        if not self.at_line_start():
            self.raw("\n")

    def at_line_start(self) -> bool:
        """Say whether nothing stands on this line yet."""
        while self._pieces and not self._pieces[-1]:
            self._pieces.pop()
        return not self._pieces or self._pieces[-1].endswith("\n")

    def begin_code(self) -> int:
        """Begin a stretch of code, where nothing is a mention or a link; return where."""
        self.in_code += 1
        return self.length

    def end_code(self, start: int) -> None:
        """End the stretch that began there."""
        self.in_code -= 1
        if self.length > start and not self.in_code and len(self.code) < MAX_MARKS:
            self.code.append((start, self.length))

    def quote(self, start: int) -> None:
        """Say that what stands from there to here is others' words; what touches is one stretch."""
        if self.length <= start:
            return
        if self.quoted and self.quoted[-1][1] >= start - 1:
            # Quotes close from the inside out: an outer one takes the inner ones in.
            while self.quoted and self.quoted[-1][1] >= start - 1:
                start = min(start, self.quoted.pop()[0])
        if len(self.quoted) < MAX_MARKS:
            self.quoted.append((start, self.length))

    def mention(self, user: str, label: str = "") -> None:
        """Add a mention of a user, by the name that the directory knows, else the label, else the id."""
        known = self.directory.author(user)
        person = known[0] if known else self.directory.person(user, fallback=" ".join(label.lstrip("@").split()))
        self.add(f"@{person.name}")
        if not self.in_code and len(self.mentions) < MAX_MARKS:
            self.mentions.setdefault(user, person)

    def channel(self, channel: str, label: str = "") -> None:
        """Add a mention of a channel, by the name that the directory knows, else the label, else the id."""
        name = self.directory.channel_name(channel, " ".join(label.lstrip("#").split()))
        self.raw(f"#{name}")
        if not self.in_code and len(self.channels) < MAX_MARKS:
            self.channels.setdefault(channel)

    def link(self, url: str, label: str = "") -> None:
        """Add a link as `label (url)`, or as the URL alone where the label says no more."""
        url, label = clean(url), clean(label)
        shown = url.removeprefix("mailto:")
        if label and label.rstrip("/") in (shown.rstrip("/"), shown.partition("://")[2].rstrip("/")):
            label = ""
        start = self.length
        self.raw(f"{label} ({shown})" if label else shown)
        if not self.in_code and len(self.links) < MAX_MARKS and self.length > start:
            self.links.append(Link(url, "url", label, "", start, self.length))


def mrkdwn(out: Writer, text: str) -> None:
    """Add a text in Slack's markup."""
    text = clean(text)
    if not has_markup(text):
        out.raw(text)
        return
    to_the_end = False
    for number, part in enumerate(_FENCE.split(text) if "```" in text else (text,)):
        if number % 2:
            start = out.begin_code()
            out.raw("```")
            _inline(out, part)
            out.raw("```")
            out.end_code(start)
        elif to_the_end or "&gt;" in part or part.startswith(">") or "\n>" in part:
            to_the_end = _lines(out, part, to_the_end)
        else:
            _inline(out, part)


def plain(out: Writer, text: str) -> None:
    """Add a text that has no markup, but may be escaped."""
    out.raw(unescape(text))


def clean(text: str) -> str:
    """Return a text that can be stored, with LF line ends."""
    return readable(text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text)


def unescape(text: str) -> str:
    """Return the text without Slack's three escapes; `&amp;lt;` is `&lt;`."""
    if "&" not in text:
        return text
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def when(timestamp: str) -> str:
    """Return a date token's seconds as `2024-02-29 12:00 UTC`; as they are where they mean nothing."""
    try:
        return datetime.fromtimestamp(int(timestamp), UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return timestamp


def _lines(out: Writer, text: str, to_the_end: bool) -> bool:
    """Add lines some of which are quotes; return whether everything after them is one."""
    for line in text.splitlines(keepends=True) if "\n" in text else (text,):
        body = line.removesuffix("\n")
        mark = _QUOTE.match(body) if out.at_line_start() else None
        start = out.length
        if mark is not None:
            to_the_end = to_the_end or mark[1] is not None
            out.raw("> ")
            body = body[mark.end() :]
        _inline(out, body)
        if mark is not None or to_the_end:
            out.quote(start)
        if line.endswith("\n"):
            out.raw("\n")
    return to_the_end


def _inline(out: Writer, text: str) -> None:
    """Add a text without quotes and fences."""
    parts = _INLINE.split(text)  # words, then a code or a token or neither, again and again, then words
    for at in range(0, len(parts) - 1, 3):
        if parts[at]:
            _words(out, parts[at])
        if (token := parts[at + 2]) is not None:
            _token(out, token)
        elif out.in_code:  # a backtick in a fence is a backtick
            out.add("`")
            _inline(out, parts[at + 1])
            out.add("`")
        else:
            start = out.begin_code()
            out.add("`")
            _inline(out, parts[at + 1])
            out.add("`")
            out.end_code(start)
    if parts[-1]:
        _words(out, parts[-1])


def _words(out: Writer, text: str) -> None:
    if ("*" in text or "_" in text or "~" in text) and not out.in_code:
        for mark, pattern in _EMPHASIS:
            if mark in text:
                text = pattern.sub(r"\1", text)
    out.add(unescape(text))


def _token(out: Writer, token: str) -> None:
    body, _, label = token.partition("|")
    label = unescape(label)
    kind, name = body[:1], body[1:]
    if kind == "@" and _is_id(name):
        out.mention(name, label)
    elif kind == "#" and _is_id(name):
        out.channel(name, label)
    elif kind == "!" and name:
        _command(out, name, label)
    elif _SCHEME.match(body):
        out.link(unescape(body), label)
    else:
        out.raw(unescape(f"<{token}>"))


def _command(out: Writer, name: str, label: str) -> None:
    """Add what begins with `!`: a broadcast, a group, a date; anything else by its label, or as it is."""
    what, *rest = name.split("^")
    if label:
        out.raw(label)
    elif what == "date" and rest:
        out.raw(when(rest[0]))
    elif what == "subteam" and rest:
        out.raw(f"@{rest[0]}")
    else:
        out.raw(f"@{unescape(name)}")
