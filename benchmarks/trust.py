"""How often is a clean series doubted, and how often is a planted defect found?

Doubts for other reasons than the precision of the median, beside a naive battery on the same
series: Shapiro–Wilk, Ljung–Box, runs, ADF with KPSS, each at 5 %, alarming where any of them does
(at n = 20 that is mostly ADF, which cannot reject a random walk with so few). Clean series are
independent draws of a normal, a lognormal and a bimodal distribution. Sizes of defects are in SDs
of single trials; the spread is 2 % and the target 1 %, so that 1 SD is two targets.

With --states instead: a machine that is 10 % slower in 30 % of the trials, in runs of some mean
length, judged with the default target; and how often the interval of those trusted covers the
median of a long time.

    .venv/bin/python benchmarks/trust.py [--replicates 1000] [--sizes 20 100 1000] [--states]
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.signal import lfilter
from statsmodels.sandbox.stats.runs import runstest_1samp
from statsmodels.stats.diagnostic import acorr_ljungbox
from statsmodels.tsa.stattools import adfuller, kpss

from tare.readers.series import Defect
from tare.statistics.changes import analyse_order
from tare.statistics.quantiles import quantiles
from tare.statistics.trust import PRECISION, trust

TARGET = 0.01

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Scenario:
    """A kind of series: values with mean 0 and SD 1, and whether they are clean."""

    name: str
    draw: Draw
    clean: bool = False
    spread: float = 2.0
    trials_known: bool = True
    defects: tuple[Defect, ...] = ()


def bimodal(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.standard_normal(n) + 4 * (rng.random(n) < 0.4) - 1.6) / 2.2


def lognormal(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.lognormal(0, 0.6, n) - 1.197) / 0.788


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_normal(n)


def remembering(rho: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        noise = rng.standard_normal(n + 300) * np.sqrt(1 - rho**2)
        return np.asarray(lfilter([1], [1, -rho], noise)[300:])

    return draw


def changing(change: Callable[[np.ndarray], np.ndarray]) -> Draw:
    """Add a change, in SDs, as a function of time from 0 to 1."""
    return lambda rng, n: rng.standard_normal(n) + change((np.arange(n) + 0.5) / n)


def broken(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.standard_normal(n)
    x[rng.integers(n)] = np.nan
    return x


MIXED = (Defect("mixed units", "Rows 1 to 5 are in ms, the others in s."),)
SCENARIOS = [
    *(
        Scenario(f"{draw.__name__}, CoV {spread} %", draw, clean=True, spread=spread)
        for draw in (normal, lognormal, bimodal)
        for spread in (1, 5, 20)
    ),
    *(Scenario(f"AR({rho})", remembering(rho)) for rho in (0.3, 0.5, 0.8, 0.95)),
    *(
        Scenario(f"drift of {d} SD", changing(lambda t, d=d: d * t))  # type: ignore[misc]
        for d in (0.5, 1, 1.5, 2, 3.5)
    ),
    *(
        Scenario(f"step of {d} SD", changing(lambda t, d=d: d * (t > 0.5)))  # type: ignore[misc]
        for d in (0.5, 1, 2.5)
    ),
    *(
        Scenario(
            f"warm-up, first {share:.0%}, {d} SD",
            changing(lambda t, d=d, share=share: d * (t < share)),  # type: ignore[misc]
        )
        for share in (0.1, 0.2)
        for d in (1.5, 2, 3, 5)
    ),
    *(
        Scenario(
            f"burst, 20 %, {d} SD",
            changing(lambda t, d=d: d * (abs(t - 0.5) < 0.1)),  # type: ignore[misc]
        )
        for d in (2, 4)
    ),
    Scenario("a NaN", broken),
    Scenario("mixed units", normal, defects=MIXED),
    Scenario("no trial identity", normal, trials_known=False),
    Scenario("n = 5", lambda rng, _: rng.standard_normal(5)),
]


def battery(x: np.ndarray) -> bool:
    """Alarm where any of the usual tests does at 5 %."""
    n = len(x)
    if n < 8 or not np.isfinite(x).all():
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(
            stats.shapiro(x).pvalue < 0.05
            or acorr_ljungbox(x, [min(10, n // 5)])["lb_pvalue"].iloc[0] < 0.05
            or runstest_1samp(x, "median")[1] < 0.05
            or adfuller(x, maxlag=int((n - 1) ** (1 / 3)), autolag=None)[1] >= 0.05
            or kpss(x, nlags="auto")[1] < 0.05
        )


def run(scenario: Scenario, n: int, replicates: int, naive: int) -> tuple[float, float, float]:
    """Return the share of tare's alarms, that of the battery's, and tare's ms a series."""
    rng = np.random.default_rng(n)
    alarms = naive_alarms = 0
    spent = 0
    for i in range(replicates):
        x = 100 + scenario.spread * scenario.draw(rng, n)
        begun = time.process_time_ns()
        known, defects = scenario.trials_known, scenario.defects
        is_sound = trust(x, trials_known=known, precision=TARGET, defects=defects).is_sound
        spent += time.process_time_ns() - begun
        alarms += not is_sound
        naive_alarms += battery(x) if i < naive else 0
    return alarms / replicates, naive_alarms / naive, spent / replicates / 1e6


