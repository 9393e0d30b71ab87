"""Comparisons against scripted agents: when they stop, what is compared, going on later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import scripted
import synthetic
from said import template
from scripted import MACHINE, Behaviour, Stage, prepare

from tare.agent import record
from tare.experiment import journal, plan, plan_file, store
from tare.experiment.findings.judgement import Difference, differences, earlier_ends
from tare.experiment.findings.pairing import _estimate, compared_cells, stopping_rule
from tare.experiment.session import budget
from tare.experiment.session.resume_state import past
from tare.experiment.specification import Experiment, Stopping
from tare.experiment.store.collector import Collector
from tare.features.measure.comparison import report
from tare.render.words import text
from tare.results.columns import Columns
from tare.results.message import Chosen, Message, Ratio, message
from tare.results.verdict import EQUIVALENT, HIGHER, INCONCLUSIVE
from tare.statistics.sequential import compare_sequentially
from tare.workloads.specification import WorkloadSpec

WALL = ("wall_ns", "around")


class Listener:
    """Progress of which only the running estimate is kept."""

    def __init__(self) -> None:
        self.estimates: list[str] = []

    def stage(self, what: str) -> None: ...

    def note(self, message: str) -> None: ...

    def begins(self, *, serves: bool, application: bool) -> None: ...

    def planned(self, trials: int | None, seconds: float | None) -> None: ...

    def running(self, estimate: str) -> None:
        self.estimates.append(estimate)

    def ended(self, *_: Any) -> None: ...


def commands(*names: str) -> tuple[WorkloadSpec, ...]:
    return tuple(WorkloadSpec(name=name, command=(name,)) for name in names)


def experiment(**changes: Any) -> Experiment:
    given: dict[str, Any] = {
        "name": "test",
        "question": "?",
        "workloads": commands("old", "new"),
        "factors": {"platform": ("bare",)},
        "stopping": Stopping(compare="workload", budget_s=60.0),
    }
    return Experiment(**(given | changes))


def taking(spread: float, **factors: float) -> Behaviour:
    """Let each command take so many times 10 ms, give or take the spread."""
    rng = np.random.default_rng(1)

    def behave(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | str:
        assert isinstance(job.workload, record.Command)
        factor = factors.get(job.workload.argv[0], 1.0)
        if factor == 0:
            return "exit 3"
        return {WALL: 1e7 * factor * float(np.exp(spread * rng.standard_normal()))}

    return behave


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Conduct a session and return its journal, its differences, and what progress was told."""
    folder = prepare(monkeypatch, tmp_path)

    def conduct(asked: Experiment, behaviour: Behaviour) -> Any:
        made = plan.make(asked, plan.cells(asked, MACHINE))
        plan_file.write(made, folder)
        listener = Listener()
        collector = Collector(folder, made)
        done = past(collector.lines())
        done.values = collector.values(made.metric)
        scripted.conduct(
            monkeypatch,
            Stage(behaviour),
            collector,
            listener,
            stopping_rule(made, listener.running),
            done,
            first_look=0,
        )
        lines = list(journal.read_all(folder))
        measured = collector.results()
        # What was collected is what is written.
        assert [*measured.trial_table.records()] == [*store.load(folder).trial_table.records()]
        return lines, differences(measured), listener.estimates

    return conduct


def stops(lines: list[journal.Line]) -> list[journal.Stop]:
    return [line for line in lines if isinstance(line, journal.Stop)]


def test_a_clear_difference_stops_at_the_first_looks(session: Any) -> None:
    lines, found, told = session(experiment(), taking(0.01, new=1.2))
    assert {stop.reason for stop in stops(lines)} == {"decided"}
    assert len({stop.trials for stop in stops(lines)}) == 1
    assert stops(lines)[0].trials < 12
    assert stops(lines)[0].target is None
    (d,) = found
    assert d.comparison.verdict == HIGHER
    assert d.comparison.n == stops(lines)[0].trials
    assert told
    assert told[-1].startswith("new +")


def test_what_was_safe_for_the_rule_is_what_is_read(session: Any) -> None:
    lines, (d,), told = session(experiment(), taking(0.03, new=1.001))
    assert stops(lines)[-1].reason == "decided"
    assert d.comparison.verdict != INCONCLUSIVE
    assert d.comparison.more_pairs is None
    assert told[-1].split(" ", 1)[1] == d.ratio


def test_the_same_program_twice_ends_as_the_same(session: Any) -> None:
    _, (d,), _ = session(experiment(), taking(0.01))
    assert d.comparison.verdict == EQUIVALENT
    assert d.gate(0.03) == "pass"


