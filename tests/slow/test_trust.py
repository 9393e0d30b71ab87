"""Verdicts on series whose truth is known: clean ones are trusted, planted defects are found.

Fewer replicates of series of 1,000 trials, which take longest.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from simulation import REPLICATES, Draw, at_least, at_most, autoregressive

from tare.readers.series import Defect
from tare.statistics.intervals import quantile_interval
from tare.statistics.mixed_units import mixed_units
from tare.statistics.modes import modes
from tare.statistics.order import order_of
from tare.statistics.trust import trust
from tare.statistics.warmup import settle, warm_up

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def is_doubted(values: np.ndarray, target: float = 0.01) -> bool:
    """Whether something else than the precision of the median speaks against values."""
    return not trust(values, trials_known=True, precision=target).is_sound


#: With mean 0 and SD 1.
SHAPES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "lognormal": lambda rng, n: (rng.lognormal(0, 0.6, n) - 1.197) / 0.788,
    "bimodal": lambda rng, n: (rng.standard_normal(n) + 4 * (rng.random(n) < 0.4) - 1.6) / 2.2,
    "t3": lambda rng, n: rng.standard_t(3, n) / 3**0.5,
    "coarse clock": lambda rng, n: np.round(rng.standard_normal(n)),
    "nearly all equal": lambda rng, n: 6.0 * (rng.random(n) < 0.03),
}
CLEAN = ("normal", "lognormal", "bimodal")


def ticks(distinct: int) -> Draw:
    """Round normal values to so many ticks."""
    edges = stats.norm.ppf(np.arange(1, distinct) / distinct)
    return lambda rng, n: np.searchsorted(edges, rng.standard_normal(n)).astype(float)


#: Clean shapes besides, that tests of copies, periods and units might mistake.
ODD: dict[str, Draw] = {
    "t2": lambda rng, n: rng.standard_t(2, n),
    "t3": SHAPES["t3"],
    "Pareto 1.5": lambda rng, n: rng.pareto(1.5, n),
    "Pareto 1.5 from 1": lambda rng, n: 5 * rng.pareto(1.5, n) - 95,
    "modes a factor of 100 apart": lambda rng, n: (
        rng.standard_normal(n) / 20 + 495 * (rng.random(n) < 0.2)
    ),
    "97 % equal": lambda rng, n: rng.permutation(np.where(np.arange(n) < 0.03 * n, 6.0, 0.0)),
    **{f"{k} ticks": ticks(k) for k in (2, 3, 5, 10)},
}


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("shape", CLEAN)
def test_clean_series_are_trusted(shape: str, n: int) -> None:
    """The widest spread is the worst: a change by chance then always exceeds the target."""
    rng = np.random.default_rng(1)
    doubts = sum(is_doubted(100 + 20 * SHAPES[shape](rng, n)) for _ in range(REPLICATES))
    assert at_most(doubts, 0.05), doubts / REPLICATES


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("shape", CLEAN)
def test_clean_series_that_are_just_precise_enough_are_trusted(shape: str, n: int) -> None:
    """The target is the half-width that the median has."""
    rng, replicates = np.random.default_rng(13), 2000
    doubts = 0
    for _ in range(replicates):
        values = 100 + 20 * SHAPES[shape](rng, n)
        half = quantile_interval(values).half_width
        assert half is not None
        found = trust(values, trials_known=True, precision=half * (1 + 1e-9))
        doubts += found.verdict != "TRUST"
    print(f"{shape}, n = {n}: {doubts / replicates:.1%}")
    assert at_most(doubts, 0.05, replicates), doubts / replicates


@pytest.mark.parametrize("n", [20, 30, 100, 1000])
@pytest.mark.parametrize("shape", ODD)
def test_odd_but_clean_series_are_trusted(shape: str, n: int) -> None:
    rng, replicates = np.random.default_rng(8), REPLICATES if n <= 100 else 2000
    doubts = sum(is_doubted(100 + 20 * ODD[shape](rng, n)) for _ in range(replicates))
    assert at_most(doubts, 0.05, replicates), doubts / replicates


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("cov", [1, 5])
@pytest.mark.parametrize("shape", CLEAN)
def test_clean_series_of_less_spread_are_trusted(shape: str, cov: int, n: int) -> None:
    rng, replicates = np.random.default_rng(2), 2000
    doubts = sum(is_doubted(100 + cov * SHAPES[shape](rng, n)) for _ in range(replicates))
    assert at_most(doubts, 0.05, replicates), doubts / replicates


@pytest.mark.parametrize("n", [6, 10, 50, 300])
@pytest.mark.parametrize("shape", SHAPES)
def test_order_tells_nothing_by_chance(shape: str, n: int) -> None:
    rng, replicates = np.random.default_rng(3), 2000
    found = [o for _ in range(replicates) if (o := order_of(SHAPES[shape](rng, n))) is not None]
    alarms = sum(o.moves or o.alternates or o.recurs or o.spreads for o in found)
    assert at_most(alarms, 0.05, replicates), alarms / replicates


def pulses(period: int, height: float) -> Draw:
    """Raise each so-manieth value by so many SDs, from a chance phase on."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        on = (np.arange(n) + rng.integers(period)) % period == 0
        return rng.standard_normal(n) + height * on

    return draw


