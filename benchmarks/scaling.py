"""Are the breaks of a sweep found, and straight ones left in peace? Known truths, with noise.

Sweeps of CALIBRATE's shapes are made up: lines, H90's three ranges with jumps, a ceiling; noise
that grows with the rate, quotas that are off by a fixed share, a neighbour's bursts, constant
noise, heavy tails. Told is how often each verdict comes out, and beside it what least squares with
Schwarz's criterion alone would say of the same means. Fails where a bar is missed.

    .venv/bin/python benchmarks/scaling.py [--sweeps 200] [--straight 2000]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import ruptures

from tare.statistics.scaling import Scaling, scaling

#: Slope of H60 and H90 at full speed, in GFLOPS a CPU, and of H90 at its lowest frequency.
FAST, SLOW = 54.0, 11.0
#: How near a break is to be found.
NEAR = 0.1 + 1e-9


def line(x: np.ndarray) -> np.ndarray:
    return FAST * x


def offset(x: np.ndarray) -> np.ndarray:
    """H60 has an intercept of 3 % of its maximum below zero; where it would be negative, none."""
    return FAST * x - 0.03 * FAST * x.max()


def h90(x: np.ndarray) -> np.ndarray:
    """CALIBRATE's H90: governors change near .55 and 2.9."""
    return np.where((x < 0.55) | (x > 2.9), FAST, SLOW) * x


def between(x: np.ndarray) -> np.ndarray:
    """The same, with a step of its own in the middle, as in CALIBRATE's figure at 2.9."""
    return np.where(np.abs(x - 2.9) < 0.03, 0.6 * FAST * x, h90(x))


def one_jump(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0.75, FAST, 0.8 * FAST) * x


def early(x: np.ndarray) -> np.ndarray:
    """A break after the first three quotas."""
    return np.where(x < 0.35, 1.3 * FAST, FAST) * x


def bends(x: np.ndarray) -> np.ndarray:
    """Three slopes without a jump."""
    return FAST * (np.minimum(x, 1) + 0.6 * np.clip(x - 1, 0, 1.5) + 0.3 * np.maximum(x - 2.5, 0))


def power(x: np.ndarray) -> np.ndarray:
    return FAST * x**0.9


def ceiling(x: np.ndarray) -> np.ndarray:
    """One thread cannot use more than one CPU."""
    return FAST * np.minimum(x, 1)


def both(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0.55, FAST * x, 0.6 * FAST * np.minimum(x, 1.5))


