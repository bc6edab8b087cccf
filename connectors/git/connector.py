"""A git repository's commits as changes: refs are compared with the cursor, and no hook is needed.

One pass over a stream: what a shallow clone has deepened to, then new commits, parents first, in batches that each
move the cursor; then, behind the deletion breaker, what is no longer reachable, with its successors.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ctxsync.connectors.base import (
    Batch,
    Change,
    Item,
    Json,
    Observed,
    Options,
    Quarantined,
    Released,
    Replaced,
    Sighted,
    Stream,
    Unsighted,
    breaker_trips,
)
from ctxsync.connectors.git.commit import Context, commit_item, is_regular
from ctxsync.connectors.git.history import Record, commits, listed, parents, raw_objects, reachable
from ctxsync.connectors.git.mailmap import entries
from ctxsync.connectors.git.marks import Marks
from ctxsync.connectors.git.process import Repository
from ctxsync.connectors.git.refs import Snapshot, existing, snapshot, submodules
from ctxsync.connectors.git.successors import Successor, successors
from ctxsync.connectors.globs import globs, ignore_file
from ctxsync.errors import ConfigError, SuspiciousDeletion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

BATCH = 500


class GitConnector:
    """One configured repository with its initialised submodules, each of them a stream.

    Args:
        name: The source's name.
        settings: `path` of the repository; `include` and `exclude`, globs for the files that commits list.
        options: What the runner asks of this read.
        batch: Commits a batch at most.

    Raises:
        ConfigError: there is no path, or a glob is none.
    """

    def __init__(self, name: str, settings: Mapping[str, Json], options: Options, *, batch: int = BATCH) -> None:
        path = settings.get("path")
        if not isinstance(path, str) or not path:
            raise ConfigError(f"The source {name} has no path.", remedy="Give `path = …` in config.toml.")
        self.name = name
        self._path = Path(path)
        self._options = options
        self._batch = batch
        self._wanted = _filter(name, settings, self._path / ".ctxsyncignore")

    def discover(self) -> Iterator[Stream]:
        """Yield the repository itself, then each initialised submodule by its path.

        Raises:
            AuthError: git refuses the repository.
            Unavailable: it is missing, or no repository.
        """
        repository = self._repository(".")
        repository.output("rev-parse", "--git-dir")
        yield Stream(self.name)
        for path in submodules(repository):
            yield Stream(self.name, path)

    def read(self, stream: Stream, cursor: Mapping[str, Json] | None) -> Iterator[Batch]:
        """Yield what changed since the cursor.

        Raises:
            AuthError: git refuses the repository.
            Unavailable: it is missing, or its history cannot be read.
            SuspiciousDeletion: too much is no longer reachable; everything else has been yielded.
        """
        repository = self._repository(stream.name)
        marks = Marks(cursor or {})
        now = snapshot(repository)
        state = now.state()
        if marks.state == state and not self._options.retry_quarantined:
            yield Batch((), seen=marks.count, unchanged=marks.count)
            return
        reading = _Reading(repository, stream, marks, now, options=self._options, wanted=self._wanted, size=self._batch)
        marks.state = ""
        yield from reading.mailmap()
        yield from reading.retry()
        yield from reading.deepened()
        yield from reading.added()
        yield from reading.vanished()
        marks.shallow = now.shallow
        marks.state = state
        marks.settled = marks.count
        marks.join_packs()
        yield Batch(reading.broken_refs(), marks.patch())

    def _repository(self, stream: str) -> Repository:
        return Repository(self._path if stream == "." else self._path / stream, self.name)


class _Reading:
    """One pass over one stream."""

    def __init__(
        self,
        repository: Repository,
        stream: Stream,
        marks: Marks,
        now: Snapshot,
        *,
        options: Options,
        wanted: Callable[[str], bool] | None,
        size: int,
    ) -> None:
        self._repository = repository
        self._place = stream.name
        self._marks = marks
        self._now = now
        self._options = options
        self._size = size
        self._called = stream.source if stream.name == "." else f"{stream.source}/{stream.name}"
        self._context = Context(now.name, options.now, now.shallow, wanted)

    def mailmap(self) -> Iterator[Batch]:
        """Observe HEAD's mailmap when it is another one than last time."""
        item = f"mailmap:{self._called}"
        if self._now.mailmap == self._marks.mailmap:
            return
        changes: tuple[Change, ...] = (Unsighted(item, self._place),)
        if self._now.mailmap:
            raw = next(raw_objects(self._repository, [self._now.mailmap]))
            listing = entries(raw.decode("utf-8", "replace"))
            observed = Item(item, "mailmap", ".mailmap", (), attributes={"entries": listing})
            changes = (Observed(observed, self._place), Sighted(item, self._place))
        self._marks.mailmap = self._now.mailmap
        yield Batch(changes, self._marks.patch(), seen=1)

    def retry(self) -> Iterator[Batch]:
        """List the files of quarantined commits again, when the person asks for it."""
        places = [place for place in sorted(self._marks.bad) if place.startswith("commit:")]
        if self._options.retry_quarantined and places:
            held = existing(self._repository, (place.removeprefix("commit:") for place in places))
            for records in _batched(listed(self._repository, sorted(held)), self._size):
                yield self._batch(records, again=True)

    def deepened(self) -> Iterator[Batch]:
        """Observe what stood at the boundary of a shallow clone again, and what has come to light behind it."""
        dissolved = existing(self._repository, self._marks.shallow - self._now.shallow)
        if not dissolved:
            return
        known = set(self._marks.known())
        behind = (r for r in commits(self._repository, dissolved, ()) if r.sha in dissolved or r.sha not in known)
        for records in _batched(behind, self._size):
            self._marks.seen(record.sha for record in records if record.sha not in known)
            yield self._batch(records)

    def added(self) -> Iterator[Batch]:
        """Observe and sight what has become reachable."""
        known = existing(self._repository, self._marks.tips)
        if len(known) < len(self._marks.tips):
            # What the tips meant is forgotten: go on from every sighted commit that git still has.
            known = existing(self._repository, set(self._marks.known()))
        if self._now.tips <= known:
            return
        for records in _batched(commits(self._repository, self._now.tips, known), self._size):
            self._marks.sighted((record.sha, record.parents) for record in records)
            yield self._batch(records)

    def vanished(self) -> Iterator[Batch]:
        """Link what is no longer reachable with its successor, and let it go."""
        stale = self._marks.tips - self._now.tips
        if not stale or self._now.broken:
            return
        held = existing(self._repository, stale)
        gone = set(reachable(self._repository, stale, self._now.tips)) if held == stale else set(self._marks.known())
        outermost = set(self._now.tips)
        for id_, *over in parents(self._repository, self._now.tips):
            gone.discard(id_)
            outermost.difference_update(over)
        if self._now.shallow - self._marks.shallow:
            # A clone that became shallower cut commits off; nobody took them back.
            gone = set()
        links = successors(self._repository, gone, self._now.tips) if gone else {}
        lost = len(gone) - len(links)
        known = max(lost, self._marks.count if self._marks.settled is None else self._marks.settled)
        if breaker_trips(lost, known, self._options):
            raise SuspiciousDeletion(
                f"{lost} of {known} commits of {self._called} are no longer reachable.",
                vanished=lost,
                known=known,
                remedy=f"If that is right, run `ctxsync sync --allow-deletes {self._repository.source}`.",
            )
        order = sorted(gone)
        last = max(0, len(order) - 1) // self._size * self._size
        for first in range(0, last, self._size):
            yield Batch(self._farewell(order[first : first + self._size], links), seen=self._size)
        # The cursor moves with the last of them: a pass that is cut short says them all again.
        self._marks.unsighted(gone, outermost)
        yield Batch(self._farewell(order[last:], links), self._marks.patch(), seen=len(order) - last)

    def _farewell(self, ids: Sequence[str], links: Mapping[str, Successor]) -> tuple[Change, ...]:
        changes: list[Change] = []
        for id_ in ids:
            if id_ in links:
                changes.append(Replaced(f"commit:{id_}", f"commit:{links[id_].by}", links[id_].reason))
            changes.append(Unsighted(f"commit:{id_}", self._place, "unreachable"))
        return tuple(changes)

    def broken_refs(self) -> tuple[Change, ...]:
        """Quarantine refs that cannot be read, and release those that can again."""
        before = {place for place in self._marks.bad if not place.startswith("commit:")}
        broken = {f"ref:{self._place}:{name}": why for name, why in self._now.broken.items()}
        self._marks.quarantine((self._marks.bad - before) | set(broken))
        return (
            *(Quarantined(place, f"The ref is broken: {why}.") for place, why in broken.items()),
            *(Released(place) for place in sorted(before - set(broken))),
        )

    def _batch(self, records: Sequence[Record], *, again: bool = False) -> Batch:
        irregular = [record.sha for record in records if not is_regular(record)]
        raw = dict(zip(irregular, raw_objects(self._repository, irregular), strict=True)) if irregular else {}
        changes: list[Change] = []
        bad = set(self._marks.bad)
        for record in records:
            item = commit_item(record, self._context, raw.get(record.sha, b""))
            changes.append(Observed(item, self._place))
            if not again:
                changes.append(Sighted(item.id, self._place))
            if record.files is None:
                bad.add(item.id)
                changes.append(Quarantined(item.id, "The commit's files cannot be listed.", item=item.id))
            elif item.id in bad:
                bad.remove(item.id)
                changes.append(Released(item.id))
        self._marks.quarantine(bad)
        return Batch(tuple(changes), self._marks.patch(), seen=len(records))


def _batched(records: Iterator[Record], size: int) -> Iterator[list[Record]]:
    while batch := list(islice(records, size)):
        yield batch


def _filter(name: str, settings: Mapping[str, Json], ignore: Path) -> Callable[[str], bool] | None:
    """Return what says whether a commit's file is listed; None when every one is."""
    include, exclude = globs(name, settings, "include"), globs(name, settings, "exclude")
    ignored = ignore_file(ignore.read_text("utf-8", "replace")) if ignore.is_file() else None
    left_out = [spec for spec in (exclude, ignored) if spec is not None]
    if include is None and not left_out:
        return None
    return lambda path: (
        (include is None or include.match_file(path)) and not any(spec.match_file(path) for spec in left_out)
    )
