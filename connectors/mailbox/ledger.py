"""What the cursor of a mailbox holds, and the patch that one pass makes of it; decides nothing.

  /rules            digest of what decides which messages are read, and how
  /counts           {group: how many sightings it had after the last complete pass}: for the deletion breaker
  f/KEY             a single message's file: [size, mtime_ns, place, item, content] or, when it is bad,
                    [size, mtime_ns, place, "", "", SHA-256, error]
  b/PATH            an mbox: [size, mtime_ns, end, tail, state, messages]; `tail` is the chunk of the last message,
                    which begins at `end` and is read again when the file changes
  c/PATH/NAME       a chunk of an mbox: {"len": bytes, "tail": digest of its last bytes, "m": the messages, packed,
                    "p": [[place, numbers of the messages there]…], absent when all are at PATH,
                    "bad": [[offset, length, SHA-256, error]…]}
  q/PLACE           why a folder or file could not be looked into
  z/GROUP/DIGEST    sightings whose messages are gone: [place, item], or `m` and `p` of a chunk; removed when the breaker
                    lets it through

A group is what the breaker looks at as a whole: an mbox, a Maildir, or all `.eml` files (`.`). Items stand without
their `mail:`. A packed message is its item (32 characters), the digest of its bytes (16) and of its content (16); one
that is bad or too old has zeros for an item.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ctxsync.connectors.base import Json

RULES: Final = "/rules"
COUNTS: Final = "/counts"
NOBODY: Final = "0" * 32
EMLS: Final = "."


@dataclass(frozen=True, slots=True)
class Message:
    """A message as last read: item, digest of its bytes, digest of its content, and where it is seen."""

    item: str
    raw: str
    content: str
    places: tuple[str, ...]

    def packed(self) -> str:
        """Return the message without its places as 64 characters."""
        return self.item + self.raw + self.content


@dataclass(frozen=True, slots=True)
class Mbox:
    """An mbox as last read.

    Args:
        size: Of the file, in bytes.
        mtime_ns: Of the file; -1 when it could be written again without showing.
        end: Offset up to which its chunks go, the tail apart.
        tail: Name of the chunk of its last message; empty while there is none.
        state: `read`; `reading` while chunks are in order up to `end`; `again` while old and new ones are mixed.
        messages: How many there are.
    """

    size: int
    mtime_ns: int
    end: int
    tail: tuple[int, ...]
    state: str
    messages: int

    @property
    def is_read(self) -> bool:
        """Whether the whole file was read."""
        return self.state == "read"

    @property
    def can_go_on(self) -> bool:
        """Whether reading can begin at `end`."""
        return self.state != "again"

    def as_json(self) -> list[Json]:
        """Return it as it stands in the cursor."""
        return [self.size, self.mtime_ns, self.end, list(self.tail), self.state, self.messages]


@dataclass(slots=True)
class Ledger:
    """The cursor as the pass found it, what it says of presence, and the patch so far.

    Args:
        known: The cursor.
        patch: What no batch has carried yet.
        places: By place, how many messages there are of each item; kept current by the pass.
        items: By item, at how many places it is.
        contents: By item, the digests of its versions.
    """

    known: Mapping[str, Json]
    patch: dict[str, Json] = field(default_factory=dict)
    places: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    items: dict[str, int] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)  # keys that a batch of this pass carried

    def load(self) -> None:
        """Count who is where; only a pass that found something to do needs that."""
        for key, value in self.known.items():
            for message in messages_of(key, value):
                for place in message.places:
                    self.add(place, message)

    def add(self, place: str, message: Message) -> bool:
        """Count a message at a place; return whether its item was not there yet."""
        if message.item == NOBODY:
            return False
        here = self.places[place]
        before = here.get(message.item, 0)
        here[message.item] = before + 1
        if not before:
            self.items[message.item] = self.items.get(message.item, 0) + 1
        said = self.contents.get(message.item, "")
        if message.content not in said:
            self.contents[message.item] = said + message.content
        return not before

    def leave(self, place: str, item: str) -> bool:
        """Take a message from a place; return whether its item is no longer there."""
        here = self.places[place]
        if here.get(item, 0) == 0:
            return False
        here[item] -= 1
        if here[item]:
            return False
        del here[item]
        self.items[item] -= 1
        if not self.items[item]:
            del self.items[item]
        return True

    def set(self, key: str, value: Json) -> None:
        """Put a value into the patch, unless the cursor holds it already; None removes the key."""
        if key not in self.written and self.known.get(key) == value:
            self.patch.pop(key, None)
        else:
            self.patch[key] = value

    def take(self) -> dict[str, Json]:
        """Return the patch for a batch, and begin another."""
        taken, self.patch = self.patch, {}
        self.written.update(taken)
        return taken

    def mbox(self, path: str) -> Mbox | None:
        """Return what is known of an mbox."""
        value = self.known.get(f"b/{path}")
        if not isinstance(value, list):
            return None
        size, mtime_ns, end, tail, state, messages = cast("list[Any]", value)
        return Mbox(size, mtime_ns, end, tuple(tail), state, messages)

    def counts(self) -> dict[str, int]:
        """Return what was held after the last complete pass, by group."""
        value = self.known.get(COUNTS)
        return cast("dict[str, int]", dict(value)) if isinstance(value, dict) else {}


def messages_of(key: str, value: Json) -> Iterator[Message]:
    """Yield the messages that an entry of the cursor holds."""
    if key.startswith("f/") and isinstance(value, list):
        if value[3]:
            yield Message(str(value[3]), "", str(value[4]), (str(value[2]),))
    elif key.startswith("z/") and isinstance(value, list):
        yield Message(str(value[1]), "", "", (str(value[0]),))
    elif key[:2] in {"c/", "z/"} and isinstance(value, dict):
        path = group_of(key, value)
        yield from (message for message in unpacked(path, value) if message.item != NOBODY)


def unpacked(path: str, chunk: Mapping[str, Any]) -> list[Message]:
    """Return all messages of a chunk in order, those that are too old or left out with NOBODY for an item."""
    packed = str(chunk["m"])
    count = len(packed) // 64
    places = _places(chunk, count, path)
    texts = (packed[64 * number : 64 * number + 64] for number in range(count))
    return [Message(text[:32], text[32:48], text[48:], at) for text, at in zip(texts, places, strict=True)]


def _places(chunk: Mapping[str, Any], count: int, path: str) -> list[tuple[str, ...]]:
    if "p" not in chunk:
        return [(path,)] * count
    at: list[list[str]] = [[] for _ in range(count)]
    for place, numbers in chunk["p"]:
        for number in numbers:
            at[number].append(place)
    return [tuple(each) for each in at]


def path_of_chunk(key: str) -> str:
    """Return the mbox of a chunk's key, or the group of sightings that are gone."""
    return key[2:].rsplit("/", 1)[0]


def group_of(key: str, value: Json) -> str:
    """Return the group of an entry."""
    if key[:2] in {"c/", "z/"}:
        return path_of_chunk(key)
    place = str(value[2]) if isinstance(value, list) else ""
    return EMLS if key[2:] == place else place