@dataclass(frozen=True)
class Kind:
    """A kind of sweep: its truth, steps, repetitions, and what is wrong with them."""

    truth: Callable[[np.ndarray], np.ndarray]
    steps: int
    repetitions: int
    noise: float
    #: SD of what each quota is off by, relative, the same in all its repetitions.
    off: float = 0.0
    #: Share of windows that a neighbour takes 30 % of.
    bursts: float = 0.0
    #: SD of noise that does not grow with the rate, of the largest rate.
    constant: float = 0.0
    #: Degrees of freedom of Student's t instead of normal noise, of the same quartiles.
    tails: float = math.inf
    #: Relative noise at the last quota, where it is another than at the first, with a line between.
    grows_to: float | None = None
    #: Autocorrelation of windows measured quota by quota, one pass after another.
    memory: float = 0.0

    def make(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = np.round(np.arange(1, self.steps + 1) * 0.1, 1)
        shape = (self.repetitions, self.steps)
        noise = rng.standard_normal(shape)
        if math.isfinite(self.tails):
            noise = rng.standard_t(self.tails, shape) * 0.86
        if self.memory:
            flat = noise.ravel()
            for i in range(1, flat.size):
                flat[i] = self.memory * flat[i - 1] + math.sqrt(1 - self.memory**2) * flat[i]
        true = self.truth(x * (1 + self.off * rng.standard_normal(self.steps)))
        last = self.noise if self.grows_to is None else self.grows_to
        y = true * (1 + np.linspace(self.noise, last, self.steps) * noise)
        y = y + self.constant * true.max() * rng.standard_normal(shape)
        y = y * np.where(rng.random(shape) < self.bursts, 0.7, 1)
        return np.tile(x, self.repetitions), y.ravel()

    def __str__(self) -> str:
        some = [f"{self.steps} × {self.repetitions}", f"noise {self.noise:.0%}"]
        some += [f"to {self.grows_to:.0%}"] if self.grows_to is not None else []
        some += ["intercept"] if self.truth is offset else []
        some += [f"off {self.off:.0%}"] if self.off else []
        some += ["bursts"] if self.bursts else []
        some += [f"constant {self.constant:.1%}"] if self.constant else []
        some += [f"t{self.tails:g}"] if math.isfinite(self.tails) else []
        some += [f"AR {self.memory:g}, in order"] if self.memory else []
        return ", ".join(some)


def schwarz(x: np.ndarray, y: np.ndarray) -> int:
    """Pieces by unweighted least squares of the means with Schwarz's criterion alone."""
    at, where = np.unique(x, return_inverse=True)
    mean = np.bincount(where, weights=y) / np.bincount(where)
    signal = np.column_stack([mean, at, np.ones(len(at))])
    search = ruptures.Dynp(model="linear", min_size=3, jump=1).fit(signal)
    told = []
    for breaks in range(3):
        try:
            ends = search.predict(n_bkps=breaks) if breaks else [len(at)]
        except ruptures.exceptions.BadSegmentationParameters:
            continue
        left = max(search.cost.sum_of_costs(ends), 1e-300)
        told.append(len(at) * math.log(left / len(at)) + (3 * breaks + 2) * math.log(len(at)))
    return int(np.argmin(told)) + 1


def breaks_right(found: Scaling, expected: tuple[float, ...]) -> bool:
    return len(found.breaks) == len(expected) and all(
        abs(a - b) <= NEAR for a, b in zip(found.breaks, expected, strict=True)
    )


STRAIGHT = [
    *(Kind(line, n, r, s) for n in (20, 40) for r in (1, 5, 7) for s in (0.01, 0.03, 0.05)),
    *(Kind(line, n, r, 0.02, off=0.01) for n in (20, 40) for r in (1, 5, 7)),
    *(Kind(line, n, 5, 0.0, off=0.01) for n in (8, 12, 20, 40, 80)),
    *(Kind(line, n, 1, 0.03) for n in (5, 6, 7, 8, 10, 12, 15)),
    *(Kind(line, n, 5, 0.03) for n in (5, 6, 7, 8)),
    Kind(offset, 20, 5, 0.03),
    Kind(offset, 20, 7, 0.01, off=0.01),
    *(Kind(line, n, r, 0.02, off=0.01, bursts=0.05) for n in (20, 40) for r in (5, 7)),
    Kind(line, 40, 5, 0.03, tails=2.5),
    *(Kind(line, n, r, 0.01, constant=0.01) for n in (20, 40) for r in (1, 5)),
    *(Kind(line, n, 7, 0.02, constant=0.002) for n in (20, 40)),
    *(Kind(line, 20, r, 0.01, grows_to=to) for r in (1, 2, 3, 7) for to in (0.02, 0.04, 0.06, 0.1)),
    *(Kind(line, 40, r, 0.01, grows_to=0.1) for r in (1, 5)),
    *(Kind(line, 20, r, 0.1, grows_to=0.01) for r in (1, 7)),
]
#: No bar holds for these: one pass cannot tell what is far off, or lasts, from what the quota does.
HARD = [
    Kind(line, 40, 1, 0.02, bursts=0.05),
    Kind(line, 40, 1, 0.03, tails=2.5),
    Kind(line, 40, 1, 0.03, memory=0.5),
    Kind(line, 40, 1, 0.03, memory=0.9),
    Kind(line, 40, 5, 0.03, memory=0.9),
]
H90 = [
    *(Kind(h90, 40, 5, s) for s in (0.02, 0.03, 0.05)),
    *(Kind(h90, 40, 5, s, off=0.01) for s in (0.02, 0.05)),
    *(Kind(between, 40, 5, s) for s in (0.02, 0.05)),
    Kind(h90, 40, 1, 0.05),
    Kind(h90, 40, 5, 0.05, bursts=0.05),
    Kind(h90, 40, 5, 0.02, constant=0.005),
]
CEILING = [
    *(Kind(ceiling, 20, r, s, off=0.01) for r in (1, 5) for s in (0.02, 0.05)),
    Kind(ceiling, 20, 5, 0.05, bursts=0.05),
]
OTHERS = {
    one_jump: ("piecewise", (0.75,)),
    early: ("piecewise", (0.35,)),
    both: ("piecewise", (0.55,)),
    bends: ("piecewise", None),
    power: ("piecewise", None),
}


def count(kind: Kind, sweeps: int, right: Callable[[Scaling], bool]) -> tuple[Counter[str], int]:
    rng = np.random.default_rng(1)
    said: Counter[str] = Counter()
    good = 0
    for _ in range(sweeps):
        found = scaling(*kind.make(rng))
        said[found.verdict] += 1
        good += right(found)
    return said, good


def show(kind: Kind, said: Counter[str], good: int, mark: str) -> None:
    sweeps = said.total()
    words = ", ".join(f"{word} {n / sweeps:.1%}" for word, n in said.most_common())
    print(f"  {kind!s:<38} {good / sweeps:7.1%} {mark:<6} {words}", flush=True)


def straight(kinds: list[Kind], sweeps: int, bar: float | None) -> int:
    """Count bends in straight sweeps; bends and ceilings alike are false."""
    missed = 0
    for kind in kinds:
        said, _ = count(kind, sweeps, lambda found: False)
        false = said["piecewise"] + said["saturating"]
        fails = bar is not None and false > bar * sweeps
        rng = np.random.default_rng(1)
        some = min(sweeps, 200)
        plain = sum(schwarz(*kind.make(rng)) > 1 for _ in range(some)) / some
        show(kind, said, false, f"{'MISSED' if fails else ''}")
        print(f"  {'':<38} {plain:7.1%}        Schwarz's criterion alone")
        missed += fails
    return missed


def bent(kinds: list[Kind], sweeps: int, right: Callable[[Scaling], bool]) -> int:
    missed = 0
    for kind in kinds:
        said, good = count(kind, sweeps, right)
        missed += good < 0.95 * sweeps
        show(kind, said, good, "MISSED" if good < 0.95 * sweeps else "")
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--straight", type=int, default=2000)
    options = parser.parse_args()
    began = time.perf_counter()
    print("H90: piecewise, both breaks within 0.1 (at least 95 %)")
    h90_right = lambda f: f.verdict == "piecewise" and breaks_right(f, (0.55, 2.9))  # noqa: E731
    missed = bent(H90, options.sweeps, h90_right)
    print("One thread to 2 CPUs: saturating, at 1 within 0.1 (at least 95 %)")
    top = lambda f: f.verdict == "saturating" and abs((f.saturates_at or 0) - 1) <= NEAR  # noqa: E731
    missed += bent(CEILING, options.sweeps, top)
    covers = lambda f: (f.saturates_low or 0) <= 1 <= (f.saturates_high or 0)  # noqa: E731
    print("   of these, the interval of the place holds 1")
    for kind in CEILING[:4]:
        show(kind, *count(kind, options.sweeps, covers), "")
    print("Straight: called piecewise or saturating (at most 5 %)")
    missed += straight(STRAIGHT, options.straight, 0.05)
    print("Straight, without a bar")
    straight(HARD, min(options.straight, 500), None)
    print("Others: verdict and breaks as made, without a bar")
    for truth, (verdict, breaks) in OTHERS.items():
        for repetitions, noise in ((1, 0.01), (5, 0.02), (5, 0.05)):
            kind = Kind(truth, 40, repetitions, noise, off=0.01)
            right = lambda f, v=verdict, b=breaks: (  # noqa: E731
                f.verdict == v and (b is None or breaks_right(f, b))
            )
            print(f"  {truth.__name__}")
            show(kind, *count(kind, options.sweeps, right), "")
    x, y = H90[0].make(np.random.default_rng(1))
    start = time.perf_counter()
    for _ in range(20):
        scaling(x, y)
    print(f"A sweep of 40 × 5 takes {(time.perf_counter() - start) / 20 * 1e3:.1f} ms")
    print(f"{missed} bars missed; {time.perf_counter() - began:.0f} s")
    sys.exit(int(missed > 0))


if __name__ == "__main__":
    main()
