"""How often the interval of a mapping between two machines holds the true mapping.

Two made-up machines are swept over and over: 7 windows at each of 20 quotas from 0.1 to 2.0, with
relative noise of each window, and a relative error of each quota that all of its windows share. The
verdict is the product's own, so that what it costs to be wrong about breaks is in the figures.
Of each pair of sweeps the mapping is asked for at several places; counted is how often the interval
holds the truth, where there is a mapping at all: at the ends of what was measured a sweep that is
off has none, so that more than 95 % of the others hold it.

Run: ``python benchmarks/mapping.py [--replicates 2000]``. A line outside of 93 to 97 % is marked.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tare.errors import ExperimentError
from tare.experiment.sweep.document import Calibration, Interval, Machine, Point
from tare.features.calibration.mapping import mapping
from tare.statistics.scaling import scaling

WINDOWS = 7
NOISE = (0.01, 0.02, 0.05)
OFFSETS = (0.0, 0.01)
LEAST, MOST = 0.93, 0.97

Rate = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Pair:
    """Two machines whose rates are known: at x CPUs on A as fast as y on B."""

    name: str
    a: Rate
    b: Rate
    #: CPUs on A that are asked for.
    places: tuple[float, ...]
    #: CPUs on B that have a rate.
    on_b: Callable[[float], float]
    steps: tuple[int, int] = (20, 20)

    def truth(self) -> dict[float, float]:
        """Return the CPUs on B by those on A."""
        return {x: self.on_b(float(self.a(np.array(x)))) for x in self.places}


def line(slope: float, intercept: float = 0.0) -> Rate:
    return lambda x: intercept + slope * x


def ceiling(slope: float, at: float) -> Rate:
    return lambda x: slope * np.minimum(x, at)


def jumping(x: np.ndarray) -> np.ndarray:
    """CALIBRATE's H90, in three ranges."""
    return np.where(x < 0.55, 54 * x, np.where(x < 2.9, 12 * x, 54 * x))


PAIRS = (
    Pair("lines", line(28), line(17), (0.2, 0.7, 1.2), lambda r: r / 17),
    Pair(
        "lines with intercepts", line(23.4, -0.8), line(14, 0.5), (0.2, 0.7, 1.1),
        lambda r: (r - 0.5) / 14,
    ),
    Pair("one machine twice", line(28), line(28), (0.1, 1.0, 2.0), lambda r: r / 28),
    Pair("to a ceiling", line(12), ceiling(28, 1.0), (0.5, 1.5), lambda r: r / 28),
    Pair("from three ranges", jumping, line(28), (0.3, 0.4, 2.0), lambda r: r / 28, steps=(40, 20)),
    Pair("ten steps to five", line(28), line(17), (0.2,), lambda r: r / 17, steps=(10, 5)),
)  # fmt: skip


def swept(
    rate: Rate, steps: int, noise: float, offset: float, rng: np.random.Generator
) -> Calibration:
    """Sweep a made-up machine."""
    x = np.round(0.1 * np.arange(1, steps + 1), 10)
    true = rate(x) * (1 + offset * rng.standard_normal(steps))
    values = true[:, None] * (1 + noise * rng.standard_normal((steps, WINDOWS)))
    points = tuple(
        Point(
            cpus=float(cpus),
            rate=Interval(value=float(some.mean())),
            delivered=None,
            n=WINDOWS,
            trials=tuple(range(WINDOWS)),
            rates=tuple(map(float, some)),
            deliveries=(),
        )
        for cpus, some in zip(x, values, strict=True)
    )
    return Calibration(
        measured=None,
        by="quota",
        workload="linpack (size 1000)",
        work="flop",
        platform="bare",
        workers=2,
        period_s=0.1,
        points=points,
        asked=scaling(np.repeat(x, WINDOWS), values.ravel()),
        delivered=None,
        regimes=(),
        machine=Machine(),
    )


def coverage(
    pair: Pair, noise: float, offset: float, replicates: int, seed: int
) -> Iterator[tuple[float, float, float, float]]:
    """Yield place, share of intervals that hold the truth, their width, and how many there are."""
    rng = np.random.default_rng(seed)
    truth = pair.truth()
    found: dict[float, list[tuple[bool, float]]] = {x: [] for x in truth}
    for _ in range(replicates):
        a = swept(pair.a, pair.steps[0], noise, offset, rng)
        b = swept(pair.b, pair.steps[1], noise, offset, rng)
        try:
            equals = mapping(a, b, places=[*truth]).equals
        except ExperimentError:
            continue  # inconclusive: refused
        for one, (x, y) in zip(equals, truth.items(), strict=True):
            if one.on and one.on[0].low is not None and one.on[0].high is not None:
                low, high = one.on[0].low, one.on[0].high
                found[x].append((low <= y <= high, (high - low) / 2 / y))
    for x, some in found.items():
        if some:
            held, widths = zip(*some, strict=True)
            yield x, float(np.mean(held)), float(np.median(widths)), len(some) / replicates


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=2000)
    replicates = parser.parse_args().replicates
    began = time.monotonic()
    print(f"{'pair':22} noise offset    x  covered  half width  mapped")
    for pair in PAIRS:
        for noise in NOISE:
            for offset in OFFSETS:
                for x, share, width, mapped in coverage(pair, noise, offset, replicates, seed=1):
                    off = "" if LEAST <= share <= MOST else "  <--"
                    print(
                        f"{pair.name:22} {noise:5.0%} {offset:6.0%} {x:4.1f}  {share:7.1%}  "
                        f"{width:10.1%}  {mapped:6.1%}{off}",
                        flush=True,
                    )
    print(f"{replicates} replicates each, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
