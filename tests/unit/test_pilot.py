"""How long an experiment takes, from a few of its trials: against times that are known."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tare.experiment import journal, pilot, plan
from tare.experiment.pilot import Forecast, Took, Trial
from tare.experiment.placement import Machine
from tare.experiment.specification import Experiment, NetworkSpec, Stopping
from tare.workloads.specification import WorkloadSpec

HERE = Machine(
    spread=(0, 1), compact=(0, 1), steps=(1, 2), cores=2, packages=1, memory_bytes=8 << 30
)
LEVELS = {
    "platform": ("bare", "docker", "vm"),
    "size": ("0.25c", "1c", "all"),
    "workers": (1, 2),
}


def asked(**changes: Any) -> Experiment:
    workload = WorkloadSpec(name="null", kernel="null")
    given: dict[str, Any] = {
        "name": "x", "question": "?", "workloads": (workload,), "factors": LEVELS,
        "instances": "shared",
    }  # fmt: skip
    return Experiment(**(given | changes))


def took(trials: list[Trial], **given: Any) -> Took:
    rest: dict[str, Any] = {"starts_s": {}, "stops_s": {}}
    return Took(trials=trials, **(rest | given))


#: Of a trial, by level: they multiply.
SECONDS = {"bare": 0.2, "docker": 0.3, "vm": 4.0, "0.25c": 4.0, "1c": 1.0, "all": 1.0, 1: 1, 2: 1.5}


def seconds(cell: Any) -> float:
    return SECONDS[cell.platform] * SECONDS[cell.size] * SECONDS[cell.workers]


def test_the_first_cells_have_every_level_and_are_few() -> None:
    cells = plan.cells(asked(), HERE)
    chosen = pilot.first_cells(asked(), cells)
    every = {level for cell in cells for level in cell.levels().items()}
    assert {level for cell in chosen for level in cell.levels().items()} == every
    assert len(chosen) == 1 + 2 + 2 + 1 < len(cells) == 18
    # They differ from one that is given most in one level each.
    assert [c.size for c in chosen].count("all") == len(chosen) - 2


def test_levels_multiply() -> None:
    experiment = asked()
    cells = plan.cells(experiment, HERE)
    chosen = pilot.first_cells(experiment, cells)
    found = took([Trial(c.cell, seconds(c), 0.0) for c in chosen])
    longest = pilot.longest_cell(cells, found)
    assert longest is not None
    other = took([Trial(longest.cell, seconds(longest), 0.0)])
    sessions = [(found, 30.0), (other, 9.0)]
    forecast = pilot.forecast(experiment, cells, HERE, sessions, probes_s=10.0)
    assert forecast.block_s == pytest.approx(sum(map(seconds, cells)))
    assert (forecast.executed, forecast.cells) == (7, 18)
    assert forecast.trials_s == pytest.approx([seconds(cell) for cell in cells])
    assert forecast.once_s == pytest.approx(30 - sum(map(seconds, chosen)) + 10)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_levels_add_or_multiply_as_the_longest_cell_says(share: float) -> None:
    factors = {"a": ("0.01", "1", "3"), "b": ("0.01", "3")}
    cells = plan.cells(asked(factors=factors), HERE)

    def seconds(cell: Any) -> float:
        a, b = float(cell.others["a"]), float(cell.others["b"])
        return float((a + b) ** (1 - share) * (a * b / 0.01) ** share)

    experiment = asked(factors=factors)
    first = took([Trial(c.cell, seconds(c), 0.0) for c in pilot.first_cells(experiment, cells)])
    longest = pilot.longest_cell(cells, first)
    assert longest is not None
    assert longest.others == {"a": "3", "b": "3"}
    second = took([Trial(longest.cell, seconds(longest), 0.0)])
    forecast = pilot.forecast(experiment, cells, HERE, [(first, 0.0), (second, 0.0)], 0.0)
    assert forecast.block_s == pytest.approx(sum(map(seconds, cells)), rel=0.1)
    done = took([Trial(c.cell, seconds(c), 0.0) for c in cells])
    assert pilot.longest_cell(cells, done) is None


def test_a_level_that_was_not_executed_is_like_the_others_in_any_unit() -> None:
    experiment = asked(factors={"platform": ("bare", "docker")})
    cells = plan.cells(experiment, HERE)
    for seconds in (0.01, 366.0):
        found = took([Trial(0, seconds, 0.0)])
        forecast = pilot.forecast(experiment, cells, HERE, [(found, 0.0)], 0.0)
        assert forecast.block_s == pytest.approx(2 * seconds)


def test_the_last_trial_of_a_cell_is_what_it_takes_and_starts_come_once() -> None:
    experiment = asked(factors={"platform": ("bare", "docker"), "workers": (1, 2)})
    cells = plan.cells(experiment, HERE)
    trials = [Trial(c.cell, s, 0.5) for s in (3.0, 1.0) for c in cells]
    found = took(trials, starts_s={"bare": 0.1, "docker": 0.5}, stops_s={"docker": 0.25})
    forecast = pilot.forecast(experiment, cells, HERE, [(found, 20.0)], 0.0)
    assert forecast.block_s == pytest.approx(4.0)
    # Two numbers of workers, each with an instance of its own.
    assert forecast.starts_s == pytest.approx(2 * 0.1 + 2 * 0.75)
    assert forecast.measuring_s(10) == pytest.approx(forecast.starts_s + 40)
    fresh = asked(fresh="trial", factors=experiment.factors)
    forecast = pilot.forecast(fresh, cells, HERE, [(found, 20.0)], 0.0)
    assert (forecast.block_s, forecast.starts_s) == (pytest.approx(6.0), 0.0)


def test_what_failed_tells_only_of_a_cell_that_has_nothing_else() -> None:
    experiment = asked(factors={"platform": ("bare", "docker")})
    cells = plan.cells(experiment, HERE)
    trials = [Trial(0, 0.1, 0.0, good=False), Trial(0, 3.0, 0.0), Trial(0, 2.0, 0.0)]
    trials += [Trial(1, 5.0, 0.0, good=False)]
    forecast = pilot.forecast(experiment, cells, HERE, [(took(trials), 20.0)], 0.0)
    assert forecast.trials_s == pytest.approx((2.0, 5.0))


def test_rests_come_with_every_trial() -> None:
    experiment = asked(
        factors={"network": ("none", "constant rate=1Gbit")}, rest_s=1.0,
        network=NetworkSpec(rest=5.0),
    )  # fmt: skip
    cells = plan.cells(experiment, HERE)
    found = took([Trial(c.cell, 1.0, 0.0) for c in cells])
    assert pilot.forecast(experiment, cells, HERE, [(found, 2.0)], 0.0).block_s == 2 * (1 + 1 + 5)


def test_a_budget_ends_after_whole_blocks() -> None:
    told = Forecast(block_s=3.0, starts_s=2.0, once_s=1.0, executed=1, cells=1)
    assert told.blocks(10.0) == 2
    assert told.blocks(1.0) == 0
    assert told.total_s(10, None) == 1 + 2 + 30
    assert told.total_s(10, 20.0) == 1 + 2 + 6 * 3
    assert told.total_s(2, 20.0) == 1 + 2 + 2 * 3
    probed = Forecast(block_s=3.0, starts_s=2.0, once_s=11.0, probes_s=10.0, executed=1, cells=1)
    assert probed.blocks(30.0) == 6
    assert probed.total_s(None, 30.0) == 31
    # Half of a budget is for trials.
    assert (probed.blocks(16.0), probed.total_s(10, 16.0)) == (2, 11 + 8)
    # By precision, the budget is the most that it takes.
    assert told.total_s(None, 20.0) == 21
    assert told.total_s(None, None) is None


def test_a_journal_tells_what_trials_and_starts_took() -> None:
    now = itertools.count(1_000_000_000, 1_000_000_000)

    def begun(cell: int, rehearsal: bool = False) -> journal.TrialStart:
        return journal.TrialStart(
            trial=1, block=0, position=0, cell=cell, levels={}, seed=0, repetitions=None,
            cpus=(None,), monotonic_ns=next(now), rehearsal=rehearsal,
        )  # fmt: skip

    def started(name: str, start_ns: int) -> journal.InstanceStart:
        return journal.InstanceStart(
            instance=name, platform="docker", size="all", pinning="none", cores=None, cpus=None,
            memory_bytes=None, workers=(0,), cold=True, start_ns=start_ns,
        )  # fmt: skip

    def ended(reason: str | None = None) -> journal.TrialEnd:
        status = "ok" if reason is None else "failed"
        return journal.TrialEnd(trial=1, status=status, reason=reason, monotonic_ns=next(now))

    found = pilot.read(
        [
            begun(0, rehearsal=True), ended(),
            begun(0), started("a", 300_000_000), started("b", 500_000_000), ended("it broke"),
            begun(1), ended(),
            journal.InstanceEnd(instance="a", stop_ns=250_000_000),
        ]
    )  # fmt: skip
    assert found.trials == [Trial(0, 0.5, 0.5, good=False), Trial(1, 1.0, 0.0)]
    assert found.starts_s == {"docker": pytest.approx(0.4)}
    assert found.stops_s == {"docker": 0.25}


def test_what_is_missing_takes_what_each_of_its_trials_took() -> None:
    """Two cells, of one and of three seconds, have two good trials and one."""
    told = Forecast(
        block_s=5.0, starts_s=2.0, once_s=1.0, trials_s=(1.0, 3.0), executed=2, cells=2, done=(2, 1)
    )
    assert told.left(3) == 3
    # A pause of half a second before each.
    assert told.measuring_s(3) == pytest.approx(2.0 + 1 * 1.5 + 2 * 3.5)
    assert told.total_s(3, None) == pytest.approx(1.0 + told.measuring_s(3))
    assert told.measuring_s(1) == 0.0
    assert told.blocks(12.0) == 1 + 2


def test_levels_without_a_trial_are_not_known() -> None:
    experiment = asked()
    cells = plan.cells(experiment, HERE)
    some = [Trial(c.cell, seconds(c), 0.0) for c in cells if c.platform != "vm" and c.workers == 1]
    known = pilot.forecast(experiment, cells, HERE, [(took(some), 30.0)], 10.0)
    assert known.unknown == {"platform": ("vm",), "workers": ("2",)}
    every = [Trial(c.cell, seconds(c), 0.0) for c in cells]
    assert pilot.forecast(experiment, cells, HERE, [(took(every), 99.0)], 10.0).unknown == {}


def test_pauses_between_trials_are_no_part_of_what_comes_once() -> None:
    experiment = asked(rest_s=2.0)
    cells = plan.cells(experiment, HERE)
    every = [Trial(c.cell, 1.0, 0.0) for c in cells]
    found = pilot.forecast(experiment, cells, HERE, [(took(every), 18 * 3.0 + 4.0)], 10.0)
    assert found.once_s == pytest.approx(14.0)
    assert found.block_s == pytest.approx(54.0)


def test_cells_of_workloads_that_take_some_levels_only_are_told_from_few() -> None:
    workloads = tuple(WorkloadSpec(name=name, kernel="null") for name in ("a", "b"))
    experiment = asked(workloads=workloads, only={"b": {"platform": ("bare", "docker")}})
    cells = plan.cells(experiment, HERE)
    chosen = pilot.first_cells(experiment, cells)
    every = {level for cell in cells for level in cell.levels().items()}
    assert {level for cell in chosen for level in cell.levels().items()} == every

    def lasting(cell: Any) -> float:
        return seconds(cell) * (5 if cell.workload.name == "b" else 1)

    sessions = [(took([Trial(c.cell, lasting(c), 0.0) for c in chosen]), 90.0)]
    longest = pilot.longest_cell(cells, sessions[0][0])
    assert longest is not None
    sessions += [(took([Trial(longest.cell, lasting(longest), 0.0)]), 90.0)]
    found = pilot.forecast(experiment, cells, HERE, sessions, 10.0)
    assert found.trials_s == pytest.approx([lasting(cell) for cell in cells])


@pytest.mark.parametrize(
    ("block_s", "trials", "budget_s"),
    [(5.0, 4, 15.0), (30.0, 20, 45.0), (30.0, 4, None), (200.0, 100, None)],
)
def test_all_cells_are_executed_where_that_is_little(
    block_s: float, trials: int, budget_s: float | None
) -> None:
    told = Forecast(block_s=block_s, starts_s=0.0, once_s=0.0, executed=1, cells=4)
    found = pilot.stopping_of_all(told, Stopping(trials=trials, budget_s=None))
    assert (None if found is None else found.budget_s) == budget_s
