"""HTML mail as plain text, with the ranges that are quoted; fetches nothing, and knows no messages.

The parser is a library's (lexbor, the rules of HTML 5, any depth without recursion). The laying out is ours, in one
walk without recursion: what a reader would not see is dropped on the way, and quotations keep exact ranges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.mail.hiding import hidden_selectors, is_hiding
from ctxsync.connectors.mail.marks import begins_rest, is_marked
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_HTML: Final = 4_000_000  # characters; what is longer is cut
MAX_TAGS: Final = 20_000  # with more of them, their depth is measured before a parser that takes its square in time
MAX_NESTING: Final = 3_000
MAX_PLAIN_TAGS: Final = 1_000  # with more of them, it is looked how often formats that are never ended begin again
MAX_REPEATED: Final = 300_000  # such elements: a third of a kilobyte each
MAX_LABEL: Final = 2_000  # characters of a link's label that are compared with its address
MAX_URL: Final = 300  # characters; a longer address is shown without its query


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED = _words("""head title style script template noscript iframe object embed applet svg math canvas audio video map area
    select datalist button input meta link base -comment !doctype""")
_BLOCKS = _words("""address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hgroup hr html li main menu nav ol p pre section summary table tbody tfoot thead tr
    ul caption legend""")
_SPACED = _words("p h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre table hr")
_CELLS = frozenset({"td", "th"})

_SIZE = re.compile(r"(?:^|;)font(?:-size)?:([^;]*)")
_NO_SIZE = re.compile(r"^(?:0(?:\.0+)?(?:px|pt|%|r?em|/.*)?|(?:0?\.\d+|1(?:\.0+)?)(?:px|pt))(?:!important)?$")
_VISIBILITY = re.compile(r"(?:^|;)visibility:(hidden|collapse|visible)")
_BLANK = re.compile(r"[ \t\n\r\f\v\u00a0\u2002-\u200a\u202f\u205f\u3000]+")
_PADDING = re.compile(r"(?:[\u200b\u200c\u200d\u034f\ufeff\u00ad\u2060]\s*){4,}")  # pushes a preview's end out
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)", re.IGNORECASE)
_FORMATS = _words("a b big code em font i nobr s small strike strong tt u")
_FORMATTING = re.compile(rf"</?(?:{'|'.join(sorted(_FORMATS))})(?![\w-])[^<>]*>?", re.IGNORECASE)
_UNCLOSED = _words("br p li td th tr option img hr input meta link dt dd area base col wbr tbody thead tfoot")


@dataclass(slots=True)
class Plain:
    """Text, and the half-open character ranges of it that are quoted."""

    text: str
    quoted: list[tuple[int, int]]


def plain_text(html: str) -> Plain:
    """Return what a reader sees of a page of HTML.

    Raises:
        BadItem: It is nested so deep that no reader could show it.
    """
    from selectolax.lexbor import LexborHTMLParser

    html = html[:MAX_HTML]
    if html.count("<") > MAX_PLAIN_TAGS and _repeated(html) > MAX_REPEATED:
        html = _FORMATTING.sub(" ", html)
    if html.count("<") > MAX_TAGS and _depth(html) > MAX_NESTING:
        raise BadItem(f"The HTML of the message is nested more than {MAX_NESTING:,} elements deep.")
    tree = LexborHTMLParser(html)
    if tree.root is None:
        return Plain("", [])
    hidden = hidden_selectors(html)
    return _Layout(hidden).of(tree.root)


def _repeated(html: str) -> int:
    """Return how many elements for bold and the like a parser makes, at most, of those that are never ended.

    Each block and each cell within them begins with all of them again (HTML 5, 13.2.4.3): their product, in memory.
    """
    still_open = repeated = 0
    for closing, name in _TAG.findall(html):
        if name.lower() in _FORMATS:
            still_open = max(still_open - 1, 0) if closing else still_open + 1
        else:
            repeated += still_open
    return repeated


def _depth(html: str) -> int:
    depth = most = 0
    for closing, name in _TAG.findall(html):
        if name.lower() not in _UNCLOSED:
            depth = max(depth - 1, 0) if closing else depth + 1
            most = max(most, depth)
    return most


@dataclass(slots=True)
class _Open:
    """An element that is open during the walk, with what it changed."""

    tag: str
    start: int = -1  # of a link's label
    quote: bool = False
    no_size: bool = False
    invisible: bool = False
    href: str = ""


@dataclass(slots=True)
class _Layout:
    hidden: frozenset[str]
    out: list[str] = field(default_factory=list)
    length: int = 0
    breaks: int = 0  # line ends that are due before the next text
    space: bool = False  # a blank is due before the next text
    pre: int = 0
    lists: list[int] = field(default_factory=list)  # 0 for bullets, else the next number
    bullet: str = ""
    cell: bool = False  # a cell stands before on this line
    quote_starts: list[int] = field(default_factory=list)  # -1 until its first text
    rest: int = -1
    quoted: list[tuple[int, int]] = field(default_factory=list)

    def of(self, root: LexborNode) -> Plain:
        """Walk the tree; each element is entered and left once."""
        open_elements: list[_Open] = []
        state = _Open("html")
        node: LexborNode | None = root
        while node is not None:
            tag = node.tag or ""
            child: LexborNode | None = None
            if tag == "-text":
                if not (state.no_size or state.invisible):
                    self._text(node.text_content or "")
            elif tag not in _DROPPED:
                entered = self._enter(node, tag, state)
                if entered is not None:
                    child = node.child
                    if child is not None:
                        open_elements.append(state)
                        state = entered
                    else:
                        self._leave(entered)
            if child is not None:
                node = child
                continue
            while node is not None:
                following = node.next
                if following is not None:
                    node = following
                    break
                if not open_elements:
                    node = None
                    break
                self._leave(state)
                state = open_elements.pop()
                node = node.parent
        text = "".join(self.out)
        if self.rest >= 0:
            start = len(text) - len(text[self.rest :].lstrip())
            self.quoted.append((start, len(text)))
        return Plain(text, [(start, end) for start, end in self.quoted if start < end])

    def _enter(self, node: LexborNode, tag: str, around: _Open) -> _Open | None:
        """Return the element as open, or None when nothing of it is seen."""
        attributes = node.attributes
        style = ""
        now = _Open(tag, no_size=around.no_size, invisible=around.invisible)
        if attributes:
            if "hidden" in attributes:
                return None
            style = "".join((attributes.get("style") or "").lower().split())
            if style:
                if is_hiding(style):
                    return None
                size = _SIZE.search(style)
                if size:
                    now.no_size = bool(_NO_SIZE.match(size[1]))
                visibility = _VISIBILITY.search(style)
                if visibility:
                    now.invisible = visibility[1] != "visible"
            if self.hidden and self._is_hidden(attributes):
                return None
            now.quote = self._is_quote(tag, attributes, style)
        elif tag == "blockquote":
            now.quote = True
        if tag in _BLOCKS:
            self._break(2 if tag in _SPACED and not (self.lists and tag in {"ul", "ol", "p"}) else 1)
        if now.quote:
            self.quote_starts.append(-1)
        if tag == "br":
            self.breaks = min(self.breaks + 1, 2) if self.out or self.breaks else 0
            self.space, self.cell = False, False
        elif tag == "a":
            now.href = (attributes.get("href") or "").strip()
            now.start = self.length
        elif tag == "pre":
            self.pre += 1
        elif tag in {"ul", "ol"}:
            self.lists.append(0 if tag == "ul" else 1)
        elif tag == "li":
            number = self.lists[-1] if self.lists else 0
            self.bullet = f"{number}. " if number else "* "
            if number:
                self.lists[-1] += 1
        return now

    def _leave(self, left: _Open) -> None:
        tag = left.tag
        if tag == "a":
            self._link(left)
        elif tag == "pre":
            self.pre -= 1
        elif tag in {"ul", "ol"} and self.lists:
            self.lists.pop()
        elif tag == "li":
            self.bullet = ""
        elif tag in _CELLS and not self.breaks:
            self.cell = bool(self.out)
        if tag in _BLOCKS:
            self._break(2 if tag in _SPACED and not (self.lists and tag in {"ul", "ol", "p"}) else 1)
        if left.quote:
            start = self.quote_starts.pop()
            if start >= 0 and not any(each >= 0 for each in self.quote_starts):
                self.quoted.append((start, self.length))

    def _is_hidden(self, attributes: dict[str, str | None]) -> bool:
        if "#" + (attributes.get("id") or "") in self.hidden:
            return True
        return any("." + name in self.hidden for name in (attributes.get("class") or "").split())

    def _is_quote(self, tag: str, attributes: dict[str, str | None], style: str) -> bool:
        if self.rest < 0 and begins_rest(attributes, style):
            self.rest = self.length
        return is_marked(tag, attributes, style)

    def _break(self, lines: int) -> None:
        self.breaks = max(self.breaks, lines)
        self.space, self.cell = False, False

    def _text(self, text: str) -> None:
        if not self.pre:
            text = _BLANK.sub(" ", _PADDING.sub(" ", text) if not text.isascii() else text)
            if text == " ":
                self.space = True
                return
        if not text:
            return
        text = text.replace("\u00ad", "").replace("\r", "")
        if not self.pre:
            if text[0] == " ":
                self.space, text = True, text[1:]
            trailing = text.endswith(" ")
            text = text.rstrip(" ")
            if not text:
                return
        else:
            trailing = False
        if self.breaks and self.out:
            self._put("\n" * self.breaks)
        elif self.cell:
            self._put(" | ")
        elif self.space and self.out:
            self._put(" ")
        self.breaks, self.space, self.cell = 0, trailing, False
        for number in range(len(self.quote_starts) - 1, -1, -1):
            if self.quote_starts[number] >= 0:
                break
            self.quote_starts[number] = self.length
        if self.bullet:
            self._put("  " * (len(self.lists) - 1) + self.bullet)
            self.bullet = ""
        self._put(text)

    def _put(self, text: str) -> None:
        self.out.append(text)
        self.length += len(text)

    def _link(self, link: _Open) -> None:
        url = link.href
        if self.length == link.start or not url.lower().startswith(
            ("http://", "https://", "mailto:", "tel:", "ftp://")
        ):
            return
        url = "".join(url.split())
        if len(url) > MAX_URL:
            url = url.partition("?")[0][:MAX_URL]
        label = self._since(link.start) if self.length - link.start <= MAX_LABEL else ""
        bare = url.partition(":")[2].strip("/")
        if bare and bare.casefold().partition("?")[0] not in label.casefold():
            self._put(f" ({url})")

    def _since(self, start: int) -> str:
        """Return the text from a position on."""
        pieces: list[str] = []
        left = self.length - start
        for piece in reversed(self.out):
            if left <= 0:
                break
            pieces.append(piece)
            left -= len(piece)
        return "".join(reversed(pieces))
