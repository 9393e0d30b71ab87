"""The time of day in reports of experiments, in audits and in pages of measured networks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from measuring import ScriptedEnds, measure, sending
from said import args, ids
from situations import over_days
from synthetic import MS, Behaviour, make

from tare.experiment.findings import time_of_day
from tare.experiment.results import Results
from tare.features.audit import page
from tare.features.audit.answers import findings
from tare.features.audit.audit import Question, audit
from tare.features.audit.contract import as_json
from tare.features.audit.page_figures import figures
from tare.features.network.measure import page as network_page
from tare.networks.recording import folder
from tare.readers import ColumnOptions, read
from tare.registry import units_of
from tare.results.finding import Finding

DAY_S = 86_400.0


def found_of(results: Results) -> Finding | None:
    unit = units_of("finding")["time_of_day"]
    found = unit.find(results)
    assert found is None or isinstance(found, Finding)
    return found


def an_experiment(trials: int) -> Results:
    behaviour = Behaviour(mean_ns=200 * MS, spread=0.02)
    return make(behaviour, platforms=("bare",), workers=(1,), trials=trials, metric="wall_ns")


def test_an_experiment_over_days_has_its_course() -> None:
    results = over_days(an_experiment(trials=480), every_s=900)
    found = found_of(results)
    assert found is not None
    assert found.verdict == "yes"
    course = args(found.answer, "time_of_day.course")
    # Sessions of synthetic results begin at 10:00.
    assert (course["lowest"], course["highest"]) == ("04:00", "16:00")
    assert course["amplitude"].value == pytest.approx(0.2, abs=0.02)
    levels, by_hour = found.tables
    assert [row["of"] for row in levels.rows] == ["samples", "hourly medians"]
    assert len(by_hour.rows) == 24
    charts = units_of("chart")
    assert charts["time_of_day"].draw(results, ()) is not None
    # Five days are no two weeks.
    assert charts["time_of_week"].draw(results, ()) is None


def test_an_experiment_of_minutes_has_none() -> None:
    assert found_of(over_days(an_experiment(trials=40), every_s=60)) is None
    assert found_of(an_experiment(trials=40)) is None


def test_days_that_are_too_few_decide_nothing() -> None:
    found = found_of(over_days(an_experiment(trials=96), every_s=900))
    assert found is not None
    assert found.verdict == "inconclusive"
    assert found.settle is not None
    assert "time_of_day.few" in ids(found.answer)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 14 days of two links: one follows the time of day, the other does not."""
    rng = np.random.default_rng(1)
    file = tmp_path_factory.mktemp("days") / "links.csv"
    rows = ["when,link,mbit_per_s"]
    begin = np.datetime64("2026-05-04T00:05:00")
    for i in range(14 * 144):
        at = begin + np.timedelta64(10 * i, "m")
        wave = np.sin(2 * np.pi * i / 144)
        rows.append(f"{at},a,{100 * (1 + 0.1 * wave + 0.05 * rng.standard_normal()):.4f}")
        rows.append(f"{at},b,{100 * (1 + 0.05 * rng.standard_normal()):.4f}")
    file.write_text("\n".join(rows) + "\n")
    return file


def test_an_audit_of_dates_has_the_same_finding(table: Path) -> None:
    columns = ColumnOptions(value="mbit_per_s", group=("link",), order="when")
    found = audit([table], Question(columns=columns, precision=0.05))
    (one,) = [f for f in findings(found) if f.name == "time_of_day"]
    assert one.verdict == "yes"
    course, none = args(one.answer, "time_of_day.course"), args(one.answer, "time_of_day.none")
    assert (course["name"], none["name"]) == ("a", "b")
    assert none["detectable"].value < 0.05
    assert [f.name for f in figures(found)["time_of_day"]] == ["time-of-day", "time-of-week"]
    document = json.loads(json.dumps(as_json(found)))
    first, second = (s["time_of_day"] for s in document["series"])
    assert (first["daily"], second["daily"]) == (True, False)
    assert first["of_medians"]["n"] == 336
    assert page.make(found, "tare audit links.csv").sections


def test_an_audit_without_dates_has_none(table: Path) -> None:
    columns = ColumnOptions(value="mbit_per_s", group=("link",))
    found = audit([table], Question(columns=columns))
    assert not found.timed


def test_units_of_time_may_be_others(table: Path) -> None:
    columns = ColumnOptions(value="mbit_per_s", group=("link",), order="when")
    found = audit([table], Question(columns=columns, unit_s=1800.0))
    (some,) = found.timed.values()
    assert len(some[0].found.units) == 672
    assert args(time_of_day.sentences(some[0])[0], "time_of_day.course")["unit"] == "30 min"


def test_a_measured_network_has_its_course(tmp_path: Path) -> None:
    script = ScriptedEnds(rate=lambda s: 1e9 * (1 + 0.1 * np.sin(2 * np.pi * s / DAY_S)))
    days = measure(tmp_path / "days", script, sending(0, 4 * 86_400), interval_ns=600 * 10**9)
    laid = network_page.of([folder.read(days)], "tare net report days")
    (section,) = [one for one in laid.sections if one.finding.name == "time_of_day"]
    assert section.finding.verdict == "yes"
    assert [figure.name for figure in section.figures] == ["time-of-day"]
    imported = read(days)
    assert imported.format == "tare-network"
    (series,) = imported.series
    assert series.at_s is not None
    assert len(series.values) == 4 * 144
    found = audit([days], Question(precision=0.05))
    assert [one.verdict for one in findings(found) if one.name == "time_of_day"] == ["yes"]