def test_a_budget_that_ends_is_an_answer_with_what_is_missing(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave, clock = taking(0.8), SimpleNamespace(now=0.0)

    def behave_for_5_ms(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | str:
        clock.now += 0.005
        return behave(job, worker)

    # A busy machine must not leave fewer pairs within the budget.
    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: clock.now))
    asked = experiment(stopping=Stopping(compare="workload", budget_s=0.2))
    lines, (d,), _ = session(asked, behave_for_5_ms)
    assert 7 <= d.comparison.n <= 20
    assert {stop.reason for stop in stops(lines)} == {"budget"}
    assert d.comparison.verdict == INCONCLUSIVE
    assert d.comparison.more_pairs
    assert d.comparison.more_pairs > d.comparison.n
    assert template(d.further) == "it{% if time %}"


def test_a_gate_stops_where_it_is_answered(session: Any) -> None:
    gated = experiment(stopping=Stopping(compare="workload", gate=0.5))
    lines, (d,), _ = session(gated, taking(0.2))
    assert {stop.reason for stop in stops(lines)} == {"decided"}
    assert d.gate(0.5) == "pass"
    assert stops(lines)[0].trials < 100


def test_a_command_that_always_fails_ends_the_other(session: Any) -> None:
    lines, found, _ = session(experiment(), taking(0.01, new=0))
    assert {stop.cell: stop.reason for stop in stops(lines)} == {0: "alone", 1: "failed"}
    why = message(
        "{% if trials == 1 %}the only trial{% else %}all {trials} trials{% endif %}"
        "{% if levels %} {on} {levels | listing}{% endif %} failed",
        trials=10,
        levels=["new"],
        on="of",
    )
    assert found == message("nothing is compared: {why}", why=why)


def test_what_may_fail_by_chance_gets_few_tries_once_the_budget_is_spent(session: Any) -> None:
    asked = experiment(stopping=Stopping(compare="workload", budget_s=1e-3))
    lines, found, _ = session(asked, taking(0.01, new=0))
    assert {stop.cell: stop.reason for stop in stops(lines)}[1] == "failed"
    why = message(
        "{% if trials == 1 %}the only trial{% else %}all {trials} trials{% endif %}"
        "{% if levels %} {on} {levels | listing}{% endif %} failed",
        trials=3,
        levels=["new"],
        on="of",
    )
    assert found == message("nothing is compared: {why}", why=why)


def test_a_reference_that_always_fails_is_not_replaced(session: Any) -> None:
    asked = experiment(workloads=commands("old", "new", "newer"))
    _, found, _ = session(asked, taking(0.01, old=0))
    assert isinstance(found, Message)


def test_several_commands_share_the_error_and_stop_together(session: Any) -> None:
    asked = experiment(workloads=commands("old", "new", "newer"))
    lines, found, _ = session(asked, taking(0.01, newer=1.1))
    assert [d.second for d in found] == ["new", "newer"]
    assert {d.first for d in found} == {"old"}
    assert {d.comparison.confidence for d in found} == {0.975}
    assert [d.comparison.verdict for d in found] == [EQUIVALENT, HIGHER]
    assert len({stop.trials for stop in stops(lines)}) == 1


def test_a_fixed_number_of_pairs_is_not_peeked_at(session: Any) -> None:
    asked = experiment(stopping=Stopping(compare="workload", trials=12, budget_s=None))
    lines, (d,), _ = session(asked, taking(0.01, new=1.5))
    assert {stop.reason for stop in stops(lines)} == {"fixed"}
    assert d.comparison.n == 12
    assert d.looks == ()
    assert d.counted == message(
        "{pairs | counted('pair')}, number fixed beforehand", pairs=d.comparison.n
    )


def test_a_number_that_was_raised_after_a_verdict_is_said_to(session: Any) -> None:
    for trials in (12, 20):
        asked = experiment(stopping=Stopping(compare="workload", trials=trials, budget_s=None))
        _, (d,), _ = session(asked, taking(0.01, new=1.5))
    assert d.counted == message(
        "{pairs | counted('pair')}, number raised after {verdicts | counted('earlier verdict')}",
        pairs=20,
        verdicts=1,
    )


def test_going_on_counts_the_pairs_of_before(session: Any) -> None:
    short = experiment(stopping=Stopping(compare="workload", budget_s=0.05))
    _, (before,), _ = session(short, taking(0.25))
    # So narrow a gate takes more pairs than the first session has time for.
    longer = experiment(stopping=Stopping(compare="workload", gate=0.1, budget_s=60.0))
    _, (after,), _ = session(longer, taking(0.25))
    assert before.comparison.verdict == INCONCLUSIVE
    assert after.gate(0.1) == "pass"
    assert after.comparison.n >= before.comparison.n


