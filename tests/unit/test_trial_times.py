"""What is left of a session, from simulated durations that are known."""

from __future__ import annotations

import math
import random

import pytest

from tare.experiment import journal, plan
from tare.experiment.session.budget import Budget
from tare.experiment.session.outcome import Outcome
from tare.experiment.session.resume_state import past
from tare.experiment.session.session_state import Tally
from tare.experiment.specification import Cell, Experiment, Stopping
from tare.experiment.trial_times import Trial, TrialTimes
from tare.workloads.specification import WorkloadSpec

SERVICE = WorkloadSpec(name="service", kernel="null", trials=4)
COMMAND = WorkloadSpec(name="command", kernel="null")
ENDLESS = Budget(None)
#: Of a trial, and of the start of an instance.
SECONDS = {"service": 30.0, "command": 2.0}
FACTORS = {"bare": 1.0, "docker": 1.2, "vm": 1.5}
STARTS_S = {"bare": 0.0, "docker": 0.5, "vm": 6.0}
N = 10


def cells() -> tuple[Cell, ...]:
    """Services have fewer trials, and are not executed on all platforms."""
    pairs = [(SERVICE, p) for p in ("bare", "docker")]
    pairs += [(COMMAND, p) for p in ("bare", "docker", "vm")]
    return tuple(
        Cell(cell=number, workload=workload, platform=platform, size=size)
        for number, (workload, platform, size) in enumerate(
            (*pair, size) for pair in pairs for size in ("1c", "2c")
        )
    )


class Simulated:
    """An experiment whose trials take as long as is known."""

    def __init__(self, fresh: str = "session") -> None:
        self.cells = cells()
        self.experiment = Experiment(
            name="x", question="?", workloads=(SERVICE, COMMAND), factors={}, fresh=fresh,
            stopping=Stopping(trials=N),
        )  # fmt: skip
        self.lines: list[journal.Line] = []
        self.now_ns = 0
        self.random = random.Random(1)

    def session(self, trials: int) -> tuple[float | None, float]:
        """Execute some trials; return what is said to be left before the next, and what was left.

        With one trial or more, it is said after the first.
        """
        before = past(self.lines)
        tally = Tally(self.cells, before, "wall_ns")
        number, block = before.trials, before.blocks
        self.lines.append(
            journal.Session(
                version=plan.VERSION, session=before.sessions + 1, name="tare-000000", nonce=0,
                boot_id=None, started="", tare="0", agent_digest="", argv=(),
            )
        )  # fmt: skip
        started: set[str] = set()
        said: float | None = None
        after_s = 0.0
        while wanting := tally.wanting([cell.cell for cell in self.cells], N):
            for cell in self.random.sample(wanting, len(wanting)):
                if said is not None and number - before.trials >= trials:
                    self.lines.append(self.begun(number + 1, block, cell))
                    return said, after_s
                number += 1
                seconds, starts_s = self.execute(number, block, cell, started)
                tally.add(cell, block, Outcome("ok", None, seconds), 0.0, starts_s)
                if said is None:
                    said = tally.seconds_left(self.experiment, ENDLESS)
                else:
                    after_s += seconds
            block += 1
        return said, after_s

    def begun(self, number: int, block: int, cell: int) -> journal.TrialStart:
        return journal.TrialStart(
            trial=number, block=block, position=0, cell=cell, levels=self.cells[cell].levels(),
            seed=1, repetitions=1, cpus=(None,), monotonic_ns=self.now_ns,
        )  # fmt: skip

    def execute(self, number: int, block: int, cell: int, started: set[str]) -> tuple[float, float]:
        platform, name = self.cells[cell].platform, self.cells[cell].workload.name
        self.lines.append(self.begun(number, block, cell))
        seconds = SECONDS[name] * FACTORS[platform] * self.random.uniform(0.95, 1.05)
        starts_s = 0.0
        if platform not in started or self.experiment.fresh == "trial":
            starts_s = STARTS_S[platform]
            started.add(platform)
            self.lines.append(
                journal.InstanceStart(
                    instance="a", platform=platform, size="1c", pinning="none", cores=None,
                    cpus=None, memory_bytes=None, workers=(0,), cold=True,
                    start_ns=round(starts_s * 1e9),
                )
            )  # fmt: skip
        self.now_ns += round((seconds + starts_s) * 1e9)
        self.lines.append(journal.TrialEnd(trial=number, status="ok", monotonic_ns=self.now_ns))
        return seconds + starts_s, starts_s


@pytest.mark.parametrize("fresh", ["session", "trial"])
@pytest.mark.parametrize("before", [[], [6], [10], [23], [40], [7, 12], [3, 3, 30]])
def test_after_a_resume_the_time_left_is_what_trials_took(before: list[int], fresh: str) -> None:
    simulated = Simulated(fresh)
    for trials in before:
        simulated.session(trials)
    said, truth_s = simulated.session(10**6)
    assert said is not None
    if before:
        assert said == pytest.approx(truth_s, rel=0.25)


def test_before_all_workloads_were_seen_one_stands_for_the_other() -> None:
    times = TrialTimes()
    times.add(Trial(0, 30.0, 0.0))
    times.add(Trial(6, 2.0, 0.0))
    # A service on docker is like one on bare, a command on bare like one on docker.
    found = times.each_s(cells(), {2: 1, 4: 1}, fresh=False)
    assert found[2] == pytest.approx(30, rel=0.25)
    assert found[4] == pytest.approx(2, abs=2)


def test_what_failed_tells_only_where_nothing_was_good() -> None:
    times = TrialTimes()
    times.add(Trial(0, 1.0, 0.0, good=False))
    assert times.each_s(cells(), {0: 1}, fresh=False) == {0: 1.0}
    times.add(Trial(0, 30.0, 0.0))
    assert times.each_s(cells(), {0: 1}, fresh=False) == {0: 30.0}


def test_the_time_left_is_that_of_all_cells_and_ends_with_the_budget() -> None:
    simulated = Simulated()
    tally = Tally(simulated.cells, past([]), "wall_ns")
    for cell in simulated.cells:
        tally.add(cell.cell, 0, Outcome("ok", None, SECONDS[cell.workload.name]))
    left_s = 3 * 4 * 30 + 9 * 6 * 2
    assert tally.seconds_left(simulated.experiment, ENDLESS) == left_s
    tally.stopped |= {0}
    assert tally.seconds_left(simulated.experiment, ENDLESS) == left_s - 3 * 30
    assert tally.seconds_left(simulated.experiment, Budget(10.0)) <= 10.0
    assert math.isinf(ENDLESS.left_s)
