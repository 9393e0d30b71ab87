"""Two levels of bursts, and the balance of a bucket, on values whose truth is made up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.statistics.bucket import Stretch, refilling
from tare.statistics.levels import fall_between, two_levels

ONE = np.array([0])


def values(*parts: tuple[float, int], sd: float = 0.03, seed: int = 1) -> np.ndarray:
    rates = np.concatenate([np.full(n, rate) for rate, n in parts])
    return np.log(rates) + sd * np.random.default_rng(seed).standard_normal(len(rates))


def test_one_fall_is_found_where_it_is() -> None:
    x = values((10, 600), (1, 10))
    found = two_levels(x, ONE)
    assert found is not None
    assert found.fall[0] == 600
    assert found.dry[0]
    assert not found.returns
    assert np.exp(found.high) == pytest.approx(10, rel=0.02)
    assert np.exp(found.low) == pytest.approx(1, rel=0.05)
    first, last = fall_between(x, found, 0, len(x))
    assert 598 <= first <= 600 <= last <= 602


@pytest.mark.parametrize("sd", [0.0, 0.03, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_one_level_is_not_two(sd: float, seed: int) -> None:
    assert two_levels(values((10, 1000), sd=sd, seed=seed), ONE) is None


def test_a_line_is_no_fall() -> None:
    x = np.log(np.linspace(10, 5, 2000)) + 0.03 * np.random.default_rng(1).standard_normal(2000)
    assert two_levels(x, ONE) is None


def test_an_outlier_is_no_fall() -> None:
    x = values((10, 500))
    x[200:202] = np.log(0.5)
    found = two_levels(x, ONE)
    assert found is None or not found.dry.any()


def test_going_up_again_within_a_burst_is_told() -> None:
    found = two_levels(values((10, 300), (3, 200), (10, 300), (3, 100)), ONE)
    assert found is not None
    assert found.returns


def test_bursts_fall_one_by_one() -> None:
    burst = [(10.0, 3), (4.0, 1), (1.0, 6)]
    x = values(*[(10.0, 10)] * 20, *burst * 20)
    starts = np.arange(0, len(x), 10)
    found = two_levels(x, starts)
    assert found is not None
    assert found.dry.tolist() == [False] * 20 + [True] * 20
    assert (found.fall[20:] - starts[20:] == 3).all()
    assert not found.returns


def test_bursts_of_one_value_add_up() -> None:
    """A single burst of 7 among 10 is within the noise; two hundred of them are not."""
    x = values(*[(10.0, 1)] * 200, *[(7.0, 1)] * 200, sd=0.1)
    found = two_levels(x, np.arange(400))
    assert found is not None
    assert abs(int(np.argmax(found.dry)) - 200) <= 3


@settings(max_examples=20, deadline=None)
@given(scale=st.floats(0.001, 1000))
def test_levels_follow_the_scale(scale: float) -> None:
    x = values((10, 100), (4, 50))
    one, other = two_levels(x, ONE), two_levels(x + np.log(scale), ONE)
    assert one is not None
    assert other is not None
    assert other.high - one.high == pytest.approx(np.log(scale), abs=1e-9)
    assert (other.fall == one.fall).all()


def stretch(rest: float, burst: float, rate: float, capacity: float, error: float = 0.1) -> Stretch:
    return Stretch(min(capacity, rate * rest) + rate * burst, error, rest + burst, rest)


def test_what_never_filled_it_says_the_rate_alone() -> None:
    found = refilling([stretch(30, 4, 2.0, 1000), stretch(60, 8, 2.0, 1000)])
    assert found is not None
    assert found.rate == pytest.approx(2.0)
    assert found.capacity is None
    assert found.spread == pytest.approx(0, abs=1e-9)


def test_longer_rests_show_the_capacity() -> None:
    rests = [20.0, 40.0, 200.0, 400.0]
    found = refilling([stretch(rest, 5, 2.0, 150) for rest in rests])
    assert found is not None
    assert found.rate == pytest.approx(2.0)
    assert found.capacity == pytest.approx(150)


def test_noise_shows_no_capacity() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        some = [
            Stretch(2.0 * t + rng.normal(0, 3), 3.0, t, t)
            for t in rng.uniform(50, 200, 20).tolist()
        ]
        found = refilling(some)
        assert found is not None
        assert found.capacity is None
        assert abs(found.rate - 2.0) < 5 * found.rate_error


def test_nothing_came_back() -> None:
    assert refilling([]) is None
    assert refilling([Stretch(0.0, 0.1, 100.0, 100.0)]) is None
