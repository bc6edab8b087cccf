"""Higher tiers in a sync and beside a watch: caps, rests, locks, and what is said of them."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync import runs
from ctxsync.app import App
from ctxsync.backlog import measured_ms
from ctxsync.config import load_config
from ctxsync.engine.door.ledger import Intent, Ledger, Outcome
from ctxsync.engine.door.provider import Provider
from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.escalation import Step
from ctxsync.engine.schema import universal
from ctxsync.errors import DoorClosed, ProviderDown, ProviderLimited, ProviderRefused, StoreLocked
from ctxsync.home import Home
from ctxsync.sync import SyncRequest
from tests.app.desk import Lines, watching
from tests.engine.extraction.escalating import DAY, HARD, First, Scripted, found

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = 1_760_000_000_000


class Models:
    """A first tier that is not sure of what says `hard`, and higher ones that a test scripts."""

    def __init__(self, *tiers: Scripted, cloud: bool = False) -> None:
        self.tiers, self.cloud = tiers, cloud
        self.built = 0

    def chain(self) -> Chain:
        return Chain(universal(), Identity(), [First()], gates=HARD)

    def embedder(self) -> None:
        """Do without vectors."""

    def cache(self) -> None:
        """Do without vectors."""

    def higher(self, facts: Any = None) -> tuple[list[Step], str]:
        self.built += 1
        steps: list[Step] = []
        for tier in self.tiers:
            steps.append(
                Step(tier, universal(), tier.tier, tier.tier, cloud=self.cloud, below=tuple(steps), statements=None)
            )
        return steps, ""


class Place:
    """A home with a vault, whose clock a test sets."""

    def __init__(self, root: Path) -> None:
        self.home, self.vault, self.now = Home(root / "home"), root / "vault", NOW
        self.vault.mkdir()
        self.home.create()
        self.settings("")

    def settings(self, text: str) -> None:
        source = f'\n[[sources]]\nname = "vault"\ntype = "notes"\npath = "{self.vault}"\n'
        self.home.config_path.write_text(text + source)

    def note(self, name: str, text: str) -> None:
        (self.vault / f"{name}.md").write_text(text)

    def app(self, models: Models) -> App:
        return App(self.home, load_config(self.home), models=models, clock=lambda: self.now)

    def sync(self, models: Models, **request: Any) -> Any:
        return self.app(models).sync(SyncRequest(**request))

    def types(self, models: Models) -> list[str]:
        with closing(self.app(models).store()) as store:
            return [event.type for event in store.read() if event.payload.get("tier", 0) > 1]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def hard(place: Place, *names: str) -> None:
    for name in names:
        place.note(name, f"hard {name}")


def test_a_sync_asks_higher_tiers_after_everything_was_read_and_says_so(place: Place) -> None:
    hard(place, "a", "b")
    place.note("c", "Rosa Quint at Acme")
    models = Models(Scripted(None))
    told = place.sync(models)
    assert (told["extracted"], told["escalated"], told["escalation_failed"], told["rests"]) == (3, 2, 0, [])
    assert (told["facts"], told["new_facts"]) == (2, 2)
    assert place.sync(models)["escalated"] == 0
    assert len(models.tiers[0].seen) == 2


def test_nothing_that_asks_builds_no_tier(place: Place) -> None:
    place.note("c", "Rosa Quint at Acme")
    models = Models(Scripted(None))
    assert place.sync(models)["escalated"] == 0
    assert models.built == 0


def test_seconds_of_zero_turn_escalation_off(place: Place) -> None:
    place.settings("[extraction]\nseconds_per_pass = 0\n")
    hard(place, "a")
    models = Models(Scripted(None))
    assert place.sync(models)["escalated"] == 0
    assert place.app(models).status()["backlog"]["tiers"] == []


def test_a_pass_ends_when_its_seconds_are_over_and_the_next_goes_on(place: Place) -> None:
    place.settings("[extraction]\nseconds_per_pass = 0.001\n")
    hard(place, "a", "b", "c")
    models = Models(Scripted(None))
    assert [place.sync(models)["escalated"] for _ in range(4)] == [1, 1, 1, 0]


def test_a_source_has_its_cap_a_day_which_survives_the_process(place: Place) -> None:
    place.settings("[caps]\nescalations_per_source = 2\n")
    hard(place, "a", "b", "c")
    models = Models(Scripted(None))
    assert place.sync(models)["escalated"] == 2
    assert place.sync(models)["escalated"] == 0
    place.now += DAY
    assert place.sync(models)["escalated"] == 1


def test_a_day_that_cost_its_cap_asks_the_cloud_no_more(place: Place) -> None:
    place.settings("[caps]\nusd_per_day = 0.5\n[extraction]\nmode = 'cloud-quality'\n[privacy]\nallow_cloud = true\n")
    hard(place, "a")
    ledger = Ledger(place.home.egress_path)
    provider = Provider("cerebras", "https://llm.example/v1", "big")
    number = ledger.begin(provider, Intent("big", "e", "vault", "d", 1, 1), now=NOW / 1000)
    ledger.finish(number, provider, Outcome("ok", 200, 1, 1, cost=0.51), now=NOW / 1000)
    ledger.close()
    models = Models(Scripted(None, tier=3), cloud=True)
    told = place.sync(models)
    assert told["escalated"] == 0
    assert "cap on cost is reached: $0.51" in told["rests"][0]["why"]
    place.now += DAY
    assert place.sync(models)["escalated"] == 1


def test_a_limit_is_no_failure_and_waits_as_long_as_it_says(place: Place) -> None:
    hard(place, "a", "b")
    tier = Scripted(ProviderLimited("Too many.", retry_after=120))
    models = Models(tier)
    told = place.sync(models)
    assert (told["escalated"], told["escalation_failed"]) == (0, 0)
    assert [(rest["tier"], rest["why"]) for rest in told["rests"]] == [(2, "Too many.")]
    assert place.types(models) == []
    place.now += 119_000
    place.sync(models)
    assert len(tier.seen) == 1
    place.now += 2_000
    tier.answer = None
    assert place.sync(models)["escalated"] == 2


def test_a_rest_that_was_noted_before_the_clock_was_set_back_holds_nobody(place: Place) -> None:
    hard(place, "a")
    tier = Scripted(ProviderLimited("Too many.", retry_after=3_600))
    place.sync(Models(tier))
    place.now -= 40 * DAY
    tier.answer = None
    told = place.sync(Models(tier))
    assert (told["escalated"], told["rests"]) == (1, [])


def test_what_was_deleted_while_a_model_thought_is_read_no_more(place: Place) -> None:
    hard(place, "a", "b", "c")

    def answer(episode: Any, _: Any) -> None:
        for name in "abc":
            if f"hard {name}" not in episode.text:
                (place.vault / f"{name}.md").unlink(missing_ok=True)
        place.sync(Models())

    tier = Scripted(answer)
    assert place.sync(Models(tier))["escalated"] == 1
    assert len(tier.seen) == 1


def test_servers_that_fail_are_left_alone_ever_longer(place: Place) -> None:
    hard(place, *"abcdefgh")
    tier = Scripted(ProviderDown("It is down."))
    models = Models(tier)
    assert place.sync(models)["escalation_failed"] == 3
    assert len(tier.seen) == 3
    for minutes in (1, 2, 4):
        place.now += minutes * 60_000 - 1
        assert place.sync(models)["escalation_failed"] == 0
        place.now += 1
        assert place.sync(models)["escalation_failed"] == 1
    tier.answer = None
    place.now += 8 * 60_000
    assert place.sync(models)["escalated"] == 2
    assert runs.read(place.home)["jobs"]["escalation"]["rests"] == {}


def test_a_refused_key_does_not_fail_every_episode(place: Place) -> None:
    hard(place, *"abcdefgh")
    tier = Scripted(ProviderRefused("No such key."))
    assert place.sync(Models(tier))["escalation_failed"] == 3


def test_an_episode_that_may_not_leave_is_passed_over(place: Place) -> None:
    hard(place, "a", "b")
    models = Models(Scripted(lambda episode, _: DoorClosed("No.") if "hard a" in episode.text else None))
    told = place.sync(models)
    assert (told["escalated"], told["escalation_failed"]) == (1, 0)


def test_the_cloud_reads_no_text_of_a_source_that_does_not_allow_it(place: Place) -> None:
    cloud = "[extraction]\nmode = 'cloud-quality'\n[privacy]\nallow_cloud = true\n"
    place.settings(cloud)
    hard(place, "a")
    with place.home.config_path.open("a") as file:
        file.write("allow_cloud = false\n")
    tier = Scripted(None, tier=3)
    assert place.sync(Models(tier, cloud=True))["escalated"] == 0
    assert tier.seen == []
    place.settings(cloud)
    assert place.sync(Models(tier, cloud=True))["escalated"] == 1


def test_a_damaged_ledger_stops_higher_tiers_and_nothing_else(place: Place) -> None:
    place.settings("[extraction]\nmode = 'cloud-quality'\n[privacy]\nallow_cloud = true\n")
    hard(place, "a")
    place.home.egress_path.write_bytes(b"no database" * 500)
    told = place.sync(Models(Scripted(None, tier=3), cloud=True))
    assert (told["extracted"], told["escalated"]) == (1, 0)


def test_other_commands_write_while_a_model_thinks(place: Place) -> None:
    hard(place, "a")
    logged: list[Any] = []

    def answer(*_: Any) -> None:
        logged.append(place.app(models).log("Rosa Quint at Acme"))

    models = Models(Scripted(answer))
    assert place.sync(models, timeout=1.0)["escalated"] == 1
    assert logged[0]["extracted"] == 1


def test_ctrl_c_keeps_what_was_answered(place: Place) -> None:
    hard(place, "a", "b", "c")
    asked: list[Any] = []

    def answer(*each: Any) -> None:
        asked.append(each)
        if len(asked) == 2:
            raise KeyboardInterrupt

    models = Models(Scripted(answer))
    assert place.sync(models)["interrupted"]
    assert place.types(models) == ["episode.extracted"]
    assert place.sync(models)["escalated"] == 2


def test_a_note_waits_for_no_model_while_watch_is_idle(place: Place, lines: Lines) -> None:
    hard(place, "a", "b")
    thinking, answer = threading.Event(), threading.Event()

    def think(*_: Any) -> None:
        thinking.set()
        assert answer.wait(60)

    models = Models(Scripted(think))
    with watching(place.app(models), lines):
        assert thinking.wait(60)
        place.note("new", "Rosa Quint at Acme")
        lines.wait(lambda line: line.startswith("vault: 1 observed"))
        assert place.types(models) == []
        answer.set()
        lines.wait(lambda line: line == "higher tiers: 2 read")
    assert place.types(models) == ["episode.extracted"] * 2


def test_a_watch_that_is_stopped_waits_for_no_model(place: Place, lines: Lines) -> None:
    hard(place, "a")
    thinking, never = threading.Event(), threading.Event()

    def think(*_: Any) -> None:
        thinking.set()
        never.wait(60)

    with watching(place.app(Models(Scripted(think))), lines):
        assert thinking.wait(60)
    never.set()


def test_an_answer_is_stored_once_the_other_writer_is_done(
    place: Place, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctxsync.escalating import Escalator

    hard(place, "a")
    keep: Callable[..., None] = Escalator.keep
    refused: list[Any] = []

    def busy(self: Escalator, found: Any) -> None:
        if not refused:
            refused.append(found)
            raise StoreLocked("Another writer.")
        keep(self, found)

    monkeypatch.setattr(Escalator, "keep", busy)
    models = Models(Scripted(None))
    with watching(place.app(models), lines):
        lines.wait(lambda line: line == "higher tiers: 1 read")
    assert len(models.tiers[0].seen) == 1
    assert place.types(models) == ["episode.extracted"]


def test_a_watch_asks_nobody_once_the_settings_say_that_less_may_leave(place: Place, lines: Lines) -> None:
    place.settings("[extraction]\nmode = 'cloud-quality'\n[privacy]\nallow_cloud = true\n")
    hard(place, "a", "b", "c")

    def answer(*_: Any) -> None:
        place.settings("[extraction]\nmode = 'cloud-quality'\n[privacy]\nallow_cloud = false\n")

    models = Models(Scripted(answer, tier=3), cloud=True)
    with watching(place.app(models), lines):
        lines.wait(lambda line: line.startswith("higher tiers pause: what may leave this machine was changed"))
    assert len(models.tiers[0].seen) == 1
    assert place.types(models) == ["episode.extracted"]


# What is said


def test_status_says_shares_backlog_and_what_it_would_cost(place: Place) -> None:
    place.settings(
        "[extraction]\nmode = 'cloud-quality'\nseconds_per_pass = 0.001\n[privacy]\nallow_cloud = true\n"
        "[cerebras]\napi_key = 'env:KEY'\nprice_in = 1.0\nprice_out = 10.0\n[caps]\nusd_per_day = 100.0\n"
    )
    hard(place, "a", "b", "c")
    models = Models(Scripted(lambda episode, _: found(episode, 3, tokens_in=50, cost_usd=0.25), tier=3), cloud=True)
    place.sync(models)
    told = place.app(models).status()
    assert (told["tokens"], told["cost_usd"]) == (50, 0.25)
    assert told["tier_shares"] == {"1": {"episodes": 2, "share": 0.667}, "3": {"episodes": 1, "share": 0.333}}
    (tier,) = told["backlog"]["tiers"]
    assert (tier["tier"], tier["waiting"], tier["sources"]) == (3, 2, {"vault": 2})
    assert tier["tokens"] == pytest.approx(2 * (900 + 200 + 6 / 4.3), abs=2)
    assert tier["cost_usd"] == pytest.approx((1803 * 1.0 + 400 * 10.0) / 1e6, abs=1e-4)
    assert tier["ends"] > "2025-10-09"


def test_the_end_of_a_backlog_comes_from_what_the_tier_took_and_from_the_caps(place: Place) -> None:
    place.settings("[extraction]\nseconds_per_pass = 0.001\n[caps]\nescalations_per_source = 2\n")
    hard(place, *"abcdef")
    models = Models(Scripted(None))
    place.sync(models)
    app = place.app(models)
    with closing(app.store()) as store, closing(app.graph()) as graph:
        took = measured_ms(graph.db, store, 2, 2)
        assert 0 < took < 1_000
        assert measured_ms(graph.db, store, 3, 3) == 2_000
    (tier,) = app.status()["backlog"]["tiers"]
    assert (tier["waiting"], tier["seconds"]) == (5, 2 * 86_400)  # 2 a day: today, tomorrow, and one on the day after


def test_a_dry_run_says_what_would_wait_before_anything_is_stored(place: Place) -> None:
    hard(place, *"abcdefghij")
    models = Models(Scripted(None))
    told = place.sync(models, dry_run=True)["backlog"]
    assert (told["new"], told["expected"], told["tiers"]) == (10, 3, [])
    place.sync(models)
    place.note("k", "hard k")
    told = place.sync(models, dry_run=True)["backlog"]
    assert (told["new"], told["expected"], told["asking"], told["known"]) == (1, 1, 0, True)


def test_a_mode_that_the_settings_forbid_is_told(place: Place) -> None:
    place.settings("[extraction]\nmode = 'cloud-quality'\n")
    told = place.app(Models()).status()
    assert (told["mode"], told["configured_mode"]) == ("local-only", "cloud-quality")


def test_what_the_last_pass_noted_counts_for_its_settings_alone(place: Place) -> None:
    hard(place, "a")
    models = Models(Scripted(ProviderLimited("Too many.", retry_after=3_000)))
    place.sync(models)
    assert place.app(models).status()["backlog"]["rests"]
    place.settings("[local_llm]\nmodel = 'another'\n")
    told = place.app(models).status()["backlog"]
    assert (told["known"], told["rests"], told["asking"]) == (False, [], 1)
