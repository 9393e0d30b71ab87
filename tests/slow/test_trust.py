"""Verdicts on series whose truth is known: clean ones are trusted, planted defects are found.

20,000 replicates of a clean series at the spread that is worst for it, 1000 to 2000 of the
others (500 of a defect planted in 1000 trials, which takes longest); failing only beyond the 99 %
bound of what is claimed. ``make test-slow``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from tare.interop.series import Defect
from tare.statistics.modes import modes
from tare.statistics.order import order_of
from tare.statistics.trust import trust
from tare.statistics.warmup import settle, warm_up

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

REPLICATES = 20_000
Draw = Callable[[np.random.Generator, int], np.ndarray]

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


def at_most(alarms: int, rate: float, replicates: int = REPLICATES) -> bool:
    return alarms <= stats.binom.ppf(0.99, replicates, rate)


def at_least(found: int, rate: float, replicates: int) -> bool:
    return found >= stats.binom.ppf(0.01, replicates, rate)


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("shape", CLEAN)
def test_clean_series_are_trusted(shape: str, n: int) -> None:
    """The widest spread is the worst: a change by chance then always exceeds the target."""
    rng = np.random.default_rng(1)
    doubts = sum(
        trust(100 + 20 * SHAPES[shape](rng, n), trials_known=True).verdict != "TRUST"
        for _ in range(REPLICATES)
    )
    assert at_most(doubts, 0.05), doubts / REPLICATES


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("cov", [1, 5])
@pytest.mark.parametrize("shape", CLEAN)
def test_clean_series_of_less_spread_are_trusted(shape: str, cov: int, n: int) -> None:
    rng, replicates = np.random.default_rng(2), 2000
    doubts = sum(
        trust(100 + cov * SHAPES[shape](rng, n), trials_known=True).verdict != "TRUST"
        for _ in range(replicates)
    )
    assert at_most(doubts, 0.05, replicates), doubts / replicates


@pytest.mark.parametrize("n", [6, 10, 50, 300])
@pytest.mark.parametrize("shape", SHAPES)
def test_order_tells_nothing_by_chance(shape: str, n: int) -> None:
    rng, replicates = np.random.default_rng(3), 2000
    found = [order_of(SHAPES[shape](rng, n)) for _ in range(replicates)]
    alarms = sum(o is not None and o.matters for o in found)
    assert at_most(alarms, 0.05, replicates), alarms / replicates


def remembering(rho: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        noise = rng.standard_normal(n + 300) * np.sqrt(1 - rho**2)
        return np.asarray(lfilter([1], [1, -rho], noise)[300:])

    return draw


def with_change(change: Callable[[np.ndarray], np.ndarray]) -> Draw:
    """Add a change, in SDs, as a function of time from 0 to 1."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.standard_normal(n) + change((np.arange(n) + 0.5) / n)

    return draw


#: What is found in 90 % or more, and from which n on. Sizes are in SDs of single trials: with a
#: spread of 2 % and a target of 1 %, 1 SD is two targets.
PLANTED: dict[str, tuple[Draw, tuple[int, ...]]] = {
    "AR(.5)": (remembering(0.5), (100, 1000)),
    "AR(.8)": (remembering(0.8), (100, 1000)),
    "drift of 0.8 SD": (with_change(lambda t: 0.8 * t), (1000,)),
    "drift of 1.5 SD": (with_change(lambda t: 1.5 * t), (100, 1000)),
    "drift of 3.5 SD": (with_change(lambda t: 3.5 * t), (20, 100)),
    "step of 1 SD": (with_change(lambda t: 1.0 * (t > 0.5)), (100, 1000)),
    "step of 2.5 SD": (with_change(lambda t: 2.5 * (t > 0.5)), (20, 100)),
    "warm-up of 10 %, 2 SD": (with_change(lambda t: 2.0 * (t < 0.1)), (100, 1000)),
    "warm-up of 10 %, 5 SD": (with_change(lambda t: 5.0 * (t < 0.1)), (20, 100)),
    "warm-up of 20 %, 1.5 SD": (with_change(lambda t: 1.5 * (t < 0.2)), (100, 1000)),
    "warm-up of 20 %, 4 SD": (with_change(lambda t: 4.0 * (t < 0.2)), (20, 100)),
    "burst of 20 %, 2 SD": (with_change(lambda t: 2.0 * (abs(t - 0.5) < 0.1)), (100, 1000)),
}


@pytest.mark.parametrize(
    ("planted", "n"), [(name, n) for name, (_, sizes) in PLANTED.items() for n in sizes]
)
def test_planted_defects_are_found(planted: str, n: int) -> None:
    rng, replicates = np.random.default_rng(4), 500 if n == 1000 else 2000
    draw, _ = PLANTED[planted]
    found = sum(
        trust(100 + 2 * draw(rng, n), trials_known=True).verdict == "DOUBT"
        for _ in range(replicates)
    )
    assert at_least(found, 0.9, replicates), found / replicates


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
