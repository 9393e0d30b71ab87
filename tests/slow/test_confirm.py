"""CONFIRM's figures by simulation: false alarms of "does not converge", and what is assured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from simulation import REPLICATES, at_most

from tare.statistics.confirm import converges, repetitions, share_within

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

SHAPES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(100, 5, n),
    "skewed": lambda rng, n: np.exp(0.5 * rng.standard_normal(n)),
    "modes": lambda rng, n: rng.normal(100, 1, n) + np.where(rng.random(n) < 0.5, 10, 0),
    "ticks": lambda rng, n: np.round(rng.normal(100, 1, n)),
}


@pytest.mark.parametrize(("n", "q"), [(10, 0.5), (50, 0.5), (300, 0.5), (100, 0.9)])
@pytest.mark.parametrize("shape", SHAPES)
def test_exchangeable_runs_are_seldom_said_not_to_converge(shape: str, n: int, q: float) -> None:
    """At most 5 %, even where every movement of the quantile matters."""
    rng = np.random.default_rng(1)
    alarms = sum(not converges(SHAPES[shape](rng, n), 1e-9, q=q) for _ in range(REPLICATES))
    assert at_most(alarms, 0.05), alarms / REPLICATES


@pytest.mark.parametrize("n", [20, 50, 200])
def test_buckets_that_empty_are_found(n: int) -> None:
    """CLOUDNET's Figure 19: budgets that shrink from run to run, in at least 90 %."""
    rng = np.random.default_rng(2)
    levels = 1 + 0.15 * (np.arange(n) * 5 // n)
    found = sum(not converges(rng.normal(100, 5, n) * levels) for _ in range(2_000))
    assert found >= 0.9 * 2_000, found / 2_000


DISTRIBUTIONS: dict[str, Any] = {
    "normal": stats.norm(100, 3),
    "skewed": stats.gamma(4, 100, 2),
    "heavy": stats.t(3, 100, 2),
}


@pytest.mark.parametrize("q", [0.5, 0.9])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_nine_of_ten_samples_reach_what_is_assured(name: str, q: float) -> None:
    """On average over series of 1,000 runs, 90 % of later samples of `n_assured` runs do."""
    rng = np.random.default_rng(3)
    truth = DISTRIBUTIONS[name]
    population = truth.ppf((np.arange(200_000) + 0.5) / 200_000)
    sizes = []
    for _ in range(300):
        found = repetitions(truth.rvs(1_000, random_state=rng), q=q)
        assert found.n_assured is not None
        sizes.append(found.n_assured)
    unique, times = np.unique(sizes, return_counts=True)
    shares = share_within(population, unique, 0.01, 0.95, q)
    assert 0.88 <= np.average(shares, weights=times) <= 0.97
