"""A home that follows several sources in steps which may die anywhere; knows no connector, and what each must hold is told.

For state machines: a rule may arm a crash, read, extract, project, or remove a source, in any order; the checks first
let everything come to rest.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import ctxsync.app
from ctxsync.app import App
from ctxsync.config import load_config
from ctxsync.engine.extraction.reactor import extract_pending
from ctxsync.engine.graph.projection import rebuild
from ctxsync.events.model import PAYLOADS
from ctxsync.events.store import EventStore, NewEvent
from ctxsync.home import resolve
from ctxsync.sync import (
    SourceReport,
    Step,
    SyncRequest,
    configure,
    configured_event,
    no_progress,
    options_for,
    read_source,
)
from ctxsync.upkeep import catch_up_graph
from tests.whole.support import PlainModels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ctxsync.connectors.base import Connector, Options

POINTS = ("append", "cursor", "extract", "project", "batch")
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # no power fails here: nothing need reach a disk
BATCH = 3  # items: small, so that every pass has many batches to be killed between

EPISODES = """
    SELECT i.item, e.text, count(*) FROM holding AS h JOIN episode AS e ON e.id = h.episode JOIN item AS i ON i.id = e.item
    WHERE h.until IS NULL AND e.kind = ? GROUP BY i.item, e.text
"""
SIGHTED = """
    SELECT i.item, s.source, s.place FROM sighting AS s JOIN item AS i ON i.id = s.item
    WHERE s.until IS NULL AND i.kind = ? ORDER BY 1, 2, 3
"""
TRUSTED = """
    SELECT DISTINCT i.item, v.trust FROM evidence AS v JOIN episode AS e ON e.id = v.episode JOIN item AS i ON i.id = e.item
    WHERE v.active AND e.kind = ?
