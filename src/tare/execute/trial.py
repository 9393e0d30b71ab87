"""One trial: its load, its instances, its records."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from tare import loads, platforms, record, workloads
from tare.errors import TareError, TrialError
from tare.execute.files import from_here, seen_inside
from tare.execute.hosts import Hosts
from tare.execute.observer import Observer
from tare.execute.patience import limit_s, patience_s
from tare.execute.pool import Pool
from tare.execute.rendezvous import Shared
from tare.execute.resident import Cpus, Resident
from tare.execute.values import Values
from tare.execute.window import longest_s, window
from tare.experiment import Cell, Experiment, LoadSpec
from tare.journal import HostTokens, HostUse, Line, TrialEnd, TrialStart


@dataclass
class Outcome:
    """What a trial brought."""

    status: str
    reason: str | None
    seconds: float
    #: Trial value of the metric by source: means over measured iterations and workers.
    values: dict[str, float] = field(default_factory=dict)
    #: The same of the further metrics that the stopping rule is about.
    also: dict[str, dict[str, float]] = field(default_factory=dict)
    #: It came to a wrong result: the machine is not to be trusted with more.
    wrong: bool = False


@dataclass
class Conductor:
    """Executes trials one after another in the surroundings of a session."""

    experiment: Experiment
    metric: str
    folder: Path
    nonce: int
    name: str
    pool: Pool
    shared: Shared
    observer: Observer
    user: record.User | None
    write: Callable[..., None]
    #: Of the machine.
    cpus: int
    #: The network in which trials take place; None: the machine's own.
    hosts: Hosts | None = None
    #: Environment of who calls tare, as it was in the beginning.
    surroundings: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    #: Duration of the longest good trial by cell.
    _longest_s: dict[int, float] = field(default_factory=dict)

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
        """
        began = time.monotonic_ns()
        self.write(
            TrialStart(
                trial=number,
                block=block,
                position=position,
                cell=cell.cell,
                levels=cell.levels(),
                seed=seed,
                repetitions=repetitions,
                cpus=cpus,
                monotonic_ns=began,
                rehearsal=rehearsal,
            )
        )
        metric = "kernel_cpu_ns" if rehearsal else self.metric
        also = self.experiment.stopping.also
        values = Values((metric, *also))
        failure: str | None = None
        try:
            job = self._job(number, cell, seed, repetitions, iterations)
            network: AbstractContextManager[None] = nullcontext()
            if self.hosts is not None and not rehearsal:
                keep = partial(self._keep, values=values)
                network = self.hosts.during(number, cell, block, began, keep)
            failure = self._surrounded(job, cell, cpus, values, network)
        except TareError as error:
            failure = error.message + (f" (try: {error.hint})" if error.hint else "")
        ended = time.monotonic_ns()
        status = "ok" if failure is None else "failed"
        self.write(TrialEnd(trial=number, status=status, reason=failure, monotonic_ns=ended))
        seconds = (ended - began) / 1e9
        if failure is None:
            self._longest_s[cell.cell] = max(seconds, self._longest_s.get(cell.cell, 0.0))
        return Outcome(
            status,
            failure,
            seconds,
            values.means(metric),
            {m: values.means(m) for m in also},
            values.wrong,
        )

    def _workload(self, cell: Cell, seed: int, repetitions: int | None) -> record.Workload:
        job = workloads.job(
            cell,
            repetitions=repetitions,
            seed=seed,
            surroundings=self.surroundings,
            hosts={} if self.hosts is None else self.hosts.placeholders,
        )
        if (
            isinstance(job, record.Command)
            and platforms.own_files(cell.platform)
            and platforms.brings_files(cell.platform, self.experiment.platforms)
        ):
            return from_here(job)
        return job

    def _job(
        self, number: int, cell: Cell, seed: int, repetitions: int | None, iterations: int | None
    ) -> record.Trial:
        e = self.experiment
        given = window(e, cell, self.cpus)
        timeout_s = cell.workload.timeout_s
        if given is not None and timeout_s is not None and cell.workload.kernel:
            # Of a kernel the agent sees a whole window as one execution.
            timeout_s = longest_s(given, timeout_s)
        return record.Trial(
            id=0,
            trial=number,
            nonce=self.nonce,
            workload=self._workload(cell, seed, repetitions),
            workers=(),
            iterations=e.iterations if iterations is None else iterations,
            warmup=e.warmup,
            process=e.process if cell.workload.kernel else "fresh",
            tail=e.tail,
            rendezvous=None,
            timeout_ns=None if timeout_s is None else round(timeout_s * 1e9),
            linger_ns=round(e.linger_s * 1e9),
            observe=not self.observer.stamps,
            user=self.user,
            window=given,
        )

    def _surrounded(
        self,
        job: record.Trial,
        cell: Cell,
        cpus: tuple[Cpus, ...],
        values: Values,
        network: AbstractContextManager[None],
    ) -> str | None:
        """Start the load, execute, stop the load; return why the trial failed, or None."""
        residents = self.pool.get(cell, cpus)
        if len(residents) > 1 and not all(r.instance.shares_memory for r in residents):
            raise TrialError(
                f"workers in several instances of {cell.platform} have no memory to meet in",
                'instances = "shared"',
            )
        spec = self.experiment.loads.get(cell.load, LoadSpec(kind="none"))
        load = loads.start(spec.kind, spec.parameters, f"{self.name}-load")
        try:
            with network:
                failure = self._measured(job, cell, residents, values)
            load.check()
        finally:
            load.stop()
        if self.experiment.fresh == "trial":
            for figure in self.pool.discard(residents):
                self.write(figure.sample(job.trial))
        return failure

    def _measured(
        self, job: record.Trial, cell: Cell, residents: list[Resident], values: Values
    ) -> str | None:
        meeting = self.shared.rendezvous(job.trial) if cell.workers > 1 else None
        groups = [
            record.WatchedGroup(
                worker=r.workers[0] if len(r.workers) == 1 else None, pid=r.instance.host_pid
            )
            for r in residents
            if r.instance.host_pid is not None
        ]
        self.observer.watch(job.trial, groups)
        failure: str | None = None
        try:
            asked = [(r, self._submit(job, r, meeting, cell.workers)) for r in residents]
            for resident, job_id in asked:
                limit = limit_s(job)
                if limit is None and not resident.instance.shares_memory:
                    limit = patience_s(self._longest_s.get(cell.cell))
                answer = resident.agent.answer(job_id, limit)
                failure = self._keep(answer, values) or failure
        except BaseException:
            # Whatever its agents still do belongs to no trial.
            self.pool.discard(residents, lost=True)
            raise
        finally:
            if meeting is not None:
                self.shared.forget(meeting)
            if cell.workload.capture:
                self.shared.keep_output(self.folder / "output")
            self._keep(self.observer.collect(job.trial), values)
        return failure

    def _submit(
        self, job: record.Trial, resident: Resident, meeting: str | None, parties: int
    ) -> int:
        inside = resident.instance.shared
        workload = job.workload
        if isinstance(workload, record.Command):
            workload = seen_inside(workload, str(self.shared.folder), inside)
        job_id = resident.agent.next_id()
        resident.agent.submit(
            msgspec.structs.replace(
                job,
                id=job_id,
                workload=workload,
                workers=tuple(
                    record.Worker(worker=w, cpus=c)
                    for w, c in zip(resident.workers, resident.cpus, strict=True)
                ),
                rendezvous=None
                if meeting is None
                else record.Rendezvous(
                    # In a machine of its own the agent makes the place to meet.
                    path=f"{inside}/{meeting}" if resident.instance.shares_memory else None,
                    parties=parties,
                ),
                # A container has users of its own.
                user=job.user if resident.instance.users else None,
            )
        )
        return job_id

    def _keep(self, records: Iterable[record.Record | Line], values: Values) -> str | None:
        """Write records down; return the first reason for the trial to have failed."""
        failure: str | None = None
        for got in records:
            if isinstance(got, HostUse | HostTokens):
                self.write(got)
            elif isinstance(got, record.Sample):
                self.write(got)
                values.add(got)
            elif isinstance(got, record.Fault):
                self.write(got)
                values.wrong |= got.kind == "check"
                if got.kind != "warning":
                    failure = failure or got.message
        return failure
