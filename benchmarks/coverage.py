"""How often the stopping rule's intervals cover, where the truth is known.

Twenty kinds of series (fifteen of the research behind the rule, five nasty ones of ours), each
scaled to coefficients of variation of 1, 2 and 5 %, are measured until the rule stops; then it
is counted how often the interval that it stopped on holds the true quantile. What is measured is
the product's own ``tare.statistics.interim_analysis.look`` and ``next_look``, on many series at a
time; a unit test holds that to be what ``decide_cell`` does with one.

Run: ``python benchmarks/coverage.py [--replicates 2000] [--quantiles 0.5,0.9,0.95,0.99]
[--only NAME,…] [--anytime]``, or ``--early`` for what stops before 50 trials.
A table of coverage, mean n, the share that was refused (the cap, memory, drift) and the share that
was held up for a change of level is printed; a line with less than 94 % is marked. Replicates are
drawn from one seed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.signal import lfilter

from tare.statistics.interim_analysis import (
    CAP,
    EARLY,
    FIRST_LOOK,
    Target,
    early_look,
    early_widths,
    first_look,
    look,
    next_look,
)

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


def stop_early(rows: np.ndarray, target: Target) -> Ends:
    """Apply the early rule to many series; size 0: not within the trials that there are."""
    m = len(rows)
    size = np.zeros(m, dtype=int)
    ends = Ends(size, *(np.zeros(m, dtype=bool) for _ in range(2)), np.zeros(m), np.zeros(m))
    for n in (n for n, _ in EARLY if target.early and n <= min(rows.shape[1], target.cap)):
        going = np.flatnonzero(~ends.reached)
        some = going[early_look(rows[going, :n], target)]
        middle, half = np.median(rows[some, :n], axis=1), early_widths(rows[some, :n])
        size[some], ends.reached[some] = n, True
        ends.low[some], ends.high[some] = middle - half, middle + half
    return ends


def stop(rows: np.ndarray, target: Target) -> Ends:
    """Apply the rule to many series, all that have a look in common at a time."""
    ends = stop_early(rows, target)
    first = FIRST_LOOK if target.anytime else first_look(target.quantile)
    size, going = ends.size, ~ends.reached
    size[going] = min(first, target.cap)
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


#: Coefficients of variation at which the early rule is tried, for a target of 2 %.
EARLY_CV = (0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.01, 0.012, 0.014,
            0.015, 0.016, 0.02)  # fmt: skip
#: Among which a median of two modes is looked for.
_PLACES = np.linspace(0.9, 1.2, 300_001)
_MOST_EARLY = EARLY[-1][0]
#: Trials of a session in which something changes.
_SESSION = 50


def skewed(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Values with a lognormal tail, in SDs from their median."""
    return (np.exp(rng.standard_normal((m, n))) - 1) / np.sqrt((np.e - 1) * np.e)


def mixture(rng: np.random.Generator, m: int, cv: float) -> tuple[np.ndarray, float]:
    """70 % at 1 and 30 % at 1.1, and the median of both together."""
    far = rng.random((m, _MOST_EARLY)) < 0.3
    rows = (1 + cv * rng.standard_normal((m, _MOST_EARLY))) * np.where(far, 1.1, 1.0)
    both = 0.7 * stats.norm.cdf((_PLACES - 1) / cv) + 0.3 * stats.norm.cdf((_PLACES / 1.1 - 1) / cv)
    return rows, float(_PLACES[np.searchsorted(both, 0.5)])


def changing(
    course: Callable[[np.random.Generator, int], np.ndarray], truth: float
) -> Callable[[np.random.Generator, int, float], tuple[np.ndarray, float]]:
    def draw(rng: np.random.Generator, m: int, cv: float) -> tuple[np.ndarray, float]:
        return 1 + cv * normal(rng, m, _MOST_EARLY) + course(rng, m)[:, :_MOST_EARLY], truth

    return draw


def levels(kept: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Two levels 5 % apart, each kept for some trials on average."""

    def course(rng: np.random.Generator, m: int) -> np.ndarray:
        flips = rng.random((m, _SESSION)) < 1 / kept
        flips[:, 0] = rng.random(m) < 0.5
        return 0.05 * (np.cumsum(flips, axis=1) % 2)

    return course


def scaled(draw: Draw) -> Callable[[np.random.Generator, int, float], tuple[np.ndarray, float]]:
    return lambda rng, m, cv: (1 + cv * draw(rng, m, _MOST_EARLY), 1.0)


EARLY_SERIES = {
    "normal": scaled(normal),
    "lognormal": lambda rng, m, cv: (np.exp(cv * normal(rng, m, _MOST_EARLY)), 1.0),
    "lognormal tail": scaled(skewed),
    "70/30, + 10 %": mixture,
    "AR .5": scaled(remembering(0.5)),
    "AR .9": scaled(remembering(0.9)),
    "AR .95": scaled(remembering(0.95)),
}
#: What no early rule can hold: the truth is the median of a session of 50 trials.
EARLY_LIMITS = {
    "drift of 2 %": changing(lambda rng, m: np.tile(np.linspace(0, 0.02, _SESSION), (m, 1)), 1.01),
    "jump of 3 %": changing(
        lambda rng, m: np.tile(0.03 * (np.arange(_SESSION) >= 15), (m, 1)), 1.03
    ),
    "states of 10": changing(levels(10), 1.025),
    "states of 30": changing(levels(30), 1.025),
}  # fmt: skip


def early(name: str, cv: float, replicates: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Apply the early rule to series of a kind.

    Returns
    -------
    (array, array, array)
        Trials at the stop, 0 where none was early; whether the interval holds the truth; whether
        the truth is further from the median than the target.
    """
    target = Target(0.02, early=True)
    rng = np.random.default_rng([round(1e4 * cv), 5])
    rows, truth = (EARLY_SERIES | EARLY_LIMITS)[name](rng, replicates, cv)
    ends = stop_early(rows, target)
    middle = (ends.low + ends.high) / 2
    covered = (ends.low <= truth) & (truth <= ends.high)
    return ends.size, covered, np.abs(middle - truth) > target.precision * np.abs(middle)


def early_table(replicates: int) -> None:
    print("of those that stop early: covered / wrong by more than the target, in % (share, mean n)")
    for name in EARLY_SERIES | EARLY_LIMITS:
        for cv in EARLY_CV:
            size, covered, wrong = early(name, cv, replicates)
            some = size > 0
            if some.mean() < 0.05:
                print(f"{name:<16} {cv:>6.2%}  {'—':>5}   {'':>5} ({some.mean():.0%})")
                continue
            shares = f"{covered[some].mean():>6.1%} / {wrong[some].mean():>5.1%}"
            print(f"{name:<16} {cv:>6.2%} {shares} ({some.mean():.0%}, n {size[some].mean():.0f})")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--quantiles", default="0.5,0.9,0.95,0.99")
    parser.add_argument("--cv", default="0.01,0.02,0.05")
    parser.add_argument("--only", default="")
    parser.add_argument("--anytime", action="store_true")
    parser.add_argument("--early", action="store_true")
    asked = parser.parse_args()
    began = time.process_time()
    if asked.early:
        early_table(asked.replicates)
        return
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
