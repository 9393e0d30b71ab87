"""What somebody sees who watches: coverage of every shown interval, and of the one pressed at."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from simulation import REPLICATES

from tare.statistics.series_intervals import interval_at_stop
from tare.statistics.watched import watched_bounds

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

LEAST = 0.94
#: As a run of 10 s has them; looked at after every trial at first, then as fast as eyes are.
SIZES = sorted({*range(2, 61), *(int(60 * 1.1**k) for k in range(1, 18))})
SHOWN = SIZES[-1]


def normal(rng: np.random.Generator, m: int) -> np.ndarray:
    return rng.normal(100.0, 5.0, (m, SHOWN))


def lognormal(rng: np.random.Generator, m: int) -> np.ndarray:
    return np.asarray(100.0 * np.exp(0.3 * rng.standard_normal((m, SHOWN))))


def bimodal(rng: np.random.Generator, m: int) -> np.ndarray:
    return np.where(rng.random((m, SHOWN)) < 0.4, 90.0, 110.0) + rng.normal(0, 2, (m, SHOWN))


def dependent(rng: np.random.Generator, m: int, rho: float = 0.6) -> np.ndarray:
    x = rng.standard_normal((m, SHOWN + 100))
    for i in range(1, x.shape[1]):
        x[:, i] = rho * x[:, i - 1] + (1 - rho**2) ** 0.5 * x[:, i]
    return 100.0 + 5.0 * x[:, 100:]


def truth(draw: object) -> float:
    # The median of 90 or 110, with 40 % of the first: the 1/6 quantile of the second.
    return 110.0 + 2.0 * float(stats.norm.ppf(1 / 6)) if draw is bimodal else 100.0


@pytest.mark.parametrize("draw", [normal, lognormal, bimodal, dependent])
def test_who_stops_at_the_best_moment_is_told_the_truth(draw: object) -> None:
    assert callable(draw)
    rng, at = np.random.default_rng(15), truth(draw)
    targets = (0.01, 0.02, 0.05)
    covers = {"every": 0, "narrowest": 0, "last": 0, **dict.fromkeys(map(str, targets), 0)}
    first = []
    for _ in range(0, REPLICATES, 1000):
        rows = draw(rng, 1000)
        every = np.ones(1000, dtype=bool)
        width, narrowest = np.full(1000, np.inf), np.ones(1000, dtype=bool)
        pressed = {x: np.ones(1000, dtype=bool) for x in targets}
        waits = {x: np.ones(1000, dtype=bool) for x in targets}
        began = np.full(1000, SHOWN + 1)
        for n in SIZES:
            shown = watched_bounds(rows[:, :n])
            there = np.isfinite(shown.low)
            holds = (shown.low <= at) & (at <= shown.high)
            began[there] = np.minimum(began[there], n)
            # Nothing is shown of a series before it is worth six trials.
            assert (shown.worth[there] >= 6).all()
            every &= holds | ~there
            wide = np.where(there, shown.high - shown.low, np.inf)
            narrowest[wide < width] = holds[wide < width]
            width = np.minimum(width, wide)
            half = np.maximum(shown.high - shown.middle, shown.middle - shown.low) / shown.middle
            for x in targets:
                now = waits[x] & there & (half <= x)
                pressed[x][now] = holds[now]
                waits[x] &= ~now
        # Who does not press is told what the rule says at its end.
        for i in np.flatnonzero(every):
            final = interval_at_stop(rows[i])
            assert final.low is not None
            assert final.high is not None
            covers["last"] += bool(final.low <= at <= final.high)
        covers["every"] += int(every.sum())
        covers["narrowest"] += int(narrowest.sum())
        for x in targets:
            covers[str(x)] += int(pressed[x].sum())
        first += began.tolist()
    rates = {name: count / REPLICATES for name, count in covers.items()}
    if draw is dependent:
        # What the final interval then lacks is the rule's, not of who watches.
        del rates["last"]
    print(getattr(draw, "__name__", ""), rates, "first shown at", np.median(first))
    assert min(rates.values()) >= LEAST - stats.norm.ppf(0.99) * (0.06 * 0.94 / REPLICATES) ** 0.5
