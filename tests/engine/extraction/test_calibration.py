"""Confidences: what a model's chance becomes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxsync.engine.extraction.learned.calibration import Calibration

CHANCE = st.floats(0, 1)
FITTED = Calibration(0.8, 0.4, 0.5, 0.1, 0.7)


@given(CHANCE, CHANCE, st.booleans())
def test_a_likelier_statement_is_never_less_sure(one: float, two: float, bare: bool) -> None:
    low, high = sorted((one, two))
    assert 0 < FITTED.statement(low, bare=bare) <= FITTED.statement(high, bare=bare) <= 1


def test_a_bare_noun_at_an_end_has_a_line_of_its_own() -> None:
    assert FITTED.statement(0.9, bare=True) < FITTED.statement(0.9)


def test_what_is_not_among_the_sure_is_said_to_be_less_than_that() -> None:
    never = Calibration(sure=1.0)
    assert never.statement(0.95) < 0.8 <= Calibration(sure=0.7).statement(0.7)


def test_a_calibration_comes_back_from_its_file_as_it_was() -> None:
    assert Calibration.from_arrays(FITTED.arrays()) == FITTED
