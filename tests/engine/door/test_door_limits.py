"""Budgets and the breaker: computed from the ledger, so that they hold over restarts and over processes."""

from __future__ import annotations

import multiprocessing
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.door.door import Door
from ctxsync.engine.door.ledger import Intent, Ledger, Outcome
from ctxsync.engine.door.provider import Provider
from ctxsync.errors import ProviderDown, ProviderLimited, StoreError
from tests.engine.door.conftest import call
from tests.engine.door.server import Told, said

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.door.server import Clock, ModelServer


def test_requests_a_minute_are_counted_over_restarts(
    cloud: ModelServer, door: Door, provider: Provider, clock: Clock, tmp_path: Path
) -> None:
    bounded = replace(provider, requests_per_minute=3)
    for _ in range(3):
        door.send(bounded, call())
        clock.passes(10)

    with (
        Door(allow_cloud=True, scrub=False, ledger=Ledger(tmp_path / "egress.db"), clock=clock) as another,
        pytest.raises(ProviderLimited, match="3 times within a minute") as caught,
    ):
        another.send(bounded, call())

    assert caught.value.retry_after == pytest.approx(30)
    assert len(cloud.seen) == 3
    clock.passes(31)
    door.send(bounded, call())


def test_tokens_a_day_end_at_midnight_utc(cloud: ModelServer, door: Door, provider: Provider, clock: Clock) -> None:
    bounded = replace(provider, tokens_per_day=400, requests_per_minute=0)
    for _ in range(3):  # 120 tokens each
        door.send(bounded, call())

    with pytest.raises(ProviderLimited, match="400 tokens a day") as caught:
        door.send(bounded, call())

    assert caught.value.retry_after == pytest.approx(12 * 3600)
    assert len(cloud.seen) == 3
    clock.passes(12 * 3600)
    door.send(bounded, call())


def test_a_call_without_an_outcome_counts_as_it_was_estimated(ledger: Ledger, clock: Clock) -> None:
    """As when the process is killed between the two rows."""
    provider = Provider("p", "https://p.example/v1", "m", tokens_per_day=1000)
    ledger.begin(provider, Intent("m", "", "", "0", 1, 900), now=clock.now)

    assert ledger.used("p", now=clock.now) == (1, 900)
    with pytest.raises(ProviderLimited):
        ledger.begin(provider, Intent("m", "", "", "0", 1, 101), now=clock.now)


def test_other_providers_have_budgets_of_their_own(ledger: Ledger, clock: Clock) -> None:
    one = Provider("one", "https://one.example", "m", requests_per_minute=1)
    ledger.begin(one, Intent("m", "", "", "0", 1, 1), now=clock.now)

    ledger.begin(replace(one, name="two"), Intent("m", "", "", "0", 1, 1), now=clock.now)


def _ask(path: Path, start: Any, took: Any) -> None:
    provider = Provider("p", "https://p.example/v1", "m", requests_per_minute=10)
    ledger = Ledger(path)
    start.wait()
    for _ in range(10):
        try:
            ledger.begin(provider, Intent("m", "", "", "0", 1, 1), now=1_764_072_000.0)
        except ProviderLimited:
            continue
        with took.get_lock():
            took.value += 1


