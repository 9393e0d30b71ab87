"""Permutation tests that end early have the verdict of all permutations."""

from __future__ import annotations

import numpy as np
import pytest

from tare.statistics.permutation import permutation_p
from tare.statistics.spread import beyond, bootstrap_logs, compare_spread, swapped_logs, two_sided

PERMUTATIONS = 499


@pytest.mark.parametrize("level", [0.004, 0.015, 0.05])
def test_the_verdict_at_the_level_is_that_of_all_permutations(level: float) -> None:
    rng = np.random.default_rng(1)
    made = 0
    for observed in rng.uniform(1 - 4 * level, 1, 500):
        shuffled = rng.random(PERMUTATIONS)
        stream = iter(shuffled)
        p = permutation_p(lambda stream=stream: next(stream), observed, PERMUTATIONS, level)
        of_all = (1 + int(np.sum(shuffled >= observed))) / (1 + PERMUTATIONS)
        assert (p <= level) == (of_all <= level)
        if p <= level:
            assert p == of_all
        made += PERMUTATIONS - len([*stream])
    assert made < 0.85 * 500 * PERMUTATIONS


def test_where_nothing_differs_no_p_is_reached_more_often_than_it_says() -> None:
    rng = np.random.default_rng(2)
    p = np.array([permutation_p(rng.random, rng.random(), 99, 0.05) for _ in range(4000)])
    for level in (0.01, 0.05, 0.1, 0.3, 0.5, 0.9):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level * (1 - level) / len(p))


def test_ranges_are_swapped_only_where_that_may_change_the_verdict() -> None:
    rng = np.random.default_rng(3)
    skipped = 0
    for ratio in np.geomspace(1, 2.5, 12):
        a, b = rng.lognormal(0, 0.02, (2, 24))
        b = 1 + (b - 1) * ratio
        observed = np.log(compare_spread(a, b).ratio)
        alone = two_sided(bootstrap_logs(a, b, 4999, 1))
        of_all = max(alone, beyond(swapped_logs(a, b, 4999, 1), float(observed)))
        p = compare_spread(a, b).p
        assert p == (of_all if alone < 0.05 else alone)
        assert (p < 0.05) == (of_all < 0.05)
        skipped += p != of_all
    assert skipped
