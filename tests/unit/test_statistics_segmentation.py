"""Cuts, and what levels and lines leave, against direct computation."""

from __future__ import annotations

import numpy as np
import pytest

from tare.statistics.segmentation import (
    CumulativeMoments,
    add_segment,
    best_cut,
    cut_statistics,
    residuals_of_cuts,
    residuals_of_levels,
    residuals_of_lines,
    slopes,
)


def _squares_residuals_of_levels(values: np.ndarray, cuts: list[int]) -> float:
    return sum(float(((part - part.mean()) ** 2).sum()) for part in np.split(values, cuts))


@pytest.mark.parametrize("seed", range(20))
def test_the_best_cut_leaves_the_least_squared_error(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=30)
    left = [_squares_residuals_of_levels(values, [cut]) for cut in range(1, 30)]
    assert best_cut(values) == int(np.argmin(left)) + 1
    saved = cut_statistics(values - values.mean()) ** 2 * 30 / 29
    assert saved == pytest.approx(30 * values.var() - np.array(left))


def test_cuts_are_those_that_leave_enough_values_on_either_side() -> None:
    rows = np.random.default_rng(1).normal(size=(3, 12))
    rows -= rows.mean(axis=1, keepdims=True)
    every = cut_statistics(rows)
    assert every.shape == (3, 11)
    assert (cut_statistics(rows, 4) == every[:, 3:8]).all()
    sums = cut_statistics(rows, 4, np.ones(5))
    assert sums[1, 0] == pytest.approx(abs(rows[1, :4].sum()))
    assert cut_statistics(rows[:, :8] - rows[:, :8].mean(), 4).shape == (3, 1)


def test_levels_are_the_means_of_the_segments() -> None:
    assert residuals_of_levels(np.array([1.0, 3, 5, 9, 9]), [2, 3]).tolist() == [-1, 1, 0, 0, 0]
    rows = np.array([[1.0, 3, 5, 9], [0.0, 0, 6, 0]])
    left = residuals_of_cuts(rows, np.array([2, 1]))
    assert left.tolist() == [[-1, 1, -2, 2], [0, -2, 4, -2]]


def test_lines_are_those_of_least_squares() -> None:
    rows = np.random.default_rng(2).normal(size=(4, 9))
    rows -= rows.mean(axis=1, keepdims=True)
    fits = np.array([np.polyfit(np.arange(9), row, 1) for row in rows])
    assert slopes(rows) == pytest.approx(fits[:, 0])
    expected = [row - np.polyval(fit, np.arange(9)) for row, fit in zip(rows, fits, strict=True)]
    assert residuals_of_lines(rows) == pytest.approx(np.array(expected))
    assert residuals_of_lines(rows[0]) == pytest.approx(expected[0])


def test_moments_fit_every_segment() -> None:
    rng = np.random.default_rng(3)
    x, y, weights = np.sort(rng.uniform(1, 9, 12)), rng.normal(size=12), rng.uniform(1, 2, 12)
    moments = CumulativeMoments(x, y, weights)
    for first, end in ((0, 12), (2, 7), (9, 12)):
        here = slice(first, end)
        found = moments.between(first, end)
        fit = np.polyfit(x[here], y[here], 1, w=np.sqrt(weights[here]))
        assert np.array(found.line()) == pytest.approx(fit)
        left = y[here] - np.polyval(fit, x[here])
        assert found.beside_line() == pytest.approx(weights[here] @ left**2)
        mean = np.average(y[here], weights=weights[here])
        assert found.beside_level() == pytest.approx(weights[here] @ (y[here] - mean) ** 2)
    bent = moments.between(0, 6).with_all_at(np.array(8.0), moments.between(6, 12))
    moved = CumulativeMoments(np.where(np.arange(12) < 6, x, 8.0), y, weights).between(0, 12)
    assert np.array(bent) == pytest.approx(np.array(moved))


def test_a_segment_is_added_where_all_together_cost_least() -> None:
    costs = np.array([0.0, np.inf, 5.0])
    segments = np.array([[np.inf, 1, 9], [np.inf, np.inf, 2], [np.inf] * 3])
    least, begins = add_segment(costs, segments)
    assert least.tolist() == [np.inf, 1, 9]
    assert begins[1:].tolist() == [0, 0]
