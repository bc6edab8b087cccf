"""What a channel's cursor holds: which messages each file of the export showed. Knows no file and no message.

`f:FILE`    the stamp of a file that was read to its end, with how many messages it showed
`m:FILE/N`  some of its messages, sixteen characters each: the time in microseconds, a bit that says that it answers
            another, and a checksum of what it says
`q:FILE`    why a file could not be read: its place in quarantine, the stamp that it had, the error, its digest
`e:FILE`    the same of the entries of a file that are no messages
`team`, `rules`, `settled`  what ids begin with, what is left out, and how many messages there were when the last pass
            was complete
"""

from __future__ import annotations

import base64
import struct
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ctxsync.connectors.base import Json

CHUNK: Final = 128  # messages a key
_ENTRY: Final = struct.Struct("<QI")
_WIDTH: Final = 16  # characters of an entry in base64
_REPLY: Final = 1 << 63


class Bad(NamedTuple):
    """What is in quarantine: at which place, with which stamp, why, and the SHA-256 (hex) of its bytes."""

    place: str
    stamp: str
    error: str
    digest: str


class Known:
    """The messages that one file showed.

    Args:
        chunks: The cursor's values, by their number.
    """

    def __init__(self, chunks: Mapping[int, str]) -> None:
        self._chunks: dict[int, dict[int, int]] = {}
        self._of: dict[int, int] = {}
        self._replies: set[int] = set()
        self._dirty: set[int] = set()
        for number, packed in chunks.items():
            held = self._chunks[number] = {}
            for time, checksum in _ENTRY.iter_unpack(base64.b64decode(packed)):
                if time & _REPLY:
                    time ^= _REPLY  # noqa: PLW2901  # the bit is no part of the time
                    self._replies.add(time)
                held[time] = checksum
                self._of[time] = number
        self._last = max(self._chunks, default=0)

    def __contains__(self, time: int) -> bool:
        return time in self._of

    def __iter__(self) -> Iterator[int]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def checksum(self, time: int) -> int | None:
        """Return the checksum of the message of that time; None when there is none."""
        number = self._of.get(time)
        return None if number is None else self._chunks[number][time]

    def is_reply(self, time: int) -> bool:
        """Say whether it answers another message."""
        return time in self._replies

    def put(self, time: int, checksum: int, *, reply: bool) -> None:
        """Note a message."""
        number = self._of.get(time)
        if number is None:
            if len(self._chunks.setdefault(self._last, {})) >= CHUNK:
                self._last += 1
                self._chunks[self._last] = {}
            number = self._of[time] = self._last
        self._chunks[number][time] = checksum
        self._dirty.add(number)
        if reply:
            self._replies.add(time)

    def drop(self, time: int) -> None:
        """Forget a message."""
        number = self._of.pop(time, None)
        if number is not None:
            del self._chunks[number][time]
            self._replies.discard(time)
            self._dirty.add(number)

    def changed(self) -> Iterator[tuple[int, str | None]]:
        """Yield the chunks that changed since this was last asked, as the cursor holds them; None for an empty one."""
        for number in sorted(self._dirty):
            held, replies = self._chunks[number], self._replies
            packed = b"".join(
                [_ENTRY.pack(time | _REPLY if time in replies else time, checksum) for time, checksum in held.items()]
            )
            yield number, base64.b64encode(packed).decode() if packed else None
        self._dirty.clear()


class Ledger:
    """A channel's cursor, and what changes in it.

    Args:
        cursor: As the runner keeps it.
    """

    def __init__(self, cursor: Mapping[str, Json]) -> None:
        self._held: dict[str, Json] = dict(cursor)
        self._patch: dict[str, Json] = {}
        self._chunks: defaultdict[str, set[int]] = defaultdict(set)
        for key in cursor:
            if key.startswith("m:"):
                name, _, number = key[2:].rpartition("/")
                self._chunks[name].add(int(number))

    def text(self, key: str) -> str:
        """Return the value of one of the plain keys; empty when it has none."""
        value = self._held.get(key)
        return value if isinstance(value, str) else ""

    def settled(self) -> int | None:
        """Return how many messages there were after the last complete pass; None before there was one."""
        value = self._held.get("settled")
        return value if isinstance(value, int) else None

    def put(self, key: str, value: Json) -> None:
        """Set a key, where that changes it; None removes it."""
        if self._held.get(key) == value:
            return
        self._patch[key] = value
        if value is None:
            self._held.pop(key, None)
        else:
            self._held[key] = value

    def files(self) -> set[str]:
        """Return the files whose messages are known."""
        return set(self._chunks)

    def stamp(self, file: str) -> str:
        """Return the stamp with which a file was read to its end; empty when it was not."""
        value = self._held.get(f"f:{file}")
        return value if isinstance(value, str) else ""

    def bad(self, file: str, kind: str = "q") -> Bad | None:
        """Return why a file could not be read, or with the kind `e` why entries of it could not."""
        value = self._held.get(f"{kind}:{file}")
        return Bad(*map(str, value)) if isinstance(value, list) and len(value) == 4 else None

    def all_bad(self) -> list[tuple[str, str]]:
        """Return kind and file of all that is in quarantine."""
        return [(key[0], key[2:]) for key in self._held if key[:2] in {"q:", "e:"}]

    def known(self, file: str) -> Known:
        """Return the messages that a file showed."""
        return Known({number: str(self._held[f"m:{file}/{number}"]) for number in sorted(self._chunks[file])})

    def count(self, file: str = "") -> int:
        """Return how many messages a file showed, or all of them."""
        names = [file] if file else list(self._chunks)
        return sum(
            len(str(self._held[f"m:{name}/{number}"])) // _WIDTH for name in names for number in self._chunks[name]
        )

    def keep(self, file: str, known: Known) -> None:
        """Take over what changed in a file's messages."""
        for number, packed in known.changed():
            (self._chunks[file].discard if packed is None else self._chunks[file].add)(number)
            self.put(f"m:{file}/{number}", packed)

    def pending(self) -> int:
        """Return how many keys the patch has so far."""
        return len(self._patch)

    def take(self) -> dict[str, Json]:
        """Return the patch since this was last asked."""
        patch, self._patch = self._patch, {}
        return patch
