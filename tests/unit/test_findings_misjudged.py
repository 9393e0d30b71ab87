"""Limits: what is true, how often they misjudge, which rarely do."""

from __future__ import annotations

import dataclasses
from typing import Any

import columns
import numpy as np
import pytest
import situations
import synthetic
from said import ByPhrase
from synthetic import MS, Behaviour

from tare.experiment.findings.limit_cells import LimitCells, limit_cells
from tare.experiment.findings.misjudged import UNIT, needed
from tare.experiment.results import Results
from tare.experiment.specification import Limit
from tare.results.finding import Finding
from tare.results.message import Levels, Message, each


def of(results: Results) -> LimitCells:
    (cells,) = limit_cells(results)
    assert isinstance(cells, LimitCells)
    return cells


def found(results: Results) -> Finding:
    finding = UNIT.find(results)
    assert finding is not None
    return finding


def said(finding: Finding) -> dict[str, Message]:
    parts = [*each(finding.answer), *finding.caveats]
    return ByPhrase(parts)


def made(behave: Any = None, trials: int = 320, limit_ms: float = 230, **more: Any) -> Results:
    limit = (Limit(value=limit_ms * MS),)
    usual: dict[str, Any] = {"trials": trials, "limit": limit, "workers": (1,)}
    return synthetic.make(behave or Behaviour(), **{**usual, **more})


def test_it_is_asked_where_there_is_a_limit() -> None:
    assert UNIT.find(synthetic.make(trials=20)) is None


def test_the_limit_that_rarely_misjudges_is_that_of_the_worst_program_in_each_setting() -> None:
    results = situations.results("limits")
    cells = of(results)
    bounds = {
        (cell.levels["platform"], cell.levels["workers"]): needed(cell, 0.01).over.bound
        for cell in cells.all
    }
    # Docker takes 1.05 times as long with an SD of 1 %; of two workers 3 % take a quarter more.
    assert 1.02 < (bounds["bare", "1"] or 0) < 1.05
    assert 1.07 < (bounds["docker", "1"] or 0) < 1.11
    assert 1.24 < (bounds["bare", "2"] or 0) < 1.30
    finding = found(results)
    assert finding.verdict == "none"
    settings: Any = said(finding)["that need the"].args["settings"]
    assert next(part.args["where"].levels for part in settings) == {
        "platform": "docker", "workers": "2",
    }  # fmt: skip
    factors = [float(part.args["factor"].split()[0]) for part in settings]
    assert factors == sorted(factors, reverse=True)
    assert factors[0] >= max(bound or 0 for bound in bounds.values())


def test_true_is_the_median_of_the_cell_that_is_disturbed_least() -> None:
    results = situations.results("limits")
    quiet = {str(cell.quietest) for cell in of(results).all}
    assert quiet == {str(Levels({"workload": "exp_float", "platform": "bare", "workers": "1"}))}
    assert of(results).all[0].true_value == pytest.approx(200 * MS, rel=0.01)


def test_true_is_what_the_program_tells_where_it_does() -> None:
    docker = Behaviour(mean_ns=220.0 * MS)
    results = made(
        lambda levels: docker if levels["platform"] == "docker" else Behaviour(),
        more=lambda levels: {("own_ns", "output"): 100.0 * MS},
        true_time="own_ns",
    )
    cells = of(results)
    assert {cell.quietest for cell in cells.all} == {None}
    assert np.median(cells.all[0].ratios) == pytest.approx(2.0, rel=0.01)
    assert np.median(cells.all[1].ratios) == pytest.approx(2.2, rel=0.01)
    assert said(found(results))["time is the"].args == {"metric": "own_ns"}


def test_runs_over_the_limit_are_counted_on_both_sides_of_it() -> None:
    results = made(
        lambda levels: Behaviour(mean_ns=MS * (225 if levels["workload"] == "qsort" else 235)),
        workloads=("exp_float", "qsort"),
        platforms=("bare",),
        limit_ms=230,
    )
    parts = said(found(results))
    # An SD of 1 %: 2.2 and 2.1 SDs lie between.
    over: Any = parts["exceed it, which"].args["share"]
    assert over.low < 0.013 < over.high
    assert parts["exceed it, which"].args["where"].levels["workload"] == "qsort"
    under: Any = parts["are within it,"].args["share"]
    assert under.low < 0.017 < under.high
    table = next(t for t in found(results).tables if t.id == "at_limit")
    assert [row["executions"] for row in table.rows] == [320, 320]


def test_too_few_trials_say_how_many_would_do() -> None:
    finding = found(made(trials=70))
    assert finding.verdict == "inconclusive"
    few = said(finding)["are misjudged, which"].args
    assert (few["n"], few["needs"]) == (70, 299)
    assert few["factor"] is not None
    assert isinstance(finding.settle, Message)
    assert finding.settle.args == {"trials": 299}
    assert said(found(made(trials=30)))["are misjudged, which"].args["factor"] is None


def test_a_run_that_was_stopped_is_over_the_limit() -> None:
    results = made(Behaviour(failing=0.2), metric="kernel_wall_ns", platforms=("bare",))
    trials = results.trial_table
    stopped = trials["status"] == "failed"
    plain = of(results).all[0]
    assert plain.over(230 * MS).estimate[0] < 0.01
    faults = columns.of_table(
        "faults",
        [
            (trial, 0, 0, "timeout", "", None, None, None, None)
            for trial in trials["trial"][stopped].tolist()
        ],
    )
    judged = of(dataclasses.replace(results, faults=faults)).all[0]
    assert judged.n == len(trials)
    assert "no limit is" in said(found(dataclasses.replace(results, faults=faults)))
    assert judged.over(230 * MS).estimate[0] == pytest.approx(stopped.mean(), abs=0.005)


def test_what_the_answer_supposes_is_said_where_it_does_not_hold() -> None:
    assert not found(made()).caveats
    assert "need about as" in said(found(made(limit_ms=2000)))
    assert "may be too" in said(found(made(Behaviour(drift=0.2))))


def test_a_metric_that_trials_lack_is_told() -> None:
    results = made(true_time="own_ns")
    finding = found(results)
    assert finding.verdict == "nothing to compare"
    assert [*said(finding)] == ["no trial has"]


def test_a_limit_can_be_asked_about_afterwards() -> None:
    results = synthetic.make(trials=20)
    assert UNIT.find(results) is None
    finding = found(results.judged_by((Limit(value=1e6),)))
    assert "are within it," in said(finding)


def test_a_time_is_no_limit_of_memory() -> None:
    finding = found(made(metric="memory_bytes"))
    assert [*said(finding)] == ["limit is a"]
