"""Messages fetched in chunks that fit into memory, one chunk ahead, over a connection that may break; parses none.

A connection that breaks in a chunk is made anew and the chunk is asked for message by message, so that one message that
the server cannot hand over (or hands over broken) costs itself alone. When two messages in a row break it, it is the
server, and the pass ends there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxsync.connectors.imap.problems import Dropped, Refused
from ctxsync.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ctxsync.connectors.imap.account import Account
    from ctxsync.connectors.imap.answers import Message
    from ctxsync.connectors.imap.folders import Folder
    from ctxsync.connectors.imap.session import Counters, Session

CHUNK_BYTES = 4_000_000
SIZES = 600  # messages whose sizes are asked for at once: servers take commands of 8,000 bytes (RFC 2683), UIDs have ten digits
MOST_BREAKS = 20  # new connections in one pass


@dataclass(frozen=True, slots=True)
class Chunk:
    """Messages that are fetched together.

    Args:
        heads: What is known of each by UID, in the order in which they are wanted; None where nothing came.
        what: What of them is fetched; empty when it is nothing.
    """

    heads: Mapping[int, Message | None]
    what: str


class Line:
    """The connection of a pass, with the folder that is selected on it; made anew when it breaks.

    Args:
        account: Where to.
        opened: Opens a session.

    Attributes:
        aside: The message that was fetched last broke the connection twice, and was left out.
    """

    def __init__(self, account: Account, opened: Callable[[Account], Session]) -> None:
        self._account, self._opened = account, opened
        self.session = opened(account)
        self._folder: Folder | None = None
        self._generation = 0
        self._breaks = 0
        self.aside = False

    def examine(self, folder: Folder) -> Counters:
        """Select a folder; raises `Refused`."""
        counters = self.session.examine(folder.name)
        self._folder, self._generation = folder, counters.validity
        return counters

    def again(self, broke: Dropped) -> None:
        """Connect anew and select the same folder, which must be the same still."""
        self.session.shutdown()
        self._breaks += 1
        if self._breaks > MOST_BREAKS:
            raise broke
        self.session = self._opened(self._account)
        if self._folder is None:
            return
        try:
            counters = self.session.examine(self._folder.name)
        except Refused as error:
            raise Unavailable(
                f"The folder {self._folder.place} can no longer be opened: {error.message}.", remedy=broke.remedy
            ) from None
        if counters.validity != self._generation:
            raise Unavailable(f"The server built the folder {self._folder.place} anew meanwhile.", remedy=broke.remedy)

    def heads(self, uids: Iterable[int], what: str) -> dict[int, Message]:
        """Return what the server says of messages without their bodies; asks again when the connection breaks."""
        wanted = list(uids)
        try:
            return {one.uid: one for one in self.session.fetch(wanted, what)}
        except Dropped as error:
            self.again(error)
            return {one.uid: one for one in self.session.fetch(wanted, what)}

    def close(self) -> None:
        """Log out."""
        self.session.close()


def chunks(line: Line, uids: Iterable[int], heads: str, *, most: int, max_body: int) -> Iterator[Chunk]:
    """Yield chunks of messages, bounded by count and bytes; what the server does not size comes without.

    Args:
        line: Where the folder is selected.
        uids: UIDs, in the order in which they are wanted; taken as they are needed.
        heads: What to fetch of each first: its size and what else is wanted.
        most: Messages a chunk.
        max_body: Bytes of a message that are fetched. Of a longer one come that many and one more, which says that
            there is more: its header and first parts, from which the text is read.
    """
    for group in _grouped(uids, SIZES):
        found = {uid: head for uid, head in line.heads(group, heads).items() if head.size is not None}
        chunk: dict[int, Message | None] = {}
        size = 0
        for uid in group:
            head = found.get(uid)
            if head is None or head.size is None:
                continue
            if head.size > max_body:
                yield Chunk({uid: head}, f"(UID BODY.PEEK[]<0.{max_body + 1}>)")
                continue
            if chunk and (len(chunk) == most or size + head.size > CHUNK_BYTES):
                yield Chunk(chunk, WHOLE)
                chunk, size = {}, 0
            chunk[uid] = head
            size += head.size
        if chunk:
            yield Chunk(chunk, WHOLE)
        missing = [uid for uid in group if uid not in found]
        for first in range(0, len(missing), most):
            yield Chunk(dict.fromkeys(missing[first : first + most]), "")


WHOLE = "(UID BODY.PEEK[])"


def bodies(line: Line, wanted: Iterator[Chunk]) -> Iterator[tuple[Chunk, dict[int, Message]]]:
    """Yield each chunk with the messages that came of it; the next one is on its way meanwhile."""
    chunk = next(wanted, None)
    broke = _ask(line, chunk)
    while chunk is not None:
        got: dict[int, Message] = {}
        try:
            if broke is not None:
                raise broke
            if chunk.what:
                got = _with_body(chunk, line.session.answers())
                line.aside = False
        except Dropped as error:
            line.again(error)
            got = _one_by_one(line, chunk)
        except Refused:
            got = _one_by_one(line, chunk)
        following = next(wanted, None)
        broke = _ask(line, following)
        yield chunk, got
        chunk = following


def _ask(line: Line, chunk: Chunk | None) -> Dropped | None:
    if chunk is None or not chunk.what:
        return None
    try:
        line.session.ask(chunk.heads, chunk.what)
    except Dropped as error:
        return error
    return None


def _one_by_one(line: Line, chunk: Chunk) -> dict[int, Message]:
    got: dict[int, Message] = {}
    for uid in chunk.heads:
        for last in (False, True):
            try:
                got |= _with_body(chunk, line.session.fetch([uid], chunk.what))
            except Refused:
                break
            except Dropped as error:
                if last and line.aside:
                    raise
                line.aside |= last
                line.again(error)
            else:
                line.aside = False
                break
    return got


def _with_body(chunk: Chunk, messages: Iterable[Message]) -> dict[int, Message]:
    return {one.uid: one for one in messages if one.body is not None and one.uid in chunk.heads}


def _grouped(uids: Iterable[int], size: int) -> Iterator[list[int]]:
    group: list[int] = []
    for uid in uids:
        group.append(uid)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
