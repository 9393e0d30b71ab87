"""How often the intervals of PTO and PSO hold, and PSO is seen where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simulation import at_least, at_most

from tare.statistics.platform_size import Shape, platform_size, transformed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

_SIZES = np.array([0.25, 0.5, 1.0, 2.0])
_REPLICATES = 2000


def noise(kind: str, rng: np.random.Generator, blocks: int) -> np.ndarray:
    """Errors of log-ratios: a row a block, a column a size."""
    shape = (blocks, len(_SIZES))
    normal = rng.standard_normal(shape)
    if kind == "small sizes are noisy":
        return np.linspace(0.1, 0.01, len(_SIZES)) * normal
    if kind == "t3":
        return 0.03 * rng.standard_t(3, shape)
    if kind == "outliers":
        return 0.02 * normal + 0.5 * (rng.random(shape) < 0.03)
    if kind == "blocks":
        return 0.03 * normal + 0.1 * rng.standard_normal((blocks, 1))
    if kind == "sizes off by 1 %":
        return 0.02 * normal + 0.01 * rng.standard_normal(len(_SIZES))
    return 0.03 * normal


@pytest.mark.parametrize(
    ("shape", "slope"), [("log", 0.0), ("log", 0.1), ("root", 0.1), ("inverse", 0.05)]
)
@pytest.mark.parametrize(
    "kind", ["normal", "small sizes are noisy", "t3", "outliers", "blocks", "sizes off by 1 %"]
)
@pytest.mark.parametrize("blocks", [8, 20, 50])
def test_intervals_hold_and_pso_is_seldom_made_up(
    blocks: int, kind: str, shape: Shape, slope: float
) -> None:
    """Both intervals in 95 %; where there is none, PSO is seen in at most 5 %."""
    rng = np.random.default_rng(5)
    h = transformed(_SIZES / 2, shape)
    truth = math.exp(0.05), math.exp(slope * float(np.ptp(h)))
    held, seen = np.zeros(2), 0
    cores, numbers = np.tile(_SIZES, blocks), np.repeat(np.arange(blocks), len(_SIZES))
    for _ in range(_REPLICATES):
        logs = 0.05 + slope * h + noise(kind, rng, blocks)
        found = platform_size(cores, np.exp(logs).ravel(), np.ones(logs.size), numbers, 2)
        for i, (factor, true) in enumerate(zip((found.pto, found.pso), truth, strict=True)):
            assert factor is not None
            assert factor.low is not None
            assert factor.high is not None
            held[i] += factor.low <= true <= factor.high
        seen += found.verdict.direction == "higher"
    assert at_least(int(held.min()), 0.95, _REPLICATES), held / _REPLICATES
    if slope == 0:
        assert at_most(seen, 0.05, _REPLICATES), seen / _REPLICATES
