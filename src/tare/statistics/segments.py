"""Lines with breaks through one value at each x, by weighted least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tare.statistics.statistic import FloatArray

#: Fewest values on a line of its own, and on a flat top.
SHORTEST = 3
SHORTEST_TOP = 2
#: Most pieces, a flat top not counted.
MOST = 3
#: Weight of a parameter, in units of what Schwarz's criterion takes.
_WEIGHT = 1.5
#: Relative scatter that values are taken to have at least: the differences of less are rounding.
_FINEST = 1e-4

#: How a model ends: on a line; on a line that bends into a flat top; by a jump onto a flat top.
End = Literal["line", "bend", "flat"]


@dataclass(frozen=True)
class Model:
    """Lines through values: the indices at which another begins, and how the last one ends.

    Attributes
    ----------
    starts : tuple of int
        Index of each piece's first value, the first 0. With ``flat``, the last is the top's.
    end : str
    bend : float or None
        The x at which the last line becomes flat; only with ``bend``.
    rss : float
        Weighted squares that are left.
    criterion : float
        Less is better.
    """

    starts: tuple[int, ...]
    end: End
    bend: float | None
    rss: float
    criterion: float

    @property
    def parameters(self) -> int:
        """Numbers that are fitted: two a line, one a place."""
        return 3 * len(self.starts) - 1 + {"line": 0, "bend": 1, "flat": -1}[self.end]


class Pieces:
    """All that can be fitted to values with weights, from sums that are made once.

    Parameters
    ----------
    x, y : array, shape (n,)
        One value at each x; x rises.
    weights : array, shape (n,)
    """

    def __init__(self, x: FloatArray, y: FloatArray, weights: FloatArray) -> None:
        self.x, self.y, self.w = x, y, weights
        self.n = len(x)
        parts = [np.ones(self.n), x, x * x, y, x * y, y * y]
        self._sums = np.array([np.concatenate([[0.0], np.cumsum(weights * p)]) for p in parts])

    @cached_property
    def lines(self) -> FloatArray:
        """Squares left of a line through values i to j − 1; infinite where they are too few."""
        s = self._sums[:, None, :] - self._sums[:, :, None]
        i, j = np.indices(s.shape[1:])
        return np.where(j - i >= min(SHORTEST, self.n), _left(*s), np.inf)

    @cached_property
    def flats(self) -> FloatArray:
        """Squares left of one level from value i on."""
        w, _, _, y, _, yy = self._sums[:, -1:] - self._sums
        with np.errstate(all="ignore"):
            left = np.maximum(yy - y * y / w, 0)
        return np.where(np.arange(self.n + 1) <= self.n - SHORTEST_TOP, left, np.inf)

    @cached_property
    def _bent(self) -> tuple[FloatArray, FloatArray]:
        """Squares left, and place, of a line from value i that bends into a flat top, by i."""
        n, x = self.n, self.x
        knots = np.concatenate([x, x])
        cost = np.full((n + 1, 2 * n), np.inf)
        place = np.broadcast_to(knots, cost.shape).copy()
        for i in range(n - SHORTEST - SHORTEST_TOP + 1):
            # At a value itself: at least so many up to it, and a top of it and those beyond.
            inside = np.arange(i + SHORTEST - 1, n - SHORTEST_TOP + 1)
            cost[i, inside] = self.bent(i, x[inside])
            # Between two values: where the line through those below meets the level above.
            j = np.arange(i + SHORTEST, n - SHORTEST_TOP + 1)
            slope, intercept = self.fit(i, j)
            w, _, _, y, _, _ = self._sums[:, -1:] - self._sums[:, j]
            with np.errstate(all="ignore"):
                meet = (y / w - intercept) / slope
                there = (slope > 0) & (meet > x[j - 1]) & (meet < x[j])
            place[i, n + j] = np.where(there, meet, 0) if len(j) else 0
            cost[i, n + j] = np.where(there, self.lines[i, j] + self.flats[j], np.inf)
        best = cost.argmin(axis=1)
        every = np.arange(n + 1)
        return cost[every, best], place[every, best]

    def fit(self, i: int, j: int | np.ndarray) -> tuple[FloatArray, FloatArray]:
        """Return slope and intercept of the line through values i to j − 1."""
        w, x, xx, y, xy, _ = self._sums[:, j] - self._sums[:, i if np.ndim(j) == 0 else [i]]
        slope = (xy - x * y / w) / (xx - x * x / w)
        return slope, (y - slope * x) / w

    def bent(self, i: int, at: FloatArray) -> FloatArray:
        """Return the squares left of a line from value i that is flat from `at` on."""
        slope, squares, _ = self._bend_at(i, at)
        return np.where(slope > 0, squares, np.inf)

    def bent_line(self, i: int, at: float) -> tuple[float, float]:
        """Return slope and intercept of the line from value i that is flat from `at` on."""
        slope, _, intercept = self._bend_at(i, np.array([at]))
        return float(slope[0]), float(intercept[0])

    def _bend_at(self, i: int, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        k = np.searchsorted(self.x, at, side="right")
        w, x, xx, y, xy, _ = self._sums[:, k] - self._sums[:, [i]]
        above, _, _, y_above, _, _ = self._sums[:, [-1]] - self._sums[:, k]
        whole = self._sums[:, -1] - self._sums[:, i]
        x, xx, xy = x + at * above, xx + at * at * above, xy + at * y_above
        w, y = w + above, y + y_above
        slope = (xy - x * y / w) / (xx - x * x / w)
        return slope, _left(w, x, xx, y, xy, whole[5]), (y - slope * x) / w

    def best(self) -> list[Model]:
        """Return the best model of every kind that can be had from so many values, one line first.

        The rest in the order of their criterion.
        """
        lines, flats, (bends, places) = self.lines, self.flats, self._bent
        heads: list[tuple[FloatArray, list[tuple[int, ...]]]] = []
        start = np.where(np.arange(self.n + 1) == 0, 0.0, np.inf)
        heads.append((start, [()] * (self.n + 1)))
        for _ in range(MOST - 1):
            cost, trail = heads[-1]
            every = cost[:, None] + lines
            where = every.argmin(axis=0)
            heads.append((every.min(axis=0), [(*trail[i], int(i)) for i in where]))
        found = []
        for cost, trail in heads:
            ends: dict[End, FloatArray] = {"line": lines[:, self.n], "bend": bends, "flat": flats}
            for end, last in ends.items():
                total = cost + last
                i = int(total.argmin())
                if (end == "flat" and i == 0) or not math.isfinite(total[i]):
                    continue
                bend = float(places[i]) if end == "bend" else None
                found.append(self._model((*trail[i], i), end, bend, float(total[i])))
        return [found[0], *sorted(found[1:], key=lambda model: model.criterion)]

    def _model(self, starts: tuple[int, ...], end: End, bend: float | None, rss: float) -> Model:
        parameters = Model(starts, end, bend, rss, 0.0).parameters
        least = _FINEST**2 * float(self.w @ self.y**2)
        fit = self.n * math.log(max(rss, least) / self.n)
        return Model(starts, end, bend, rss, fit + _WEIGHT * parameters * math.log(self.n))


def _left(
    w: FloatArray, x: FloatArray, xx: FloatArray, y: FloatArray, xy: FloatArray, yy: FloatArray
) -> FloatArray:
    """Squares left of a line, from weighted sums."""
    with np.errstate(all="ignore"):
        return np.maximum(yy - y * y / w - (xy - x * y / w) ** 2 / (xx - x * x / w), 0)