def wave(periods: float, height: float) -> Draw:
    """Add a sine of so many periods in the series (below 1: of so many periods a trial)."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        cycles = np.arange(n) * (periods if periods < 1 else periods / n)
        return rng.standard_normal(n) + height * np.sin(2 * np.pi * (cycles + rng.random()))

    return draw


def spreading(factor: float, block: int | None = None) -> Draw:
    """Spread the later half, or every second block, by a factor."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        wide = np.arange(n) // (block or -(-n // 2)) % 2 == 1
        return rng.standard_normal(n) * np.where(wide, factor, 1.0) / factor

    return draw


def repeating(times: int, shape: Draw) -> Draw:
    """Repeat the first stretch until the series is full."""
    return lambda rng, n: np.resize(shape(rng, -(-n // times)), n)


def with_change(change: Callable[[np.ndarray], np.ndarray]) -> Draw:
    """Add a change, in SDs, as a function of time from 0 to 1."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.standard_normal(n) + change((np.arange(n) + 0.5) / n)

    return draw


#: What is found in 90 % or more, and from which n on. Sizes are in SDs of single trials: with a
#: spread of 2 % and a target of 1 %, 1 SD is two targets.
PLANTED: dict[str, tuple[Draw, tuple[int, ...]]] = {
    "AR(.5)": (autoregressive(0.5), (100, 1000)),
    "AR(.8)": (autoregressive(0.8), (100, 1000)),
    "drift of 0.8 SD": (with_change(lambda t: 0.8 * t), (1000,)),
    "drift of 1.5 SD": (with_change(lambda t: 1.5 * t), (100, 1000)),
    "drift of 3.5 SD": (with_change(lambda t: 3.5 * t), (20, 100)),
    "step of 1 SD": (with_change(lambda t: 1.0 * (t > 0.5)), (100, 1000)),
    "step of 2.5 SD": (with_change(lambda t: 2.5 * (t > 0.5)), (20, 100)),
    "warm-up of 10 %, 2 SD": (with_change(lambda t: 2.0 * (t < 0.1)), (100, 1000)),
    "warm-up of 10 %, 5 SD": (with_change(lambda t: 5.0 * (t < 0.1)), (20, 100)),
    "warm-up of 20 %, 1.5 SD": (with_change(lambda t: 1.5 * (t < 0.2)), (100, 1000)),
    "warm-up of 20 %, 4 SD": (with_change(lambda t: 4.0 * (t < 0.2)), (20, 100)),
    "AR(−.8)": (autoregressive(-0.8), (30, 100, 1000)),
    "every 2nd 5 SD": (pulses(2, 5), (30, 100, 1000)),
    "every 3rd 10 SD": (pulses(3, 10), (30, 100, 1000)),
    "every 5th 25 SD": (pulses(5, 25), (30, 100, 1000)),
    "every 10th 50 SD": (pulses(10, 50), (40, 100, 1000)),
    "wave of 4 periods, 2.5 SD": (wave(4, 2.5), (30, 100, 1000)),
    "wave of .3 periods a trial, 2.5 SD": (wave(0.3, 2.5), (30, 100, 1000)),
    "spread × 20 half-way": (spreading(20), (30, 100, 1000)),
    "spread × 20 by blocks of 20": (spreading(20, 20), (30, 100, 1000)),
    "second half a copy": (repeating(2, SHAPES["normal"]), (30, 100, 1000)),
    "second half a copy, 5 ticks": (repeating(2, ticks(5)), (30, 100, 1000)),
    "10 copies": (repeating(10, SHAPES["normal"]), (30, 100, 1000)),
    "3 copies": (repeating(3, SHAPES["normal"]), (30, 100, 1000)),
    "burst of 20 %, 2 SD": (with_change(lambda t: 2.0 * (abs(t - 0.5) < 0.1)), (100, 1000)),
}


#: Of these, what is found in 95 % or more.
SURELY = ("AR(−.8)", "every", "wave", "spread", "second half", "10 copies", "3 copies")


@pytest.mark.parametrize(
    ("planted", "n"), [(name, n) for name, (_, sizes) in PLANTED.items() for n in sizes]
)
def test_planted_defects_are_found(planted: str, n: int) -> None:
    rng, replicates = np.random.default_rng(4), 500 if n == 1000 else 2000
    draw, _ = PLANTED[planted]
    found = sum(is_doubted(100 + 2 * draw(rng, n)) for _ in range(replicates))
    rate = 0.95 if planted.startswith(SURELY) else 0.9
    assert at_least(found, rate, replicates), found / replicates


@pytest.mark.parametrize(("n", "rate"), [(20, 0.85)])
def test_alternation_is_found_in_short_series(n: int, rate: float) -> None:
    rng, replicates = np.random.default_rng(12), 5000
    draw = autoregressive(-0.8)
    found = sum(is_doubted(100 + 2 * draw(rng, n)) for _ in range(replicates))
    assert at_least(found, rate, replicates), found / replicates


@pytest.mark.parametrize(
    ("k", "cov"), [(1, 0.1), (3, 0.1), (10, 0.1), (1, 0.2), (3, 0.2), (10, 0.2)]
)
@pytest.mark.parametrize("factor", [1e3, 1024.0, 1e6, 2.0**20, 2.0**30])
def test_two_units_are_found(factor: float, k: int, cov: float) -> None:
    rng, replicates = np.random.default_rng(9), 2000
    found = 0
    for _ in range(replicates):
        values = 10 * np.maximum(0.02, 1 + cov * rng.standard_normal(20))
        values[rng.permutation(20)[:k]] *= factor
        units = mixed_units(values)
        found += units is not None
        if units is not None and units.factor not in (1e3, 1024.0):
            assert units.factor == pytest.approx(factor, rel=0.5)
    assert at_least(found, 0.9, replicates), found / replicates


@pytest.mark.parametrize(("k", "cov"), [(1, 0.02), (1, 0.05), (3, 0.1), (10, 0.1)])
def test_minutes_beside_seconds_are_doubted(k: int, cov: float) -> None:
    rng, replicates = np.random.default_rng(10), 2000
    verdicts = []
    for _ in range(replicates):
        values = 10 * (1 + cov * rng.standard_normal(20))
        values[rng.permutation(20)[:k]] *= 60
        verdicts.append(trust(values, trials_known=True).verdict)
    assert at_least(verdicts.count("DOUBT"), 0.9, replicates)
    assert "REJECT" not in verdicts


@pytest.mark.parametrize("factor", [10.0, 30.0, 100.0, 300.0])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_modes_are_no_units(factor: float, share: float) -> None:
    rng, replicates = np.random.default_rng(11), 2000
    found = [
        mixed_units(10 * rng.lognormal(0, 0.1, 50) * np.where(rng.random(50) < share, factor, 1))
        for _ in range(replicates)
    ]
    assert sum(m is not None for m in found) <= 0.001 * replicates


@pytest.mark.parametrize("n", [6, 20, 100, 1000])
def test_defects_that_need_no_statistics_are_always_found(n: int) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        x = 100 + rng.standard_normal(n)
        assert trust(x[:5], trials_known=True).verdict == "REJECT"
        assert trust(x, trials_known=False).verdict == "DOUBT"
        mixed = [Defect("mixed units", "Rows 1 to 5 are in ms, the others in s.")]
        assert trust(x, trials_known=True, defects=mixed).verdict == "REJECT"
        x[rng.integers(n)] = np.nan
        assert trust(x, trials_known=True).verdict == "REJECT"


@pytest.mark.parametrize("n", [20, 50, 300])
@pytest.mark.parametrize("shape", SHAPES)
def test_steady_series_have_no_warm_up(shape: str, n: int) -> None:
    """Any change at all, by either function, in at most 5 %."""
    rng, replicates = np.random.default_rng(6), 1000
    series = [100 + 2 * SHAPES[shape](rng, n) for _ in range(replicates)]
    settled = sum(settle(x).shape != "flat" for x in series)
    warm = sum(warm_up(x).ok is False for x in series)
    assert at_most(max(settled, warm), 0.05, replicates), (settled, warm)


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("shape", ["normal", "lognormal", "t3", "coarse clock"])
def test_one_mode_is_not_called_two(shape: str, n: int) -> None:
    rng, replicates = np.random.default_rng(7), 1000
    alarms = sum(modes(SHAPES[shape](rng, n)).ok is False for _ in range(replicates))
    assert at_most(alarms, 0.05, replicates), alarms / replicates
