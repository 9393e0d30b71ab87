"""Intervals that are shown while somebody watches: their error over all n, exactly and drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tare.results.message import message
from tare.statistics.watched import ERROR, watched_bounds, watched_interval, watched_ranks


def missed(most: int, q: float) -> float:
    """Probability that any interval up to so many independent values misses, path by path."""
    paths = {0: 1.0}
    error = 0.0
    for n in range(1, most + 1):
        walked: dict[int, float] = {}
        for count, p in paths.items():
            for step, chance in ((0, 1 - q), (1, q)):
                walked[count + step] = walked.get(count + step, 0.0) + p * chance
        ranks = watched_ranks(n, q)
        if ranks is not None:
            out = [c for c in walked if c < ranks[0] or c >= ranks[1]]
            error += sum(walked.pop(c) for c in out)
        paths = walked
    return error


@pytest.mark.parametrize(("most", "q"), [(6, 0.5), (60, 0.5), (400, 0.5), (400, 0.9)])
def test_all_intervals_together_miss_in_no_more_than_they_say(most: int, q: float) -> None:
    assert 0 < missed(most, q) <= ERROR + 1e-12


def test_the_first_one_is_of_six_values() -> None:
    assert [watched_ranks(n) for n in (1, 5, 6, 7)] == [None, None, (1, 6), (1, 7)]


def test_ranks_are_those_of_the_quantile_and_move_inwards() -> None:
    for n, q in itertools.product((200, 1000, 5000), (0.5, 0.9)):
        low, high = watched_ranks(n, q) or (0, 0)
        assert 1 <= low < n * q < high <= n
        assert (high - low) / n < 8 * (q * (1 - q) / n) ** 0.5
    # Beyond what is ever measured nothing gets narrower any more.
    assert watched_ranks(9000) == watched_ranks(5000)


def test_one_series_is_as_one_of_many() -> None:
    rows = np.random.default_rng(1).normal(10, 1, (20, 80))
    many = watched_bounds(rows)
    for row, low, high in zip(rows, many.low, many.high, strict=True):
        one = watched_interval(row)
        assert (one.low, one.high) == (low, high)
        assert one.estimate == np.median(row)


def test_few_trials_have_no_interval_but_a_reason() -> None:
    assert watched_interval(np.array([])).refusal
    some = watched_interval(np.array([1.0, 2.0, 3.0]))
    assert (some.estimate, some.low, some.n) == (2.0, None, 3)
    assert some.refusal == message("n = {n} is too small, needs ≥ {needs}", n=3, needs=6)


def test_who_depends_on_neighbours_is_worth_less() -> None:
    walk = np.cumsum(np.random.default_rng(2).normal(size=40))
    found = watched_bounds(walk[None])
    assert found.worth[0] < 12


def test_equal_values_are_known_at_once() -> None:
    equal = watched_interval(np.full(12, 5.0), tick=0.0)
    assert (equal.low, equal.high) == (5.0, 5.0)
    unknown = watched_interval(np.full(12, 5.0))
    assert unknown.low is None
    assert unknown.refusal == message(
        "all {n} values are equal, or nearly all: their resolution is unknown", n=12
    )
