"""Charts in words: the numbers that they name are those of the tables, and the extremes of them."""

from __future__ import annotations

from typing import Any

import pytest
import synthetic
from said import args, ids, messages

from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.cells import Cells, basis_of
from tare.experiment.findings.charts.forest import Ratio, describe_ratios
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.findings.charts.rows import first_of, tables_of
from tare.experiment.results import Results
from tare.results.finding import Finding
from tare.results.message import Amount, Chosen, Message, message
from tare.results.message import Ratio as Estimated
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


@pytest.mark.parametrize(("chart", "finding"), [("overhead", "overhead"), ("spread", "stability")])
def test_each_level_has_its_extremes(
    chart: str, finding: str, results: Results, findings: tuple[Finding, ...]
) -> None:
    said = described(chart, results, findings)
    rows = next(t.rows for t in tables_of(findings, finding) if "ratio" in t.rows[0])
    levels: Any = args(said, "chart.ratios.levels")["levels"]
    assert [level.args["level"] for level in levels] == ["docker", "unshare"]
    for level in levels:
        here = [row for row in rows if row["platform"] == level.args["level"]]
        for end, row in (
            ("least", min(here, key=lambda r: r["ratio"])),
            ("most", max(here, key=lambda r: r["ratio"])),
        ):
            one = level.args[end].args
            assert one["ratio"] == Estimated(row["ratio"], row["low"], row["high"])
            assert one["n"] == row["n"]
            assert row["workload"] in one["where"]


def ratio(where: str, low: float | None) -> Ratio:
    return Ratio("docker", where, 1.1, low, low and 1.2, Verdict("higher", False), 9)


def test_what_is_inconclusive_and_not_drawn_is_counted() -> None:
    some = [ratio(str(i), None if i < 7 else 1.05) for i in range(64)]
    said = describe_ratios(some, message("chart.overhead.of"))
    assert args(said, "chart.ratios.inconclusive") == {"some": 7, "total": 64}
    assert args(said, "chart.first") == {"drawn": 60, "total": 64}
    assert not {"chart.ratios.inconclusive", "chart.first"} & {
        *ids(describe_ratios(some[10:20], message("chart.overhead.of")))
    }
    assert ids(describe_ratios([], message("chart.overhead.of"))) == ["chart.nothing"]


def test_medians_are_those_of_the_cells(results: Results, findings: tuple[Finding, ...]) -> None:
    said = described("medians", results, findings)
    basis = basis_of(results)
    assert not isinstance(basis, Message)
    cells = Cells(results, basis).all
    for one in messages(said):
        if one.id != "chart.medians.range":
            continue
        medians = [c.median.estimate for c in cells if c.levels["workload"] == one.args["workload"]]
        assert [one.args[end].args["median"] for end in ("least", "most")] == [  # type: ignore[union-attr]
            Amount(pytest.approx(min(medians)), basis.unit),
            Amount(pytest.approx(max(medians)), basis.unit),
        ]
    assert ids(said).count("chart.medians.range") == 2
    assert args(said, "chart.medians.marks") == {"least": 30, "most": 30}


def test_the_highest_change_by_workers_and_the_limits(
    results: Results, findings: tuple[Finding, ...]
) -> None:
    said = described("parallelism", results, findings)
    rows = tables_of(findings, "parallelism")[0].rows
    for key, one in zip(("shift", "growth"), said, strict=False):
        row = max(rows, key=lambda r: r[key])
        assert one.id == "chart.parallelism.highest"
        assert one.args["ratio"] == Estimated(row[key], row[f"{key}_low"], row[f"{key}_high"])
        assert (one.args["platform"], one.args["workers"]) == (row["platform"], 2)
    assert args(said, "chart.parallelism.marks") == {
        "shift": Chosen(results.experiment.parallel_shift),
        "growth": Chosen(results.experiment.parallel_growth, "growth"),
    }


def test_the_error_that_varies_most_of_each_source(
    results: Results, findings: tuple[Finding, ...]
) -> None:
    said = described("harness_error", results, findings)
    cells = [one.args for one in messages(said) if one.id == "chart.harness_error.cell"]
    tables = tables_of(findings, "harness_error")
    assert {(one["metric"], one["source"]) for one in cells} == {
        (table.id, row["source"]) for table in tables for row in table.rows
    }
    for one in cells:
        table = next(t for t in tables if t.id == one["metric"])
        rows = [row for row in table.rows if row["source"] == one["source"]]
        worst = max(rows, key=lambda row: row["relative_sd"] or 0)
        assert one["sd"] == Amount(worst["sd"], "ns")
        assert one["share"] == Amount(worst["relative_sd"], "share")


def test_a_pinning_s_groups_are_those_counted() -> None:
    pinned = synthetic.make(trials=24, pinnings=("none", "spread"))
    found = tuple(all_findings(pinned, SUPPLIES.findings()))
    rows = [
        row
        for table in tables_of(found, "pinning")
        for row in table.rows
        if {"lesser", "same", "overlap", "higher"} <= set(row)
    ]
    said = [m for m in described("pinning", pinned, found) if m.id == "chart.pinning.groups"]
    assert len(said) == len(rows) > 0
    for one, row in zip(said, rows, strict=True):
        counts = {
            c.args["word"]: c.args["n"] for c in messages(one) if c.id == "chart.pinning.count"
        }
        assert counts == {word: row[word] for word in counts}
        assert one.args["groups"] == sum(
            row[w] or 0 for w in ("lesser", "same", "overlap", "higher")
        )


def test_what_has_no_room_is_named_or_counted() -> None:
    assert left_out([]) == ()
    names = [str(i) for i in range(15)]
    assert args(left_out(names), "chart.left_out") == {"names": names[:12], "more": 3}
    assert args(left_out(names[:2]), "chart.left_out") == {"names": names[:2], "more": 0}
    assert first_of(16, 16) == ()
    assert args(first_of(16, 17), "chart.first") == {"drawn": 16, "total": 17}
