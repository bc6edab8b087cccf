"""Who moved where: pairs contents that left their paths with paths where they now stand. Pure; opens nothing.

An id follows the content. A path whose note is still there but reads otherwise was edited, unless what it held now
stands elsewhere AND that is no mere copy: the file itself went there (same inode), or the path's new content came
from another note that moved (a rename over it, a swap, a rotation).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Trace:
    """What identifies a file's content at a path: its digest (empty when unknown), its inode, its size in bytes."""

    digest: str
    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class Pairing:
    """The outcome.

    Args:
        moves: From path to path; a path may be left and taken in one pass.
        displaced: Paths whose note is gone because another one moved over it.
        vanished: Paths that are gone with their notes.
    """

    moves: Mapping[str, str]
    displaced: tuple[str, ...]
    vanished: tuple[str, ...]


def pair(
    gone: Mapping[str, Trace],
    changed: Mapping[str, tuple[Trace, Trace]],
    fresh: Mapping[str, Trace],
    resembles: Callable[[str, str], bool],
) -> Pairing:
    """Pair what left with what came.

    Args:
        gone: Known paths that are no longer there, as they were.
        changed: Known paths with other content now: as they were, as they are.
        fresh: Paths that were not known.
        resembles: Says whether the file now at the second path has of the note last seen at the first what no other had.

    Ties go to the same inode, then the same file name, then a path that was not known, then the first by name.
    """
    old = {**gone, **{path: before for path, (before, _) in changed.items()}}
    new = {**fresh, **{path: after for path, (_, after) in changed.items()}}
    by_inode = _index(sorted(new), lambda path: new[path].inode)
    # A truncated note equals every other empty one: no evidence that another note moved over it.
    telling = [path for path in new if path in fresh or new[path].size > 0]
    telling.sort(key=lambda path: (path not in fresh, path), reverse=True)  # the best last: candidates go from the end
    by_content = _index(telling, lambda path: new[path].digest)
    by_name = _index(telling, lambda path: (new[path].digest, _name(path)))
    moves: dict[str, str] = {}
    taken: set[str] = set()

    def move(source: str, target: str) -> None:
        moves[source] = target
        taken.add(target)

    def first_free(candidates: list[str]) -> str | None:
        while candidates and candidates[-1] in taken:
            candidates.pop()
        return candidates[-1] if candidates else None

    # The files themselves first: an inode that carries the same content elsewhere was renamed, not copied.
    for source in sorted(old):
        for path in by_inode.get(old[source].inode, ()):
            if path not in taken and path != source and new[path].digest == old[source].digest != "":
                move(source, path)
                break
    # Then what is free to go, and what that displaces: first all that keep their file name, then the others.
    free = sorted(path for path in {*gone, *(taken & changed.keys())} if path not in moves)
    for only_named in (True, False):
        for source in free:
            key = old[source].digest
            if source in moves or not key:
                continue
            target = first_free(by_name.get((key, _name(source)), []))
            if target is None and not only_named:
                target = first_free(by_content.get(key, []))
            if target is not None and target != source:
                move(source, target)
                if target in changed and target not in moves:
                    free.append(target)
    for cycle in _cycles(changed, by_content, moves, taken):
        for source, target in cycle.items():
            move(source, target)
    # Renamed and edited since: the same inode, and something in common (a freed inode number is soon given away again).
    for source in sorted(path for path in old if path not in moves and (path in gone or path in taken)):
        for path in by_inode.get(old[source].inode, ()):
            if path not in taken and path != source and (_name(source) == _name(path) or resembles(source, path)):
                move(source, path)
                break
    displaced = tuple(sorted(path for path in taken if path in changed and path not in moves))
    return Pairing(moves, displaced, tuple(sorted(path for path in gone if path not in moves)))


def chains(moves: Mapping[str, str], displaced: Iterable[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Split moves into those that stand alone and those that take or leave a path that another one leaves or takes.

    The second kind has to be stored together.
    """
    crowded = (set(moves) & set(moves.values())) | set(displaced)
    alone = [(source, to) for source, to in sorted(moves.items()) if source not in crowded and to not in crowded]
    linked = [(source, to) for source, to in sorted(moves.items()) if source in crowded or to in crowded]
    return alone, linked


def _cycles(
    changed: Mapping[str, tuple[Trace, Trace]],
    by_content: Mapping[str, list[str]],
    moves: Mapping[str, str],
    taken: set[str],
) -> list[dict[str, str]]:
    """Find contents that changed places among paths that all still exist (copied, not renamed, so no inode tells)."""
    done: set[str] = set()
    cycles: list[dict[str, str]] = []
    for start in sorted(changed):
        walk: dict[str, str] = {}
        path = start
        while path not in done and path not in moves and path not in walk and changed[path][0].digest:
            ahead = (
                to for to in reversed(by_content.get(changed[path][0].digest, [])) if to in changed and to not in taken
            )
            target = next(ahead, None)
            if target is None:
                break
            walk[path] = target
            path = target
        done.update(walk)
        if path == start and walk and len(set(walk.values())) == len(walk):
            cycles.append(walk)
    return cycles


def _index(paths: Iterable[str], key: Callable[[str], K]) -> dict[K, list[str]]:
    index: defaultdict[K, list[str]] = defaultdict(list)
    for path in paths:
        index[key(path)].append(path)
    return dict(index)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].casefold()
