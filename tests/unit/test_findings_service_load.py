"""What load services were under: latency stands next to load, errors and CPUs, and is right."""

from __future__ import annotations

import dataclasses
import json

import journals
import msgspec
import numpy as np
import printed
import pytest
import served
from said import Phrase, template
from served import MS, Served

from tare.applications.requests import REQUESTS
from tare.experiment import pipeline
from tare.experiment.findings import disturbance, service_load
from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.charts import response_course, response_times
from tare.experiment.findings.judgement import differences
from tare.experiment.findings.requests_seen import Course, Histogram, seen
from tare.experiment.findings.service_cells import Driven, driven
from tare.experiment.report import page
from tare.experiment.report.origin import Origin
from tare.experiment.results import Results
from tare.experiment.store import row_file
from tare.features.measure.run import report
from tare.features.measure.run.summary import summarize
from tare.readers import read, tare_folder
from tare.readers.series import ColumnOptions
from tare.render import data, files, html
from tare.render.words import text
from tare.results.finding import Finding
from tare.results.message import Message, each
from tare.wiring import SUPPLIES
from tare.workloads.serving import AskedLoad

ORIGIN = Origin(title="By hand", commands=(), versions=("0",), seed=1, digests=(), file=None)


def found(results: Results) -> Finding:
    made = service_load.UNIT.find(results)
    assert made is not None
    return made


def ids(finding: Finding) -> list[Phrase]:
    said = (*each(finding.answer), *finding.caveats)
    return [template(one) for one in said if isinstance(one, Message)]


def test_a_row_has_what_was_asked_and_what_it_came_to(tmp_path):
    made = served.make(tmp_path, Served(seconds=10, late_ns=2 * MS, fails=50))
    results = made.results
    (first, second) = found(results).tables[0].rows
    assert (first["platform"], second["platform"]) == ("bare", "docker")
    values = results.values("response_p99_ns")
    assert first["response_p99_ns"] == np.median(values.where(platform="bare")["value"])
    assert first["request_rate"] == pytest.approx(100, rel=0.01)
    assert first["request_error_share"] == pytest.approx(1 / 50)
    assert text(first["load_reached"]) == "100 of 100/s"
    # What starts late is late, however fast its answer is.
    assert first["response_p50_ns"] > 6.5 * MS


def test_p999_has_a_column_where_a_cell_has_ten_thousand_requests(tmp_path):
    many, few = Served(rate=1000, seconds=10), Served(rate=1000, seconds=5)
    made = served.make(tmp_path, lambda cell: many if cell["platform"] == "bare" else few, trials=3)
    finding = found(made.results)
    assert "a trial: not" not in ids(finding)
    rows = {row["platform"]: row for row in finding.tables[0].rows}
    values = made.results.values("response_p999_ns").where(platform="bare")["value"]
    assert rows["bare"]["response_p999_ns"] == np.median(values)
    assert rows["docker"]["response_p999_ns"] is None
    titles = [column.title for column in finding.tables[0].columns]
    assert titles[titles.index("p99") + 1] == "p99.9"
    totals = [row for row in finding.tables[1].rows if row["request_label"] == "TOTAL"]
    assert totals[0]["response_p999_ns"] == np.median(values)


def test_a_quantile_of_few_requests_is_not_shown(tmp_path):
    # Of 300 requests, three are beyond the p99; of 75 of a label, four beyond the p95.
    finding = found(served.make(tmp_path, Served()).results)
    row = finding.tables[0].rows[0]
    assert row["response_p99_ns"] is None
    assert "p99.9" not in [column.title for table in finding.tables for column in table.columns]
    assert row["response_max_ns"] > row["response_p95_ns"] > 0
    assert not [one for one in finding.estimates if one.name == "response_p99_ns"]
    (few,) = (one for one in finding.caveats if template(one) == "a trial: not")
    assert (few.args["names"], few.args["needs"], few.args["least"]) == (["p99"], [1000], 300)
    labels = {row["request_label"]: row for row in finding.tables[1].rows}
    assert labels["home"]["response_p95_ns"] is not None
    assert labels["post"]["response_p95_ns"] is None


