"""Copied stretches, told from the ties of a rounded series."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.statistics.copies import LEVEL, _longest, copied


@given(st.lists(st.integers(0, 2), min_size=2, max_size=40))
def test_the_longest_repeat_is_that_of_looking_everywhere(values: list[int]) -> None:
    n = len(values)
    expected = max(
        (
            k
            for i, j in combinations(range(n), 2)
            for k in range(1, min(j - i, n - j) + 1)
            if values[i : i + k] == values[j : j + k]
        ),
        default=0,
    )
    length, first, second = _longest(np.array(values))
    assert length == expected
    if length:
        assert values[first : first + length] == values[second : second + length]
        assert second - first >= length


@pytest.mark.parametrize(("block", "times"), [(15, 2), (10, 10), (30, 3)])
@pytest.mark.parametrize("ticks", [None, 10, 3])
def test_copies_are_found_rounded_or_not(block: int, times: int, ticks: int | None) -> None:
    rng = np.random.default_rng(1)
    values = rng.standard_normal(block) if ticks is None else rng.integers(0, ticks, block)
    found = copied(np.tile(values, times))
    assert found is not None
    assert found.length >= block
    assert found.p <= LEVEL


def test_a_stretch_copied_elsewhere_is_placed() -> None:
    values = np.random.default_rng(2).standard_normal(100)
    values[60:72] = values[5:17]
    found = copied(values)
    assert found is not None
    assert (found.length, found.first, found.second) == (12, 5, 60)


@pytest.mark.parametrize(
    "probabilities", [[0.5, 0.5], [0.97, 0.03], [0.2] * 5, [0.9, 0.05, 0.05], [0.01] * 100]
)
@pytest.mark.parametrize("n", [12, 30, 300])
def test_ties_are_no_copies(probabilities: list[float], n: int) -> None:
    rng = np.random.default_rng(3)
    draws = [rng.choice(len(probabilities), n, p=probabilities) for _ in range(200)]
    assert sum(copied(x.astype(float)) is not None for x in draws) <= 2


def test_a_clock_that_changes_slowly_is_no_copy() -> None:
    rng = np.random.default_rng(4)
    walks = [np.round(0.3 * rng.standard_normal(200).cumsum()) for _ in range(100)]
    steps = [np.round(0.3 * rng.standard_normal(200) + (np.arange(200) > 99)) for _ in range(100)]
    assert not any(copied(x) for x in [*walks, *steps])


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 50, np.arange(50.0)])
def test_nothing_can_be_copied_where_all_or_none_are_equal(values: list[float]) -> None:
    assert copied(np.array(values)) is None
