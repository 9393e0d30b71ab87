"""Calibrations without a machine: what a sweep would have found, from a rule for its rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tare.calibration.document import Calibration, Interval, Machine, Point, Regime
from tare.statistics.scaling import scaling

GIGA = 1e9


def interval(values: Sequence[float]) -> Interval:
    mean = float(np.mean(values))
    half = 2.45 * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return Interval(value=mean, low=mean - half, high=mean + half)


def make(
    rate: Callable[[float], float],
    quotas: Sequence[float],
    *,
    noise: float = 0.02,
    trials: int = 7,
    clock: Callable[[float], float] | None = None,
    frequency: Callable[[float], float] | None = None,
    limit: float = 1e9,
    seed: int = 1,
    **more: object,
) -> Calibration:
    """Measure a machine whose rate, in GFLOPS, follows a rule; at most ``limit`` CPUs arrive."""
    rng = np.random.default_rng(seed)
    points = []
    for i, quota in enumerate(quotas):
        rates = tuple(float(v) for v in GIGA * rate(quota) * (1 + noise * rng.normal(size=trials)))
        got = tuple(float(v) for v in min(quota, limit) * (1 + 0.004 * rng.normal(size=trials)))
        points.append(
            Point(
                cpus=quota,
                rate=interval(rates),
                delivered=interval(got),
                n=trials,
                trials=tuple(range(i * trials, (i + 1) * trials)),
                rates=rates,
                deliveries=got,
                clock_hz=GIGA * clock(quota) if clock else None,
                frequency_hz=GIGA * frequency(quota) if frequency else None,
                throttled_share=1.0 if quota < limit else 0.0,
                throttled_s=1.0,
                steal_cpus=0.0,
                residual=3.1,
            )
        )
    places = np.repeat(quotas, trials)
    every = np.array([rate for p in points for rate in p.rates])
    given = np.array([got for p in points for got in p.deliveries])
    asked = scaling(places, every)
    return Calibration(
        measured="2026-05-01T10:00:00Z",
        by="quota",
        workload="linpack (size 1000)",
        work="flop",
        platform="bare",
        workers=4,
        period_s=0.1,
        points=tuple(points),
        asked=asked,
        delivered=scaling(given, every, places),
        regimes=tuple(
            Regime(
                start=some.start,
                end=some.end,
                relative_speed=1.0,
                cause="unseen",
                evidence="Nothing that this machine tells explains it.",
            )
            for some in asked.segments
        ),
        machine=Machine(cpu="Made-up CPU", cpus=4, kernel="6.1", governor="powersave"),
        **more,  # type: ignore[arg-type]
    )


def steps(last: float, step: float = 0.1) -> list[float]:
    return [round(step * i, 10) for i in range(1, round(last / step) + 1)]


def linear(**more: object) -> Calibration:
    """Two CPUs that scale as they should, in a VM: a clock, no cpufreq."""
    return make(
        lambda q: 28.4 * q, steps(2.0),
        noise=0.012, clock=lambda q: 2.91, limit=1.99, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def h90(**more: object) -> Calibration:
    """CALIBRATE's machine: three ranges, with jumps between them."""

    def fast(q: float) -> bool:
        return q < 0.55 or q > 2.85

    return make(
        lambda q: (53.9 if fast(q) else 11.6) * q, steps(4.0),
        noise=0.035, clock=lambda q: 3.8 if fast(q) else 0.82,
        frequency=lambda q: 3.79 if fast(q) else 0.8, limit=3.99, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def saturating(**more: object) -> Calibration:
    """Asked for more than the CPUs that it can use."""
    return make(
        lambda q: 28.4 * min(q, 2.0), steps(3.0),
        noise=0.012, clock=lambda q: 2.91, limit=2.0, **more,  # type: ignore[arg-type]
    )  # fmt: skip
