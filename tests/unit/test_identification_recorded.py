"""Searches that were recorded on real links, of which it is known how they were shaped."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tare.features.network.identify.identifying import identify
from tare.networks.shaping.trace import Trace

RECORDED = sorted((Path(__file__).parents[1] / "data" / "network").glob("*.csv.gz"))


def read(file: Path) -> Trace:
    with gzip.open(file, "rt") as rows:
        start, end, bits, on, starved = np.loadtxt(rows, delimiter=",", skiprows=1, unpack=True)
    return Trace(start / 1e6, end / 1e6, bits, on / 1e6, starved=starved.astype(bool))


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name.split(".")[0])
def test_a_recorded_bucket_is_found_with_its_figures(file: Path) -> None:
    _, high, low, burst = file.name.split(".")[0].split("-")
    budget = 8e6 * float(burst.removesuffix("MB"))
    found = identify(read(file), {})
    assert found.kind == "bucket", found.reasons
    for figure, truth in (
        (found.high_gbps, float(high) / 1e3), (found.low_gbps, float(low) / 1e3),
        (found.refill_gbps, float(low) / 1e3),
    ):  # fmt: skip
        assert figure is not None
        assert figure.ci[0] <= truth <= figure.ci[1]
    assert found.budget_gbit is not None
    assert found.budget_gbit.value == pytest.approx(budget / 1e9, rel=0.03)


def test_there_are_recorded_searches() -> None:
    assert len(RECORDED) >= 2
