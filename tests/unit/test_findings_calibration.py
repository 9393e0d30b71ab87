"""What the page says first of a sweep, and that it says nothing else of it."""

from __future__ import annotations

import numpy as np
import pytest
import sweeps
import synthetic
from said import Phrase, args, headline, template, templates, unwritten
from sweeps import Sweep

from tare.experiment.findings.answers import all_findings
from tare.experiment.sweep import analysis, causes
from tare.experiment.sweep.numbers import cpus, span, step
from tare.features.calibration.findings.calibration import UNIT
from tare.render.tables import lay
from tare.results.message import Chosen
from tare.statistics import scaling
from tare.wiring import SUPPLIES

FOUR_CPUS = [round(0.1 * n, 1) for n in range(1, 41)]


@pytest.fixture(autouse=True)
def as_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave evidence, caveats and verdicts as messages."""
    unwritten(monkeypatch, causes, analysis, scaling)


def test_it_is_the_first_answer_and_no_cells_are_compared():
    results = sweeps.make()
    found = all_findings(results, SUPPLIES.findings())
    assert [f.name for f in found] == ["calibration"]
    assert tuple(headline(results, found)[: len(found[0].summary)]) == found[0].summary


def test_other_experiments_are_not_asked():
    assert UNIT.find(synthetic.make(trials=6)) is None


def test_a_line_is_a_yes_and_what_that_means_is_said():
    found = UNIT.find(sweeps.make())
    assert found.verdict == "yes"
    line = args(found.summary, "one line from")
    assert (line["span"], line["apart"], line["ceiling"]) == (span(0.1, 2), [], None)
    assert line["r2"] > 0.999
    half = args(found.summary, ", too noisy")
    assert (half["pairs"], half["wide"]) == (10, False)
    assert half["error"].value < 0.03
    assert "at a constant" in templates(found.answer)
    assert found.basis == "throughput (self)"


def test_several_lines_are_a_no_with_their_ranges_and_the_cause():
    results = sweeps.make(
        sweeps.h90(), quotas=FOUR_CPUS, workers=4,
        facts={"cpus": 4, "driver": "intel_pstate", "governor": "powersave"},
    )  # fmt: skip
    found = UNIT.find(results)
    assert found.verdict == "no"
    lines = args(found.summary, "; breaks at")
    assert lines["ranges"] == [span(0.1, 0.5), span(0.6, 2.8), span(2.9, 4)]
    assert lines["breaks"] == [step(0.55), step(2.85)]
    half = args(found.summary, ". Values at")
    assert (half["half"], half["whole"]) == (cpus(0.3), cpus(0.6))
    assert half["speed"].value == pytest.approx(4.1 * 0.3 / (0.8 * 0.6), rel=0.02)
    because = args(found.summary, "{span}: {evidence}")
    assert because["span"] == span(0.6, 2.8)
    loss = args(because["evidence"], "less than from")["loss"]
    assert loss.value == pytest.approx(0.8, abs=0.01)
    slow = args(because["evidence"], "clock (chains of")["here"]
    assert (slow.value, slow.unit) == (pytest.approx(0.8e9, rel=0.01), "Hz")
    assert "hence the CPU" in templates(found.answer)


def test_a_ceiling_where_threads_end_is_as_linear_as_can_be():
    found = UNIT.find(sweeps.make(workers=1))
    assert found.verdict == "yes"
    assert args(found.summary, "one line from")["ceiling"] == cpus(1)
    assert {Phrase(", as expected:"), Phrase("no more can")} < {*templates(found.answer)}
    early = UNIT.find(sweeps.make(Sweep(usable=1.2)))
    assert early.verdict == "no"


def test_what_did_not_arrive_is_told_apart_from_a_slow_cpu():
    found = UNIT.find(sweeps.make(Sweep(withheld=lambda q: 0.5 if q > 1 else 0.0)))
    assert "CPU has a" in templates(found.answer)


def test_a_high_r2_of_several_lines_is_named_as_such():
    found = UNIT.find(sweeps.make(Sweep(efficiency=lambda q: 0.85 if q > 1 else 1.0)))
    several = args(found.answer, "; breaks at")
    assert several["high"]
    assert 0.95 < several["r2"] < 1


def test_too_few_steps_are_told_and_not_concluded_from():
    found = UNIT.find(sweeps.make(quotas=(0.5, 1, 2)))
    assert found.verdict == "nothing to compare"
    assert args(found.answer, "of CPU with") == {"steps": 3, "fewest": 4}


def test_periods_are_compared():
    results = sweeps.make(
        {
            ("bare", "0.1"): Sweep(noise=0.001),
            ("bare", "0.005"): Sweep(noise=0.001, withheld=lambda q: 0.07 if q < 0.5 else 0.0),
        },
        extra={"period": ("0.1", "0.005")},
    )
    found = UNIT.find(results)
    periods = found.answer[-1]
    assert template(periods) == "step of a"
    assert periods.args["longest"] == Chosen(0.1, "s")
    [effect] = periods.args["effects"]
    assert effect.args["period"] == Chosen(0.005, "s")
    assert effect.args["change"].value == pytest.approx(0.07, abs=0.01)
    assert not effect.args["faster"]
    assert effect.args["place"].args["value"].value < 0.5
    assert effect.args["delivered"] < effect.args["of_longest"]


def test_periods_that_change_nothing_are_said_to():
    results = sweeps.make(extra={"period": ("0.1", "0.02")})
    found = UNIT.find(results)
    periods = found.answer[-1]
    assert periods.args["longest"] == Chosen(0.1, "s")
    assert periods.args["effects"] == []


def test_platforms_are_compared_over_all_steps():
    results = sweeps.make(
        {("bare",): Sweep(), ("docker",): Sweep(speed=28e9 * 0.95)}, platforms=("bare", "docker")
    )
    found = UNIT.find(results)
    platforms = found.answer[-1]
    assert (template(platforms), platforms.args["reference"]) == (": {platforms | listing}", "bare")
    [docker] = platforms.args["platforms"]
    assert docker.args["platform"] == "docker"
    assert docker.args["ratio"].value == pytest.approx(0.95, abs=0.01)
    assert docker.args["steps"] == 20
    subjects = [
        one.args["subject"] for one in found.summary if template(one) == "{subject}: {said}"
    ]
    assert len(subjects) == 2
    of_docker = subjects[1].args
    assert (of_docker["workload"], of_docker["workers"]) == ("linpack (size 1000)", 2)
    assert of_docker["platform"] == "docker"


@pytest.mark.parametrize("trials", [1, 7])
def test_the_tables_have_a_row_for_each_step_range_and_model(trials):
    found = UNIT.find(sweeps.make(workers=1, trials=trials))
    points, ranges, models = (lay(table) for table in found.tables)
    assert len(points.rows) == 20
    assert len(ranges.rows) == 2
    assert [row[0] for row in models.rows] == ["requested", "delivered"]
    titles = [head.title for head in points.heads]
    assert "thermal throttles" not in titles
    assert "periods throttled" in titles


def test_estimates_have_the_figures_of_calibrates_table():
    found = UNIT.find(sweeps.make())
    by_name = {e.name: e for e in found.estimates}
    slope = by_name["slope (asked)"]
    assert slope.low < 28e9 < slope.high
    assert slope.n == 140
    for name in ("intercept (asked)", "r2 (asked)", "p (asked)", "maximum (asked)"):
        assert by_name[name].value is not None


def test_what_never_rises_is_said_so():
    flat = Sweep(efficiency=lambda q: 0.1 / q, noise=0.003)
    found = UNIT.find(sweeps.make(flat))
    assert found.verdict == "no"
    assert template(found.summary[0]) == "any step ("


def test_noise_is_no_unfairness():
    found = UNIT.find(sweeps.make(Sweep(noise=0.15), trials=3))
    assert ". Values at" not in templates(found.answer)


def test_a_busy_machine_is_named_where_nothing_is_decided():
    rng = np.random.default_rng(3)
    had = {q: float(rng.uniform(0.2, 0.8)) for q in sweeps.QUOTAS}
    found = UNIT.find(sweeps.make(Sweep(withheld=lambda q: had[q], noise=0.2), trials=3))
    assert found.verdict == "inconclusive"
    lost = args(found.summary, "CPU time due")["lost"]
    assert lost.value == pytest.approx(np.mean([*had.values()]), abs=0.02)
    assert not [id_ for id_ in templates(found.answer) if id_.startswith("calibration.half")]
    assert "usable CPU time" not in templates(found.caveats)


def test_a_few_steps_cannot_tell_and_say_what_would():
    found = UNIT.find(sweeps.make(Sweep(noise=0.2), quotas=(0.5, 1, 1.5, 2), trials=2))
    assert found.verdict == "inconclusive"
    assert args(found.summary, "a line from") == {"steps": 4, "fewest": 5}
    assert template(args(found.answer, "for CPU time")["meaning"]) == (
        "all requested CPU time was delivered"
    )
