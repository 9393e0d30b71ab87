"""Killed runs as values above the limit: coverage, wrong answers of a gate, and what is left open.

Two commands whose true ratio is exactly that of the gate (3 %) run in pairs; runs that are longer
than a fixed limit are killed at it. The limit is the quantile of the slower command's times at
which so many of its runs are killed. Four kinds of times:

* lognormal: both independent, sigma .5;
* bimodal: a fast and a slow mode (60 and 40 %, factor 2), 5 % noise;
* one side: the reference hardly varies (1 %) and is hardly ever killed, the other one is lognormal,
  sigma .5;
* blocks: what both of a pair have in common, sigma .5, so that both are killed together; 10 % noise
  of each run.

Of each, with the limits known and, for comparison, with killed pairs left out: how often the
interval of the pairs' median covers the true ratio (40 pairs, 95 %), how often a gate at the truth
is answered (pass + fail; looked at after every pair, up to 60), and how often it passes or fails by
itself. Then without pairs (Brunner–Munzel), and of one command the median and p90.

    .venv/bin/python benchmarks/killed_runs.py [--replicates 20000]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np

from tare.statistics.censored import interval_above
from tare.statistics.intervals import quantile_interval
from tare.statistics.pair_ratios import pair_ratio
from tare.statistics.sequential import compare_sequentially, looks
from tare.statistics.shift import paired_shift, unpaired_shift

GATE = 0.03
PAIRS, CAP, QUANTILE_PAIRS = 40, 60, 80
SHARES = (0.0, 0.05, 0.2, 0.4, 0.6)

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def lognormal(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.exp(0.5 * rng.standard_normal((2, n)))
    return first, (1 + GATE) * second


def bimodal(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    modes = np.where(rng.random((2, n)) < 0.4, 2.0, 1.0)
    first, second = modes * np.exp(0.05 * rng.standard_normal((2, n)))
    return first, (1 + GATE) * second


def one_sided(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.exp(np.array([[0.01], [0.5]]) * rng.standard_normal((2, n)))
    return first, (1 + GATE) * second


def blocks(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    common = np.exp(0.5 * rng.standard_normal(n))
    first, second = common * np.exp(0.1 * rng.standard_normal((2, n)))
    return first, (1 + GATE) * second


KINDS: dict[str, Draw] = {
    "lognormal": lognormal, "bimodal": bimodal, "one side": one_sided, "blocks": blocks,
}  # fmt: skip


def limit_of(draw: Draw, share: float) -> float:
    """Return the limit that a share of the slower command's runs exceed."""
    return float(np.quantile(draw(np.random.default_rng(0), 1_000_000)[1], 1 - share))


def killed(values: np.ndarray, limit: float) -> np.ndarray:
    return np.where(values > limit, np.inf, values)


def gate_answer(first: np.ndarray, second: np.ndarray, limit: float) -> str:
    """Answer the gate after every pair, as ``compare_sequentially`` does, without its cost."""
    low, high = bounds_of(first, second, limit)
    for a, b in zip(looks(low, final=True), looks(high, final=True), strict=True):
        if b.high is not None and b.high < 1 + GATE:
            return "pass"
        if a.low is not None and a.low > 1 + GATE:
            return "fail"
    return "open"


