"""Sequential comparisons: false alarms and coverage at the stop, by the product's own looks."""

from __future__ import annotations

import numpy as np
import pytest
from simulation import REPLICATES, Draw, at_most, autoregressive

from tare.statistics.sequential import Look, decides, looks
from tare.statistics.signed_rank import signed_rank_cdf

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
    for look in looks(d, final=final):
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


# ---- one interval for verdict and gate: many comparisons at once

#: Replicates of the published table.
MANY = 20_000
NOISES: dict[str, Draw] = {name: SERIES[name] for name in ("normal", "ar.5", "lognormal")}


class Pairs:
    """Log-ratios of many comparisons, and which ratios the interval of each analysis excludes."""

    def __init__(self, noise: str, truth: float, cv: float, cap: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        series = np.stack([NOISES[noise](rng, 2 * cap) for _ in range(MANY)])
        d = cv * np.diff(series.reshape(MANY, cap, 2), axis=2)[:, :, 0]
        self.d = np.log1p(truth) + d * np.where(rng.random(d.shape) < 0.5, -1, 1)
        self.analyses = list(looks(self.d[0], final=True))

    def excluded(self, ratio: float) -> tuple[np.ndarray, np.ndarray]:
        """Whether each analysis of each comparison puts the ratio below or above its interval."""
        below, above = [], []
        for analysis in self.analyses:
            n, x = analysis.n, self.d[:, : analysis.n] - np.log(ratio)
            ranks = np.argsort(np.argsort(np.abs(x), axis=1), axis=1) + 1
            positive, p = (ranks * (x > 0)).sum(axis=1), 2 * signed_rank_cdf(n)
            below.append(p[n * (n + 1) // 2 - positive] <= analysis.level)
            above.append(p[positive] <= analysis.level)
        return np.stack(below, axis=1), np.stack(above, axis=1)

    def misses(self, truth: float, gate: float | None) -> float:
        """Share of the intervals at the stop, or at the cap, that exclude the truth."""
        missed = np.logical_or(*self.excluded(1 + truth))
        if gate is not None:
            stops = np.logical_or(*self.excluded(1 + gate))
        else:
            low, high = self.excluded(1 / (1 + MARGIN)), self.excluded(1 + MARGIN)
            stops = np.logical_or(*self.excluded(1.0)) | (low[0] & high[1])
        at = np.where(stops.any(axis=1), stops.argmax(axis=1), len(self.analyses) - 1)
        return float(missed[np.arange(MANY), at].mean())


def test_many_at_once_are_the_product_s_own_intervals() -> None:
    made = Pairs("normal", 0.03, 0.03, 60, seed=5)
    below, above = made.excluded(1.03)
    for row in range(200):
        for k, look in enumerate(looks(made.d[row], final=True)):
            assert below[row, k] == (look.low is not None and look.low > 1.03)
            assert above[row, k] == (look.high is not None and look.high < 1.03)


@pytest.mark.parametrize(
    ("truth", "gate"),
    [(0.0, None), (0.0, 0.0), (0.01, 0.01), (0.03, 0.03), (0.1, 0.1), (0.015, 0.03), (0.06, 0.1),
     (0.0, 0.03), (0.03, None)],
)  # fmt: skip
@pytest.mark.parametrize(("cv", "cap"), [(0.01, 60), (0.03, 100)])
@pytest.mark.parametrize("noise", NOISES)
def test_one_interval_serves_verdict_and_gate(
    noise: str, cv: float, cap: int, truth: float, gate: float | None
) -> None:
    seed = round(1e4 * (truth + cv)) + cap
    missed = Pairs(noise, truth, cv, cap, seed).misses(truth, gate)
    print(f"{noise}, CoV {cv:.0%}, truth {truth:.1%}, gate {gate}: missed {missed:.2%}")
    assert at_most(round(missed * MANY), 0.05, MANY), missed
