"""What the cursor of an account holds, and the patch that a pass makes of it; decides nothing and asks no server.

Keys, each of one folder by its place. GENERATION is the folder's UIDVALIDITY: UIDs mean nothing across two of them.

    now:PLACE                     [generation, [former generations whose messages are not all found again]]
    folder:PLACE                  [UIDNEXT, messages, HIGHESTMODSEQ, since, how many of them are known] after the last
                                  pass that read the whole folder; absent until one did
    uids:PLACE:GENERATION:BLOCK   what stands under 256 neighbouring UIDs, packed: for each, its low byte and the 16
                                  bytes of its item's id (zeros: none, it is in quarantine). One new message changes one block
    labels:PLACE:GENERATION:BLOCK as above with 3 bytes, which labels a message has: an ordinal of `set:`
    set:ORDINAL                   a list of places
    bad:GENERATION:UID:PLACE      the place in quarantine of a message that could not be read
    late:GENERATION:PLACE         {UID: how often the server did not hand the message over}
"""

from __future__ import annotations

import base64
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ctxsync.connectors.base import Json

BLOCK: Final = 256
NOTHING: Final = bytes(16)
_KIND: Final = "mail:"
_SET: Final = 3  # bytes of an ordinal


@dataclass(frozen=True, slots=True)
class State:
    """A folder after the last pass that read all of it.

    Args:
        next: UIDNEXT then.
        exists: How many messages it had.
        modseq: HIGHESTMODSEQ, 0 where there was none.
        since: The setting then.
        known: How many of its messages were known: what the deletion breaker takes its share of.
    """

    next: int
    exists: int
    modseq: int
    since: str
    known: int