def test_a_difference_is_named_where_a_comparison_shows_it():
    def slow(trial):
        return Served(seconds=10, median_ns=(8 if trial["platform"] == "docker" else 5) * MS)

    def shown(how):
        results = served.make(None, how, trials=12).results
        return found(results).summary.args["shown"].args

    (one,) = shown(slow)["differing"]
    assert one.args["at"].levels["platform"] == "docker"
    assert (one.args["verdict"], one.args["reference"]) == ("slower", "bare")
    assert shown(Served(seconds=10)) == {"differing": [], "more": 0, "others": 1}


def test_a_factor_is_what_was_asked():
    results = served.make(None, Served(rate=50)).results
    trials = results.trial_table
    trials = trials.with_columns(rate=["50"] * len(trials))
    results = dataclasses.replace(results, trial_table=trials)
    assert {cell.asked.amount for cell in driven(results)} == {50}


def test_a_load_that_needs_an_unknown_size_is_not_made_up():
    made = served.make(None, arguments={"rate": "{cores}"})
    assert {cell.asked.amount for cell in driven(made.results)} == {None}
    assert text(found(made.results).tables[0].rows[0]["load_reached"]) == "100/s"


def test_a_shared_cpu_is_said_in_its_row_and_in_the_answer():
    def how(trial):
        return Served(own_cpus=0 if trial["platform"] == "docker" else 1)

    finding = found(served.make(None, how).results)
    assert [row["driver_shared"] for row in finding.tables[0].rows] == [False, True]
    assert text(finding.tables[0].rows[1]["driver_cpus"]) == "0.20 shared"
    assert "for CPUs of" in ids(finding)


def test_who_shared_cpus_is_not_known_of_an_older_tare():
    finding = found(served.make(None, Served(own_cpus=None)).results)
    assert "for CPUs of" not in ids(finding)
    assert text(finding.tables[0].rows[0]["driver_cpus"]) == "0.20"


def test_a_load_generator_at_its_limit_is_named():
    assert "be its own;" in ids(found(served.make(None, Served(used=0.97)).results))


def test_a_closed_load_has_littles_law_next_to_it():
    # In 80 ms, eight more requests start.
    all_wait = Served(median_ns=80 * MS)
    finding = found(served.make(None, all_wait, load="closed", arguments={"users": 8}).results)
    row = finding.tables[0].rows[0]
    assert row["littles_law_ns"] == pytest.approx(8e9 / row["request_throughput"])
    assert {Phrase("law at most"), Phrase("so a slow")} <= {*ids(finding)}
    assert text(row["load_reached"]) == "8 users"


def test_labels_are_told_apart():
    table = found(served.make(None, Served(fails=4)).results).tables[1]
    shares = {row["request_label"]: row["request_share"] for row in table.rows}
    errors = {row["request_label"]: row["request_error_share"] for row in table.rows}
    assert shares == {"home": pytest.approx(0.75), "post": pytest.approx(0.25), "TOTAL": 1}
    # Every fourth fails: the first of each four, which is of one label.
    assert errors == {"home": pytest.approx(1 / 3), "post": 0, "TOTAL": pytest.approx(0.25)}


