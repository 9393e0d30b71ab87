"""Lines with breaks through one value at each x, by weighted least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tare.statistics.segmentation import CumulativeMoments, add_segment
from tare.statistics.statistic import FloatArray

#: Fewest values on a line of its own, and on a flat top.
SHORTEST = 3
SHORTEST_TOP = 2
#: Most pieces, a flat top by a bend not counted.
MOST = 3
#: Relative scatter that values are taken to have at least: the differences of less are rounding.
FINEST = 1e-4

#: How a model ends: on a line; on a line before a last value that is on none; on a line that bends
#: into a flat top; by a jump onto a flat top. Or it is one curve without a break.
End = Literal["line", "step", "bend", "flat", "curve"]
#: Parameters of a first or last value on no line: what it is, and which of the two.
_AT_END = 2
#: Parameters that an end takes besides those of its line. A curve counts for two: by one, straight
#: sweeps were called bent in 4 to 6 % instead of 2 to 3 %.
_OF_END = {"line": 0, "step": _AT_END, "bend": 1, "flat": -1, "curve": 2}


@dataclass(frozen=True)
class Model:
    """Lines through values, each with its part of them, and how the last one ends.

    Attributes
    ----------
    parts : tuple of (int, int)
        Index of each piece's first value and of the one after its last. A value between two parts
        is on neither: the machine was in both in turn. The first or last value may be on none, too.
        With ``flat``, the last part is the top.
    end : str
    bend : float or None
        The x at which the last line becomes flat; only with ``bend``.
    rss : float
        Weighted squares that are left.
    """

    parts: tuple[tuple[int, int], ...]
    end: End
    bend: float | None
    rss: float

    @property
    def parameters(self) -> int:
        """Numbers that are fitted: two a line, one a place, one a value between two lines."""
        alone = sum(after - before for (_, before), (after, _) in pairwise(self.parts))
        first = _AT_END * self.parts[0][0]
        return 3 * len(self.parts) - 1 + _OF_END[self.end] + first + alone

    @property
    def in_ranges(self) -> bool:
        """Whether it is several lines, and no value at an end is on none."""
        return len(self.parts) > 1 and self.parts[0][0] == 0 and self.end != "step"

    @property
    def last(self) -> int:
        """Index of the first value of the last piece."""
        return self.parts[-1][0]


_Before = tuple[FloatArray, list[tuple[tuple[int, int], ...]]]


class Pieces:
    """All models of weighted values, whose costs come from sums that are made once.

    Parameters
    ----------
    x, y : array, shape (n,)
        One value at each x; x rises.
    weights : array, shape (n,)
    """

    def __init__(self, x: FloatArray, y: FloatArray, weights: FloatArray) -> None:
        self.x, self.y, self.w = x, y, weights
        self.n = len(x)
        self._moments = CumulativeMoments(x, y, weights)

    def unlikely(self, model: Model) -> float:
        """Return twice the negative log-likelihood of normal errors, but for a constant."""
        least = FINEST**2 * float(self.w @ self.y**2)
        return self.n * math.log(max(model.rss, least) / self.n) - float(np.log(self.w).sum())

    def fit(self, i: int | NDArray[np.intp], j: int | NDArray[np.intp]) -> FloatArray:
        """Return slope and intercept of the line through values i to j − 1."""
        return np.array(self._moments.between(i, j).line())

    def level(self, i: int) -> float:
        """Return the weighted mean from value i on."""
        return float(np.average(self.y[i:], weights=self.w[i:]))

    def bent(self, i: int | NDArray[np.intp], at: FloatArray) -> FloatArray:
        """Fit lines from value i that are flat from `at` on.

        Returns
        -------
        array of slopes, of intercepts, and of the squares left, infinite where it does not rise
        """
        top = np.searchsorted(self.x, at, side="right")
        above = self._moments.between(top, self.n)
        moments = self._moments.between(i, top).with_all_at(at, above)
        slope, intercept = moments.line()
        with np.errstate(invalid="ignore"):
            left = np.where(slope > 0, moments.beside_line(), np.inf)
        return np.array([slope, intercept, left])

    @cached_property
    def _lines(self) -> FloatArray:
        """Squares left of a line through values i to j − 1; infinite where they are too few."""
        i, j = np.indices((self.n + 1, self.n + 1), sparse=True)
        left = self._moments.between(i, j).beside_line()
        return np.where(j - i >= min(SHORTEST, self.n), left, np.inf)

    @cached_property
    def _flats(self) -> FloatArray:
        """Squares left of one level from value i on."""
        i = np.arange(self.n + 1)
        left = self._moments.between(i, self.n).beside_level()
        return np.where(i <= self.n - SHORTEST_TOP, left, np.inf)

    def _bends(self) -> tuple[FloatArray, FloatArray]:
        """Squares left, and place, of the best line from value i that bends into a flat top."""
        n, x = self.n, self.x
        i, k = np.indices((n + 1, n), sparse=True)
        # At a value itself, which is then the last of the line and the first of the top.
        at = (k >= i + SHORTEST - 1) & (k <= n - SHORTEST_TOP)
        cost = np.where(at, self.bent(i, x)[2], np.inf)
        # Before value k, where the line through those below meets the level of the others.
        slope, intercept = self.fit(i, k)
        above = self._moments.between(np.arange(n), n)
        with np.errstate(all="ignore"):
            meet = (above.y / above.w - intercept) / slope
            between = (slope > 0) & (meet > np.concatenate([[np.inf], x[:-1]])) & (meet < x)
        left = np.where(between, self._lines[:, :-1] + self._flats[:-1], np.inf)
        every = np.hstack([cost, left])
        best = every.argmin(axis=1)
        rows = np.arange(n + 1)
        return every[rows, best], np.hstack([np.broadcast_to(x, (n + 1, n)), meet])[rows, best]

    @cached_property
    def _curve(self) -> tuple[FloatArray, float]:
        """Return a + bx + cx log x at each x, which is nearly a power, and the squares left."""
        root = np.sqrt(self.w)
        design = np.stack([np.ones(self.n), self.x, self.x * np.log(self.x)], axis=1)
        fit, *_ = np.linalg.lstsq(design * root[:, None], self.y * root, rcond=None)
        said = design @ fit
        return said, float(self.w @ (self.y - said) ** 2)

    def best(self, *, alone_at_ends: bool) -> list[Model]:
        """Return the best model of every kind that so many values allow; one line first.

        Parameters
        ----------
        alone_at_ends : bool
            Whether the first value, or the last, may be on no line.
        """
        lines, flats = self._lines, self._flats
        bends, places = self._bends()
        ends: dict[End, FloatArray] = {"line": lines[:, self.n], "bend": bends, "flat": flats}
        #: By what values on no line cost: the least squares of all before a piece that begins at
        #: each index, and the parts of that.
        before: dict[int, _Before] = {0: self._begin(0)}
        if alone_at_ends:
            ends["step"] = lines[:, self.n - 1]
            before[_AT_END] = self._begin(1)
        found = []
        for pieces in range(MOST):
            if pieces:
                before = self._further(before)
            for cost, parts in before.values():
                for end, last in ends.items():
                    total = cost + last
                    i = int(total.argmin())
                    if math.isfinite(total[i]) and (pieces or end != "flat"):
                        bend = float(places[i]) if end == "bend" else None
                        last_part = (i, self.n - (end == "step"))
                        found.append(Model((*parts[i], last_part), end, bend, float(total[i])))
        found.append(Model(((0, self.n),), "curve", None, self._curve[1]))
        return found

    def _begin(self, at: int) -> _Before:
        """Have nothing before a piece, which begins at an index."""
        nothing = np.where(np.arange(self.n + 1) == at, 0.0, np.inf)
        return nothing, [()] * (self.n + 1)

    def _further(self, before: dict[int, _Before]) -> dict[int, _Before]:
        """Add a line to all that came before, and a value on no line, or none, after it."""
        after: dict[int, _Before] = {}
        for alone, (cost, parts) in before.items():
            whole, begins = add_segment(cost, self._lines)
            trail = [(*parts[i], (int(i), j)) for j, i in enumerate(begins)]
            later = np.concatenate([[np.inf], whole[:-1]]), [(), *trail[:-1]]
            for count, one in ((alone, (whole, trail)), (alone + 1, later)):
                after[count] = _better(after[count], one) if count in after else one
        return after

    def values(self, model: Model) -> FloatArray:
        """Return what a model says at each x; NaN between two lines.

        A first or last value that is on no line speaks for itself.
        """
        if model.end == "curve":
            return self._curve[0]
        said = np.full(self.n, np.nan)
        said[: model.parts[0][0]] = self.y[: model.parts[0][0]]
        said[model.parts[-1][1] :] = self.y[model.parts[-1][1] :]
        for i, j in model.parts:
            if j == self.n and model.end == "flat":
                said[i:] = self.level(i)
            elif j == self.n and model.bend is not None:
                slope, intercept, _ = self.bent(i, np.array([model.bend]))
                said[i:] = intercept + slope * np.minimum(self.x[i:], model.bend)
            else:
                slope, intercept = self.fit(i, j)
                said[i:j] = intercept + slope * self.x[i:j]
        return said


def _better(one: _Before, other: _Before) -> _Before:
    """Take the lesser at each index."""
    first = one[0] <= other[0]
    parts = [a if b else c for a, b, c in zip(one[1], first, other[1], strict=True)]
    return np.where(first, one[0], other[0]), parts
