"""Quotas, their period, and the windows that are counted in periods: whether they fit together."""

from __future__ import annotations

from collections.abc import Iterable

from tare.experiment.file import keys
from tare.experiment.file.table import Table
from tare.experiment.specification import (
    LEAST_PERIOD_S,
    LEAST_QUOTA_S,
    MOST_PERIOD_S,
    Experiment,
    WindowSpec,
)

#: A window is one execution after another, whose number follows from its length.
_SINGLE = {"iterations": 1, "warmup": 0}


def window(file: Table) -> WindowSpec | None:
    """Read ``[window]``; None where the file has none."""
    table = file.table("window")
    given = table.read(keys.WINDOW)
    return WindowSpec(**given) if "window" in file.values else None


def check(file: Table, experiment: Experiment) -> None:
    """Refuse periods and quotas that the kernel refuses, and iterations within windows.

    Raises
    ------
    ExperimentError
        Names the key, and what is possible.
    """
    top = file.table("experiment")
    _check_window(top, experiment)
    periods = experiment.factors.get("period", ())
    if periods and "quota_period" in top.values:
        raise top.error("quota_period", "is varied by the factor period", "remove one of them")
    for period_s in (experiment.quota_period_s, *periods):
        if not LEAST_PERIOD_S <= period_s <= MOST_PERIOD_S:
            raise (file.table("factors") if periods else top).error(
                "period" if periods else "quota_period",
                f"{_time(period_s)} is no period that the kernel takes; expected 1 ms to 1 s",
                'period = ["20 ms", "100 ms"]' if periods else 'quota_period = "100 ms"',
            )
    period_s = min(periods, default=experiment.quota_period_s)
    for table, key, cores in _quotas(file, experiment):
        # The kernel counts in microseconds.
        if round(cores * period_s * 1e6) < LEAST_QUOTA_S * 1e6:
            least = LEAST_QUOTA_S / period_s
            raise table.error(
                key,
                f"{cores:g} CPUs are {_time(cores * period_s)} in a period of {_time(period_s)}, "
                "and the kernel takes no quota below 1 ms",
                f"the least there is {least:g}; or a longer quota_period in [experiment]",
            )


def _check_window(top: Table, experiment: Experiment) -> None:
    if experiment.window is None:
        return
    for key, only in _SINGLE.items():
        if getattr(experiment, key) != only:
            raise top.error(
                key,
                f"is to be {only} beside [window], which executes over and over by itself",
                f"remove {key}, or remove [window]",
            )
    given = next((w for w in experiment.workloads if w.repetitions not in (None, 1)), None)
    if given is not None:
        raise top.error(
            None,
            f"the repetitions of {given.name} say nothing beside [window], which counts single "
            "executions",
            f"remove repetitions = {given.repetitions}",
        )
    if experiment.stopping.gate is not None:
        raise top.error(
            "gate",
            "asks what takes longer, and beside [window] more is better",
            "remove gate: compare alone tells what is slower",
        )
    if experiment.process == "same":
        raise top.error(
            "process",
            "says nothing beside [window], where a worker is one process anyhow",
            "remove process",
        )


def _quotas(file: Table, experiment: Experiment) -> Iterable[tuple[Table, str, float]]:
    """Yield every quota that is asked, with the table and the key that asks it."""
    for level in experiment.factors.get("quota", ()):
        yield file.table("factors"), "quota", level
    for name, size in experiment.sizes.items():
        if size.cores is not None:
            yield file.table("sizes").table(name), "cores", size.cores
    for name in set(experiment.factors.get("size", ())) - set(experiment.sizes):
        if (cores := experiment.limits(name).cores) is not None:
            yield file.table("factors"), "size", cores


def _time(seconds: float) -> str:
    return f"{1000 * seconds:g} ms" if seconds < 1 else f"{seconds:g} s"
