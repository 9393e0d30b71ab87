"""Charts of the findings on stability: what they draw is what was planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import vega_lite
from said import args, ids
from synthetic import Behaviour, make

from tare import registry
from tare.experiment.results import Results
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Message
from tare.wiring import SUPPLIES

EXACT = Behaviour(spread=0, within=0, harness_cpu_sd_ns=0, harness_wall_sd_ns=0)


def planted(**changes: Any) -> Behaviour:
    """Return a behaviour without any noise, so that each value is known."""
    return replace(EXACT, **changes)


def drawn(name: str, results: Results, *findings: Finding) -> Chart | None:
    chart = SUPPLIES.charts()[name].draw(results, findings)
    if chart is not None:
        vega_lite.validate(chart)
    return chart


def described(name: str, results: Results, *findings: Finding) -> tuple[Message, ...]:
    return SUPPLIES.charts()[name].alternative(results, findings)


def ask(name: str, results: Results) -> Finding:
    found = registry.units_of("finding")[name].find(results)
    assert found is not None
    return found


def ratios(results: Results) -> dict[int, float]:
    """Return the ratio at the last value of each window, from 1 on."""
    chart = drawn("warmup_sd", results)
    return {row["i"]: row["ratio"] for row in vega_lite.rows(chart) if "i" in row}


def test_the_windows_of_a_line_have_all_the_same_sd() -> None:
    rising = make(planted(drift=0.5), platforms=("bare",), workers=(1,), trials=40)
    # The SD of n steps of 1 is the root of n (n + 1) / 12.
    same = pytest.approx((10 * 11 / (40 * 41)) ** 0.5, rel=1e-4)
    assert ratios(rising) == dict.fromkeys(range(10, 41), same)
    assert "warmup_sd" in ask("warmup", rising).charts
    assert {"ratio": 1} in vega_lite.rows(drawn("warmup_sd", rising))


def test_a_warm_up_is_above_one_at_the_start_and_zero_once_it_is_over() -> None:
    slow_at_first = make(
        planted(warmup=0.1), platforms=("bare",), workers=(1,), trials=2, iterations=40
    )
    found = ratios(slow_at_first)
    # Three of ten are higher, and three of forty.
    first = ((3 * 7 / 10 / 9) / (3 * 37 / 40 / 39)) ** 0.5
    assert found[10] == pytest.approx(first, rel=1e-4)
    assert [found[i] for i in range(13, 41)] == pytest.approx([0] * 28, abs=1e-6)
    largest = args(described("warmup_sd", slow_at_first), "chart.warmup_sd.largest")
    assert (largest["first"], largest["last"]) == (1, 10)
    assert float(largest["ratio"]) == pytest.approx(first, rel=0.01)


def test_equal_values_have_no_ratio() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        return planted(drift=0.5 if levels["platform"] == "bare" else 0)

    results = make(rule, workers=(1,), trials=20)
    chart = drawn("warmup_sd", results)
    assert chart is not None
    assert [panel["title"] for panel in chart["concat"]] == ["exp_float on bare"]
    equal = args(described("warmup_sd", results), "chart.warmup_sd.equal")
    assert equal == {"name": "exp_float on docker"}
    none = make(EXACT, workers=(1,), trials=20)
    assert drawn("warmup_sd", none) is None
    assert ids(described("warmup_sd", none)) == ["chart.nothing"]
