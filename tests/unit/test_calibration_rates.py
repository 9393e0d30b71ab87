"""The unit of rates that stand together."""

from __future__ import annotations

import pytest

from tare.experiment.sweep.rates import unit_for


@pytest.mark.parametrize(
    ("work", "rates", "expected"),
    [
        ("flop", [2.8e9, 2.2e12], (1e9, "GFLOPS")),
        ("flop", [4e6], (1e6, "MFLOPS")),
        ("byte", [1.2e10], (1e9, "GB/s")),
        ("execution", [0.4, 7.0], (1.0, "executions/s")),
        ("execution", [52_000.0], (1e3, "thousand executions/s")),
        ("flop", [], (1.0, "FLOPS")),
    ],
)
def test_the_largest_rate_chooses(work, rates, expected):
    assert unit_for(work, rates) == expected
