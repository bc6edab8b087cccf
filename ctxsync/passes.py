"""Whole passes over a home: read, extract, project, embed; each step asks cheaply whether it has anything to do."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync import runs, spool
from ctxsync.config import RESERVED_NAMES
from ctxsync.engine.graph.store import translated
from ctxsync.errors import ConfigError, GraphError, GraphStale, StoreCorrupt, StoreMissing, UsageError
from ctxsync.home import real
from ctxsync.sync import (
    WHOLE_SOURCE,
    SourceReport,
    Step,
    SyncRequest,
    configure,
    configured_event,
    known_sources,
    no_progress,
    options_for,
    preview_source,
    read_source,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from importlib.metadata import EntryPoint

    from ctxsync.app import App
    from ctxsync.config import SourceConfig
    from ctxsync.connectors.base import Connector, Json, Stream
    from ctxsync.engine.embedding import VectorCache
    from ctxsync.engine.graph.store import Graph
    from ctxsync.events.store import EventStore, Verified
    from ctxsync.spool import Hint

CONNECTORS = "ctxsync.connectors"  # entry point group: name is the source type
SECONDS_PER_SECTION = 0.03  # an estimate for `--dry-run`: extraction and vector of a short section, one slow core


@cache
def _installed() -> dict[str, EntryPoint]:
    """Return the installed connectors by type. Looking through all packages takes longer than looking at 1,000 notes."""
    from importlib.metadata import entry_points

    return {point.name: point for point in reversed(tuple(entry_points(group=CONNECTORS)))}


def connect(app: App, source: SourceConfig, request: SyncRequest, now: int) -> Connector:
    """Build a source's connector. A home that lies inside the source is left out of it.

    Raises:
        ConfigError: No installed connector has that type.
    """
    found = _installed().get(source.type)
    if found is None:
        raise ConfigError(
            f'No connector for sources of type "{source.type}" is installed.', remedy="Reinstall ctxsync."
        )
    settings = source.settings()
    root, home = real(source.path), real(app.home.path)
    if root in home.parents:
        settings["exclude"] = [*settings["exclude"], f"/{home.relative_to(root).as_posix()}/**"]
    connector: Connector = found.load()(source.name, settings, options_for(app.config, source.name, request, now))
    return connector


def chosen(app: App, request: SyncRequest, hints: Iterable[Hint] = ()) -> list[SourceConfig]:
    """Return the sources a request is about, in the order of config.toml; those that a git hook hints at come first."""
    wanted = [source for source in app.config.sources if not request.sources or source.name in request.sources]
    hinted = set(spool.sources_of((path for hint in hints for path in hint.repositories), app.config))
    return sorted(wanted, key=lambda source: source.name not in hinted)


def run(app: App, request: SyncRequest, progress: Callable[[Step], None] = no_progress) -> dict[str, Any]:
    """Do one pass; the caller holds the writer lock. See `App.sync`."""
    started = time.monotonic()
    now = app.clock()
    reports: list[SourceReport] = []
    done: dict[str, Any] = {"extracted": 0, "failed": 0, "facts": 0, "new_facts": 0, "embedded": 0}
    interrupted = False
    stopped = request.stopped or (lambda: False)

    def step(what: Step) -> None:
        progress(what)
        if stopped():
            raise KeyboardInterrupt

    with closing(app.store(write=True)) as store:
        before = store.head()[0]
        try:
            clashing = configure(store, app.config, now)
            for report, connector in _sources(app, request, now, clashing):
                reports.append(report)
                if connector is not None:
                    read_source(store, connector, now, report, progress=step)
            bring_up(app, store, step, done)
        except KeyboardInterrupt:
            interrupted = True
            done["extracted"] = sum(1 for _ in store.read(before, types=("episode.extracted",)))
    _note_runs(app, reports, now)
    return _report(reports, done, time.monotonic() - started, interrupted=interrupted) | standing(app, reports)


def _sources(
    app: App, request: SyncRequest, now: int, clashing: Mapping[str, str]
) -> Iterator[tuple[SourceReport, Connector | None]]:
    """Yield each source to read with a fresh report; hints of git hooks are gone once every source was read.

    Settings that a connector refuses are its source's problem, not the pass's: it comes without a connector.
    """
    hints = spool.take(app.home)
    names: list[str] = []
    for source in chosen(app, request, hints):
        report = SourceReport(source.name)
        connector = None
        try:
            if source.name in clashing:
                clash = ConfigError(clashing[source.name], remedy="Give it another name in config.toml.")
                report.pause(WHOLE_SOURCE, clash)
            else:
                connector = connect(app, source, request, now)
        except ConfigError as error:
            report.pause(WHOLE_SOURCE, error)
        yield report, connector
        names.append(source.name)
    spool.settle(hints, app.config, names)


def preview(app: App, request: SyncRequest, progress: Callable[[Step], None]) -> dict[str, Any]:
    """Report what a pass would do, storing nothing. See `App.sync`."""
    started = time.monotonic()
    now = app.clock()
    try:
        store = app.store()
    except StoreMissing:
        store = None
    try:

        def cursor_of(stream: Stream) -> Mapping[str, Json]:
            return store.cursor(stream.source, stream.name) if store else {}

        reports = [
            preview_source(connect(app, source, request, now), cursor_of, progress=progress)
            for source in chosen(app, request)
        ]
    finally:
        if store:
            store.close()
    sections = sum(report.sections for report in reports)
    report = _report(
        reports, {"extracted": 0, "facts": 0, "new_facts": 0}, time.monotonic() - started, interrupted=False
    )
    return report | {
        "dry_run": True,
        "sections": sections,
        "estimated_seconds": round(sections * SECONDS_PER_SECTION, 1),
        "problems": [problem for report in reports for problem in report.problems],
    }


def bring_up(
    app: App, store: EventStore, progress: Callable[[Step], None], done: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Extract what waits, project it, and make its vectors; models are built only when something waits.

    Args:
        app: The home and its models.
        store: Open for writing.
        progress: What it raises ends the pass there.
        done: Told what was done as it is done, so that an interrupted pass can say so.

    Returns:
        `done`: `extracted`, `failed` (episodes), `facts` (current in the graph), `new_facts` (of them, first believed
        in this pass), `embedded` (episodes).
    """
    from ctxsync.engine.extraction.reactor import extract_pending

    done = {} if done is None else done
    structural = catch_up_graph(app, store, progress)  # extraction takes long: texts are found by search meanwhile
    done |= structural
    extraction = extract_pending(store, app.models.chain(), progress=_counting(progress, "extract"))
    done |= {"extracted": extraction.extracted, "failed": extraction.failed}
    done |= catch_up_graph(app, store, progress)
    done["new_facts"] += structural["new_facts"]
    done["embedded"] = embed(app, progress)
    return done