class Ledger:
    """A cursor, read once and then changed; `take` says what has changed since it was last asked."""

    def __init__(self, cursor: Mapping[str, Json]) -> None:
        self._stored = cursor
        self._patch: dict[str, Json] = {}
        self._unsaved: dict[str, Json] = {}
        self._open: dict[str, dict[int, bytes]] = {}
        self._blocks: dict[str, set[int]] = defaultdict(set)
        self._bad: dict[tuple[str, int, int], str] = {}
        self._sets: dict[tuple[str, ...], int] = {}
        for key, value in cursor.items():
            kind, _, rest = key.partition(":")
            if kind in ("uids", "labels"):
                owner, _, block = key.rpartition(":")
                self._blocks[owner].add(int(block))
            elif kind == "bad":
                generation, uid, place = rest.split(":", 2)
                self._bad[place, int(generation), int(uid)] = str(value)
            elif kind == "set":
                self._sets[tuple(cast("list[str]", value))] = int(rest)

    # Folders

    def places(self) -> list[str]:
        """Return the places that the cursor knows, in order."""
        keys = {*self._stored, *self._patch}
        return sorted(key[4:] for key in keys if key.startswith("now:") and self._get(key) is not None)

    def generation(self, place: str) -> int:
        """Return the UIDVALIDITY under which a folder is known; 0 when it is not."""
        return self._now(place)[0]

    def formers(self, place: str) -> list[int]:
        """Return the UIDVALIDITYs it had before whose messages have not all been found again."""
        return self._now(place)[1]

    def begin(self, place: str, generation: int) -> None:
        """Start a folder, or start it anew under another UIDVALIDITY."""
        before, formers = self._now(place)
        if before == generation:
            return
        kept = [one for one in [*formers, before] if one and one != generation]
        self._set(f"now:{place}", cast("Json", [generation, kept]))
        self._set(f"folder:{place}", None)
        for former in kept:
            self._set(f"late:{former}:{place}", None)

    def state(self, place: str) -> State | None:
        """Return the folder as it stood after the last pass that read all of it."""
        value = self._get(f"folder:{place}")
        return State(*cast("tuple[int, int, int, str, int]", value)) if isinstance(value, list) else None

    def finish(self, place: str, state: State | None) -> None:
        """Say how a folder stands now that all of it was read."""
        row = None if state is None else [state.next, state.exists, state.modseq, state.since, state.known]
        self._set(f"folder:{place}", cast("Json", row))

    def forget(self, place: str, generation: int) -> Iterator[None]:
        """Drop a generation of a folder, yielding between bounded patches."""
        for kind in ("uids", "labels"):
            owner = f"{kind}:{place}:{generation}"
            for number, block in enumerate(sorted(self._blocks.pop(owner, ()))):
                self._set(f"{owner}:{block}", None)
                self._open.pop(f"{owner}:{block}", None)
                if number % 200 == 199:
                    yield
        self._set(f"late:{generation}:{place}", None)
        now, formers = self._now(place)
        if now == generation:
            self._set(f"now:{place}", None)
            self._set(f"folder:{place}", None)
        else:
            self._set(f"now:{place}", cast("Json", [now, [one for one in formers if one != generation]]))
        yield

    # Messages

    def put(self, place: str, uid: int, item: str) -> None:
        """Note which item stands under a UID; an empty one is in quarantine."""
        self._write("uids", place, uid, bytes.fromhex(item.removeprefix(_KIND)) if item else NOTHING)

    def drop(self, place: str, uid: int) -> None:
        """Forget a UID."""
        self._write("uids", place, uid, None)
        self._write("labels", place, uid, None)

    def known(self, place: str, low: int = 1, high: int = 0) -> Iterator[tuple[int, str]]:
        """Yield UIDs from `low` to `high` (0: all) with their items, in order."""
        yield from self._read("uids", place, self.generation(place), low, high)

    def former(self, place: str) -> Iterator[str]:
        """Yield the items that stood in a folder under its former UIDVALIDITYs."""
        for generation in self.formers(place):
            for _, item in self._read("uids", place, generation, 1, 0):
                if item:
                    yield item

    def count(self, place: str) -> int:
        """Return how many UIDs of a folder are known."""
        owner = f"uids:{place}:{self.generation(place)}"
        return sum(len(self._block(f"{owner}:{block}", 16)) for block in self._blocks[owner])

    def labels(self, place: str, uid: int) -> tuple[str, ...]:
        """Return the labels a message was seen under."""
        ordinal = self._block(f"labels:{place}:{self.generation(place)}:{uid // BLOCK}", _SET).get(uid % BLOCK)
        if ordinal is None:
            return ()
        return tuple(cast("list[str]", self._get(f"set:{int.from_bytes(ordinal, 'big')}") or []))

    def labelled(self, place: str, generation: int) -> Iterator[tuple[str, str]]:
        """Yield the items of a folder under a UIDVALIDITY with each label that they were seen under."""
        for block in sorted(self._blocks[f"labels:{place}:{generation}"]):
            stands = self._block(f"uids:{place}:{generation}:{block}", 16)
            for offset, ordinal in self._block(f"labels:{place}:{generation}:{block}", _SET).items():
                labels = cast("list[str]", self._get(f"set:{int.from_bytes(ordinal, 'big')}") or [])
                item = stands.get(offset, NOTHING)
                if item != NOTHING:
                    yield from ((_KIND + item.hex(), label) for label in labels)

    def label(self, place: str, uid: int, labels: tuple[str, ...]) -> None:
        """Note the labels a message was seen under."""
        if not labels:
            self._write("labels", place, uid, None)
            return
        ordinal = self._sets.setdefault(labels, 1 + max(self._sets.values(), default=0))
        self._set(f"set:{ordinal}", list(labels))
        self._write("labels", place, uid, ordinal.to_bytes(_SET, "big"))

    def set_bad(self, place: str, generation: int, uid: int, quarantine: str) -> None:
        """Put a message into quarantine under a place, or take it out with an empty one."""
        if quarantine:
            self._bad[place, generation, uid] = quarantine
        else:
            self._bad.pop((place, generation, uid), None)
        self._set(f"bad:{generation}:{uid}:{place}", quarantine or None)

    def bad(self, place: str) -> dict[tuple[int, int], str]:
        """Return the messages of a folder that are in quarantine, by generation and UID."""
        return {(generation, uid): held for (at, generation, uid), held in self._bad.items() if at == place}

    def bad_at(self, place: str, generation: int, uid: int) -> str:
        """Return the place in quarantine of a message; empty when it is in none."""
        return self._bad.get((place, generation, uid), "")

    def is_bad(self, quarantine: str) -> bool:
        """Say whether any message is in quarantine under that place."""
        return quarantine in self._bad.values()

    def late(self, place: str) -> dict[int, int]:
        """Return how often the server did not hand over which messages."""
        value = self._get(f"late:{self.generation(place)}:{place}")
        return {int(uid): cast("int", tries) for uid, tries in value.items()} if isinstance(value, dict) else {}

    def set_late(self, place: str, late: Mapping[int, int]) -> None:
        """Note them."""
        row: Json = {str(uid): tries for uid, tries in sorted(late.items())}
        self._set(f"late:{self.generation(place)}:{place}", row or None)

    def take(self) -> dict[str, Json]:
        """Return the keys that changed since the last call, sorted; None removes one."""
        for key, block in self._open.items():
            packed = b"".join(bytes([low]) + value for low, value in sorted(block.items()))
            if not block:
                owner, _, number = key.rpartition(":")
                self._blocks[owner].discard(int(number))
            self._set(key, base64.b64encode(packed).decode("ascii") or None)
        self._open.clear()
        taken, self._unsaved = self._unsaved, {}
        return dict(sorted(taken.items()))

    # Within

    def _now(self, place: str) -> tuple[int, list[int]]:
        value = self._get(f"now:{place}")
        return (cast("int", value[0]), cast("list[int]", value[1])) if isinstance(value, list) else (0, [])

    def _read(self, kind: str, place: str, generation: int, low: int, high: int) -> Iterator[tuple[int, str]]:
        owner = f"{kind}:{place}:{generation}"
        for block in sorted(self._blocks[owner]):
            if block < low // BLOCK or (high and block > high // BLOCK):
                continue
            for offset, value in sorted(self._block(f"{owner}:{block}", 16).items()):
                uid = block * BLOCK + offset
                if low <= uid and (not high or uid <= high):
                    yield uid, "" if value == NOTHING else _KIND + value.hex()

    def _write(self, kind: str, place: str, uid: int, value: bytes | None) -> None:
        owner = f"{kind}:{place}:{self.generation(place)}"
        key = f"{owner}:{uid // BLOCK}"
        width = 16 if kind == "uids" else _SET
        block = self._open.get(key)
        if block is None:
            block = self._block(key, width)
            if value is None and uid % BLOCK not in block:
                return
            self._open[key] = block
            self._blocks[owner].add(uid // BLOCK)
        if value is None:
            block.pop(uid % BLOCK, None)
        else:
            block[uid % BLOCK] = value

    def _block(self, key: str, width: int) -> dict[int, bytes]:
        if key in self._open:
            return self._open[key]
        data = base64.b64decode(str(self._get(key) or ""))
        step = width + 1
        return {data[at]: data[at + 1 : at + step] for at in range(0, len(data), step)}

    def _get(self, key: str) -> Json:
        return self._patch[key] if key in self._patch else self._stored.get(key)

    def _set(self, key: str, value: Json) -> None:
        if self._get(key) != value:
            self._patch[key] = self._unsaved[key] = value


def items(pairs: Iterable[tuple[int, str]]) -> set[str]:
    """Return the items among UIDs and items."""
    return {item for _, item in pairs if item}
