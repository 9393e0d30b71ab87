"""Estimates at the stop: right in the middle under the model, and the same mirrored or shifted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tare.statistics.sequential import compare_sequentially
from tare.statistics.signed_rank import hodges_lehmann
from tare.statistics.stopped_estimate import Continued, median_unbiased

SIZES = (4, 6, 9, 13, 20)
#: Standard errors from 0 at which the simulated comparisons stop.
BOUNDARY = 2.0


def stopped(shift: float, rng: np.random.Generator) -> tuple[float, int, list[Continued]]:
    """Take means of standard normal values until one is far from 0 or all are taken."""
    values = shift + rng.standard_normal(SIZES[-1])
    before: list[Continued] = []
    for n in SIZES:
        mean, bound = float(values[:n].mean()), BOUNDARY / math.sqrt(n)
        if abs(mean) >= bound or n == SIZES[-1]:
            break
        before.append(Continued(n, -bound, bound))
    return mean, n, before


@pytest.mark.parametrize("shift", [0.0, 0.3, 0.6, 1.2])
def test_half_of_the_estimates_are_above_the_truth(shift: float) -> None:
    rng, replicates = np.random.default_rng(1), 2000
    plain = above = 0
    for _ in range(replicates):
        mean, n, before = stopped(shift, rng)
        plain += mean > shift
        above += median_unbiased(mean, n, 1.0, before) > shift
    low, high = stats.binom.ppf([0.005, 0.995], replicates, 0.5)
    assert low <= above <= high, above / replicates
    if shift == 0.6:
        assert plain > high, plain / replicates


def test_without_an_analysis_before_it_is_the_plain_estimate() -> None:
    assert median_unbiased(0.3, 7, 1.0, []) == 0.3


def test_an_early_stop_just_beyond_the_boundary_is_drawn_back_and_a_continuation_is_not() -> None:
    before = [Continued(n, -2 / math.sqrt(n), 2 / math.sqrt(n)) for n in SIZES[:3]]
    at_boundary = 2.05 / math.sqrt(13)
    assert median_unbiased(at_boundary, 13, 1.0, before) < at_boundary - 0.1 / math.sqrt(13)
    # Far inside the range, stops on either side are as likely.
    assert median_unbiased(0.0, 13, 1.0, before) == pytest.approx(0.0, abs=1e-3)


def test_mirrored_and_shifted_results_are_mirrored_and_shifted_estimates() -> None:
    before = [Continued(7, -0.3, 0.2), Continued(9, 0.05, 0.4)]
    found = median_unbiased(0.35, 10, 0.5, before)
    mirrored = [Continued(one.n, -one.high, -one.low) for one in before]
    assert median_unbiased(-0.35, 10, 0.5, mirrored) == pytest.approx(-found, abs=1e-4)
    moved = [Continued(one.n, one.low + 7, one.high + 7) for one in before]
    assert median_unbiased(7.35, 10, 0.5, moved) == pytest.approx(found + 7, abs=1e-4)


def test_analyses_that_could_not_stop_change_nothing() -> None:
    before = [Continued(7, -math.inf, math.inf), Continued(9, -math.inf, math.inf)]
    assert median_unbiased(0.35, 10, 0.5, before) == pytest.approx(0.35, abs=1e-3)


@pytest.mark.parametrize("gate", [None, 0.0])
def test_the_ratio_at_the_stop_is_less_inflated_and_inside_its_interval(gate: float | None) -> None:
    """True ratio 1.03: the plain estimates are above it in 60 % and more."""
    rng, replicates, true = np.random.default_rng(2), 300, 1.03
    plain, reported = [], []
    for _ in range(replicates):
        first = np.exp(0.05 * rng.standard_normal(200))
        second = true * np.exp(0.05 * rng.standard_normal(200))
        c = compare_sequentially(first, second, gate=gate, final=True).comparison
        assert c.low is not None
        assert c.high is not None
        assert c.low <= c.ratio <= c.high
        plain.append(math.exp(hodges_lehmann(np.log(second[: c.n] / first[: c.n]))))
        reported.append(c.ratio)
    bias, corrected = np.mean(plain) - true, np.mean(reported) - true
    assert bias > 0.004
    assert corrected < 0.6 * bias
    low, high = stats.binom.ppf([0.005, 0.995], replicates, 0.5)
    assert low <= np.sum(np.array(reported) > true) <= high


@pytest.mark.parametrize("width", [0.3, 1.0, 5.0])
def test_analyses_that_nothing_could_have_ended_change_nothing(width: float) -> None:
    looks = (10, 11, 13, 15, 17, 19, 21, 24, 27, 30, 33, 37)
    before = [Continued(n, 0.3 - width, 0.3 + width) for n in looks]
    assert median_unbiased(0.3, 41, 0.12, before) == pytest.approx(0.3, abs=1e-4)


def test_ranges_far_from_the_estimate_leave_it() -> None:
    """A few log-ratios far out widen intervals, not the standard error."""
    assert median_unbiased(0.3, 41, 0.12, [Continued(20, 2.0, 3.0)]) == 0.3
