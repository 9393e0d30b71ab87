"""Quantiles of long series: to the last bit what sorting gives, wherever the series is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.errors import InputError
from tare.results.message import message
from tare.statistics import quantiles as selection
from tare.statistics.intervals import quantile_interval, quantile_ranks
from tare.statistics.quantiles import quantiles
from tare.statistics.statistic import quantiles_of

QS = [0.001, 0.05, 0.25, 0.5, 0.9, 0.95, 0.99]
finite = st.floats(-1e9, 1e9, allow_nan=False)


@pytest.fixture(params=["all kept", "few kept"])
def room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make short series long ones, as far as the passes go."""
    if request.param == "few kept":
        monkeypatch.setattr(selection, "SAMPLE", 64)
        monkeypatch.setattr(selection, "_CHUNK", 16)


@pytest.mark.usefixtures("room")
@settings(deadline=None)
@given(st.lists(finite | st.sampled_from([0.0, 1.0, 7.0]), min_size=1, max_size=700).map(np.array))
def test_is_numpy_to_the_last_bit(values: np.ndarray) -> None:
    for q, found in zip(QS, quantiles(values, QS), strict=True):
        assert found.estimate == np.quantile(values, q)
        assert found == quantile_interval(values, q)


@pytest.mark.usefixtures("room")
@given(st.integers(0, 1000), st.floats(0.5, 4), st.floats(-100, 100))
@settings(deadline=None, max_examples=30)
def test_follows_scale_shift_and_no_order(seed: int, scale: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    values = rng.lognormal(0, 1, 500)
    one = quantiles(values, [0.5])[0]
    other = quantiles(rng.permutation(values) * scale + shift, [0.5])[0]
    for name in ("estimate", "low", "high"):
        moved = getattr(one, name) * scale + shift
        assert getattr(other, name) == pytest.approx(moved, abs=1e-6)


SHAPES: dict[str, Callable[[int], np.ndarray]] = {
    "constant": lambda n: np.full(n, 3.0),
    "few levels": lambda n: np.random.default_rng(1).integers(0, 4, n).astype(float),
    "one tie amid": lambda n: np.where(np.arange(n) % 3 == 0, 0.0, np.linspace(-1, 1, n)),
    "sorted": lambda n: np.arange(n, dtype=float),
    "reversed": lambda n: np.arange(n, dtype=float)[::-1],
    "periodic": lambda n: np.sin(2 * np.pi * np.arange(n) / 4.0),
    "infinite ends": lambda n: np.concatenate([[-np.inf] * 9, np.arange(n - 18.0), [np.inf] * 9]),
    "drifting": lambda n: np.random.default_rng(2).standard_normal(n) + np.arange(n) / n * 9,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_two_passes_find_what_partition_does(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "SAMPLE", 4096)
    values = SHAPES[shape](200_000)
    qs = [0.01, 0.25, 0.5, 0.9, 0.99]
    ranks = [quantile_ranks(len(values), q) for q in qs]
    ordered = np.sort(values)
    for q, pair, found in zip(qs, ranks, quantiles(values, qs, tick=0.0), strict=True):
        assert pair is not None
        assert (found.low, found.high) == (ordered[pair[0] - 1], ordered[pair[1] - 1])
        assert found.estimate == np.quantile(values, q)


def test_a_bracket_that_misses_is_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "SAMPLE", 256)
    monkeypatch.setattr(selection, "_REACH", 0.001)
    looks = []
    look = selection._look

    def counted(*arguments: object) -> list[np.ndarray]:
        looks.append(arguments)
        return look(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(selection, "_look", counted)
    values = np.random.default_rng(3).standard_normal(100_000)
    assert quantiles(values, QS) == [quantile_interval(values, q) for q in QS]
    assert len(looks) > 1


def test_keeps_hardly_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies inside of the brackets is a small part, ties or not."""
    monkeypatch.setattr(selection, "SAMPLE", 1 << 16)
    kept = []
    look = selection._look

    def weighed(*arguments: object) -> list[np.ndarray]:
        found = look(*arguments)  # type: ignore[arg-type]
        kept.extend(found)
        return found

    monkeypatch.setattr(selection, "_look", weighed)
    rng = np.random.default_rng(4)
    for values in (rng.lognormal(0, 1, 2_000_000), rng.integers(0, 50, 2_000_000) / 7):
        kept.clear()
        quantiles(values, [0.1, 0.5, 0.9])
        assert sum(map(len, kept)) < 0.1 * len(values)


def test_reads_a_memory_map(tmp_path: Path) -> None:
    values = np.random.default_rng(5).lognormal(0, 1, 1_500_000)
    values.tofile(tmp_path / "values")
    mapped = np.memmap(tmp_path / "values", dtype=float, mode="r")
    assert quantiles(mapped, [0.5, 0.99]) == quantiles(np.sort(values), [0.5, 0.99])


def test_reads_whole_numbers_and_columns() -> None:
    table = np.random.default_rng(6).integers(0, 1000, (2_000, 3))
    wanted = [quantile_interval(table[:, 1].astype(float), q) for q in QS]
    assert quantiles(table[:, 1], QS) == wanted


def test_widens_for_dependence() -> None:
    values = np.random.default_rng(7).standard_normal(1000)
    narrow, wide = quantiles(values, [0.5])[0], quantiles(values, [0.5], widening=2.0)[0]
    ranks = quantile_ranks(1000, 0.5, 0.95, 2.0)
    assert ranks is not None
    ordered = np.sort(values)
    assert (wide.low, wide.high) == (ordered[ranks[0] - 1], ordered[ranks[1] - 1])
    assert wide.estimate == narrow.estimate


def test_says_what_is_too_small() -> None:
    found = quantiles(np.arange(100.0), [0.5, 0.99])
    assert found[0].refusal is None
    assert (found[1].low, found[1].refusal) == (
        None,
        message("n = {n} is too small, needs ≥ {needs}", n=100, needs=368),
    )
    widened = quantiles(np.arange(10.0), [0.5], widening=3.0)[0]
    assert widened.refusal == message("n = {n} is too small, needs ≥ {needs}", n=10, needs=54)


@pytest.mark.parametrize("long", [False, True])
def test_refuses_what_is_not_a_number(long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if long:
        monkeypatch.setattr(selection, "SAMPLE", 100)
    values = np.arange(1000.0)
    values[997] = np.nan
    with pytest.raises(InputError, match="not a number"):
        quantiles(values, [0.5])


def test_refuses_nothing_and_impossible_quantiles() -> None:
    with pytest.raises(InputError, match="no values"):
        quantiles(np.empty(0), [0.5])
    for q in (0.0, 1.0, -1.0):
        with pytest.raises(InputError, match="no number of trials gives the quantile"):
            quantiles(np.arange(10.0), [q])


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1001])
def test_quantiles_of_any_order_are_numpys(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n).round(1)
    qs = (0.0, 0.25, 0.5, 0.9, 1.0)
    assert quantiles_of(values, *qs) == np.quantile(values, qs).tolist()
