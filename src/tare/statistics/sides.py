"""Two samples as they were matched: how they differ in location and in spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tare.statistics.comparison import Comparison, adjust_family, compare, compare_unpaired
from tare.statistics.downsample import sample
from tare.statistics.shift import paired_shift, unpaired_shift
from tare.statistics.spread import (
    SpreadComparison,
    compare_spread,
    compare_spread_unpaired,
    range_dependence,
    resamples_for,
)
from tare.statistics.statistic import FloatArray, Shift
from tare.statistics.ticks import Tick

#: Largest sample whose location is compared: the time grows with its square, so that of longer
#: ones that nobody randomised, evenly spaced values are taken.
MAX_VALUES = 2000
#: Largest number of pairs whose spread is resampled in pairs; above, pairs cost more than they
#: gain.
_MAX_PAIRED_SPREAD = 200


@dataclass(frozen=True, eq=False)
class Sides:
    """Two samples that are compared.

    Attributes
    ----------
    first, second : array, shape (m,) and (n,)
        In order of time; where paired, the i-th of both belong together. Infinite: above a limit.
    limits : (array, array)
        What infinite values of each are known to exceed; NaN elsewhere.
    paired : bool
        Whether the i-th of both belong together.
    dependence : float or None
        Pairs, or values where they are not paired, that are worth one independent one. None: pairs
        whose order was randomised.
    tick : Tick
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.
    """

    first: FloatArray
    second: FloatArray
    limits: tuple[FloatArray, FloatArray]
    paired: bool = True
    dependence: float | None = None
    tick: Tick = None

    @cached_property
    def _thinned(self) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
        if self.dependence is None:
            return self.first, self.second, self.limits
        first, second, *limits = (
            np.ascontiguousarray(sample(x, MAX_VALUES))
            for x in (self.first, self.second, *self.limits)
        )
        return first, second, (limits[0], limits[1])

    def compare(self, margin: float, confidence: float = 0.95) -> Comparison:
        """Compare the locations by their ratio.

        Raises
        ------
        ValuesError
            If some values are not positive: they have a :meth:`difference`, but no ratio.
        """
        first, second, limits = self._thinned
        if self.paired:
            return compare(
                first, second, margin, confidence,
                dependence=self.dependence, tick=self.tick, limits=limits,
            )  # fmt: skip
        return compare_unpaired(
            first, second, margin, confidence, self.dependence or 1.0, self.tick, limits
        )

    def difference(self, confidence: float = 0.95) -> Shift:
        """Compare the locations by their difference, in the unit of the values."""
        first, second, limits = self._thinned
        if self.paired:
            return paired_shift(
                first, second, confidence,
                dependence=self.dependence, tick=self.tick, limits=limits,
            )  # fmt: skip
        return unpaired_shift(
            first, second, confidence,
            dependence=self.dependence or 1.0, tick=self.tick, limits=limits,
        )  # fmt: skip

    def compare_spread(
        self, margin: float, confidence: float = 0.95, seed: int = 1, family: int = 1
    ) -> SpreadComparison | None:
        """Compare the p10–p90 ranges; None where values or one of the ranges are not known.

        Parameters
        ----------
        margin : float
            Relative growth of practical importance.
        confidence : float
        seed : int
            Of the resampling.
        family : int
            Comparisons that are judged together.
        """
        first, second = self.first, self.second
        is_known = np.isfinite(first).all() and np.isfinite(second).all()
        if min(len(first), len(second)) < 2 or not is_known:
            return None
        paired = self.paired and len(first) <= _MAX_PAIRED_SPREAD
        compared = compare_spread if paired else compare_spread_unpaired
        return compared(
            first,
            second,
            margin,
            confidence,
            seed,
            dependence=range_dependence(sample(first), sample(second), paired=paired),
            tick=self.tick,
            resamples=resamples_for(family),
        )


def compare_all(
    sides: Sequence[Sides], margin: float, confidence: float = 0.95
) -> list[Comparison]:
    """Compare the locations of all pairs of samples that answer one question, adjusted by Holm."""
    return adjust_family([one.compare(margin, confidence) for one in sides], margin)
