"""Are numbers trusted although executions share a warm-up, a drift or a period inside?

Forks of several iterations are audited as a file of them is. Of each design: how often the verdict
is TRUST, how often a timeline is shown, and in how many of the trusted series the interval of the
median covers the steady value; likewise with --steady, where what is refused is not
trusted. Rows as trials are audited without a column that numbers forks, so that only the values
show the groups.

    .venv/bin/python benchmarks/inside_executions.py [--replicates 1000] [--seed 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from tare.features.audit.question import Question
from tare.features.audit.series import SeriesAudit, audit_series, counted
from tare.readers.series import Series

Course = Callable[[int], np.ndarray]


@dataclass(frozen=True)
class Design:
    """Forks of iterations: SDs of both, what they have in common, and how iterations vary."""

    name: str
    forks: int
    iterations: int
    fork_sd: float = 0.02
    sd: float = 0.02
    course: Course | None = None
    rho: float = 0.0
    lognormal: bool = False
    rows: bool = False


def decaying(first: float) -> Course:
    return lambda n: first * np.exp(-np.arange(n) / 3)


def first_ones(share: float, size: float) -> Course:
    return lambda n: size * (np.arange(n) < share * n)


def line(size: float) -> Course:
    return lambda n: np.linspace(0, size, n)


def every_third(size: float) -> Course:
    return lambda n: size * (np.arange(n) % 3 == 2)


DESIGNS = [
    *(
        Design(f"clean, {forks} × {iterations}", forks, iterations)
        for forks, iterations in ((6, 3), (10, 10), (20, 3), (20, 20), (10, 300))
    ),
    Design("equal forks, 20 × 20", 20, 20, fork_sd=0),
    Design("AR(.8) inside, 20 × 20", 20, 20, rho=0.8),
    Design("AR(.95) inside, SD 20 %, 20 × 20", 20, 20, sd=0.2, rho=0.95),
    Design("lognormal, CoV 20 %, 20 × 20", 20, 20, sd=0.2, lognormal=True),
    Design("lognormal AR(.8), CoV 20 %, 20 × 20", 20, 20, sd=0.2, rho=0.8, lognormal=True),
    *(
        Design(f"+{size:.0%} decaying, {forks} × {iterations}", forks, iterations, course=course)
        for size, forks, iterations in (
            (0.5, 20, 20), (0.2, 20, 10), (0.05, 20, 20), (0.05, 10, 20), (0.5, 6, 20),
        )
        for course in (decaying(size),)
    ),
    Design("+20 % decaying, forks vary by 1 %", 20, 10, fork_sd=0.01, course=decaying(0.2)),
    Design("+5 % decaying, forks vary by 1 %", 20, 20, fork_sd=0.01, course=decaying(0.05)),
    Design("first 40 % × 3, 10 × 300", 10, 300, course=first_ones(0.4, 2)),
    Design("drift of 10 %, 20 × 20", 20, 20, course=line(0.1)),
    Design("every 3rd + 80 %, 20 × 20", 20, 20, course=every_third(0.8)),
    Design("3rd + 85 %, 20 × 3", 20, 3, course=every_third(0.85)),
    *(
        Design(f"rows, {forks} × {n}, forks vary by {sd:.0%}", forks, n, fork_sd=sd, rows=True)
        for forks, n, sd in ((5, 20, 0.01), (10, 10, 0.01), (5, 20, 0.02), (10, 10, 0.02))
    ),
]  # fmt: skip


def values_of(design: Design, rng: np.random.Generator, forks: int) -> np.ndarray:
    """Draw forks without what they have in common."""
    noise = rng.standard_normal((forks, design.iterations + 200))
    noise = lfilter([np.sqrt(1 - design.rho**2)], [1, -design.rho], noise)[:, 200:]
    if design.lognormal:
        noise = (np.exp(0.6 * noise) - np.exp(0.18)) / 0.788
    return np.asarray(
        (1 + design.sd * noise) * (1 + design.fork_sd * rng.standard_normal((forks, 1)))
    )


def draw(design: Design, rng: np.random.Generator) -> Series:
    values = values_of(design, rng, design.forks)
    if design.course is not None:
        values = values * (1 + design.course(design.iterations))
    n = values.size
    trial = np.repeat(np.arange(design.forks), design.iterations)
    if design.rows:
        trial = np.arange(n)
    return Series({}, values.ravel(), unit="s", lower_is_better=True, trial=trial)


def audited(series: Series, *, steady: bool) -> SeriesAudit:
    question = Question(steady=steady)
    return audit_series((Path("file"),), counted(series, question), {}, "", question)


def covers(found: SeriesAudit, truth: float) -> bool:
    low, high = found.median.low, found.median.high
    return low is not None and high is not None and low <= truth <= high


def row(design: Design, replicates: int, seed: int) -> str:
    rng = np.random.default_rng(seed)
    truth = float(np.median(values_of(design, rng, 20_000).mean(axis=1)))
    shown = 0
    trusted: dict[bool, list[bool]] = {False: [], True: []}
    for _ in range(replicates):
        series = draw(design, rng)
        for steady, some in trusted.items():
            found = audited(series, steady=steady)
            shown += found.timeline is not None and not steady
            if found.trust.verdict == "TRUST":
                some.append(covers(found, truth))
    cells = [f"{100 * shown / replicates:6.1f}"]
    for some in trusted.values():
        cells.append(f"{100 * len(some) / replicates:8.1f}")
        cells.append(f"{100 * np.mean(some):8.1f}" if some else f"{'–':>8}")
    return f"{design.name:40}{''.join(cells)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"per cent of {options.replicates}\n")
    print(f"{'':40}{'shown':>6}{'TRUST':>8}{'covers':>8}{'steady':>8}{'covers':>8}")
    for design in DESIGNS:
        print(row(design, options.replicates, options.seed), flush=True)


if __name__ == "__main__":
    main()
