"""The cursor of a channel: what goes in comes out, from the log as well, and a small change is a small patch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsync.connectors.slack.ledger import Entry, Ledger
from ctxsync.connectors.slack.stamps import micros, stamp

if TYPE_CHECKING:
    from ctxsync.connectors.base import Json

AT = st.integers(0, 300) | st.integers(0, 2_000_000_000_000_000)
ENTRY = st.builds(
    Entry,
    st.sampled_from(["", "0123456789ab", "ba9876543210"]),
    st.sampled_from(["", "1700000000.000100"]),
    st.booleans(),
    st.sampled_from(["", "1700000001.000000"]),
    st.integers(0, 1000),
)


def stored(cursor: dict[str, Json], ledger: Ledger) -> dict[str, Json]:
    """Return the cursor as the log has it after a patch."""
    patch = json.loads(json.dumps(ledger.patch()))
    return {key: value for key, value in {**cursor, **patch}.items() if value is not None}


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(AT, st.none() | ENTRY), max_size=250), st.integers(1, 60))
def test_a_ledger_holds_what_was_put_whenever_it_goes_through_the_log(
    steps: list[tuple[int, Entry | None]], every: int
) -> None:
    cursor: dict[str, Json] = {}
    ledger = Ledger(cursor)
    model: dict[int, Entry] = {}
    for number, (at, entry) in enumerate(steps, 1):
        if entry is None:
            ledger.drop(at)
            model.pop(at, None)
        else:
            ledger.put(at, entry)
            model[at] = entry
        if number % every == 0:
            cursor = stored(cursor, ledger)
            ledger = Ledger(cursor)
    cursor = stored(cursor, ledger)
    ledger = Ledger(cursor)
    assert dict(ledger.between(0, 1 << 62)) == model
    assert ledger.held == sum(bool(entry.digest) for entry in model.values())
    assert ledger.patch() == {}
    low, high = (steps[0][0], steps[-1][0]) if steps else (0, 1)
    assert list(ledger.between(low, high)) == sorted((at, e) for at, e in model.items() if low <= at < high)


@pytest.mark.parametrize("backwards", [False, True])
def test_one_more_message_rewrites_one_pack_of_thousands(backwards: bool) -> None:
    times = range(1_700_000_000_000_000, 1_700_000_000_000_000 + 20_000 * 1_000_003, 1_000_003)
    ledger = Ledger({})
    for at in reversed(times) if backwards else times:
        ledger.put(at, Entry("0123456789ab"))
    cursor = stored({}, ledger)
    packs = [str(value) for key, value in cursor.items() if key.startswith("m:")]
    assert len(packs) < 20_000 / 30
    assert max(map(len, packs)) < 2_500
    ledger = Ledger(cursor)
    ledger.put(times[-1] + 1, Entry("0123456789ab"))
    assert len(json.dumps(ledger.patch())) < 2_600


@pytest.mark.parametrize("ts", ["1700000000.000100", "1700000000.100000", "0.000000", "999999999999.999999"])
def test_a_ts_comes_back_as_the_same_text(ts: str) -> None:
    at = micros(ts)
    assert at is not None
    assert stamp(at) == ts


@pytest.mark.parametrize(
    "ts", ["", "1700000000", "01.000000", "1.0000000", "1.5", "-1.000000", "\u0661.000000", 1.5, None]
)
def test_what_is_no_ts_is_none(ts: object) -> None:
    assert micros(ts) is None
