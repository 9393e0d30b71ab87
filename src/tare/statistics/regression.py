"""A straight line with errors that do not need one variance for all: least squares with HC3."""

from __future__ import annotations

import msgspec


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
    #: Of the slope being zero.
    p: float | None
    #: Largest y.
    maximum: float
    n: int
