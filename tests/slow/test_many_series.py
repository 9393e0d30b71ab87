"""Audits of many series: sound files are trusted, one bad series of many is found.

What speaks against a series besides the precision of its median; target 1 %.

A series is simulated alone and judged as one of so many. Ranks have no distribution to vary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from simulation import at_most, autoregressive

from tare.statistics.trust import Trust, most_by_chance, trust

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

SOUND = 20_000
PLANTED = 400
Planted = Callable[[np.random.Generator, int, float], np.ndarray]


def judged(noise: np.ndarray) -> Trust:
    return trust(100 + 20 * noise, trials_known=True, tick=0.0, precision=0.01)


def fails_among(found: Trust, series: int) -> bool:
    doubt = found.order_doubt
    return not found.is_sound and (doubt is None or doubt.holds_among(series))


@pytest.mark.parametrize("n", [10, 20, 30, 100])
def test_sound_files_are_trusted(n: int) -> None:
    """At most 5 % of files fail by one series, and at most 5 % by the number of doubted ones."""
    rng = np.random.default_rng(n)
    found = [judged(rng.standard_normal(n)) for _ in range(SOUND)]
    doubted = np.array([not one.is_sound for one in found])
    for series in (10, 100, 1000):
        failing = sum(fails_among(one, series) for one in found)
        files = doubted[rng.integers(0, SOUND, (SOUND, series))].sum(axis=1)
        many = int((files > most_by_chance(series)).sum())
        print(
            f"n = {n}, {series} series: one fails in {1 - (1 - failing / SOUND) ** series:.1%} of"
            f" files ({failing} of {SOUND} series), too many in {many / SOUND:.1%}"
        )
        assert at_most(failing, 0.05 / series, SOUND)
        assert at_most(many, 0.05, SOUND)


def step(rng: np.random.Generator, n: int, size: float) -> np.ndarray:
    return rng.standard_normal(n) + size * (np.arange(n) >= n // 2)


def drift(rng: np.random.Generator, n: int, size: float) -> np.ndarray:
    return rng.standard_normal(n) + size * np.linspace(0, 1, n)


def correlated(rng: np.random.Generator, n: int, size: float) -> np.ndarray:
    return autoregressive(size)(rng, n)


def every_fifth(rng: np.random.Generator, n: int, size: float) -> np.ndarray:
    return rng.standard_normal(n) + size * (np.arange(n) % 5 == 0)


#: Defects, the numbers of trials, and the sizes that are found alone in about 90 %.
DEFECTS: list[tuple[Planted, int, float]] = [
    (step, 20, 1.9), (step, 30, 1.5), (step, 100, 0.85), (step, 300, 0.5),
    (drift, 20, 3.1), (drift, 30, 2.6), (drift, 100, 1.4), (drift, 300, 0.8),
    (correlated, 100, 0.43), (correlated, 300, 0.27),
    (every_fifth, 50, 2.4), (every_fifth, 100, 1.7), (every_fifth, 300, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("plant", "n", "size"), DEFECTS)
def test_one_bad_series_of_a_hundred_is_found(plant: Planted, n: int, size: float) -> None:
    """Twice the size that is found alone in 90 %: 80 % of the files are doubted (400 files)."""
    rng = np.random.default_rng(5)
    alone = np.mean([not judged(plant(rng, n, size)).is_sound for _ in range(PLANTED)])
    twice = [judged(plant(rng, n, 2 * size)) for _ in range(PLANTED)]
    found = [float(np.mean([fails_among(one, m) for one in twice])) for m in (100, 1000)]
    print(
        f"{plant.__name__}, n = {n}: {size:g} is found alone in {alone:.0%}; twice that in one of"
        f" 100 series in {found[0]:.0%}, of 1,000 in {found[1]:.0%}"
    )
    assert found[0] >= 0.8
    # Twenty ranks in two halves are too likely for a thousand series, however large the step.
    assert found[1] >= 0.8 or n == 20
