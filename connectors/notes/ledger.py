"""What the cursor of a vault holds, and the patch that one pass makes of it; decides nothing.

One key a note, its path; every other key starts with `/`, which no relative path does:
  PATH         [size, mtime_ns, inode, SHA-256, item, {digest of a section's text: when it first appeared}]
  /was/PATH    [ordinal of the next id minted there, item last deleted there or "", its SHA-256 or ""]
  /bad/PLACE   [SHA-256 or "", error, size, mtime_ns, inode]
  /rules       digest of everything that ignores, as of the last complete pass
  /count       how many notes were held after it: what the deletion breaker takes its share of, whatever comes meanwhile
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ctxsync.connectors.base import digest
from ctxsync.connectors.notes.disk import Stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ctxsync.connectors.base import Json

WAS, BAD, RULES, COUNT = "/was/", "/bad/", "/rules", "/count"
UNREAD = Stamp(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """A note as last read. `digest` is empty when it moved and has yet to be read at its new path."""

    stamp: Stamp
    digest: str
    item: str
    appeared: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Bad:
    """What stood in quarantine: `digest` is empty when the bytes could not be read at all."""

    digest: str
    error: str
    stamp: Stamp


@dataclass(slots=True)
class Ledger:
    """The cursor as the pass found it, and its changes since.

    Args:
        source: Name of the source, part of every id minted.
        known: The cursor.
        patch: All changes of the pass.
        unsaved: Those that no batch has carried yet.
    """

    source: str
    known: Mapping[str, Json]
    patch: dict[str, Json] = field(default_factory=dict)
    unsaved: dict[str, Json] = field(default_factory=dict)

    def entry(self, path: str) -> Entry | None:
        """Return the note at a path."""
        value = self._get(path)
        if not isinstance(value, list):
            return None
        size, mtime_ns, inode, content, item, appeared = value
        stamp = Stamp(cast("int", size), cast("int", mtime_ns), cast("int", inode))
        return Entry(stamp, cast("str", content), cast("str", item), cast("dict[str, int]", appeared))

    def put(self, path: str, entry: Entry) -> None:
        """Set the note at a path."""
        stamp, appeared = entry.stamp, cast("dict[str, Json]", dict(entry.appeared))
        self._set(path, [stamp.size, stamp.mtime_ns, stamp.inode, entry.digest, entry.item, appeared])

    def leave(self, path: str, *, deleted: bool) -> None:
        """Remove the note from a path; one that was deleted gets its id back when it returns there."""
        entry = self.entry(path)
        if entry is None:
            return
        ordinal = max(self._was(path)[0], 1)
        self._set(path, None)
        self._set(WAS + path, [ordinal, entry.item, entry.digest] if deleted else [ordinal, "", ""])

    def identity(self, path: str, content: str) -> str:
        """Return the id for a note new at a path: the one it had there, else one that was never given before."""
        ordinal, item, before = self._was(path)
        if item and before == content:
            self._set(WAS + path, [ordinal, "", ""])
            return item
        if ordinal:
            self._set(WAS + path, [ordinal + 1, item, before])
        return f"note:{digest(self.source, path, ordinal)}"

    def bad(self, place: str) -> Bad | None:
        """Return why a place is in quarantine; None when it is not."""
        value = self._get(BAD + place)
        if not isinstance(value, list):
            return None
        content, error, size, mtime_ns, inode = value
        stamp = Stamp(cast("int", size), cast("int", mtime_ns), cast("int", inode))
        return Bad(cast("str", content), cast("str", error), stamp)

    def set_bad(self, place: str, bad: Bad | None) -> None:
        """Quarantine a place, or release it with None."""
        stamp = UNREAD if bad is None else bad.stamp
        row: Json = None if bad is None else [bad.digest, bad.error, stamp.size, stamp.mtime_ns, stamp.inode]
        self._set(BAD + place, row)

    def bad_places(self) -> Iterator[str]:
        """Yield the places that were in quarantine when the pass began, in order."""
        yield from sorted(key[len(BAD) :] for key in self.known if key.startswith(BAD))

    def paths(self) -> Iterator[str]:
        """Yield the notes' paths as the pass found them."""
        return (key for key in self.known if key[0] != "/")

    def holders(self) -> Counter[str]:
        """Return how many notes held each section's text, by its digest, as the pass found them."""
        held: Counter[str] = Counter()
        for path in self.paths():
            held.update(cast("list[dict[str, Json]]", self.known[path])[-1].keys())
        return held

    def rules(self) -> str:
        """Return the digest of everything that ignored in the last complete pass."""
        value = self._get(RULES)
        return value if isinstance(value, str) else ""

    def set_rules(self, value: str) -> None:
        """Remember the digest of everything that ignores."""
        if value != self.rules():
            self._set(RULES, value)

    def count(self) -> int:
        """Return how many notes were held after the last complete pass; before the first one, how many are known."""
        value = self._get(COUNT)
        return value if isinstance(value, int) else sum(1 for _ in self.paths())

    def set_count(self) -> None:
        """Remember how many notes are held now."""
        held = sum(key[0] != "/" for key in self.known)
        changed = [(key, value) for key, value in self.patch.items() if key[0] != "/"]
        held += sum((value is not None) - (key in self.known) for key, value in changed)
        if self._get(COUNT) != held:
            self._set(COUNT, held)

    def take(self) -> dict[str, Json]:
        """Return the changes since the last call: the patch of the next batch."""
        taken, self.unsaved = self.unsaved, {}
        return taken

    def _was(self, path: str) -> tuple[int, str, str]:
        value = self._get(WAS + path)
        if not isinstance(value, list):
            return 0, "", ""
        return cast("int", value[0]), cast("str", value[1]), cast("str", value[2])

    def _get(self, key: str) -> Json:
        return self.patch[key] if key in self.patch else self.known.get(key)

    def _set(self, key: str, value: Json) -> None:
        if value is None and key not in self.known and key not in self.patch:
            return
        self.patch[key] = self.unsaved[key] = value
