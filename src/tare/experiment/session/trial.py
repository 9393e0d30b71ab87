"""One trial: its command, its parts, and what is written down of it."""

from __future__ import annotations

import time
from contextlib import ExitStack

import msgspec

from tare.errors import AgentError, TareError
from tare.experiment.journal import TrialEnd, TrialStart
from tare.experiment.session.error_capture import ErrorCapture
from tare.experiment.session.execution import execute
from tare.experiment.session.failing import Why
from tare.experiment.session.observer import NoObserverError
from tare.experiment.session.outcome import Means, Outcome, outcome_of
from tare.experiment.session.part_list import PartList
from tare.experiment.session.parts import RunningTrial, SessionResources, judged
from tare.experiment.session.resident import Cpus
from tare.experiment.session.trial_job import job_of, levels_of
from tare.experiment.specification import TOPOLOGY, Cell
from tare.experiment.time_limits import COUNTED
from tare.streams import NULL

__all__ = ["Conductor", "Outcome"]


class Conductor:
    """Executes the trials of a session one after another.

    Parameters
    ----------
    resources : SessionResources
    metric : str
        The experiment's own.
    means : callable
        Gives the value of the trial that was written last, by source, for a metric.
    """

    def __init__(
        self,
        resources: SessionResources,
        metric: str,
        means: Means,
    ) -> None:
        self._resources = resources
        self._experiment = experiment = resources.experiment
        self._metric = metric
        self._means = means
        self._parts = PartList(resources)
        #: Duration of the longest good trial by cell.
        self._longest_s: dict[int, float] = {}
        levels = {"workload": experiment.workloads, **experiment.factors}
        self._errors = ErrorCapture(
            factor for factor, some in levels.items() if len(some) > 1 or some == (TOPOLOGY,)
        )

    def close(self) -> None:
        """End what trials have left running."""
        self._parts.close()

    def execute(
        self,
        number: int,
        block: int,
        position: int,
        cell: Cell,
        cpus: tuple[Cpus, ...],
        seed: int,
        repetitions: int | None,
        *,
        iterations: int | None = None,
        rehearsal: bool = False,
    ) -> Outcome:
        """Execute one trial and write it down; a trial that fails is a result as well.

        Parameters
        ----------
        number, block, position : int
            Where it stands in the experiment.
        cell : Cell
            Its workload and levels.
        cpus : tuple
            CPUs of each worker, or None.
        seed : int
            Of the generated input.
        repetitions : int or None
            Executions of a kernel in one timed region.
        iterations : int, optional
            Instead of the experiment's.
        rehearsal : bool
            Not used for any value: it finds the repetitions.

        Returns
        -------
        Outcome
            Its status and values.

        Raises
        ------
        NoObserverError, NoNetworkError
            If nothing can be measured any more; it is written down as failed before.
        """
        trial = RunningTrial(
            resources=self._resources,
            number=number,
            block=block,
            cell=cell,
            cpus=cpus,
            seed=seed,
            repetitions=repetitions,
            rehearsal=rehearsal,
            levels=levels_of(self._resources, cell, seed),
            parts=self._parts.of(cell),
            error_captured=self._reads_errors(cell),
            longest_s=self._longest_s.get(cell.cell),
        )
        unprepared = _prepare(trial)
        trial.began_ns = time.monotonic_ns()
        self._resources.write(
            TrialStart(
                trial=number,
                block=block,
                position=position,
                cell=cell.cell,
                levels=cell.levels(),
                seed=seed,
                repetitions=repetitions,
                cpus=cpus,
                monotonic_ns=trial.began_ns,
                rehearsal=rehearsal,
                error_captured=trial.error_captured,
            )
        )
        last: AgentError | None = None
        try:
            if unprepared is not None:
                raise unprepared
            self._execute(trial, iterations)
        except TareError as error:
            trial.failure = Why.of_error(error)
            last = error if isinstance(error, NoObserverError) else None
        hosts = self._resources.hosts
        if trial.failure is not None and hosts is not None and (gone := hosts.lost()):
            # Whatever else failed did so without a network.
            trial.failure, last = Why.of_error(gone), gone
        seconds = self._end(trial)
        if last is not None:
            raise last
        outcome = outcome_of(trial, self._experiment, self._metric, self._means, seconds)
        good = outcome.status in COUNTED
        # Where its time is a value, reading standard error could change later times.
        fault = None if good else trial.fault
        self._errors.ended(cell, fault, good=good, captured=trial.error_captured)
        if trial.failure is None:
            self._longest_s[cell.cell] = max(seconds, self._longest_s.get(cell.cell, 0.0))
        return outcome

    def _execute(self, trial: RunningTrial, iterations: int | None) -> None:
        """Execute a trial inside of all its parts, which judge it."""
        trial.job = job_of(trial, iterations)
        with ExitStack() as stack:
            for part in trial.parts:
                stack.enter_context(judged(part, trial))
            reason = execute(trial)
            trial.failure = None if reason is None else Why(reason)

    def _end(self, trial: RunningTrial) -> float:
        """Write down that a trial has ended; return how long it took."""
        ended_ns = time.monotonic_ns()
        reason, kind = trial.failure or (None, None)
        self._resources.write(
            TrialEnd(
                trial=trial.number,
                status="ok" if trial.failure is None else "failed",
                reason=reason,
                failure_kind=kind or msgspec.UNSET,
                monotonic_ns=ended_ns,
            )
        )
        return (ended_ns - trial.began_ns) / 1e9

    def _reads_errors(self, cell: Cell) -> bool:
        """Return whether the end of a trial's standard error is read."""
        workload = cell.workload
        # Of services, what they wrote last comes with the report that one has failed.
        if workload.command is None or workload.serves:
            return False
        if workload.application is not None or workload.output != NULL:
            return True
        return self._errors.wants(cell)


def _prepare(trial: RunningTrial) -> TareError | None:
    """Have all parts prepare a trial; return why one could not, or None."""
    try:
        for part in trial.parts:
            part.prepare(trial)
    except TareError as error:
        return error
    return None
