"""Comparisons of commands of which some runs were killed at the time limit."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
import synthetic
from said import templates

from tare.cli import again
from tare.experiment.findings import trusted
from tare.experiment.findings.judgement import Difference, differences, lost
from tare.experiment.results import Results
from tare.experiment.samples import Samples
from tare.experiment.session.outcome import Outcome
from tare.experiment.session.resume_state import Past
from tare.experiment.session.session_state import Tally
from tare.experiment.specification import Cell, Stopping
from tare.features.measure.compare.command import compare
from tare.features.measure.comparison import report, session
from tare.features.measure.comparison.next_steps import next_step
from tare.features.measure.comparison.picture import picture
from tare.render import files
from tare.render.words import text
from tare.results.message import Message
from tare.wiring import SUPPLIES
from tare.workloads.specification import WorkloadSpec

MS = synthetic.MS


def compared(
    limit_ms: float,
    slower: float = 1.2,
    gate: float | None = 0.03,
    gate_on: str = "median",
    spread: float = 0.05,
    trials: int = 60,
) -> tuple[Difference, Results]:
    """Compare a reference of 100 ms with a candidate; runs above the limit are killed."""

    def behave(levels: dict[str, str]) -> synthetic.Behaviour:
        mean = 95 if levels["workload"] == "a" else 95 * slower
        return synthetic.Behaviour(mean * MS, spread)

    stopping = Stopping(compare="workload", trials=trials, gate=gate, gate_on=gate_on)
    made = synthetic.make(
        behave, workloads=("a", "b"), platforms=("bare",), workers=(1,), trials=trials,
        stopping=stopping,
    )  # fmt: skip
    results = synthetic.with_limit(made, limit_ms * MS) if limit_ms else made
    if not limit_ms:
        asked = msgspec.structs.replace(results.experiment, metric="wall_ns")
        results = Results(**{**vars_of(results), "experiment": asked})
    found = differences(results)
    assert not isinstance(found, Message)
    (d,) = found
    return d, results


def vars_of(results: Results) -> dict[str, object]:
    return {name: getattr(results, name) for name in Results.__dataclass_fields__}


@pytest.mark.parametrize("limit_ms", [122, 118, 112, 105])
def test_a_gate_that_fails_on_all_values_fails_with_killed_ones(limit_ms: float) -> None:
    whole, _ = compared(0)
    found, _ = compared(limit_ms)
    assert whole.gate(0.03) == "fail"
    assert sum(found.comparison.killed) > 0
    assert found.gate(0.03) == "fail"
    assert found.comparison.verdict.direction == whole.comparison.verdict.direction


def test_a_candidate_that_is_faster_passes_although_the_reference_is_killed() -> None:
    found, _ = compared(102, slower=0.8)
    assert found.comparison.killed[0] > 0
    assert found.gate(0.03) == "pass"


def test_runs_above_the_limit_on_one_side_are_counted_in_the_answer() -> None:
    found, _ = compared(115)
    killed = found.comparison.killed
    assert killed[0] == 0
    assert f"{killed[1]} of 60 runs of b exceeded 115 ms" in text(found.answer)
    assert f"{killed[1]} of 60 runs of b exceeded 115 ms" in text(found.gate_answer(0.03))
    assert len(text(found.answer).split()) <= 25
    assert found.failures is not None
    assert found.failures.two_sided is None


def test_runs_above_the_limit_on_both_sides_have_a_line_of_their_own() -> None:
    found, _ = compared(100, slower=1.05)
    assert all(found.comparison.killed)
    assert "exceeded" not in text(found.answer)
    assert found.failures is not None
    assert found.failures.two_sided is not None
    assert text(found.failures.two_sided).count("exceeded 100 ms") == 2


def test_all_runs_killed_on_both_sides_ask_for_a_longer_limit() -> None:
    found, results = compared(10)
    assert found.gate(0.03) == "inconclusive"
    assert found.needs_longer_limit(0.03)
    assert found.needs_longer_limit(None)
    assert "--timeout would settle" in templates(found.settle(0.03))
    assert not lost(results)
    assert picture(found) == ()
    assert all(np.isinf(median.estimate) for median in found.medians)
    assert [median.above for median in found.medians] == [10 * MS, 10 * MS]


def test_killed_runs_of_both_sides_have_no_effect_size() -> None:
    one_sided, _ = compared(115.0)
    assert "Effect" in [one.label for one in report._one(one_sided, None)]
    two_sided, _ = compared(60.0)
    assert "Effect" not in [one.label for one in report._one(two_sided, None)]


def test_all_runs_killed_before_any_source_recorded_them_are_above_the_limit() -> None:
    _, results = compared(60.0)
    unrecorded = replace(results, sample_table=Samples({}))
    assert not results.good
    assert unrecorded.sources("wall_ns") == ["around"]
    values = unrecorded.values("wall_ns")
    assert np.isposinf(values["value"]).all()
    assert set(values["above"].tolist()) == {60 * MS}


def test_too_few_pairs_ask_for_pairs_whatever_was_killed() -> None:
    found, _ = compared(10, trials=5)
    assert not found.needs_longer_limit(0.03)
    assert not found.needs_longer_limit(None)
    assert "not known" in text(found.answer)
    assert "needed for a" in templates(found.settle(None))


def test_medians_above_the_limit_are_not_trusted() -> None:
    _, results = compared(104)
    found = trusted.whole(results)
    assert found is not None
    assert (found.verdict, found.extent) == ("DOUBT", None)


def test_a_gate_on_the_mean_is_inconclusive_with_any_killed_run() -> None:
    found, _ = compared(118, gate_on="mean")
    assert found.gate(0.03) == "inconclusive"
    assert "mean is not" in templates(found.gate_answer(0.03))
    assert "--gate-on median" in text(found.settle(0.03))
    assert found.more_pairs(0.03) is None


@pytest.mark.parametrize("trials", [3, 5])
def test_of_few_pairs_whose_second_runs_are_all_killed_the_limit_bounds_the_ratio(trials) -> None:
    found, results = compared(103, slower=1.3, trials=trials, spread=0.01)
    assert found.comparison.killed == (0, trials)
    least = 103 * MS / found.first_values.max()
    assert found.extremes is not None
    assert found.extremes.low == pytest.approx(least)
    assert found.extremes.high == np.inf
    said = text(found.answer)
    assert f"at least +{100 * (least - 1):.1f} % (" in said
    assert f"slower in all {trials} pairs; {trials} of {trials} runs of b exceeded 103 ms" in said
    assert found.each_pair is None
    assert found.gate(0.03) == "inconclusive"
    encoded = files.encode(report.make(results, (found,), ended="finished", gate=0.03))
    (one,) = msgspec.json.decode(encoded)["comparisons"]
    assert one["extremes"]["ratio_ci"] == [pytest.approx(least), None]


@pytest.fixture
def compare_options() -> None:
    """Remember the options of tare compare, as its command line does."""
    again.remember(compare.names)


@pytest.mark.usefixtures("compare_options")
def test_after_a_mean_that_killed_runs_hide_a_gate_on_the_median_is_proposed(monkeypatch) -> None:
    found, results = compared(118, gate_on="mean")
    monkeypatch.setattr("sys.argv", ["tare", "compare", "--gate-on", "mean", "a", "b"])
    wanted = session.Execution(SUPPLIES, gate=0.03)
    step = next_step([found], results, wanted)
    assert step is not None
    assert step.command == "tare compare a b --gate-on median"


@pytest.mark.usefixtures("compare_options")
def test_an_open_gate_on_a_quantile_is_given_the_pairs_that_the_text_counts(monkeypatch) -> None:
    found, results = compared(400, gate_on="p90", slower=1.03)
    assert found.gate(0.03) == "inconclusive"
    assert found.further is not None
    pairs = found.more_pairs(0.03)
    assert pairs == found.further.args["pairs"]
    (one,) = report.make(results, (found,), ended="finished", gate=0.03).comparisons
    assert one.more_pairs == pairs
    monkeypatch.setattr("sys.argv", ["tare", "compare", "-n", "60", "--gate-on", "p90", "a", "b"])
    monkeypatch.setattr("tare.experiment.findings.causes.cpu_metric", lambda *_: None)
    wanted = session.Execution(SUPPLIES, gate=0.03)
    step = next_step([found], results, wanted)
    assert step is not None
    assert step.command.startswith("tare compare --gate-on p90 a b --budget ")


def test_a_gate_on_a_quantile_is_judged_by_bounds() -> None:
    found, _ = compared(115, gate_on="p90", slower=1.3, trials=80)
    assert found.gated is not None
    assert found.gated.high == np.inf
    assert found.gate(0.03) == "fail"


def test_the_json_has_open_bounds_as_null_and_says_so() -> None:
    found, results = compared(104, slower=1.2)
    (one,) = msgspec.json.decode(
        files.encode(report.make(results, (found,), ended="finished", gate=0.03))
    )["comparisons"]
    assert one["ratio_open"] == "high"
    assert one["ratio_ci"][0] > 1
    assert one["ratio_ci"][1] is None
    assert one["trials"][1]["killed"] == found.comparison.killed[1]
    assert one["trials"][1]["above_s"] == 0.104
    assert one["medians"][1]["above"] == 104 * MS
    assert one["values"][1].count(None) == found.comparison.killed[1]


CELLS = [
    Cell(cell=n, workload=WorkloadSpec(name=name, command=(name,), timeout_s=1.0))
    for n, name in enumerate("ab")
]


@pytest.fixture
def tally() -> Tally:
    return Tally(CELLS, Past(), "wall_ns")


def test_a_killed_trial_counts_and_is_not_given_up(tally: Tally) -> None:
    for block in range(20):
        tally.add(0, block, Outcome("killed", "exceeded its 1 s", 1.0))
        tally.add(1, block, Outcome("ok", None, 0.5, {"switch": 5e8, "around": 6e8}))
    assert tally.trials == {0: 20, 1: 20}
    assert tally.hopeless([0, 1]) == []
    values = tally.values([0, 1])
    assert [value for _, value in values[0]] == [np.inf] * 20
    assert [value for _, value in values[1]] == [5e8] * 20


def test_where_all_trials_are_killed_values_are_known_to_be_above(tally: Tally) -> None:
    for cell in (0, 1):
        tally.add(cell, 0, Outcome("killed", "exceeded its 1 s", 1.0))
    assert tally.values([0, 1]) == {0: [(0, np.inf)], 1: [(0, np.inf)]}


def test_other_metrics_of_a_killed_trial_are_absent(tally: Tally) -> None:
    tally.add(0, 0, Outcome("killed", "exceeded its 1 s", 1.0))
    also = {"memory_bytes": {"rusage": 5.0}}
    tally.add(0, 1, Outcome("ok", None, 0.5, {"switch": 5e8}, also))
    assert tally.values([0], "memory_bytes") == {0: [(1, 5.0)]}
    assert tally.values([0]) == {0: [(0, np.inf), (1, 5e8)]}


def test_crashes_still_give_a_cell_up(tally: Tally) -> None:
    for block in range(3):
        tally.add(0, block, Outcome("failed", "it crashed", 1.0))
        tally.add(1, block, Outcome("killed", "exceeded its 1 s", 1.0))
    assert tally.hopeless([0, 1]) == [0]
