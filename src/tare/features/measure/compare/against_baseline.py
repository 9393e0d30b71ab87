"""``tare compare --baseline``: one command beside sessions that were stored before."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.errors import TrialError
from tare.experiment.findings.side_failures import LostCandidate, Side, SideFailures
from tare.features.measure.comparison.execution import Execution
from tare.features.measure.comparison.session import (
    check_complete,
    conclude,
    cut_short,
    measure,
    prepare,
)

if TYPE_CHECKING:
    from tare.experiment.pipeline import Prepared
    from tare.experiment.results import Results
    from tare.features.measure.baseline import Session
    from tare.results.report import Report


def against(table: dict[str, Any], stored: Path, execution: Execution) -> Report:
    """Measure one command, and compare it with the baseline, with its name if that has several."""
    from tare.experiment import plan, store
    from tare.features.measure import baseline
    from tare.features.measure.baseline.comparison import FEWEST_TRIALS

    given = execution.given
    trials, name = given.trials, next(iter(given.name), None)
    prepared = prepare(_with_trials(table, trials or 1), given)
    asked = baseline.settings(prepared.experiment, prepared.cells[0].levels())
    metric = plan.metric(prepared.experiment)
    found = baseline.read(stored, metric, name, asked)
    baseline.check(stored, found, _before(prepared), asked)
    if trials is None:
        # A new session is like the stored ones if it is as long as they are, but for an interval.
        prepared = prepare(_with_trials(table, max(FEWEST_TRIALS, found.trials)), execution.given)
    with execution.folder() as folder:
        above = [limit for s in found.sessions for limit in s.above]
        before = Side(
            "the baseline", sum(s.trials for s in found.sessions), (), len(above),
            min(above, default=None),
        )  # fmt: skip

        def measured() -> Results:
            # What was measured is held against other sessions, each by itself.
            return store.load(folder) if (own := prepared.collector) is None else own.results()

        try:
            ended, failure = measure(prepared, folder, execution)
        except TrialError:
            failed = _failures(before, prepared.cells[0].workload.name, measured())
            if execution.gate is None or not any(one.ran for one in failed.candidate.failures):
                raise
            lost = (LostCandidate(failed),)
            return conclude((), measured(), "failed", folder, execution, _complete, without=lost)
        if failure is not None:
            raise failure
        if ended == "interrupted":
            # A session that is shorter than the stored ones is not like them.
            raise cut_short(folder, execution)
        results = measured()
        new = baseline.of(results, metric)
        baseline.check(stored, found, new.sessions[-1], asked)
        seconds = float(results.trial_table["duration_ns"].mean() / 1e9)
        difference = baseline.compare(found, new, prepared.experiment.margin, seconds)
        difference = replace(difference, failures=_failures(before, new.workload, results))
        check = partial(
            check_complete, results, execution, ended, is_number_asked=trials is not None
        )
        return conclude((difference,), results, ended, folder, execution, check)


def _complete(_: int) -> None:
    """Raise nothing: where every trial failed, the gate's answer is complete."""


def _failures(stored: Side, name: str, results: Results) -> SideFailures:
    """Return the failed trials of the new session; stored sessions have good trials alone."""
    return SideFailures(stored, Side.of(name, results, {}))


def _with_trials(table: dict[str, Any], trials: int) -> dict[str, Any]:
    return {**table, "experiment": {**table["experiment"], "trials": trials}}


def _before(prepared: Prepared) -> Session:
    """Return what is known of the session before it begins."""
    from tare.agent import client
    from tare.features.measure import baseline
    from tare.version import __version__

    told = [(f.name, f.platform, f.value) for f in prepared.facts]
    return baseline.Session(
        started="",
        tare=__version__,
        agent=client.digest(),
        facts=baseline.lasting(told),
        values={},
        network=baseline.networked(told),
    )
