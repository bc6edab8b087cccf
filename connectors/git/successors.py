"""Which commit took the place of one that is no longer reachable: amended, rebased, rewritten. Knows no cursor."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from ctxsync.connectors.git.history import Record, described, reachable
from ctxsync.connectors.git.refs import existing
from ctxsync.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ctxsync.connectors.git.process import Repository


class Successor(NamedTuple):
    """The commit that took over, and how: `amend` or `rebase`."""

    by: str
    reason: str


def successors(repository: Repository, gone: Collection[str], tips: Collection[str]) -> dict[str, Successor]:
    """Return who took over from whom.

    The reflogs say what was amended. A rebase, and a rewrite that another clone made, keep the author and the author's
    time, and mostly the subject: that is how their commits are known again.

    Args:
        repository: Where to look.
        gone: Ids of commits that are no longer reachable, and that git may have forgotten.
        tips: What is reachable now.
    """
    found = _by_reflog(repository, gone, tips)
    held = sorted(existing(repository, set(gone) - set(found)))
    if not held:
        return found
    olds = _by_author(described(repository, held, "--no-walk=unsorted"))
    news = _by_author(
        record
        for record in described(repository, [*sorted(tips), *(f"^{id_}" for id_ in held)])
        if _author(record) in olds
    )
    for author, before in olds.items():
        after = news.get(author, [])
        for old in before:
            same = [new for new in after if _subject(new) == _subject(old)]
            if not same and len(before) == len(after) == 1:
                same = after  # reworded
            if same:
                new = min(same, key=lambda record: (record.parents != old.parents, record.sha))
                found[old.sha] = Successor(new.sha, "amend" if new.parents == old.parents else "rebase")
    return found


def _by_reflog(repository: Repository, gone: Collection[str], tips: Collection[str]) -> dict[str, Successor]:
    """Follow amendments, of amendments too, to a commit that is reachable."""
    amended = _amended(repository)
    ends: dict[str, str] = {}
    for old in gone:
        end, passed = old, {old}
        while end in amended and amended[end] not in passed:
            end = amended[end]
            passed.add(end)
        if end != old and end not in gone:
            ends[old] = end
    lost = set(reachable(repository, set(ends.values()), tips)) if ends else set()
    return {old: Successor(end, "amend") for old, end in ends.items() if end not in lost}


def _amended(repository: Repository) -> dict[str, str]:
    """Return what was amended into what: an entry's commit took over from that of the entry before it."""
    data = b""
    with contextlib.suppress(Unavailable):  # a reflog is a hint, and may name what git has forgotten
        data = repository.output("log", "-g", "--all", "-s", "--no-show-signature", "--format=%x00%H%x00%gD%x00%gs")
    fields = [part.decode("utf-8", "replace").rstrip("\n") for part in data.split(b"\0")[1:]]
    found: dict[str, str] = {}
    newer: dict[str, tuple[str, str]] = {}  # by ref: git interleaves the reflogs by time
    for id_, selector, action in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        ref = selector.partition("@{")[0]
        successor, how = newer.get(ref, (id_, ""))
        if how.startswith("commit (amend)") and successor != id_:
            found.setdefault(id_, successor)
        newer[ref] = id_, action
    return found


def _by_author(records: Iterable[Record]) -> dict[tuple[str, ...], list[Record]]:
    found: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        found.setdefault(_author(record), []).append(record)
    return found


def _author(record: Record) -> tuple[str, ...]:
    """Return what amending and rebasing keep."""
    return record.author_name, record.author_email, record.author_time


def _subject(record: Record) -> str:
    return record.message.lstrip().partition("\n")[0]
