"""Shapes that a cost may have over sizes, each fitted within blocks; see platform_size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from tare.statistics.signed_rank import hodges_lehmann, signed_rank_interval
from tare.statistics.statistic import FloatArray

Shape = Literal["log", "root", "inverse"]
#: How a cost may fall as CHR grows to 1: h(CHR) = (CHR^−p − 1) / p; p = 0 is −log CHR.
SHAPES: dict[Shape, float] = {"log": 0.0, "root": 0.5, "inverse": 1.0}
#: A shape is given up where some size is that surely off its line.
_MISFIT = 0.01


@dataclass(frozen=True)
class Factor:
    """A factor of cost with its interval; 1 is no cost. Bounds are None where there are none."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Curve:
    """One shape that the cost may have: log R = intercept + slope · h(CHR)."""

    shape: Shape
    intercept: float
    slope: float

    def ratio(self, chr: float) -> float:
        """Overhead ratio that the curve has at a CHR."""
        h = float(transformed(np.array([chr]), self.shape)[0])
        return math.exp(self.intercept + self.slope * h)


def transformed(chr: FloatArray, shape: Shape) -> FloatArray:
    """Transform CHR such that it is 0 at 1, and grows as CHR falls."""
    power = SHAPES[shape]
    if power == 0:
        return np.asarray(-np.log(chr))
    return np.asarray((chr**-power - 1) / power)


class Line:
    """One shape fitted within every block."""

    def __init__(self, shape: Shape, chr: FloatArray, y: FloatArray) -> None:
        self.shape: Shape = shape
        self.h = transformed(chr, shape)
        centred = self.h - self.h.mean()
        self.by_slope = centred / float(centred @ centred)
        self.by_intercept = 1 / len(self.h) - self.h.mean() * self.by_slope
        self.slopes, self.intercepts = y @ self.by_slope, y @ self.by_intercept
        self.left = y - self.intercepts[:, None] - self.slopes[:, None] * self.h
        #: What is left at each size.
        self.middles = np.array([hodges_lehmann(column) for column in self.left.T])

    @property
    def scatter(self) -> float:
        """SD of the sizes about the line."""
        return float(np.sqrt(self.middles @ self.middles / (len(self.h) - 2)))

    @property
    def curve(self) -> Curve:
        """The line over blocks."""
        return Curve(self.shape, hodges_lehmann(self.intercepts), hodges_lehmann(self.slopes))

    def off(self, margin: float) -> int | None:
        """Find the size that is farthest off, where it surely is by more than the margin."""
        level = 1 - _MISFIT / len(self.h)
        for at in np.argsort(-np.abs(self.middles)):
            bounds = signed_rank_interval(self.left[:, at], level)
            if bounds and (bounds[0] > math.log1p(margin) or bounds[1] < -math.log1p(margin)):
                return int(at)
        return None

    def ends(self, confidence: float, slack: float) -> tuple[Factor, Factor]:
        """Return PTO and PSO; ``slack`` is how far each size may be off by itself."""
        width = float(np.ptp(self.h))
        pto = slack * float(np.linalg.norm(self.by_intercept))
        pso = slack * float(np.linalg.norm(self.by_slope)) * width
        return (
            factor_of(self.intercepts, confidence, pto),
            factor_of(self.slopes * width, confidence, pso),
        )


def slack_of(line: Line, margin: float, confidence: float, *, fits: bool) -> float:
    """Return how far sizes may be off: half the margin, or as far as they are seen to be."""
    upper = 0.5 + confidence / 2
    allowed = math.log1p(margin) / 2 * float(stats.norm.ppf(upper))
    seen = line.scatter * float(stats.t.ppf(upper, len(line.h) - 2))
    return allowed if fits else max(allowed, seen)


def factor_of(logs: FloatArray, confidence: float, slack: float) -> Factor:
    """Median of logarithms as a factor; its interval widened by what is common to all blocks."""
    middle = hodges_lehmann(logs)
    bounds = signed_rank_interval(logs, confidence)
    if bounds is None:
        return Factor(math.exp(middle), None, None)
    low = middle - math.hypot(middle - bounds[0], slack)
    high = middle + math.hypot(bounds[1] - middle, slack)
    return Factor(math.exp(middle), math.exp(low), math.exp(high))


def hull(factors: Sequence[Factor], best: int) -> Factor:
    """Take the best one's value, and an interval that holds those of all."""
    lows = [f.low for f in factors if f.low is not None]
    highs = [f.high for f in factors if f.high is not None]
    if len(lows) < len(factors):
        return Factor(factors[best].value, None, None)
    return Factor(factors[best].value, min(lows), max(highs))