def test_several_processes_share_one_budget(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start, took = context.Event(), context.Value("i", 0)
    processes = [context.Process(target=_ask, args=(tmp_path / "egress.db", start, took)) for _ in range(3)]
    for process in processes:
        process.start()
    start.set()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert took.value == 10
    assert len(Ledger(tmp_path / "egress.db").calls()) == 10


def test_five_failures_in_a_row_leave_a_provider_alone_for_longer_and_longer(
    cloud: ModelServer, door: Door, provider: Provider, clock: Clock
) -> None:
    cloud.script = [Told(500, "oops")]
    patient = replace(provider, requests_per_minute=0)
    for _ in range(5):
        with pytest.raises(ProviderDown, match="fails"):
            door.send(patient, call())

    for pause in (60, 120, 240, 480, 900, 900):
        clock.passes(pause - 1)
        with pytest.raises(ProviderDown, match="in a row"):
            door.send(patient, call())
        clock.passes(1)
        with pytest.raises(ProviderDown, match="fails"):
            door.send(patient, call())  # the one trial
    assert len(cloud.seen) == 5 + 6


def test_a_trial_that_succeeds_closes_the_breaker(
    cloud: ModelServer, door: Door, provider: Provider, clock: Clock
) -> None:
    cloud.script = [*[Told(500)] * 5, said("fine"), Told(500), said("fine")]
    for _ in range(5):
        with pytest.raises(ProviderDown):
            door.send(provider, call())
    clock.passes(60)

    door.send(provider, call())
    with pytest.raises(ProviderDown, match="fails"):
        door.send(provider, call())
    door.send(provider, call())


def test_while_one_call_tries_no_other_does(ledger: Ledger, clock: Clock) -> None:
    provider = Provider("p", "https://p.example/v1", "m")
    for _ in range(5):
        number = ledger.begin(provider, Intent("m", "", "", "0", 1, 1), now=clock.now)
        ledger.finish(number, provider, Outcome("down"), now=clock.now)
    clock.passes(60)
    trial = ledger.begin(provider, Intent("m", "", "", "0", 1, 1), now=clock.now)

    with pytest.raises(ProviderDown, match="in a row"):
        ledger.begin(provider, Intent("m", "", "", "0", 1, 1), now=clock.now)

    ledger.finish(trial, provider, Outcome("ok", 200), now=clock.now)
    ledger.begin(provider, Intent("m", "", "", "0", 1, 1), now=clock.now)


def test_a_trial_that_never_ends_does_not_close_the_way_for_ever(ledger: Ledger, clock: Clock) -> None:
    provider = Provider("p", "https://p.example/v1", "m", timeout=30)
    for _ in range(5):
        number = ledger.begin(provider, Intent("m", "", "", "0", 1, 1), now=clock.now)
        ledger.finish(number, provider, Outcome("down"), now=clock.now)
    clock.passes(60)
    ledger.begin(provider, Intent("m", "", "", "0", 1, 1), now=clock.now)  # and the process is killed

    clock.passes(61)
    ledger.begin(provider, Intent("m", "", "", "0", 1, 1), now=clock.now)


def test_a_refusal_is_no_failure(cloud: ModelServer, door: Door, provider: Provider) -> None:
    from ctxsync.errors import ProviderRefused

    cloud.script = [Told(401)]
    for _ in range(7):
        with pytest.raises(ProviderRefused):
            door.send(provider, call())

    assert len(cloud.seen) == 7


def test_a_clock_that_is_set_back_closes_nothing_for_long(
    cloud: ModelServer, door: Door, provider: Provider, clock: Clock
) -> None:
    cloud.script = [*[Told(500)] * 5, said("fine")]
    for _ in range(5):
        with pytest.raises(ProviderDown):
            door.send(provider, call())

    clock.passes(-400 * 86_400)
    with pytest.raises(ProviderDown, match="15 minutes"):
        door.send(provider, call())


def test_the_ledger_belongs_to_its_owner_alone(
    cloud: ModelServer, door: Door, provider: Provider, tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        door.send(provider, call())
    finally:
        os.umask(before)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("egress.db*")}
    assert set(modes.values()) == {0o600}
    assert "egress.db" in modes


def test_the_row_is_on_the_disk_before_the_bytes_leave(
    cloud: ModelServer, door: Door, provider: Provider, tmp_path: Path
) -> None:
    rows: list[Any] = []

    def look(_: Any) -> Told:
        rows.extend(Ledger(tmp_path / "egress.db").calls())
        return said("fine")

    cloud.script = [look]
    door.send(provider, call())

    assert [(row["status"], row["episode"], row["http"]) for row in rows] == [("sent", "e1", None)]


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be read as one" * 20, b""])
def test_without_a_ledger_that_can_be_written_nothing_is_sent(
    cloud: ModelServer, door: Door, provider: Provider, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "egress.db"
    if content:
        path.write_bytes(content)
    else:
        path.mkdir()

    with pytest.raises(StoreError, match="nothing is sent"):
        door.send(provider, call())

    assert cloud.seen == []
