"""Intervals of mean and SD of many groups and their comparisons, beside a loop over scipy.

tare: both intervals of each group by `mean_and_sd`; from these intervals STABILITY's words for all
pairs of groups; and the verdict on the ratio of each group to the next. scipy: a plain loop of
`scipy.stats.bootstrap`, percentile, the same number of resamples, for the mean and for the SD, and
nothing else. Ends of intervals must differ by no more than two bootstraps do by chance.

    .venv/bin/python benchmarks/bootstrap.py [--groups 200] [--n 1000]
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
from scipy import stats

from tare.statistics.comparison import compare_family
from tare.statistics.intervals import RESAMPLES, Interval
from tare.statistics.moments import coverage_like, mean_and_sd
from tare.statistics.stability_words import word

#: SD of the 2.5 % point of so many normal replicates, in SDs of a replicate.
ERROR = np.sqrt(0.025 * 0.975 / RESAMPLES) / stats.norm.pdf(stats.norm.ppf(0.025))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--n", type=int, default=1000, help="values a group")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    scales = rng.choice([1.0, 1.0, 1.01, 1.05], options.groups)
    groups = [100 * s * np.exp(0.1 * rng.standard_normal(options.n)) for s in scales]
    steps: dict[str, float] = {}
    before = peak()
    ours = timed(steps, "intervals of mean and SD", lambda: [mean_and_sd(g) for g in groups])
    words = timed(steps, "words of all pairs", lambda: all_words(ours))
    verdicts = timed(steps, "verdict of each on the next", lambda: neighbours(groups))
    memory = peak() - before
    apart: dict[str, float] = {}
    timed(apart, "simulated coverage of each", lambda: [coverage_like(g) for g in groups])
    theirs = timed(apart, "loop over scipy.stats.bootstrap", lambda: by_scipy(groups))
    total = sum(steps.values())
    print(f"{options.groups} groups of {options.n:,} values, {RESAMPLES} resamples; CPU time\n")
    scipys = apart["loop over scipy.stats.bootstrap"]
    for name, seconds in {**steps, "tare in all": total, **apart}.items():
        print(f"{name:<36}{seconds:>8.2f} s{seconds / scipys:>8.3f} × scipy")
    print(f"\nmemory of tare's part: {memory:.0f} MB above {before:.0f} MB")
    print(f"words: {dict(words)}")
    print(f"verdicts: {dict(verdicts)}")
    check(ours, theirs)


def timed(steps: dict[str, float], name: str, step):
    start = time.process_time()
    found = step()
    steps[name] = time.process_time() - start
    return found


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def all_words(intervals: list[tuple[Interval, Interval]]) -> Counter[str]:
    ends = [[(i.low, i.high) for i in both] for both in intervals]
    return Counter(word(a[k], b[k]) for a, b in combinations(ends, 2) for k in (0, 1))


def neighbours(groups: list[np.ndarray]) -> Counter[str]:
    family = compare_family(list(pairwise(groups)))
    return Counter(c.verdict for c in family)


def by_scipy(groups: list[np.ndarray]) -> list[list[tuple[float, float]]]:
    def sd(values: np.ndarray, axis: int) -> np.ndarray:
        return np.std(values, ddof=1, axis=axis)

    return [
        [
            stats.bootstrap(
                (g,), of, n_resamples=RESAMPLES, method="percentile", vectorized=True
            ).confidence_interval
            for of in (np.mean, sd)
        ]
        for g in groups
    ]


def check(ours: list[tuple[Interval, Interval]], theirs: list[list[tuple[float, float]]]) -> None:
    """Ends of intervals, apart by chance alone: errors of both bootstraps make the unit."""
    a = np.array([[(i.low, i.high) for i in both] for both in ours])
    b = np.array([[tuple(i) for i in both] for both in theirs])
    unit = (b[..., 1] - b[..., 0])[..., None] / 3.92 * ERROR * np.sqrt(2)
    z = ((a - b) / unit).ravel()
    print(
        f"differences of {z.size} ends in Monte-Carlo errors: SD {z.std():.2f} (by chance 1), ",
        end="",
    )
    print(f"mean {z.mean():+.2f}, largest {np.abs(z).max():.1f}")
    if not (np.abs(z).max() < 5 and z.std() < 1.2 and abs(z.mean()) < 0.2):
        raise SystemExit("the intervals differ by more than chance")


if __name__ == "__main__":
    main()
