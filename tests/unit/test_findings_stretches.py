"""Histograms of stretches on and off the CPU, drawn from planted counts."""

from __future__ import annotations

import numpy as np
import pytest
import vega_lite
from said import args, template
from synthetic import make

from tare import registry
from tare.experiment.findings.charts import stretches
from tare.experiment.results import Results
from tare.render.words import text
from tare.wiring import SUPPLIES

#: Stretches of each platform in one execution: state and K to their number.
COUNTS = {
    "bare": {("on_cpu", 22): 40.0, ("off_cpu_blocked", 25): 3.0},
    "docker": {("on_cpu", 20): 160.0, ("on_cpu", 10): 2.0, ("off_cpu_preempted", 14): 7.0},
}


@pytest.fixture(scope="module")
def results() -> Results:
    return make(
        workers=(1, 2),
        trials=8,
        more=lambda levels: {
            ("on_cpu_ns", "perf_cpu"): 1e6,
            **{
                (f"{state}_stretches_{k}", "perf_cpu"): count
                for (state, k), count in COUNTS[levels["platform"]].items()
            },
        },
    )


def test_counts_are_those_of_an_execution(results: Results) -> None:
    for platform, counts in COUNTS.items():
        trials = results.good.where(platform=platform)["trial"]
        for state in stretches.STATES:
            expected = {k: count for (own, k), count in counts.items() if own == state}
            assert stretches.histogram(results, state, trials) == expected


def test_buckets_are_no_metrics_that_a_user_can_name(results: Results) -> None:
    assert "on_cpu_ns" in results.sample_table.metrics
    assert not [m for m in results.sample_table.metrics if "stretches" in m]


def test_what_was_not_watched_has_no_histogram() -> None:
    none = make(trials=3)
    trials = none.good["trial"]
    assert stretches.histogram(none, "on_cpu", trials) == {}
    assert stretches.histogram(none, "on_cpu", np.array([], dtype=int)) == {}
    assert stretches.draw(none, []) is None


def test_a_panel_for_each_state_and_a_line_for_each_platform(results: Results) -> None:
    chart = stretches.draw(results, [])
    assert chart is not None
    rows = vega_lite.rows(chart)
    drawn = {(row["series"], row["panel"], row["size"]): row["at"] for row in rows}
    assert drawn[("docker unpinned", "on a CPU", "1024")] == 160
    assert drawn[("docker unpinned", "on a CPU", "1")] == 2
    assert drawn[("bare unpinned", "waiting for something", "32768")] == 3
    assert len(drawn) == 5
    said = stretches.alternative(results, [])
    most = {text(one.args["name"]): one.args for one in said if template(one) == "a CPU take"}
    assert most["bare unpinned"]["low"].value == 2.0**22
    assert most["docker unpinned"]["high"].value == 2.0**21
    # The other counts of workers are not mixed in, and there are no stacks.
    assert args(said, "in powers of")["levels"] == [f"workers {results.levels('workers')[0]}"]


def test_a_level_that_is_the_default_is_named_too() -> None:
    some = (make(loads=("none", "memcpy"), trials=3, seed=seed) for seed in range(50))
    made = next(one for one in some if one.levels("load")[0] == "none")
    said = stretches.alternative(made, [])
    assert "load none" in args(said, "in powers of")["levels"]


def test_it_belongs_to_why_a_platform_takes_longer(results: Results) -> None:
    found = registry.units_of("finding")["platform_why"].find(results)
    assert found is not None
    assert found.charts == ("stretches",)
    assert "stretches" in SUPPLIES.charts()
