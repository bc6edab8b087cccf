"""One pass over the sources: what connectors read becomes events; knows nothing of any one source, model or table.

A pass is read, extract, project, embed. Each step picks up where the log says it stopped, so a pass that was killed
anywhere is completed by the next one. A source that fails is paused and never stops the others.
"""

from __future__ import annotations

import gc
import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ctxsync.errors import (
    CtxsyncError,
    CursorExpired,
    RateLimited,
    SourceError,
    SuspiciousDeletion,
    Unavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ctxsync.config import Config
    from ctxsync.connectors.base import Batch, Connector, Json, Options, Stream
    from ctxsync.events.store import EventStore, NewEvent

RUNNER = "ctxsync"  # the log's `source` for what the runner itself says
WHOLE_SOURCE = ""  # the stream of a pause that concerns a source before its streams are known
PATIENCE = 10.0
"""Seconds after which an unreachable stream has most likely waited for a server that answers none of them."""


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """What one pass is asked to do.

    Args:
        sources: Names; empty means every configured source.
        dry_run: Read only, and report what would happen.
        allow_deletes: Names of sources whose suspicious deletions are let through.
        retry_quarantined: Try quarantined items again though their bytes did not change.
        purpose: What the writer lock says of this pass.
        timeout: Seconds to wait for another writer.
        on_wait: Called once with a line naming that writer when there is a wait.
        stopped: Asked between steps; true ends the pass early, as Ctrl-C does.
    """

    sources: tuple[str, ...] = ()
    dry_run: bool = False
    allow_deletes: tuple[str, ...] = ()
    retry_quarantined: bool = False
    purpose: str = "sync"
    timeout: float = 60.0
    on_wait: Callable[[str], None] | None = None
    stopped: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """How far a pass is.

    Args:
        phase: `read`, `extract`, `project`, `embed`, `escalate`, `verify`, `rebuild` or `import`.
        done: Items, episodes or events done in this phase (for `read`: of this source).
        total: How many there are; None while that is unknown.
        source: The source, in phase `read`.
    """

    phase: str
    done: int
    total: int | None = None
    source: str = ""


def no_progress(_: Step) -> None:
    """Show nothing."""


@dataclass(slots=True)
class SourceReport:
    """What a pass did with one source: DESIGN's `sync` JSON.

    `observed`, `retracted` and `moved` count changes of this pass; `quarantined` counts what stands in quarantine;
    `paused` says why the source waits, None when it does not; `skipped` counts by kind what no parser knows;
    `sections` counts those of observed items; `wait` is for how many seconds its server asked to be left alone.
    """

    name: str
    seen: int = 0
    observed: int = 0
    retracted: int = 0
    moved: int = 0
    quarantined: int = 0
    unchanged: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    paused: str | None = None
    seconds: float = 0.0
    sections: int = 0
    wait: float = 0.0
    problems: list[dict[str, Json]] = field(default_factory=list)

    def count(self, batch: Batch) -> None:
        """Add what a batch looked at."""
        self.seen += batch.seen
        self.unchanged += batch.unchanged
        for kind, number in sorted(batch.skipped.items()):
            self.skipped[kind] = self.skipped.get(kind, 0) + number

    def tell(self, events: Iterable[NewEvent], is_seen: Callable[[str], bool]) -> None:
        """Add what events say; an item that `is_seen` elsewhere in the source has moved."""
        for event in events:
            match event.payload.type:
                case "item.observed":
                    self.observed += 1
                    self.sections += len(vars(event.payload)["sections"])
                case "item.moved":
                    self.moved += 1
                case "item.quarantined":
                    self.quarantined += 1
                case "item.unsighted" if is_seen(event.subject):
                    self.moved += 1
                case "item.unsighted":
                    self.retracted += 1

    def pause(self, stream: str, error: CtxsyncError) -> None:
        """Note that a stream waits."""
        if isinstance(error, RateLimited):
            self.wait = max(self.wait, error.retry_after)
        self.paused = error.message
        remedy = error.remedy or "The next `ctxsync sync` tries again."
        self.problems.append(
            {"kind": "paused", "source": self.name, "place": stream, "message": error.message, "remedy": remedy}
        )

    def goes_on(self, until: str) -> None:
        """Note when, as an RFC 3339 time, a server that asked to be left alone is asked again."""
        for problem in self.problems:
            problem["until"] = until
            problem["remedy"] = (
                f"Nothing to do: the first sync after {until[11:16]} UTC goes on, `ctxsync watch` by itself."
            )

    def as_json(self) -> dict[str, Json]:
        """Return the report's JSON."""
        return {
            "name": self.name,
            "seen": self.seen,
            "observed": self.observed,
            "retracted": self.retracted,
            "moved": self.moved,
            "quarantined": self.quarantined,
            "unchanged": self.unchanged,
            "skipped": dict(self.skipped),
            "paused": self.paused,
            "sections": self.sections,
            "seconds": round(self.seconds, 3),
        }


def known_sources(store: EventStore) -> dict[str, dict[str, Any]]:
    """Return what the log last said of each source (see `SourceConfigured`), by name; removed ones included."""
    found = {}
    for subject, key, value in store.states(RUNNER, "settings", subjects="source:"):
        if key == "settings":
            found[subject.removeprefix("source:")] = json.loads(value)
    return found


def configure(store: EventStore, config: Config, now: int) -> dict[str, str]:
    """Tell the log what the projection must know that is not content; repetitions are not stored.

    Returns:
        Names of sources that cannot be read, each with why: what the log holds under a name is of one type for ever.
    """
    from ctxsync.engine.schema import universal
    from ctxsync.events.model import SchemaAdopted
    from ctxsync.events.store import NewEvent

    schema = universal()
    known = known_sources(store)
    clashing = {
        source.name: f'The name "{source.name}" was that of a {known[source.name]["kind"]} source before.'
        for source in config.sources
        if source.name in known and known[source.name]["kind"] != source.type
    }
    adopted = SchemaAdopted(name="universal", digest=schema.digest, toml=schema.toml)
    described = [(source.name, source.type, source.location, source.trust) for source in config.sources]
    configured = [
        configured_event(config, *each, now=now)
        for each in (*described, ("log", "log", "", "own"))
        if each[0] not in clashing
    ]
    store.append([NewEvent(RUNNER, "schema:universal", adopted, now), *configured])
    return clashing


def configured_event(
    config: Config, name: str, kind: str, location: str, trust: str, *, now: int, removed: bool = False
) -> NewEvent:
    """Return the event that says how a source is configured; a removed one says nothing any more."""
    from ctxsync.events.model import SourceConfigured
    from ctxsync.events.store import NewEvent

    payload = SourceConfigured(
        name=name,
        kind=kind,
        location=location,
        trust="own" if trust == "own" else "others",
        removed=removed,
        identity_names=config.identity.names,
        identity_keys=config.identity.keys,
    )
    return NewEvent(RUNNER, f"source:{name}", payload, now)


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Let the cycle collector look less often: batches and cursors are many objects, and no cycle."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@rarely_collected()
def read_source(
    store: EventStore,
    connector: Connector,
    now: int,
    report: SourceReport,
    *,
    progress: Callable[[Step], None] = no_progress,
) -> None:
    """Read what changed at one source into the log; a source error pauses it and is in the report.

    Args:
        store: Open for writing, under the writer lock.
        connector: The source.
        now: Milliseconds UTC, one value for a whole pass.
        report: Gets what was done, also of a read that an exception ends.
        progress: Told after each batch; what it raises ends the pass there, with that batch stored.

    Raises:
        StoreError: The log failed; what was stored before stands.
    """
    from ctxsync.changes import to_events

    started = time.monotonic()
    try:
        streams = list(_guarded(lambda: iter(connector.discover())))
    except SourceError as error:
        _pause(store, report, WHOLE_SOURCE, error, now)
        streams = []
    else:
        _resume(store, connector.name, WHOLE_SOURCE, now)
    for stream in streams:
        began = time.monotonic()
        try:
            for batch, old in _batches(connector, stream, store.cursor(connector.name, stream.name)):
                held = _quarantined(store, connector.name)
                events = list(to_events(connector.name, batch.changes, now, held.__contains__))
                patch = {**dict.fromkeys(old), **batch.cursor}
                report.count(batch)
                if events or patch:
                    # The disk stores this batch while the next one is read.
                    done = store.append(events, cursors={(connector.name, stream.name): patch}, behind=True)
                    report.tell((events[number] for number in done.stored), partial(_is_seen, store, connector.name))
                progress(Step("read", report.seen, None, connector.name))
            store.settle()
        except SourceError as error:
            _pause(store, report, stream.name, error, now)
            if _concerns_all(error, time.monotonic() - began):
                break
        else:
            _resume(store, connector.name, stream.name, now)
        finally:
            report.seconds = time.monotonic() - started
    report.quarantined = len(_quarantined(store, connector.name))


def _concerns_all(error: SourceError, seconds: float) -> bool:
    """Say whether what stopped one stream will stop its source's other streams, each after a wait of its own."""
    return isinstance(error, RateLimited) or (isinstance(error, Unavailable) and seconds > PATIENCE)


def _quarantined(store: EventStore, source: str) -> set[str]:
    """Return the places of a source that the log holds in quarantine."""
    states = store.states(source, "quarantine", subjects="place:")
    return {subject.removeprefix("place:") for subject, _, why in states if why}


def _is_seen(store: EventStore, source: str, item: str) -> bool:
    """Say whether a source sees an item at some place."""
    places = store.states(source, "place:", subjects=item)
    return any(value != "absent" for subject, _, value in places if subject == item)


def preview_source(
    connector: Connector, cursor_of: Callable[[Stream], Mapping[str, Json]], *, progress: Callable[[Step], None]
) -> SourceReport:
    """Report what a pass would do with a source, storing nothing; what the log knows from elsewhere counts as new."""
    from ctxsync.changes import to_events

    started = time.monotonic()
    report = SourceReport(connector.name)
    stream_name = WHOLE_SOURCE
    try:
        for stream in _guarded(lambda: iter(connector.discover())):
            stream_name = stream.name
            for batch, _ in _batches(connector, stream, cursor_of(stream)):
                report.count(batch)
                report.tell(to_events(connector.name, batch.changes, 0), lambda _: False)
                progress(Step("read", report.seen, None, connector.name))
    except SourceError as error:
        report.pause(stream_name, error)
    report.seconds = time.monotonic() - started
    return report


def _batches(
    connector: Connector, stream: Stream, cursor: Mapping[str, Json]
) -> Iterator[tuple[Batch, Mapping[str, Json]]]:
    """Yield batches, each with the old cursor that it must clear: one that means nothing any more is dropped once."""
    try:
        for batch in _guarded(lambda: connector.read(stream, cursor or None)):
            yield batch, {}
    except CursorExpired:
        old = cursor
        for batch in _guarded(lambda: connector.read(stream, None)):
            yield batch, old
            old = {}


def _guarded(read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Iterate over what a connector yields; a defect of one connector pauses its source instead of ending the pass."""
    try:
        iterator = read()
        while True:
            try:
                value = next(iterator)
            except StopIteration:
                return
            yield value
    except MemoryError:
        raise
    except SourceError as error:
        from ctxsync.connectors.secrets import without_secrets

        error.message, error.remedy = without_secrets(error.message), without_secrets(error.remedy)
        raise
    except Exception as error:  # noqa: BLE001 - the code of any connector, ours or not, must not stop other sources
        from ctxsync.connectors.secrets import without_secrets

        raise SourceError(
            f"The connector failed: {type(error).__name__}: {without_secrets(error)}", remedy="Run `ctxsync doctor`."
        ) from None


def _pause(store: EventStore, report: SourceReport, stream: str, error: SourceError, now: int) -> None:
    from ctxsync.events.model import SourcePaused
    from ctxsync.events.store import NewEvent

    report.pause(stream, error)
    numbers = (error.vanished, error.known) if isinstance(error, SuspiciousDeletion) else (0, 0)
    payload = SourcePaused(name=report.name, stream=stream, reason=error.message, vanished=numbers[0], known=numbers[1])
    store.append([NewEvent(RUNNER, f"source:{report.name}", payload, now)])


def _resume(store: EventStore, name: str, stream: str, now: int) -> None:
    from ctxsync.events.model import SourceResumed
    from ctxsync.events.store import NewEvent

    if store.state(RUNNER, f"source:{name}", f"paused:{stream}"):
        payload = SourceResumed(name=name, stream=stream)
        store.append([NewEvent(RUNNER, f"source:{name}", payload, now)])


def options_for(config: Config, source: str, request: SyncRequest, now: int) -> Options:
    """Return what a connector is told of one read."""
    from ctxsync.connectors.base import Options

    return Options(
        allow_deletes=source in request.allow_deletes,
        retry_quarantined=request.retry_quarantined,
        max_delete_ratio=config.sync.max_delete_ratio,
        min_deletes=config.sync.min_deletes,
        now=now,
    )
