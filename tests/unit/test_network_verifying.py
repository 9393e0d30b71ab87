"""What is read of a course between two hosts: high, low and budget, or why not."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from said import args

from tare.features.network.emulate import verification
from tare.features.network.emulate.verification import Check
from tare.networks.shaping.specification import Bucket, Rate, parse
from tare.results.message import Duration

MBIT = 10**6
STEP_S = 0.02


def _bucket(text: str) -> Bucket:
    found = parse(f"bucket {text}")
    assert isinstance(found, Bucket)
    return found


def _course(rate: Callable[[float], float], seconds: float) -> list[tuple[float, float, float]]:
    """Integrate a rate over intervals, a change within one included."""
    fine = 50
    found = []
    for number in range(round(seconds / STEP_S)):
        start = number * STEP_S
        bits = sum(rate(start + (i + 0.5) * STEP_S / fine) for i in range(fine)) * STEP_S / fine
        found.append((start, start + STEP_S, bits))
    return found


def _read(bucket: Bucket, budget: int, high: float, low: float) -> dict[str, Check]:
    """Read a course of a bucket that is emptied at one rate, and goes on at another."""
    dry = budget / (high - bucket.refill_bps)
    course = _course(lambda at: high if at < dry else low, dry + 0.8)
    return {one.what: one for one in verification._of_course(course, 1, bucket, budget)}


def test_what_is_delivered_as_asked_is_good() -> None:
    bucket = _bucket("high=2000Mbit low=200Mbit budget=10Gbit refill=100Mbit")
    found = _read(bucket, 1520 * MBIT, 2000 * MBIT, 200 * MBIT)
    assert set(found) == {"high", "low", "budget"}
    for check in found.values():
        assert check.good
        assert check.delivered == pytest.approx(check.asked, rel=0.01)


@pytest.mark.parametrize(
    ("budget", "high", "low", "bad"),
    [
        (1520, 1800, 200, {"high"}),
        (1520, 2000, 220, {"low"}),
        (1300, 2000, 200, {"budget"}),
    ],
)
def test_what_is_not_is_told(budget: int, high: int, low: int, bad: set[str]) -> None:
    bucket = _bucket("high=2000Mbit low=200Mbit budget=10Gbit refill=100Mbit")
    dry = budget * MBIT / (high * MBIT - bucket.refill_bps)
    course = _course(lambda at: MBIT * (high if at < dry else low), dry + 0.8)
    found = verification._of_course(course, 1, bucket, 1520 * MBIT)
    assert {one.what for one in found if not one.good} == bad


def test_a_refill_above_the_low_rate_is_what_stays() -> None:
    bucket = _bucket("high=2000Mbit low=100Mbit budget=10Gbit refill=500Mbit")
    found = _read(bucket, 1200 * MBIT, 2000 * MBIT, 500 * MBIT)
    assert found["refill"].asked == 500 * MBIT
    assert all(check.good for check in found.values())


def test_what_is_too_short_or_too_slow_is_not_measured() -> None:
    short = _read(_bucket("high=1Gbit low=200Mbit budget=30Mbit"), 30 * MBIT, 1e9, 2e8)
    assert short["high"].delivered is None
    assert args(short["high"].why, "as the budget") == {"time": Duration(0.0375)}
    slow = _read(_bucket("high=1Gbit low=1Mbit budget=10Gbit"), 800 * MBIT, 1e9, 1e6)
    assert slow["low"].delivered is None
    assert args(slow["low"].why, "too long to")["least"].value == verification.LEAST_BPS
    assert "20 Mbit/s" in str(slow["low"].stored().why)
    assert "budget" not in slow
    assert all(check.good for check in (*short.values(), *slow.values()))


def test_nothing_delivered_is_not_good() -> None:
    course = _course(lambda at: 0.0, 1.6)
    bucket = _bucket("high=1Gbit low=200Mbit budget=10Gbit")
    assert not all(one.good for one in verification._of_course(course, 1, bucket, 800 * MBIT))
    assert not Check(host=1, what="rate", asked=1, delivered=None).good


def test_the_best_of_some_tries_counts() -> None:
    tries = iter([0.8, 0.94, 0.9])

    def attempt() -> list[Check]:
        return [Check(host=1, what="rate", asked=1000, delivered=1000 * next(tries))]

    (best,) = verification._best(attempt)
    assert best.delivered == 940
    assert next(tries, None) is None


def test_the_slowest_and_the_fastest_of_many_rates_are_tried() -> None:
    found = parse("distribution 0%=100Mbit 100%=900Mbit")
    rates = verification._rates(found, 1)
    assert len(rates) == 4
    assert rates == sorted(rates)
    assert rates[0] < 110 * MBIT < 890 * MBIT < rates[-1]
    assert verification._rates(Rate(rate_bps=5), 1) == [5]
    assert verification._rates(None, 1) == []


def test_a_held_up_sender_does_not_change_what_a_fast_network_delivers() -> None:
    course = _course(lambda at: 0.0 if 0.2 < at < 0.25 else 1e9, 0.6)
    assert verification._typical(course, 10**9, 0.1, math.inf) == pytest.approx(1e9)
    assert verification._typical([], 10**9, 0.1, math.inf) is None
