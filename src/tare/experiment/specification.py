"""The question as data: an experiment file in TOML, parsed and validated.

Everything here is a value; nothing is started, looked up on the machine, or written.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any, Literal

import msgspec

from tare.units.bounded import Bytes, Count, Duration, Positive, Proportion
from tare.workloads.application import ApplicationMetric
from tare.workloads.specification import WorkloadSpec

#: Factors that tare itself knows how to set; any other becomes a placeholder in the command
#: (``{name}``) and an environment variable (``TARE_NAME``).
KNOWN_FACTORS = (
    "platform", "workers", "pinning", "load", "size", "quota", "period", "network",
)  # fmt: skip

#: Instead of levels of ``workers``: counts that follow the machine's topology.
TOPOLOGY = "topology"

#: Instead of levels of ``size``: the machine, halved three times.
HALVING = "halving"

#: Levels of factors that are found on the machine.
OF_MACHINE = {"workers": TOPOLOGY, "size": HALVING}

#: Level of ``load`` that starts nothing, and of ``size`` that limits nothing.
NO_LOAD, WHOLE_SIZE = "none", "all"

#: Level of ``network`` that shapes nothing.
NO_NETWORK = "none"

#: Levels of ``pinning`` beside lists of CPUs: workers go where the scheduler puts them; each worker
#: on CPUs of its own; each instance on as many as its size has cores, in place of a quota.
PINNINGS = ("none", "spread", "compact", "pinned")

#: What the kernel takes as period of a CPU quota, and the least that a quota may come to in one
#: (kernel/sched/core.c, ``min_cfs_quota_period`` and ``max_cfs_quota_period``).
LEAST_PERIOD_S, MOST_PERIOD_S = 0.001, 1.0
#: The kernel's own, Docker's and systemd's.
PERIOD_S = 0.1
LEAST_QUOTA_S = 0.001


class LoadSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[loads.NAME]``: a kind of load with its parameters."""

    kind: str
    parameters: dict[str, int | float | str] = {}


class SizeSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[sizes.NAME]``: cores and memory given to each instance of the platform."""

    #: CPU time a second of time, by a quota: 0.5 is half of a CPU.
    cores: Positive | None = None
    #: Whole CPUs that it is confined to, chosen by the machine's topology.
    cpuset: Count | None = None
    memory_bytes: Bytes | None = None


#: Cores and GiB of PINNING's instance types (Table 2).
INSTANCE_TYPES = {
    "large": (2, 8),
    "xlarge": (4, 16),
    "2xlarge": (8, 32),
    "4xlarge": (16, 64),
    "8xlarge": (32, 128),
    "16xlarge": (64, 256),
}
_SIZE = re.compile(r"(?P<cores>\d{1,5}(?:\.\d{1,6})?)c(?:(?P<memory>\d{1,9})(?P<unit>[gm]))?")
_CPUS = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")


@cache
def named_size(name: str) -> SizeSpec | None:
    """Return what the name of a size says: ``2c8g``, ``0.5c``, ``1c512m`` or an instance type.

    None: it says nothing. ``g`` and ``m`` are GiB and MiB.
    """
    if name in INSTANCE_TYPES:
        cores, gib = INSTANCE_TYPES[name]
        return SizeSpec(cores=cores, memory_bytes=gib << 30)
    found = _SIZE.fullmatch(name)
    if found is None or not float(found["cores"]):
        return None
    shift = 30 if found["unit"] == "g" else 20
    memory = int(found["memory"]) << shift if found["memory"] else None
    return SizeSpec(cores=float(found["cores"]), memory_bytes=memory)


def listed_cpus(pinning: str) -> tuple[int, ...] | None:
    """Return the CPUs of a level of ``pinning`` that lists some, ``0-1,3``; None: it lists none."""
    if not _CPUS.fullmatch(pinning):
        return None
    parts = [part.partition("-") for part in pinning.split(",")]
    spans = [range(int(first), int(last or first) + 1) for first, _, last in parts]
    if not all(spans):
        return None
    return tuple(sorted({cpu for span in spans for cpu in span}))


class NetworkSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[network]``: in which trials take place, the command on its first host."""

    hosts: Count = 2
    #: Commands that run on every host but the first while the session lasts, such as a server.
    serve: tuple[tuple[str, ...], ...] = ()
    #: Every trial begins with the level's initial budget, or with what the last of it has left.
    budget: Literal["reset", "carry"] = "reset"
    #: Before a trial: at once, after so many seconds, or when every bucket is full again.
    rest: Literal["none", "refill"] | float = "none"
    #: How often the tokens that are left are written down.
    log_s: Positive = 0.1


