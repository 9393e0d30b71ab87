"""Caveats of a calibration, as messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tare.experiment.results import Results
from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.ceiling import Usable
from tare.experiment.sweep.document import Point, place_of
from tare.experiment.sweep.numbers import place, share, step
from tare.experiment.sweep.trials import Sweep
from tare.results.message import Message, message
from tare.statistics.scaling import Scaling

_CAVEAT_TEXTS = {
    "failed": (
        "{trials | counted('trial')} failed and {% if trials == 1 %}is{% else %}are"
        "{% endif %} left out"
    ),
    "no_limit": (
        "{trials | counted('trial')} had no limit and {% if trials == 1 %}is{% else %}are"
        "{% endif %} left out"
    ),
    "no_rate": (
        "{trials | counted('trial')} had no rate and {% if trials == 1 %}is{% else %}are"
        "{% endif %} left out"
    ),
}

#: More CPU time than was asked for, by this share, is more than a window's edges explain.
_TOO_MUCH = 0.05
#: Less of the CPU time asked for, by this share, is reported.
_SHORT = 0.05
#: Share of the CPU time asked for that others may take before it is reported.
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
) -> Iterator[Message]:
    """Yield what weakens a calibration, the gravest first."""
    wrong = results.faults.where(kind="check")
    for fault in wrong.rows(range(min(1, len(wrong)))).records():
        yield message(
            "stopped at trial {trial}, because its result was wrong: {why}. Earlier trials "
            "are used",
            trial=int(fault["trial"]),
            why=str(fault["message"]).rstrip("."),
        )
    yield from _left_out(sweep, points)
    single = [place_of(p, sweep.axis) for p in points if p.n == 1]
    if single:
        yield message("no interval at {steps}: only one trial", steps=_named(single, sweep.axis))
    yield from _sessions(sweep)
    yield from _delivery(points, usable, sweep.axis)
    if asked.reason != "disturbed":
        yield from _missing(points, usable, lost_share)
    steal = [p.steal_cpus / p.cpus for p in points if p.steal_cpus is not None]
    if steal and np.mean(steal) > _STEAL:
        yield message(
            "the hypervisor gave {steal} of the requested CPU time to others. The machine is "
            "shared, and may differ on another day",
            steal=share(float(np.mean(steal))),
        )


def _left_out(sweep: Sweep, points: Sequence[Point]) -> Iterator[Message]:
    for why, trials in sweep.left_out.items():
        yield message(_CAVEAT_TEXTS[why], trials=trials)
    missing = sorted(set(sweep.asked) - {place_of(p, sweep.axis) for p in points})
    if missing:
        yield message("no trial ended well at {steps}", steps=_named(missing, sweep.axis))


def _named(steps: Sequence[float], axis: AxisName) -> Message:
    if len(steps) == 1:
        return place(steps[0], axis)
    return message(
        "{steps | join(', ')}{% if others %} and {others} more steps of{% endif %} {unit}",
        steps=[step(one) for one in steps[:_MOST_NAMED]],
        others=max(0, len(steps) - _MOST_NAMED),
        unit=AXES[axis].unit,
    )


def _sessions(sweep: Sweep) -> Iterator[Message]:
    """Sessions are blocks above trials: the trials of one are not those of another."""
    table = sweep.table.rows(sweep.table["rate"] > 0)
    if len(sweep.table.distinct("session")) < 2:
        return
    logs = table.with_columns(log=np.log(table["rate"]))
    # Each step's own level aside, what is left is the session's and the trial's.
    level = logs.reduced("cpus", "log", np.mean)
    rest = logs.with_columns(log=logs["log"] - [level[cpus] for cpus in logs["cpus"].tolist()])
    means = rest.reduced("session", "log", np.mean)
    spread = rest.reduced("session", "log", lambda own: own.var(ddof=1) / len(own)
                          if len(own) > 1 else 0.0)  # fmt: skip
    error = float(np.sqrt(max(spread.values())))
    slow, fast = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    apart = float(means[fast] - means[slow])
    if apart > 4 * error and apart > 0.01:
        yield message(
            "session {slow} was {slower} slower than session {fast} (of {sessions}). "
            "Intervals are over all trials, and too narrow for another session",
            slow=slow,
            slower=share(1 - float(np.exp(-apart))),
            fast=fast,
            sessions=len(means),
        )
    else:
        yield message(
            "the trials come from {sessions} sessions; means are over all of them",
            sessions=len(means),
        )


def _delivery(points: Sequence[Point], usable: Usable, axis: AxisName) -> Iterator[Message]:
    if any(p.delivered is None for p in points):
        yield message(
            "delivered CPU time was not measured at every step. An undelivered quota and a "
            "slower CPU cannot be distinguished"
        )
    over = [
        place_of(p, axis)
        for p in points
        if p.delivered is not None
        and (p.delivered.low or p.delivered.value) > (1 + _TOO_MUCH) * p.cpus
        and usable.of(p) == p.cpus
    ]
    if over:
        yield message(
            "more CPU time was delivered than requested at {steps}. Check for bursts "
            "(cpu.max.burst, cpu.cfs_burst_us), or a quota that did not hold",
            steps=_named(over, axis),
        )


def _missing(
    points: Sequence[Point], usable: Usable, lost_share: float | None
) -> Iterator[Message]:
    """Report how much CPU time did not arrive, where the verdict does not."""
    shares = [p.delivered.value / usable.of(p) for p in points if p.delivered is not None]
    if usable.threads is not None and shares and np.mean(shares) < 1 - _SHORT:
        yield message(
            "{missing} of the requested, usable CPU time was not delivered: {% if others %}"
            "others used {others}{% else %}the cause is unknown{% endif %}",
            missing=share(1 - float(np.mean(shares))),
            others=None if lost_share is None else share(lost_share),
        )