NEW_FACTS = """
SELECT count(DISTINCT fact) FROM fact_version AS v WHERE since > ?1 AND until IS NULL
AND NOT EXISTS (SELECT 1 FROM fact_version AS o WHERE o.fact = v.fact AND o.since <= ?1)
"""
EMBEDDED = "SELECT value FROM meta WHERE key = 'embedded'"
SET_EMBEDDED = "INSERT OR REPLACE INTO meta (key, value) VALUES ('embedded', ?)"


def warm(app: App) -> None:
    """Load the models now, by giving them a word to chew on, so that the first text does not wait for them."""
    from ctxsync.engine.extraction.base import Episode

    word = Episode(id="", item="", kind="text", title="", text="Hello.", occurred_at=0)
    for _ in app.models.chain().extract([word]):
        continue
    if embedder := app.models.embedder():
        embedder.embed([word.text])


def catch_up_graph(app: App, store: EventStore, progress: Callable[[Step], None]) -> dict[str, int]:
    """Bring the graph up to the log; one that is damaged, of another log or of another layout is built anew.

    Returns:
        `facts` and `new_facts`, as `bring_up`.
    """
    from ctxsync.app import checkpoint
    from ctxsync.engine.graph import projection

    tell = _counting(progress, "project")
    try:
        with closing(app.graph(write=True)) as graph:
            before = graph.position
            projection.catch_up(store, graph, checkpoint=checkpoint, progress=tell)
            return _facts(graph, before)
    except GraphStale:
        # The stale file is closed by now: a connection to it that closed later would take the new file's journal along.
        with (
            _cache(app) as cache,
            closing(projection.rebuild(store, app.home.graph_path, progress=tell, cache=cache)) as graph,
        ):
            return _facts(graph, 0)


def _facts(graph: Graph, before: int) -> dict[str, int]:
    with translated(graph.path):
        new = graph.db.execute(NEW_FACTS, (before,)).get if graph.position != before else 0
    return {"facts": graph.counts()["facts_current"], "new_facts": new}


@contextmanager
def _cache(app: App) -> Iterator[VectorCache | None]:
    """Give the vector cache where there are vectors already, so that a rebuild takes them in."""
    cache = app.models.cache() if app.home.cache_path.exists() else None
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()


def embed(app: App, progress: Callable[[Step], None]) -> int:
    """Make the vectors that held passages lack; return how many. The graph notes up to where that was done."""
    from ctxsync.engine.graph.vectors import embed_pending

    embedder = app.models.embedder()
    if embedder is None:
        return 0
    with closing(app.graph(write=True)) as graph, translated(graph.path):
        position = graph.position
        if graph.db.execute(EMBEDDED).get == position:
            return 0
        cache = app.models.cache()
        if cache is None:
            return 0
        with closing(cache):
            count = embed_pending(graph, cache, embedder, progress=_counting(progress, "embed"))
        graph.db.execute(SET_EMBEDDED, (position,))
        return count


