"""The straight pieces of a calibration with what is known of them: covariances, degrees of freedom.

A step counts once, by the mean of its trials: what is off with a quota is off in all of its trials,
so that these are no replicates of the line. Weights are 1/quota², since scatter is relative; how
large it is, is pooled over the pieces, of which the shortest have few steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from tare.calibration.document import Calibration, Point
from tare.statistics.scaling import MATTERS, Segment
from tare.statistics.statistic import FloatArray

#: Quotas closer than this are one: they are written with few digits.
NEAR = 1e-6
#: Of the intervals.
CONFIDENCE = 0.95
#: Breaks for which one line would err by less may be noise.
_CLOSE = 2 * MATTERS


@dataclass(frozen=True)
class FittedLine:
    """A straight piece: rate = intercept + slope · CPUs, from its first to its last step.

    Attributes
    ----------
    start, end : float
        CPUs.
    errors : tuple of float, or None
        Variance of the intercept, covariance, variance of the slope; None: no step is left to
        tell them.
    freedom : int
        Degrees of freedom of the scatter that the errors come from.
    flat : bool
        Whether the verdict says that more CPU gives nothing here.
    """

    start: float
    end: float
    intercept: float
    slope: float
    errors: tuple[float, float, float] | None
    freedom: int
    flat: bool = False

    def at(self, cpus: float) -> float:
        """Return the rate at so many CPUs."""
        return self.intercept + self.slope * cpus

    def variance(self, cpus: float) -> float:
        """Return the variance of the rate at so many CPUs; only with errors."""
        first, both, second = self.errors or (0.0, 0.0, 0.0)
        return first + 2 * cpus * both + cpus * cpus * second

    def holds(self, cpus: float) -> bool:
        """Tell whether so many CPUs are in this piece."""
        return self.start - NEAR <= cpus <= self.end + NEAR

    @property
    def rises(self) -> bool:
        """Whether more CPU is surely more speed."""
        if self.flat or self.slope <= 0 or self.errors is None:
            return self.slope > 0 and not self.flat
        return self.slope > quantile(self.freedom) * float(np.sqrt(self.errors[2]))


def quantile(freedom: float) -> float:
    """Return by how many standard errors a two-sided interval reaches."""
    return float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))


def fitted(calibration: Calibration) -> tuple[FittedLine, ...]:
    """Fit a line to each piece that the verdict names.

    Parameters
    ----------
    calibration : Calibration
        Its pieces against the CPU time asked for.

    Returns
    -------
    tuple of FittedLine
        In order of CPUs; pieces of fewer than two steps are left out.
    """
    pieces = [
        (segment, some)
        for segment in calibration.asked.segments
        if len(some := _within(calibration.points, segment)) >= 2
    ]
    fits = [_fit(some) for _, some in pieces]
    # A place of a break is fitted, too.
    freedom = sum(len(some) - 2 for _, some in pieces) - (len(pieces) - 1)
    scatter = sum(fit.squares for fit in fits) / freedom if freedom > 0 else None
    if scatter is not None and len(pieces) > 1:
        # Breaks go where they leave least, which is then less than the scatter.
        scatter = max(scatter, _by_trials(calibration.points))
    return tuple(
        FittedLine(
            start=segment.start,
            end=segment.end,
            intercept=fit.intercept,
            slope=fit.slope,
            errors=None if scatter is None else fit.errors(scatter),
            freedom=freedom,
            flat=segment.slope == 0,
        )
        for (segment, _), fit in zip(pieces, fits, strict=True)
    )


def undivided(calibration: Calibration) -> FittedLine | None:
    """Return the one line that might be the truth where breaks are close to what noise makes.

    Where straight lines were called piecewise, the pieces' own intervals held the truth in only
    83 % of simulations; together with this line's, in 91 % to 94 %.
    """
    asked = calibration.asked
    if not asked.breaks or asked.saturates_at is not None or (asked.largest_error or 1) > _CLOSE:
        return None
    points = sorted(calibration.points, key=lambda p: p.cpus)
    fit, freedom = _fit(points), len(points) - 2
    return FittedLine(
        start=points[0].cpus,
        end=points[-1].cpus,
        intercept=fit.intercept,
        slope=fit.slope,
        errors=fit.errors(fit.squares / freedom),
        freedom=freedom,
    )


def _within(points: Sequence[Point], segment: Segment) -> list[Point]:
    some = [p for p in points if segment.start - NEAR <= p.cpus <= segment.end + NEAR]
    return sorted(some, key=lambda p: p.cpus)


def _by_trials(points: Sequence[Point]) -> float:
    """Return the relative variance that the means have by the scatter of their trials alone."""
    several = [np.array(p.rates) for p in points if p.n > 1 and p.rate.value > 0]
    shares = [float(some.var(ddof=1)) / len(some) / float(some.mean()) ** 2 for some in several]
    return float(np.mean(shares)) if shares else 0.0


@dataclass(frozen=True)
class _Fit:
    intercept: float
    slope: float
    #: Covariances for scatter 1, and the typical rate of one CPU that scatter is relative to.
    unit: FloatArray
    typical: float
    #: Squared relative residuals, summed.
    squares: float

    def errors(self, scatter: float) -> tuple[float, float, float]:
        v = self.unit * (scatter * self.typical**2)
        return float(v[0, 0]), float(v[0, 1]), float(v[1, 1])


def _fit(points: Sequence[Point]) -> _Fit:
    """Fit a line by least squares with weights 1/CPUs²."""
    x = np.array([p.cpus for p in points])
    y = np.array([p.rate.value for p in points])
    # Divided by x, all scatter alike.
    design = np.stack([1 / x, np.ones_like(x)], axis=1)
    unit = np.linalg.inv(design.T @ design)
    intercept, slope = unit @ (design.T @ (y / x))
    typical = float(np.mean(y / x))
    left = y / x - design @ np.array([intercept, slope])
    squares = float(left @ left) / typical**2 if typical else 0.0
    return _Fit(float(intercept), float(slope), unit, typical, squares)
