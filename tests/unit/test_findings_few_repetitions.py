"""Groups of few repetitions against all of them."""

from __future__ import annotations

import numpy as np
import pytest
from networked import Program, budgets, make
from scipy import stats
from vega_lite import rows

from tare.experiment.findings.network_cells import networks_of
from tare.features.network.findings.charts import few_repetitions as chart
from tare.features.network.findings.few_repetitions import few, find, groups_of
from tare.render.words import text
from tare.results.message import Message


def test_groups_are_in_a_row_and_share_none() -> None:
    values = np.arange(11.0)
    assert groups_of(values, 3, 0.5).tolist() == [1, 4, 7]
    assert groups_of(values, 10, 0.9).tolist() == [pytest.approx(8.1)]


def test_independent_repetitions_are_outside_as_often_as_scipy_says() -> None:
    """Of normal values the share is known: that of medians beyond the interval's ends."""
    outside = groups = 0
    for seed in range(30):
        results = make(budgets(400), Program(sends={}, noise=0.02), trials=60, seed=seed,
                       logged=False)  # fmt: skip
        networks = networks_of(results)
        assert not isinstance(networks, Message)
        some = [f for f in few(networks) if (f.size, f.quantile) == (3, 0.5)]
        outside += sum(f.outside for f in some)
        groups += sum(f.groups for f in some)
    # The interval of the median of 60 is about ± 1.96 · 1.2533 / √60 standard deviations wide;
    # the median of 3 normal values has a standard deviation of 0.669.
    half = 1.96 * 1.2533 / np.sqrt(60)
    assert outside / groups == pytest.approx(2 * stats.norm.sf(half / 0.669), abs=0.08)


def test_what_few_repetitions_would_have_said_is_told_with_its_distance() -> None:
    found = find(make(budgets(400), Program(noise=0.1), trials=50, logged=False))
    assert found is not None
    said = [text(one) for one in found.answer]
    assert len(said) == 4
    assert said[0].startswith("the median of 3 repetitions is outside the 95 % interval of all in ")
    assert " of 32 groups; at most " in said[0]
    assert " of 10 groups; at most " in said[1]
    assert len(found.tables[0].rows) == 8


def test_short_runs_are_not_asked() -> None:
    assert find(make(budgets(400), trials=30, logged=False)) is None


def test_the_chart_has_a_mark_a_group_which_stands_out_where_it_is_outside() -> None:
    results = make(budgets(400), Program(noise=0.1), trials=50, logged=False)
    networks = networks_of(results)
    assert not isinstance(networks, Message)
    drawn = chart.draw(results, [])
    marks = [row for row in rows(drawn) if "value" in row]
    found = few(networks)
    assert len(marks) == sum(f.groups for f in found)
    assert [m["odd"] for m in marks].count("outside") == sum(f.outside for f in found)
    said = [text(one) for one in chart.alternative(results, [])]
    shares = [
        f.outside / f.groups
        for f in found
        if (f.quantile, f.rung.level.name) == (0.5, said[1].split(",")[0])
    ]
    assert len(shares) == 2
    assert f"{shares[0]:.0%}".replace("%", " %") in said[1].replace("\u00a0", " ")


def test_made_up_distributions_are_named_in_the_answer() -> None:
    quantiles = "distribution 0%=1Mbit 100%=2Mbit every="
    levels = [f"{quantiles}50s source={word}" for word in ("published", "made-up")]
    found = find(make([*levels, f"{quantiles}5s"], trials=40, logged=False))
    assert found is not None
    said = text(found.answer[-1])
    assert said == f"{levels[1]}: a distribution that is made up, from no document or measurement"