def test_labels_have_the_figures_of_jmeters_summary_report():
    made = served.make(None, Served(late_ns=3 * MS, answer_bytes=2500))
    table = found(made.results).tables[1]
    docker = {row["request_label"]: row for row in table.rows if row["platform"] == "docker"}
    trials = driven(made.results)[1].trials
    rows = [made.results.request_files.read(trial, made.results.request_counts()[trial])
            for trial in trials]  # fmt: skip
    for label in ("home", "post", "TOTAL"):
        row = docker[label]
        own = [one if label == "TOTAL" else one.where(label=label) for one in rows]
        times = [one["response_ns"].astype(float) for one in own]
        assert row["response_min_ns"] == min(one.min() for one in times)
        assert row["response_max_ns"] == max(one.max() for one in times)
        # Population standard deviation, as JMeter's.
        sds = [np.sqrt((one**2).mean() - one.mean() ** 2) for one in times]
        assert row["response_sd_ns"] == pytest.approx(np.median(sds))
        ends = [(one["start_ns"] + one["duration_ns"]).max() for one in own]
        rates = [len(one) / ((end - one["start_ns"].min()) / 1e9)
                 for one, end in zip(own, ends, strict=True)]  # fmt: skip
        assert row["requests_per_s"] == pytest.approx(np.median(rates))
        assert row["received_per_s"] == pytest.approx(2500 * row["requests_per_s"])
        assert row["received_bytes"] == 2500


def test_bytes_that_are_not_counted_are_absent():
    rows = found(served.make(None, Served(answer_bytes=None)).results).tables[1].rows
    assert {(row["received_per_s"], row["received_bytes"]) for row in rows} == {(None, None)}
    assert all(row["requests_per_s"] > 0 for row in rows)


def test_another_load_generator_than_the_usual_one_is_named():
    made = served.make(None, Served()).results
    assert ": its figures" not in ids(found(made))
    (spec,) = made.experiment.workloads
    more = {"command": ("/application/tare-cql", "run"), "stands_for": "cassandra-stress"}
    spec = msgspec.structs.replace(spec, application=served.application(**more))
    experiment = msgspec.structs.replace(made.experiment, workloads=(spec,))
    answer = found(dataclasses.replace(made, experiment=experiment)).answer
    (said,) = (one for one in each(answer) if template(one) == ": its figures")
    assert "shop is tare-cql: its figures are not comparable with cassandra-stress" in text(said)


def test_one_label_needs_no_table():
    assert len(found(served.make(None, Served(labels=("page",))).results).tables) == 1


def test_requests_that_are_missing_are_said(tmp_path):
    made = served.make(tmp_path)
    (tmp_path / "requests" / "3.msgpack.zst").unlink()
    finding = found(made.results)
    lost = next(one for one in finding.caveats if template(one) == "out of labels")
    assert (lost.args["lost"], lost.args["trials"]) == (1, 16)
    assert seen(made.results).lost.keys() == {3}


def test_requests_that_contradict_the_journal_are_named_on_terminal_page_and_in_json(tmp_path):
    made = served.make(tmp_path, Served(fails=50), trials=6)
    with (tmp_path / "requests" / "3.msgpack.zst").open("rb") as file:
        rows = row_file.read(file, REQUESTS, 3)
    # As many requests, but none of them failed.
    good = rows.with_columns(error=[None] * len(rows))
    row_file.write(REQUESTS, good, tmp_path, 3)
    said = "0 of its requests failed, by the journal 6"
    findings = all_findings(made.results, SUPPLIES.findings())
    page_ = page.make(made.results, findings, ORIGIN)
    assert any(said in line and line.startswith("Caveat") for line in printed.lines(page_))
    assert said in html.render(page_)
    finding = next(one for one in findings if one.name == "service_load")
    assert said in json.dumps(data.builtins(finding))
    assert seen(made.results).lost.keys() == {3}


def test_without_any_requests_the_trials_values_still_say_it(tmp_path):
    made = served.make(tmp_path)
    for path in (tmp_path / "requests").iterdir():
        path.unlink()
    assert len(found(made.results).tables) == 1
    assert response_times.UNIT.draw(made.results, ()) is None
    assert response_course.UNIT.draw(made.results, ()) is None


def test_findings_that_speak_of_commands_are_silent():
    results = served.make(None).results
    names = {one.name for one in all_findings(results, SUPPLIES.findings())}
    assert "service_load" in names
    assert not names & {"network_spending", "network_repetitions"}


