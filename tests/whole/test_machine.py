"""The whole pipeline under arbitrary edits, crashes and orders: nothing lost, nothing doubled, one graph."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ctxsync.connectors.notes import NotesConnector
from tests.whole.pipeline import POINTS, Followed

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Connector, Options

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


CONFIG = """
[[sources]]
name = "vault"
type = "notes"
path = "{place}/vault"
"""


class Pipeline(RuleBasedStateMachine):
    """A vault that is edited, and a home that follows it in steps that may die anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Followed(CONFIG, {"vault": self.connector}, START)
        self.vault = self.home.place / "vault"
        (self.vault / "deep").mkdir(parents=True)
        self.deleted: dict[str, str] = {}

    def connector(self, options: Options) -> Connector:
        return NotesConnector("vault", {"path": str(self.vault)}, options)

    def teardown(self) -> None:
        try:
            self.check_nothing_lost_nothing_doubled()
            self.check_the_rebuilt_graph_is_the_live_one()
            self.home.check_another_arrival_order_gives_the_same_state()
        finally:
            self.home.close()

    # The vault

    def path(self, name: str) -> Path:
        return self.vault / f"{name}.md"

    def there(self) -> list[str]:
        return [name for name in NAMES if self.path(name).exists()]

    def write(self, name: str, text: str) -> None:
        self.home.now += 60_000
        self.path(name).write_text(text, encoding="utf-8")
        stamp = self.home.now / 1000 - 30
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

    @rule(point=st.sampled_from(POINTS), count=st.integers(1, 2))
    def crash(self, point: str, count: int) -> None:
        """The next time, or the second time, that this point is passed, the process dies there."""
        self.home.arm(point, count)

    @rule()
    def pull(self) -> None:
        self.home.pull()

    @rule()
    def extract(self) -> None:
        self.home.extract()

    @rule()
    def project(self) -> None:
        self.home.project()

    @rule()
    def rebuild(self) -> None:
        self.home.rebuild()

    # What must hold

    @invariant()
    def the_log_verifies(self) -> None:
        self.home.check_the_log_verifies()

    @rule()
    def check_nothing_lost_nothing_doubled(self) -> None:
        self.home.settle()
        with closing(self.home.app.graph()) as graph:
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
        self.home.settle()
        self.home.check_the_rebuilt_graph_is_the_live_one()


HELD = """
    SELECT s.place, e.text FROM sighting s
    JOIN episode e ON e.item = s.item
    JOIN holding h ON h.episode = e.id AND h.until IS NULL
    WHERE s.until IS NULL ORDER BY s.place, h.line
"""


def squeezed(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip())


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
