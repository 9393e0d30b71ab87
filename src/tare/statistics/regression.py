"""A straight line with errors that do not need one variance for all: least squares with HC3.

Source: MacKinnon and White 1985 (HC3); R's lm for p.
"""

from __future__ import annotations

import sys

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tare.statistics import checked
from tare.statistics.statistic import FloatArray

#: Least p that is told: what is smaller cannot be written, and 0 would claim certainty.
LEAST_P = sys.float_info.min
#: Leverage from which a point fixes the line by itself, so that nothing tells its error.
_FIXES = 1 - 1e-9
#: Squared residuals below this share of the values' own squares are those of rounding.
_ROUNDING = 1e-26


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A straight line through points, with 95 % intervals by HC3 errors."""

    slope: float
    slope_low: float | None
    slope_high: float | None
    intercept: float
    intercept_low: float | None
    intercept_high: float | None
    #: Coefficient of determination; None where y does not vary.
    r2: float | None
    #: Of the slope being zero, by the plain errors of least squares as R's ``lm`` prints it; never
    #: below 2.2e-308.
    p: float | None
    #: Largest y.
    maximum: float
    n: int


def line(x: ArrayLike, y: ArrayLike) -> Line:
    """Fit a straight line through all points by least squares.

    Intervals are Student's t with HC3 errors (MacKinnon and White 1985), which hold where the
    scatter grows with x. The p is that of the plain errors, so that it can be laid beside the
    tables of others.

    Parameters
    ----------
    x, y : array, shape (n,)
        Points in any order, repeated ones as they are; n ≥ 1.

    Returns
    -------
    Line
        Slope 0 through the mean where x does not vary. Intervals are None where fewer than three
        points, or a single point on its own, fix the line; p where y does not vary, or n < 3.

    Raises
    ------
    ValuesError
        If there are no points, or some are not finite.
    """
    x, y = checked.pair(x, y, ("x", "y"))
    n = len(x)
    dx, dy = x - x.mean(), y - y.mean()
    sxx, syy = float(dx @ dx), float(dy @ dy)
    varies = sxx > _ROUNDING * float(x @ x)
    slope = float(dx @ dy) / sxx if varies else 0.0
    intercept = float(y.mean()) - slope * float(x.mean())
    left = dy - slope * dx
    rss = min(float(left @ left), syy)
    level = syy <= _ROUNDING * float(y @ y)
    slope_half, intercept_half = _halves(x, dx, left) if varies else (None, None)
    return Line(
        slope=slope,
        slope_low=None if slope_half is None else slope - slope_half,
        slope_high=None if slope_half is None else slope + slope_half,
        intercept=intercept,
        intercept_low=None if intercept_half is None else intercept - intercept_half,
        intercept_high=None if intercept_half is None else intercept + intercept_half,
        r2=None if level or not varies else 1 - rss / syy,
        p=None if level or not varies or n < 3 else _p(syy - rss, max(rss, _ROUNDING * syy), n),
        maximum=float(y.max()),
        n=n,
    )


def _halves(x: FloatArray, dx: FloatArray, left: FloatArray) -> tuple[float | None, float | None]:
    """Half the widths of the intervals of slope and intercept."""
    n, sxx = len(x), float(dx @ dx)
    leverage = 1 / n + dx**2 / sxx
    if n < 3 or leverage.max() >= _FIXES:
        return None, None
    error = left / (1 - leverage)
    quantile = float(special.stdtrit(n - 2, 0.975))
    by_slope = dx / sxx
    by_intercept = 1 / n - x.mean() * by_slope
    return (
        quantile * float(np.linalg.norm(by_slope * error)),
        quantile * float(np.linalg.norm(by_intercept * error)),
    )


def _p(explained: float, rss: float, n: int) -> float:
    t = float(np.sqrt(explained / (rss / (n - 2))))
    return max(LEAST_P, 2 * float(special.stdtr(n - 2, -t)))
