"""The straight pieces of a calibration with what is known of them: covariances, degrees of freedom.

A step counts once, by one value for its trials: what is off with a quota is off in all of them, so
that they are no replicates of the line. Weights are 1/quota², since the scatter of tare's own
sweeps is relative; in a table of others it may be constant, and the likelier of both is taken. How
large it is, is pooled over the pieces, of which the shortest have few steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from tare.experiment.sweep.document import Calibration, Fit
from tare.statistics.scaling import MATTERS, Segment
from tare.statistics.statistic import FloatArray
from tare.statistics.steps import gather

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
        Places: CPUs, or memory in MB.
    errors : tuple of float, or None
        Variance of the intercept, covariance, variance of the slope; None: no step is left to
        tell them.
    freedom : int
        Degrees of freedom of the scatter that the errors come from.
    flat : bool
        Whether the verdict says that more CPU gives nothing here.
    published : bool
        Whether it was published without its points, so that its own error is unknown.
    """

    start: float
    end: float
    intercept: float
    slope: float
    errors: tuple[float, float, float] | None
    freedom: int
    flat: bool = False
    published: bool = False

    def at(self, cpus: float) -> float:
        """Return the rate at so many CPUs."""
        return self.intercept + self.slope * cpus

    def variance(self, cpus: float) -> float:
        """Return the variance of the fitted rate at a number of CPUs; 0 if ``errors`` is None."""
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


def fitted(calibration: Calibration | Fit) -> tuple[FittedLine, ...]:
    """Fit a line to each piece that the verdict names.

    Parameters
    ----------
    calibration : Calibration or Fit
        Its pieces against the CPU time asked for; a published line is taken as it is.

    Returns
    -------
    tuple of FittedLine
        In order of CPUs; pieces of fewer than two steps are left out.
    """
    if isinstance(calibration, Fit) and calibration.published:
        return tuple(_published(segment) for segment in calibration.asked.segments)
    x, y, own = _steps(calibration.steps)
    pieces = [
        (segment, inside)
        for segment in calibration.asked.segments
        if (inside := (x >= segment.start - NEAR) & (x <= segment.end + NEAR)).sum() >= 2
    ]
    groups = [(x[inside], y[inside]) for _, inside in pieces]
    fits = [_fit(*group, _is_relative(calibration, groups)) for group in groups]
    # A place of a break is fitted, too.
    freedom = sum(int(inside.sum()) - 2 for _, inside in pieces) - (len(pieces) - 1)
    scatter = sum(fit.squares for fit in fits) / freedom if freedom > 0 else None
    if scatter is not None and len(pieces) > 1:
        # Breaks go where they leave least, which is then less than the scatter.
        scatter = max(scatter, own)
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


def _published(segment: Segment) -> FittedLine:
    return FittedLine(
        start=segment.start,
        end=segment.end,
        intercept=segment.intercept,
        slope=segment.slope,
        errors=None,
        freedom=1,
        published=True,
    )


def undivided(calibration: Calibration | Fit) -> FittedLine | None:
    """Return the one line that might be the truth where breaks are close to what noise makes.

    Where straight lines were called piecewise, the pieces' own intervals held the truth in only
    83 % of simulations; together with this line's, in 91 % to 94 %.
    """
    asked = calibration.asked
    if not asked.breaks or asked.saturates_at is not None or (asked.largest_error or 1) > _CLOSE:
        return None
    x, y, _ = _steps(calibration.steps)
    fit, freedom = _fit(x, y, _is_relative(calibration, [(x, y)])), len(x) - 2
    return FittedLine(
        start=float(x[0]),
        end=float(x[-1]),
        intercept=fit.intercept,
        slope=fit.slope,
        errors=fit.errors(fit.squares / freedom),
        freedom=freedom,
    )


def _steps(
    steps: Sequence[tuple[float, Sequence[float]]],
) -> tuple[FloatArray, FloatArray, float]:
    """Return place and rate of each step, as the verdict has them, and the rates' own variance.

    That is relative, by the scatter of their trials alone.
    """
    rates = [some for _, some in steps]
    x = np.repeat([place for place, _ in steps], [len(some) for some in rates])
    at = gather(x, np.concatenate(rates), x)
    own = 0.0 if at.scatter is None else float(np.mean(at.scatter**2 / at.counts))
    return at.x, at.y, own


@dataclass(frozen=True)
class _Fit:
    intercept: float
    slope: float
    #: Covariances for scatter 1, and the typical rate of one CPU that scatter is relative to.
    unit: FloatArray
    typical: float
    #: Squared residuals relative to the typical rate, summed.
    squares: float

    def errors(self, scatter: float) -> tuple[float, float, float]:
        v = self.unit * (scatter * self.typical**2)
        return float(v[0, 0]), float(v[0, 1]), float(v[1, 1])


def _is_relative(
    calibration: Calibration | Fit, groups: Sequence[tuple[FloatArray, FloatArray]]
) -> bool:
    """Whether the scatter about the lines grows with the place, by the likelihood of a table."""
    if not isinstance(calibration, Fit):
        return True
    steps = sum(len(x) for x, _ in groups)

    def surprise(relative: bool) -> float:
        fits = [_fit(*group, relative) for group in groups]
        squares = sum(fit.squares * fit.typical**2 for fit in fits)
        logs = sum(float(np.log(_scale(x, relative)).sum()) for x, _ in groups)
        return steps / 2 * float(np.log(max(squares, 1e-300))) + logs

    return surprise(True) <= surprise(False)


def _scale(x: FloatArray, relative: bool) -> FloatArray:
    """Return what the scatter is in proportion to at each place."""
    return x if relative else np.full_like(x, x.mean())


def _fit(x: FloatArray, y: FloatArray, relative: bool) -> _Fit:
    """Fit a line by least squares; ``relative``: with weights 1/CPUs², otherwise without."""
    scale = _scale(x, relative)
    # Divided by it, all scatter alike.
    design = np.stack([1 / scale, x / scale], axis=1)
    unit: FloatArray = np.asarray(np.linalg.inv(design.T @ design), dtype=float)
    intercept, slope = unit @ (design.T @ (y / scale))
    typical = float(np.mean(y / scale))
    left = y / scale - design @ np.array([intercept, slope])
    squares = float(left @ left) / typical**2 if typical else 0.0
    return _Fit(float(intercept), float(slope), unit, typical, squares)