def test_nobody_is_asked_who_does_not_serve():
    import synthetic

    assert service_load.UNIT.find(synthetic.make(trials=2)) is None


def test_services_wait_only_where_they_could_have_run():
    recorded = {
        ("wait_ns", "schedstat"): np.array([9e8]),
        ("on_cpu_ns", "perf_cpu"): np.array([3e8]),
        ("off_cpu_preempted_ns", "perf_cpu"): np.array([1e8]),
    }
    once = np.array([1e9])
    found = disturbance.worst(recorded, once, once, 2, serves=True)
    assert found is not None
    assert (found.what, found.share) == (disturbance.READY, 0.25)
    assert template(disturbance.said(found)) == "the time in"
    assert not found.is_waiting


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_a_histogram_has_the_quantiles_of_its_values(n):
    values = np.random.default_rng(n).lognormal(15, 2, n)
    histogram = Histogram()
    for part in np.array_split(values, min(n, 3)):
        histogram.add(part)
    wanted = np.array([0.01, 0.5, 0.95, 1.0])
    exact = np.quantile(values, wanted, method="inverted_cdf")
    assert histogram.quantiles(wanted) == pytest.approx(exact, rel=0.0011)
    assert histogram.n == n


def test_a_course_has_the_quantiles_of_each_moment():
    course = Course.of(10, 100.0)
    course.add(np.array([0.0, 1.0, 99.0, 5000.0]), np.array([1e6, 3e6, 7e6, 9e6]))
    medians = course.quantile(0.5)
    assert medians[0] == pytest.approx(1e6, rel=0.02)
    assert medians[9] == pytest.approx(7e6, rel=0.02)
    assert np.isnan(medians[1:9]).all()
    assert course.most_ns[9] == 9e6


@pytest.mark.parametrize("unit", [response_times.UNIT, response_course.UNIT])
def test_charts_are_small_however_many_requests_there_are(unit):
    results = served.make(None, Served(rate=2000, seconds=10), trials=2).results
    drawn = json.dumps(unit.draw(results, ()))
    assert len(drawn) < 60_000
    assert unit.alternative(results, ())


def test_one_request_can_be_drawn(tmp_path):
    results = served.make(
        tmp_path, Served(rate=1, seconds=1), platforms=("bare",), trials=1
    ).results
    for unit in (response_times.UNIT, response_course.UNIT):
        assert unit.draw(results, ()) is not None
        assert unit.alternative(results, ())


def test_a_load_that_is_no_number_is_not_known():
    results = served.make(None, arguments={"rate": "many"}).results
    assert {(cell.asked.kind, cell.asked.amount) for cell in driven(results)} == {("open", None)}


def cell(kind: str, amount: float, **values: list[float]) -> Driven:
    """Return a cell whose trials came to these values."""
    settled = {"errors": [0.0], "requests": [200.0], "p50": [5e6]} | values
    asked = AskedLoad(kind, amount, amount, errors=0.01, reached=0.99, setting=None)
    arrays = {name: np.array(some) for name, some in settled.items()}
    return Driven(0, {"workload": "shop"}, asked, (1,), arrays)


def test_requests_pile_up_where_a_rate_is_not_answered():
    assert cell("open", 40, rate=[40.0], throughput=[9.8], p50=[8e9]).backlog
    assert cell("open", 4, rate=[4.0], throughput=[3.6], p50=[0.6e9], requests=[40.0]).backlog
    # The last answer alone takes its time.
    slow = {"rate": [5.0], "throughput": [4.6], "p50": [0.5e9], "requests": [25.0]}
    assert not cell("open", 5, **slow).backlog
    assert not cell("open", 40, rate=[40.0], throughput=[39.9]).backlog
    assert not cell("closed", 40, rate=[40.0], throughput=[9.8]).backlog


