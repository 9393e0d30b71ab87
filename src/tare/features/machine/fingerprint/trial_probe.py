"""A probe of the front's own: trials of an empty program in a running platform."""

from __future__ import annotations

import time

import numpy as np

from tare.agent import record
from tare.agent.client import Agent
from tare.experiment.session import single_execution
from tare.experiment.session.probing import GRACE_S, Round, Turn
from tare.registry import Probe, ProbeMetric, Seconds

#: Trials of a round: enough for a 90th percentile.
TRIALS = 20
#: The agent's own program, wherever it lies inside: it is there on every platform, is static, and
#: with this argument prints a line and ends.
EMPTY = ("/proc/self/exe", "--version")
NAME = "trial"
#: Time limit of the program, in seconds.
LIMIT_S = 10.0


def _metric(name: str, unit: str, meaning: str) -> ProbeMetric:
    return ProbeMetric(
        name=name, unit=unit, meaning=meaning, axes=(), listed=False, better="lower", margin=0.05
    )


PROBE = Probe(
    name=NAME,
    title="trials of a program that does nothing",
    question="What does a trial in a running platform cost?",
    source=None,
    metrics=(
        _metric("trial.wall", "ns", f"of the program, by the agent; median of {TRIALS}"),
        _metric("trial.round_trip", "ns", f"from asking to the answer; median of {TRIALS}"),
        _metric("trial.spread", "1", f"90th over 10th percentile of the wall time of {TRIALS}"),
    ),
    seconds=Seconds(brief=0.05, quick=0.08, whole=0.08),
    repeats=True,
    needs=(),
)


def perform(agent: Agent, turn: Turn) -> Round:
    """Perform a round of trials.

    Raises
    ------
    AgentError
        If the agent is gone.
    """
    began = time.monotonic()
    walls: list[float] = []
    trips: list[float] = []
    faults: list[record.Fault] = []
    for _ in range(TRIALS):
        asking = job(agent.next_id())
        asked = time.monotonic_ns()
        answers = agent.ask(asking, turn.timeout_s + GRACE_S)
        trips.append(time.monotonic_ns() - asked)
        walls += [wall for wall in map(_wall, answers) if wall is not None]
        faults += [a for a in answers if isinstance(a, record.Fault) and a.kind != "warning"]
        if faults:
            break
    readings = () if faults or not walls else _readings(turn, walls, trips)
    return Round(
        probe=NAME,
        number=turn.number,
        seconds=time.monotonic() - began,
        readings=readings,
        faults=tuple(faults),
    )


def _readings(turn: Turn, walls: list[float], trips: list[float]) -> tuple[record.Reading, ...]:
    low, middle, high = np.quantile(walls, (0.1, 0.5, 0.9))
    values = {
        "trial.wall": middle,
        "trial.round_trip": np.median(trips),
        "trial.spread": high / low,
    }
    return tuple(
        record.Reading(at=(), id=turn.number, metric=name, value=float(value))
        for name, value in values.items()
    )


def _wall(got: record.Record) -> float | None:
    """Return the wall time of an execution, timed around it: that source is everywhere."""
    if isinstance(got, record.Sample) and (got.metric, got.source) == ("wall_ns", "around"):
        return got.value
    return None


def job(number: int) -> record.Trial:
    """Return the job of one trial of the empty program."""
    command = record.Command(argv=EMPTY, environment={})
    return single_execution.job(number, command, None, trial=number, limit_s=LIMIT_S)
