"""However often a session is killed: every cell ends with n trials, none of them done twice."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import journals
import msgspec
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from tare.experiment import journal, plan
from tare.experiment.session.outcome import Outcome
from tare.experiment.session.resume_state import Past, past
from tare.experiment.session.session_state import Tally
from tare.experiment.specification import Cell, Experiment, Stopping
from tare.features.measure.run.work import total_trials
from tare.workloads.specification import WorkloadSpec

KERNEL = WorkloadSpec(name="a", kernel="null")
EXPERIMENT = Experiment(name="a", question="b?", workloads=(KERNEL,), factors={})


def session(lines: list[journal.Line], cells: list[Cell], n: int, killed_at: int | None) -> None:
    """Append what a session of a fixed n journals until it is killed in some trial."""
    before = past(lines)
    tally = Tally(cells, before, "kernel_cpu_ns")
    number, block = before.trials, before.blocks
    lines.append(
        journal.Session(
            version=plan.VERSION, session=before.sessions + 1, name="tare-000000", nonce=0,
            boot_id=None, started="", tare="0", agent_digest="", argv=(),
        )
    )  # fmt: skip
    while wanting := tally.wanting([cell.cell for cell in cells], n):
        for position, cell in enumerate(
            plan.block_order(EXPERIMENT, wanting, before.sessions, block)
        ):
            number += 1
            lines.append(
                journal.TrialStart(
                    trial=number, block=block, position=position, cell=cell,
                    levels=cells[cell].levels(), seed=1, repetitions=1, cpus=(None,),
                    monotonic_ns=number,
                )
            )  # fmt: skip
            if killed_at is not None and number - before.trials > killed_at:
                return
            lines.append(journal.TrialEnd(trial=number, status="ok", monotonic_ns=number))
            tally.add(cell, block, Outcome("ok", None, 0.1))
        block += 1


@given(st.integers(1, 4), st.integers(1, 5), st.lists(st.integers(0, 12), max_size=6))
def test_resuming_brings_every_cell_to_n_and_repeats_nothing(
    count: int, n: int, kills: list[int]
) -> None:
    cells = [Cell(cell=number, workload=KERNEL, workers=number + 1) for number in range(count)]
    lines: list[journal.Line] = []
    for killed_at in (*kills, None):
        session(lines, cells, n, killed_at)
    starts = {line.trial: line for line in lines if isinstance(line, journal.TrialStart)}
    ended = [line.trial for line in lines if isinstance(line, journal.TrialEnd)]
    assert len(starts) == sum(isinstance(line, journal.TrialStart) for line in lines)
    assert Counter(starts[trial].cell for trial in ended) == dict.fromkeys(range(count), n)
    places = [(starts[trial].block, starts[trial].cell) for trial in ended]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    ("good", "stopping", "complete"),
    [
        (5, Stopping(trials=5), True),
        (5, Stopping(trials=6), False),
        (5, Stopping(), False),
        (5, Stopping(compare="workload", budget_s=1.0), True),
        (5, Stopping(compare="workload", gate=0.1), False),
    ],
)
def test_what_is_complete_is_not_measured_again(
    good: int, stopping: Stopping, complete: bool
) -> None:
    before = Stopping(compare="workload") if stopping.compare else Stopping(trials=5)
    made = plan_of(stopping, KERNEL)
    found = Past(good={0: good, 1: good}, decided={0, 1})
    assert found.is_complete(made, before) == complete
    assert not Past(good={0: good}, decided={0}).is_complete(made, before)


def plan_of(stopping: Stopping, *workloads: WorkloadSpec) -> plan.Plan:
    experiment = Experiment(
        name="a", question="b?", workloads=workloads, factors={"workers": (1, 2)}, stopping=stopping
    )
    cells = [(workload, workers) for workload in workloads for workers in (1, 2)]
    return plan.Plan(
        experiment=experiment, metric="wall_ns",
        cells=tuple(
            Cell(cell=number, workload=workload, workers=workers)
            for number, (workload, workers) in enumerate(cells)
        ),
    )  # fmt: skip


def test_a_workload_with_fewer_trials_is_complete_with_these() -> None:
    few = msgspec.structs.replace(KERNEL, name="few", trials=2)
    made = plan_of(Stopping(trials=5), KERNEL, few)
    assert Past(good={0: 5, 1: 5, 2: 2, 3: 2}).is_complete(made, Stopping(trials=5))
    assert not Past(good={0: 5, 1: 4, 2: 2, 3: 2}).is_complete(made, Stopping(trials=5))
    assert not Past(good={0: 5, 1: 5, 2: 2, 3: 1}).is_complete(made, Stopping(trials=5))
    tally = Tally(made.cells, Past(good={0: 2, 1: 2, 2: 2, 3: 1}), "wall_ns")
    assert tally.wanting([0, 1, 2, 3], 5) == [0, 1, 3]
    assert [tally.missing(cell, 5) for cell in range(4)] == [3, 3, 0, 1]
    assert [tally.missing(cell, 1) for cell in range(4)] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("killed_at", "cut"), [(None, None), (3, None), (4, (1, 3)), (5, (2, 3)), (0, None)]
)
def test_a_block_that_was_cut_is_known(killed_at: int | None, cut: tuple[int, int] | None) -> None:
    cells = [Cell(cell=number, workload=KERNEL, workers=number + 1) for number in range(3)]
    lines: list[journal.Line] = []
    session(lines, cells, 4, killed_at)
    experiment = msgspec.structs.replace(EXPERIMENT, stopping=Stopping(trials=4))
    made = plan.Plan(experiment=experiment, metric="wall_ns", cells=tuple(cells))
    assert past(lines).cut_block(made) == cut
    whole = msgspec.structs.replace(
        made, experiment=msgspec.structs.replace(experiment, order="sequential")
    )
    assert past(lines).cut_block(whole) is None


def test_a_block_without_the_cells_that_were_given_up_was_not_cut() -> None:
    cells = [Cell(cell=number, workload=KERNEL, workers=number + 1) for number in range(3)]
    lines: list[journal.Line] = []
    session(lines, cells, 4, 5)
    experiment = msgspec.structs.replace(EXPERIMENT, stopping=Stopping(trials=4))
    made = plan.Plan(experiment=experiment, metric="wall_ns", cells=tuple(cells))
    (left,) = {0, 1, 2} - past(lines).last_block
    stop = journal.Stop(
        cell=left,
        trials=1,
        reason="failed",
        target=None,
        reached=None,
        more_trials=None,
        more_seconds=None,
    )
    assert past([*lines, stop]).cut_block(made) is None
    ended = journal.SessionEnd(ended="", reason="finished")
    assert past([*lines, ended]).cut_block(made) is None


@pytest.mark.parametrize(
    ("before", "asked", "total"),
    [
        (5, 5, 10),  # complete: as many more
        (5, 2, 7),
        (8, 8, 8),  # interrupted: what is missing
        (8, 3, 8),
        (8, 20, 20),
        (None, 4, 9),  # by precision
    ],
)
def test_a_fixed_number_completes_a_session_or_comes_on_top(
    before: int | None, asked: int, total: int, tmp_path: Path
) -> None:
    made = synthetic.make(trials=5)
    stopping = msgspec.structs.replace(made.experiment.stopping, trials=before, budget_s=9.0)
    experiment = msgspec.structs.replace(made.experiment, stopping=stopping)
    out = journals.write(dataclasses.replace(made, experiment=experiment), tmp_path / "out")
    assert total_trials(asked, out) == total
    assert total_trials(asked, tmp_path / "new") == asked