def test_users_that_waited_at_once_are_the_most_of_any_trial():
    found = cell("closed", 100, throughput=[20.0], at_once=[6.0, 10.0, 74.0])
    assert found.unbusy == 74
    assert found.queueing_ns is None
    all_of_them = cell("closed", 100, throughput=[20.0], at_once=[95.0, 100.0])
    assert all_of_them.unbusy is None
    assert all_of_them.queueing_ns == pytest.approx(5e9)


def test_the_longest_is_that_of_all_trials():
    assert cell("open", 10, longest=[2.0, 9.0, 3.0]).known("longest") == 9


def test_delays_of_the_load_generator_are_a_caveat():
    late = served.make(None, Served(late_ns=20 * MS))
    assert "delays of the" in ids(found(late.results))
    assert "delays of the" not in ids(found(served.make(None, Served()).results))


def judged_by(results: Results, metric: str, compare: str | None) -> Results:
    asked = results.experiment
    stopping = msgspec.structs.replace(asked.stopping, compare=compare)
    return dataclasses.replace(
        results, experiment=msgspec.structs.replace(asked, metric=metric, stopping=stopping)
    )


def test_a_quantile_of_few_requests_is_not_judged():
    # Of 40 requests, none is expected beyond a p99, though docker's are clearly longer.
    def slow(trial):
        return Served(seconds=0.4, median_ns=(20 if trial["platform"] == "docker" else 5) * MS)

    made = served.make(None, slow, trials=12).results
    results = judged_by(made, "response_p99_ns", "platform")
    (one,) = differences(results)
    assert not one.comparison.verdict.conclusive
    assert (one.comparison.low, one.spread, one.medians[1].low) == (None, None, None)
    assert (template(one.further), one.further.args["needs"]) == (": make the", 1000)
    by_name = {f.name: f for f in all_findings(results, SUPPLIES.findings())}
    assert by_name["difference"].verdict == "inconclusive"
    assert template(by_name["difference"].settle) == ": make the"
    # No other answer rests on it either.
    others = [f for f in by_name.values() if "response_p99_ns" in str(f.basis)]
    assert [f.name for f in others] == ["difference"]
    # Of the median there are enough.
    (one,) = differences(judged_by(made, "response_p50_ns", "platform"))
    assert one.comparison.verdict.differs


def test_a_report_says_that_the_metric_has_too_few_requests():
    made = served.make(None, Served(seconds=0.4), trials=12).results

    def said(metric):
        results = judged_by(made, metric, None)
        caveats = page.make(results, all_findings(results, SUPPLIES.findings()), ORIGIN).caveats
        return ": make the" in [template(one) for one in caveats if isinstance(one, Message)]

    assert said("response_p95_ns")
    assert not said("response_p50_ns")


def test_an_audit_rejects_a_quantile_of_few_requests(tmp_path):
    made = served.make(None, Served(seconds=0.4), trials=12).results
    folder = journals.write(judged_by(made, "response_p99_ns", None), tmp_path / "out")

    def defects(**columns):
        series = tare_folder.read(folder, ColumnOptions(**columns)).series
        return {defect.kind for one in series for defect in one.defects}

    assert defects() == {"few requests"}
    assert not defects(value="response_p50_ns")


def test_tare_run_says_that_the_metric_has_too_few_requests(tmp_path):
    made = served.make(None, Served(seconds=0.4), trials=12, platforms=("bare",)).results
    folder = journals.write(judged_by(made, "response_p99_ns", None), tmp_path / "out")
    summary = summarize(pipeline.results_of(folder), "finished")
    (asked,) = summary.asked
    assert (asked.why, asked.interval.low, asked.interval.n) == ("few", None, 12)
    assert asked.interval.refusal == asked.refusal
    median = summary.known("response_p50_ns")
    assert median is not None
    assert median.interval.low is not None
    # What it writes is refused by an audit as well.
    file = tmp_path / "run.json"
    file.write_text(files.encode(report.make(summary, "a", None, "bare")))
    (series,) = read(file, ColumnOptions(value="response_p99_ns")).series
    assert [defect.kind for defect in series.defects] == ["few requests"]
