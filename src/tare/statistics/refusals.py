"""Why no target is called reached on a series: as a word, and as a message with what to do."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tare.results.message import Amount, Deviation, Message, message
from tare.statistics.interim_analysis import FIRST_LOOK, MEMORY, Target
from tare.statistics.statistic import FloatArray
from tare.statistics.steadiness import SAY, largest_change
from tare.statistics.ticks import tick_of

#: Trials below which a change of level is not looked for.
_FEWEST_FOR_CHANGE = 20

#: Why the target is not called reached: the interval is too ``wide``; the clock is too ``coarse``;
#: the series ``remembers`` too much; it ``drifts`` or ``jumps`` by more than the target; under
#: ``anytime``, it is ``ordered``.
Why = Literal["wide", "coarse", "remembers", "drifts", "jumps", "ordered"]
#: A reason with its message; None, None where nothing is in the way.
Refused = tuple[Why, Message] | tuple[None, None]


def unsteady(values: FloatArray, precision: float, quantile: float = 0.5) -> Refused:
    """Tell that a series drifts or jumps by more than a target, where that is certain enough.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    precision : float
        The relative change that matters.
    quantile : float
        Of which quantile; the median by default.

    Returns
    -------
    ("drifts" or "jumps", Message) or (None, None)
        With what to do; never below 20 trials.
    """
    return change(np.asarray(values, dtype=float), Target(precision, quantile))


def change(values: FloatArray, target: Target) -> Refused:
    """Tell that a series drifts or jumps by more than the target."""
    if len(values) < _FEWEST_FOR_CHANGE:
        return None, None
    found = largest_change(values, target.quantile)
    if found.statistic <= SAY or abs(found.size) <= target.precision:
        return None, None
    size = Deviation(found.size, "share")
    if found.kind == "drift":
        return "drifts", message("stopping.drifts", size=size, trials=found.place)
    return "jumps", message("stopping.jumps", size=size, trial=found.place)


def clock(values: FloatArray, target: Target) -> Refused:
    """Tell that no number of trials reaches the target, since the clock's tick is in the way."""
    tick, middle = tick_of(values, target.tick), float(np.quantile(values, target.quantile))
    if tick is None:
        return "coarse", message("interval.unresolved", n=len(values))
    if tick <= target.precision * abs(middle):
        return None, None
    share = Amount(tick / abs(middle), "share") if middle else None
    return "coarse", message("stopping.coarse", share=share)


def dependence(n: int, tau: float, target: Target, *, refused: bool, enough: bool) -> Refused:
    """Tell that a series is autocorrelated, where that alone is in the way."""
    if refused and target.anytime:
        return "ordered", message("stopping.ordered", tau=tau)
    if tau > MEMORY or (n / tau < FIRST_LOOK and (enough or n >= target.cap)):
        return "remembers", message("stopping.dependent", n=n, effective=round(n / tau))
    return None, None
