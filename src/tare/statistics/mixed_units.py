"""Do values have two units? Groups that lie as far apart as seconds and milliseconds do.

Source: rules chosen by simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from tare.statistics import checked
from tare.statistics.robust import robust_sd
from tare.statistics.statistic import FloatArray

#: Factors between the units of a quantity: SI and binary prefixes, and minutes beside seconds.
_SI, _BINARY = (tuple(base**k for k in range(1, 5)) for base in (1e3, 1024.0))
_MINUTE = 60.0
#: A gap of this share of the factor holds no value. Groups of CoV 20 % leave a fifth.
_GAP = 1 / 8
#: Largest spread of the logarithms within groups: beyond it a factor is hardly told from others.
_MOST_SPREAD = 0.3
#: How far the logarithm of the groups' ratio may be from that of the factor: so many standard
#: errors, but at least and at most so much; modes a factor of 100 apart are no minutes.
_ERRORS, _LEAST_OFF, _MOST_OFF, _MOST_OFF_MINUTE = 3.0, 0.05, 0.5, 0.15
#: Standard error of a median in those of a mean.
_OF_MEDIAN = math.sqrt(math.pi / 2)
#: Modes of any ratio are so near to a prefix by chance in one case of twenty.
_CERTAIN = 0.15
#: Values of a group from which on its spread is looked at.
_FEWEST = 3
#: Values, evenly taken, that units are looked for in.
_MOST_SORTED = 100_000


@dataclass(frozen=True)
class MixedUnits:
    """Two groups of values that conversion of one would make one.

    Attributes
    ----------
    factor : float
        Between the units.
    count : int
        Values in the smaller group, of those that were looked at.
    certain : bool
        Whether it can hardly be anything else: a prefix, and the groups' ratio known so well that
        modes of some other ratio would be as near in one case of twenty.
    """

    factor: float
    count: int
    certain: bool


def mixed_units(values: ArrayLike) -> MixedUnits | None:
    """Find two units in one series by the size of its values.

    Values are parted wherever one is 7.5 times the one below. Two groups with at least half of the
    values are taken for units if the ratio of their medians, or of their geometric means, is a
    prefix (a power of 1000 or 1024) or 60, within what their spread leaves open. Two modes within
    a unit leave the median open to either, and not the mean; an outlier the mean, and not the
    median.

    Parameters
    ----------
    values : array, shape (n,)

    Returns
    -------
    MixedUnits or None
        None where groups spread by more than 30 %. Zeros are in any unit, and left out.

    Notes
    -----
    Modes a factor of 10 or 100 apart are no units. Simulated rates are in
    docs/explanation/statistics.md.
    """
    values = checked.series(values, least=0)
    thinned = values[:: max(1, len(values) // _MOST_SORTED)]
    thinned = thinned[thinned != 0]
    if not len(thinned):
        return None
    low, high = float(np.min(thinned)), float(np.max(thinned))
    if low <= 0 or high < _GAP * _MINUTE * low:
        return None
    logs = np.sort(np.log(thinned))
    groups = np.split(logs, np.flatnonzero(np.diff(logs) > math.log(_GAP * _MINUTE)) + 1)
    found = [m for pair in combinations(groups, 2) if (m := _units(*pair, len(logs))) is not None]
    return max(found, key=lambda m: (m.certain, m.count), default=None)


def _units(lower: FloatArray, upper: FloatArray, n: int) -> MixedUnits | None:
    """Take two groups of logarithms for two units, if they may be."""
    sizes = len(lower), len(upper)
    if sum(sizes) < n / 2:
        return None
    # Of a single value its distance from the middle of its group says nothing.
    large = [group for group in (lower, upper) if len(group) >= _FEWEST]
    if not large:
        return None
    found = [
        one
        for middle, spread_of, times in ((np.median, robust_sd, _OF_MEDIAN), (np.mean, np.std, 1.0))
        if (
            one := _factor(
                float(middle(upper) - middle(lower)),
                float(spread_of(np.concatenate([x - middle(x) for x in large]))),
                times * math.sqrt(1 / sizes[0] + 1 / sizes[1]),
            )
        )
    ]
    if not found:
        return None
    off, factor = min(found)
    if upper[0] - lower[-1] < math.log(_GAP * factor):
        return None
    return MixedUnits(factor, min(sizes), factor != _MINUTE and off <= _CERTAIN)


def _factor(ratio: float, spread: float, errors: float) -> tuple[float, float] | None:
    """Find the factor that groups are apart by: how far off in logarithms, and the factor."""
    factor = min((_MINUTE, *_SI, *_BINARY), key=lambda f: abs(ratio - math.log(f)))
    most_off = _MOST_OFF_MINUTE if factor == _MINUTE else _MOST_OFF
    off = abs(ratio - math.log(factor))
    allowed = min(max(_LEAST_OFF, _ERRORS * errors * spread), most_off)
    return None if spread > _MOST_SPREAD or off > allowed else (off, factor)
