"""How well are token buckets identified, and how often is something else called one?

Searches: buckets of 100 Mbit/s to 10 Gbit/s and 10 to 1,000 Mbit/s behind acknowledgements in
pieces of 64 KiB, found by sending and resting as ``--identify`` does; how often each is called one,
how far its figures are off, and how often their 95 % intervals hold the truth. Patterns: buckets of
three sizes in traces that somebody else has taken. Then what is no bucket: boosts, heat, drift,
contention, steps. Last, how long 60,000 intervals take. Fails where a bar is missed.

    .venv/bin/python benchmarks/identification.py [--draws 150] [--json FILE] [--parts searches …]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))

import made_traces
import numpy as np
from made_traces import GIGA, NO_BUCKETS, Link, bursts, noise, searched
from model_bucket import Phase, carried, pattern

from tare.experiment.fingerprints.network.identified import Estimate, Identification
from tare.features.network.identify.identifying import identify
from tare.networks.shaping.specification import Bucket
from tare.networks.shaping.trace import Trace

#: 95th percentiles of relative errors that are asked for, and the share of false alarms.
BARS = {"high": 0.035, "low": 0.035, "budget": 0.04, "refill": 0.03}
MOST_ALARMS = 0.03
#: Of a search: how often its figures' intervals hold the truth, how far rates are off in the
#: middle, and how often it is called a bucket.
LEAST_COVERED, MOST_OFF, LEAST_BUCKETS = 0.94, 0.01, 0.95
#: Of a search: how often something else is said than which rest would tell.
MOST_WRONG = 0.02
#: High and low rates of searches, Mbit/s.
HIGH, LOW = (100, 300, 1000, 10_000), (10, 25, 100, 500, 1000)


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
        phases = [
            send(empty + tail), rest(part), send(0.4 * empty + tail),
            rest(0.4 * part), send(0.2 * empty + tail),
        ]  # fmt: skip
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
            rest(0.4 * part), send(0.2 * empty + tail),
            rest(1.3 * budget / low), send(empty + tail),
        ]  # fmt: skip
        yield Case(f"begun · {size}", begun, phases, interval, {**truth, "start": 0.3 * budget})


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


def searches(draws: int) -> tuple[list[dict[str, object]], bool]:
    """Search for buckets, each with another capacity; a third of the draws with each noise."""
    rows, good = [], True
    print(f"{'high/low, Mbit/s':>18} bucket, drop with a rest  off in the middle (covered)")
    for high, low in ((h, lo) for h in HIGH for lo in LOW if 2 * lo <= h):
        rng = np.random.default_rng(5)
        truth = {"high": high / 1000, "low": low / 1000, "refill": low / 1000}
        off: dict[str, list[float]] = {name: [] for name in (*truth, "budget")}
        held: dict[str, list[bool]] = {name: [] for name in off}
        kinds: dict[str, int] = {}
        advised = 0
        for draw in range(draws):
            capacity = rng.uniform(0.5, 5) * (high - low) * 1e6
            # No longer than five minutes to fill it.
            capacity = min(capacity, max(300 * low * 1e6, 0.5 * (high - low) * 1e6))
            link = Link(
                high * 1e6, low * 1e6, capacity, rng,
                sd=(0.0, 0.03, 0.1)[draw % 3], drain_s=rng.uniform(0, 0.3),
            )  # fmt: skip
            found = identify(searched(link), {})
            kinds[found.kind] = kinds.get(found.kind, 0) + 1
            advised += found.kind == "drop" and found.next_rest_s is not None
            if found.kind != "bucket":
                continue
            told = figures(found)
            for name, true in (*truth.items(), ("budget", capacity / GIGA)):
                one = told[name]
                off[name].append(np.inf if one is None else abs(one.value / true - 1))
                held[name].append(one is not None and one.ci[0] <= true <= one.ci[1])
        share = kinds.get("bucket", 0) / draws
        middle = {name: float(np.median(errors)) for name, errors in off.items()}
        covered = {name: float(np.mean(some)) for name, some in held.items()}
        missed = share < LEAST_BUCKETS or 1 - share - advised / draws > MOST_WRONG
        missed |= any(covered[n] < LEAST_COVERED or middle[n] > MOST_OFF for n in ("high", "low"))
        good &= not missed
        told_all = "  ".join(f"{n} {middle[n]:.2%} ({covered[n]:.1%})" for n in off)
        print(
            f"{f'{high:,}/{low:,}':>18} {share:6.1%}, {advised / draws:5.1%}  {told_all}"
            f"{'  MISSED' if missed else ''} {kinds}",
            flush=True,
        )
        rows.append({"high": high, "low": low, "kinds": kinds, "advised": advised / draws,
                     "off": middle, "covered": covered})  # fmt: skip
    return rows, good


def false_alarms(draws: int) -> tuple[list[dict[str, object]], bool]:
    rows, good = [], True
    print(f"\n{'no bucket':32}{'rests':>10}{'noise':>10}  called a bucket; called otherwise")
    for name, make in NO_BUCKETS.items():
        for schedule in ("10-30", "two rests", "one rest"):
            for sd, phi in ((0.03, 0.0), (0.1, 0.0), (0.05, 0.9)):
                rng = np.random.default_rng(11)
                kinds: dict[str, int] = {}
                for _ in range(draws):
                    on = bursts(schedule, rng)
                    trace = made_traces.flat(make(on, rng), on)
                    kind = identify(noisy(trace, sd, phi, rng), {}).kind
                    kinds[kind] = kinds.get(kind, 0) + 1
                share = kinds.pop("bucket", 0) / draws
                missed = share > MOST_ALARMS
                good &= not missed
                label = f"{sd:.0%}" + (f" AR {phi}" if phi else "")
                rest = ", ".join(f"{k} {v / draws:.0%}" for k, v in kinds.items())
                print(f"{name:32}{schedule:>10}{label:>10}  {share:6.1%}"
                      f"{'  MISSED' if missed else ''}; {rest}", flush=True)  # fmt: skip
                rows.append({"case": name, "rests": schedule, "noise": label, "buckets": share,
                             "others": kinds})  # fmt: skip
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


_PARTS: dict[str, Callable[[int], tuple[list[dict[str, object]], bool]]] = {
    "searches": searches,
    "patterns": accuracy,
    "false_alarms": false_alarms,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=150)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--parts", nargs="*", choices=list(_PARTS), default=list(_PARTS))
    options = parser.parse_args()
    document: dict[str, object] = {}
    good = True
    for part in options.parts:
        document[part], met = _PARTS[part](options.draws)
        good &= met
        print()
    document["seconds"] = speed()
    if options.json:
        options.json.write_text(json.dumps(document, indent=2))
    print("\nall bars met" if good else "\nBARS MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