def test_going_on_after_an_end_says_what_it_costs(session: Any, tmp_path: Path) -> None:
    short = experiment(stopping=Stopping(compare="workload", budget_s=0.05))
    session(short, taking(0.8))
    session(short, taking(0.8))
    results = store.load(tmp_path / "results")
    assert earlier_ends(results) == 1
    from tare.experiment.findings.difference import find

    finding = find(results)
    assert finding is not None
    before = message(
        "the comparison was also judged at the end of "
        "{sessions | counted('earlier session')}. The probability of any false alarm is "
        "not {error} but up to {most}",
        sessions=1,
        error=Chosen(0.05),
        most=Chosen(0.1),
    )
    assert finding.caveats == (before,)
    found = differences(results)
    assert not isinstance(found, Message)
    made = report.make(results, found, ended="budget", gate=None)
    assert made.caveats == (before,)
    assert made.figures["judged_before"] == before


def test_the_running_estimate_keeps_its_interval() -> None:
    rng = np.random.default_rng(3)
    a = plan.cells(experiment(), MACHINE)[1]
    first, second = np.exp(rng.normal(0, 0.3, (2, 60)))
    found = compare_sequentially(first, second)
    known = [look for look in found.looks if look.low is not None]
    empty = replace(known[-1], n=61, level=0.0, low=None, high=None)
    c = replace(found.comparison, ratio=10.0, low=None, high=None)
    silent = replace(found, comparison=c, looks=(*found.looks, empty))
    ratio = _estimate("workload", a, silent, None).args["ratio"]
    assert ratio == Ratio(known[-1].high, known[-1].low, known[-1].high)


def test_any_factor_can_be_compared() -> None:
    asked = experiment(
        workloads=commands("one"),
        factors={"platform": ("unshare", "bare"), "workers": (1, 2)},
        stopping=Stopping(compare="platform"),
    )
    cells = plan.cells(asked, MACHINE)
    pairs = [(a.levels(), b.levels()) for a, b in compared_cells(cells, "platform")]
    assert [(a["platform"], b["platform"]) for a, b in pairs] == [("bare", "unshare")] * 2
    assert [a["workers"] for a, _ in pairs] == [b["workers"] for _, b in pairs] == ["1", "2"]


def test_values_of_zero_are_refused_in_words(session: Any) -> None:
    asked = experiment(stopping=Stopping(compare="workload", trials=7, budget_s=None))
    _, found, _ = session(asked, lambda job, worker: {WALL: 0.0})
    assert isinstance(found, Message)
    assert template(found) == "nothing is compared: {why}"
    assert "some values are 0" in text(found)
    assert "new − old: 0.0 ns" in text(found)


def test_a_difference_is_told_in_words(session: Any) -> None:
    _, (d,), _ = session(experiment(), taking(0.01, new=1.2))
    assert isinstance(d, Difference)
    assert template(d.answer) == "{first}{% if margin %}"
    told = d.answer.args
    assert (told["second"], told["first"], told["verdict"]) == ("new", "old", "slower")
    assert told["ratio"].low > 1


def sh(line: str) -> tuple[str, ...]:
    return "sh", "-c", line


@pytest.mark.parametrize(
    ("first", "second", "kind", "is_noted"),
    [
        (("./make",), ("./use",), "exit", True),
        (sh("rm file"), sh("sort file"), "check", True),
        (("./make",), ("./use",), "signal", False),
        (("./make",), ("./use",), "timeout", False),
        (("/base/bench", "1"), ("/head/bench", "1"), "exit", False),
        (sh("sort a"), sh("sort b"), "exit", False),
    ],
)
def test_the_random_order_is_noted_where_another_program_may_explain_a_failure(
    first: tuple[str, ...], second: tuple[str, ...], kind: str, is_noted: bool
) -> None:
    made = synthetic.make(
        lambda levels: synthetic.Behaviour(failing=0.4 if levels["workload"] == "b" else 0.0),
        workloads=("a", "b"), platforms=("bare",), workers=(1,), trials=20,
        stopping=Stopping(compare="workload", trials=20),
    )  # fmt: skip
    workloads = tuple(WorkloadSpec(name=n, command=c) for n, c in (("a", first), ("b", second)))
    failed = made.trial_table.where(status="failed")["trial"].tolist()
    assert 0 < len(failed) < 20
    faults = [(trial, kind, "failed", None) for trial in failed]
    results = replace(
        made,
        experiment=msgspec.structs.replace(made.experiment, workloads=workloads),
        faults=Columns.of_rows(("trial", "kind", "message", "evidence"), faults),
    )
    noted = report._random_order(results)
    assert (noted is not None) == is_noted
