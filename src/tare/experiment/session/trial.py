"""One trial: its command, its parts, and what is written down of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import msgspec

from tare import workloads
from tare.agent import record
from tare.errors import AgentError, TareError
from tare.experiment.journal import TrialEnd, TrialStart
from tare.experiment.metrics import of_workload, waited_for
from tare.experiment.session.error_capture import ErrorCapture
from tare.experiment.session.execution import MOST, execute
from tare.experiment.session.failing import Why
from tare.experiment.session.files import placed
from tare.experiment.session.observer import NoObserverError
from tare.experiment.session.part_list import PartList
from tare.experiment.session.parts import RunningTrial, SessionResources, judged
from tare.experiment.session.resident import Cpus, Resident
from tare.experiment.session.window import longest_s, timeout_s, window
from tare.experiment.specification import TOPOLOGY, Cell
from tare.experiment.time_limits import kill
from tare.workloads.specification import Enforced

__all__ = ["MOST", "Conductor", "Outcome", "limits_of"]


@dataclass
class Outcome:
    """What a trial brought."""

    #: As in :data:`tare.experiment.results.STATUSES`; a killed one has no values, since they are
    #: above a limit.
    status: str
    reason: str | None
    seconds: float
    #: Trial value of the metric by source: means over measured iterations and workers.
    values: dict[str, float] = field(default_factory=dict)
    #: The same of the further metrics that the stopping rule is about.
    also: dict[str, dict[str, float]] = field(default_factory=dict)
    #: It came to a wrong result: the machine is not to be trusted with more.
    wrong: bool = False
    #: A program failed that could be started, and may do better the next time.
    by_chance: bool = False


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
        means: Callable[[int, str], dict[str, float]],
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
            number=number,
            block=block,
            cell=cell,
            cpus=cpus,
            seed=seed,
            repetitions=repetitions,
            rehearsal=rehearsal,
            levels=workloads.values(
                cell.workload, cell.levels(), seed=seed, given=self._given(cell)
            ),
            parts=self._parts.of(cell),
            write=self._resources.write,
        )
        unprepared = _prepare(trial)
        trial.began_ns = time.monotonic_ns()
        captured = self._reads_errors(cell)
        trial.write(
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
                error_captured=captured,
            )
        )
        last: AgentError | None = None
        try:
            if unprepared is not None:
                raise unprepared
            self._execute(trial, captured, iterations)
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
        return self._outcome(trial, seconds, captured)

    def _execute(self, trial: RunningTrial, captured: bool, iterations: int | None) -> None:
        """Execute a trial inside of all its parts, which judge it."""
        trial.job = self._job(trial, self._workload(trial, captured), iterations)
        with ExitStack() as stack:
            for part in trial.parts:
                stack.enter_context(judged(part, trial))
            reason = execute(
                self._resources,
                trial,
                lambda resident: self._workload(trial, captured, resident),
                self._longest_s.get(trial.cell.cell),
            )
            trial.failure = None if reason is None else Why(reason)

    def _end(self, trial: RunningTrial) -> float:
        """Write down that a trial has ended; return how long it took."""
        ended_ns = time.monotonic_ns()
        reason, kind = trial.failure or (None, None)
        trial.write(
            TrialEnd(
                trial=trial.number,
                status="ok" if trial.failure is None else "failed",
                reason=reason,
                failure_kind=kind or msgspec.UNSET,
                monotonic_ns=ended_ns,
            )
        )
        return (ended_ns - trial.began_ns) / 1e9

    def _outcome(self, trial: RunningTrial, seconds: float, captured: bool) -> Outcome:
        """Return what a trial brought that was written down."""
        cell, failure = trial.cell, trial.failure
        metric = "kernel_cpu_ns" if trial.rehearsal else self._metric
        reason = None if failure is None else failure.reason
        if failure is not None and not trial.rehearsal:
            killed = kill(self._experiment, cell.workload, cell.workers, trial.faults)
            if killed is not None and killed.bounds(metric):
                # Its time is a value, and reading standard error could change later times.
                self._errors.ended(cell, None, good=True, captured=captured)
                return Outcome("killed", reason, seconds)
        self._errors.ended(cell, trial.fault, good=failure is None, captured=captured)
        if failure is None:
            self._longest_s[cell.cell] = max(seconds, self._longest_s.get(cell.cell, 0.0))
        return Outcome(
            "ok" if failure is None else "failed",
            reason,
            seconds,
            self._values(trial, metric),
            {metric: self._values(trial, metric) for metric in self._experiment.stopping.also},
            trial.wrong,
            trial.may_do_better,
        )

    def _values(self, trial: RunningTrial, metric: str) -> dict[str, float]:
        """Return the values of a trial for a metric, by source."""
        recorded = waited_for(metric, serves=trial.cell.workload.serves)
        return of_workload(metric, self._means(trial.number, recorded))

    def _reads_errors(self, cell: Cell) -> bool:
        """Return whether the end of a trial's standard error is read."""
        workload = cell.workload
        # Of services, what they wrote last comes with the report that one has failed.
        if workload.command is None or workload.serves:
            return False
        return workload.application is not None or workload.capture or self._errors.wants(cell)

    def _workload(
        self, trial: RunningTrial, captured: bool, resident: Resident | None = None
    ) -> record.Workload:
        """Return what is executed in an instance; without one, on host 1 of the network."""
        cell = trial.cell
        job = workloads.job(
            cell.workload,
            cell.levels(),
            repetitions=trial.repetitions,
            seed=trial.seed,
            surroundings=self._resources.environment,
            hosts=trial.hosts(resident),
            given=self._given(cell),
        )
        if not isinstance(job, record.Command):
            return job
        if job.capture is None and captured:
            job = msgspec.structs.replace(job, capture=record.Capture(limit_bytes=0))
        if cell.workload.application is not None:
            return job
        return placed(job, cell.platform, self._experiment.platforms)

    def _given(self, cell: Cell) -> dict[str, str]:
        """Return what the size of a cell gives to an application."""
        machine = self._resources.machine
        cores = self._experiment.given_cores(cell)
        memory_bytes = self._experiment.limits(cell.size).memory_bytes
        return workloads.given(
            len(machine.spread) if cores is None else cores,
            machine.memory_bytes if memory_bytes is None else memory_bytes,
        )

    def _job(
        self, trial: RunningTrial, workload: record.Workload, iterations: int | None
    ) -> record.Trial:
        """Return what all instances of a trial are asked to do."""
        experiment, resources, cell = self._experiment, self._resources, trial.cell
        given = window(experiment, cell, len(resources.machine.spread))
        limit_s = timeout_s(cell)
        if given is not None and limit_s is not None and cell.workload.kernel:
            # Of a kernel the agent sees a whole window as one execution.
            limit_s = longest_s(given, limit_s)
        return record.Trial(
            id=0,
            trial=trial.number,
            nonce=resources.nonce,
            workload=workload,
            workers=(),
            iterations=experiment.iterations if iterations is None else iterations,
            warmup=experiment.warmup,
            process=experiment.process if cell.workload.kernel else "fresh",
            tail=experiment.tail,
            rendezvous=None,
            timeout_ns=None if limit_s is None else round(limit_s * 1e9),
            limits=limits_of(cell.workload.enforce),
            linger_ns=round(experiment.linger_s * 1e9),
            observe=not resources.observer.stamps,
            user=resources.user,
            window=given,
        )


def _prepare(trial: RunningTrial) -> TareError | None:
    """Have all parts prepare a trial; return why one could not, or None."""
    try:
        for part in trial.parts:
            part.prepare(trial)
    except TareError as error:
        return error
    return None


def limits_of(given: Enforced | None) -> record.Limits | None:
    """Return what an agent is to enforce."""
    if given is None:
        return None
    return record.Limits(
        cpu_ns=None if given.cpu_s is None else round(given.cpu_s * 1e9),
        memory_bytes=given.memory_bytes,
        output_bytes=given.output_bytes,
        processes=given.processes,
    )