def bounds_of(first: np.ndarray, second: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """Log-ratios from the lower and from the upper ends; ± 1e3 stands for an infinite one."""
    ends = [np.log(np.minimum(x, limit)) for x in (first, second)]
    over = [1e3 * (x > limit) for x in (first, second)]
    return ends[1] - ends[0] - over[0], ends[1] - ends[0] + over[1]


def check(draw: Draw, limit: float) -> None:
    """Compare the shortcut with what the tool calls."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        first, second = draw(rng, CAP)
        found = compare_sequentially(
            killed(first, limit), killed(second, limit), gate=GATE, final=True, tick=0.0,
            limits=(limit, limit),
        ).comparison  # fmt: skip
        low, high = found.low or 0.0, np.inf if found.high is None else found.high
        own = "pass" if high < 1 + GATE else "fail" if low > 1 + GATE else "open"
        assert own == gate_answer(first, second, limit)


def paired(draw: Draw, limit: float, replicates: int) -> list[float]:
    """Return covered, open, and the gate's answers; then the same of pairs that both ended."""
    rng, truth = np.random.default_rng(1), float(np.log1p(GATE))
    counts = np.zeros(8)
    for _ in range(replicates):
        first, second = draw(rng, CAP)
        a, b = killed(first[:PAIRS], limit), killed(second[:PAIRS], limit)
        found = paired_shift(a, b, logs=True, tick=0.0, limits=(limit, limit))
        is_open = not np.isfinite([found.low, found.high]).all()
        counts[0] += found.low <= truth <= found.high
        counts[1] += is_open
        answer = gate_answer(first, second, limit)
        counts[2] += answer == "pass"
        counts[3] += answer == "fail"
        left = (first <= limit) & (second <= limit)
        some, other = first[left], second[left]
        if left[:PAIRS].sum() >= 6:
            own = left[:PAIRS]
            found = paired_shift(first[:PAIRS][own], second[:PAIRS][own], logs=True, tick=0.0)
            counts[4] += found.low <= truth <= found.high
            counts[5] += 1
        if len(some) >= 7:
            answer = gate_answer(some, other, np.inf)
            counts[6] += answer == "pass"
            counts[7] += answer == "fail"
    shares = counts / replicates
    shares[4] = counts[4] / max(1, counts[5])
    return [*shares[:5], *shares[6:]]


def alone(draw: Draw, limit: float, replicates: int) -> list[float]:
    """Return what is covered without pairs, and of the median and p90 of one command."""
    rng, truth = np.random.default_rng(2), float(np.log1p(GATE))
    reference = draw(np.random.default_rng(0), 1_000_000)[1]
    true = {q: float(np.quantile(reference, q)) for q in (0.5, 0.9)}
    counts = np.zeros(4)
    for _ in range(replicates):
        # Measured at other times, two commands have no blocks in common.
        first, second = draw(rng, PAIRS)[0], draw(rng, PAIRS)[1]
        found = unpaired_shift(
            killed(first, limit), killed(second, limit), logs=True, tick=0.0, limits=(limit, limit)
        )
        counts[0] += found.low is None or found.low <= truth <= found.high
        counts[1] += found.low is None or not np.isfinite([found.low, found.high]).all()
        for place, q in enumerate((0.5, 0.9)):
            interval = interval_above(
                lambda values, tick, q=q: quantile_interval(values, q, tick=tick),
                killed(second, limit), np.full(PAIRS, limit), 0.0,
            )  # fmt: skip
            counts[2 + place] += interval.low is None or interval.low <= true[q] <= interval.high
    return list(counts / replicates)


def quantiles(draw: Draw, limit: float, replicates: int) -> list[float]:
    """Return what is covered of the ratio of p90, and how often a gate on it answers."""
    rng = np.random.default_rng(3)
    counts = np.zeros(3)
    for _ in range(replicates):
        first, second = (killed(x, limit) for x in draw(rng, QUANTILE_PAIRS))
        found = pair_ratio(first, second, 0.9, tick=0.0, limits=(limit, limit))
        truth = np.log1p(GATE)
        counts += found.low <= truth <= found.high, found.high < truth, found.low > truth
    return list(counts / replicates)


def line(name: str, share: float, found: Sequence[float]) -> str:
    return f"{name:<12}{100 * share:>5.0f} %" + "".join(f"{100 * x:>10.1f}" for x in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=20_000)
    parser.add_argument("--only", help="one of the tables, by the beginning of its title")
    options = parser.parse_args()
    replicates = options.replicates
    heads = {
        "paired": (paired, ("covers", "open", "pass", "fail", "left out:", "pass", "fail"), 1),
        "unpaired, one command": (alone, ("covers", "open", "median", "p90"), 1),
        "p90 of pairs": (quantiles, ("covers", "pass", "fail"), 10),
    }
    for title, (measure, columns, fewer) in heads.items():
        if options.only and not title.startswith(options.only):
            continue
        n = replicates // fewer
        print(f"\n{title}; {n:,} replicates a line, per cent")
        print(f"{'times':<12}{'killed':>7}" + "".join(f"{c:>10}" for c in columns))
        for name, draw in KINDS.items():
            for share in SHARES:
                limit = limit_of(draw, share) if share else 1e9
                check(draw, limit)
                print(line(name, share, measure(draw, limit, n)), flush=True)


if __name__ == "__main__":
    main()
