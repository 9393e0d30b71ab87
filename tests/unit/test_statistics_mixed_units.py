"""Two units in one series, told from modes."""

from __future__ import annotations

import numpy as np
import pytest

from tare.statistics.mixed_units import mixed_units


def mixed(factor: float, count: int, n: int = 40, cov: float = 0.02) -> np.ndarray:
    rng = np.random.default_rng(1)
    values = rng.normal(12, 12 * cov, n)
    values[rng.permutation(n)[:count]] *= factor
    return values


@pytest.mark.parametrize("factor", [1e3, 1e-3, 1e6, 2.0**10, 2.0**20, 2.0**30, 2.0**-30])
@pytest.mark.parametrize("count", [1, 3, 20])
def test_prefixes_are_certain(factor: float, count: int) -> None:
    found = mixed_units(mixed(factor, count))
    assert found is not None
    assert found.certain
    assert found.count == count
    assert found.factor == pytest.approx(max(factor, 1 / factor), rel=0.08)


def test_minutes_beside_seconds_are_not_certain() -> None:
    found = mixed_units(mixed(60, 10))
    assert found is not None
    assert (found.factor, found.certain) == (60, False)


@pytest.mark.parametrize("factor", [5, 10, 40, 80, 100, 300, 700, 1300, 3000])
@pytest.mark.parametrize("count", [1, 10, 20])
def test_modes_at_other_factors_are_no_units(factor: float, count: int) -> None:
    assert mixed_units(mixed(factor, count)) is None


def test_an_outlier_hides_no_units() -> None:
    values = mixed(1e3, 10)
    values[int(values.argmin())] *= 30
    found = mixed_units(values)
    assert found is not None
    assert found.certain


@pytest.mark.parametrize("count", [1, 3, 30])
@pytest.mark.parametrize("cov", [0.05, 0.2])
def test_two_modes_hide_no_units(cov: float, count: int) -> None:
    rng, found = np.random.default_rng(3), 0
    for _ in range(100):
        values = np.where(rng.random(60) < 0.5, 1 - cov, 1 + cov) * rng.normal(1, 0.2 * cov, 60)
        values[rng.permutation(60)[:count]] *= 1000
        found += mixed_units(values) is not None
    assert found >= 90


def test_zeros_hide_no_units() -> None:
    found = mixed_units(np.append(mixed(1e3, 10), [0.0, 0.0]))
    assert found is not None
    assert found.certain


def test_three_units_are_found_by_two_of_them() -> None:
    values = mixed(1, 0, 30) * np.repeat([1, 1e3, 1e6], 10)
    assert mixed_units(values) is not None


@pytest.mark.parametrize("values", [[0.0] * 9, [-1.0, 1e6], [3.0] * 20, [1.0, 1000.0]])
def test_where_nothing_can_be_said_nothing_is(values: list[float]) -> None:
    assert mixed_units(np.array(values)) is None


def test_values_that_spread_over_decades_have_one_unit() -> None:
    rng = np.random.default_rng(2)
    assert not any(mixed_units(rng.pareto(0.3, 200) + 1) for _ in range(50))
    assert not any(mixed_units(rng.lognormal(0, 2, 200)) for _ in range(50))
