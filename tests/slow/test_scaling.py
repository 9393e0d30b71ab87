"""How often breaks are found, and straight sweeps left in peace: what the verdict claims."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from simulation import at_most

from tare.statistics.scaling import scaling

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def quotas(steps: int) -> np.ndarray:
    return np.round(np.arange(1, steps + 1) * 0.1, 1)


def measured(
    rng: np.random.Generator, rates: np.ndarray, repetitions: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    made = rates * (1 + noise * rng.standard_normal((repetitions, len(rates))))
    return np.tile(quotas(len(rates)), repetitions), made.ravel()


@pytest.mark.parametrize("between", [None, 0.6])
@pytest.mark.parametrize("noise", [0.02, 0.03, 0.05])
def test_h90s_breaks_are_found(noise: float, between: float | None) -> None:
    """At least 95 % of 200, each break within 0.1; also with a step that is in neither range."""
    rng = np.random.default_rng(1)
    x = quotas(40)
    rates = np.where((x < 0.55) | (x > 2.9), 54.0, 11.0) * x
    if between is not None:
        rates[28] = between * 54 * 2.9
    found = 0
    for _ in range(200):
        said = scaling(*measured(rng, rates, 5, noise))
        found += (
            said.verdict == "piecewise"
            and len(said.breaks) == 2
            and bool(np.all(np.abs(np.subtract(said.breaks, (0.55, 2.9))) <= 0.1 + 1e-9))
        )
    assert found >= 190, found


@pytest.mark.parametrize("off", [0.0, 0.01])
@pytest.mark.parametrize("noise", [0.01, 0.05])
@pytest.mark.parametrize("repetitions", [1, 5])
@pytest.mark.parametrize("steps", [20, 40])
def test_straight_sweeps_are_seldom_bent(
    steps: int, repetitions: int, noise: float, off: float
) -> None:
    """At most 5 % of 2,000; ceilings count as well."""
    rng = np.random.default_rng(2)
    bent = 0
    for _ in range(2000):
        rates = 54 * quotas(steps) * (1 + off * rng.standard_normal(steps))
        said = scaling(*measured(rng, rates, repetitions, noise)).verdict
        bent += said in ("piecewise", "saturating")
    assert at_most(bent, 0.05, 2000), bent / 2000


def told(rates: np.ndarray, repetitions: int, noise: np.ndarray, sweeps: int) -> Counter[str]:
    """Count verdicts; noise is relative, by quota."""
    rng = np.random.default_rng(4)
    x = np.tile(quotas(len(rates)), repetitions)
    shape = (repetitions, len(rates))
    return Counter(
        scaling(x, (rates * (1 + noise * rng.standard_normal(shape))).ravel()).verdict
        for _ in range(sweeps)
    )


@pytest.mark.parametrize(
    ("repetitions", "start", "end", "sweeps"),
    [
        (7, 0.01, 0.1, 4000),
        *((n, 0.01, end, 4000) for n in (1, 7) for end in (0.02, 0.04, 0.06)),
        *((n, 0.01, 0.1, 4000) for n in (1, 2, 3)),
        *((n, 0.1, 0.01, 4000) for n in (1, 7)),
    ],
)
def test_noise_that_grows_or_falls_is_no_bend(
    repetitions: int, start: float, end: float, sweeps: int
) -> None:
    """At most 5 %; each quota measured once or several times."""
    verdicts = told(54 * quotas(20), repetitions, np.linspace(start, end, 20), sweeps)
    bent = verdicts["piecewise"] + verdicts["saturating"]
    assert at_most(bent, 0.05, sweeps), bent / sweeps


@pytest.mark.parametrize(
    ("rates", "repetitions", "most"),
    [
        (np.where(quotas(20) < 0.15, 0.5, 1) * quotas(20), 7, 0.1),
        (np.where(quotas(20) < 0.15, 0.5, 1) * quotas(20), 1, 0.1),
        (quotas(20) ** 0.95, 7, 0.2),
        (quotas(20) - 0.05 * quotas(20) ** 2, 7, 0.2),
    ],
    ids=["first quota halved", "the same, once", "power", "square"],
)
def test_what_bends_is_not_called_linear(rates: np.ndarray, repetitions: int, most: float) -> None:
    verdicts = told(54 * rates, repetitions, np.full(20, 0.02), 2000)
    assert at_most(verdicts["linear"], most, 2000), verdicts


@pytest.mark.parametrize("steps", [10, 20])
@pytest.mark.parametrize("step", [-1, -2, 0])
@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
def test_one_value_is_no_ceiling(steps: int, step: int, share: float) -> None:
    """Each quota measured once; at most 5 % are bent."""
    rates = 54 * quotas(steps)
    rates[step] *= share
    verdicts = told(rates, 1, np.full(steps, 0.02), 400)
    bent = verdicts["piecewise"] + verdicts["saturating"]
    assert at_most(bent, 0.05, 400), verdicts


@pytest.mark.parametrize("noise", [0.02, 0.05])
@pytest.mark.parametrize(("steps", "repetitions"), [(20, 1), (20, 7), (40, 5), (10, 7)])
def test_a_bend_of_the_size_that_is_stated_is_seen(
    steps: int, repetitions: int, noise: float
) -> None:
    """In at least 90 % of 300: jumps in the middle through which one line errs by as much."""
    straight, rng = 54 * quotas(steps), np.random.default_rng(5)
    stated = [scaling(*measured(rng, straight, repetitions, noise)).would_see for _ in range(50)]
    error = float(np.median([size for size in stated if size is not None]))
    jump = np.where(np.arange(steps) < steps // 2, 1, 1 - 2 * error) * straight
    verdicts = told(jump, repetitions, np.full(steps, noise), 300)
    assert verdicts["piecewise"] + verdicts["saturating"] >= 270, (error, verdicts)


@pytest.mark.parametrize("noise", [0.02, 0.05])
@pytest.mark.parametrize("repetitions", [1, 5])
def test_ceilings_are_found(repetitions: int, noise: float) -> None:
    """At least 95 % of 200, within 0.1."""
    rng = np.random.default_rng(3)
    rates = 27 * np.minimum(quotas(20), 1)
    found = 0
    for _ in range(200):
        said = scaling(*measured(rng, rates, repetitions, noise))
        at = said.saturates_at
        found += said.verdict == "saturating" and at is not None and abs(at - 1) <= 0.1
    assert found >= 190, found
