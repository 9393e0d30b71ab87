"""Sequential comparisons: false alarms and coverage at the stop, by the product's own looks."""

from __future__ import annotations

import numpy as np
import pytest
from simulation import REPLICATES, Draw, at_most, autoregressive

from tare.statistics.sequential import Look, decides, looks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

MARGIN = 0.02
#: Pairs after which a comparison is given up.
CAP = 100


def growing(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_normal(n) * np.linspace(0.2, 2, n)


#: What one machine does while it runs both sides of a comparison; spread about 1.
SERIES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "ar.5": autoregressive(0.5),
    "ar.95": autoregressive(0.95),
    "bimodal": lambda rng, n: rng.choice([-1.0, 1.0], n) + 0.1 * rng.standard_normal(n),
    "t2": lambda rng, n: rng.standard_t(2, n),
    "lognormal": lambda rng, n: np.exp(rng.standard_normal(n)) / 2,
    "drift": lambda rng, n: rng.standard_normal(n) + np.linspace(0, 100, n),
    "growing": growing,
}


def log_ratios(series: np.ndarray, order: str, rng: np.random.Generator) -> np.ndarray:
    """Pair neighbours: which of the two is the second cell's is by coin flip, or in turns."""
    d = np.diff(series.reshape(-1, 2), axis=1)[:, 0]
    turns = np.arange(len(d)) % 2 == 0
    return np.asarray(d * np.where(rng.random(len(d)) < 0.5 if order == "coin" else turns, -1, 1))


def at_stop(d: np.ndarray, final: bool = False) -> Look | None:
    look = None
    for look in looks(d, MARGIN, final=final):
        if decides(look, MARGIN):
            return look
    return look


def alarms(series: str, order: str, cv: float, final: bool = False, cap: int = CAP) -> int:
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(REPLICATES):
        look = at_stop(log_ratios(cv * SERIES[series](rng, 2 * cap), order, rng), final)
        if look is not None and look.low is not None and look.high is not None:
            found += look.low > 1 or look.high < 1
    return found


@pytest.mark.parametrize(("order", "cv"), [("coin", 0.02), ("turns", 0.01)])
@pytest.mark.parametrize("series", SERIES)
def test_equal_cells_alarm_in_five_percent(series: str, order: str, cv: float) -> None:
    # In turns, AR(.5) leaves memory in the signs: what compare_sequentially warns of.
    rate = 0.075 if (series, order) == ("ar.5", "turns") else 0.05
    cap = 40 if series in ("t2", "bimodal") else CAP
    found = alarms(series, order, cv, cap=cap)
    assert at_most(found, rate), found / REPLICATES


@pytest.mark.parametrize("series", ["normal", "ar.95"])
def test_equal_cells_alarm_in_five_percent_where_the_spread_is_large(series: str) -> None:
    found = alarms(series, "coin", 0.05, final=True, cap=60)
    assert at_most(found, 0.05), found / REPLICATES


@pytest.mark.parametrize(("effect", "series"), [(0.02, "normal"), (0.02, "t2"), (0.05, "normal")])
def test_what_differs_is_covered_and_not_called_the_same(effect: float, series: str) -> None:
    rng = np.random.default_rng(2)
    same = missed = 0
    for _ in range(REPLICATES):
        noise = 0.02 * SERIES[series](rng, 2 * CAP)
        d = np.log1p(effect) + log_ratios(noise, "coin", rng)
        look = at_stop(d, final=True)
        assert look is not None
        assert look.low is not None
        assert look.high is not None
        missed += not look.low <= 1 + effect <= look.high
        same += 1 / (1 + MARGIN) < look.low <= 1 <= look.high < 1 + MARGIN
    assert at_most(missed, 0.05), missed / REPLICATES
    assert at_most(same, 0.05), same / REPLICATES
