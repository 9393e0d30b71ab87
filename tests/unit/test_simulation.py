"""The bounds of simulated rates, and what they notice."""

from __future__ import annotations

import numpy as np
import pytest
import simulation
from scipy import stats


def test_bounds_are_the_binomials() -> None:
    most = int(stats.binom.ppf(0.99, 4000, 0.05))
    assert simulation.at_most(most, 0.05)
    assert not simulation.at_most(most + 1, 0.05)
    least = int(stats.binom.ppf(0.01, 2000, 0.9))
    assert simulation.at_least(least, 0.9, 2000)
    assert not simulation.at_least(least - 1, 0.9, 2000)


@pytest.mark.parametrize("replicates", [1_000, 2_000, 4_000, 20_000])
def test_the_power_is_as_stated(replicates: int) -> None:
    true = simulation.noticed(0.05, replicates)
    assert f"{100 * true:.1f} % in {replicates:,}" in str(simulation.__doc__)
    events = np.random.default_rng(1).binomial(replicates, true, 4000)
    seen = sum(not simulation.at_most(int(n), 0.05, replicates) for n in events)
    assert seen / 4000 == pytest.approx(simulation.POWER, abs=0.015)


def test_an_autoregressive_process_has_its_memory_and_its_spread() -> None:
    series = simulation.autoregressive(0.6)(np.random.default_rng(1), 100_000)
    assert np.corrcoef(series[:-1], series[1:])[0, 1] == pytest.approx(0.6, abs=0.02)
    assert series.std() == pytest.approx(1, abs=0.02)
