"""Medians per unit of time: a daily cycle is found, noise is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from tare.errors import InputError
from tare.statistics.statistic import FloatArray
from tare.statistics.time_of_day import (
    DAY_S,
    HOUR_S,
    WEEK_S,
    Cycle,
    TimeOfDay,
    UnitMedians,
    as_one_family,
    daily_cycle,
    time_of_day,
    unit_medians,
    weekly_cycle,
)

#: Monday, 4 May 2026, 00:00 UTC.
MONDAY_S = 1_777_852_800.0


def noise(rng: np.random.Generator, n: int, phi: float) -> FloatArray:
    steps = rng.standard_normal(n + 500) * np.sqrt(1 - phi**2)
    return np.asarray(signal.lfilter([1], [1, -phi], steps)[500:])


def hours(values: FloatArray) -> UnitMedians:
    return UnitMedians(MONDAY_S + HOUR_S * np.arange(len(values)), values, HOUR_S, 0)


def weeks(
    amplitude: float = 0.0, phi: float = 0.9, step: float = 0.0, seed: int = 1, days: int = 14
) -> TimeOfDay:
    """Analyse one sample per minute; the cycle is highest at 06:00, the step after 10 days."""
    n = 1440 * days
    at_s = MONDAY_S + 60.0 * np.arange(n)
    values = 1 + amplitude * np.sin(2 * np.pi * at_s / DAY_S)
    values += 0.2 * noise(np.random.default_rng(seed), n, phi) + step * (np.arange(n) >= 14_400)
    found = time_of_day(at_s, values)
    assert found is not None
    return found


def test_medians_of_hours_are_those_of_the_values_in_them() -> None:
    at_s = MONDAY_S + np.array([3700, 10, 20, 30, 7300, 3800, 3900.0])
    values = np.array([5, 1, 2, 6, 9, 7, 8.0])
    found = unit_medians(at_s, values)
    # Of the third hour there is one value, of usually three.
    assert found.start_s.tolist() == [MONDAY_S, MONDAY_S + 3600]
    assert (found.values.tolist(), found.left_out) == ([2, 7], 1)
    by_day = unit_medians(at_s, values, DAY_S)
    assert (by_day.start_s.tolist(), by_day.values.tolist()) == ([MONDAY_S], [6])
    with pytest.raises(InputError, match="whole number"):
        unit_medians(at_s, values, 7 * HOUR_S)


def test_units_are_placed_in_days_and_weeks() -> None:
    units = hours(np.zeros(24 * 8))
    assert units.folded(DAY_S)[[0, 5, 24, 29]].tolist() == [0, 5, 0, 5]
    assert units.folded(WEEK_S)[[0, 25, 24 * 7]].tolist() == [0, 25, 0]
    assert units.days == 8


def test_a_planted_cycle_is_found_with_its_size_and_hours() -> None:
    found = weeks(amplitude=0.1)
    assert found.day.is_shown
    assert isinstance(found.day.cycle, Cycle)
    assert found.day.cycle.amplitude == pytest.approx(0.1, abs=0.015)
    assert found.day.cycle.highest == pytest.approx(6, abs=1)
    assert found.day.cycle.lowest == pytest.approx(18, abs=1)
    # The cycle is no level shift.
    assert found.is_whole


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, 1.0])
def test_noise_is_seldom_taken_for_a_cycle(phi: float) -> None:
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(150):
        # Of hours: as strongly autocorrelated as no test that shuffles hours could allow for.
        steps = rng.standard_normal(336)
        cycle = daily_cycle(hours(signal.lfilter([1], [1, -phi], steps)))
        assert isinstance(cycle, Cycle)
        alarms += cycle.p < 0.04
    # Of 150 at 4 %: more than 14 have a probability of .1 %.
    assert alarms <= 14


def test_a_cycle_is_found_where_hours_are_missing() -> None:
    rng = np.random.default_rng(2)
    values = 1 + 0.1 * np.sin(2 * np.pi * np.arange(336) / 24) + 0.05 * rng.standard_normal(336)
    kept = np.sort(rng.choice(336, 250, replace=False))
    units = UnitMedians(MONDAY_S + HOUR_S * kept, values[kept], HOUR_S, 0)
    cycle = daily_cycle(units)
    assert isinstance(cycle, Cycle)
    assert cycle.p < 1e-6
    assert cycle.amplitude == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("tested", [1, 10])
def test_what_would_have_been_found_is_found(tested: int) -> None:
    rng, found = np.random.default_rng(3), 0
    for _ in range(100):
        values = 1 + 0.1 * rng.standard_normal(168)
        cycle = daily_cycle(hours(values))
        assert isinstance(cycle, Cycle)
        wave = cycle.detectable(tested) * np.sin(2 * np.pi * (np.arange(168) / 24 + rng.random()))
        again = daily_cycle(hours(values + wave))
        assert isinstance(again, Cycle)
        found += again.corrected_p(tested) < 0.04
    assert found >= 80


def weekend(n: int) -> FloatArray:
    """1 on Saturdays and Sundays, by hours from a Monday on."""
    return (np.arange(n) // 24 % 7 >= 5).astype(float)


def test_lower_weekends_are_a_weekly_cycle_and_no_level_shifts() -> None:
    rng = np.random.default_rng(12)
    n = 21 * 24
    daily = 0.1 * np.sin(2 * np.pi * np.arange(n) / 24)
    found = over_hours(1 + daily - 0.1 * weekend(n) + 0.01 * rng.standard_normal(n))
    assert found.day.is_shown
    assert found.week.is_shown
    assert isinstance(found.week.cycle, Cycle)
    assert found.week.cycle.amplitude == pytest.approx(0.05, abs=0.003)
    assert found.week.cycle.lowest // 24 in (5, 6)
    assert found.week.cycle.highest // 24 < 5
    without = over_hours(1 + daily + 0.01 * rng.standard_normal(n))
    assert without.week.is_shown is False


@pytest.mark.parametrize("phi", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("days", [21.0, 24.5])
def test_noise_is_seldom_taken_for_a_weekly_cycle(phi: float, days: float) -> None:
    rng, alarms, n = np.random.default_rng(13), 0, round(24 * days)
    # A strong daily cycle would leak to the frequencies of a week.
    daily = 20 * np.sin(2 * np.pi * np.arange(n) / 24)
    for _ in range(150):
        units = hours(daily + signal.lfilter([1], [1, -phi], rng.standard_normal(n)))
        cycle = weekly_cycle(units, daily_cycle(units))
        assert isinstance(cycle, Cycle)
        alarms += cycle.p < cycle.alpha
    # Of 150 at 4 %, above the level of 3 %: more than 14 have a probability of .1 %.
    assert alarms <= 14


@pytest.mark.parametrize("amplitude", [0.02, 0.05, 0.2])
def test_a_weekly_cycle_is_no_daily_one(amplitude: float) -> None:
    rng, days, n = np.random.default_rng(15), 0, 28 * 24
    wave = amplitude * np.sin(2 * np.pi * np.arange(n) / (7 * 24))
    for _ in range(20):
        found = over_hours(1 + wave + 0.005 * rng.standard_normal(n))
        assert isinstance(found.week.cycle, Cycle)
        # The mean over a day is sin(π / 7) / (π / 7) of the wave there; no day is centred on its
        # highest point.
        expected = np.ptp(wave[: 7 * 24].reshape(7, 24).mean(axis=1)) / 2
        assert found.week.cycle.amplitude == pytest.approx(expected, rel=0.05)
        days += found.day.is_shown is True
    # Of 20 at 4 %: more than 4 have a probability of .1 %.
    assert days <= 4


def test_a_weekly_cycle_needs_three_weeks() -> None:
    values = np.random.default_rng(14).standard_normal(21 * 24)
    short, long = over_hours(values[:-1]), over_hours(values)
    assert short.week.cycle == "weeks"
    assert short.week.is_shown is None
    assert isinstance(long.week.cycle, Cycle)
    # Units of a whole day resolve a week, and no day.
    days = time_of_day(hours(values).start_s, values, unit_s=DAY_S)
    assert days is not None
    assert days.day.cycle == "coarse"
    assert isinstance(days.week.cycle, Cycle)


def test_why_a_cycle_cannot_be_tested() -> None:
    values = np.random.default_rng(4).standard_normal(71)
    assert daily_cycle(hours(values)) == "days"
    assert daily_cycle(hours(np.ones(100))) == "equal"
    starts = MONDAY_S + DAY_S / 4 * np.arange(40)
    assert daily_cycle(UnitMedians(starts, values[:40], DAY_S / 4, 0)) == "coarse"
    assert daily_cycle(UnitMedians(starts[:11], values[:11], HOUR_S, 0)) == "days"
    assert daily_cycle(UnitMedians(starts[::3][:11], values[:11], HOUR_S, 0)) == "units"


def test_too_short_for_a_cycle_or_for_anything() -> None:
    rng = np.random.default_rng(4)
    at_s = MONDAY_S + 600.0 * np.arange(30)
    assert time_of_day(at_s, rng.standard_normal(30)) is None
    day = time_of_day(MONDAY_S + 600.0 * np.arange(144), rng.normal(1, 0.01, 144))
    assert day is not None
    assert day.day.is_shown is None
    with pytest.raises(InputError, match="5 min"):
        time_of_day(at_s, rng.standard_normal(30), unit_s=60.0)


def over_hours(values: FloatArray, precision: float = 0.05) -> TimeOfDay:
    found = time_of_day(hours(values).start_s, values, precision)
    assert found is not None
    return found


def test_a_cycle_is_excluded_only_by_a_test_that_would_find_it() -> None:
    values = 1 + 0.1 * np.random.default_rng(8).standard_normal(336)
    found = over_hours(values)
    assert found.day.detectable is not None
    limit = found.day.detectable
    assert 0.02 < limit < 0.05
    assert found.day.is_shown is False
    assert over_hours(values, precision=0.9 * limit).day.is_shown is None
    # Corrected for many series, the same test is less sensitive.
    assert as_one_family([found] * 10)[0].day.detectable > limit


def test_series_are_corrected_for_all_that_are_tested() -> None:
    """At the p of this wave, it is shown alone, and not as one of ten."""
    rng = np.random.default_rng(9)
    waves = (0.1 * np.sin(2 * np.pi * np.arange(336) / 24) * k / 100 for k in range(100))
    noisy = 1 + 0.1 * rng.standard_normal(336)
    found = next(
        one
        for one in (over_hours(noisy + wave) for wave in waves)
        if one.day.p is not None and 0.005 < one.day.p < 0.02
    )
    assert found.day.is_shown
    untested = over_hours(np.ones(100))
    several = as_one_family([found] * 10 + [untested])
    assert [one.day.tested for one in several] == [10] * 11
    assert several[0].day.p == pytest.approx(10 * (found.day.p or 0))
    assert not several[0].day.is_shown
    assert several[-1].day.is_shown is None


def test_around_zero_an_amplitude_is_no_share() -> None:
    rng = np.random.default_rng(10)
    wave = 3 * np.sin(2 * np.pi * np.arange(336) / 24) + 0.1 * rng.standard_normal(336)
    for level in (-1.0, -20.0):
        found = over_hours(level + wave - np.median(wave))
        assert isinstance(found.day.cycle, Cycle)
        assert found.day.is_shown
        assert found.day.share(found.day.cycle.amplitude) is None
        assert found.day.cycle.amplitude == pytest.approx(3, abs=0.1)
    assert over_hours(-20 + 0.001 * rng.standard_normal(336)).day.is_shown is None


def test_the_longest_stretch_without_a_shift_has_figures_of_its_own() -> None:
    found = weeks(step=-0.4)
    assert not found.is_whole
    assert found.stretch is not None
    assert found.stretch[0] == 0
    assert found.stretch[1] == pytest.approx(240, abs=3)
    assert found.stable is not None
    assert found.stable.median.estimate == pytest.approx(1, abs=0.03)
    # Medians of both levels are no sample of either.
    assert found.medians.median.half_width > 3 * found.stable.median.half_width


def test_medians_cover_where_samples_do_not() -> None:
    found = [weeks(seed=seed, days=3) for seed in range(12)]
    covered = {
        name: sum(getattr(one, name).median.low <= 1 <= getattr(one, name).median.high
                  for one in found)
        for name in ("medians", "samples")
    }  # fmt: skip
    assert covered["medians"] >= 10
    assert covered["samples"] <= 9
    assert all(one.samples.dependence > 5 for one in found)


def test_autocorrelated_hours_widen_the_interval_and_say_so() -> None:
    rng = np.random.default_rng(6)
    at_s = MONDAY_S + HOUR_S * np.arange(336.0)
    found = time_of_day(at_s, 1 + 0.2 * noise(rng, 336, 0.9))
    assert found is not None
    assert found.medians.independent is False
    assert found.medians.dependence > 5
    assert found.medians.median.half_width > 2 * found.samples.median.half_width
    independent = weeks(phi=0.0)
    assert independent.medians.independent
    assert independent.medians.needed is not None


def test_scale_and_order_of_rows_change_nothing() -> None:
    rng = np.random.default_rng(7)
    at_s = MONDAY_S + 600.0 * np.arange(144 * 5)
    values = 1 + 0.1 * np.sin(2 * np.pi * at_s / DAY_S) + 0.05 * rng.standard_normal(len(at_s))
    shuffled = rng.permutation(len(at_s))
    one, other = time_of_day(at_s, values), time_of_day(at_s[shuffled], 1000 * values[shuffled])
    assert one is not None
    assert other is not None
    assert isinstance(one.day.cycle, Cycle)
    assert isinstance(other.day.cycle, Cycle)
    assert other.day.cycle.p == pytest.approx(one.day.cycle.p, rel=1e-6)
    assert other.day.cycle.amplitude == pytest.approx(1000 * one.day.cycle.amplitude)
    assert other.medians.median.estimate == pytest.approx(1000 * one.medians.median.estimate)
