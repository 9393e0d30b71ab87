"""Is one series of trials doubtful? As an audit has it; light to import, as ``run`` asks it."""

from __future__ import annotations

from tare.experiment.specification import Stopping
from tare.results.message import Message, message
from tare.statistics.interim_analysis import FIRST_LOOK
from tare.statistics.intervals import Interval
from tare.statistics.shared_timeline import SharedTimeline
from tare.statistics.statistic import FloatArray
from tare.statistics.trust import PRECISION, Reason, Trust, trust


def precision_of(stopping: Stopping) -> float:
    """Return the precision of a median that is asked for: the target, or else an audit's."""
    has_target = stopping.trials is None and stopping.compare is None
    return stopping.precision if has_target else PRECISION


def judge(
    values: FloatArray,
    stopping: Stopping,
    median: Interval,
    sessions: int,
    tick: float | None = None,
    timeline: SharedTimeline | None = None,
) -> Trust:
    """Judge a series of trials as an audit does, by the target that it was measured for.

    A series that was measured without a target is judged by that of an audit. ``timeline``: what
    the trials have in common over their iterations.
    """
    return trust(
        values,
        trials_known=True,
        precision=precision_of(stopping),
        tick=tick,
        median=median,
        sessions=sessions,
        timeline=timeline,
    )


def why(reason: Reason, trials: int) -> Message:
    """Return a reason in short, without what to do; ``trials``: how many it is of."""
    # Fewer trials are too few to adjust an interval by.
    if reason.kind == "autocorrelated" and trials >= FIRST_LOOK:
        return message(
            "{said}, and the interval of the median is adjusted for it", said=reason.short
        )
    return reason.short
