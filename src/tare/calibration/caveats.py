"""What weakens a calibration, each in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tare.calibration.ceiling import Usable
from tare.calibration.document import Point
from tare.calibration.numbers import cpus
from tare.calibration.trials import Sweep
from tare.frames import Results
from tare.statistics.scaling import Scaling
from tare.units import percent

#: More CPU time than was asked for, by this share, is more than a window's edges explain.
_TOO_MUCH = 0.05
#: Less of the CPU time asked for, by this share, is told.
_SHORT = 0.05
#: Share of the CPU time asked for that others may take before it is told.
_STEAL = 0.02
#: Steps that one sentence names.
_MOST_NAMED = 5


def caveats(
    results: Results,
    sweep: Sweep,
    points: Sequence[Point],
    usable: Usable,
    asked: Scaling,
    lost_share: float | None,
) -> Iterator[str]:
    """Yield what is to be told with a calibration, the gravest first."""
    wrong = results.faults[results.faults["kind"] == "check"]
    for fault in wrong.head(1).to_dict("records"):
        yield (
            f"The session stopped at trial {fault['trial']}, whose result was wrong: "
            f"{str(fault['message']).rstrip('.')}. What was measured before is kept."
        )
    yield from _left_out(sweep, points)
    if any(p.n == 1 for p in points):
        yield f"No interval at {_named([p.cpus for p in points if p.n == 1])}: one trial has none."
    yield from _sessions(sweep)
    yield from _delivery(points, usable)
    if asked.reason != "disturbed":
        yield from _missing(points, usable, lost_share)
    steal = [p.steal_cpus / p.cpus for p in points if p.steal_cpus is not None]
    if steal and np.mean(steal) > _STEAL:
        yield (
            f"The hypervisor gave {percent(float(np.mean(steal)))} of the CPU time asked for to "
            "others: the machine is shared, and another day may be another machine."
        )


def _left_out(sweep: Sweep, points: Sequence[Point]) -> Iterator[str]:
    for why, n in sweep.left_out.items():
        verb = "is" if n == 1 else "are"
        yield f"{n} trial{'s' * (n != 1)} {why} and {verb} not in it."
    missing = sorted(set(sweep.asked) - {p.cpus for p in points})
    if missing:
        yield f"No trial ended well at {_named(missing)}."


def _named(steps: Sequence[float]) -> str:
    shown = ", ".join(f"{step:g}" for step in steps[:_MOST_NAMED])
    more = len(steps) - _MOST_NAMED
    if len(steps) == 1:
        return cpus(steps[0])
    return f"{shown}{f' and {more} more steps of' if more > 0 else ''} CPUs"


def _sessions(sweep: Sweep) -> Iterator[str]:
    """Sessions are blocks above trials: the trials of one are not those of another."""
    table = sweep.table
    if table["session"].nunique() < 2:
        return
    logs = np.log(table["rate"].where(table["rate"] > 0))
    # Each step's own level aside, what is left is the session's and the trial's.
    rest = logs - logs.groupby(table["cpus"]).transform("mean")
    by_session = rest.groupby(table["session"])
    means = by_session.mean()
    error = float(np.sqrt((by_session.var() / by_session.count()).fillna(0).max()))
    apart = float(means.max() - means.min())
    count = f"Its trials come from {len(means)} sessions"
    if apart > 4 * error and apart > 0.01:
        slow, fast = means.idxmin(), means.idxmax()
        yield (
            f"{count}, and session {slow} was {percent(1 - float(np.exp(-apart)))} slower than "
            f"session {fast}: the intervals, over all trials alike, are too narrow for another "
            "session."
        )
    else:
        yield f"{count}; means are over all of them."


def _delivery(points: Sequence[Point], usable: Usable) -> Iterator[str]:
    if any(p.delivered is None for p in points):
        yield (
            "The CPU time that arrived was not measured at every step, so that a quota that did "
            "not arrive cannot be told from a slower CPU."
        )
    over = [
        p.cpus
        for p in points
        if p.delivered is not None
        and (p.delivered.low or p.delivered.value) > (1 + _TOO_MUCH) * p.cpus
        and usable.of(p) == p.cpus
    ]
    if over:
        yield (
            f"More CPU time arrived than was asked for at {_named(over)}: look for a burst "
            "(cpu.max.burst, cpu.cfs_burst_us), or a quota that did not hold."
        )


def _missing(points: Sequence[Point], usable: Usable, lost_share: float | None) -> Iterator[str]:
    """Tell how much CPU time did not arrive, where the verdict does not."""
    shares = [p.delivered.value / usable.of(p) for p in points if p.delivered is not None]
    if usable.threads is not None and shares and np.mean(shares) < 1 - _SHORT:
        had = "why is not known" if lost_share is None else f"others had {percent(lost_share)}"
        yield (
            f"{percent(1 - float(np.mean(shares)))} of the CPU time that was asked for and could "
            f"be used did not arrive; {had}."
        )
