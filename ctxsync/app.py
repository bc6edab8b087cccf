"""The composition root: opens a home's files late and runs whole commands; renders nothing and decides no policy.

Importing this module costs no model, no pydantic and no connector: what a command needs is imported when it runs.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from ctxsync.config import Config, load_config
from ctxsync.errors import CtxsyncError, StoreCorrupt, UsageError
from ctxsync.home import Home, resolve
from ctxsync.sync import Step, SyncRequest, no_progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ctxsync.connectors.base import Item
    from ctxsync.engine.extraction.escalation import Step as HigherStep
    from ctxsync.engine.extraction.invalidation import GraphFacts
    from ctxsync.engine.extraction.trying import Trier
    from ctxsync.engine.graph.store import Graph
    from ctxsync.engine.reading import Reader
    from ctxsync.events.lock import WriterLock
    from ctxsync.events.store import EventStore
    from ctxsync.models import LocalModels, Models
    from ctxsync.trial import Trial


def checkpoint(_: str, /) -> None:
    """Do nothing at a named point of a write (`append`, `cursor`, `extract`, `project`): crash tests replace this."""


def _checkpoint(name: str) -> None:
    checkpoint(name)  # looked up at each call, so that a replaced one is called


class App:
    """One home, its settings, and what can be done with them.

    Args:
        home: Where.
        config: Its settings.
        models: What extracts and embeds; None means the local ones, built when first needed.
        clock: Milliseconds UTC.
        on_wait: Told once, with a line naming it, when another writer has to be waited for.
    """

    def __init__(
        self,
        home: Home,
        config: Config,
        *,
        models: Models | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        on_wait: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.home = home
        self.config = config
        self.clock = clock
        self.on_wait = on_wait
        self._models = models
        self._reader: tuple[int, Reader] | None = None

    @classmethod
    def open(cls, home: str | None = None) -> App:
        """Return the App of `--home`, or of the environment; raises `ConfigError`."""
        place = resolve(home)
        return cls(place, load_config(place))

    # Files

    def store(self, *, write: bool = False, anew: bool = False) -> EventStore:
        """Open the log; the caller closes it. Writing needs `lock()` and creates what is missing.

        Args:
            write: Open it for appending.
            anew: Begin a log also where a graph says that there was one, as an import does.

        Raises:
            StoreError: As `EventStore.open`; `StoreCorrupt` also where the log is gone that the graph was made from.
        """
        from ctxsync.events.store import EventStore

        if not anew and self.home.graph_path.exists() and not self.home.events_path.exists():
            raise StoreCorrupt(
                f"The log {self.home.events_path} is gone; the graph beside it was made from it.",
                remedy="Put it back, or run `ctxsync import FOLDER` on an export. To begin anew from your sources, "
                "move graph.db away and run `ctxsync sync`.",
            )
        if write:
            self.home.create()
            return EventStore.open(self.home.events_path, write=True, checkpoint=_checkpoint, clock=self.clock)
        return EventStore.open(self.home.events_path)

    def graph(self, *, write: bool = False) -> Graph:
        """Open the graph; raises `GraphMissing` or `GraphStale`."""
        from ctxsync.engine.graph.store import Graph

        return Graph.open(self.home.graph_path, write=write)

    def reader(self) -> Reader:
        """Return a reader of the graph, kept for the process; a rebuilt graph is noticed."""
        from ctxsync.engine.reading import Reader

        try:
            inode = self.home.graph_path.stat().st_ino
        except OSError:
            inode = 0
        if self._reader is None or self._reader[0] != inode:
            self._reader = (inode, Reader(self.graph()))
        return self._reader[1]

    def lock(self, purpose: str, request: SyncRequest | None = None) -> WriterLock:
        """Return the writer lock, not yet taken."""
        from ctxsync.events.lock import WriterLock

        self.home.create()
        request = request or SyncRequest()
        return WriterLock(
            self.home.lock_path, purpose, timeout=request.timeout, on_wait=request.on_wait or self.on_wait
        )

    @property
    def models(self) -> Models:
        """What extracts and embeds."""
        if self._models is None:
            from ctxsync.models import LocalModels

            self._models = LocalModels(self.config, self.home)
        return self._models

    def has_higher(self) -> bool:
        """Say whether there may be tiers above tier 1; asks no server."""
        return hasattr(self.models, "higher")

    def higher(self, facts: GraphFacts | None = None) -> tuple[list[HigherStep], str]:
        """Return the tiers above tier 1, the lowest first, and why there is none on this machine; asks local servers."""
        if not self.has_higher():
            return [], ""
        steps, why = cast("LocalModels", self.models).higher(facts)
        return steps, why

    def named_model(self, name: str, facts: GraphFacts | None = None) -> Trier:
        """Return the model of this name, to be tried; raises `UsageError`, `ModelError` or `ConfigError`."""
        return cast("LocalModels", self.models).named(name, facts)

    # Commands that write

    def sync(self, request: SyncRequest, progress: Callable[[Step], None] = no_progress) -> dict[str, Any]:
        """Read what changed, extract it and bring the graph up to it.

        A pass that is interrupted reports what it did (`interrupted` is true); the next one completes it.

        Returns:
            DESIGN's `sync` JSON, and `problems` (each `kind` `paused` or `quarantined`, `source`, `place`, `message`,
            `remedy`: exit code 3 when there are any), `interrupted`, `dry_run`.

        Raises:
            UsageError: A source that is not configured.
            StoreError: The log cannot be written; what was stored before stands.
        """
        from ctxsync.passes import preview, run

        for name in (*request.sources, *request.allow_deletes):
            if self.config.source(name) is None:
                known = ", ".join(source.name for source in self.config.sources) or "none"
                raise UsageError(
                    f'There is no source "{name}" (configured: {known}).', remedy="Run `ctxsync source list`."
                )
        if request.dry_run:
            return preview(self, request, progress)
        with self.lock(request.purpose, request):
            report = run(self, request, progress)
        if request.purpose != "watch":  # that one has idle time
            self._escalate(request, progress, report)
        return report

    def _escalate(self, request: SyncRequest, progress: Callable[[Step], None], report: dict[str, Any]) -> None:
        """Have higher tiers read what the first ones are not sure of, for as long as one pass may."""
        from ctxsync.escalating import escalate

        def step(what: Step) -> None:
            progress(what)
            if request.stopped is not None and request.stopped():
                raise KeyboardInterrupt

        seconds = 0.0 if report["interrupted"] else self.config.extraction.seconds_per_pass
        started = time.monotonic()
        try:
            escalate(self, seconds=seconds, progress=step, done=report)
        except KeyboardInterrupt:
            report["interrupted"] = True
        report["seconds"] = round(report["seconds"] + time.monotonic() - started, 3)

    def log(self, text: str, progress: Callable[[Step], None] = no_progress) -> dict[str, Any]:
        """Store a text of one's own and make it answer at once.

        Returns:
            `{"item", "episodes", "extracted", "facts"}`.

        Raises:
            UsageError: There is no text.
        """
        if not text.strip():
            raise UsageError("There is nothing to log.", remedy="Give a text: ctxsync log 'Rosa moved to Lyon'.")
        from ctxsync.changes import to_events
        from ctxsync.connectors.base import Observed, Sighted, episode_id
        from ctxsync.events.model import ItemQuarantined
        from ctxsync.status import rfc3339
        from ctxsync.sync import configure
        from ctxsync.upkeep import bring_up

        now = self.clock()
        item = log_item(text, self.config, now)
        with self.lock("log"), self.store(write=True) as store:
            configure(store, self.config, now)
            place = rfc3339(now)[:10]  # the day is where a thought is found again
            events = list(to_events("log", (Observed(item, place), Sighted(item.id, place)), now))
            if isinstance(events[0].payload, ItemQuarantined):
                raise CtxsyncError(f"The text cannot be kept: {events[0].payload.error}.", remedy="Correct it first.")
            store.append(events)
            done = bring_up(self, store, progress)
        return {"item": item.id, "episodes": [episode_id(item.id, section) for section in item.sections], **done}

    def rebuild(self, progress: Callable[[Step], None] = no_progress) -> dict[str, Any]:
        """Build the graph anew from the log, beside the old one, then put it in its place."""
        from ctxsync.upkeep import rebuild

        with self.lock("rebuild"):
            return rebuild(self, progress)

    def trial(self, model: str, *, source: str = "", limit: int = 0) -> Trial:
        """Return the trial of a model over what is stored; see `ctxsync.trial.Trial`."""
        from ctxsync.trial import Trial

        return Trial(self, model, source=source, limit=limit)

    def adopt(self, run: str, source: str = "", progress: Callable[[Step], None] = no_progress) -> dict[str, Any]:
        """Let a run count from here on, or with an empty one what is read as usual; see `ctxsync.adopting.adopt`."""
        from ctxsync.adopting import adopt

        return adopt(self, run, source, progress)

    def remove_source(self, name: str, *, forget: bool = False) -> dict[str, Any]:
        """Take a source out of config.toml, or out of the log when only that knows it, and retract what it alone shows.

        Its text stays in the log.

        Raises:
            UsageError: No such source.
            CtxsyncError: `forget` was asked, which this version cannot do.
        """
        if forget:
            raise CtxsyncError(
                "Erasing a source's text from the log is not available in this version; nothing was changed.",
                remedy=f"Run `ctxsync source remove {name}` to retract what it says.",
            )
        from ctxsync.passes import remove
        from ctxsync.sources import forget_secrets

        source = self.config.source(name)
        with self.lock("source remove"):
            remove(self, name)
        self.config = load_config(self.home)
        return {"removed": name, "forgotten": forget_secrets(source) if source else []}

    def add_source(self, kind: str, location: str, **options: Any) -> dict[str, Any]:
        """Add a source to config.toml; see `ctxsync.sources.add`."""
        from ctxsync.config import as_mapping
        from ctxsync.sources import add

        self.home.create()
        source = add(self.home, self.config, kind, location, former=self._former_kinds(), **options)
        self.config = load_config(self.home)
        return dict(as_mapping(source))

    def store_secret(self, name: str, setting: str, ask: Callable[[str], str]) -> dict[str, Any]:
        """Put a source's secret into the keyring; see `ctxsync.sources.store_secret`."""
        from ctxsync.sources import store_secret

        return store_secret(self.config, name, setting, ask)

    def _former_kinds(self) -> dict[str, str]:
        """Return the type of every source that the log ever held, by name."""
        from ctxsync.sync import known_sources

        if not self.home.events_path.exists():
            return {}
        with self.store() as store:
            return {name: str(settings["kind"]) for name, settings in known_sources(store).items()}

    def import_log(self, folder: Path, progress: Callable[[Step], None] = no_progress) -> dict[str, Any]:
        """Read an exported log into this home, which has none or an older part of it, and build its graph."""
        from ctxsync.events import jsonl
        from ctxsync.upkeep import rebuild

        with self.lock("import"):
            with self.store(write=True, anew=True) as store:
                jsonl.import_log(store, folder, lambda done: progress(Step("import", done)))
            return rebuild(self, progress)

    # Commands that read

    def export_log(self, folder: Path) -> dict[str, Any]:
        """Write the log as JSON Lines, a file a month."""
        from ctxsync.events import jsonl

        with self.store() as store:
            jsonl.export_log(store, folder)
            return {"folder": str(folder), "events": store.count()}

    def verify(self, progress: Callable[[Step], None] = no_progress, *, deep: bool = False) -> dict[str, Any]:
        """Check the log's hash chain and that the graph stands on it; `deep` also compares the graph with a rebuild."""
        from ctxsync.upkeep import verify

        return verify(self, progress, deep=deep)

    def status(self, *, full: bool = False) -> dict[str, Any]:
        """Return DESIGN's `status` JSON; hashes of the graph only when `full`, because they read all of it."""
        from ctxsync.status import status

        return status(self, full=full)

    def doctor(self, *, chain: bool = False, online: bool = False) -> list[dict[str, Any]]:
        """Check the installation and the home; see `ctxsync.doctor.examine`."""
        from ctxsync.doctor import examine

        return [finding.as_json() for finding in examine(self, chain=chain, online=online)]

    def watch(self, report: Callable[[str], None], **options: Any) -> None:
        """Keep the graph current until a signal comes; see `ctxsync.watch.Watch`."""
        from ctxsync.watch import Watch

        Watch(self, report, **options).run()


def log_item(text: str, config: Config, now: int) -> Item:
    """Return the item of a text of one's own: one section, said now; its first line is its title."""
    from ctxsync.connectors.base import Item, Person, Section, digest

    known = text.encode("utf-8", "replace").decode()  # a terminal's undecodable bytes arrive as lone surrogates
    clean = known.replace("\r\n", "\n").replace("\r", "\n").strip()
    me = config.identity
    author = Person(me.names[0] if me.names else "", me.keys) if me.names or me.keys else None
    section = Section("", clean, now, line=1, author=author)
    return Item(f"log:{digest(clean, now)}", "log", clean.splitlines()[0][:80], (section,))
