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
from tare.statistics.signed_rank import signed_rank_cdf, signed_rank_interval

GATE = 0.03
TRUTH = float(np.log1p(GATE))
PAIRS, CAP, QUANTILE_PAIRS = 40, 60, 80
#: Log-ratios that only infinite values have.
FAR = 100.0
#: Replicates of what is computed one by one.
FEW = 2_000
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


def bounds_of(first: np.ndarray, second: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """Log-ratios from the lower and from the upper ends; ± 1e3 stands for an infinite one."""
    ends = [np.log(np.minimum(x, limit)) for x in (first, second)]
    over = [1e3 * (x > limit) for x in (first, second)]
    return ends[1] - ends[0] - over[0], ends[1] - ends[0] + over[1]


def beyond(log_ratios: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Tell of each row whether its interval lies above the truth, and whether below.

    The interval at a level leaves out a value where the signed ranks about it do.
    """
    n = log_ratios.shape[1]
    most = int(np.searchsorted(signed_rank_cdf(n), level / 2, side="right")) - 1
    about = log_ratios - TRUTH
    ranks = np.argsort(np.argsort(np.abs(about), axis=1), axis=1) + 1
    above = (ranks * (about > 0)).sum(axis=1)
    return n * (n + 1) // 2 - above <= most, above <= most


def gate_answers(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows pass the gate and which fail it, looked at after every pair."""
    passes, fails = np.zeros(len(low), dtype=bool), np.zeros(len(low), dtype=bool)
    for look in looks(np.zeros(low.shape[1]), final=True):
        waiting = ~(passes | fails)
        fails[waiting] |= beyond(low[waiting][:, : look.n], look.level)[0]
        passes[waiting] |= beyond(high[waiting][:, : look.n], look.level)[1] & ~fails[waiting]
    return passes, fails


def check(draw: Draw, limit: float) -> None:
    """Compare these shortcuts with what the tool calls."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        first, second = draw(rng, CAP)
        known, limits = (killed(first, limit), killed(second, limit)), (limit, limit)
        found = compare_sequentially(*known, gate=GATE, final=True, tick=0.0, limits=limits)
        low, high = (x[None] for x in bounds_of(first, second, limit))
        passes, fails = (bool(x[0]) for x in gate_answers(low, high))
        c = found.comparison
        assert passes == (c.high is not None and c.high < 1 + GATE)
        assert fails == (c.low is not None and c.low > 1 + GATE)
        fixed = paired_shift(*known, logs=True, tick=0.0, limits=limits)
        assert (fixed.low > TRUTH) == beyond(low, 0.05)[0][0]
        assert (fixed.high < TRUTH) == beyond(high, 0.05)[1][0]


def drawn(draw: Draw, seed: int, n: int, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = [draw(rng, n) for _ in range(replicates)]
    return np.array([a for a, _ in rows]), np.array([b for _, b in rows])


def paired(draw: Draw, limit: float, replicates: int) -> list[float]:
    """Return covered, open, and the gate's answers; then the same of pairs that both ended."""
    first, second = drawn(draw, 1, CAP, replicates)
    low, high = bounds_of(first, second, limit)
    covers = ~beyond(low[:, :PAIRS], 0.05)[0] & ~beyond(high[:, :PAIRS], 0.05)[1]
    passes, fails = gate_answers(low, high)
    ends = [
        (signed_rank_interval(a[:PAIRS])[0], signed_rank_interval(b[:PAIRS])[1])
        for a, b in zip(low[:FEW], high[:FEW], strict=True)
    ]
    is_open = np.abs(ends).max(axis=1) > FAR
    left = np.zeros(4)
    for a, b in zip(first[:FEW], second[:FEW], strict=True):
        both = (a <= limit) & (b <= limit)
        d = np.log(b[both] / a[both])[None]
        own = d[:, : both[:PAIRS].sum()]
        if own.shape[1] >= 6:
            left[:2] += not any(x[0] for x in beyond(own, 0.05)), 1
        if d.shape[1] >= 7:
            left[2:] += [x[0] for x in gate_answers(d, d)]
    shares = [x.mean() for x in (covers, is_open, passes, fails)]
    return [*shares, left[0] / max(1, left[1]), *left[2:] / min(FEW, replicates)]


def alone(draw: Draw, limit: float, replicates: int) -> list[float]:
    """Return what is covered without pairs, and of the median and p90 of one command."""
    rng = np.random.default_rng(2)
    reference = draw(np.random.default_rng(0), 1_000_000)[1]
    true = {q: float(np.quantile(reference, q)) for q in (0.5, 0.9)}
    counts = np.zeros(4)
    for number in range(replicates):
        # Measured at other times, two commands have no blocks in common.
        first, second = draw(rng, PAIRS)[0], draw(rng, PAIRS)[1]
        a, b = killed(first, limit), killed(second, limit)
        if number < FEW:
            found = unpaired_shift(a, b, logs=True, tick=0.0, limits=(limit, limit))
            counts[0] += found.low is None or found.low <= TRUTH <= found.high
            counts[1] += found.low is None or not np.isfinite([found.low, found.high]).all()
        for place, q in enumerate((0.5, 0.9)):
            interval = interval_above(
                lambda values, tick, q=q: quantile_interval(values, q, tick=tick),
                b, np.full(PAIRS, limit), 0.0,
            )  # fmt: skip
            counts[2 + place] += interval.low is None or interval.low <= true[q] <= interval.high
    return [*counts[:2] / min(FEW, replicates), *counts[2:] / replicates]


def quantiles(draw: Draw, limit: float, replicates: int) -> list[float]:
    """Return what is covered of the ratio of p90, and how often a gate on it answers."""
    rng = np.random.default_rng(3)
    ends = [np.quantile(x, 0.9) for x in draw(np.random.default_rng(0), 1_000_000)]
    truth = float(np.log(ends[1] / ends[0]))
    counts = np.zeros(3)
    for _ in range(replicates):
        first, second = (killed(x, limit) for x in draw(rng, QUANTILE_PAIRS))
        found = pair_ratio(first, second, 0.9, tick=0.0, limits=(limit, limit))
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
        "p90 of pairs": (quantiles, ("covers", "pass", "fail"), 40),
    }
    for title, (measure, columns, fewer) in heads.items():
        if options.only and not title.startswith(options.only):
            continue
        n = replicates // fewer
        print(f"\n{title}; {n:,} replicates a line ({FEW:,} one by one), per cent")
        print(f"{'times':<12}{'killed':>7}" + "".join(f"{c:>10}" for c in columns))
        for name, draw in KINDS.items():
            for share in SHARES:
                limit = limit_of(draw, share) if share else 1e9
                check(draw, limit)
                print(line(name, share, measure(draw, limit, n)), flush=True)


if __name__ == "__main__":
    main()
