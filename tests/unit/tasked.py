"""Results of a distributed job, on paper: hosts compute, then each reads from all others.

What a host sends goes through its token bucket, and who reads from it waits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import columns
import msgspec
import networked
import numpy as np

from tare.applications import tasks
from tare.experiment.metrics import TASKS
from tare.experiment.results import Results
from tare.experiment.store.trial_files import TrialFiles
from tare.experiment.tables import Counted
from tare.networks.shaping.specification import Bucket, parse
from tare.results.columns import Columns

BUCKET = "bucket high=1Gbit low=100Mbit budget=5Gbit"
NS = 10**9


@dataclasses.dataclass(frozen=True)
class Job:
    """What a trial does; times are in seconds."""

    hosts: int = 3
    rounds: int = 2
    slots: int = 2
    #: Of a task without waiting, and how much it varies.
    cpu_s: float = 0.5
    noise: float = 0.15
    #: Bits that each host sends in a round, and how much that varies.
    sends: float = 1.5e9
    uneven: float = 0.1
    #: By host: share of the budget with which its bucket begins.
    begins: Mapping[int, float] = dataclasses.field(default_factory=dict)
    #: By host: factor of its own times.
    slower: Mapping[int, float] = dataclasses.field(default_factory=dict)
    #: In each trial one host, a different one each time, is so much slower, or begins with 5 %.
    slower_by_chance: float = 1.0
    begins_by_chance: bool = False
    #: Whether it says how long tasks wait.
    waits: bool = True


class Held(TrialFiles):
    """Tasks that are in no file."""

    def __init__(self, tables: Mapping[int, Columns]) -> None:
        super().__init__(Path("nowhere"), tasks.TASKS)
        self._tables = tables

    def read(self, trial: int, counted: Counted) -> Columns:
        rows = self._tables[trial]
        assert len(rows) == counted.rows
        return rows.inserted(0, trial=[trial] * len(rows))


def make(
    job: Job | None = None,
    *,
    trials: int = 10,
    levels: tuple[str, ...] = (BUCKET,),
    seed: int = 1,
    log_s: float = 0.1,
) -> Results:
    """Build the results of an experiment with a job."""
    one = job or Job()
    rng = np.random.default_rng(seed)
    base = networked.make(levels, trials=trials, hosts=one.hosts, seed=seed, logged=False)
    tables, use, log, samples = {}, [], [], []
    for trial, level in zip(
        base.trial_table["trial"].tolist(), base.trial_table["network"], strict=True
    ):
        shaping = parse(level)
        bucket = shaping if isinstance(shaping, Bucket) else None
        table, of_hosts, moments = _trial(one, bucket, rng, log_s)
        tables[trial] = table
        use += [(trial, *row) for row in of_hosts]
        log += [(trial, *row) for row in moments]
        for metric, value in (("tasks", len(table)), ("tasks_failed", 0)):
            samples.append((trial, 0, 0, "measured", metric, TASKS, value))
    return dataclasses.replace(
        base,
        experiment=msgspec.structs.replace(base.experiment, name="shuffle"),
        sample_table=columns.more_samples(base.sample_table, samples),
        network_use=columns.of_table("network_use", use),
        network_log=columns.of_table("network_log", log),
        task_files=Held(tables),
    )  # fmt: skip


@dataclasses.dataclass
class _Sender:
    """A host's bucket: without refill while it sends, at the low rate once it is empty."""

    bucket: Bucket | None
    tokens: float
    sent: float = 0.0
    #: When its bucket was empty.
    spells: list[tuple[float, float]] = dataclasses.field(default_factory=list)
    moments: list[tuple[float, float, float]] = dataclasses.field(default_factory=list)

    def send(self, at: float, bits: float) -> float:
        """Send from a moment on; return when it has all been sent."""
        high = self.bucket.high_bps if self.bucket else 1e9
        quick = min(bits, self.tokens) if self.bucket else bits
        end = at + quick / high
        self.moments += [(at, self.sent, 0.0), (end, self.sent + quick, 0.0)]
        if quick < bits:
            assert self.bucket is not None
            slow = end + (bits - quick) / self.bucket.low_bps
            self.spells.append((end, slow))
            end = slow
        self.tokens -= quick
        self.sent += bits
        self.moments.append((end, self.sent, 0.0))
        return end

    def empty(self, at: float) -> bool:
        return any(start <= at < end for start, end in self.spells)


