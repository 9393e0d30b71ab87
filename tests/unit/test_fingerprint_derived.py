"""Figures found in curves: caches in staircases whose truth is made up."""

from __future__ import annotations

import math
import random

import pytest

from tare.features.machine.fingerprint import derived
from tare.features.machine.fingerprint.figures import middle

KIB, MIB = 1 << 10, 1 << 20
SIZES = [int(1024 * 2 ** (k / 8)) for k in range(8 * 18)]
#: Cache, and what a load takes beyond it.
CACHES = {48 * KIB: 4.4, 1 * MIB: 14.0, 16 * MIB: 120.0}


def latency(size: int, *, pages: int = 4096) -> float:
    value = 1.2
    for cache, beyond in CACHES.items():
        missing = 1 / (1 + (cache / size) ** 8)
        value += (beyond - value) * missing
    return value * (1.3 if pages > 4096 else 1)


def rounds(count: int, *, every: int = 1, pages: tuple[int, ...] = (4096,)) -> list[derived.Points]:
    """Make rounds; beyond 4 MiB each has some of the sizes only."""
    noise = random.Random(1)
    return [
        {
            (size, page): latency(size, pages=page) * math.exp(noise.gauss(0, 0.01))
            for number, size in enumerate(SIZES)
            for page in pages
            if size < 4 * MIB or (number + k) % every == 0
        }
        for k in range(count)
    ]


@pytest.mark.parametrize("every", [1, 3])
def test_caches_and_latencies_are_found_in_every_round(every: int) -> None:
    found = derived.find("memory.latency", {"memory.latency": rounds(8, every=every)})
    for number, size in enumerate(CACHES, 1):
        value, ci = middle(found.values[f"memory.cache.l{number}"])
        assert size / 1.25 < value < 1.25 * size
        assert ci is not None
    for level, truth in (("l1", 1.2), ("l2", 4.4), ("l3", 14.0), ("dram", 120.0)):
        values = found.values[f"memory.latency.{level}"]
        assert len(values) == 8
        assert middle(values)[0] == pytest.approx(truth, rel=0.08)
    assert list(found.values) == [n for n in derived.names("memory.latency") if n in found.values]


def test_the_pages_of_most_programs_count() -> None:
    both = rounds(6, pages=(4096, 2 * MIB))
    small = [{at: value for at, value in points.items() if at[1] == 4096} for points in both]
    found = derived.find("memory.latency", {"memory.latency": both})
    assert found == derived.find("memory.latency", {"memory.latency": small})


@pytest.mark.parametrize(
    "some",
    [
        [],
        [{}],
        [{(1024, 4096): 1.0}],
        [{(size, 4096): 1.2 for size in SIZES}] * 7,
        [{(size, 4096): 0.0 for size in SIZES}] * 7,
    ],
)
def test_where_there_is_no_staircase_nothing_is_found(some: list[derived.Points]) -> None:
    assert derived.find("memory.latency", {"memory.latency": some}) == derived.Found()


def test_one_round_has_values_without_intervals() -> None:
    found = derived.find("memory.latency", {"memory.latency": rounds(1)})
    assert middle(found.values["memory.latency.l1"])[1] is None


def test_units_are_known_of_all_that_can_be_found() -> None:
    assert derived.unit("memory.cache.l2") == "bytes"
    assert {derived.unit(name) for name in derived.names("memory.latency")} == {"ns", "bytes"}
    assert derived.names("clock") == ()


def test_the_two_sizes_of_a_brief_round_are_two_caches() -> None:
    some = [{(16 * KIB, 4096): 1.2 + k, (512 * KIB, 4096): 4.4} for k in range(6)]
    found = derived.find("memory.latency", {"memory.latency": some})
    assert found.values == {
        "memory.latency.l1": [1.2 + k for k in range(6)],
        "memory.latency.l2": [4.4] * 6,
    }


def test_translation_buffers_are_found_by_what_a_page_costs() -> None:
    noise = random.Random(2)
    counts = [int(16 * 2 ** (k / 4)) for k in range(4 * 11)]

    def cost(pages: int) -> float:
        first, second = (1 / (1 + (held / pages) ** 12) for held in (96, 2048))
        return (1.8 * first + 18 * second) * math.exp(noise.gauss(0, 0.02))

    rounds = {
        "memory.tlb.cost": [{(pages, 4096): cost(pages) for pages in counts} for _ in range(7)],
        "memory.tlb.latency": [{(16, 4096): 1.1}] * 7,
    }
    found = derived.find("memory.tlb", rounds)
    for name, held in (("memory.tlb.l1", 96), ("memory.tlb.l2", 2048)):
        assert len(found.values[name]) == 7
        assert held / 1.25 < middle(found.values[name])[0] < 1.25 * held
    assert derived.find("memory.tlb", {"memory.tlb.cost": rounds["memory.tlb.cost"]}).values == {}
