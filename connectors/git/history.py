"""A repository's commits in bulk, as git prints them: bytes in, records out. Knows nothing of items or cursors."""

from __future__ import annotations

import secrets
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ctxsync.connectors.git.process import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctxsync.connectors.git.process import Repository

_FIELDS = ("%H", "%P", "%an", "%ae", "%at", "%ad", "%cn", "%ce", "%ct", "%B")
# Renames are looked for as `git log` itself does by default, whatever the reader's configuration says.
_FILES = ("--name-status", "-z", "-M50%", "-l1000", "--ignore-submodules=none", "--no-ext-diff", "--no-textconv")
_SAME = ("--encoding=UTF-8", "--no-show-signature", "--diff-merges=off", "--no-mailmap", "--no-color", "--date=raw")
_WINDOW = 64


class Record(NamedTuple):
    """One commit as git prints it: its fields as text, in which bytes that are not UTF-8 stand as surrogates.

    `author_date` is the author's seconds and zone (`1700000000 -0800`). `files` alternates status and path, NUL-separated (two paths after R and C); None says that they could not be
    listed. A field of a malformed identity is empty. `is_clean` says that no field holds a surrogate.
    """

    sha: str
    parents: list[str]
    author_name: str
    author_email: str
    author_time: str
    author_date: str
    committer_name: str
    committer_email: str
    committer_time: str
    message: str
    files: str | None
    is_clean: bool


def commits(repository: Repository, tips: Iterable[str], known: Iterable[str]) -> Iterator[Record]:
    """Yield the commits reachable from `tips` and not from `known`, parents before their children.

    One git process streams them all. Where it stops at an object it cannot read, the rest is listed in small windows,
    so that only the damaged commits go without their files (`files` is None).

    Raises:
        AuthError: git refuses the repository.
        Unavailable: the repository is gone, or a commit itself cannot be read.
    """
    tips, known = sorted(tips), sorted(known)
    if not tips:
        return
    revisions = [*tips, *(f"^{id_}" for id_ in known)]
    last: str | None = None
    try:
        for record in _log(repository, _FILES, "--reverse", "--topo-order", stdin=revisions):
            yield record
            last = record.sha
    except Damaged:
        pass
    else:
        return
    rest = (line.decode() for line in _lines(repository, "--reverse", "--topo-order", stdin=revisions))
    for sha in rest if last else ():
        if sha == last:
            break
    while window := list(islice(rest, _WINDOW)):
        yield from listed(repository, window)


def listed(repository: Repository, ids: Sequence[str]) -> Iterator[Record]:
    """Yield exactly these commits in this order; `files` is None for one whose files cannot be listed.

    Raises:
        Unavailable: a commit itself cannot be read.
    """
    left = list(ids)
    while left:
        done = 0
        try:
            # Only whole-file renames: a partial clone has no contents to compare.
            for record in _log(repository, (*_FILES, "-M100%"), "--no-walk=unsorted", stdin=left):
                yield record
                done += 1
        except Damaged:
            bare = list(_log(repository, ("-s",), "--no-walk=unsorted", stdin=left[done : done + 1]))
            yield from (record._replace(files=None) for record in bare)
            left = left[done + 1 :]
        else:
            return


def described(repository: Repository, revisions: Iterable[str], *order: str) -> Iterator[Record]:
    """Yield records without their files: of all that is reachable, unless `order` says otherwise."""
    return _log(repository, ("-s",), *order, stdin=revisions)


def parents(repository: Repository, tips: Iterable[str]) -> Iterator[list[str]]:
    """Yield every commit reachable from `tips` as its id followed by its parents' ids.

    Exact whatever the commits' clocks say, where git's difference of two sets of revisions is not.
    """
    revisions = sorted(tips)
    for line in _lines(repository, "--parents", stdin=revisions) if revisions else ():
        yield line.decode().split(" ")


def reachable(repository: Repository, tips: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    """Yield the ids of commits reachable from `tips` and not from `known`; a few too many where clocks are wrong."""
    revisions = [*sorted(tips), *(f"^{id_}" for id_ in sorted(known))]
    return (line.decode() for line in _lines(repository, stdin=revisions))


def raw_objects(repository: Repository, ids: Sequence[str]) -> Iterator[bytes]:
    """Yield the objects' own bytes in order; empty where one cannot be read."""
    data = repository.output("cat-file", "--batch", stdin=ids)
    at = 0
    for _ in ids:
        line, end = data[at : (end := data.index(b"\n", at))], end + 1
        size = line.rpartition(b" ")[2]
        if size.isdigit():
            yield data[end : end + int(size)]
            at = end + int(size) + 1
        else:
            yield b""
            at = end


def _lines(repository: Repository, *arguments: str, stdin: Iterable[str]) -> Iterator[bytes]:
    tail = b""
    for chunk in repository.stream("rev-list", *arguments, "--stdin", stdin=stdin):
        *whole, tail = (tail + chunk).split(b"\n")
        yield from whole


def _log(repository: Repository, files: Sequence[str], *order: str, stdin: Iterable[str]) -> Iterator[Record]:
    """Run `git log` and yield its records; those before the one that git died in, when it does."""
    # No field can hold a NUL, and no commit can hold a word chosen now: the mark starts a record, whatever is in it.
    mark = secrets.token_hex(12)
    form = f"--format=%x00{mark}%x00" + "%x00".join(_FIELDS) + "%x00"
    start = f"\0{mark}\0".encode()
    pending: list[bytes] = []
    end = b""
    try:
        for chunk in repository.stream("log", *_SAME, *files, *order, form, "--stdin", stdin=stdin):
            pending.append(chunk)
            found = start in end + chunk
            end = (end + chunk)[-len(start) :]
            if found:
                data = b"".join(pending)
                whole = data.rindex(start)
                yield from _records(data[:whole], start)
                pending = [data[whole:]]
    except Damaged:
        # git prints a commit after it has compared its trees, so what stands here is whole.
        yield from _records(b"".join(pending), start)
        raise
    yield from _records(b"".join(pending), start)


def _records(data: bytes, start: bytes) -> Iterator[Record]:
    """Split whole records: decoding and splitting many at once is what makes this fast."""
    for record in data.decode("utf-8", "surrogateescape").split(start.decode())[1:]:
        sha, over, *fields, files = record.split("\0", len(_FIELDS))
        # git puts NUL and line end before the list of files, and NUL after it.
        listing = files.lstrip("\0\n").rstrip("\0")
        yield Record._make((sha, over.split(), *fields, listing, record.isascii() or _is_clean(fields)))


def _is_clean(fields: list[str]) -> bool:
    try:
        "".join(fields).encode()
    except UnicodeEncodeError:
        return False
    return True
