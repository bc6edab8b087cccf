"""Passes over the sources: read what changed into the log, then bring the graph up to it; or say what would happen."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from ctxsync import runs, spool
from ctxsync.backlog import of as backlog_of
from ctxsync.engine.graph.store import translated
from ctxsync.errors import ConfigError, GraphError, RateLimited, StoreMissing, UsageError
from ctxsync.forms import RESERVED_NAMES
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
    rarely_collected,
    read_source,
)
from ctxsync.upkeep import bring_up, catch_up_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from importlib.metadata import EntryPoint

    from ctxsync.app import App
    from ctxsync.connectors.base import Connector, Json, Stream
    from ctxsync.source_settings import SourceConfig
    from ctxsync.spool import Hint

CONNECTORS = "ctxsync.connectors"  # entry point group: name is the source type
LONGEST_WAIT = 3600.0
"""Seconds: what a server may ask for at most; a mistake of its clock must not silence a source for a year."""
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
    if source.root is not None:
        root, home = real(source.root), real(app.home.path)
        if root in home.parents and "include" in settings:
            settings["exclude"] = [*settings["exclude"], f"/{home.relative_to(root).as_posix()}/**"]
    connector: Connector = found.load()(source.name, settings, options_for(app.config, source.name, request, now))
    return connector


def chosen(app: App, request: SyncRequest, hints: Iterable[Hint] = ()) -> list[SourceConfig]:
    """Return the sources a request is about, in the order of config.toml.

    Those that a git hook hints at come first, and those on servers last: nothing on this machine waits for a network.
    """
    wanted = [source for source in app.config.sources if not request.sources or source.name in request.sources]
    hinted = set(spool.sources_of((path for hint in hints for path in hint.repositories), app.config))
    return sorted(wanted, key=lambda source: (source.name not in hinted, source.root is None))


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

    with closing(app.store(write=True)) as store, rarely_collected():
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
            with suppress(GraphError), closing(app.graph()) as graph:
                done["facts"] = graph.count("facts_current")
    _note_runs(app, reports, now)
    return _report(reports, done, time.monotonic() - started, interrupted=interrupted) | standing(app, reports)


def _sources(
    app: App, request: SyncRequest, now: int, clashing: Mapping[str, str]
) -> Iterator[tuple[SourceReport, Connector | None]]:
    """Yield each source to read with a fresh report; hints of git hooks are gone once every source was read."""
    hints = spool.take(app.home)
    names: list[str] = []
    for report, connector in _connected(app, chosen(app, request, hints), request, now, clashing):
        yield report, connector
        names.append(report.name)
    spool.settle(hints, app.config, names)


def _connected(
    app: App, sources: Iterable[SourceConfig], request: SyncRequest, now: int, clashing: Mapping[str, str]
) -> Iterator[tuple[SourceReport, Connector | None]]:
    """Yield each source with a fresh report and its connector.

    Settings that a connector refuses are its source's problem, not the pass's: it comes without a connector. So does a
    source whose server asked to be left alone until later.
    """
    noted = runs.read(app.home)["sources"]
    for source in sources:
        report = SourceReport(source.name)
        connector = None
        try:
            if source.name in clashing:
                clash = ConfigError(clashing[source.name], remedy="Give it another name in config.toml.")
                report.pause(WHOLE_SOURCE, clash)
            elif (wait := _until(noted.get(source.name, {})) - now) > 0:
                report.pause(WHOLE_SOURCE, RateLimited("Its server asked ctxsync to wait.", retry_after=wait / 1000))
            else:
                connector = connect(app, source, request, now)
        except ConfigError as error:
            report.pause(WHOLE_SOURCE, error)
        yield report, connector


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
            report if connector is None else preview_source(connector, cursor_of, progress=progress)
            for report, connector in _connected(app, chosen(app, request), request, now, {})
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
        "backlog": backlog_of(app, ask=True, sections=sections),
        "problems": [problem for report in reports for problem in report.problems],
    }


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


def standing(app: App, reports: Iterable[SourceReport]) -> dict[str, Any]:
    """Return what waits at the sources of a pass, as the graph has it now: `problems`, and each source's counts."""
    problems: list[dict[str, Json]] = [problem for report in reports for problem in report.problems]
    names = {report.name for report in reports}
    files = {source.name: source.root is not None for source in app.config.sources}
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
                        "remedy": "Correct the file, or run `ctxsync sync --retry-quarantined`."
                        if files.get(source, True)
                        else "The rest is read all the same. To try again: `ctxsync sync --retry-quarantined`.",
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


def _until(entry: Mapping[str, Any]) -> int:
    """Return until when, in milliseconds UTC, a source's server asked to be left alone; 0 for no such wait."""
    until = entry.get("until")
    return until if isinstance(until, int) else 0


def _note_runs(app: App, reports: Iterable[SourceReport], now: int) -> None:
    from ctxsync.status import rfc3339

    entries: dict[str, dict[str, Any]] = {}
    ended = app.clock()
    for report in reports:
        entry: dict[str, Any] = {"tried": now, "seconds": round(report.seconds, 3), "skipped": report.skipped}
        if report.paused is None:
            entry["at"] = now
        entry["until"] = 0
        if report.wait:
            entry["until"] = ended + int(min(report.wait, LONGEST_WAIT) * 1000)
            report.goes_on(rfc3339(entry["until"]))
        entry["remedies"] = {str(problem["place"]): problem["remedy"] for problem in report.problems}
        entries[report.name] = entry
    if entries:
        runs.record(app.home, "sources", entries)
