"""Numbers, levels and lists as a person writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.findings.phrasing import at_levels, listing
from tare.units import change, change_interval, counted, duration, percent, quantity, significant


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.031e8, "ns", "203 ms"),
        (1.5e9, "ns", "1.50 s"),
        (999.0, "ns", "999 ns"),
        (-2.5e3, "ns", "−2.50 µs"),
        (0.0, "ns", "0 ns"),
        (4 * 2.0**20, "bytes", "4.00 MiB"),
        (0.5, "1", "0.500"),
        (2.5, "hz", "2.50 Hz"),
        (None, "ns", "unknown"),
    ],
)
def test_quantities(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@given(st.floats(1e-6, 1e12))
def test_three_digits_are_right_to_half_a_per_cent(value: float) -> None:
    assert float(significant(value).replace(",", "")) == pytest.approx(value, rel=0.005)


def test_changes() -> None:
    assert change(1.031) == "+3.1 %"
    assert change(0.5) == "× 0.500"
    assert change_interval(1.03, 1.02, 1.04) == "+3.0 % [+2.0, +4.0]"
    assert change_interval(1.9, 1.2, 2.4) == "× 1.90 [1.20, 2.40]"
    assert change_interval(1.9, None, None) == "+90 % (no interval)"
    assert percent(0.0005) == "0.05 %"


def test_lists_and_counts() -> None:
    assert listing([]) == ""
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"
    assert counted(1, "trial") == "1 trial"
    assert counted(1200, "trial") == "1,200 trials"
    assert [duration(s) for s in (3.2, 600, 9000)] == ["4 s", "10 min", "2.5 h"]


def test_levels_are_named_where_they_vary() -> None:
    levels = {"workload": "qsort", "platform": "docker", "workers": "2", "load": "memcpy"}
    levels |= {"pinning": "none", "threads": "8"}
    varied = ["platform", "workers", "load", "pinning", "threads"]
    assert at_levels(levels, varied) == ("qsort on docker with 2 workers under memcpy at threads 8")
    assert at_levels(levels, []) == "qsort"
