"""The table: what holds, and what an interval is."""

from __future__ import annotations

from evaluation.table import Line, bounds, f1, failing, interval, rates, rendered


def test_a_line_holds_when_its_value_is_what_is_wanted_or_better() -> None:
    assert Line("s", "w", 0.40, least=0.40).holds is True
    assert Line("s", "w", 0.399, least=0.40).holds is False
    assert Line("s", "w", 0.10, most=0.10).holds is True
    assert Line("s", "w", 0.11, most=0.10).holds is False


def test_a_line_of_which_nothing_is_wanted_neither_holds_nor_fails() -> None:
    assert Line("s", "w", 0.0).holds is None
    assert failing([Line("s", "w", 0.0)]) == []


def test_what_was_not_measured_does_not_hold() -> None:
    line = Line("conll04 dev", "skipped: not there", least=0.42)
    assert line.holds is False
    assert failing([line]) == ["conll04 dev: skipped: not there is not measured, wanted >= 0.42"]


def test_a_failure_names_the_set_of_the_lines_above() -> None:
    lines = [Line("gold", "relations", 0.5, least=0.4), Line("", "facts at 0.8", 0.1, least=0.3)]
    assert failing(lines) == ["gold: facts at 0.8 is 0.100, wanted >= 0.30"]


def test_rates_are_over_all_units_together_and_not_their_mean() -> None:
    counts = [(1, 1, 1), (0, 3, 0), (1, 2, 5)]
    assert rates(counts) == (2 / 6, 2 / 6, 4 / 12)
    assert f1(counts) == 4 / 12
    assert rates([]) == (0.0, 0.0, 0.0)


def test_an_interval_of_equal_units_is_a_point_and_is_the_same_each_time() -> None:
    assert bounds([(1, 2, 2)] * 20, f1) == (0.5, 0.5)
    units = [(1, 1, 1), (0, 1, 1)] * 10
    low, high = bounds(units, f1)
    assert 0.2 < low < 0.5 < high < 0.8
    assert bounds(units, f1) == (low, high)
    assert interval([], f1) == ""


def test_the_table_has_a_column_for_what_is_wanted_and_whether_it_holds() -> None:
    text = rendered([Line("gold", "relations", 0.5, "0.4 - 0.6", "75 episodes", 0.4), Line("", "traps", 3, places=0)])
    head, first, second = text.splitlines()
    assert head.split()[-1] == "holds"
    assert first.endswith(">= 0.40  yes")
    assert second.split() == ["traps", "3"]
