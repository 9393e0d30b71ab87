"""How coarse is the clock? The tick that values were recorded with.

Source: largest common divisor; smallest step between levels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tare.statistics import checked
from tare.statistics.downsample import sample
from tare.statistics.statistic import FloatArray, median

#: What is known of the ticks of two series: of both, or of each.
Tick = float | tuple[float | None, float | None] | None

#: Values looked at; longer series are sampled evenly.
_MOST = 4096
#: Relative to the largest value: what arithmetic in doubles leaves, and ticks finer than matter.
_NOISE, _FINEST = 1e-9, 1e-7
#: Where there are so many values a level, the clock is coarser than their spread.
_CROWDED = 2.0
#: Steps below this share of the middle one are rounding of a tick that is no round number.
_SAME = 0.05
#: Single values off one level from which on they say that no tick holds them apart.
_FINE_FROM = 6
#: A step that is as long as the divisor.
_ALIKE = 1.5
#: Share of a value from which equal ones are explained by a tick of that size.
_COARSE = 0.02


def tick_of(values: ArrayLike, known: float | None = None) -> float | None:
    """Find the tick that values were recorded with.

    Parameters
    ----------
    values : array, shape (n,)
        In any order, as they were recorded: before they were averaged.
    known : float, optional
        What is known of it, in the unit of the values, and is then returned; 0 where nothing was
        rounded, as with counts.

    Returns
    -------
    float or None
        In the unit of the values; 0 where it is finer than a ten-millionth of them. None where
        nothing is known and all values are equal, or all but five or fewer that are farther off
        than a fine number of which all are multiples: the tick may then have any size.

    Notes
    -----
    The largest number of which all values are multiples; where there are two values a level and
    more, the smallest step between levels, so that neither an offset nor a tick that is no round
    number hides it. Both are the tick or a multiple of it, never less.
    """
    values = checked.series(values, least=0)
    if known is not None:
        return known
    levels, counts = np.unique(np.abs(sample(values, _MOST)), return_counts=True)
    if len(levels) < 2:
        return None
    # What is shorter than a tick would have been recorded as nothing.
    shortest = float(levels[levels > 0][0])
    divisor = _common_divisor(levels)
    step = _step(levels, counts, divisor)
    return None if step is None else min(shortest, max(divisor, step))


def ticks_of(
    first: FloatArray, second: FloatArray, known: Tick = None
) -> tuple[float, float] | None:
    """Find the ticks of two series that are compared.

    Parameters
    ----------
    first, second : array
    known : float or (float or None, float or None), optional
        What is known of both, or of each.

    Returns
    -------
    (float, float) or None
        None where one is not known: all of its values are equal, and the other does not show that
        the clock is as coarse as that.
    """
    known_of = known if isinstance(known, tuple) else (known, known)
    found = [tick_of(x, tick) for x, tick in zip((first, second), known_of, strict=True)]
    for one, other, values in ((0, 1, second), (1, 0, first)):
        if found[one] is None and found[other] is not None and _shows(values):
            found[one] = found[other]
    a, b = found
    return None if a is None or b is None else (a, b)


def _shows(values: FloatArray) -> bool:
    """Whether several values stand on each level, as a coarse clock makes them."""
    return _crowded(*np.unique(sample(values, _MOST), return_counts=True))


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
            return median(levels[multiples > 0] / multiples[multiples > 0])
        divisor = float(apart[other].min())
    return 0.0


def _step(levels: FloatArray, counts: np.ndarray, divisor: float) -> float | None:
    """Smallest step between levels that hold several values each; 0 where they do not.

    None where one does, and single values do not agree on a step from it.
    """
    if not _crowded(levels, counts):
        return 0.0
    several = counts > 1
    if several.sum() > 1:
        # A single value off the others' levels is no level.
        steps = np.diff(levels[several])
        return float(steps[steps > _SAME * median(steps)].min())
    away = np.abs(levels[~several] - levels[several])
    step = float(away.min())
    if step <= _ALIKE * divisor or divisor > _COARSE * float(levels[several][0]):
        return 0.0
    agreeing = np.abs(away / step - np.round(away / step)) < _SAME
    if len(away) > 1 and agreeing.all():
        return step
    # So many that no coarse clock has recorded tell of a fine one, as where half did nothing.
    return 0.0 if len(away) >= _FINE_FROM else None


def _crowded(levels: FloatArray, counts: np.ndarray) -> bool:
    return bool(counts.sum() >= _CROWDED * len(levels))