def remove(app: App, name: str) -> None:
    """Stop believing what a source alone shows, then take it out of config.toml; the caller holds the writer lock.

    Raises:
        UsageError: Neither config.toml nor the log knows the source.
    """
    from ctxsync.sources import remove_from_file

    configured = app.config.source(name)
    known: dict[str, Any] | None = None
    if app.home.events_path.exists():
        with closing(app.store(write=True)) as store:
            known = known_sources(store).get(name)
            if known and not known["removed"] and name not in RESERVED_NAMES:
                settings = (name, known["kind"], known["location"], known["trust"])
                store.append([configured_event(app.config, *settings, now=app.clock(), removed=True)])
                catch_up_graph(app, store, no_progress)
            elif configured is None:
                known = None
    if configured is None and known is None:
        raise UsageError(f'There is no source "{name}".', remedy="Run `ctxsync source list`.")
    if configured is not None:
        remove_from_file(app.home, name)


def rebuild(app: App, progress: Callable[[Step], None]) -> dict[str, Any]:
    """Build the graph anew; the caller holds the writer lock. See `App.rebuild`."""
    from ctxsync.engine.graph import projection
    from ctxsync.status import with_facts

    started = time.monotonic()
    with closing(app.store()) as store, _cache(app) as cache:
        graph = projection.rebuild(store, app.home.graph_path, progress=_counting(progress, "rebuild"), cache=cache)
    with closing(graph):
        counts, state, history = graph.counts(), graph.state_hash(), graph.history_hash()
        position = graph.position
    embedded = embed(app, progress)
    return {
        "position": position,
        "counts": with_facts(counts),
        "state_hash": state,
        "history_hash": history,
        "embedded": embedded,
        "seconds": round(time.monotonic() - started, 3),
    }


def verify(app: App, progress: Callable[[Step], None], *, deep: bool) -> dict[str, Any]:
    """Check the log, and the graph against it. See `App.verify`."""
    import tempfile

    from ctxsync.engine.graph import projection

    with closing(app.store()) as store:
        verified = check_chain(store, _counting(progress, "verify"))
        report: dict[str, Any] = {"events": store.count(), "position": store.head()[0], "hash": store.head()[1]}
        report["erased"] = verified.erased
        try:
            graph = app.graph()
        except GraphError as error:
            return report | {"graph": error.message}
        with closing(graph):
            report["graph_position"] = graph.position
            agrees = graph.log_id == store.log_id
            if deep and agrees:
                graph.check()
                report |= {"state_hash": graph.state_hash(), "history_hash": graph.history_hash()}
                with tempfile.TemporaryDirectory(dir=app.home.path, prefix=".verify-") as folder:
                    anew = projection.rebuild(store, Path(folder) / "graph.db", progress=_counting(progress, "rebuild"))
                    with closing(anew):
                        report["rebuilt"] = anew.state_hash()
                        agrees = (report["state_hash"], graph.position) == (report["rebuilt"], anew.position)
            report["graph"] = "agrees" if agrees else "differs"
    return report


def check_chain(store: EventStore, progress: Callable[[int], None] | None = None) -> Verified:
    """Check the log's hash chain; raises `StoreCorrupt` where it is not in order."""
    from ctxsync.events.database import DAMAGED_REMEDY

    verified = store.verify(progress)
    if not verified.ok:
        raise StoreCorrupt(
            f"The log is damaged at position {verified.broken}: {verified.problem}.",
            remedy=DAMAGED_REMEDY,
        )
    return verified


def standing(app: App, reports: Iterable[SourceReport]) -> dict[str, Any]:
    """Return what waits at the sources of a pass, as the graph has it now: `problems`, and each source's counts."""
    problems: list[dict[str, Json]] = [problem for report in reports for problem in report.problems]
    names = {report.name for report in reports}
    try:
        graph = app.graph()
    except GraphError:
        return {"problems": problems}
    with closing(graph), translated(graph.path):
        for source, place, error in graph.db.execute(QUARANTINED):
            if source in names:
                problems.append(
                    {
                        "kind": "quarantined",
                        "source": source,
                        "place": place,
                        "message": error,
                        "remedy": "Correct the file, or run `ctxsync sync --retry-quarantined`.",
                    }
                )
    return {"problems": problems}


QUARANTINED = "SELECT source, place, error FROM quarantine ORDER BY source, place"


def _report(
    reports: list[SourceReport], done: Mapping[str, Any], seconds: float, *, interrupted: bool
) -> dict[str, Any]:
    return {
        "sources": [report.as_json() for report in reports],
        **done,
        "seconds": round(seconds, 3),
        "interrupted": interrupted,
        "dry_run": False,
    }


def _note_runs(app: App, reports: Iterable[SourceReport], now: int) -> None:
    entries: dict[str, dict[str, Any]] = {}
    for report in reports:
        entry: dict[str, Any] = {"tried": now, "seconds": round(report.seconds, 3), "skipped": report.skipped}
        if report.paused is None:
            entry["at"] = now
        entries[report.name] = entry
    if entries:
        runs.record(app.home, "sources", entries)


def _counting(progress: Callable[[Step], None], phase: str) -> Callable[..., None]:
    """Return a callback of (done, total) that tells of one phase."""

    def tell(done: int, total: int | None = None) -> None:
        progress(Step(phase, done, total))

    return tell
