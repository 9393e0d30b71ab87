"""How coarse is the clock? The tick that values were recorded with."""

from __future__ import annotations

import numpy as np

from tare.registry import Description
from tare.statistics.course import sample
from tare.statistics.statistic import FloatArray, Statistic

#: Values looked at; longer series are sampled evenly.
_MOST = 4096
#: Relative to the largest value: what arithmetic in doubles leaves, and ticks finer than matter.
_NOISE, _FINEST = 1e-9, 1e-7
#: Where there are so many values a level, the clock is coarser than their spread.
_CROWDED = 2.0
#: Steps below this share of the middle one are rounding of a tick that is no round number.
_SAME = 0.05
#: Share of the values that the smaller of only two levels must have to be no outlier.
_LEVEL = 0.1


def tick_of(values: FloatArray, known: float | None = None) -> float | None:
    """Find the tick that values were recorded with.

    Parameters
    ----------
    values : array, shape (n,)
        In any order; of several series that one clock timed, all together.
    known : float, optional
        What is known of it, in the unit of the values, and is then returned; 0 where nothing was
        rounded, as with counts.

    Returns
    -------
    float or None
        In the unit of the values; 0 where it is finer than a ten-millionth of them. None where all
        values are equal and nothing is known: the tick may then have any size.

    Notes
    -----
    The largest number of which all values are multiples; where there are two values a level and
    more, the smallest step between levels, so that neither an offset nor a tick that is no round
    number hides it. Both are the tick or a multiple of it, never less.
    """
    if known is not None:
        return known
    levels, counts = np.unique(np.abs(sample(values, _MOST)), return_counts=True)
    if len(levels) < 2:
        return None
    # What is shorter than a tick would have been recorded as nothing.
    shortest = float(levels[levels > 0][0])
    return min(shortest, max(_common_divisor(levels), _step(levels, counts)))


def _common_divisor(levels: FloatArray) -> float:
    """Largest number of which all are multiples, as far as doubles tell; 0 for a very small one."""
    noise, finest = _NOISE * float(levels[-1]), _FINEST * float(levels[-1])
    divisor = float(levels[-1])
    while divisor > finest:
        apart = np.abs(levels - divisor * np.round(levels / divisor))
        # Noise is multiplied by as much as a level has of the divisor in it.
        other = np.flatnonzero(apart > noise)
        if not len(other):
            multiples = np.round(levels / divisor)
            return float(np.median(levels[multiples > 0] / multiples[multiples > 0]))
        divisor = float(apart[other].min())
    return 0.0


def _step(levels: FloatArray, counts: np.ndarray) -> float:
    """Smallest step between levels that hold several values each; 0 where they do not."""
    if counts.sum() < _CROWDED * len(levels):
        return 0.0
    if len(levels) == 2 and counts.min() < _LEVEL * counts.sum():
        return 0.0
    steps = np.diff(levels)
    return float(steps[steps > _SAME * np.median(steps)].min())


UNIT = Statistic(
    description=Description(
        name="ticks",
        title="Tick of recorded values",
        question="How coarse is the clock?",
        source="largest common divisor; smallest step between levels",
    ),
    methods=(tick_of,),
)
