"""How well are token buckets identified, and how often is something else called one?

Simulated traces: buckets of three sizes under three patterns, full at first or not, with noise of
3 % and 10 % that is independent or remembers; the 95th percentile of each figure's error, and how
often its 95 % interval holds the truth. Then what is no bucket: one rate, noise that remembers,
drift, steps, steps with a rest in between. Last, how long 60,000 intervals take. Fails where a bar
is missed.

    .venv/bin/python benchmarks/identification.py [--draws 150] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tare.identification import identify
from tare.identification.document import Estimate, Identification
from tare.shaping.carried import Phase, carried, pattern
from tare.shaping.specification import Bucket
from tare.shaping.trace import Trace

#: 95th percentiles of relative errors that are asked for, and the share of false alarms.
BARS = {"high": 0.035, "low": 0.035, "budget": 0.04, "refill": 0.03}
MOST_ALARMS = 0.02
#: What a 95 % interval must hold at least in so many draws, beyond chance (99 % bound).
LEAST_COVERED = 0.95
GIGA = 10**9
#: Told, but without a bar: one rest can be matched by chance, and another one tells.
NO_BAR = ("contention that pauses in a rest",)


@dataclass(frozen=True)
class Case:
    name: str
    bucket: Bucket
    phases: list[Phase]
    interval_s: float
    #: What the document is to say, by figure.
    truth: dict[str, float]


def bucket(high: float, low: float, budget: float, initial: float | None = None) -> Bucket:
    return Bucket(
        high_bps=round(high * GIGA),
        low_bps=round(low * GIGA),
        refill_bps=round(low * GIGA),
        capacity_bits=round(budget * GIGA),
        initial_bits=None if initial is None else round(initial * GIGA),
    )


def cases() -> Iterator[Case]:
    for high, low, budget, interval in (
        (10.0, 1.0, 5400.0, 1.0),
        (5.0, 0.5, 1500.0, 1.0),
        (2.0, 0.2, 100.0, 0.1),
    ):
        size = f"{high:g}/{low:g} Gbit/s, {budget:g} Gbit"
        empty = budget / (high - low)
        tail = max(60.0, 0.2 * empty)
        send: Callable[[float], Phase] = lambda s: (True, round(s))  # noqa: E731
        rest: Callable[[float], Phase] = lambda s: (False, round(s))  # noqa: E731
        truth = {"high": high, "low": low, "budget": budget, "refill": low}
        full = bucket(high, low, budget)
        part = 0.4 * budget / low
        phases = [send(empty + tail), rest(part), send(0.4 * empty + tail)]
        yield Case(f"idle · {size}", full, phases, interval, {**truth, "empty": empty})
        for on, off in ((10, 30), (5, 30)):
            cycle = (high - low) * on - low * off
            lasts = budget / cycle * (on + off)
            step = min(1.0, interval)
            phases = pattern(on, off, lasts + 4000)
            yield Case(f"{on}-{off} · {size}", full, phases, step, truth)
        begun = bucket(high, low, budget, 0.3 * budget)
        phases = [
            send(0.3 * empty + tail), rest(part), send(0.4 * empty + tail),
            rest(1.3 * budget / low), send(empty + tail),
        ]  # fmt: skip
        yield Case(f"begun · {size}", begun, phases, interval, {**truth, "start": 0.3 * budget})


def noise(n: int, sd: float, phi: float, rng: np.random.Generator) -> np.ndarray:
    white = rng.standard_normal(n)
    if phi == 0:
        return sd * white
    from scipy.signal import lfilter

    return np.asarray(sd * np.sqrt(1 - phi**2) * lfilter([1.0], [1.0, -phi], white))


def noisy(trace: Trace, sd: float, phi: float, rng: np.random.Generator) -> Trace:
    factor = np.maximum(0.02, 1 + noise(len(trace), sd, phi, rng))
    return replace(trace, bits=trace.bits * factor)


def figures(found: Identification) -> dict[str, Estimate | None]:
    return {
        "high": found.high_gbps,
        "low": found.low_gbps,
        "budget": found.budget_gbit,
        "refill": found.refill_gbps,
        "start": found.start_gbit,
        "empty": found.time_to_empty_s,
    }


def accuracy(draws: int) -> tuple[list[dict[str, object]], bool]:
    rows, good = [], True
    print(f"{'':34}{'noise':>10} {'bucket':>7}  95th percentile of error (intervals that hold it)")
    for case in cases():
        clean = carried(case.bucket, case.phases, case.interval_s)
        for sd, phi in ((0.03, 0.0), (0.1, 0.0), (0.03, 0.7)):
            rng = np.random.default_rng(7)
            errors: dict[str, list[float]] = {name: [] for name in case.truth}
            held: dict[str, list[bool]] = {name: [] for name in case.truth}
            buckets = 0
            for _ in range(draws):
                found = identify(noisy(clean, sd, phi, rng), {})
                buckets += found.kind == "bucket"
                for name, value in figures(found).items():
                    if name in case.truth:
                        truth = case.truth[name]
                        error = np.inf if value is None else abs(value.value / truth - 1)
                        errors[name].append(error)
                        inside = value is not None and value.ci[0] <= truth <= value.ci[1]
                        held[name].append(inside)
            worst = {n: float(np.quantile(e, 0.95)) for n, e in errors.items()}
            covered = {n: float(np.mean(h)) for n, h in held.items()}
            told = "  ".join(f"{n} {worst[n]:6.2%} ({covered[n]:4.0%})" for n in worst)
            missed = [n for n in BARS if worst[n] > BARS[n]]
            good &= not missed
            mark = f"  MISSED: {', '.join(missed)}" if missed else ""
            kind = f"{sd:.0%}" + (f" AR {phi}" if phi else "")
            print(f"{case.name:34}{kind:>10} {buckets / draws:7.0%}  {told}{mark}", flush=True)
            rows.append({"case": case.name, "noise": kind, "buckets": buckets / draws,
                         "error": worst, "covered": covered})  # fmt: skip
    return rows, good


def flat(rates: np.ndarray, on: np.ndarray | None = None) -> Trace:
    n = len(rates)
    start = np.arange(n, dtype=float)
    on = np.ones(n) if on is None else on.astype(float)
    return Trace(start, start + 1, rates * on * 1e9, on)


def others() -> dict[str, Callable[[np.random.Generator], Trace]]:
    n = 3600
    at = np.arange(n)
    idle = ~((at >= 1500) & (at < 2400))
    burst = at % 40 < 10

    def stepped(rng: np.random.Generator, on: np.ndarray | None = None) -> Trace:
        return flat(np.where(at < rng.integers(300, 1400), 10.0, rng.uniform(1, 8)), on)

    def several(rng: np.random.Generator) -> Trace:
        edges = np.sort(rng.integers(100, n - 100, rng.integers(2, 7)))
        return flat(rng.uniform(2, 10, len(edges) + 1)[np.searchsorted(edges, at)])

    def telegraph(rng: np.random.Generator) -> Trace:
        state = np.cumsum(rng.random(n) < 1 / 200) % 2
        return flat(np.where(state == 0, 10.0, rng.uniform(2, 8)))

    def comes_back(rng: np.random.Generator) -> Trace:
        """Contention begins, ends during the rest, and begins again some time after it."""
        first, again = rng.integers(300, 1400), 2400 + rng.integers(30, 1100)
        busy = ((at >= first) & (at < 2000)) | (at >= again)
        return flat(np.where(busy, rng.uniform(1, 8), 10.0), idle)

    def wild(rng: np.random.Generator) -> Trace:
        """A rate that is anything, as on a network of a few hosts."""
        return flat(10 * np.exp(0.3 * rng.standard_normal(n)), burst)

    def tailed(rng: np.random.Generator) -> Trace:
        return flat(np.clip(10 - 0.4 * np.abs(rng.standard_t(2, n)), 0.2, None), burst)

    return {
        "spread of 30 %, 10-30": wild,
        "long tail of slow seconds, 10-30": tailed,
        "one rate": lambda rng: flat(np.full(n, 10.0)),
        "one rate, 10-30": lambda rng: flat(np.full(n, 10.0), burst),
        "slow drift of 30 %": lambda rng: flat(10 * (1 - 0.3 * at / n)),
        "one step": stepped,
        "one step, 10-30": lambda rng: stepped(rng, burst),
        "one step, rest without return": lambda rng: stepped(rng, idle),
        "several steps": several,
        "on and off": telegraph,
        "contention that pauses in a rest": comes_back,
    }


def false_alarms(draws: int) -> tuple[list[dict[str, object]], bool]:
    rows, good = [], True
    print(f"\n{'no bucket':36}{'noise':>10}  called a bucket; called otherwise")
    for name, make in others().items():
        for sd, phi in ((0.03, 0.0), (0.1, 0.0), (0.05, 0.9)):
            rng = np.random.default_rng(11)
            kinds: dict[str, int] = {}
            for _ in range(draws):
                kind = identify(noisy(make(rng), sd, phi, rng), {}).kind
                kinds[kind] = kinds.get(kind, 0) + 1
            share = kinds.pop("bucket", 0) / draws
            missed = share > MOST_ALARMS and name not in NO_BAR
            good &= not missed
            label = f"{sd:.0%}" + (f" AR {phi}" if phi else "")
            rest = ", ".join(f"{k} {v / draws:.0%}" for k, v in kinds.items())
            print(f"{name:36}{label:>10}  {share:6.1%}{'  MISSED' if missed else ''}; {rest}",
                  flush=True)  # fmt: skip
            rows.append({"case": name, "noise": label, "buckets": share, "others": kinds})
    return rows, good


def speed() -> dict[str, float]:
    shape = bucket(10, 1, 5400)
    times = {}
    for name, phases, interval in (
        ("full speed, 10 s", [(True, 600_000.0)], 10.0),
        ("10-30, 1 s", pattern(10, 30, 60_000), 1.0),
    ):
        trace = noisy(carried(shape, phases, interval), 0.05, 0.0, np.random.default_rng(1))
        begun = time.process_time()
        identify(trace, {})
        times[name] = time.process_time() - begun
        print(f"{name}: {len(trace):,} intervals in {times[name]:.2f} s of CPU")
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=150)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    exact, good = accuracy(options.draws)
    alarms, quiet = false_alarms(options.draws)
    print()
    times = speed()
    if options.json:
        document = {"accuracy": exact, "false_alarms": alarms, "seconds": times}
        options.json.write_text(json.dumps(document, indent=2))
    print("\nall bars met" if good and quiet else "\nBARS MISSED")
    return 0 if good and quiet else 1


if __name__ == "__main__":
    sys.exit(main())
