"""From errors to lines: median with interval, worst, and whether it is what was promised."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec
import numpy as np

from tare.experiment.findings.level_names import unit_of
from tare.experiment.metrics import SOURCES, ranked
from tare.features.machine.selftest.bounds import KNOWN, Bound, bound
from tare.results.columns import Columns
from tare.results.message import Amount, Deviation, Message, Said, message
from tare.statistics.intervals import quantile_interval

_KNOWN_TEXTS = {
    "around": (
        "the launcher reads its clock when it gets a CPU again, which is late on a busy "
        "machine; it is used where the kernel does not stamp"
    ),
    "reaped": (
        "a process without a waiting parent is seen when the worker gets a CPU again; it is "
        "used where the kernel does not stamp"
    ),
    "perf_cpu": (
        "after its report, a process may still lose its CPU before it ends, on a busy machine"
    ),
}

#: Whether a figure is as specified; ``none``: nothing is specified.
Verdict = Literal["yes", "no", "inconclusive", "none"]
#: A clock's step.
_STEP_NS = 1000.0


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one program on one platform, with so many side by side.

    Attributes
    ----------
    n, processes : int
        Trials, and processes in all of them.
    true : float
        Median of what the programs said.
    median, low, high : float
        Error of a trial (mean over those side by side), with its interval, which is absent where
        there are too few trials.
    worst : float
        The largest error of all processes, either way.
    promised : tuple
        From and to, of the median; None: nothing.
    used : bool
        Whether tare uses the source here: the best that there is.
    """

    platform: str
    workers: int
    program: str
    metric: str
    source: str
    unit: str
    n: int
    processes: int
    true: float
    median: float
    low: float | None
    high: float | None
    worst: float
    promised: tuple[float | None, float | None]
    used: bool
    verdict: Verdict
    why: Said | None = None

    @property
    def error(self) -> Deviation:
        """The median with half of its interval."""
        return Deviation(self.median, self.unit, self.half)

    @property
    def half(self) -> float | None:
        """The larger distance of the interval's bounds from the median."""
        if self.low is None or self.high is None:
            return None
        return max(self.high - self.median, self.median - self.low)

    @property
    def badness(self) -> tuple[int, float]:
        """By verdict, then by size, so that what is off never hides behind what is not."""
        return ("none", "yes", "inconclusive", "no").index(self.verdict), abs(self.median)

    @property
    def named(self) -> Message:
        """The figure and where."""
        return message(
            "{metric} from {source} on {platform}{% if workers > 1 %}, {workers} workers"
            "{% endif %} ({program})",
            metric=self.metric,
            source=self.source,
            platform=self.platform,
            workers=self.workers,
            program=self.program,
        )


def lines(errors: Columns) -> tuple[Line, ...]:
    """Judge every figure, in order of metric, source and program."""
    used = _used(errors)
    keys = ["metric", "source", "program", "platform", "workers"]
    placed = errors.with_columns(place=np.arange(len(errors)))
    groups = sorted((some for _, some in placed.groups(*keys)), key=lambda some: some["place"][0])
    return tuple(sorted((_line(some, used) for some in groups), key=_order))


def _order(one: Line) -> tuple[str, int, str, int]:
    return one.metric, _rank(one.metric, one.source), one.program, one.workers


def _rank(metric: str, source: str) -> int:
    return ranked(metric, {*SOURCES, source}).index(source)


#: Platform, workers, program, metric.
_Place = tuple[str, int, str, str]


def _place(row: dict[Any, Any]) -> _Place:
    return str(row["platform"]), int(row["workers"]), str(row["program"]), str(row["metric"])


def _used(errors: Columns) -> dict[_Place, int]:
    """Return the rank of the best source that each metric has where it was measured."""
    found: dict[_Place, int] = {}
    for row in errors.records():
        rank = _rank(str(row["metric"]), str(row["source"]))
        found[_place(row)] = min(rank, found.get(_place(row), rank))
    return found


def _line(some: Columns, used: dict[_Place, int]) -> Line:
    first = next(some.records())
    place = platform, workers, program, metric = _place(first)
    source = str(first["source"])
    by_trial = np.array([*some.reduced("trial", "error", np.mean).values()])
    interval = quantile_interval(by_trial, tick=0.0)
    every = some["error"]
    part, launch = float(np.median(some["part"])), float(np.median(some["launch"]))
    promised = bound(metric, source, part, launch)
    verdict, why = _judge(source, promised, by_trial, every, some["less"])
    return Line(
        platform=platform,
        workers=workers,
        program=program,
        metric=metric,
        source=source,
        unit=unit_of(metric),
        n=len(by_trial),
        processes=len(every),
        true=float(np.median(some["true"])),
        median=interval.estimate,
        low=interval.low,
        high=interval.high,
        worst=float(every[np.argmax(np.abs(every))]),
        promised=(_finite(promised.low), _finite(promised.high)),
        used=_rank(metric, source) == used[place],
        verdict=verdict,
        why=why,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _judge(
    source: str, promised: Bound, by_trial: np.ndarray, every: np.ndarray, less: np.ndarray
) -> tuple[Verdict, Said | None]:
    """Tell whether it is what was promised; what is impossible is off even once."""
    missing = float(np.max(np.nan_to_num(less), initial=0.0))
    if missing > _STEP_NS:
        times = int((less > _STEP_NS).sum())
        return "no", message(
            "{times} of {of} times less than the program itself measured, by up to {most}",
            times=times,
            of=len(every),
            most=Amount(missing, "ns"),
        )
    if not promised.promises:
        return "none", promised.why
    if promised.every:
        wrong = int(sum(not promised.holds(float(e)) for e in every))
        why = message("{times} of {of} times not exact", times=wrong, of=len(every))
        return ("no", why) if wrong else ("yes", None)
    interval = quantile_interval(by_trial, tick=0.0)
    if promised.holds(interval.estimate):
        return "yes", None
    low = float(by_trial.min()) if interval.low is None else interval.low
    high = float(by_trial.max()) if interval.high is None else interval.high
    known = message(_KNOWN_TEXTS[source]) if source in KNOWN else None
    if interval.low is None or (low <= promised.high and high >= promised.low):
        return "inconclusive", interval.refusal or known
    return "no", known
