from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.statistics.intervals import quantile_interval, range_interval
from tare.statistics.shift import paired_shift, unpaired_shift
from tare.statistics.ticks import tick_of, ticks_of


@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("spread", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("tick", [1.0, 0.01, 4e-3, 1 / 64])
def test_the_tick_is_found(tick: float, spread: float, n: int) -> None:
    rng = np.random.default_rng(n)
    values = np.round(rng.normal(40, spread, n)) * tick
    assert tick_of(values) == pytest.approx(tick)
    assert tick_of(np.floor(values / tick) * tick) == pytest.approx(tick)
    # Milliseconds that were read as seconds.
    assert tick_of(values * 1e-3) == pytest.approx(tick * 1e-3)


def test_neither_an_offset_nor_a_tick_that_was_written_short_hides_it() -> None:
    rng = np.random.default_rng(1)
    ticks = np.floor(rng.normal(30, 1, 100))
    assert tick_of(ticks + 0.3) == pytest.approx(1)
    assert tick_of(np.round(ticks / 64, 4)) == pytest.approx(1 / 64, abs=1e-4)


@pytest.mark.parametrize("n", [6, 10, 100, 1000])
def test_what_no_clock_rounded_has_no_tick(n: int) -> None:
    rng = np.random.default_rng(n)
    assert all(tick_of(rng.lognormal(0, 0.1, n)) == 0 for _ in range(300))


def test_equal_values_do_not_tell_the_tick() -> None:
    assert tick_of(np.full(20, 3.0)) is None
    assert tick_of(np.full(20, 3.0), 0.5) == 0.5
    assert tick_of(np.arange(20.0), 0.0) == 0


def test_an_outlier_makes_no_tick() -> None:
    assert tick_of(np.array([10.0] * 49 + [37.0])) == 1


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=40))
def test_values_are_multiples_of_it_or_it_is_nothing(values: list[float]) -> None:
    found = tick_of(np.array(values))
    assert found is None or 0 <= found <= max(values) * 1.000001


def test_an_interval_is_at_most_one_tick_wider_at_each_end() -> None:
    values = np.round(np.random.default_rng(2).normal(10, 2, 100))
    plain, wide = quantile_interval(values, tick=0.0), quantile_interval(values)
    assert None not in (plain.low, plain.high, wide.low, wide.high)
    assert plain.low is not None and plain.high is not None  # noqa: PT018
    assert (wide.low, wide.high, wide.tick) == (plain.low - 0.5, plain.high + 1, 1)


def test_the_clock_decides_where_the_spread_is_below_it() -> None:
    values = np.round(np.random.default_rng(2).normal(10.3, 0.3, 100))
    found = quantile_interval(values)
    assert (found.low, found.high) == (9.5, 11.0)
    assert range_interval(values).tick == 1


def test_a_true_difference_below_the_tick_is_neither_equal_nor_ten_percent() -> None:
    rng = np.random.default_rng(3)
    first, second = np.floor(rng.normal(10.7, 0.3, 50)), np.floor(rng.normal(11.2, 0.3, 50))
    for shift in (paired_shift, unpaired_shift):
        found = shift(first, second, logs=True)
        assert found.low is not None
        assert found.high is not None
        assert found.low <= np.log(11.2 / 10.7) <= found.high
        assert (found.tick, found.different) == (1, False)


def test_a_stray_value_is_no_level_and_a_second_level_is_one() -> None:
    values = np.round(np.random.default_rng(4).normal(10, 0.5, 50))
    assert tick_of(np.append(values, 10.06)) == 1
    assert tick_of(np.array([100.3712] * 46 + [101.3712] * 4)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("values", "tick"),
    [
        ([1003.7] * 11 + [1004.7], None),
        ([1003.7] * 11 + [1013.9], None),
        ([1003.7] * 8 + [1002.7, 1004.7], 1),
        ([1003.0] * 11 + [1004.0], 1),
        ([10.0] * 9 + [11.0], 1),
    ],
)
def test_single_values_off_one_level_tell_a_tick_only_together(
    values: list[float], tick: float | None
) -> None:
    assert tick_of(np.array(values)) == (None if tick is None else pytest.approx(tick))


def test_many_values_off_one_level_say_that_the_clock_is_fine() -> None:
    rng = np.random.default_rng(6)
    values = np.where(rng.random(40) < 0.6, 5.0, rng.normal(5, 1, 40))
    assert tick_of(values) == 0


def test_each_of_two_series_has_its_own_tick() -> None:
    rng = np.random.default_rng(5)
    for spread in (0.05, 0.3, 1.0):
        coarse, fine = np.floor(rng.normal(10.5, spread, 60)), rng.normal(10.5, spread, 60)
        for shift in (paired_shift, unpaired_shift):
            found = shift(coarse, fine, logs=True)
            assert not found.different
            assert found.low is None or found.high is None or found.low < 0 < found.high
    # A clock that is seen to be as coarse explains equal values of the other.
    known = ticks_of(np.full(20, 10.0), np.round(rng.normal(11, 0.5, 20)))
    assert known == (1, 1)
    assert ticks_of(np.full(20, 10.0), rng.normal(11, 0.5, 20)) is None
