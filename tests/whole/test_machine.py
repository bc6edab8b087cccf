"""The whole pipeline under arbitrary edits, crashes and orders: nothing lost, nothing doubled, one graph."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import ctxsync.app
from ctxsync.app import App
from ctxsync.config import load_config
from ctxsync.engine.extraction.reactor import extract_pending
from ctxsync.engine.graph.projection import rebuild
from ctxsync.events.model import PAYLOADS
from ctxsync.events.store import EventStore, NewEvent
from ctxsync.home import resolve
from ctxsync.passes import connect
from ctxsync.sync import SourceReport, SyncRequest, configure, no_progress, read_source
from ctxsync.upkeep import catch_up_graph
from tests.whole.support import PlainModels

if TYPE_CHECKING:
    from collections.abc import Iterator


START = 1_700_000_000_000
NAMES = ("one", "two", "three", "deep/four", "deep/five", "Ünder")
PEOPLE = ("Ada Brook", "Ben Carver")
PLACES = ("Northwind", "Southgate", "Westbury")

statements = st.builds(
    lambda head, verb, tail, year: f"{head} {verb} {tail} {'since' if verb == 'works at' else 'in'} {year}.",
    st.sampled_from(PEOPLE),
    st.sampled_from(("works at", "left", "attended")),
    st.sampled_from(PLACES),
    st.integers(2019, 2025),
)
sections = st.builds(
    lambda heading, body: f"## {heading}\n{body}\n", st.sampled_from(("Then", "Now", "Later")), statements
)
texts = st.lists(sections, min_size=1, max_size=3).map("".join)
names = st.sampled_from(NAMES)


class Crash(BaseException):
    """The process is gone: nothing after it runs."""


class Pipeline(RuleBasedStateMachine):
    """A vault that is edited, and a home that follows it in steps that may die anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="machine-"))
        self.vault = self.place / "vault"
        self.vault.mkdir()
        (self.vault / "deep").mkdir()
        home = self.place / "home"
        home.mkdir(mode=0o700)
        config = home / "config.toml"
        config.write_text(f'[[sources]]\nname = "vault"\ntype = "notes"\npath = "{self.vault}"\n', encoding="utf-8")
        config.chmod(0o600)
        self.now = START
        place = resolve(str(home))
        self.app = App(place, load_config(place), models=PlainModels(), clock=lambda: self.now)
        self.deleted: dict[str, str] = {}
        self.armed: list[str] = []
        ctxsync.app.checkpoint = self.pass_by

    def pass_by(self, name: str, /) -> None:
        if self.armed == [name]:
            self.armed.clear()
            raise Crash

    def teardown(self) -> None:
        self.armed.clear()
        self.settle()
        self.check_nothing_lost_nothing_doubled()
        self.check_the_rebuilt_graph_is_the_live_one()
        self.check_another_arrival_order_gives_the_same_state()
        ctxsync.app.checkpoint = lambda _: None
        shutil.rmtree(self.place)

    # The vault

    def path(self, name: str) -> Path:
        return self.vault / f"{name}.md"

    def there(self) -> list[str]:
        return [name for name in NAMES if self.path(name).exists()]

    def write(self, name: str, text: str) -> None:
        self.now += 60_000
        self.path(name).write_text(text, encoding="utf-8")
        stamp = self.now / 1000 - 30
        os.utime(self.path(name), (stamp, stamp))

    @initialize()
    def start(self) -> None:
        self.write("one", "## Then\nAda Brook works at Northwind since 2019.\n")

    @rule(name=names, text=texts)
    def create(self, name: str, text: str) -> None:
        if not self.path(name).exists():
            self.write(name, text)

    @precondition(lambda self: self.there())
    @rule(data=st.data(), text=texts)
    def edit(self, data: st.DataObject, text: str) -> None:
        self.write(data.draw(st.sampled_from(self.there())), text)

    @precondition(lambda self: self.there())
    @rule(data=st.data(), section=sections)
    def append(self, data: st.DataObject, section: str) -> None:
        name = data.draw(st.sampled_from(self.there()))
        self.write(name, self.path(name).read_text(encoding="utf-8") + section)

    @precondition(lambda self: self.there())
    @rule(data=st.data(), to=names)
    def move(self, data: st.DataObject, to: str) -> None:
        self.path(data.draw(st.sampled_from(self.there()))).replace(self.path(to))

    @precondition(lambda self: len(self.there()) > 1)
    @rule(data=st.data())
    def swap(self, data: st.DataObject) -> None:
        first, second = data.draw(st.permutations(self.there()))[:2]
        aside = self.vault / "aside.tmp"
        self.path(first).rename(aside)
        self.path(second).rename(self.path(first))
        aside.rename(self.path(second))

    @precondition(lambda self: self.there())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.there()))
        self.deleted[name] = self.path(name).read_text(encoding="utf-8")
        self.path(name).unlink()

    @precondition(lambda self: self.deleted)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.deleted)))
        if not self.path(name).exists():
            self.write(name, self.deleted.pop(name))

    # The pipeline

    @rule(point=st.sampled_from(("append", "cursor", "extract", "project")))
    def crash(self, point: str) -> None:
        """The next time this point is passed, the process dies there."""
        self.armed = [point]

    @rule()
    def pull(self) -> None:
        self.now += 1_000
        request = SyncRequest(allow_deletes=("vault",))

        def step(store: EventStore) -> None:
            configure(store, self.app.config, self.now)
            source = self.app.config.sources[0]
            connector = connect(self.app, source, request, self.now)
            read_source(store, connector, self.now, SourceReport(source.name), progress=no_progress)

        self.attempt(step)

    @rule()
    def extract(self) -> None:
        self.attempt(lambda store: extract_pending(store, self.app.models.chain()))

    @rule()
    def project(self) -> None:
        self.attempt(lambda store: catch_up_graph(self.app, store, no_progress))

    @rule()
    def rebuild(self) -> None:
        self.attempt(lambda store: rebuild(store, self.app.home.graph_path).close())

    def attempt(self, step: object) -> None:
        try:
            with closing(self.app.store(write=True)) as store:
                step(store)  # type: ignore[operator]  # rules pass what takes a store
        except Crash:
            pass

    # What must hold

    def settle(self) -> None:
        self.pull()
        self.extract()
        self.project()

    @invariant()
    def the_log_verifies(self) -> None:
        if self.app.home.events_path.exists():
            with closing(self.app.store()) as store:
                store.verify()

    @rule()
    def check_nothing_lost_nothing_doubled(self) -> None:
        self.armed.clear()
        self.settle()
        with closing(self.app.graph()) as graph:
            found: dict[str, list[str]] = {}
            for place, text in graph.db.execute(HELD):
                found.setdefault(place, []).append(text)
            places = graph.db.execute("SELECT item, place FROM sighting WHERE until IS NULL").fetchall()
        on_disk = {f"{name}.md": self.path(name).read_text(encoding="utf-8") for name in self.there()}
        assert {place: squeezed("\n".join(parts)) for place, parts in found.items()} == {
            place: squeezed(text) for place, text in on_disk.items()
        }
        assert len({item for item, _ in places}) == len(places) == len(on_disk)

    @rule()
    def check_the_rebuilt_graph_is_the_live_one(self) -> None:
        self.armed.clear()
        self.settle()
        other = self.place / "rebuilt.db"
        with (
            closing(self.app.store()) as store,
            closing(rebuild(store, other)) as anew,
            closing(self.app.graph()) as live,
        ):
            assert (anew.state_hash(), anew.history_hash()) == (live.state_hash(), live.history_hash())
        for file in self.place.glob("rebuilt.db*"):
            file.unlink()

    def check_another_arrival_order_gives_the_same_state(self) -> None:
        other = self.place / "reordered"
        other.mkdir()
        with closing(self.app.store()) as store, closing(EventStore.open(other / "events.db", write=True)) as anew:
            anew.append(list(by_item(store)))
            with closing(rebuild(anew, other / "graph.db")) as reordered, closing(self.app.graph()) as live:
                assert reordered.state_hash() == live.state_hash()


HELD = """
    SELECT s.place, e.text FROM sighting s
    JOIN episode e ON e.item = s.item
    JOIN holding h ON h.episode = e.id AND h.until IS NULL
    WHERE s.until IS NULL ORDER BY s.place, h.line
"""


def squeezed(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip())


def by_item(store: EventStore) -> Iterator[NewEvent]:
    """The log's events, the last item's first: each item's own stay in order, its extractions behind them."""
    groups: dict[str, list[NewEvent]] = {}
    for event in store.read():
        model = PAYLOADS[event.type]
        item = str(event.payload.get("item", ""))
        groups.setdefault(item, []).append(
            NewEvent(event.source, event.subject, model.model_validate(event.payload), event.occurred_at)
        )
    yield from groups.pop("", [])
    for item in sorted(groups, reverse=True):
        yield from groups[item]


@pytest.mark.slow
class TestPipeline(Pipeline.TestCase):  # type: ignore[misc, valid-type]  # hypothesis builds the class
    settings = settings(
        max_examples=40,
        stateful_step_count=20,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
