"""Caches found from latency staircases, made up and recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import args

from tare.results.message import message
from tare.statistics.knees import Staircase, knees
from tare.statistics.statistic import FloatArray

KIB, MIB = 1 << 10, 1 << 20
RECORDED = Path(__file__).parents[1] / "data" / "staircases.json"


def sizes(an_octave: int = 8, smallest: int = KIB, largest: int = 128 * MIB) -> FloatArray:
    """Return sizes as the probe chooses them, evenly between powers of two."""
    found = [
        2.0**octave * (1 + part / an_octave)
        for octave in range(10, 28)
        for part in range(an_octave)
    ]
    return np.array([size for size in found if smallest <= size <= largest])


def staircase(
    at: FloatArray, caches: dict[float, float], memory: float, octaves: float = 0.1
) -> FloatArray:
    """Latency by size where each cache's misses rise over so many octaves around its size."""
    latency = np.zeros_like(at)
    left = np.ones_like(at)
    for size, hit in caches.items():
        miss = np.clip(0.5 + (np.log2(at) - np.log2(size)) / octaves, 0, 1)
        latency += left * (1 - miss) * hit
        left = left * miss
    return np.asarray(latency + left * memory)


def noisy(values: FloatArray, share: float, seed: int = 1) -> FloatArray:
    """Noise as of a busy machine: it only adds, and sometimes much."""
    rng = np.random.default_rng(seed)
    return np.asarray(values * (1 + share * rng.exponential(size=len(values))))


THREE = {48.0 * KIB: 1.2, 2.0 * MIB: 4.5, 30.0 * MIB: 20.0}


def close(found: Staircase, expected: list[float], factor: float = 1.25) -> bool:
    got = [level.size_bytes for level in found.levels]
    return len(got) == len(expected) and all(
        1 / factor <= a / b <= factor for a, b in zip(got, expected, strict=True)
    )


@pytest.mark.parametrize("an_octave", [4, 8])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_caches_are_found(an_octave: int, share: float, count: int) -> None:
    at = sizes(an_octave)
    caches = dict(list(THREE.items())[:count])
    found = knees(at, noisy(staircase(at, caches, 110.0), share))
    assert close(found, list(caches)), found
    for level, latency in zip(found.levels, caches.values(), strict=True):
        assert level.clear
        assert level.latency_ns == pytest.approx(latency, rel=0.02 + share)
        assert level.size_interval[0] <= level.size_bytes <= level.size_interval[1]
    assert found.memory_latency_ns == pytest.approx(110, rel=0.02 + 1.5 * share)


def test_a_last_cache_that_is_shared_is_not_clear() -> None:
    at = sizes()
    private = {48.0 * KIB: 1.2, 2.0 * MIB: 4.5}
    shared = np.log2(np.clip(at / (4 * MIB), 1, 16)) / 4 * 130
    found = knees(at, staircase(at, private, 20.0) + shared)
    assert close(found, [48 * KIB, 2 * MIB, 16 * MIB], factor=1.6), found
    assert [level.clear for level in found.levels] == [True, True, False]
    said = args(found.sentence, "it too or")
    assert said["unclear"]
    assert [one.args["clear"] for one in said["caches"]] == [True, True, False]


def test_a_rise_too_wide_for_one_cache_hides_another() -> None:
    at = sizes()
    caches = {32.0 * KIB: 1.0}
    ramp = 4 * np.exp(np.clip(np.log2(at / MIB), 0, 5) / 5 * np.log(40))
    found = knees(at, np.where(at > MIB / 2, ramp, staircase(at, caches, 4.0)))
    first, second, hidden = found.levels
    assert first.clear
    assert not second.clear
    assert not hidden.clear
    assert hidden.latency_ns is None
    assert second.size_interval[0] >= MIB
    assert second.size_bytes <= 4 * MIB <= hidden.size_bytes <= 32 * MIB
    assert found.memory_latency_ns == pytest.approx(160)
    caches = args(found.sentence, "it too or")["caches"]
    assert [one.args["latency"] is None for one in caches] == [False, False, True]


@pytest.mark.parametrize("seed", range(5))
def test_one_level_has_no_knee(seed: int) -> None:
    at = sizes(largest=32 * KIB)
    found = knees(at, noisy(np.full(len(at), 1.2), 0.05, seed))
    assert found.levels == ()
    assert found.memory_latency_ns == pytest.approx(1.2, rel=0.15)
    assert found.sentence == message(
        "the latency has no knee over these sizes: no cache ends among them"
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_slope_has_no_knee(seed: int) -> None:
    at = sizes()
    found = knees(at, noisy(at**0.5, 0.05, seed))
    assert found.levels == ()
    assert found.memory_latency_ns is None


def test_misses_of_the_tlb_are_no_cache() -> None:
    at = sizes()
    caches = staircase(at, THREE, 110.0)
    found = knees(at, caches + 2.0 * (at > 256 * KIB) + 20.0 * (at > 64 * MIB))
    assert close(found, list(THREE)), found


@pytest.mark.parametrize(
    ("at", "latency"),
    [([], []), ([1024.0], [1.0]), ([1024.0 * n for n in range(1, 8)], [1.0] * 7)],
)
def test_too_few_sizes_say_so(at: list[float], latency: list[float]) -> None:
    found = knees(np.array(at), np.array(latency))
    assert found.levels == ()
    assert found.memory_latency_ns is None
    assert found.sentence == message("these sizes are too few to look for caches in")


def test_what_is_no_number_is_left_out() -> None:
    at = sizes()
    latency = staircase(at, THREE, 110.0)
    latency[::9] = [np.nan, 0.0, np.inf, -1.0][0]
    latency[5] = -1.0
    latency[50] = np.inf
    assert close(knees(at, latency), list(THREE))


@given(
    scale=st.floats(1e-3, 1e3),
    seed=st.integers(0, 99),
    share=st.sampled_from([0.0, 0.02, 0.1]),
)
def test_the_unit_of_latency_does_not_matter(scale: float, seed: int, share: float) -> None:
    at = sizes(4)
    latency = noisy(staircase(at, THREE, 110.0), share, seed)
    one, other = knees(at, latency), knees(at, scale * latency)
    assert len(one.levels) == len(other.levels)
    for a, b in zip(one.levels, other.levels, strict=True):
        assert b.size_bytes == pytest.approx(a.size_bytes, rel=1e-6)
        assert b.clear == a.clear


@given(seed=st.integers(0, 99))
def test_order_does_not_matter(seed: int) -> None:
    at = sizes(4)
    latency = noisy(staircase(at, THREE, 110.0), 0.05, seed)
    shuffled = np.random.default_rng(seed).permutation(len(at))
    assert knees(at, latency) == knees(at[shuffled], latency[shuffled])


@given(seed=st.integers(0, 999), share=st.floats(0, 0.3))
def test_levels_rise(seed: int, share: float) -> None:
    at = sizes(4)
    found = knees(at, noisy(staircase(at, THREE, 110.0, octaves=1.0), share, seed))
    ends = [level.size_bytes for level in found.levels]
    latencies = [level.latency_ns for level in found.levels if level.latency_ns is not None]
    assert ends == sorted(ends)
    assert latencies == sorted(latencies)


@pytest.mark.parametrize("curve", json.loads(RECORDED.read_text()), ids=lambda c: c["what"])
def test_recorded_machines(curve: dict) -> None:  # type: ignore[type-arg]
    found = knees(np.array(curve["sizes_bytes"]), np.array(curve["latency_ns"]))
    assert close(found, curve["caches_bytes"]), found
