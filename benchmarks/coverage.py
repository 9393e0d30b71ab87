"""How often the stopping rule's intervals cover, where the truth is known.

Twenty kinds of series (fifteen of the research behind the rule, five nasty ones of ours), each
scaled to coefficients of variation of 1, 2 and 5 %, are measured until the rule stops; then it
is counted how often the interval that it stopped on holds the true quantile. What is measured is
the product's own ``tare.statistics.interim_analysis.look`` and ``next_look``, on many series at a
time; a unit test holds that to be what ``decide_cell`` does with one.

Run: ``python benchmarks/coverage.py [--replicates 2000] [--quantiles 0.5,0.9,0.95,0.99]
[--only NAME,…] [--anytime]``. A table of coverage, mean n, the share that
was refused (the cap, memory, drift) and the share that was held up for a change of level is
printed; a line with less than 94 % is marked. Replicates are drawn from one seed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.signal import lfilter

from tare.statistics.interim_analysis import CAP, FIRST_LOOK, Target, first_look, look, next_look

Draw = Callable[[np.random.Generator, int, int], np.ndarray]
#: Values of one batch of series; bounds the memory.
BATCH = 4_000_000
#: Values that the true quantiles come from.
TRUTH = 8_000_000
LEAST = 0.94


def autoregressive(
    rng: np.random.Generator, rho: float, m: int, n: int, noise: np.ndarray | None = None
) -> np.ndarray:
    """First-order autoregression with variance 1 for noise of variance 1; settled."""
    start = 300 if rho < 0.95 else 1000
    if noise is None:
        noise = rng.standard_normal((m, n + start))
    scaled = noise * np.sqrt(1 - rho**2)
    return np.asarray(lfilter([1], [1, -rho], scaled, axis=1)[:, -n:])


def modes(rng: np.random.Generator, m: int, n: int, shares: list[float], sd: float) -> np.ndarray:
    """Modes at 0, 1, 2 … with the same spread."""
    places = np.searchsorted(np.cumsum(shares)[:-1], rng.random((m, n)))
    return places + sd * rng.standard_normal((m, n))


def remembering_modes(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    latent = autoregressive(rng, 0.5, m, n)
    return np.where(latent > stats.norm.ppf(0.6), 1.0, 0.0) + 0.3 * autoregressive(rng, 0.5, m, n)


def heavy_and_remembering(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    return autoregressive(rng, 0.5, m, n, rng.standard_t(3, (m, n + 300)))


def daily(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    """A period of 48 trials, as large as the noise, begun anywhere."""
    return periodic(rng, m, n, 48)


def periodic(rng: np.random.Generator, m: int, n: int, period: int) -> np.ndarray:
    phase = rng.random((m, 1))
    return np.sin(2 * np.pi * (np.arange(n) / period + phase)) + rng.standard_normal((m, n))


def switching(rng: np.random.Generator, m: int, n: int, kept: float = 5) -> np.ndarray:
    """Two levels, two SDs apart, each kept for some trials on average."""
    flips = rng.random((m, n)) < 1 / kept
    flips[:, 0] = rng.random(m) < 0.5
    return 2.0 * (np.cumsum(flips, axis=1) % 2) + rng.standard_normal((m, n))


def ticking(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    """AR(.5) read from a clock whose ticks are half an SD."""
    return np.round(autoregressive(rng, 0.5, m, n) * 2) / 2


def slow_mode(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    return rng.standard_normal((m, n)) + 8.0 * (rng.random((m, n)) < 0.03)


@dataclass(frozen=True)
class Scenario:
    """A kind of series, of any location and spread, and the precision asked of it."""

    name: str
    draw: Draw
    precision: float = 0.01
    #: No finite variance: scaled by the MAD.
    heavy: bool = False
    #: Multiplied up, not added.
    relative: bool = False


def normal(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    return rng.standard_normal((m, n))


def remembering(rho: float) -> Draw:
    return lambda rng, m, n: autoregressive(rng, rho, m, n)


SCENARIOS = (
    Scenario("normal", normal),
    Scenario("normal, target 2 %", normal, 0.02),
    Scenario("normal, target 0.5 %", normal, 0.005),
    Scenario("lognormal", normal, relative=True),
    Scenario("bimodal 60/40", lambda r, m, n: modes(r, m, n, [0.6, 0.4], 0.1)),
    Scenario("bimodal 52/48", lambda r, m, n: modes(r, m, n, [0.52, 0.48], 0.1)),
    Scenario("trimodal", lambda r, m, n: modes(r, m, n, [0.3, 0.4, 0.3], 0.1)),
    Scenario("t2", lambda r, m, n: r.standard_t(2, (m, n)), heavy=True),
    Scenario("Pareto 1.5", lambda r, m, n: r.pareto(1.5, (m, n)), heavy=True),
    Scenario("ties of one SD", lambda r, m, n: np.round(r.standard_normal((m, n)))),
    Scenario("AR .5", remembering(0.5)),
    Scenario("AR .8", remembering(0.8)),
    Scenario("AR .9", remembering(0.9)),
    Scenario("AR .5 and bimodal", remembering_modes),
    Scenario("AR .98", remembering(0.98)),
    Scenario("ours: AR .5, t3", heavy_and_remembering),
    Scenario("ours: daily pattern", daily),
    Scenario("ours: slow mode 3 %", slow_mode),
    Scenario("ours: switching levels", switching),
    Scenario("ours: AR .5 in ticks", ticking),
)
#: Beyond what a rule that looks at 50 trials can see: told, and not held to anything.
LIMITS = (
    Scenario("limit: AR .95", remembering(0.95)),
    Scenario("limit: period of 96", lambda r, m, n: periodic(r, m, n, 96)),
    Scenario("limit: levels kept for 10", lambda r, m, n: switching(r, m, n, 10)),
    Scenario("limit: levels kept for 50", lambda r, m, n: switching(r, m, n, 50)),
)


class Standard:
    """A scenario's series with median-free location 1 and a chosen coefficient of variation."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        rows = scenario.draw(np.random.default_rng(7), TRUTH // 8000, 8000)
        flat = np.sort(rows.ravel())
        self._flat = flat
        middle = flat[len(flat) // 2]
        if scenario.heavy:
            self._place = float(middle)
            self._scale = 1.4826 * float(np.median(np.abs(flat - middle)))
        else:
            self._place, self._scale = float(flat.mean()), float(flat.std())

    def scaled(self, x: np.ndarray, cv: float) -> np.ndarray:
        z = (x - self._place) / self._scale
        return np.exp(np.sqrt(np.log1p(cv**2)) * z) if self.scenario.relative else 1 + cv * z

    def truth(self, q: float, cv: float) -> float:
        return float(self.scaled(self._flat[int(q * len(self._flat))], cv))


@dataclass
class Ends:
    """Where many series stopped: arrays of shape (m,)."""

    size: np.ndarray
    reached: np.ndarray
    held: np.ndarray
    low: np.ndarray
    high: np.ndarray


def stop(rows: np.ndarray, target: Target) -> Ends:
    """Apply the rule to many series, all that have a look in common at a time."""
    m = len(rows)
    first = FIRST_LOOK if target.anytime else first_look(target.quantile)
    size = np.full(m, min(first, target.cap))
    ends = Ends(size, *(np.zeros(m, dtype=bool) for _ in range(2)), np.zeros(m), np.zeros(m))
    going = np.ones(m, dtype=bool)
    while going.any():
        n = int(size[going].min())
        here = np.flatnonzero(going & (size == n))
        for part in np.array_split(here, max(1, -(-len(here) * n // BATCH))):
            seen = look(rows[part, :n], target)
            ends.reached[part], ends.low[part], ends.high[part] = seen.tight, seen.low, seen.high
            ends.held[part] |= seen.held
            over = seen.tight | seen.refused | (n >= target.cap)
            going[part[over]] = False
            later = part[~over]
            size[later] = [next_look(n, int(p), target) for p in seen.projected[~over]]
    return ends


def row(scenario: Standard, cv: float, q: float, replicates: int, anytime: bool) -> str:
    """Return a line of the table."""
    target = Target(scenario.scenario.precision, q, anytime=anytime)
    truth = scenario.truth(q, cv)
    rng = np.random.default_rng([int(100 * cv), int(1000 * q), 11])
    parts = []
    for begin in range(0, replicates, BATCH // CAP):
        x = scenario.scenario.draw(rng, min(BATCH // CAP, replicates - begin), CAP)
        parts.append(stop(scenario.scaled(x, cv), target))
    size, reached, held, low, high = (
        np.concatenate([getattr(p, f) for p in parts])
        for f in ("size", "reached", "held", "low", "high")
    )
    covered = (low <= truth) & (truth <= high) & reached
    refused = 1 - reached.mean()
    if not reached.any():
        return f"{'—':>8} {size.mean():>8.0f} {refused:>8.1%} {held.mean():>6.1%}"
    share = covered.sum() / reached.sum()
    few = stats.binom.cdf(covered.sum(), reached.sum(), LEAST) < 0.01
    mark = "  < 94 %" if few else "  (94 %?)" if share < LEAST else ""
    return f"{share:>8.1%} {size.mean():>8.0f} {refused:>8.1%} {held.mean():>6.1%}{mark}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--quantiles", default="0.5,0.9,0.95,0.99")
    parser.add_argument("--cv", default="0.01,0.02,0.05")
    parser.add_argument("--only", default="")
    parser.add_argument("--anytime", action="store_true")
    asked = parser.parse_args()
    began = time.process_time()
    print(f"{asked.replicates} replicates a line; cap {CAP}")
    print(
        f"{'series':<24} {'CoV':>4} {'q':>5} {'covers':>8} {'mean n':>8} {'refused':>8} {'held':>6}"
    )
    for scenario in (*SCENARIOS, *LIMITS):
        if asked.only and not any(name in scenario.name for name in asked.only.split(",")):
            continue
        standard = Standard(scenario)
        for cv in map(float, asked.cv.split(",")):
            for q in map(float, asked.quantiles.split(",")):
                told = row(standard, cv, q, asked.replicates, asked.anytime)
                print(f"{scenario.name:<26} {cv:>4.0%} {q:>5g} {told}", flush=True)
    print(f"{time.process_time() - began:.0f} s of CPU time")


if __name__ == "__main__":
    main()
