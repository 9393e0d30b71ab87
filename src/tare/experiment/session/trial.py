"""One trial: its load, its instances, its records."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from tare import loads, workloads
from tare.agent import record
from tare.agent.client import Answer
from tare.applications import output
from tare.errors import AgentError, TareError, TrialError
from tare.experiment.journal import MOST_VALUE, HostTokens, HostUse, Line, TrialEnd, TrialStart
from tare.experiment.metrics import of_workload, waited_for
from tare.experiment.placement import Machine
from tare.experiment.session import printed_check, sandbox_start, services
from tare.experiment.session.answers import Asked, answers, nothing
from tare.experiment.session.clusters import Cluster, Clusters
from tare.experiment.session.driving import Driving
from tare.experiment.session.error_capture import ErrorCapture
from tare.experiment.session.failing import Why
from tare.experiment.session.files import placed, seen_inside
from tare.experiment.session.hooks import Hooks
from tare.experiment.session.meeting import Meeting
from tare.experiment.session.observer import NoObserverError, Observer
from tare.experiment.session.output import Keep, Outputs
from tare.experiment.session.pool import Pool
from tare.experiment.session.printed import Printed
from tare.experiment.session.resident import Cpus, Key, Resident
from tare.experiment.session.roots import Roots
from tare.experiment.session.services import Services
from tare.experiment.session.trial_values import Values
from tare.experiment.session.window import limit_s, longest_s, most_records, patience_s, window
from tare.experiment.specification import TOPOLOGY, Cell, Experiment, LoadSpec
from tare.experiment.time_limits import kill
from tare.results.message import Message
from tare.workloads import placeholders
from tare.workloads.specification import Enforced

if TYPE_CHECKING:
    from tare.experiment.session.hosts import Hosts
    from tare.experiment.session.joining import Joining
    from tare.experiment.session.tasks import LeftTasks


#: Beyond what any instrument of ours can read; in nanoseconds, 31 years since the machine booted.
MOST = 10**18
#: Times and amounts, which are never below 0.
AMOUNTS = frozenset((
    "cpu_ns", "memory_bytes", "on_cpu_ns", "system_ns", "teardown_ns", "tree_wall_ns", "user_ns",
    "wait_ns", "wall_ns",
))  # fmt: skip


class Prepare(Protocol):
    """Returns what is executed, by what an instance has of the network, and what drives it."""

    def __call__(
        self, joining: Joining | None = None, driving: Driving | None = None
    ) -> record.Workload:
        """Return it; without a network, none is known."""


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


@dataclass
class Conductor:
    """Executes trials one after another in the surroundings of a session."""

    experiment: Experiment
    metric: str
    folder: Path
    nonce: int
    name: str
    pool: Pool
    #: What instances are shown.
    shared: Path
    #: None: nobody wants what commands write.
    outputs: Outputs | None
    observer: Observer
    user: record.User | None
    write: Callable[..., None]
    #: Gives the value of the trial that was written last, by source, for a metric.
    means: Callable[[int, str], dict[str, float]]
    #: Takes what goes on, as text.
    stage: Callable[[str], None]
    #: Takes what is to be reported with the answers.
    note: Callable[[Message], None]
    hooks: Hooks
    #: Files of applications, and what reads the formats that they print.
    roots: Roots
    reading: output.Reading
    machine: Machine
    #: The network in which trials take place; None: the machine's own.
    hosts: Hosts | None = None
    #: Environment of who calls tare, as it was in the beginning.
    surroundings: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    #: Duration of the longest good trial by cell.
    _longest_s: dict[int, float] = field(default_factory=dict)
    _errors: ErrorCapture = field(init=False)
    _services: Services = field(init=False)
    _clusters: Clusters = field(init=False)

    def __post_init__(self) -> None:
        self._services = Services(
            self.experiment, self.machine, self.folder, self.hosts, self.roots, self.reading,
            self.outputs, self.observer.load,
        )  # fmt: skip
        self._clusters = Clusters(
            self.experiment, self.pool, self.hosts, str(self.shared), self.user,
            self.outputs, self.machine.memory_bytes, self.stage, self.note,
        )  # fmt: skip
        levels = {"workload": self.experiment.workloads, **self.experiment.factors}
        self._errors = ErrorCapture(
            factor for factor, some in levels.items() if len(some) > 1 or some == (TOPOLOGY,)
        )

    def close(self) -> None:
        """End what trials have left running."""
        self._clusters.close()

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
        cluster, lost = self._cluster(number, cell, seed)
        began = time.monotonic_ns()
        command = cell.workload.command is not None
        application = cell.workload.application
        serves = cell.workload.serves
        # Of services, what they wrote last comes with the report that one has failed.
        captured = (
            command
            and not serves
            and (application is not None or cell.workload.capture or self._errors.wants(cell))
        )
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
                error_captured=captured,
            )
        )
        metric = "kernel_cpu_ns" if rehearsal else self.metric
        also = self.experiment.stopping.also
        own = {m: waited_for(m, serves=serves) for m in (metric, *also)}
        printed = None
        if application is not None and not serves:
            printed = Printed(workloads.CAPTURE_LIMIT_BYTES, self.reading)
        values = Values(printed, serves=serves)
        failure: Why | None = None
        last: AgentError | None = None
        try:
            if lost is not None:
                raise lost
            prepare: Prepare = partial(
                self._workload, cell, seed, repetitions, captured, cluster=cluster
            )
            job = self._job(number, cell, prepare(), iterations)
            network: AbstractContextManager[None] = nullcontext()
            if (hosts := self._hosts_of(cell)) is not None and not rehearsal:
                keep = partial(self._keep, values=values)
                network = hosts.during(number, cell, block, began, keep)
            of_hosts = self._clusters.used(cluster, number, partial(self._keep, values=values))
            with of_hosts, self.hooks.around(cell, seed):
                failure = self._surrounded(
                    job, prepare, cell, cpus, values, network, seed, began, cluster
                )
                if cluster is not None and failure is not None:
                    cluster.settle()
        except TareError as error:
            failure = Why.of_error(error)
            last = error if isinstance(error, NoObserverError) else None
        if failure is not None and self.hosts is not None and (gone := self.hosts.lost()):
            # Whatever else failed did so without a network.
            failure, last = Why.of_error(gone), gone
        ended = time.monotonic_ns()
        status = "ok" if failure is None else "failed"
        reason, kind = failure or (None, None)
        self.write(
            TrialEnd(
                trial=number,
                status=status,
                reason=reason,
                failure_kind=kind or msgspec.UNSET,
                monotonic_ns=ended,
            )
        )
        if last is not None:
            raise last
        seconds = (ended - began) / 1e9
        if failure is not None and not rehearsal:
            killed = kill(self.experiment, cell.workload, cell.workers, values.faults)
            if killed is not None and killed.bounds(metric):
                # Its time is a value, and reading standard error could change later times.
                self._errors.ended(cell, None, good=True, captured=captured)
                return Outcome("killed", reason, seconds)
        self._errors.ended(cell, values.fault, good=failure is None, captured=captured)
        if failure is None:
            self._longest_s[cell.cell] = max(seconds, self._longest_s.get(cell.cell, 0.0))
        return Outcome(
            status,
            reason,
            seconds,
            of_workload(metric, self.means(number, own[metric])),
            {m: of_workload(m, self.means(number, own[m])) for m in also},
            values.wrong,
            values.may_do_better,
        )

    def _workload(
        self,
        cell: Cell,
        seed: int,
        repetitions: int | None,
        captured: bool,
        joining: Joining | None = None,
        driving: Driving | None = None,
        cluster: Cluster | None = None,
    ) -> record.Workload:
        """Return what is executed, on host 1 of the network or as an instance has joined it."""
        hosts = self._named_hosts(cell, joining, cluster)
        job = workloads.job(
            cell.workload,
            cell.levels(),
            repetitions=repetitions,
            seed=seed,
            surroundings=self.surroundings,
            hosts=hosts,
            given=self._given(cell),
        )
        if not isinstance(job, record.Command):
            return job
        if job.capture is None and captured:
            job = msgspec.structs.replace(job, capture=record.Capture(limit_bytes=0))
        if driving is not None:
            return driving.supervised(job, {**self._values(cell, seed), **hosts})
        if cell.workload.application is not None:
            return job
        return placed(job, cell.platform, self.experiment.platforms)

    def _cluster(
        self, trial: int, cell: Cell, seed: int
    ) -> tuple[Cluster | None, TareError | None]:
        """Return a cell's services on all hosts, if it has any, or why they do not serve."""
        values, root = self._values(cell, seed), self.roots.of(cell)
        try:
            return self._clusters.get(trial, cell, values, root), None
        except TareError as error:
            return None, error

    def _named_hosts(
        self, cell: Cell, joining: Joining | None, cluster: Cluster | None
    ) -> Mapping[str, str]:
        """Return what the hosts of the network stand for where a trial's command is."""
        network = joining or self._hosts_of(cell)
        if network is None:
            return {}
        if not cell.workload.spans_hosts:
            return network.placeholders
        # Host 1 is where the command is, and where its services are.
        own = {placeholders.HOST: network.placeholders[f"{placeholders.HOST}1"]}
        return {**(network if cluster is None else cluster).placeholders, **own}

    def _hosts_of(self, cell: Cell) -> Hosts | None:
        """Return the network in which the trials of a cell take place; None: the machine's own."""
        return self.hosts if self.experiment.joins(cell.workload) else None

    def _given(self, cell: Cell) -> dict[str, str]:
        """Return what the size of a cell gives to an application."""
        cores = self.experiment.given_cores(cell)
        memory_bytes = self.experiment.limits(cell.size).memory_bytes
        return workloads.given(
            len(self.machine.spread) if cores is None else cores,
            self.machine.memory_bytes if memory_bytes is None else memory_bytes,
        )

    def _values(self, cell: Cell, seed: int) -> dict[str, str]:
        """Return what placeholders of an application stand for, but for hosts."""
        return workloads.values(cell.workload, cell.levels(), seed=seed, given=self._given(cell))

    def _job(
        self,
        number: int,
        cell: Cell,
        workload: record.Workload,
        iterations: int | None,
    ) -> record.Trial:
        e = self.experiment
        given = window(e, cell, len(self.machine.spread))
        timeout_s = services.timeout_s(cell)
        if given is not None and timeout_s is not None and cell.workload.kernel:
            # Of a kernel the agent sees a whole window as one execution.
            timeout_s = longest_s(given, timeout_s)
        return record.Trial(
            id=0,
            trial=number,
            nonce=self.nonce,
            workload=workload,
            workers=(),
            iterations=e.iterations if iterations is None else iterations,
            warmup=e.warmup,
            process=e.process if cell.workload.kernel else "fresh",
            tail=e.tail,
            rendezvous=None,
            timeout_ns=None if timeout_s is None else round(timeout_s * 1e9),
            limits=limits_of(cell.workload.enforce),
            linger_ns=round(e.linger_s * 1e9),
            observe=not self.observer.stamps,
            user=self.user,
            window=given,
        )

    def _surrounded(
        self,
        job: record.Trial,
        prepare: Prepare,
        cell: Cell,
        cpus: tuple[Cpus, ...],
        values: Values,
        network: AbstractContextManager[None],
        seed: int,
        began_ns: int,
        cluster: Cluster | None,
    ) -> Why | None:
        """Start the load, execute, stop the load; return why the trial failed, or None."""
        residents = self.pool.get(cell, cpus, self.roots.of(cell))
        if len(residents) > 1 and not all(r.instance.shares_memory for r in residents):
            raise TrialError(
                f"workers in several instances of {cell.platform} have no memory to meet in",
                'instances = "shared"',
            )
        spec = self.experiment.loads.get(cell.load, LoadSpec(kind="none"))
        levels = self._values(cell, seed)
        left = self._left_tasks(job, cell, residents[0], levels, began_ns, cluster)
        if left is not None:
            left.clear()
        values.starter = starter = residents[0].instance.starter
        if starter is not None:
            values.printed = Printed(workloads.CAPTURE_LIMIT_BYTES, self.reading)
        look = nothing if cluster is None else cluster.check
        load = loads.start(spec.kind, spec.parameters, f"{self.name}-load", self.user)
        try:
            with network, self._services.driving(job.trial, cell, levels) as driving:
                if driving is not None:
                    prepare, look = partial(prepare, driving=driving), driving.look
                said = self._measured(job, prepare, cell, residents, values, look)
                if said is not None and starter is not None and values.printed is not None:
                    program = cell.workload.kernel or " ".join((cell.workload.command or ())[:1])
                    said = sandbox_start.failure(values.printed, starter, program) or said
                failure = None if said is None else Why(said)
                if driving is not None:
                    keep = partial(self._keep, values=values)
                    failure = self._services.judged(driving, cell, levels, values, failure, keep)
            load.check()
        finally:
            load.stop()
        if failure is None and starter is not None and values.printed is not None:
            kernel = cell.workload.kernel is not None
            self._keep(
                sandbox_start.samples(values.printed, starter, job.trial, kernel=kernel), values
            )
        elif failure is None and values.printed is not None:
            keep = partial(self._keep, values=values)
            data = self.roots.data(cell)
            failure = printed_check.judged(values.printed, job, cell, levels, data, residents, keep)
        if failure is None and left is not None:
            failure = left.judged(partial(self._keep, values=values))
        if self.experiment.fresh == "trial":
            for figure in self.pool.discard(residents):
                self.write(figure.sample(job.trial))
        return failure

    def _left_tasks(
        self,
        job: record.Trial,
        cell: Cell,
        resident: Resident,
        levels: Mapping[str, str],
        began_ns: int,
        cluster: Cluster | None,
    ) -> LeftTasks | None:
        """Return where a job leaves its tasks; None: it leaves none."""
        application = cell.workload.application
        if application is None or application.tasks is None:
            return None
        # Imported here: few trials have tasks, and the import takes time at each start.
        from tare.experiment.session.tasks import LeftTasks

        hosts = self._named_hosts(cell, resident.joining, cluster)
        addresses = hosts[placeholders.HOSTS].split(",") if hosts else ()
        return LeftTasks(
            application.tasks, job, resident, began_ns, {**levels, **hosts}, tuple(addresses),
            self.folder,
        )  # fmt: skip

    def _measured(
        self,
        job: record.Trial,
        prepare: Prepare,
        cell: Cell,
        residents: list[Resident],
        values: Values,
        look: Callable[[], None],
    ) -> str | None:
        groups = [
            record.WatchedGroup(
                worker=r.workers[0] if len(r.workers) == 1 else None, pid=r.instance.host_pid
            )
            for r in residents
            if r.instance.host_pid is not None
        ]
        self.observer.watch(job.trial, groups)
        try:
            return self._answered(job, prepare, cell, residents, values, look)
        except BaseException:
            # Whatever its agents still do belongs to no trial.
            self.pool.discard(residents, lost=True)
            raise
        finally:
            self._keep(self.observer.collect(job.trial), values)

    def _answered(
        self,
        job: record.Trial,
        prepare: Prepare,
        cell: Cell,
        residents: list[Resident],
        values: Values,
        look: Callable[[], None],
    ) -> str | None:
        """Have agents do their parts, and keep what they say."""
        limit = limit_s(job)
        failure: str | None = None
        with ExitStack() as stack:
            parts = self._parts(job, prepare, cell, residents, stack)
            asked = []
            for part, resident in zip(parts, residents, strict=True):
                resident.agent.submit(part)
                answer = Answer(resident.agent, part.id, most_records(part))
                patient = limit is not None or resident.instance.shares_memory
                patience = limit if patient else patience_s(self._longest_s.get(cell.cell))
                asked.append(Asked(resident, answer, patience))
            keeps = self._keeps(job, cell, residents, stack)
            for resident, got in answers(asked, look):
                failure = self._said(got, job.trial, resident, keeps, values) or failure
        return failure

    def _parts(
        self,
        job: record.Trial,
        prepare: Prepare,
        cell: Cell,
        residents: list[Resident],
        stack: ExitStack,
    ) -> list[record.Trial]:
        """Return the part of a trial that each instance does; several meet in one memory."""
        meet = None
        if cell.workers > 1:
            # In an instance that has all workers the agent makes the memory.
            meet = record.Rendezvous(handout=None, parties=cell.workers)
        meeting = Meeting(self.shared, cell.workers) if len(residents) > 1 else None
        parts = [
            self._part(
                msgspec.structs.replace(job, workload=prepare(r.joining)),
                r,
                meet if meeting is None else meeting.invite(r.instance.shared),
            )
            for r in residents
        ]
        if meeting is not None:
            stack.enter_context(meeting.held())
        return parts

    def _part(
        self, job: record.Trial, resident: Resident, meet: record.Rendezvous | None
    ) -> record.Trial:
        workload, starter = job.workload, resident.instance.starter
        inside = resident.instance.shared if starter is None else starter.shared
        if isinstance(workload, record.Command):
            workload = seen_inside(workload, str(self.shared), inside)
        if starter is not None:
            workload = sandbox_start.launched(workload, starter, self.surroundings)
        return msgspec.structs.replace(
            job,
            id=resident.agent.next_id(),
            workload=workload,
            workers=tuple(
                record.Worker(worker=w, cpus=c)
                for w, c in zip(resident.workers, resident.cpus, strict=True)
            ),
            rendezvous=meet,
            # A container has users of its own, and so has a sandbox that starts programs itself.
            user=job.user if resident.instance.users and starter is None else None,
        )

    def _keeps(
        self, job: record.Trial, cell: Cell, residents: list[Resident], stack: ExitStack
    ) -> dict[Key, Keep]:
        """Return what keeps the output of each instance, where it is wanted."""
        capture = job.workload.capture if isinstance(job.workload, record.Command) else None
        if capture is None or not capture.limit_bytes or self.outputs is None:
            return {}
        if not cell.workload.capture:
            return {}
        return {
            r.key: stack.enter_context(self.outputs.trial(capture.limit_bytes)) for r in residents
        }

    def _said(
        self,
        got: record.Record,
        trial: int,
        resident: Resident,
        keeps: Mapping[Key, Keep],
        values: Values,
    ) -> str | None:
        """Keep what an agent said, which must be of its own part of this trial."""
        if isinstance(got, record.Sample | record.Fault | record.Output):
            if got.trial not in (trial, None) or got.worker not in (None, *resident.workers):
                raise AgentError("the agent sent a record of another trial or worker")
            if isinstance(got, record.Sample) and (
                abs(got.value) > MOST or (got.value < 0 and got.metric in AMOUNTS)
            ):
                said = f"a {got.metric} of {got.value}"
                raise AgentError(f"the agent sent {said}, which nothing reads")
            if isinstance(got, record.Fault) and got.kind == "survived":
                # With the instance, what is left of it may end as well.
                self.write(got)
                raise AgentError(got.message)
            if values.printed is not None and not isinstance(got, record.Fault):
                values.printed.add(got)
            if isinstance(got, record.Output):
                if resident.key in keeps:
                    keeps[resident.key].add(got)
                elif values.printed is None:
                    raise AgentError("the agent sent an output that nobody asked for")
        return self._keep([got], values)

    def _keep(self, records: Iterable[record.Record | Line], values: Values) -> str | None:
        """Write records down; return the first reason for the trial to have failed."""
        failure: str | None = None
        for got in records:
            if isinstance(got, HostUse | HostTokens):
                self.write(got)
            elif isinstance(got, record.Sample) and not abs(got.value) <= MOST_VALUE:
                # A program may print any number; in the journal it would read as damage.
                failure = failure or f"{got.metric} is {got.value:g}, which no program measures"
            elif isinstance(got, record.Sample):
                if values.starter is None or sandbox_start.is_kept(got, values.starter):
                    self.write(got)
                    values.add(got)
            elif isinstance(got, record.Fault):
                # That of what starts services says nothing that its report does not.
                if not (values.serves and got.kind in ("exit", "signal")):
                    self.write(got)
                values.wrong |= got.kind == "check"
                if got.kind != "warning":
                    failure = failure or got.message
                    values.fault = values.fault or got
                    values.faults.append((got.kind, got.iteration))
        return failure


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
