"""The time of day in reports of experiments, in audits and in pages of measured networks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from audits import documented, findings_of, shown
from measuring import ScriptedEnds, measure, sending
from said import Phrase, args, template, templates
from situations import over_days
from synthetic import MS, Behaviour, make

from tare.experiment.findings import time_of_day
from tare.experiment.results import Results
from tare.features.audit import report
from tare.features.audit.answers import findings
from tare.features.audit.audit import Question, audit
from tare.features.audit.next_steps import follow_up
from tare.features.audit.page_figures import drawings
from tare.features.network.measure import page as network_page
from tare.networks.recording import folder
from tare.readers import ColumnOptions, read
from tare.registry import units_of
from tare.render.words import sentence
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


def test_an_experiment_over_days_has_its_cycle() -> None:
    results = over_days(an_experiment(trials=120), every_s=3600)
    found = found_of(results)
    assert found is not None
    assert found.verdict == "yes"
    cycle = args(found.answer, "day by ±")
    # Sessions of synthetic results begin at 10:00.
    assert (cycle["lowest"], cycle["highest"]) == ("04:00", "16:00")
    assert cycle["amplitude"].value == pytest.approx(0.2, abs=0.02)
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
    assert "a daily cycle" in templates(found.answer)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 14 days of two links: one follows the time of day, the other does not."""
    rng = np.random.default_rng(1)
    file = tmp_path_factory.mktemp("days") / "links.csv"
    rows = ["when,link,mbit_per_s"]
    begin = np.datetime64("2026-05-04T00:10:00")
    for i in range(14 * 48):
        at = begin + np.timedelta64(30 * i, "m")
        wave = np.sin(2 * np.pi * i / 48)
        rows.append(f"{at},a,{100 * (1 + 0.1 * wave + 0.02 * rng.standard_normal()):.4f}")
        rows.append(f"{at},b,{100 * (1 + 0.02 * rng.standard_normal()):.4f}")
    file.write_text("\n".join(rows) + "\n")
    return file


def test_an_audit_of_dates_has_the_same_finding(table: Path) -> None:
    columns = ColumnOptions(value="mbit_per_s", group=("link",), order="when")
    found = audit([table], Question(columns=columns, precision=0.05))
    (one,) = [f for f in findings(found) if f.name == "time_of_day"]
    assert one.verdict == "yes"
    cycle, none = args(one.answer, "day by ±"), args(one.answer, "% of cases")
    assert (cycle["name"], none["name"]) == ("a", "b")
    assert none["detectable"].value < 0.05
    assert [f.name for f in drawings(found)["time_of_day"]] == ["time-of-day"]
    assert [f.name for f in drawings(found)["time_of_week"]] == ["time-of-week"]
    first, second = (s.over_time for s in found.series)
    assert first is not None
    assert second is not None
    assert (first.day.is_shown, second.day.is_shown) == (True, False)
    levels = findings_of(documented(found))["time_of_day"]["tables"][0]["rows"]
    assert [row["n"] for row in levels if row["of"] == "hourly medians"] == [336, 336]
    sections = report.make(found, "tare audit links.csv").sections
    (section,) = (one for one in sections if one.finding.name == "time_of_day")
    # The head of the page has the first sentence as well, on which the others lean.
    assert section.details == one.answer


