"""Charts in words: the numbers that they name are those of the tables, and the extremes of them."""

from __future__ import annotations

import json
import re

import pytest
import synthetic
from said import args, templates

from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.cells import basis_of
from tare.experiment.findings.charts.forest import describe_ratios
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.findings.charts.rows import first_of
from tare.experiment.results import Results
from tare.render.charts.forest import Ratio
from tare.results.finding import Finding
from tare.results.message import Chosen, Message
from tare.results.verdict import Verdict
from tare.wiring import SUPPLIES


@pytest.fixture(scope="module")
def results() -> Results:
    return synthetic.make(
        trials=30, platforms=("bare", "docker", "unshare"), workloads=("qsort", "sort"), inputs=4
    )


@pytest.fixture(scope="module")
def findings(results: Results) -> tuple[Finding, ...]:
    return tuple(all_findings(results, SUPPLIES.findings()))


def described(name: str, results: Results, findings: tuple[Finding, ...]) -> tuple[Message, ...]:
    said = SUPPLIES.charts()[name].alternative(results, findings)
    assert isinstance(said, tuple)
    return said


@pytest.mark.parametrize("chart", ["overhead", "spread"])
def test_a_chart_of_ratios_counts_what_is_inconclusive(
    chart: str, results: Results, findings: tuple[Finding, ...]
) -> None:
    said = described(chart, results, findings)
    assert args(said, "{total | counted('comparison')}")["total"] == 8


def ratio(where: str, low: float | None) -> Ratio:
    return Ratio("docker", where, 1.1, low, low and 1.2, Verdict("higher", False), 9)


def test_what_is_inconclusive_and_not_drawn_is_counted() -> None:
    some = [ratio(str(i), None if i < 7 else 1.05) for i in range(64)]
    said = describe_ratios(some)
    assert args(said, "{total | counted('comparison')}") == {"some": 7, "total": 64}
    assert args(said, "the table has") == {"drawn": 60, "total": 64}
    assert "the table has" not in templates(describe_ratios(some[10:20]))


def test_medians_say_how_many_trials_they_are_of(
    results: Results, findings: tuple[Finding, ...]
) -> None:
    said = described("medians", results, findings)
    basis = basis_of(results)
    assert not isinstance(basis, Message)
    expected = {"metric": basis.metric, "least": 30, "most": 30}
    assert args(said, "are 95 %") == expected


def test_the_limits_of_parallelism_are_given(
    results: Results, findings: tuple[Finding, ...]
) -> None:
    said = described("parallelism", results, findings)
    assert args(said, "to the fewest") == {
        "shift": Chosen(results.experiment.parallel_shift),
        "growth": Chosen(results.experiment.parallel_growth, "growth"),
    }


@pytest.mark.parametrize("chart", ["parallelism", "difference"])
def test_the_panels_of_a_chart_have_ratios_in_one_unit(
    chart: str, results: Results, findings: tuple[Finding, ...]
) -> None:
    drawn = json.dumps(SUPPLIES.charts()[chart].draw(results, findings), ensure_ascii=False)
    labels = {*re.findall(r'"labelExpr": "[^"]*"', drawn)}
    assert len({"× " in label for label in labels}) <= 1


def test_what_has_no_room_is_named_or_counted() -> None:
    assert left_out([]) == ()
    names = [str(i) for i in range(15)]
    assert args(left_out(names), "{% if more %}{names | join(', ')}") == {
        "names": names[:12],
        "more": 3,
    }
    assert args(left_out(names[:2]), "{% if more %}{names | join(', ')}") == {
        "names": names[:2],
        "more": 0,
    }
    assert first_of(16, 16) == ()
    assert args(first_of(16, 17), "the table has") == {"drawn": 16, "total": 17}
