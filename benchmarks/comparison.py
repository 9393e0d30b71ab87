"""Is it different? False alarms of tare beside pyperf and hyperfine, and the pairs that it takes.

One series of made-up run times is what a machine does while it runs a command twice under two
names; nothing differs. Every method concludes from the same series:

* tare: interleaved pairs, the order inside each by coin flip, looked at after every pair, stopped
  at its verdict; an alarm is "slower" or "faster".
* pyperf: its own ``compare_to`` code (pyperf._compare) on pyperf.Benchmark objects; an alarm is
  "significant". With the first 10 or 20 pairs of the same interleaved series, and as its defaults
  run (60 values of one, then 60 of the other).
* hyperfine: "A ran x ± s times faster than B", its formula; an alarm is an x − s above 1. And the
  test that it ships, scripts/welch_ttest.py: Welch's t, p < .05. With the same 10 or 20 pairs, and
  as its defaults run (10 of one, then 10 of the other).

Then: the pairs that a right verdict takes (3 % against zero, CoV 5 %, margin 2 %), against the
paired Wilcoxon test with n fixed to have the same power; how often a difference of exactly the
margin is called the same; and how often the interval at the stop covers.

With --estimates instead: the bias of estimates at the stop, of the plain Hodges–Lehmann median and
of the median-unbiased one that is reported.

    .venv/bin/python benchmarks/comparison.py [--replicates 4000]
    .venv/bin/python benchmarks/comparison.py --estimates --replicates 20000 [--spreads 1 2 5 10]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pyperf
from pyperf._compare import CompareData, CompareResult
from scipy import stats
from scipy.signal import lfilter

from tare.statistics.sequential import compare_sequentially, decides, looks
from tare.statistics.signed_rank import hodges_lehmann, signed_rank_cdf

MARGIN, EFFECT, COV = 0.02, 0.03, 0.05
CAP = 300
OPEN = 1500


def autoregressive(rho: float) -> Callable:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        noise = rng.standard_normal(n + 300) * np.sqrt(1 - rho**2)
        return lfilter([1], [1, -rho], noise)[300:]

    return draw


SERIES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "iid normal": lambda rng, n: rng.standard_normal(n),
    "AR(.5)": autoregressive(0.5),
    "AR(.95)": autoregressive(0.95),
    "bimodal": lambda rng, n: rng.choice([-1.0, 1.0], n) + 0.1 * rng.standard_normal(n),
    "t2": lambda rng, n: rng.standard_t(2, n),
    "lognormal": lambda rng, n: np.exp(rng.standard_normal(n)) / 2,
    "drift": lambda rng, n: rng.standard_normal(n) + 0.05 * np.arange(n),
}


def tare(first: np.ndarray, second: np.ndarray) -> bool:
    for look in looks(np.log(second / first)):
        if decides(look, MARGIN):
            return look.low > 1 or look.high < 1
    return False


def pyperf_compare(first: np.ndarray, second: np.ndarray) -> bool:
    benchmarks = [
        pyperf.Benchmark([pyperf.Run(list(x), metadata={"name": "x"}, collect_metadata=False)])
        for x in (first, second)
    ]
    old, new = (CompareData(str(i), b) for i, b in enumerate(benchmarks))
    return bool(CompareResult(old, new).significant)


def hyperfine_ratio(first: np.ndarray, second: np.ndarray) -> bool:
    low, high = sorted((first, second), key=np.mean)
    ratio = high.mean() / low.mean()
    relative = [x.std(ddof=1) / x.mean() for x in (first, second)]
    return bool(ratio - ratio * np.hypot(*relative) > 1)


def hyperfine_welch(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(stats.ttest_ind(first, second, equal_var=False).pvalue < 0.05)


PEERS = {
    "pyperf": (pyperf_compare, 60),
    "hf ±": (hyperfine_ratio, 10),
    "welch": (hyperfine_welch, 10),
}


def false_alarms(replicates: int) -> None:
    names = ["tare", *(f"{p} {n}" for p in PEERS for n in ("10", "20", "own"))]
    for cov in (0.01, 0.02, 0.05):
        print(f"\nfalse alarms, CoV {cov:.0%}, {replicates:,} series a line, per cent")
        print(f"{'series':<12}" + "".join(f"{n:>11}" for n in names))
        for name, draw in SERIES.items():
            rng = np.random.default_rng(1)
            alarms = np.zeros(len(names))
            for _ in range(replicates):
                series = np.exp(cov * draw(rng, 2 * CAP))
                a, b = rng.permuted(series.reshape(-1, 2), axis=1).T
                found = [tare(a, b)]
                for method, own in PEERS.values():
                    found += [method(a[:n], b[:n]) for n in (10, 20)]
                    found.append(method(series[:own], series[own : 2 * own]))
                alarms += found
            print(f"{name:<12}" + "".join(f"{100 * x / replicates:>11.1f}" for x in alarms))


def noisy(rng: np.random.Generator, effect: float, cov: float, shape: tuple) -> np.ndarray:
    first, second = (np.log1p(cov * rng.standard_normal(shape)) for _ in range(2))
    return second - first + np.log1p(effect)


def fixed_power(sizes: range, replicates: int) -> np.ndarray:
    """Power of the exact two-sided signed-rank test at 5 % to find the effect, for each n."""
    rng = np.random.default_rng(2)
    power = []
    for n in sizes:
        d = noisy(rng, EFFECT, COV, (replicates, n))
        against = (stats.rankdata(np.abs(d), axis=1) * (d < 0)).sum(axis=1)
        power.append(np.mean(signed_rank_cdf(n)[against.astype(int)] <= 0.025))
    return np.array(power)


def pairs_to_a_verdict(replicates: int) -> None:
    sizes = range(50, 131, 4)
    power = fixed_power(sizes, 5 * replicates)
    smooth = np.polynomial.Polynomial.fit(sizes, stats.norm.ppf(power), 3)
    fine = np.linspace(sizes[0], sizes[-1], 2000)
    n_of = lambda p: float(np.interp(stats.norm.ppf(p), smooth(fine), fine))  # noqa: E731
    print(
        f"\npairs to a right verdict: {EFFECT:.0%} against zero, CoV {COV:.0%}, margin {MARGIN:.0%}"
    )
    print("budget    power  mean pairs  fixed-n Wilcoxon of this power  ratio")
    at = []
    for budget in (66, 70, 74, 78, 90, 120, OPEN):
        rng = np.random.default_rng(3)
        pairs = right = 0
        for _ in range(replicates):
            d = noisy(rng, EFFECT, COV, (OPEN,))[:budget]  # the same pairs for all budgets
            for look in looks(d, final=True):
                if decides(look, MARGIN):
                    break
            pairs += look.n
            right += look.low > 1
        reached, mean = right / replicates, pairs / replicates
        within = reached <= power[-1]
        at.append((reached, mean / n_of(reached) if within else np.nan))
        said = f"{n_of(reached):>20.1f} {'':>11}{at[-1][1]:>5.3f}" if within else f"{'> 130':>20}"
        print(f"{budget:>6} {reached:>8.3f} {mean:>11.1f} {said}")
    known = sorted(x for x in at if np.isfinite(x[1]))
    for target in (0.9, 0.93):
        print(f"ratio at power {target:.0%}: {np.interp(target, *zip(*known, strict=True)):.3f}")
    print(f"mean pairs without a budget / fixed n of power 90 %: {mean / n_of(0.9):.3f}")


def at_the_margin(replicates: int) -> None:
    print("\nat the stop, per cent      effect  called the same  interval misses  mean pairs")
    for cov in (0.01, 0.02, 0.05):
        for effect in (0.0, MARGIN, EFFECT):
            rng = np.random.default_rng(4)
            same = missed = pairs = 0
            for _ in range(replicates):
                for look in looks(noisy(rng, effect, cov, (OPEN,)), final=True):
                    if decides(look, MARGIN):
                        break
                same += look.low <= 1 <= look.high and decides(look, MARGIN)
                missed += not look.low <= 1 + effect <= look.high
                pairs += look.n
            rates = [100 * x / replicates for x in (same, missed)]
            print(
                f"CoV {cov:.0%} {'':>18} {effect:>6.0%} {rates[0]:>15.1f} {rates[1]:>16.1f}"
                f" {pairs / replicates:>11.1f}"
            )


BUDGETS = (30, 60, 200)


def estimates(replicates: int, cov: float, effect: float) -> None:
    """Print the bias of both estimates for each budget, and of those called slower."""
    rng = np.random.default_rng(5)
    plain, reported = (np.empty((len(BUDGETS), replicates)) for _ in range(2))
    slower = np.zeros((len(BUDGETS), replicates), dtype=bool)
    ones = np.ones(max(BUDGETS))
    for i in range(replicates):
        d = noisy(rng, effect, cov, (max(BUDGETS),))
        stopped = False
        for j, budget in enumerate(BUDGETS):
            if stopped:  # the same pairs as with the smaller budget
                plain[j, i], reported[j, i] = plain[j - 1, i], reported[j - 1, i]
                slower[j, i] = slower[j - 1, i]
                continue
            first, second = ones[:budget], np.exp(d[:budget])
            found = compare_sequentially(first, second, MARGIN, final=True, tick=1e-12)
            c = found.comparison
            stopped = c.n < budget
            plain[j, i] = np.exp(hodges_lehmann(d[: c.n]))
            reported[j, i] = c.ratio
            slower[j, i] = c.low > 1
    for j, budget in enumerate(BUDGETS):
        row = [f"{cov:.0%}", f"{effect:.0%}", f"{budget}"]
        for found in (plain[j], reported[j]):
            row += [
                f"{100 * np.mean(found - 1 - effect):+.2f}",
                f"{100 * np.mean(found > 1 + effect):.1f}",
                f"{100 * np.sqrt(np.mean((found - 1 - effect) ** 2)):.2f}",
                f"{100 * np.mean(found[slower[j]] - 1):+.2f}" if slower[j].any() else "–",
            ]
        row.append(f"{100 * np.mean(slower[j]):.1f}")
        print("| " + " | ".join(row) + " |", flush=True)


def bias(replicates: int, spreads: list[float]) -> None:
    print(f"estimate at the stop, {replicates:,} comparisons a line, per cent")
    of = ("mean bias", "above the truth", "RMS error", "mean of those slower")
    heads = [*(f"plain: {one}" for one in of), *(f"reported: {one}" for one in of)]
    print("| CoV | truth | budget | " + " | ".join([*heads, "slower"]) + " |")
    for cov in spreads:
        for effect in (0.0, 0.01, 0.03, 0.1):
            estimates(replicates, cov / 100, effect)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=4000)
    parser.add_argument("--estimates", action="store_true", help="the bias of estimates instead")
    parser.add_argument(
        "--spreads", type=float, nargs="+", default=[1, 2, 5, 10], help="CoV, in %%"
    )
    options = parser.parse_args()
    if options.estimates:
        bias(options.replicates, options.spreads)
        return
    false_alarms(options.replicates)
    pairs_to_a_verdict(options.replicates)
    at_the_margin(options.replicates)


if __name__ == "__main__":
    main()
