"""Results of an experiment with a network, without one: a program that computes, then sends.

``make()`` lets hosts send through token buckets on paper, so that what a test expects is known: how
long a trial takes, what is left, which host ran dry and when.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import columns
import msgspec
import numpy as np
from synthetic import Behaviour, _sample_table
from synthetic import make as plain

from tare.experiment.results import Results
from tare.experiment.specification import NetworkSpec
from tare.networks.shaping.specification import Bucket, parse

#: Buckets that differ in their budget only.
RATES = "bucket high=2Gbit low=200Mbit refill=200Mbit"
#: What a host without a bucket sends a second.
UNSHAPED_BPS = 20e9
#: How often the tokens are written down.
_LOG_S = 0.1


@dataclasses.dataclass(frozen=True)
class Program:
    """What one trial does; spreads are relative."""

    cpu_s: float = 1.0
    #: Bits that each host sends, by its number from 1.
    sends: Mapping[int, float] = dataclasses.field(default_factory=lambda: {2: 3e9})
    noise: float = 0.01
    #: SD of what is sent.
    uneven: float = 0.0
    #: Growth of every time from the first block to the last: the machine, not the network.
    drift: float = 0.0
    #: How much of its noise a trial has from the one before it, whatever level that had.
    memory: float = 0.0
    #: Degrees of freedom of the noise, Student's t; 0: normal.
    tails: float = 0.0


def budgets(*gigabits: float) -> tuple[str, ...]:
    """Levels of the network: nothing, and these budgets."""
    return ("none", *(f"{RATES} budget={g:g}Gbit" for g in gigabits))


def make(
    levels: Sequence[str] = budgets(8, 4, 2, 1),
    program: Program | None = None,
    *,
    trials: int = 20,
    hosts: int = 3,
    budget: str = "reset",
    gap_s: float = 1.0,
    seed: int = 1,
    logged: bool = True,
    workloads: Mapping[str, Program] | None = None,
    **options: Any,
) -> Results:
    """Build the results: every level once in each block, in random order.

    ``gap_s`` is between a trial and the next at the same level, while its buckets refill; without
    ``logged`` there is no course of the tokens, as takes less time to make.
    """
    programs = dict(workloads or {"terasort": program or Program()})
    rng = np.random.default_rng(seed)
    trial_rows, samples, use, log = [], [], [], []
    left: dict[tuple[int, int], float] = {}
    noise = 0.0
    cells = [(w, level) for w in programs for level in levels]
    for block in range(trials):
        for position, cell in enumerate(rng.permutation(len(cells))):
            workload, level = cells[cell]
            number, one = len(trial_rows), programs[workload]
            shaping = parse(level)
            bucket = shaping if isinstance(shaping, Bucket) else None
            ends = [one.cpu_s]
            for host in range(1, hosts + 1):
                bits = one.sends.get(host, 0.0) * (1 + one.uneven * rng.standard_normal())
                if bucket is None:
                    ends.append(one.cpu_s + bits / UNSHAPED_BPS)
                    continue
                tokens = _begin(bucket, host, left.get((int(cell), host)), budget, gap_s)
                spent = _send(bucket, tokens, bits, one.cpu_s)
                ends.append(spent.end_s)
                left[int(cell), host] = spent.tokens(spent.end_s)
                use.append((number, host, *spent.use()))
                log += [
                    (number, *row[:1], host, *row[1:]) for row in (spent.log() if logged else ())
                ]
            grown = 1 + one.drift * block / trials
            new = rng.standard_t(one.tails) if one.tails else rng.standard_normal()
            noise = one.memory * noise + math.sqrt(1 - one.memory**2) * new
            seconds = max(ends) * grown * math.exp(one.noise * noise)
            trial_rows.append(
                {
                    "trial": number, "session": 0, "block": block, "position": position,
                    "cell": int(cell), "seed": 0, "status": "ok", "reason": None,
                    "duration_ns": int(seconds * 1e9), "workload": workload, "platform": "bare",
                    "workers": "1", "pinning": "none", "load": "none", "size": "all",
                    "network": level,
                }
            )  # fmt: skip
            samples += [
                (number, 0, 0, "measured", "wall_ns", source, seconds * 1e9)
                for source in ("perf_cpu", "around")
            ]
    return _results(trial_rows, samples, use, log, levels, programs, budget, seed, options)


def _results(
    rows: list[dict[str, Any]],
    samples: list[tuple[Any, ...]],
    use: list[tuple[Any, ...]],
    log: list[tuple[Any, ...]],
    levels: Sequence[str],
    programs: Mapping[str, Program],
    budget: str,
    seed: int,
    options: dict[str, Any],
) -> Results:
    base = plain(
        Behaviour(), workloads=tuple(programs), platforms=("bare",), workers=(1,), trials=1,
        seed=seed, metric="wall_ns", network=NetworkSpec(budget=budget, hosts=3), **options,
    )  # fmt: skip
    factors = {**base.experiment.factors, "network": tuple(levels)}
    return dataclasses.replace(
        base,
        experiment=msgspec.structs.replace(base.experiment, name="networked", factors=factors),
        trial_table=columns.of_records(rows),
        sample_table=_sample_table(samples),
        network_use=columns.of_table("network_use", use),
        network_log=columns.of_table("network_log", log),
    )


def _begin(bucket: Bucket, host: int, left: float | None, budget: str, gap_s: float) -> float:
    if left is None or budget == "reset":
        return float(bucket.begins_with(host))
    return min(float(bucket.capacity_bits), left + bucket.refill_bps * gap_s)


@dataclasses.dataclass(frozen=True)
class _Sent:
    """How one host sends in one trial: at high until ``dry_s``, then at low."""

    bucket: Bucket
    start: float
    bits: float
    from_s: float
    dry_s: float
    end_s: float

    @property
    def dry(self) -> bool:
        return self.end_s > self.dry_s

    def tokens(self, at_s: float) -> float:
        b = self.bucket
        before = min(float(b.capacity_bits), self.start + b.refill_bps * min(at_s, self.from_s))
        if at_s <= self.from_s:
            return before
        if self.dry and at_s >= self.dry_s:
            return 0.0
        sending = min(at_s, self.end_s) - self.from_s
        left = before - (b.high_bps - b.refill_bps) * sending
        return min(float(b.capacity_bits), left + b.refill_bps * max(0.0, at_s - self.end_s))

    def sent(self, at_s: float) -> float:
        high = self.bucket.high_bps * max(0.0, min(at_s, self.dry_s) - self.from_s)
        low = self.bucket.low_bps * max(0.0, min(at_s, self.end_s) - self.dry_s)
        return min(self.bits, high + low)

    def use(self) -> tuple[Any, ...]:
        dry = self.dry
        return (
            int(self.start), int(self.tokens(self.end_s)), int(self.bits / 8), 0, int(dry),
            int((self.end_s - self.dry_s) * 1e9) if dry else 0,
            int(self.dry_s * 1e9) if dry else None,
        )  # fmt: skip

    def log(self) -> list[tuple[Any, ...]]:
        times = np.arange(0, self.end_s + _LOG_S, _LOG_S)
        return [
            (
                int(t * 1e9), int(self.tokens(t)),
                self.bucket.low_bps if self.dry and t >= self.dry_s else self.bucket.high_bps,
                int(self.sent(t) / 8),
            )
            for t in times
        ]  # fmt: skip


def _send(bucket: Bucket, tokens: float, bits: float, from_s: float) -> _Sent:
    b = bucket
    begin = min(float(b.capacity_bits), tokens + b.refill_bps * from_s)
    until_dry = begin / (b.high_bps - b.refill_bps)
    if bits <= b.high_bps * until_dry:
        end = from_s + bits / b.high_bps
        return _Sent(b, tokens, bits, from_s, max(end, from_s + until_dry), end)
    slow = (bits - b.high_bps * until_dry) / b.low_bps
    return _Sent(b, tokens, bits, from_s, from_s + until_dry, from_s + until_dry + slow)