def test_an_audit_of_weeks_tests_the_weekly_cycle(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    when = np.datetime64("2026-05-04T00:30") + np.arange(28 * 24) * np.timedelta64(1, "h")
    weekend = np.arange(28 * 24) // 24 % 7 >= 5
    values = 100 - 10 * weekend + rng.standard_normal(28 * 24)
    for days, verdict in ((28, "yes"), (20, "inconclusive")):
        file = tmp_path / f"{days}.csv"
        rows = [f"{at},{v:.4f}" for at, v in zip(when, values, strict=True)][: 24 * days]
        file.write_text("\n".join(["when,mbit", *rows]) + "\n")
        found = audit([file], Question(columns=ColumnOptions(value="mbit", order="when")))
        (one,) = (f for f in findings(found) if f.name == "time_of_week")
        assert one.verdict == verdict
        assert [row["day"] for row in one.tables[0].rows] == list(time_of_day._WEEKDAYS)
        (weekly,) = (s.over_time.week for s in found.series if s.over_time is not None)
        lines = [line.split(None, 1) for line in shown(found).splitlines()]
        lines = [line for line in lines if line[0] == "Week"]
        if verdict == "yes":
            cycle = args(one.answer, "week by ±")
            assert cycle["lowest"] in ("Saturday", "Sunday")
            assert weekly.is_shown
            assert lines == [["Week", sentence(one.answer[0])]]
        else:
            assert args(one.answer, "a weekly cycle") == {"name": "", "n": "2.8", "needed": 3}
            assert templates(one.settle) == ["3 weeks or"]
            assert (weekly.is_shown, weekly.cycle) == (None, "weeks")
            assert not lines


def test_an_audit_without_dates_has_none(table: Path) -> None:
    columns = ColumnOptions(value="mbit_per_s", group=("link",))
    found = audit([table], Question(columns=columns))
    assert not found.timed


def test_units_of_time_may_be_others(table: Path) -> None:
    columns = ColumnOptions(value="mbit_per_s", group=("link",), order="when")
    found = audit([table], Question(columns=columns, unit_s=1800.0))
    (some,) = found.timed.values()
    assert len(some[0].analysis.units) == 672
    assert args(time_of_day.sentences(some)[1:2], "day by ±")["unit"] == "30 min"


def series_table(file: Path, count: int, seed: int) -> Path:
    """Write 10 days of series of noise by hour."""
    rng = np.random.default_rng(seed)
    when = np.datetime64("2026-05-04T00:30") + np.arange(240) * np.timedelta64(1, "h")
    rows = (
        f"{at},s{i},{value:.6f}"
        for i in range(count)
        for at, value in zip(when, 1 + 0.02 * rng.standard_normal(240), strict=True)
    )
    file.write_text("\n".join(["when,name,value", *rows]) + "\n")
    return file


def test_screen_finding_chart_and_json_give_one_answer(tmp_path: Path) -> None:
    """Of eight series of noise, one has a p between .04 / 8 and .04: shown alone, not among all."""
    columns = ColumnOptions(value="value", group=("name",), order="when")
    for seed in range(50):
        file = series_table(tmp_path / f"{seed}.csv", 8, seed)
        found = audit([file], Question(columns=columns, precision=0.05))
        (some,) = found.timed.values()
        raw = [one.analysis.day.p / 8 for one in some if one.analysis.day.p is not None]
        if 0.04 / 8 < min(raw) < 0.02:
            break
    assert len(raw) == 8
    (one,) = (f for f in findings(found) if f.name == "time_of_day")
    assert one.verdict == "no"
    several = args(one.answer, ", corrected for")
    assert (several["shown"], several["n"], several["tested"]) == (0, 8, 8)
    # One sentence on all, four on single ones, and the number of the others.
    assert len(one.answer) == 6
    assert args(one.answer, "series are not") == {"n": 4}
    assert "day by ±" not in templates(time_of_day.described(some, "day"))
    days = [s.over_time.day for s in found.series if s.over_time is not None]
    assert [day.is_shown for day in days] == [False] * 8
    assert min(day.p for day in days if day.p is not None) == pytest.approx(8 * min(raw))
    said = [line.split(None, 1) for line in shown(found).splitlines()]
    assert [line for line in said if line[0] == "Hours"] == [["Hours", sentence(one.answer[0])]]


def test_what_is_left_undecided_says_why(table: Path, tmp_path: Path) -> None:
    columns = ColumnOptions(value="mbit_per_s", group=("link",), order="when")
    coarse = audit([table], Question(columns=columns, unit_s=6 * 3600.0))
    (one,) = (f for f in findings(coarse) if f.name == "time_of_day")
    assert one.verdict == "inconclusive"
    assert {Phrase("than 4 h")} <= set(templates(one.answer))
    assert templates(one.settle) == ["h or less"]
    exact = audit([table], Question(columns=columns, precision=0.001))
    (one,) = (f for f in findings(exact) if f.name == "time_of_day")
    # Link a follows the time of day; of b, more than the precision would have been missed.
    assert one.verdict == "yes"
    days = [s.over_time.day for s in exact.series if s.over_time is not None]
    assert [day.is_shown for day in days] == [True, None]
    noise = series_table(tmp_path / "noise.csv", 1, 1)
    columns = ColumnOptions(value="value", order="when")
    (one,) = (
        f
        for f in findings(audit([noise], Question(columns=columns, precision=0.001)))
        if f.name == "time_of_day"
    )
    assert one.verdict == "inconclusive"
    assert templates(one.settle) == ["longer, until a"]


def test_metrics_of_one_name_in_two_units_are_apart(tmp_path: Path) -> None:
    columns = ColumnOptions(value="value", group=("name",), order="when")
    found = audit([series_table(tmp_path / "a.csv", 2, 1)], Question(columns=columns))
    one, other = found.series
    part = dataclasses.replace(other.counted, series=dataclasses.replace(other.series, unit="ns"))
    in_ns = dataclasses.replace(other, counted=part)
    mixed = dataclasses.replace(found, series=(one, in_ns))
    assert list(mixed.timed) == ["value (no unit)", "value (ns)"]
    assert [len(some) for some in mixed.timed.values()] == [1, 1]


def test_a_measured_network_has_its_cycle(tmp_path: Path) -> None:
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


def weeks_of(folder: Path, days: int, shift: float, weekend: float) -> Path:
    """Write half-hours of a daily cycle of ± 6 %, other weekends, and a shift after 16 days."""
    rng, at = np.random.default_rng(5), np.arange(48 * days)
    values = 1 + 0.06 * np.sin(2 * np.pi * at / 48) + 0.02 * rng.standard_normal(len(at))
    values = values * (1 - weekend * (at // 48 % 7 >= 5)) * (1 + shift * (at >= 48 * 16))
    when = np.datetime64("2026-05-04T00:00") + 30 * at * np.timedelta64(1, "m")
    file = folder / "weeks.csv"
    rows = [f"{one}Z,{value:.5f}" for one, value in zip(when, values, strict=True)]
    file.write_text("\n".join(["when,wall_s", *rows]) + "\n")
    return file


def test_cycles_are_the_reason_of_a_doubt(tmp_path: Path) -> None:
    question = Question(columns=ColumnOptions(order="when", trial="row"))
    found = audit([weeks_of(tmp_path, 28, shift=0, weekend=0.08)], question)
    (one,) = found.series
    assert (one.trust.verdict, templates(one.trust.reasons)[0]) == ("DOUBT", ", and compare")
    assert not {Phrase("side of it"), Phrase(": let the"), Phrase("× too narrow.")} & {
        *templates(one.trust.reasons)
    }
    reason = args(one.trust.reasons, ", and compare")
    sizes = [time.args["size"].value for time in reason["times"]]
    assert sizes == pytest.approx([0.06, 0.045], abs=0.01)
    assert (reason["weekly"], reason["whole"]) == (True, True)
    # Half-hours and hourly medians are independent beside the cycles, so no number differs.
    assert one.over_time is not None
    assert (one.dependence, one.over_time.samples.dependence) == (1, 1)
    assert one.over_time.medians.dependence == 1
    assert one.changes.ok
    assert one.changes.points == ()
    (runs,) = (f for f in findings(found) if f.name == "repetitions")
    assert "no series has" not in templates(runs.answer)


def test_a_shift_is_found_beside_a_cycle(tmp_path: Path) -> None:
    question = Question(columns=ColumnOptions(order="when", trial="row"))
    (one,) = audit([weeks_of(tmp_path, 28, shift=0.15, weekend=0)], question).series
    assert [template(reason) for reason in one.trust.reasons][:2] == [", and compare", "side of it"]
    shift = args(one.trust.reasons, "side of it")
    assert abs(shift["trial"] - (48 * 16 + 1)) <= 2
    assert shift["size"].value == pytest.approx(0.15, abs=0.02)


def test_a_part_of_a_day_proposes_whole_days(tmp_path: Path) -> None:
    file = weeks_of(tmp_path, 12, shift=0, weekend=0)
    file.write_text("".join(file.open().readlines()[: 48 * 11 + 20]))
    found = audit([file], Question(columns=ColumnOptions(order="when", trial="row")))
    assert args(found.series[0].trust.reasons, ", and compare")["whole"] is False
    assert template(follow_up(found, has_page=False)) == "measure over whole"


def test_dates_without_an_order_are_proposed(tmp_path: Path) -> None:
    file = weeks_of(tmp_path, 28, shift=0, weekend=0.08)
    found = audit([file], Question(columns=ColumnOptions(trial="row")))
    assert found.files[0].imported.dates == "when"
    assert templates(follow_up(found, has_page=False).brings) == ["of the day"]
    ordered = audit([file], Question(columns=ColumnOptions(trial="row", order="when")))
    assert ordered.files[0].imported.dates is None