class Limit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a judge allows an execution; tare asks how often that misjudges, and stops nothing."""

    #: None: the experiment's metric.
    of: Literal["cpu", "wall", "memory"] | None = None
    #: In ns or bytes.
    value: Positive


class WindowSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[window]``: each trial does its work over and over through a stretch of time."""

    #: Whole periods of the quota that a window spans, at least.
    periods: Count = 20


class Stopping(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When enough is enough: a fixed n, or a precision within a budget."""

    #: Fixed number of trials per cell, decided beforehand; None: by precision.
    trials: Count | None = None
    #: Target half-width of the quantile's interval, relative.
    precision: Positive = 0.02
    #: The quantile that the target is about; the median by default.
    quantile: Proportion = 0.5
    #: Stop by a confidence sequence, for exchangeable trials only.
    anytime: bool = False
    #: Stop a median before 50 trials where so few reach the precision even if they are strongly
    #: autocorrelated.
    early: bool = False
    #: Metrics that must reach the precision, too; with ``compare``, that are only reported.
    also: tuple[str, ...] = ()
    #: Instead of a precision: the factor whose levels are compared with its reference level, by
    #: block, until every verdict is safe.
    compare: str | None = None
    #: With ``compare``: stop where every ratio is safely below or above 1 + gate.
    gate: Positive | None = None
    #: What the gate judges: ``median`` (of the pairs' ratios), ``mean``, or a quantile as ``p90``.
    gate_on: str = "median"
    #: With ``compare``: good trials per cell before the first interim analysis; None: as few as one
    #: can conclude from.
    min_trials: Count | None = None
    #: Time for measuring in one session, shared over all cells; outranks n and precision.
    #: None: n alone bounds the experiment.
    budget_s: Positive | None = 600.0


class FleetSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which hosts of a fleet are asked, and how; decides about no single trial."""

    #: Names, or patterns such as ``rack1-*``; none: all.
    hosts: tuple[str, ...] = ()
    #: Hosts that measure at the same time; None: all. Blocks of the others wait for their turn.
    at_once: Annotated[int, msgspec.Meta(ge=1)] | None = None
    #: Blocks that a host measures before what it has found is fetched.
    blocks: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question: workloads, factors with levels, order, stopping rule."""

    name: str
    question: str
    workloads: tuple[WorkloadSpec, ...]
    #: Levels of each factor, as written: ``platform`` (stacks), ``workers`` (counts or
    #: ("topology",)), ``pinning``, ``load`` (names of loads), ``size`` (names of sizes, of
    #: instance types, ``2c8g``, or ("halving",)), others.
    factors: dict[str, tuple[Any, ...]]
    #: Levels at which single workloads are measured, by workload and factor; of other factors,
    #: and for other workloads, all.
    only: dict[str, dict[str, tuple[Any, ...]]] = {}
    loads: dict[str, LoadSpec] = {}
    sizes: dict[str, SizeSpec] = {}
    #: Specifications of levels of ``network`` that have a short name.
    networks: dict[str, str] = {}
    #: Options of platform layers by layer name, e.g. {"docker": {"image": "…"}}.
    platforms: dict[str, dict[str, Any]] = {}
    #: The metric that the stopping rule and the answers are about; None: kernel_cpu_ns where
    #: every workload is a kernel, otherwise wall_ns.
    metric: str | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)] = 1
    order: Literal["blocks", "sequential"] = "blocks"
    stopping: Stopping = Stopping()
    #: Margin of practical importance for "is it different?".
    margin: Positive = 0.02
    limit: tuple[Limit, ...] = ()
    #: The metric that has the time of an execution where nothing disturbs it, as the program
    #: itself tells it; None: the median of its quietest cell is true.
    true_time: str | None = None
    #: Shift of the mean and growth of the spread beyond which workers disturb each other.
    parallel_shift: Positive = 0.05
    parallel_growth: Positive = 0.50
    iterations: Count = 1
    warmup: Annotated[int, msgspec.Meta(ge=0, le=10**9)] = 0
    process: Literal["fresh", "same"] = "fresh"
    tail: Literal["loaded", "stop"] = "loaded"
    instances: Literal["own", "shared"] = "own"
    fresh: Literal["platform", "trial", "run"] = "platform"
    #: Seconds between trials.
    rest_s: Duration = 0.0
    #: How long descendants of a command may outlive it.
    linger_s: Duration = 1.0
    #: Number of generated inputs that trials cycle through (kernels): 1 keeps one input.
    inputs: Count = 1
    #: Leave out platforms and loads that are not available, and say so.
    skip_missing: bool = False
    #: In which trials take place if ``network`` is a factor.
    network: NetworkSpec = NetworkSpec()
    #: Executions are counted in windows of time, so that the metric is ``throughput``; None: each
    #: execution is timed.
    window: WindowSpec | None = None
    #: Period of CPU quotas, after which the kernel hands out CPU time anew.
    quota_period_s: Positive = PERIOD_S
    #: Probe the machine for five seconds before and after each session.
    fingerprint: bool = True
    #: Record the context switches of commands where a result uses them.
    context_switches: bool = True
    #: Take the steady part of trials alone: without their warm-up.
    steady: bool = False
    #: Where it is asked on many hosts.
    fleet: FleetSpec = FleetSpec()

    @property
    def runs_commands(self) -> bool:
        """Whether a platform must have files of the user's: not for what the agent brings."""
        return any(
            w.command is not None and not w.of_agent and w.application is None
            for w in self.workloads
        )

    @property
    def printed(self) -> dict[str, ApplicationMetric]:
        """Metrics that applications print, by name."""
        applications = [w.application for w in self.workloads if w.application is not None]
        return {metric.name: metric for one in applications for metric in one.metrics}

    def takes(self, workload: str, factor: str, level: Any) -> bool:
        """Whether a workload is measured at a level of a factor."""
        levels = self.only.get(workload, {}).get(factor)
        return levels is None or level in levels

    @property
    def networked(self) -> bool:
        """Whether trials take place in a small network of their own."""
        return "network" in self.factors

    def trials(self, workload: WorkloadSpec) -> int | None:
        """Return the fixed number of trials of a workload's cells; None: it is not fixed."""
        asked = [n for n in (self.stopping.trials, workload.trials) if n is not None]
        return None if self.stopping.trials is None else min(asked)

    @property
    def network_of_services(self) -> bool:
        """Whether the network is there for applications with services alone."""
        needed = any(workload.needs_network for workload in self.workloads)
        return needed and self.factors.get("network") == (NO_NETWORK,)

    def joins(self, workload: WorkloadSpec) -> bool:
        """Return whether the trials of a workload take place in the network."""
        return self.networked and (workload.needs_network or not self.network_of_services)

    def shaped(self, network: str) -> str:
        """Return the specification of a level of ``network``."""
        return self.networks.get(network, network)

    def limits(self, size: str) -> SizeSpec:
        """Return what a level of ``size`` gives to each instance."""
        return self.sizes.get(size) or named_size(size) or SizeSpec()

    def given_cores(self, cell: Cell) -> float | None:
        """Return how many cores an instance of a cell is given, however it is held to them.

        None: it is given the whole machine.
        """
        size = self.limits(cell.size)
        asked = [n for n in (cell.quota, size.cores, size.cpuset) if n is not None]
        return min(asked, default=None)

    def cores(self, cell: Cell) -> float | None:
        """Return the CPU time that an instance of a cell gets a second of time; None: no quota."""
        asked = self.limits(cell.size).cores if cell.quota is None else cell.quota
        if asked is None or cell.pinning == "pinned":
            return None
        listed = listed_cpus(cell.pinning)
        # As many CPUs as it may use cannot be used up.
        return None if listed is not None and len(listed) <= asked else asked

    def period_s(self, cell: Cell) -> float:
        """Return the period of a cell's quota."""
        return self.quota_period_s if cell.period is None else cell.period

    @property
    def longest_period_s(self) -> float:
        """The longest period of a quota that a cell has."""
        return float(max(self.factors.get("period", (self.quota_period_s,))))


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One workload at one level of every factor."""

    #: Number of the cell in the order of the experiment file, from 0.
    cell: Annotated[int, msgspec.Meta(ge=0, lt=10**9)]
    workload: WorkloadSpec
    platform: str = "bare"
    workers: Count = 1
    #: One of ``PINNINGS``, or a list of CPUs.
    pinning: str = "none"
    load: str = NO_LOAD
    size: str = WHOLE_SIZE
    #: CPU time that all workers of an instance may take a second of time; None: no limit.
    quota: Positive | None = None
    #: Seconds after which that is handed out anew; None: the experiment's quota_period_s.
    period: Positive | None = None
    #: As written: ``bucket:c5.xlarge budget=100Gbit``; None: no factor of the experiment.
    network: str | None = None
    #: Levels of the user's own factors.
    others: dict[str, str] = {}

    def levels(self) -> dict[str, str]:
        """Every factor with its level as a string, ``workload`` first."""
        return {
            "workload": self.workload.name,
            "platform": self.platform,
            "workers": str(self.workers),
            "pinning": self.pinning,
            "load": self.load,
            "size": self.size,
            **({} if self.quota is None else {"quota": f"{self.quota:g}"}),
            **({} if self.period is None else {"period": f"{self.period:g}"}),
            **({} if self.network is None else {"network": self.network}),
            **self.others,
        }
