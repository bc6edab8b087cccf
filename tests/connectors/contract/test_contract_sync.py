"""The contract seen from the outside: the whole pipeline over one real source of each connector."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.app import App
from ctxsync.config import load_config
from ctxsync.home import Home
from ctxsync.sync import SyncRequest
from tests.connectors.contract.conftest import NAME, Code
from tests.whole.support import PlainModels

if TYPE_CHECKING:
    from pathlib import Path

    from tests.connectors.contract.conftest import World


class Desk:
    """A home over one source, as a new process would open it each time."""

    def __init__(self, world: World, home: Path) -> None:
        self.world = world
        self.home = Home(home)
        location = getattr(world, "location", str(world.root))
        self.app().add_source(world.kind, location, name=NAME, **getattr(world, "options", {}))
        self.standing = getattr(world, "standing", 0)
        """How many items the source has besides those that the world adds: a directory of people."""

    def app(self) -> App:
        return App(self.home, load_config(self.home), models=PlainModels())

    def sync(self, **request: Any) -> dict[str, Any]:
        report: dict[str, Any] = self.app().sync(SyncRequest(**request))
        return report

    def source(self) -> dict[str, Any]:
        """Return what `status` says of the source, and of quarantine."""
        status = self.app().status()
        return {**status["sources"][0], "bad": status["quarantined"], "events": status["events"]}

    def hashes(self) -> tuple[str, str]:
        with closing(self.app().graph()) as graph:
            return graph.state_hash(), graph.history_hash()


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    world.add(1)
    return Desk(world, tmp_path / "home")


def test_a_second_sync_changes_neither_log_nor_graph(desk: Desk) -> None:
    desk.world.add(5)
    assert desk.sync()["sources"][0]["observed"] == 6 + desk.standing
    before = desk.source()["events"], desk.hashes()
    desk.world.stir()
    report = desk.sync()
    assert (report["extracted"], report["sources"][0]["retracted"]) == (0, 0)
    assert (desk.source()["events"], desk.hashes()) == before


def test_an_unreadable_root_pauses_in_status_and_nothing_is_retracted(desk: Desk) -> None:
    desk.world.add(5)
    desk.sync()
    state = desk.hashes()[0]
    away = desk.world.root.with_name("away")
    desk.world.root.rename(away)
    report = desk.sync()
    assert [(problem["kind"], problem["source"]) for problem in report["problems"]] == [("paused", NAME)]
    assert str(desk.world.root) in desk.source()["paused"][0]["reason"]
    assert desk.source()["items"] == 6 + desk.standing
    away.rename(desk.world.root)
    assert desk.sync()["problems"] == []
    assert desk.source()["paused"] == []
    assert desk.hashes()[0] == state


def test_a_mass_deletion_pauses_in_status_until_allow_deletes_names_the_source(desk: Desk) -> None:
    desk.world.add(30)
    desk.sync()
    desk.world.remove(25)
    report = desk.sync()
    assert "25 of 31" in report["sources"][0]["paused"]
    assert f"--allow-deletes {NAME}" in report["problems"][0]["remedy"]
    assert "25 of 31" in desk.source()["paused"][0]["reason"]
    assert desk.source()["items"] == 31 + desk.standing
    report = desk.sync(allow_deletes=(NAME,))
    assert report["sources"][0]["retracted"] == 25
    assert (desk.source()["items"], desk.source()["paused"]) == (6 + desk.standing, [])


def test_a_bad_item_stands_in_status_until_it_is_readable_and_tried_again(desk: Desk) -> None:
    desk.world.spoil()
    report = desk.sync()
    assert [problem["kind"] for problem in report["problems"]] == ["quarantined"]
    assert desk.source()["quarantined"] == 1
    (bad,) = desk.source()["bad"]
    assert bad["source"] == NAME
    assert bad["place"]
    assert bad["error"]
    # A pass that has nothing to say of it still lists it.
    assert [problem["kind"] for problem in desk.sync()["problems"]] == ["quarantined"]
    desk.world.mend()
    assert desk.sync(retry_quarantined=True)["problems"] == []
    assert desk.source()["bad"] == []


def test_a_commit_of_two_clones_is_one_item_until_its_last_sighting_goes(tmp_path: Path) -> None:
    world = Code(tmp_path)
    world.add(3)
    world.add(1, "Rosa Quint works at Acme.")
    desk = Desk(world, tmp_path / "home")
    clone = tmp_path / "clone"
    world.git("clone", "-q", "--bare", str(world.root), str(clone))
    desk.app().add_source("git", str(clone), name="clone")
    desk.sync()

    def says() -> tuple[list[int], int]:
        """Return how many items each source shows, and how many facts are believed."""
        status = desk.app().status()
        return [source["items"] for source in status["sources"]], status["facts"]["current"]

    with desk.app().store() as store:
        # The clone says the same of each commit: nothing is observed, or extracted, twice.
        assert len(list(store.read(types=("item.observed",)))) == 4
        assert len(list(store.read(types=("episode.extracted",)))) == 4
    assert says() == ([4, 4], 1)
    world.remove(1)
    desk.sync()
    assert says() == ([3, 4], 1)
    world.git("-C", str(clone), "update-ref", "refs/heads/main", "main~1")
    desk.sync()
    assert says() == ([3, 3], 0)
