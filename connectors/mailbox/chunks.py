"""The chunks of an mbox as the cursor keeps them: values and names; reads no file and decides nothing.

A chunk's name is numbers with dots, and names are in the order of the file: between `5` and `6` there is room for
`5.1`, so that a message more in the middle of a file changes a chunk or two, and not all that follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ctxsync.connectors.mailbox.ledger import Message, path_of_chunk, unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.connectors.base import Json

Name: TypeAlias = tuple[int, ...]


@dataclass(slots=True)
class Chunk:
    """Messages that stand together in an mbox.

    Args:
        name: Its name.
        messages: In order; what could not be read is not among them.
        bad: [offset, length, SHA-256, error] of what could not be read.
        length: Bytes from its first message to its end.
        tail: Digest of its last bytes.
    """

    name: Name
    messages: list[Message] = field(default_factory=list)
    bad: list[list[Any]] = field(default_factory=list)
    length: int = 0
    tail: str = ""

    def __len__(self) -> int:
        return len(self.messages) + len(self.bad)

    @classmethod
    def of(cls, key: str, value: Mapping[str, Any]) -> Chunk:
        """Return the chunk that an entry of the cursor holds."""
        bad = [list(each) for each in value.get("bad", ())]
        return cls(name_of(key), unpacked(path_of_chunk(key), value), bad, value["len"], value["tail"])

    def key(self, path: str) -> str:
        """Return its key in the cursor."""
        return f"c/{path}/{'.'.join(map(str, self.name))}"

    def as_json(self, path: str) -> dict[str, Json]:
        """Return it as it stands in the cursor."""
        made: dict[str, Json] = {"len": self.length, "tail": self.tail, **packed(self.messages, path)}
        if self.bad:
            made["bad"] = list(self.bad)
        return made


def packed(messages: list[Message], path: str) -> dict[str, Json]:
    """Return messages as they stand in the cursor: `m`, and `p` where they are not all at `path`."""
    made: dict[str, Json] = {"m": "".join(message.packed() for message in messages)}
    at: dict[str, list[Json]] = {}
    for number, message in enumerate(messages):
        for place in message.places:
            at.setdefault(place, []).append(number)
    if any(message.places != (path,) for message in messages):
        made["p"] = [[place, numbers] for place, numbers in sorted(at.items())]
    return made


def name_of(key: str) -> Name:
    """Return the name of the chunk with that key."""
    return tuple(map(int, key.rsplit("/", 1)[1].split(".")))


def name_between(before: Name, after: Name | None) -> Name:
    """Return a name behind one and before another, or at the end."""
    if after is None:
        return (before[0] + 1,)
    beside = (*before[:-1], before[-1] + 1)
    if beside < after:
        return beside
    within = after[: len(before)] == before  # `5` and `5.1`: then `5.0`
    return (*before, after[len(before)] - 1 if within else 1)
