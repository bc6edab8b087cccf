"""What a stream's cursor says of a repository, and the patch that brings it up to date. Runs nothing.

Keys of the cursor:

    tip:<sha>     everything reachable from these commits has been sighted. Only the outermost commits stand here, so
                  thousands of tags on one branch are one key. An interrupted pass goes on from them
    seen:<n>      ids of sighted commits, packed: what has vanished can be named even when git has forgotten it
    count         how many commits are sighted
    settled       how many were after the last pass that ended: what the deletion breaker takes its share of
    state         digest of the refs (and all else a pass looks at) after the last pass that ended; absent during one
    shallow       ids of the commits at a shallow clone's boundary
    mailmap       id of the mailmap that was observed
    bad:<place>   quarantined
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from ctxsync.connectors.base import Json

_PACK = 500  # ids a pack at most: a patch that rewrites one stays around 13 kB
_LOOSE = 32  # small packs that are let stand before they are joined


class Marks:
    """A cursor, read once and then moved; `patch()` says what has changed since it was last asked."""

    def __init__(self, cursor: Mapping[str, Json]) -> None:
        self._stored = dict(cursor)
        self._patch: dict[str, Json] = {}
        self.tips = {key[4:] for key in cursor if key.startswith("tip:")}
        self.bad = {key[4:] for key in cursor if key.startswith("bad:")}
        count, shallow = cursor.get("count", 0), cursor.get("shallow", [])
        self.count = count if isinstance(count, int) else 0
        settled = cursor.get("settled")
        self.settled = settled if isinstance(settled, int) else None
        self.shallow = frozenset(str(id_) for id_ in shallow) if isinstance(shallow, list) else frozenset[str]()
        self.mailmap = str(cursor.get("mailmap") or "")
        self.state = str(cursor.get("state") or "")
        self._next = 1 + max((int(key[5:]) for key in self._packs()), default=0)

    def sighted(self, commits: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Add commits, each as its id and its parents' ids, parents before children."""
        ids = []
        for id_, parents in commits:
            self.tips.difference_update(parents)
            self.tips.add(id_)
            ids.append(id_)
        self.seen(ids)

    def seen(self, ids: Iterable[str]) -> None:
        """Note sighted commits without moving the tips."""
        ids = list(ids)
        for first in range(0, len(ids), _PACK):
            self._set(f"seen:{self._next}", _packed(ids[first : first + _PACK]))
            self._next += 1
        self.count += len(ids)

    def unsighted(self, gone: Collection[str], tips: Collection[str]) -> None:
        """Take commits away; `tips` are the outermost of those that remain."""
        for key in self._packs():
            ids = _unpacked(self._stored[key])
            kept = [id_ for id_ in ids if id_ not in gone]
            if len(kept) < len(ids):
                self._set(key, _packed(kept) if kept else None)
        self.tips = set(tips)
        self.count = max(0, self.count - len(gone))

    def known(self) -> Iterator[str]:
        """Yield the ids of all sighted commits; some twice."""
        for key in self._packs():
            yield from _unpacked(self._stored[key])

    def join_packs(self) -> None:
        """Join small packs when there are many, so that a commit a pass does not add a key a commit for ever."""
        small = [key for key in self._packs() if len(_unpacked(self._stored[key])) <= _PACK // 2]
        if len(small) <= _LOOSE:
            return
        ids = list(dict.fromkeys(id_ for key in small for id_ in _unpacked(self._stored[key])))
        for key in small:
            self._set(key, None)
        count = self.count
        self.seen(ids)
        self.count = count

    def quarantine(self, places: Collection[str]) -> None:
        """Say which places are in quarantine now."""
        for place in self.bad - set(places):
            self._set(f"bad:{place}", None)
        for place in places:
            self._set(f"bad:{place}", value=True)
        self.bad = set(places)

    def patch(self) -> dict[str, Json]:
        """Return the keys that changed since the last call, sorted; None removes one."""
        for id_ in self.tips:
            self._set(f"tip:{id_}", 1)
        for key in [key for key in self._stored if key.startswith("tip:") and key[4:] not in self.tips]:
            self._set(key, None)
        self._set("count", self.count)
        self._set("settled", self.settled)
        self._set("shallow", [*sorted(self.shallow)] or None)
        self._set("mailmap", self.mailmap or None)
        self._set("state", self.state or None)
        changed, self._patch = self._patch, {}
        return dict(sorted(changed.items()))

    def _set(self, key: str, value: Json) -> None:
        if self._stored.get(key) == value:
            return
        self._patch[key] = value
        if value is None:
            self._stored.pop(key, None)
        else:
            self._stored[key] = value

    def _packs(self) -> list[str]:
        return sorted((key for key in self._stored if key.startswith("seen:")), key=lambda key: int(key[5:]))


def _packed(ids: Iterable[str]) -> str:
    ids = list(ids)
    return f"{len(ids[0])}:" + base64.b64encode(bytes.fromhex("".join(ids))).decode("ascii")


def _unpacked(pack: Json) -> list[str]:
    size, _, data = str(pack).partition(":")
    digits, width = base64.b64decode(data).hex(), int(size)
    return [digits[at : at + width] for at in range(0, len(digits), width)]
