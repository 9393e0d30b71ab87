"""What the page says first of a sweep, and that it says nothing else of it."""

from __future__ import annotations

import numpy as np
import pytest
import sweeps
import synthetic
from sweeps import Sweep

from tare.findings.answers import all_findings
from tare.findings.calibration import UNIT
from tare.findings.headline import headline
from tare.render.tables import lay
from tare.render.words import paragraph, text
from tare.results.message import Chosen

FOUR_CPUS = [round(0.1 * n, 1) for n in range(1, 41)]


def test_it_is_the_first_answer_and_no_cells_are_compared():
    results = sweeps.make()
    found = all_findings(results)
    assert [f.name for f in found] == ["calibration"]
    assert tuple(headline(results, found)[: len(found[0].summary)]) == found[0].summary


def test_other_experiments_are_not_asked():
    assert UNIT.find(synthetic.make(trials=6)) is None


def test_a_line_is_a_yes_and_what_that_means_is_said():
    found = UNIT.find(sweeps.make())
    assert found.verdict == "yes"
    for words in (
        "one line from 0.1 to 2 CPUs",
        "R² = 0.999",
        "Half of the CPU is half of the speed",
    ):
        assert words in paragraph(found.summary)
    assert "all requested CPU time was delivered" in paragraph(found.answer)
    assert found.basis == "throughput (self)"


def test_several_lines_are_a_no_with_their_ranges_and_the_cause():
    results = sweeps.make(
        sweeps.h90(), quotas=FOUR_CPUS, workers=4,
        facts={"cpus": 4, "driver": "intel_pstate", "governor": "powersave"},
    )  # fmt: skip
    found = UNIT.find(results)
    assert found.verdict == "no"
    for words in (
        "Piecewise: 3 lines, 0.1 to 0.5 CPUs, 0.6 to 2.8 CPUs, 2.9 to 4 CPUs",
        "breaks at 0.55 and 2.85",
        "alf of the CPU is not half of the speed",
        "0.6 to 2.8 CPUs: Each CPU does 80 % less",
        "800 MHz",
    ):
        assert words in paragraph(found.summary)
    assert "the CPU is slower where the line bends" in paragraph(found.answer)


def test_a_ceiling_where_threads_end_is_as_linear_as_can_be():
    found = UNIT.find(sweeps.make(workers=1))
    assert found.verdict == "yes"
    assert "from 1 CPU on, more CPU gives no more speed" in paragraph(found.summary)
    assert "as expected" in paragraph(found.answer)
    assert "no more can be used" in paragraph(found.answer)
    early = UNIT.find(sweeps.make(Sweep(usable=1.2)))
    assert early.verdict == "no"


def test_what_did_not_arrive_is_told_apart_from_a_slow_cpu():
    found = UNIT.find(sweeps.make(Sweep(withheld=lambda q: 0.5 if q > 1 else 0.0)))
    assert "not all requested CPU time was delivered" in paragraph(found.answer)


def test_a_high_r2_of_several_lines_is_named_as_such():
    found = UNIT.find(sweeps.make(Sweep(efficiency=lambda q: 0.85 if q > 1 else 1.0)))
    assert "although R² = 0.9" in paragraph(found.answer)


def test_too_few_steps_are_told_and_not_concluded_from():
    found = UNIT.find(sweeps.make(quotas=(0.5, 1, 2)))
    assert found.verdict == "nothing to compare"
    assert "3 steps of CPU" in paragraph(found.answer)


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
    assert periods.id == "calibration.periods"
    assert periods.args["longest"] == Chosen(0.1, "s")
    [effect] = periods.args["effects"]
    assert effect.args["period"] == Chosen(0.005, "s")
    assert effect.args["change"].value == pytest.approx(0.07, abs=0.01)
    assert not effect.args["faster"]
    assert effect.args["cpus"].value < 0.5
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
    assert (platforms.id, platforms.args["reference"]) == ("calibration.platforms", "bare")
    [docker] = platforms.args["platforms"]
    assert docker.args["platform"] == "docker"
    assert docker.args["ratio"].value == pytest.approx(0.95, abs=0.01)
    assert docker.args["steps"] == 20
    subjects = [one.args["subject"] for one in found.summary if one.id == "calibration.of"]
    assert len(subjects) == 2
    assert "linpack (size 1000), 2 workers, on docker" in text(subjects[1])


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
    assert "more CPU gives no more speed at any step" in paragraph(found.summary)


def test_noise_is_no_unfairness():
    found = UNIT.find(sweeps.make(Sweep(noise=0.15), trials=3))
    assert "is not half of the speed" not in paragraph(found.answer)


def test_a_busy_machine_is_named_where_nothing_is_decided():
    rng = np.random.default_rng(3)
    had = {q: float(rng.uniform(0.2, 0.8)) for q in sweeps.QUOTAS}
    found = UNIT.find(sweeps.make(Sweep(withheld=lambda q: had[q], noise=0.2), trials=3))
    assert found.verdict == "inconclusive"
    assert "of the CPU time due" in paragraph(found.summary)
    assert "half of the speed" not in paragraph(found.answer)
    assert not any("usable CPU time was not delivered" in told for told in found.caveats)


def test_a_few_steps_cannot_tell_and_say_what_would():
    found = UNIT.find(sweeps.make(Sweep(noise=0.2), quotas=(0.5, 1, 1.5, 2), trials=2))
    assert found.verdict == "inconclusive"
    assert "Measure at 5 or more" in paragraph(found.summary)
    assert "slower CPU" not in paragraph(found.answer)
