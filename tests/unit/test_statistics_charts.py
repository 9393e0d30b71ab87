"""Charts of plain arrays: what is drawn is what the arrays hold."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from vega_lite import rows

from tare.errors import InputError
from tare.render import charts
from tare.render.charts.axes import across
from tare.render.charts.course import thin
from tare.render.charts.distribution import bins, quantile_name
from tare.render.charts.forest import has_factors, ratio_axis
from tare.render.charts.timelines import Level, Panel, Timeline, timelines
from tare.statistics.confirm import repetitions

RNG = np.random.default_rng(1)
VALUES = RNG.lognormal(0, 0.1, 120)
AT = np.arange(120.0)
OVER_TIME = Panel(
    "sent", "bits/s", 120, [Timeline("a", AT, AT + 1, 1e9 * VALUES)], gaps=[(60, 60, "reset")],
    levels=[Level("high", 1e9, 9e8, 1.1e9)], moments=[(30, "falls")],
)  # fmt: skip
ALL: dict[str, Any] = {
    "distribution": charts.distribution(VALUES, unit="s"),
    "course": charts.course({"a": VALUES, "b": VALUES[:30]}),
    "convergence": charts.convergence({"a": VALUES, "b": repetitions(VALUES, 0.05)}),
    "normal": charts.normal_plot(VALUES),
    "forest": charts.forest(["a", "b"], [1.1, 1.0], [1.05, None], [1.2, None]),
    "shares": charts.share_bars(["platform", "rest"], [0.6, 0.4], [0.5, None]),
    "timelines": timelines([OVER_TIME, OVER_TIME])[0],
    "intervals": charts.interval_rows(["it's \\ <b>"], [1.0], [None], [None], states=["TRUST"]),
}


@pytest.mark.parametrize("name", ALL)
def test_every_chart_draws_by_itself_and_fetches_nothing(name: str) -> None:
    import vl_convert

    plain = charts.shown(ALL[name])
    text = json.dumps(plain, allow_nan=False)
    assert "var(--" not in text
    svg = vl_convert.vegalite_to_svg(plain)
    assert svg.count("<path") > 3
    assert plain._repr_mimebundle_()["application/vnd.vegalite.v6+json"] == plain
    assert rows(plain)


def test_the_histogram_holds_every_value_once() -> None:
    counts = [r["count"] for r in rows(ALL["distribution"]) if "count" in r]
    assert sum(counts) == len(VALUES)


@pytest.mark.parametrize("values", [np.ones(9), np.zeros(9), np.array([1.0, 1.0, 1.0, 5.0])])
def test_values_without_spread_have_bins(values: np.ndarray) -> None:
    assert np.histogram(values, bins(values))[0].sum() == len(values)


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 1.5, 9.0]])
def test_few_values_are_dots(values: list[float]) -> None:
    shown = rows(charts.distribution(np.array(values), quantiles=()))
    assert [r["at"] for r in shown] == values
    assert not any("count" in r for r in shown)


def test_long_titles_keep_what_distinguishes_them_and_their_beginning() -> None:
    common = "of a very long name that all of them share, with 2 workers: means"
    names = [f"workload {letter} {common}" for letter in "ab"]
    titles = [p["title"] for p in charts.distribution(dict.fromkeys(names, VALUES))["concat"]]
    assert len({*titles}) == 2
    assert all(letter in title for letter, title in zip("ab", titles, strict=True))
    (alone,) = charts.distribution({"x" * 50: VALUES})["concat"]
    assert alone["title"] == "x" * 45 + "…"


def test_the_range_is_drawn_over_a_wider_interval() -> None:
    chart = charts.interval_rows(["a"], [1.0], [0.5], [1.5], [(0.9, 1.1)])
    rules = [one for one in chart["layer"] if one["mark"]["type"] == "rule"]
    assert [one["encoding"]["x"]["field"] for one in rules] == ["low", "from"]
    assert rules[0]["mark"]["opacity"] < 0.5


def test_axes_of_one_chart_have_one_kind_of_label() -> None:
    assert has_factors([0.5, 2.0], 0.02)
    assert not has_factors([0.9, 1.1, None], 0.02)
    narrow = ratio_axis([0.9, 1.1], 0.02, factors=True)
    assert "× " in narrow["axis"]["labelExpr"]
    assert narrow["scale"] == ratio_axis([0.9, 1.1], 0.02)["scale"]


def test_a_quantile_without_interval_says_why() -> None:
    told = {r["name"]: r for r in rows(ALL["distribution"]) if "told" in r}
    assert told["median"]["low"] < told["median"]["at"] < told["median"]["high"]
    assert not told["p99"]["closed"]
    assert "needs" in told["p99"]["told"]


def test_an_axis_of_one_size_has_a_width() -> None:
    def domain(*sizes: float) -> list[float]:
        scale = across("size", "", sizes, "bytes")["scale"]
        assert (scale["type"], scale["base"]) == ("log", 2)
        return list(scale["domain"])

    assert domain(4096.0) == [4096, 8192]
    assert domain(4096.0, 5000.0, 65536.0) == [4096, 65536]


def test_thinning_a_course_loses_no_outage() -> None:
    values = np.ones(10_000)
    values[7_777] = 0
    kept = thin(values, 300)
    assert len(kept) <= 300
    assert 7_777 in kept


def test_a_step_is_drawn_as_two_levels() -> None:
    values = np.concatenate([np.ones(60), np.full(60, 2.0)]) + RNG.normal(0, 0.01, 120)
    shown = rows(charts.course(values))
    levels = [r["level"] for r in shown if "level" in r]
    assert levels == [pytest.approx(1, abs=0.01), pytest.approx(2, abs=0.01)]
    assert [r["at"] for r in shown if "at" in r] == [61]


def test_convergence_marks_the_runs_that_are_needed() -> None:
    found = repetitions(VALUES, 0.05)
    shown = rows(charts.convergence(found))
    assert [r["n"] for r in shown if "n" in r] == [found.n]


def test_too_few_values_have_no_curve() -> None:
    with pytest.raises(InputError, match="too few"):
        charts.convergence(VALUES[:3])
    spec = charts.convergence({"few": VALUES[:3], "many": VALUES})
    assert [panel["title"] for panel in spec["concat"]] == ["many"]


def test_ratios_are_judged_by_their_interval() -> None:
    shown = [r for r in rows(ALL["forest"]) if "state" in r]
    assert [(r["where"], r["state"]) for r in shown] == [("a", "higher"), ("b", "inconclusive")]


@pytest.mark.parametrize(("q", "name"), [(0.5, "median"), (0.99, "p99"), (0.999, "p99.9")])
def test_quantiles_have_the_names_that_people_use(q: float, name: str) -> None:
    assert quantile_name(q) == name