def _trial(
    job: Job, bucket: Bucket | None, rng: np.random.Generator, log_s: float
) -> tuple[Columns, list[tuple[object, ...]], list[tuple[object, ...]]]:
    hosts = range(1, job.hosts + 1)
    unlucky = int(rng.integers(1, job.hosts + 1))
    begins = {**job.begins, **({unlucky: 0.05} if job.begins_by_chance else {})}
    slower = {**job.slower, **({unlucky: job.slower_by_chance} if not job.slower else {})}
    capacity = bucket.capacity_bits if bucket else 0
    senders = {h: _Sender(bucket, capacity * begins.get(h, 1.0)) for h in hosts}
    rows: list[dict[str, object]] = []
    now = 0.1

    def task(host: int, stage: str, slot: int, wait: float, read: float) -> float:
        own = job.cpu_s * slower.get(host, 1.0) * np.exp(job.noise * rng.standard_normal())
        rows.append({
            "host": host, "stage": stage, "task": f"{stage}/{host}/{slot}",
            "start_ns": int(now * NS), "duration_ns": int((own + wait) * NS),
            "read_bytes": int(read / 8), "local_bytes": 0, "written_bytes": 0,
            "wait_ns": int(wait * NS) if job.waits else None, "failed": False, "offset_ns": 5 * NS,
        })  # fmt: skip
        return float(now + own + wait)

    for number in range(job.rounds):
        ends = [task(h, f"map {number}", s, 0.0, 0.0) for h in hosts for s in range(job.slots)]
        now = max(ends) + 0.01
        sent = {
            h: senders[h].send(now, job.sends * (1 + job.uneven * rng.standard_normal()))
            for h in hosts
        }
        ends = []
        for host in hosts:
            last = max((end for h, end in sent.items() if h != host), default=now) - now
            read = job.sends
            for slot in range(job.slots):
                wait = last * float(rng.uniform(0.9, 1.0))
                ends.append(task(host, f"reduce {number}", slot, wait, read))
        now = max(ends) + 0.01
    names = [*tasks.TASKS.columns]
    made = Columns.of_rows(names, [[row[name] for name in names] for row in rows])
    if not job.waits:
        made = made.with_columns(wait_ns=np.full(len(made), np.nan))
    table = made.sorted_by("start_ns")
    use, log = [], []
    for host, sender in senders.items():
        dry = sum(end - start for start, end in sender.spells)
        first = int(sender.spells[0][0] * NS) if sender.spells else None
        use.append(
            (
                host,
                *_tokens(bucket, capacity * begins.get(host, 1.0), sender.tokens),
                int(sender.sent / 8),
                0,
                len(sender.spells),
                int(dry * NS),
                first,
            )
        )
        at, sent_bits = zip(*[(0.0, 0.0), *((a, s) for a, s, _ in sender.moments)], strict=True)
        for moment in np.arange(0.0, now, log_s):
            bits = float(np.interp(moment, at, sent_bits))
            left = max(0.0, capacity * begins.get(host, 1.0) - bits)
            rate = (
                None
                if bucket is None
                else (bucket.low_bps if sender.empty(moment) else bucket.high_bps)
            )
            log.append(
                (int(moment * NS), host, None if bucket is None else int(left), rate, int(bits / 8))
            )
    return table, use, log  # fmt: skip


def _tokens(bucket: Bucket | None, first: float, last: float) -> tuple[int | None, int | None]:
    return (None, None) if bucket is None else (int(first), int(last))
