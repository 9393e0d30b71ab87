"""Means without an interval: heavy tails and few carrying values, by simulation of either."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from said import templates

from tare.statistics.tails import carrying, mean_refusal

Sample = Callable[[np.random.Generator, int], np.ndarray]


def bursts(share: float, times: float) -> Sample:
    return lambda rng, n: (
        (1 + 0.02 * rng.standard_normal(n)) * np.where(rng.random(n) < share, times, 1)
    )


#: Samples, and the least and the most of them that are refused at n = 100 (200 samples).
SHARES: dict[str, tuple[Sample, float, float]] = {
    "normal": (lambda rng, n: rng.normal(100, 1, n), 0.0, 0.01),
    "a fifth is half as long again": (bursts(0.2, 1.5), 0.0, 0.01),
    "lognormal, sigma 0.3": (lambda rng, n: rng.lognormal(0, 0.3, n), 0.0, 0.15),
    "Pareto 1.5": (lambda rng, n: 1 + rng.pareto(1.5, n), 0.85, 1.0),
    "1 % is ten times as long": (bursts(0.01, 10), 0.5, 0.75),  # in 37 % there is none
}


@pytest.mark.parametrize("kind", SHARES)
def test_means_are_refused_where_their_interval_would_be_wrong(kind: str) -> None:
    draw, least, most = SHARES[kind]
    rng = np.random.default_rng(1)
    refused = np.mean([mean_refusal(draw(rng, 100)) is not None for _ in range(200)])
    assert least <= refused <= most


def test_carrying_values_are_counted() -> None:
    values = np.zeros(1000)
    values[::100] = 7.0
    assert carrying(values) == pytest.approx(10)
    assert carrying(np.ones(5)) == np.inf
    assert carrying(np.random.default_rng(1).normal(5, 1, 30_000)) == pytest.approx(1e4, rel=0.1)


def test_the_reason_is_named() -> None:
    one = np.append(np.arange(60.0), 1e9)
    assert templates(mean_refusal(one)) == ["the mean's error"]
    quantiles = (np.arange(2000) + 0.5) / 2000
    assert templates(mean_refusal((1 - np.minimum(quantiles, 0.997)) ** (-1 / 1.2))) == [
        "the tail is"
    ]
    assert mean_refusal(np.ones(50)) is None
    assert mean_refusal(np.append(np.zeros(999), np.full(9, 1.0))) is None
