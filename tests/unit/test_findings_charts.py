"""Charts of the findings on stability: what they draw is what was planted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import pytest
import vega_lite
from said import args, templates
from synthetic import Behaviour, make

from tare import registry
from tare.experiment.results import Results
from tare.render.drawing import SERIES, Chart
from tare.results.finding import Finding
from tare.results.message import Amount, Message
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
    largest = args(described("warmup_sd", slow_at_first), "the largest is")
    assert (largest["first"], largest["last"]) == (1, 10)
    assert float(largest["ratio"]) == pytest.approx(first, rel=0.01)


def test_equal_values_have_no_ratio() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        return planted(drift=0.5 if levels["platform"] == "bare" else 0)

    results = make(rule, workers=(1,), trials=20)
    chart = drawn("warmup_sd", results)
    assert chart is not None
    assert [panel["title"] for panel in chart["concat"]] == ["exp_float on bare"]
    equal = args(described("warmup_sd", results), "is no ratio")
    assert equal == {"name": "exp_float on docker"}
    none = make(EXACT, workers=(1,), trials=20)
    assert drawn("warmup_sd", none) is None
    assert templates(described("warmup_sd", none)) == ["no values can"]


def pinned(**more: Any) -> Results:
    return make(
        planted(worker_difference=0.1),
        **{"pinnings": ("none", "spread"), "workers": (3,), "trials": 4, "iterations": 2, **more},
    )


def test_each_worker_has_its_colour_where_pinning_is_varied() -> None:
    results = pinned(platforms=("bare",))
    chart = drawn("pinning_scatter", results)
    assert chart is not None
    points = [row for row in vega_lite.rows(chart) if "y" in row]
    workers = ["worker 0", "worker 1", "worker 2"]
    # Four trials of two iterations.
    panels = [(level, worker) for level in ("none", "spread") for worker in workers]
    assert Counter((row["p"], row["s"]) for row in points) == dict.fromkeys(panels, 8)
    levels = {worker: {row["y"] for row in points if row["s"] == worker} for worker in workers}
    assert [len(level) for level in levels.values()] == [1, 1, 1]
    own = [*levels["worker 0"], *levels["worker 1"], *levels["worker 2"]]
    assert own[1] - own[0] == pytest.approx(10, rel=1e-3), "ms: a twentieth of 200"
    assert own[2] - own[0] == pytest.approx(20, rel=1e-3)
    (by_worker,) = marks(chart)[0]
    assert by_worker["color"]["scale"] == {"domain": workers, "range": [*SERIES[:3]]}
    said = described("pinning_scatter", results)
    assert args(said, "is filled and") == {"most": None}
    assert "pinning_scatter" in ask("pinning", results).charts


def marks(chart: Chart) -> list[list[Chart]]:
    """Return the channels of the marks for iterations of each row."""
    rows = [row["spec"]["layer"][0]["layer"] for row in chart["vconcat"]]
    return [[one["encoding"] for one in layers] for layers in rows]


def test_more_workers_than_colours_are_rings_except_for_the_first() -> None:
    results = pinned(platforms=("bare",), workers=(8, 9))
    chart = drawn("pinning_scatter", results)
    assert chart is not None
    eight, nine = marks(chart)
    assert [*map(bool, eight)] == [True]
    assert eight[0]["color"]["scale"]["range"] == [*SERIES]
    assert nine == [{}, {}]
    filled = chart["vconcat"][1]["spec"]["layer"][0]["layer"][1]
    assert filled["transform"] == [{"filter": "datum.w <= 0"}]
    assert filled["mark"]["color"] == SERIES[0], "worker 0 has one colour in all rows"
    said = described("pinning_scatter", results)
    assert args(said, "is filled and") == {"most": 8}
    only_nine = pinned(platforms=("bare",), workers=(9,))
    assert "0 is filled," in templates(described("pinning_scatter", only_nine))


def test_what_is_not_pinned_is_not_compared_with_itself() -> None:
    def unpinned(levels: dict[str, str]) -> bool:
        return levels["platform"] == "docker" and levels["pinning"] == "spread"

    results = pinned(leave_out=unpinned)
    chart = drawn("pinning_scatter", results)
    assert chart is not None
    assert [row["title"] for row in chart["vconcat"]] == ["exp_float on bare"]
    assert drawn("pinning_scatter", pinned(pinnings=("none",))) is None


def test_a_row_without_a_platform_has_an_empty_panel_for_it() -> None:
    def missing(levels: dict[str, str]) -> bool:
        return levels["platform"] == "docker" and levels["workers"] == "1"

    chart = drawn("scatter", make(workers=(1, 2), trials=4, leave_out=missing))
    assert chart is not None
    first, second = (row["data"]["values"] for row in chart["vconcat"])
    assert [r for r in first if "y" not in r] == [{"p": "docker"}]
    assert all("y" in r for r in second)


def test_inputs_are_in_percent_of_the_median_of_their_cell() -> None:
    results = make(workers=(1,), platforms=("bare",), workloads=("a", "b"), inputs=5, trials=20)
    found = ask("input_dependence", results)
    cells, inputs = found.tables
    # The same shape in two units: nanoseconds, and a thousand times as long.
    values = {"a": 1.0, "b": 1000.0}
    means, sds = (90, 100, 110, 105, 95), (1, 2, 30, 2, 1)
    rows = tuple(
        row | {"mean": values[row["workload"]] * means[row["input"] - 1],
               "sd": values[row["workload"]] * sds[row["input"] - 1]}
        for row in inputs.rows
    )  # fmt: skip
    of_cells = tuple(
        row | {"range": 20 * values[row["workload"]], "chance": 5 * values[row["workload"]]}
        for row in cells.rows
    )
    tables = (
        msgspec.structs.replace(cells, rows=of_cells),
        msgspec.structs.replace(inputs, rows=rows),
    )
    found = msgspec.structs.replace(found, tables=tables)
    shown = vega_lite.rows(drawn("input_ranges", results, found))
    for name in ("a", "b"):
        dots = {
            (row["panel"], row["input"]): row["at"]
            for row in shown
            if row["name"] == name and "at" in row
        }
        assert dots == {
            **{("means", i + 1): value for i, value in enumerate(means)},
            **{("SDs", i + 1): value for i, value in enumerate(sds)},
        }
        ranges = [row for row in shown if row["name"] == name and "low" in row]
        assert ranges == [
            {"name": name, "panel": "means", "low": 90, "high": 110, "from": 97.5, "to": 102.5},
            {"name": name, "panel": "SDs", "low": 1, "high": 30},
        ]
    said = described("input_ranges", results, found)
    width = args(said, "means range most")["width"]
    assert width == Amount(pytest.approx(0.2), "share")
    assert args(said, "SDs range most")["high"] == Amount(pytest.approx(0.3), "share")
    assert found.charts == ("input_ranges", "input_dependence")


def test_many_inputs_are_thinned_and_keep_their_ends() -> None:
    results = make(workers=(1,), platforms=("bare",), inputs=2, trials=20)
    found = ask("input_dependence", results)
    cells, inputs = found.tables
    rows = tuple(
        inputs.rows[0] | {"input": i + 1, "mean": 1000.0 + (i == 700), "sd": 1.0}
        for i in range(2000)
    )
    tables = (cells, msgspec.structs.replace(inputs, rows=rows))
    found = msgspec.structs.replace(found, tables=tables)
    shown = vega_lite.rows(drawn("input_ranges", results, found))
    means = [row for row in shown if row["panel"] == "means" and "at" in row]
    assert len(means) <= 600
    assert 701 in {row["input"] for row in means}


def test_nothing_is_drawn_without_inputs() -> None:
    results = make(trials=4)
    assert drawn("input_ranges", results) is None
    assert templates(described("input_ranges", results)) == ["no values can"]
