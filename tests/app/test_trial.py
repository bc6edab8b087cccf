"""Trials over a home: what they read and keep, that they count for nothing, what they would change, and adopting."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync import upkeep
from ctxsync.app import App
from ctxsync.config import load_config
from ctxsync.engine.door.ledger import Intent, Ledger, Outcome
from ctxsync.engine.door.provider import Provider
from ctxsync.engine.extraction.base import Extraction, Identity
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.escalation import Step
from ctxsync.engine.extraction.trying import Trier
from ctxsync.engine.schema import universal
from ctxsync.errors import (
    BadReply,
    DoorClosed,
    ProviderDown,
    ProviderLimited,
    ProviderRefused,
    StoreMissing,
    UsageError,
)
from ctxsync.home import Home
from ctxsync.sync import SyncRequest, no_progress
from ctxsync.trial import Trial
from tests.engine.extraction.escalating import DAY, HARD, First, Scripted, found, works_at

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_760_000_000_000


class Reader(First):
    """Another first tier: reads `A at B` as First does, but for Acme, which it takes for Acme Limited."""

    model = "reader"

    def extract(self, episodes: Any, lower: Any) -> Any:
        for result, episode in zip(super().extract(episodes, lower), episodes, strict=True):
            if "unreadable" in episode.text:
                yield BadReply("It cannot be read.")
                continue
            for entity in result.entities:
                entity.name = entity.name.replace("Acme", "Acme Limited")
            yield result


class Models:
    """A first tier, and what can be tried by name."""

    def __init__(self, *tiers: Any, cloud: bool = False) -> None:
        self.tiers, self.cloud = {tier.model: tier for tier in tiers}, cloud

    def chain(self) -> Chain:
        return Chain(universal(), Identity(), [First()], gates=HARD)

    def embedder(self) -> None:
        """Do without vectors."""

    def cache(self) -> None:
        """Do without vectors."""

    def named(self, name: str, facts: Any = None) -> Trier:
        tier = self.tiers[name]
        if isinstance(tier, First):
            return Trier(name, 1, Chain(universal(), Identity(), [tier], gates=HARD))
        step = Step(tier, universal(), tier.tier, tier.tier, cloud=self.cloud, every=True, statements=None)
        return Trier(name, tier.tier, step, (10.0, 20.0), 30, 1_000_000)


class Place:
    """A home with two vaults, whose clock a test sets."""

    def __init__(self, root: Path, *tiers: Any, cloud: bool = False, settings: str = "") -> None:
        self.home, self.root, self.now = Home(root / "home"), root, NOW
        self.home.create()
        text = settings
        for name in ("vault", "other"):
            (root / name).mkdir()
            text += f'\n[[sources]]\nname = "{name}"\ntype = "notes"\npath = "{root / name}"\n'
            text += "allow_cloud = false\n" if name == "other" and cloud else ""
        self.home.config_path.write_text(text)
        self.models = Models(*tiers, cloud=cloud)

    def note(self, name: str, text: str, source: str = "vault") -> None:
        (self.root / source / f"{name}.md").write_text(text)

    @property
    def app(self) -> App:
        return App(self.home, load_config(self.home), models=self.models, clock=lambda: self.now)

    def sync(self) -> None:
        self.app.sync(SyncRequest())

    def trial(self, model: str, **options: Any) -> Trial:
        return Trial(self.app, model, **options)

    def state(self) -> str:
        with closing(self.app.graph()) as graph:
            return graph.state_hash()

    def rebuilt(self) -> str:
        """The state of a graph built anew from the log."""
        state: str = upkeep.rebuild(self.app, no_progress)["state_hash"]
        return state

    def facts(self) -> list[str]:
        with closing(self.app.graph()) as graph:
            return sorted(f"{head} {phrase} {tail}" for head, phrase, tail in graph.db.execute(FACTS))

    def events(self, type_: str) -> list[Any]:
        with closing(self.app.store()) as store:
            return [event for event in store.read(types=(type_,)) if event.payload.get("run", "").startswith("trial:")]


FACTS = """
SELECT h.name, v.phrase, t.name FROM fact AS f
JOIN fact_version AS v ON v.fact = f.id AND v.until IS NULL AND v.valid_to IS NULL
JOIN entity_version AS h ON h.entity = f.head AND h.until IS NULL
JOIN entity_version AS t ON t.entity = f.tail AND t.until IS NULL WHERE f.phrase_class = 'employment'
"""


def vaults(root: Path, *tiers: Any, **options: Any) -> Place:
    place = Place(root, *tiers, **options)
    place.note("a", "Rosa Quint at Acme. hard")
    place.note("b", "Tom Okafor at Globex.")
    place.note("c", "Nadia Rahn at Acme.", "other")
    place.sync()
    return place


def test_a_trial_of_a_first_tier_counts_for_nothing_until_it_is_adopted(tmp_path: Path) -> None:
    place = vaults(tmp_path, Reader())
    before, known = place.state(), place.facts()
    trial = place.trial("reader")
    told = trial.read()
    assert (told["read"], told["failed"], told["held"], told["left"], told["stopped"]) == (3, 0, 3, 0, None)
    assert (place.state(), place.facts(), place.rebuilt()) == (before, known, before)
    trial.adopt()
    assert place.facts() == [
        "Nadia Rahn works at Acme Limited", "Rosa Quint works at Acme Limited", "Tom Okafor works at Globex",
    ]  # fmt: skip
    adopted = place.state()
    assert adopted != before
    assert place.rebuilt() == adopted
    assert place.app.adopt("")["changed"]
    assert (place.state(), place.rebuilt(), place.facts()) == (before, before, known)


def test_what_the_diff_shows_is_what_adopting_does(tmp_path: Path) -> None:
    place = vaults(tmp_path, Reader())
    trial = place.trial("reader")
    trial.read()
    shown, before = trial.diff(), place.state()
    assert not list(place.home.path.glob(".diff-*"))
    assert place.state() == before
    assert place.events("extraction.adopted") == []
    employed = [one for one in shown["gained"] if one["phrase_class"] == "employment"]
    assert [(one["head"], one["tail"]) for one in employed] == [
        ("Nadia Rahn", "Acme Limited"), ("Rosa Quint", "Acme Limited"),
    ]  # fmt: skip
    assert [one["tail"] for one in shown["lost"] if one["phrase_class"] == "employment"] == ["Acme", "Acme"]
    assert employed[0]["quote"] == "Nadia Rahn"
    assert (employed[0]["source"], employed[0]["confidence"]) == ("other", 0.9)
    trial.adopt()
    with closing(place.app.graph()) as graph:
        current = {row[0] for row in graph.db.execute("SELECT f.fact FROM fact AS f JOIN fact_version AS v "
                   "ON v.fact = f.id AND v.until IS NULL AND v.valid_to IS NULL")}  # fmt: skip
    assert {one["id"] for one in shown["gained"]} <= current
    assert not {one["id"] for one in shown["lost"]} & current
    again = trial.diff()["counts"]
    assert (again["gained"], again["lost"], again["changed"]) == (0, 0, 0)


def test_dates_confidence_and_ends_are_told_as_changes(tmp_path: Path) -> None:
    said: dict[str, dict[str, Any]] = {
        "Rosa Quint": {"valid_from": "2020"},
        "Tom Okafor": {"confidence": 0.6},
        "Nadia Rahn": {"valid_to": "2021", "ends": True},
    }

    class Alone(First):
        model = "alone"

        def extract(self, episodes: Any, lower: Any) -> Any:
            for episode in episodes:
                head, _, tail = episode.text.partition(" at ")
                yield Extraction(episode.id, 1, "m", *works_at(head, tail.split(".")[0], 1, **said[head]))

    place = vaults(tmp_path, Alone())
    trial = place.trial("alone")
    trial.read()
    shown = trial.diff()
    what = {one["before"]["head"]: one["what"] for one in shown["changed"]}
    assert what["Rosa Quint"] == ["dates"]
    assert what["Tom Okafor"] == ["confidence"]
    (rosa,) = [one for one in shown["changed"] if one["before"]["head"] == "Rosa Quint"]
    assert rosa["after"]["valid_from"] == "2020-01-01T00:00:00.000Z"
    assert what["Nadia Rahn"] == ["ended"]
    assert (shown["gained"], shown["lost"]) == ([], [])


def test_an_interrupted_trial_goes_on_where_it_stopped(tmp_path: Path) -> None:
    tier = Scripted(None)
    place = vaults(tmp_path, tier)

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    told = place.trial("scripted").read(stop)
    assert (told["read"], told["left"], told["interrupted"]) == (1, 2, True)
    told = place.trial("scripted").read()
    assert (told["read"], told["held"], told["interrupted"]) == (2, 3, False)
    assert len(tier.seen) == 3
    assert len(set(tier.seen)) == 3
    assert place.trial("scripted").read()["read"] == 0


def test_results_that_the_graph_had_no_time_to_see_are_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = Scripted(None)
    place = vaults(tmp_path, tier)
    trial = place.trial("scripted")
    monkeypatch.setattr(trial, "_project", lambda: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        trial.read()
    assert place.trial("scripted").read()["read"] == 0
    assert len(tier.seen) == 3


def test_a_limit_and_a_source_narrow_what_is_read_and_the_newest_come_first(tmp_path: Path) -> None:
    tier = Scripted(None)
    place = vaults(tmp_path, tier)
    place.note("later", "hard later")
    place.sync()
    told = place.trial("scripted", limit=1).read()
    assert (told["read"], told["left"]) == (1, 3)
    assert place.trial("scripted", source="other").read()["read"] == 1
    assert tier.seen[1].startswith("Nadia")
    with pytest.raises(UsageError, match='Nothing is stored of a source "othr"'):
        place.trial("scripted", source="othr")


def test_what_is_adopted_for_a_source_holds_for_it_alone_and_new_texts_are_read_as_before(tmp_path: Path) -> None:
    place = vaults(tmp_path, Reader())
    trial = place.trial("reader", source="vault")
    trial.read()
    trial.adopt()
    assert "Nadia Rahn works at Acme" in place.facts()
    assert "Rosa Quint works at Acme Limited" in place.facts()
    place.note("d", "Ida Wells at Acme.")
    place.sync()
    assert "Ida Wells works at Acme" in place.facts()
    assert place.state() == place.rebuilt()
    place.app.adopt("", "vault")
    assert "Rosa Quint works at Acme" in place.facts()


def test_nothing_is_adopted_where_nothing_was_read(tmp_path: Path) -> None:
    place = vaults(tmp_path, Reader())
    with pytest.raises(UsageError, match="has read nothing"):
        place.trial("reader").adopt()
    assert place.events("extraction.adopted") == []


def test_adopting_twice_says_it_once(tmp_path: Path) -> None:
    place = vaults(tmp_path, Reader())
    trial = place.trial("reader")
    trial.read()
    assert (trial.adopt()["changed"], trial.adopt()["changed"]) == (True, False)
    assert len(place.events("extraction.adopted")) == 1


def test_a_failure_is_kept_and_what_stood_stands_when_the_rest_is_adopted(tmp_path: Path) -> None:
    place = Place(tmp_path, Reader())
    place.note("a", "Rosa Quint at Acme.")
    place.note("b", "Tom Okafor at Globex. unreadable")
    place.sync()
    trial = place.trial("reader")
    told = trial.read()
    assert (told["read"], told["failed"]) == (1, 1)
    assert [event.payload["error"] for event in place.events("extraction.failed")] == ["It cannot be read."]
    trial.adopt()
    assert place.facts() == ["Rosa Quint works at Acme Limited", "Tom Okafor works at Globex"]


def test_a_model_that_fails_at_a_text_is_not_asked_about_it_again_that_day(tmp_path: Path) -> None:
    tier = Scripted(lambda episode, _: BadReply("Half a JSON.") if "hard" in episode.text else found(episode))
    place = vaults(tmp_path, tier)
    told = place.trial("scripted").read()
    assert (told["read"], told["failed"], told["left"]) == (2, 1, 0)
    assert place.trial("scripted").read()["failed"] == 0
    place.now += DAY
    assert place.trial("scripted").read()["failed"] == 1


def test_a_server_that_is_down_stops_the_trial_and_the_texts_are_tried_again_at_once(tmp_path: Path) -> None:
    tier = Scripted(ProviderDown("Nobody answers.", remedy="Start it."))
    place = vaults(tmp_path, tier)
    place.note("d", "Ida Wells at Acme.")
    place.sync()
    told = place.trial("scripted").read()
    assert (told["failed"], told["stopped"], told["remedy"]) == (3, "Nobody answers.", "Start it.")
    tier.answer = None
    assert place.trial("scripted").read()["read"] == 4


def test_a_server_that_limits_for_a_while_is_waited_for_and_one_that_limits_for_long_stops_the_trial(
    tmp_path: Path,
) -> None:
    answers: list[Any] = [
        ProviderLimited("Wait.", retry_after=2.0),
        None,
        ProviderLimited("Tomorrow.", retry_after=5e4),
    ]
    tier = Scripted(lambda episode, _: (answers.pop(0) if answers else None) or found(episode))
    place = vaults(tmp_path, tier)
    waited: list[float] = []
    told = place.trial("scripted", wait=waited.append).read()
    assert (waited, told["read"], told["failed"], told["stopped"], told["left"]) == ([2.0], 1, 0, "Tomorrow.", 2)


def test_a_key_that_is_refused_stops_the_trial_and_no_text_failed(tmp_path: Path) -> None:
    place = vaults(tmp_path, Scripted(ProviderRefused("No such key.")))
    told = place.trial("scripted").read()
    assert (told["read"], told["failed"], told["stopped"]) == (0, 0, "No such key.")


def test_the_cloud_gets_no_text_of_a_source_that_is_closed_to_it(tmp_path: Path) -> None:
    tier = Scripted(None, tier=3)
    place = vaults(tmp_path, tier, cloud=True, settings="[privacy]\nallow_cloud = true\n")
    trial = place.trial("scripted")
    told = trial.estimate()
    assert (told["episodes"], told["closed"]) == (2, ["other"])
    assert told["tokens"] > 2 * 900
    assert told["cost_usd"] == pytest.approx(0.026, abs=0.003)
    assert trial.read()["read"] == 2
    assert not any("Nadia" in text for text in tier.seen)


def test_a_text_that_the_door_lets_not_out_is_passed_over(tmp_path: Path) -> None:
    place = vaults(tmp_path, Scripted(DoorClosed("Not this one."), tier=3), cloud=True)
    told = place.trial("scripted").read()
    assert (told["read"], told["failed"]) == (0, 0)
    assert place.events("extraction.failed") == []


def test_the_caps_of_a_day_hold_for_trials_in_the_cloud(tmp_path: Path) -> None:
    tier = Scripted(None, tier=3)
    settings = "[caps]\nescalations_per_source = 1\nusd_per_day = 0.5\n[privacy]\nallow_cloud = true\n"
    place = vaults(tmp_path, tier, cloud=True, settings=settings)
    told = place.trial("scripted").read()
    assert told["read"] == 1
    assert told["stopped"] == "Of vault, higher tiers have read as many texts as they may today."
    place.now += DAY
    ledger = Ledger(place.home.egress_path)
    provider = Provider("cerebras", "https://llm.example/v1", "big")
    number = ledger.begin(provider, Intent("big", "e", "vault", "d", 1, 1), now=place.now / 1000)
    ledger.finish(number, provider, Outcome("ok", 200, 1, 1, cost=0.51), now=place.now / 1000)
    ledger.close()
    told = place.trial("scripted").read()
    assert (told["read"], told["stopped"]) == (0, "The cap on cost is reached: $0.51 today.")


def test_tokens_of_a_trial_are_in_the_totals_and_a_local_one_takes_no_share_of_the_day(tmp_path: Path) -> None:
    spent: dict[str, Any] = {"tokens_in": 700, "tokens_out": 90, "cost_usd": 0.01}
    place = vaults(tmp_path, Scripted(lambda episode, _: found(episode, **spent)))
    told = place.trial("scripted").read()
    assert (told["tokens"], told["cost_usd"]) == (3 * 790, 0.03)
    status = place.app.status()
    assert (status["tokens"], status["cost_usd"]) == (3 * 790, 0.03)
    with closing(place.app.store()) as store:
        assert not [key for key in store.cursor("ctxsync", "escalation") if key.startswith("of:")]


def test_only_what_is_held_is_read(tmp_path: Path) -> None:
    tier = Scripted(None)
    place = vaults(tmp_path, tier)
    place.note("a", "Rosa Quint at Initech. hard")
    place.sync()
    place.trial("scripted").read()
    assert not any("Rosa Quint at Acme" in text for text in tier.seen)


def test_what_is_deleted_while_a_trial_runs_is_not_read(tmp_path: Path) -> None:
    tier = Scripted(None)
    place = vaults(tmp_path, tier)

    def tidy(_: Any) -> None:
        for path in (tmp_path / "vault").glob("*.md"):
            path.write_text("Nothing.")
        place.sync()

    assert place.trial("scripted").read(tidy)["read"] in (1, 2)
    assert sum(place_text in text for text in tier.seen for place_text in ("Rosa", "Tom")) <= 1


def test_a_home_without_a_log_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):
        Place(tmp_path, Reader()).trial("reader")