SLOW, SLOWER, NOISE = 0.3, 0.1, 0.01
#: Median of a long time: fast trials are 70 %, and slow ones are all above it.
LONG_RUN = 1 + NOISE * float(stats.norm.ppf(0.5 / (1 - SLOW)))


def states(rng: np.random.Generator, n: int, length: float) -> np.ndarray:
    """Draw times of a machine that changes between two speeds after runs of a mean length."""
    leave_slow = 1 / length
    leave_fast = leave_slow * SLOW / (1 - SLOW)
    slow = np.empty(n, dtype=bool)
    slow[0] = rng.random() < SLOW
    changes = rng.random(n)
    for i in range(1, n):
        slow[i] = slow[i - 1] != (changes[i] < (leave_slow if slow[i - 1] else leave_fast))
    return np.asarray(1 + SLOWER * slow + NOISE * rng.standard_normal(n))


def in_states(replicates: int) -> None:
    print(f"slow in {SLOW:.0%} by {SLOWER:.0%}, {replicates} series a line, per cent")
    print("mean run of slow trials     n   TRUST   covers   covers of TRUST")
    for length in (1 / (1 - SLOW), 3, 10, 30):
        for n in (30, 100, 300):
            rng = np.random.default_rng(n)
            trusted, covers = np.zeros((2, replicates), dtype=bool)
            for i in range(replicates):
                x = states(rng, n, length)
                dependence = analyse_order(x, PRECISION).dependence
                median = quantiles(x, [0.5], 0.95, math.sqrt(dependence))[0]
                trusted[i] = trust(x, trials_known=True, median=median).verdict == "TRUST"
                if median.low is not None and median.high is not None:
                    covers[i] = median.low <= LONG_RUN <= median.high
            of_trusted = 100 * covers[trusted].mean() if trusted.any() else np.nan
            print(
                f"{length:>22.1f} {n:>6} {100 * trusted.mean():>7.1f} {100 * covers.mean():>8.1f}"
                f" {of_trusted:>17.1f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--naive", type=int, default=100, help="of them, judged by the battery")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 100, 1000])
    parser.add_argument("--states", action="store_true", help="a machine with two speeds instead")
    options = parser.parse_args()
    if options.states:
        in_states(options.replicates)
        return
    print(f"not sound, per cent of {options.replicates} series; battery: of {options.naive}\n")
    heads = "".join(f"{f'n = {n}':>8}{'battery':>9}{'ms':>6}" for n in options.sizes)
    print(f"{'':28}{heads}")
    for clean in (True, False):
        print("clean: should be ≤ 5" if clean else "planted: should be ≥ 90")
        for scenario in (s for s in SCENARIOS if s.clean == clean):
            row = f"  {scenario.name:26}"
            for n in options.sizes:
                found, naive, ms = run(scenario, n, options.replicates, options.naive)
                row += f"{100 * found:8.1f}{100 * naive:9.0f}{ms:6.1f}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
