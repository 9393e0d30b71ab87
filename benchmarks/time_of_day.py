"""Error rates of the analysis by time of day and week: docs/explanation/statistics.md.

Each simulation has days of one sample per minute (or per 10 minutes, or per hour), summarised by
hourly medians: 14 for the daily cycle, and 3 weeks or more for the weekly one. The long-run median
is 1. The daily cycle is a sine of ± 10 % with a random phase; in the weekly one, Saturdays and
Sundays differ from the other days by 10 %.

    python benchmarks/time_of_day.py [--n 600] [--alarms 6000] [--seed 1]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from scipy import signal

from tare.statistics.intervals import Interval
from tare.statistics.statistic import FloatArray
from tare.statistics.time_of_day import (
    ALPHA,
    DAY_S,
    HOUR_S,
    TimeOfDay,
    daily_cycle,
    time_of_day,
    unit_medians,
    weekly_cycle,
)

DAYS = 14
#: A Monday, 00:00 UTC.
BEGUN_S = 1_777_852_800.0


@dataclass(frozen=True)
class Scenario:
    """Noise, sampling and course of one simulation."""

    name: str
    #: Samples an hour.
    rate: int
    #: Autocorrelation of neighbouring samples.
    phi: float
    #: Coefficient of variation of a sample.
    cov: float = 0.2
    #: Of the daily cycle.
    amplitude: float = 0.0
    #: By how much values of Saturdays and Sundays are lower.
    weekend: float = 0.0
    days: float = DAYS


SCENARIOS = (
    Scenario("independent, 1 min", 60, 0.0),
    Scenario("AR(.9), 1 min", 60, 0.9),
    Scenario("AR(.9), 10 min", 6, 0.9),
    Scenario("course, independent, 1 min", 60, 0.0, amplitude=0.1),
    Scenario("course, AR(.9), 1 min", 60, 0.9, amplitude=0.1),
    Scenario("course, AR(.9), 10 min", 6, 0.9, amplitude=0.1),
    Scenario("course, AR(.9), 1 min, CoV 50 %", 60, 0.9, 0.5, 0.1),
)

WEEKLY = (
    Scenario("independent, 1 min, 3 weeks", 60, 0.0, days=21),
    Scenario("AR(.9), 1 min, 3 weeks", 60, 0.9, days=21),
    Scenario("AR(.9), 10 min, 3 weeks", 6, 0.9, days=21),
    Scenario("AR(.9), 1 h, 3 weeks", 1, 0.9, days=21),
    Scenario("AR(.9), 1 h, 3.5 weeks", 1, 0.9, days=24.5),
    Scenario("AR(.9), 1 h, 8 weeks", 1, 0.9, days=56),
    Scenario("daily, AR(.9), 1 h, 3.5 weeks", 1, 0.9, amplitude=0.3, days=24.5),
    Scenario("weekend, independent, 1 min, 3 weeks", 60, 0.0, weekend=0.1, days=21),
    Scenario("weekend, AR(.9), 1 min, 3 weeks", 60, 0.9, weekend=0.1, days=21),
    Scenario("weekend, AR(.9), 10 min, 3 weeks", 6, 0.9, weekend=0.1, days=21),
    Scenario("weekend, AR(.9), 10 min, 6 weeks", 6, 0.9, weekend=0.1, days=42),
    Scenario("weekend, AR(.9), 1 h, 3 weeks", 1, 0.9, weekend=0.1, days=21),
    Scenario("weekend, AR(.9), 1 h, 12 weeks", 1, 0.9, weekend=0.1, days=84),
)


def autoregressive(rng: np.random.Generator, n: int, phi: float) -> FloatArray:
    """Draw a stationary first-order autoregression of variance 1."""
    start = 500
    steps = rng.standard_normal(n + start) * np.sqrt(1 - phi**2)
    return np.asarray(signal.lfilter([1], [1, -phi], steps)[start:])


def draw(rng: np.random.Generator, of: Scenario) -> tuple[FloatArray, FloatArray]:
    """Draw times, from a Monday on, and values."""
    n = round(of.days * 24 * of.rate)
    at_s = BEGUN_S + (np.arange(n) + 0.5) * HOUR_S / of.rate
    wave = np.sin(2 * np.pi * (at_s / DAY_S + rng.random()))
    weekend = (at_s - BEGUN_S) // DAY_S % 7 >= 5
    course = 1 + of.amplitude * wave - of.weekend * weekend
    return at_s, course + of.cov * autoregressive(rng, n, of.phi)


def alarms(of: Scenario, n: int, seed: int) -> float:
    """Return the share of simulations in which a daily cycle is shown."""
    rng = np.random.default_rng(seed)
    cycles = (daily_cycle(unit_medians(*draw(rng, of))) for _ in range(n))
    return float(np.mean([not isinstance(cycle, str) and cycle.p < ALPHA for cycle in cycles]))


def weekly_alarms(of: Scenario, n: int, seed: int) -> float:
    """Return the share of simulations in which a weekly cycle is shown."""
    rng, shown = np.random.default_rng(seed), 0
    for _ in range(n):
        units = unit_medians(*draw(rng, of))
        cycle = weekly_cycle(units, daily_cycle(units))
        shown += not isinstance(cycle, str) and cycle.p < cycle.alpha
    return shown / n


def simulate(rng: np.random.Generator, of: Scenario) -> TimeOfDay:
    """Analyse two simulated weeks."""
    found = time_of_day(*draw(rng, of))
    assert found is not None
    return found


def covers(interval: Interval) -> bool:
    """Whether an interval holds the long-run median."""
    low, high = interval.low, interval.high
    return low is not None and high is not None and low <= 1 <= high


def figures(found: TimeOfDay) -> tuple[float, ...]:
    """Return what covers, whether all is stationary, and the amplitude."""
    return (
        float(covers(found.medians.median)),
        float(covers(found.samples.median)),
        float(found.is_whole),
        np.nan if isinstance(found.day.cycle, str) else found.day.cycle.amplitude,
    )


def main() -> None:
    """Print a row per scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=600)
    parser.add_argument("--alarms", type=int, default=6000, help="simulations of the first column")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{'':34}{'daily':>8}{'medians':>9}{'samples':>9}{'whole':>8}{'amplitude':>11}")
    for of in SCENARIOS:
        rng = np.random.default_rng(options.seed)
        found = np.array([figures(simulate(rng, of)) for _ in range(options.n)])
        *shares, amplitude = (*100 * found[:, :-1].mean(axis=0), 100 * np.median(found[:, -1]))
        daily = 100 * alarms(of, options.alarms, options.seed)
        print(f"{of.name:34}" + "".join(f"{share:8.1f} " for share in (daily, *shares)), end="")
        print(f"{amplitude:10.1f}", flush=True)
    print(f"\n{'':40}{'weekly':>8}")
    for of in WEEKLY:
        weekly = 100 * weekly_alarms(of, options.alarms, options.seed)
        print(f"{of.name:40}{weekly:7.1f}", flush=True)


if __name__ == "__main__":
    main()
