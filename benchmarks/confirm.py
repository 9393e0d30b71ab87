"""How many runs would have been enough: in closed form, and by resampling as CONFIRM does it.

Original: a port of the published dashboard's algorithm to today's pandas (its sparse grid of
sizes, from each of them `trials` random subsets, ranks by the normal approximation). Bare: the
same without pandas, one numpy sort for all trials of a size, which is about as fast as resampling
can be; at the original's grid, and at every size as the closed form has it. Times are the best of
some turns, taken in turn; the scatter is what reseeding does to the answer.

    .venv/bin/python benchmarks/confirm.py [--n 1000] [--turns 5]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from tare.statistics.confirm import expected_curve, interval_ranks, repetitions, sizes_and_ranks

PRECISION = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000, help="runs of the series")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    values = np.random.default_rng(1).normal(100, 4, options.n)
    sparse, every = published_grid(options.n), np.arange(6, options.n + 1)
    rng = np.random.default_rng(2)
    ways: dict[str, tuple[int, Callable[[], int | None], int]] = {
        "exact, curve": (len(every), lambda: exact(values), options.turns),
        "exact, with n_assured and converges": (
            len(every),
            lambda: repetitions(values, PRECISION).n,
            options.turns,
        ),
        "bare, 20 trials": (len(sparse), lambda: bare(values, sparse, 20, rng), 2),
        "bare, 200 trials": (len(sparse), lambda: bare(values, sparse, 200, rng), 2),
        "bare, every size, 20 trials": (len(every), lambda: bare(values, every, 20, rng), 1),
        "bare, every size, 200 trials": (len(every), lambda: bare(values, every, 200, rng), 1),
        "original, 20 trials": (len(sparse), lambda: original(values, sparse, 20, rng), 2),
        "original, 200 trials": (len(sparse), lambda: original(values, sparse, 200, rng), 1),
    }
    best = {name: float("inf") for name in ways}
    answers: dict[str, list[int | None]] = {name: [] for name in ways}
    for turn in range(options.turns):
        for name, (_, way, turns) in ways.items():
            if turn < turns:
                # Ranks depend on n alone and are kept; each turn pays for them.
                sizes_and_ranks.cache_clear()
                start = time.process_time()
                answers[name].append(way())
                best[name] = min(best[name], time.process_time() - start)
    report(ways, best, answers, values, sparse)


def report(ways, best, answers, values: np.ndarray, sparse: np.ndarray) -> None:
    for _ in range(10):
        answers["bare, 20 trials"].append(bare(values, sparse, 20, np.random.default_rng()))
    n = len(values)
    print(f"{n} runs, CoV 4 %, median ±{PRECISION:.0%} at 95 %; CPU time\n")
    print(f"{'way':<38}{'sizes':>6}{'ms':>10}{'ratio to exact':>16}  runs needed")
    for name, (sizes, _, _) in ways.items():
        found = sorted({a if a is not None else n + 1 for a in answers[name]})
        words = str(found[0]) if len(found) == 1 else f"{found[0]}–{found[-1]}"
        ratio = best[name] / best["exact, curve"]
        print(f"{name:<38}{sizes:>6}{best[name] * 1e3:>10.2f}{ratio:>15.0f}×  {words}")


def exact(values: np.ndarray) -> int | None:
    curve = expected_curve(values)
    return stable(curve.s, curve.low, curve.high, curve.median)


def stable(sizes, low, high, median) -> int | None:
    """First size after which the bounds stay within the precision."""
    fails = np.maximum(high - median, median - low) > PRECISION * median
    if fails[-1]:
        return None
    last = np.flatnonzero(fails)
    return int(sizes[last[-1] + 1 if len(last) else 0])


def published_grid(n: int) -> np.ndarray:
    """Sizes that the published code looks at: ever fewer of the large ones."""
    steps = [(10, 200, 1), (200, 500, 2), (500, 1000, 10), (1000, 2000, 50), (2000, n + 1, 100)]
    kept = next((k for k, most in enumerate((200, 500, 1000, 2000), 1) if n < most), 5)
    last = steps[kept - 1]
    ranges = [*steps[: kept - 1], (last[0], n + 1, last[2])]
    return np.concatenate([np.arange(*r) for r in ranges])


def original(values: np.ndarray, sizes: np.ndarray, trials: int, rng) -> int | None:
    """Port of the published code: a data frame of all trials, averaged by size."""
    series = pd.Series(values)
    rows = []
    for _ in range(trials):
        for s in sizes:
            drawn = series.sample(int(s), random_state=rng)
            ordered = sorted(drawn.tolist())
            low = int(np.rint(s / 2 - 1.96 * np.sqrt(s) / 2))
            high = int(np.rint(1 + s / 2 + 1.96 * np.sqrt(s) / 2))
            # As published, ranks from 1 are used as places from 0.
            row = {"size": s, "median": drawn.median(), "low": ordered[low]}
            rows.append({**row, "high": ordered[min(high, s - 1)]})
    mean = pd.DataFrame(rows).groupby("size").mean()
    return stable(mean.index, mean["low"].values, mean["high"].values, mean["median"].values)


def bare(values: np.ndarray, sizes: np.ndarray, trials: int, rng) -> int | None:
    """Average the intervals of random subsets, with exact ranks, without anything in between."""
    rows, (low, high) = np.tile(values, (trials, 1)), interval_ranks(sizes, 0.5, 0.95)
    means = np.empty((len(sizes), 3))
    for k, s in enumerate(sizes):
        drawn = np.sort(rng.permuted(rows, axis=1)[:, :s], axis=1)
        middle = (drawn[:, (s - 1) // 2] + drawn[:, s // 2]) / 2
        means[k] = np.mean([drawn[:, low[k] - 1], drawn[:, high[k] - 1], middle], axis=1)
    return stable(sizes, means[:, 0], means[:, 1], means[:, 2])


if __name__ == "__main__":
    main()
