"""How well buckets are identified, and how often something else is called one: what is claimed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    file = Path(__file__).parents[2] / "benchmarks" / "identification.py"
    spec = importlib.util.spec_from_file_location("identification_benchmark", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with pytest.MonkeyPatch.context() as patch:
        # It imports another file of its folder.
        patch.syspath_prepend(str(file.parent))
        spec.loader.exec_module(module)
    return module


def test_errors_are_within_the_bars_and_intervals_hold_the_truth(benchmark: ModuleType) -> None:
    rows, good = benchmark.accuracy(100)
    assert good
    for row in rows:
        # A true 95 % is below 88 in less than 1 % of cases.
        assert all(share >= 0.86 for share in row["covered"].values()), row


def test_what_is_no_bucket_is_called_one_in_two_per_cent_at_most(benchmark: ModuleType) -> None:
    _, good = benchmark.false_alarms(100)
    assert good