"""


class Crash(BaseException):
    """The process is gone: nothing after it runs."""


class Followed:
    """A home and its sources.

    Args:
        config: The `[[sources]]` of its config.toml, `{place}` for the folder that everything is in.
        connectors: How each source is read, by its name.
        start: Milliseconds UTC of the first pass.
    """

    def __init__(self, config: str, connectors: Mapping[str, Callable[[Options], Connector]], start: int) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="followed-", dir=MEMORY))
        home = self.place / "home"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(config.replace("{place}", str(self.place)), encoding="utf-8")
        (home / "config.toml").chmod(0o600)
        self.connectors = connectors
        self.now = start
        where = resolve(str(home))
        self.app = App(where, load_config(where), models=PlainModels(), clock=lambda: self.now)
        self.removed: set[str] = set()
        self.armed: list[object] = []
        ctxsync.app.checkpoint = self.pass_by

    def close(self) -> None:
        ctxsync.app.checkpoint = lambda _: None
        shutil.rmtree(self.place)

    # What may happen to it

    def arm(self, point: str, count: int) -> None:
        """Let the process die when it passes a point for the `count`th time."""
        self.armed = [point, count]

    def pass_by(self, name: str, /) -> None:
        if not self.armed or self.armed[0] != name:
            return
        self.armed[1] = int(str(self.armed[1])) - 1
        if not self.armed[1]:
            self.armed.clear()
            raise Crash

    def pull(self, *, allow: bool = True, retry: bool = False) -> None:
        """Read every source; `allow` lets deletions through that the breaker would hold."""
        self.now += 1_000
        sources = tuple(source for source in self.app.config.sources if source.name not in self.removed)
        names = tuple(source.name for source in sources) if allow else ()
        request = SyncRequest(allow_deletes=names, retry_quarantined=retry)

        def passed(_: Step) -> None:
            self.pass_by("batch")

        def step(store: EventStore) -> None:
            configure(store, replace(self.app.config, sources=sources), self.now)
            for source in sources:
                connector = self.connectors[source.name](options_for(self.app.config, source.name, request, self.now))
                report = SourceReport(source.name)
                read_source(store, connector, self.now, report, progress=passed)
                assert not allow or report.paused is None, report.problems

        self.attempt(step)

    def extract(self) -> None:
        self.attempt(lambda store: extract_pending(store, self.app.models.chain()))

    def project(self) -> None:
        self.attempt(lambda store: catch_up_graph(self.app, store, no_progress))

    def rebuild(self) -> None:
        self.attempt(lambda store: rebuild(store, self.app.home.graph_path).close())

    def remove(self, name: str) -> None:
        """Remove a source, as `ctxsync source remove` does; it is back with the next pass when it is no more in `removed`."""
        source = next(source for source in self.app.config.sources if source.name == name)
        told = configured_event(
            self.app.config, name, source.type, source.location, source.trust, now=self.now, removed=True
        )
        self.removed.add(name)
        self.attempt(lambda store: store.append([told]))

    def attempt(self, step: Callable[[EventStore], object]) -> None:
        try:
            with closing(self.app.store(write=True)) as store:
                step(store)
        except Crash:
            pass

    # What must hold

    def settle(self) -> None:
        """Let everything come to rest: whoever was removed while the process died is removed now."""
        self.armed.clear()
        for name in sorted(self.removed):
            self.remove(name)
        self.now += 7_200_000  # replies of lively threads are read again every hour
        self.pull()
        self.extract()
        self.project()

    def held(self, kind: str) -> dict[str, set[str]]:
        """Return the texts that are held of each item, each of them once."""
        found: dict[str, set[str]] = {}
        with closing(self.app.graph()) as graph:
            for item, text, number in graph.db.execute(EPISODES, (kind,)):
                assert number == 1, f"{text!r} is held {number} times"
                found.setdefault(item, set()).add(text)
        return found

    def sighted(self, kind: str) -> set[tuple[str, str, str]]:
        """Return item, source and place of what is seen."""
        with closing(self.app.graph()) as graph:
            found = [(str(a), str(b), str(c)) for a, b, c in graph.db.execute(SIGHTED, (kind,))]
        assert len(set(found)) == len(found)
        return set(found)

    def trusted(self, kind: str) -> set[tuple[str, int]]:
        """Return how far what each item says is trusted."""
        with closing(self.app.graph()) as graph:
            return set(graph.db.execute(TRUSTED, (kind,)))

    def quarantined(self) -> set[tuple[str, str]]:
        """Return source and place of what is in quarantine."""
        with closing(self.app.graph()) as graph:
            return set(graph.db.execute("SELECT source, place FROM quarantine"))

    def check_the_log_verifies(self) -> None:
        if self.app.home.events_path.exists():
            with closing(self.app.store()) as store:
                store.verify()

    def check_the_rebuilt_graph_is_the_live_one(self) -> None:
        other = self.place / "rebuilt.db"
        with (
            closing(self.app.store()) as store,
            closing(rebuild(store, other)) as anew,
            closing(self.app.graph()) as live,
        ):
            assert (anew.state_hash(), anew.history_hash()) == (live.state_hash(), live.history_hash())
        for file in self.place.glob("rebuilt.db*"):
            file.unlink()

    def check_reading_it_all_at_once_gives_the_same_state(self) -> None:
        """A home that sees only what is there now, its sources in another order, knows the same."""
        if self.removed:
            return
        lived = self.app
        try:
            home = self.place / "fresh home"
            home.mkdir(mode=0o700)
            shutil.copy(lived.home.config_path, home)
            config = load_config(resolve(str(home)))
            config = replace(config, sources=config.sources[::-1])
            self.app = App(resolve(str(home)), config, models=PlainModels(), clock=lambda: self.now)
            self.settle()
            with closing(self.app.graph()) as fresh, closing(lived.graph()) as before:
                assert fresh.state_hash() == before.state_hash()
        finally:
            self.app = lived

    def check_another_arrival_order_gives_the_same_state(self) -> None:
        other = self.place / "reordered"
        with closing(self.app.store()) as store, closing(EventStore.open(other / "events.db", write=True)) as anew:
            anew.append(list(by_item(store)))
            with closing(rebuild(anew, other / "graph.db")) as reordered, closing(self.app.graph()) as live:
                assert reordered.state_hash() == live.state_hash()
        shutil.rmtree(other)


def by_item(store: EventStore) -> Iterator[NewEvent]:
    """The log's events, the last item's first: each item's own stay in order, and all else stands before them.

    Only that a source is removed, and stays so, stands behind them.
    """
    groups: dict[str, list[NewEvent]] = {}
    last: dict[str, NewEvent] = {}
    for event in store.read():
        model = PAYLOADS[event.type]
        made = NewEvent(event.source, event.subject, model.model_validate(event.payload), event.occurred_at)
        apart = "" if event.type == "item.quarantined" else str(event.payload.get("item", ""))
        groups.setdefault(apart, []).append(made)
        if event.type == "source.configured":
            last[event.subject] = made
    removed = [made for made in last.values() if getattr(made.payload, "removed", False)]
    yield from (made for made in groups.pop("", []) if made not in removed)
    for item in sorted(groups, reverse=True):
        yield from groups[item]
    yield from removed
