"""Why no target is called reached on a series, as a word and in words."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tare.statistics.looks import FIRST_LOOK, MEMORY, Target
from tare.statistics.statistic import FloatArray
from tare.statistics.steadiness import SAY, Change, largest_change
from tare.statistics.ticks import tick_of

#: Trials below which a change of level is not looked for.
_FEWEST_FOR_CHANGE = 20

#: Why the target is not called reached: the interval is too ``wide``; the clock is too ``coarse``;
#: the series ``remembers`` too much; it ``drifts`` or ``jumps`` by more than the target; under
#: ``anytime``, it is ``ordered``.
Why = Literal["wide", "coarse", "remembers", "drifts", "jumps", "ordered"]


def unsteady(
    values: FloatArray, precision: float, quantile: float = 0.5
) -> tuple[Why | None, str | None]:
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
    ("drifts" or "jumps", str) or (None, None)
        The same in words, with what to do; never below 20 trials.
    """
    return change_words(np.asarray(values, dtype=float), Target(precision, quantile))


def change_words(values: FloatArray, target: Target) -> tuple[Why | None, str | None]:
    """Tell that a series drifts or jumps by more than the target; None, None where it is not."""
    if len(values) < _FEWEST_FOR_CHANGE:
        return None, None
    change = largest_change(values, target.quantile)
    if change.statistic <= SAY or abs(change.size) <= target.precision:
        return None, None
    return _changed(change)


def _changed(change: Change) -> tuple[Why, str]:
    size = f"{100 * change.size:+.2g} %".replace("-", "−")
    if change.kind == "drift":
        return "drifts", (
            f"this series drifts: {size} over {change.place} trials; warm up or rest longer"
        )
    return "jumps", (
        f"this series jumps: {size} after trial {change.place}; find out what happened then, or "
        "warm up longer"
    )


def clock_words(values: FloatArray, target: Target) -> tuple[Why | None, str | None]:
    """Tell that no number of trials reaches the target, since the clock's tick is in the way."""
    tick, middle = tick_of(values, target.tick), float(np.quantile(values, target.quantile))
    if tick is None:
        return (
            "coarse",
            f"all {len(values)} values are equal, or nearly all: their resolution is unknown",
        )
    if tick <= target.precision * abs(middle):
        return None, None
    share = f"{100 * tick / abs(middle):.2g} %" if middle else "more than all"
    return "coarse", (
        f"the clock's tick is {share} of the value: time more work at once, or with a finer clock"
    )


def memory_words(
    n: int, tau: float, target: Target, *, refused: bool, enough: bool
) -> tuple[Why | None, str | None]:
    """Tell that a series remembers too much, where that alone is in the way."""
    if refused and target.anytime:
        return "ordered", (
            f"its trials remember each other (dependence time {tau:.1f}), so that they are not "
            "exchangeable: leave out anytime, or reset what they leave behind"
        )
    if tau > MEMORY or (n / tau < FIRST_LOOK and (enough or n >= target.cap)):
        return "remembers", (
            f"trials are autocorrelated: {n} count as about {n / tau:.0f} independent ones"
        )
    return None, None
