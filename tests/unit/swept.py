"""Calibrations of machines that were made up."""

from __future__ import annotations

import numpy as np

from tare.experiment.sweep.document import Calibration, Fit, Interval, Machine, Point
from tare.features.calibration.charts.sweep import Sweep, asked
from tare.features.calibration.fit_file import fit_of
from tare.results.report import Origin, Report
from tare.statistics.scaling import scaling

CPUS = tuple(round(0.1 * n, 1) for n in range(1, 21))


def calibration(
    speed: float = 30e9, *, noise: float = 0.01, slow_until: float = 0.0, seed: int = 1, n: int = 7
) -> Calibration:
    """Return the calibration of a machine that is linear, or slower up to some quota."""
    rng = np.random.default_rng(seed)
    points = []
    for cpus in CPUS:
        true = speed * cpus * (0.6 if cpus <= slow_until else 1.0)
        rates = true * (1 + noise * rng.standard_normal(n))
        points.append(_point(cpus, tuple(map(float, rates))))
    x = np.array([p.cpus for p in points for _ in p.rates])
    y = np.array([rate for p in points for rate in p.rates])
    return Calibration(
        measured="2026-01-01T00:00:00Z",
        by="quota",
        workload="linpack (size 1000)",
        work="flop",
        platform="bare",
        workers=2,
        period_s=0.1,
        points=tuple(points),
        asked=scaling(x, y),
        delivered=None,
        regimes=(),
        machine=Machine(cpu="made up", cpus=2),
    )


def fit_of_others(places, values, axis="cpu") -> Fit:
    """Return a sweep that others measured, in a unit of theirs."""
    steps: dict[float, list[float]] = {}
    for place, value in zip(places, values, strict=True):
        steps.setdefault(place, []).append(value)
    told = tuple((place, tuple(some)) for place, some in sorted(steps.items()))
    return fit_of(axis, "theirs", "flop", told)


def of_others(places, values, axis="cpu") -> Sweep:
    """Return it as it is drawn, in GFLOPS."""
    return asked(fit_of_others(places, values, axis), (1.0, "GFLOPS"))


def _point(cpus: float, rates: tuple[float, ...]) -> Point:
    rate = Interval(value=float(np.mean(rates)))
    if len(rates) > 1:
        half = 2.45 * float(np.std(rates, ddof=1)) / len(rates) ** 0.5
        rate = Interval(value=rate.value, low=rate.value - half, high=rate.value + half)
    return Point(
        cpus=cpus,
        rate=rate,
        delivered=Interval(value=cpus),
        n=len(rates),
        trials=tuple(range(len(rates))),
        rates=rates,
        deliveries=(cpus,) * len(rates),
    )


#: The page of a folder that holds nothing.
EMPTY = Report(name="", question="", strip=(), sections=(), origin=Origin(commands=(), versions=()))
