"""Two samples as they were matched: one way to their ratio, difference and spread."""

from __future__ import annotations

import numpy as np
import pytest

from tare.errors import ValuesError
from tare.statistics.comparison import compare, compare_family, compare_unpaired
from tare.statistics.sides import MAX_VALUES, Sides, compare_all
from tare.statistics.spread import compare_spread, compare_spread_unpaired, range_dependence

NOTHING = np.full(40, np.nan)


def samples(factor: float = 1.1) -> tuple[np.ndarray, np.ndarray]:
    """Return values of blocks that differ by far more than the two sides of each do."""
    rng = np.random.default_rng(5)
    blocks = rng.uniform(1, 3, 40)
    return blocks * rng.lognormal(0, 0.01, 40), factor * blocks * rng.lognormal(0, 0.01, 40)


def test_pairs_tell_what_unpaired_values_do_not() -> None:
    first, second = samples()
    paired = Sides(first, second, (NOTHING, NOTHING)).compare(0.02)
    apart = Sides(first, second, (NOTHING, NOTHING), paired=False, dependence=1.0).compare(0.02)
    assert paired == compare(first, second, 0.02)
    assert apart == compare_unpaired(first, second, 0.02)
    assert paired.low is not None
    assert paired.high is not None
    assert paired.low < 1.1 < paired.high
    assert paired.verdict.differs
    assert not apart.verdict.conclusive


def test_dependence_widens_the_interval() -> None:
    first, second = samples()
    free, bound = (
        Sides(first, second, (NOTHING, NOTHING), dependence=d).compare(0.02) for d in (None, 2.0)
    )
    assert None not in (free.low, free.high, bound.low, bound.high)
    assert bound.high / bound.low > free.high / free.low  # type: ignore[operator]


def test_long_samples_in_an_unknown_order_are_thinned() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.lognormal(0, 0.1, (2, 3 * MAX_VALUES))
    nothing = np.full(3 * MAX_VALUES, np.nan)
    found = Sides(first, second, (nothing, nothing), paired=False, dependence=1.0).compare(0.02)
    assert found.n == MAX_VALUES
    assert Sides(first[:100], second[:100], (nothing[:100],) * 2).compare(0.02).n == 100


def test_values_without_a_ratio_have_a_difference() -> None:
    first, second = samples()
    sides = Sides(first - 2, second + 1, (NOTHING, NOTHING))
    with pytest.raises(ValuesError):
        sides.compare(0.02)
    found = sides.difference()
    assert found.low is not None
    assert found.high is not None
    assert found.low < np.median(second - first) + 3 < found.high


def test_ranges_are_compared_as_the_values_were_matched() -> None:
    first, second = samples()
    for paired, how in ((True, compare_spread), (False, compare_spread_unpaired)):
        sides = Sides(first, second, (NOTHING, NOTHING), paired=paired, dependence=1.0)
        dependence = range_dependence(first, second, paired=paired)
        found = sides.compare_spread(0.5)
        assert found is not None
        expected = how(first, second, 0.5, dependence=dependence)
        assert found.ratio == expected.ratio
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0.1)


def test_a_range_of_which_an_end_exceeds_a_limit_is_not_compared() -> None:
    first, second = samples()
    above = np.where(second > 3, 3.0, np.nan)
    second = np.where(second > 3, np.inf, second)
    sides = Sides(first, second, (NOTHING, above))
    assert sides.compare_spread(0.5) is None
    found = sides.compare(0.02)
    assert found.killed == (0, int(np.isinf(second).sum()))
    assert found.killed[1] > 0


def test_a_family_is_adjusted_by_holm() -> None:
    pairs = [samples(factor) for factor in (1.0, 1.001, 1.1)]
    found = compare_all([Sides(a, b, (NOTHING, NOTHING)) for a, b in pairs], 0.02)
    assert found == compare_family(pairs, 0.02)
    assert found[2].p_adjusted > found[2].p
