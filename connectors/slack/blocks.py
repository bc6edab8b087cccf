"""What a Slack message holds besides its text, as words: blocks, attachments, files. Knows no message as such.

Blocks nest, attachments hold blocks and messages, and all of it comes from apps: depth and number are bounded, and
what has no shape that Slack documents is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.slack.text import mrkdwn, plain, when

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxsync.connectors.slack.text import Writer

MAX_DEPTH: Final = 16
MAX_ELEMENTS: Final = 5_000
MAX_PREVIEW: Final = 20_000  # characters of a snippet's or post's preview
# What an attachment has when Slack or an app made it of something else that was linked or shared.
_OTHERS: Final = ("from_url", "original_url", "is_msg_unfurl", "is_share", "is_reply_unfurl", "is_thread_root_unfurl")


class Words:
    """Walks over blocks and attachments, writing what a person would read.

    Args:
        out: Where the words go.
    """

    def __init__(self, out: Writer) -> None:
        self._out = out
        self._left = MAX_ELEMENTS

    def blocks(self, blocks: object, depth: int = 0) -> None:
        """Add the words of blocks, each on a line of its own."""
        for block in self._each(blocks, depth):
            self._out.line()
            kind = block.get("type")
            writer = _BLOCKS.get(kind) if isinstance(kind, str) else None
            (writer or Words._other)(self, block, depth + 1)

    def attachments(self, attachments: object, depth: int = 0) -> None:
        """Add the words of attachments; those made of what a link leads to are quoted."""
        for attachment in self._each(attachments, depth):
            self._out.line()
            start = self._out.length
            self._attachment(attachment, depth + 1)
            if any(attachment.get(key) for key in _OTHERS):
                self._out.quote(start)

    def _attachment(self, attachment: Mapping[str, object], depth: int) -> None:
        start = self._out.length
        self._line(attachment.get("pretext"))
        self._line(attachment.get("author_name"))
        title, url = attachment.get("title"), attachment.get("title_link")
        if isinstance(title, str) and title and isinstance(url, str) and url:
            self._out.line()
            self._out.link(url, " ".join(title.split()))
        else:
            self._line(title)
        self._line(attachment.get("text"))
        for field in self._each(attachment.get("fields"), depth):
            self._line(field.get("title"))
            self._line(field.get("value"))
        self.blocks(attachment.get("blocks"), depth)
        for shared in self._each(attachment.get("message_blocks"), depth):
            message = shared.get("message")
            if isinstance(message, dict):
                self.blocks(message.get("blocks"), depth + 1)
        self.attachments(attachment.get("attachments"), depth)
        if self._out.length == start:
            self._line(attachment.get("fallback"))

    def _each(self, values: object, depth: int) -> list[Mapping[str, object]]:
        """Return the records of a list, as many as may still be looked at."""
        if depth > MAX_DEPTH or self._left <= 0 or not isinstance(values, Sequence) or isinstance(values, str | bytes):
            return []
        found: list[Mapping[str, object]] = [value for value in values[: self._left] if isinstance(value, dict)]
        self._left -= len(found)
        return found

    def _line(self, text: object) -> None:
        if isinstance(text, str) and text:
            self._out.line()
            mrkdwn(self._out, text)

    def _object(self, text: object) -> None:
        """Add a text object on a line of its own."""
        if isinstance(text, dict) and isinstance(words := text.get("text"), str) and words:
            self._out.line()
            (plain if text.get("type") == "plain_text" else mrkdwn)(self._out, words)

    def _section(self, block: Mapping[str, object], depth: int) -> None:
        self._object(block.get("text"))
        for field in self._each(block.get("fields"), depth):
            self._object(field)
        accessory = block.get("accessory")
        if isinstance(accessory, dict) and accessory.get("type") == "image":
            self._image(accessory, depth)

    def _context(self, block: Mapping[str, object], depth: int) -> None:
        for element in self._each(block.get("elements"), depth):
            if element.get("type") == "image":
                self._image(element, depth)
            else:
                self._object(element)

    def _image(self, block: Mapping[str, object], _: int) -> None:
        self._object(block.get("title"))
        self._line(block.get("alt_text"))

    def _video(self, block: Mapping[str, object], depth: int) -> None:
        self._image(block, depth)
        self._object(block.get("description"))

    def _markdown(self, block: Mapping[str, object], _: int) -> None:
        if isinstance(words := block.get("text"), str):
            self._out.raw(words)

    def _table(self, block: Mapping[str, object], depth: int) -> None:
        rows = block.get("rows")
        for row in rows[: self._left] if isinstance(rows, list) else ():
            self._out.line()
            for number, cell in enumerate(self._each(row, depth)):
                if number:
                    self._out.raw(" | ")
                if cell.get("type") == "rich_text":
                    for part in self._each(cell.get("elements"), depth + 1):
                        self._inline(part, depth + 2)
                elif isinstance(words := cell.get("text"), str):
                    plain(self._out, words)

    def _nothing(self, _: Mapping[str, object], __: int) -> None:
        """Add nothing: what one may press, not what was said."""

    def _other(self, block: Mapping[str, object], depth: int) -> None:
        """Add what a block that nobody knows holds in the places where blocks hold words."""
        if isinstance(block.get("text"), str):
            self._line(block["text"])
        self._section(block, depth)
        self._image(block, depth)
        self.blocks(block.get("elements"), depth)
        self.blocks(block.get("blocks"), depth)

    def _rich(self, block: Mapping[str, object], depth: int) -> None:
        for part in self._each(block.get("elements"), depth):
            self._rich_part(part, depth + 1)

    def _rich_part(self, part: Mapping[str, object], depth: int) -> None:
        out, kind = self._out, part.get("type")
        if kind == "rich_text_list":
            self._list(part, depth)
            return
        start = out.length
        if kind == "rich_text_preformatted":
            out.line()
            start = out.begin_code()
            out.raw("```")
            self._inline(part, depth)
            out.raw("```")
            out.end_code(start)
            out.raw("\n")
        elif kind == "rich_text_quote":
            out.line()
            start = out.length
            out.raw("> ")
            self._inline(part, depth)
            out.quote(start)
            out.raw("\n")
        else:
            self._inline(part, depth)

    def _list(self, part: Mapping[str, object], depth: int) -> None:
        first = part.get("offset")
        number = first if isinstance(first, int) else 0
        indent = part.get("indent")
        margin = "    " * min(indent, 8) if isinstance(indent, int) else ""
        for entry in self._each(part.get("elements"), depth):
            self._out.line()
            number += 1
            self._out.raw(f"{margin}{number}. " if part.get("style") == "ordered" else f"{margin}• ")
            self._rich_part(entry, depth + 1)
        self._out.line()

    def _inline(self, part: Mapping[str, object], depth: int) -> None:
        for element in self._each(part.get("elements"), depth):
            style = element.get("style")
            code = isinstance(style, dict) and bool(style.get("code"))
            start = self._out.begin_code() if code else 0
            if code:
                self._out.raw("`")
            self._element(element, depth)
            if code:
                self._out.raw("`")
                self._out.end_code(start)

    def _element(self, element: Mapping[str, object], depth: int) -> None:
        def says(key: str) -> str:
            value = element.get(key)
            return value if isinstance(value, str) else ""

        out, kind = self._out, element.get("type")
        if kind == "text":
            out.raw(says("text"))
        elif kind == "link":
            out.link(says("url"), says("text"))
        elif kind == "user":
            out.mention(says("user_id"))
        elif kind == "channel":
            out.channel(says("channel_id"))
        elif kind == "emoji":
            out.raw(f":{says('name')}:")
        elif kind in ("usergroup", "broadcast", "team"):
            out.raw(f"@{says('usergroup_id') or says('range') or says('team_id')}")
        elif kind == "date":
            out.raw(says("fallback") or when(str(element.get("timestamp"))))
        elif isinstance(element.get("elements"), list):
            self._rich_part(element, depth + 1)
        else:
            out.raw(says("text") or says("value") or says("alt_text"))


_BLOCKS: Final[dict[str, Callable[[Words, Mapping[str, object], int], None]]] = {
    "rich_text": Words._rich,  # noqa: SLF001  # a table of this class's own methods
    "section": Words._section,  # noqa: SLF001
    "header": Words._section,  # noqa: SLF001
    "context": Words._context,  # noqa: SLF001
    "image": Words._image,  # noqa: SLF001
    "video": Words._video,  # noqa: SLF001
    "markdown": Words._markdown,  # noqa: SLF001
    "table": Words._table,  # noqa: SLF001
    "actions": Words._nothing,  # noqa: SLF001
    "input": Words._nothing,  # noqa: SLF001
    "divider": Words._nothing,  # noqa: SLF001
}
