"""What a calibration says, as data: written as JSON, shown on the page, cited by experiments."""

from __future__ import annotations

from typing import Literal

import msgspec

from tare.experiment.sweep.axis import MB_BYTES, AxisName
from tare.statistics.scaling import Scaling

#: Version of the document.
VERSION = 2
#: What is swept: quotas of CPU time, whole CPUs, or memory sizes that CPU time goes with.
By = Literal["quota", "cpuset", "memory"]
#: Why a range is slower than the fastest.
Cause = Literal["none", "frequency", "heat", "steal", "quota", "saturated", "unseen"]


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A value with its 95 % interval; low and high are None where n is too small."""

    value: float
    low: float | None = None
    high: float | None = None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine did at one step of the sweep: means over its trials.

    Absent is None, never zero.
    """

    #: CPU time a second that was asked for; with whole CPUs, their number.
    cpus: float
    #: Work a second of all workers together (``Calibration.work`` a second).
    rate: Interval
    #: CPU time a second that the workers got in the windows, of all together; None where it could
    #: not be had, as for some commands.
    delivered: Interval | None
    #: Good trials, their numbers, and each one's own values of the two (same order).
    n: int
    trials: tuple[int, ...]
    rates: tuple[float, ...]
    deliveries: tuple[float, ...]
    #: Effective clock while it worked, by chains of dependent additions: seen in VMs, too.
    clock_hz: float | None = None
    #: Mean frequency of the CPUs that cpufreq told, over the trials.
    frequency_hz: float | None = None
    #: Share of the quota's periods in which the kernel stopped a worker, and seconds of that.
    throttled_share: float | None = None
    throttled_s: float | None = None
    #: CPUs' worth of time that the hypervisor gave to others.
    steal_cpus: float | None = None
    #: Times that the processor throttled itself for heat.
    thermal_throttles: float | None = None
    #: The memory of a step, where memory is swept.
    memory_bytes: int | None = None
    #: Largest scaled residual of any solve.
    residual: float | None = None


def place_of(point: Point, axis: AxisName) -> float:
    """Return the place of a step on an axis: its CPUs, or its memory in MB."""
    if axis == "memory" and point.memory_bytes is not None:
        return point.memory_bytes / MB_BYTES
    return point.cpus


class Regime(msgspec.Struct, frozen=True, kw_only=True):
    """A range of quotas in which the machine scales by one line, and why another elsewhere."""

    #: Places on the calibration's axis.
    start: float
    end: float
    #: Work a second for each CPU in it, as a share of the fastest regime's.
    relative_speed: float
    #: Why it is slower: ``frequency``, ``heat``, ``steal``, ``quota`` (not delivered),
    #: ``saturated``, ``unseen``; ``none``: it is the fastest, or as fast.
    cause: Cause
    #: The same in a sentence, with the figures that it rests on.
    evidence: str
    #: Of a ceiling: whether it is where threads or CPUs end; None: not known, or no ceiling.
    expected: bool | None = None


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where it was measured: what must be the same for the calibration to hold."""

    cpu: str | None = None
    cpus: int | None = None
    kernel: str | None = None
    hypervisor: str | None = None
    governor: str | None = None
    driver: str | None = None
    #: Of the vendor's driver: ``active``, ``passive``, ``guided``; and whether the processor
    #: chooses its frequency by itself (HWP): ``on`` or ``off``.
    driver_mode: str | None = None
    hwp: str | None = None
    turbo: str | None = None
    smt: str | None = None
    boot_id: str | None = None
    #: Version of the control groups that held the quota.
    cgroup: str | None = None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How the speed of a machine follows the CPU time that it is given."""

    version: int = VERSION
    #: Date and time of the first session's start, ISO 8601.
    measured: str | None
    by: By
    #: What ``asked`` and ``regimes`` are along: CPUs, or memory in MB. In files of earlier versions
    #: always CPUs.
    axis: AxisName = "cpu"
    #: Workload as a person would name it: ``linpack (size 1000)``.
    workload: str
    #: What ``rate`` counts: ``flop``, ``execution``, ``byte``.
    work: str
    platform: str
    workers: int
    period_s: float
    #: Levels of further factors that the experiment varied beside, such as ``load``.
    levels: dict[str, str] = {}
    points: tuple[Point, ...]
    #: Against the CPU time asked for, or the memory: the verdict. Inconclusive where too much did
    #: not arrive.
    asked: Scaling
    #: Against the CPU time delivered: None where it could not be had.
    delivered: Scaling | None
    regimes: tuple[Regime, ...]
    #: Share of the CPU time due that did not arrive, because other work or the hypervisor had it;
    #: None: not known.
    lost_share: float | None = None
    machine: Machine
    #: Settings that were held meanwhile, by name.
    settings: dict[str, str] = {}
    #: What weakens it, each a sentence.
    caveats: tuple[str, ...] = ()

    def place(self, point: Point) -> float:
        """Return the place of a step on the axis of this calibration."""
        return place_of(point, self.axis)

    @property
    def places_per_cpu(self) -> float:
        """Places on the axis that one CPU is worth: 1, or MB."""
        return self.place(self.points[-1]) / self.points[-1].cpus

    @property
    def steps(self) -> tuple[tuple[float, tuple[float, ...]], ...]:
        """Each step's place on the axis, with the rates of its trials."""
        return tuple((self.place(p), p.rates or (p.rate.value,)) for p in self.points)


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep that others measured, or the line that they published of it."""

    axis: AxisName
    #: What they measured with, in their words.
    workload: str
    #: What rates count, as ``Calibration.work``.
    work: str
    #: Places with the rates there; none of a published line.
    steps: tuple[tuple[float, tuple[float, ...]], ...]
    asked: Scaling

    @property
    def published(self) -> bool:
        """Whether the line alone is known, so that its error is not."""
        return not self.steps
