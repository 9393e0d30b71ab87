"""PTO and PSO: what comes out of costs that are known, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import args

from tare.results.message import Chosen, message
from tare.results.verdict import EQUIVALENT, HIGHER, INCONCLUSIVE, LOWER
from tare.statistics.platform_size import PlatformSize, Shape, platform_size, transformed

SIZES = np.array([0.25, 0.5, 1.0, 2.0])


def measured(
    slope: float = 0.0,
    shape: Shape = "log",
    *,
    type_cost: float = 0.05,
    blocks: int = 20,
    noise: float = 0.01,
    sizes: np.ndarray = SIZES,
    host: float = 2.0,
    seed: int = 1,
) -> PlatformSize:
    rng = np.random.default_rng(seed)
    logs = type_cost + slope * transformed(sizes / host, shape)
    logs = logs + noise * rng.standard_normal((blocks, len(sizes)))
    # What a block has in common cancels, and larger sizes are faster.
    common = np.exp(rng.standard_normal((blocks, 1))) / sizes
    numbers = np.repeat(np.arange(blocks), len(sizes))
    cores = np.tile(sizes, blocks)
    return platform_size(cores, (common * np.exp(logs)).ravel(), common.ravel(), numbers, host)


@pytest.mark.parametrize("shape", ["log", "root", "inverse"])
def test_a_cost_that_falls_with_size_is_divided(shape: Shape) -> None:
    found = measured(0.2, shape)
    assert found.verdict == HIGHER
    assert found.misfit is None
    assert shape in [curve.shape for curve in found.kept]
    assert found.pto is not None
    assert found.pso is not None
    assert found.pto.low is not None
    assert found.pto.high is not None
    assert found.pso.low is not None
    assert found.pso.high is not None
    assert found.pto.low <= math.exp(0.05) <= found.pto.high
    truth = math.exp(0.2 * np.ptp(transformed(SIZES / 2, shape)))
    assert found.pso.low <= truth <= found.pso.high
    assert [size.cores for size in found.sizes] == [0.25, 0.5, 1, 2]
    assert [size.chr for size in found.sizes] == [0.125, 0.25, 0.5, 1]


def test_a_constant_cost_is_the_types() -> None:
    found = measured(blocks=60)
    assert found.verdict == EQUIVALENT
    assert found.pto is not None
    assert found.pto.low is not None
    assert found.pto.low > 1
    assert found.pto.value == pytest.approx(math.exp(0.05), rel=0.02)


def test_a_cost_that_grows_with_size_is_no_pso() -> None:
    assert measured(-0.1).verdict == LOWER


def test_three_sizes_are_too_few() -> None:
    found = measured(0.2, sizes=SIZES[:3])
    assert found.pto is None
    assert found.pso is None
    said = args(found.refusal, "planned ones were")
    assert said == {"needs": 4, "planned": None, "sizes": 3, "usable": 3}
    assert len(found.sizes) == 3
    assert found.sizes[0].ratio.low is not None


def test_five_blocks_are_too_few() -> None:
    found = measured(0.2, blocks=5)
    assert found.refusal == message(
        "PTO and PSO not identifiable: {blocks} of {needs} blocks that have every size",
        needs=6,
        blocks=5,
    )
    assert found.sizes[0].ratio.low is None


def test_what_is_far_from_the_whole_host_says_nothing_of_it() -> None:
    found = measured(0.1, host=128.0)
    assert found.pto is None
    core_ratio = args(found.extrapolated, "at CHR =")["chr"]
    assert core_ratio == pytest.approx(max(SIZES) / 128)
    assert found.verdict == HIGHER


def test_a_cost_of_no_known_shape_is_told_with_where_it_is_off() -> None:
    rng = np.random.default_rng(1)
    sizes = np.array([2, 4, 8, 16, 32, 64.0])
    logs = np.array([0, 0, 0.4, 0, 0, 0]) + 0.01 * rng.standard_normal((20, 6))
    blocks = np.repeat(np.arange(20), 6)
    ones = np.ones(120)
    found = platform_size(np.tile(sizes, 20), np.exp(logs).ravel(), ones, blocks, 64)
    said = args(found.misfit, "by how far")
    assert said["cores"] == Chosen(8, "cores")
    assert said["factor"] > 1.1
    assert found.verdict == INCONCLUSIVE


def test_a_size_that_mostly_failed_takes_none_of_the_others_away() -> None:
    rng = np.random.default_rng(1)
    sizes = np.array([0.25, 0.5, 1, 2, 4.0])
    cores, blocks = np.tile(sizes, 20), np.repeat(np.arange(20), 5)
    values = np.exp(0.01 * rng.standard_normal(100))
    kept = (cores != 4) | (blocks < 3)
    found = platform_size(cores[kept], values[kept], np.ones(int(kept.sum())), blocks[kept], 4)
    assert found.n == 20
    assert found.pso is not None
    assert [size.n for size in found.sizes] == [20, 20, 20, 20, 3]


@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 100), st.permutations(range(40)))
def test_neither_unit_nor_order_matters(scale: float, order: list[int]) -> None:
    rng = np.random.default_rng(2)
    cores, blocks = np.tile(SIZES, 10), np.repeat(np.arange(10), 4)
    platform, bare = np.exp(0.1 * rng.standard_normal((2, 40)))
    one = platform_size(cores, platform, bare, blocks, 2)
    at = np.array(order)
    two = platform_size(cores[at], scale * platform[at], scale * bare[at], blocks[at], 2)
    assert one.pso is not None
    assert two.pso is not None
    assert two.pso.value == pytest.approx(one.pso.value)
    assert two.pso.low == pytest.approx(one.pso.low)
    assert two.verdict == one.verdict


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_what_has_no_ratio_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^platform\[2\] is .*(above zero|finite)"):
        platform_size(SIZES, np.array([1, 1, bad, 1]), np.ones(4), [0, 0, 0, 0], 2)
    with pytest.raises(ValueError, match="cores has 4 values and platform has 3"):
        platform_size(SIZES, np.ones(3), np.ones(4), [0, 0, 0, 0], 2)
