"""Services of an application on the hosts of a network, which trials' commands ask.

Each host has an instance with its services, which stay from trial to trial as instances do. Those
of host 1 are ready before the others start.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

from tare import workloads
from tare.agent import record
from tare.applications.refusal import Refusal
from tare.decoding import DecodeError
from tare.errors import AgentError, TareError, TrialError
from tare.experiment.metrics import OF_HOSTS
from tare.experiment.plan import instances
from tare.experiment.session import phrases
from tare.experiment.session.auxiliary import AuxiliaryCommand
from tare.experiment.session.control import Control
from tare.experiment.session.failing import Why
from tare.experiment.session.files import seen_inside
from tare.experiment.session.joining import write_hosts
from tare.experiment.session.parts import RunningTrial, SessionResources, TrialPart
from tare.experiment.session.pool import MEMORY_SHARE
from tare.experiment.session.resident import Key, Resident
from tare.experiment.specification import Cell
from tare.host import processes
from tare.platforms import Root
from tare.render.words import text
from tare.results.message import Duration, Message, message
from tare.streams import NULL
from tare.workloads import placeholders
from tare.workloads.application import Application, Service
from tare.workloads.specification import WorkloadSpec

if TYPE_CHECKING:
    from tare.experiment.session.hosts import Hosts

#: How long an agent may take to say that its services have ended, once they have.
END_S = 10.0
#: What starts services looks ten times a second whether one has ended.
SETTLE_S = 0.3


class Member:
    """The services of one host, in an instance there.

    Parameters
    ----------
    hosts : Hosts
        The network.
    number : int
        Of the host.
    services : tuple of Service
    resident : Resident
        The instance.
    """

    def __init__(
        self, hosts: Hosts, number: int, services: tuple[Service, ...], resident: Resident
    ) -> None:
        self.number = number
        self.resident = resident
        self._services = services
        self._control = Control(hosts.emulator, number, services)
        #: What starts the services; None: nothing does yet.
        self._starter: AuxiliaryCommand | None = None
        #: File in which its output is kept, and what placeholders in its name stand for.
        self.kept_in = NULL
        self.levels: Mapping[str, str] = {}

    @property
    def address(self) -> str:
        """Its own."""
        assert self.resident.joining is not None
        return self.resident.joining.address

    @property
    def cpu_ns(self) -> int | None:
        """CPU time of its services until now; None: they are not seen from here."""
        weight = processes.weight(self.resident.place.name)
        return None if weight is None or weight.agent is None else weight.agent.cpu_ns

    def start(
        self,
        values: Mapping[str, str],
        shared: str,
        user: record.User | None,
        is_over: Callable[[], bool],
        trial: int,
        capture: record.Capture | None,
    ) -> None:
        """Start the services, and wait until they are ready or nobody wants them any more.

        Parameters
        ----------
        values : mapping
            What placeholders stand for.
        shared : str
            What instances are shown.
        user : User or None
            As whom services run.
        is_over : callable
            Whether nobody wants them any more.
        trial : int
            For which they are started, and to which what they write belongs.
        capture : Capture or None
            Whether that is wanted.

        Raises
        ------
        TrialError
            If they are not in time, or one has ended: with its last lines.
        """
        base = record.Command(
            argv=(), environment=dict(workloads.ENVIRONMENT), directory=None, input=None,
            capture=capture,
        )  # fmt: skip
        instance = self.resident.instance
        command = seen_inside(self._control.command(base, values), shared, instance.shared)
        own = user if instance.users else None
        self._starter = AuxiliaryCommand(self.resident.agent, command, own, trial=trial)

        def look() -> None:
            if is_over():
                raise TrialError("the services of another host have failed")
            self._check()

        if not self._control.ready(look):
            self.check()

    def check(self) -> None:
        """Raise TrialError where a service has ended, with the last lines of its log."""
        if not self._control.heard():
            failure = self._control.failure
            assert failure is not None
            self._note()
            raise Why(self._here(failure.reason), failure.kind).in_one_line.error

    @property
    def output(self) -> list[record.Output]:
        """What the services have written, where that is captured."""
        return [] if self._starter is None else list(self._starter.output)

    @property
    def killed(self) -> list[Service]:
        """Services that did not end in their time."""
        return [one for one in self._services if one.name in self._control.killed]

    def close(self) -> bool:
        """End the services; return whether the agent of their instance has no job any more."""
        try:
            if self._starter is not None:
                with contextlib.suppress(TareError, DecodeError):
                    self._control.end()
            return self._is_idle()
        finally:
            self._control.close()

    def _is_idle(self) -> bool:
        """Wait until the agent has reported the end of what starts the services."""
        with contextlib.suppress(TareError):
            return self._starter is None or self._starter.has_ended(END_S)
        return False

    def _check(self) -> None:
        """Raise where nothing starts services: its agent has said all that it says."""
        assert self._starter is not None
        ended = self._starter.has_ended()
        fault = self._starter.fault
        if fault is None and not ended:
            return
        if fault is not None and fault.kind not in ("exit", "signal"):
            raise TrialError(self._here(fault.message))
        raise AgentError(self._here(message(phrases.GONE, who=message("what starts the services"))))

    def _here(self, why: Message | str) -> str:
        """Return what went wrong, with where."""
        return text(message("on host {host}: {why}", host=self.number, why=why))

    def _note(self) -> None:
        """Say that the kernel ended a process for want of memory, where it did."""
        assert self._starter is not None
        with contextlib.suppress(TareError):
            self._starter.has_ended(END_S)
        faults = (got for got in self._starter.records if isinstance(got, record.Fault))
        if any(fault.kind == "out_of_memory" for fault in faults):
            self._control.fail(Why.of(Refusal("serving.memory", message(phrases.MEMORY))))


class Cluster:
    """The services of one application at one level of all that they depend on."""

    def __init__(self, members: list[Member], levels: Mapping[str, str]) -> None:
        self.members = members
        #: What the hosts stand for, but for each one's own address.
        self.placeholders = levels

    def check(self) -> None:
        """Raise TrialError where a service has ended, with the last lines of its log."""
        for member in self.members:
            member.check()

    @property
    def cpu_ns(self) -> int | None:
        """CPU time of all services until now; None: some are not seen from here."""
        each = [member.cpu_ns for member in self.members]
        known = [one for one in each if one is not None]
        return sum(known) if len(known) == len(each) else None


class Clusters(TrialPart):
    """The clusters of a session: started when first needed, then kept as long as there is room."""

    #: That of the current trial.
    _cluster: Cluster

    def __init__(self, resources: SessionResources) -> None:
        super().__init__(resources)
        self._running: dict[Key, Cluster] = {}
        #: What was reported once: service, time and on how many hosts.
        self._killed: set[tuple[str, float, int]] = set()

    def prepare(self, trial: RunningTrial) -> None:
        """Start the services, unless an earlier trial has; raises TrialError."""
        root = self.resources.roots.of(trial.cell)
        self._cluster = self.get(trial.number, trial.cell, trial.levels, root)

    def placeholders(
        self, trial: RunningTrial, resident: Resident | None, inner: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return the addresses of the services; on host 1 is the command, with an address there."""
        own = inner[f"{placeholders.HOST}1"]
        return {**inner, **self._cluster.placeholders, placeholders.HOST: own}

    def check(self) -> None:
        """Raise TrialError where a service has ended."""
        self._cluster.check()

    @contextlib.contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Keep the CPU time of the services; end them where their state is unknown afterwards.

        Raises TrialError where one of them has ended meanwhile.
        """
        cluster = self._cluster
        try:
            before = cluster.cpu_ns
            yield
            after = cluster.cpu_ns
            cluster.check()
        except BaseException:
            self._discard(cluster)
            raise
        if before is not None and after is not None:
            trial.keep([_sample(trial.number, after - before)])
        if self.resources.experiment.fresh == "trial":
            self._discard(cluster)

    def judge(self, trial: RunningTrial, failure: Why | None) -> Why | None:
        """Wait until it is known whether services have ended at which a command failed."""
        if failure is not None:
            time.sleep(SETTLE_S)
        return failure

    def get(self, trial: int, cell: Cell, values: Mapping[str, str], root: Root | None) -> Cluster:
        """Return the services of a cell's application on all hosts.

        Parameters
        ----------
        trial : int
        cell : Cell
        values : mapping
            What placeholders stand for, but for hosts.
        root : Root or None
            The files of the application.

        Raises
        ------
        TrialError
            If they do not become ready.
        """
        application = cell.workload.application
        assert application is not None
        what = self._what(cell, application, values, root)
        if what not in self._running:
            self._make_room(cell)
            self._running[what] = self._start(trial, what, cell, application, values)
        # The longest unused one comes first.
        self._running[what] = self._running.pop(what)
        return self._running[what]

    def close(self) -> None:
        """End all of them."""
        with contextlib.ExitStack() as stack:
            for what in self._running:
                stack.callback(self._end, what)

    def _discard(self, cluster: Cluster) -> None:
        for what in [what for what, one in self._running.items() if one is cluster]:
            self._end(what)

    def _what(
        self, cell: Cell, application: Application, values: Mapping[str, str], root: Root | None
    ) -> Key:
        """Return what its first instance is given, and of the values those that services name."""
        e = self.resources.experiment
        named = {name for one in application.texts for name in placeholders.names(one)}
        own = sorted(f"{name}={value}" for name, value in values.items() if name in named)
        return Key(
            cell.platform, cell.size, cell.pinning, e.cores(cell), e.period_s(cell),
            (0,), (None,), root, serves_on=1, serves=(application.digest, *own),
        )  # fmt: skip

    def _make_room(self, cell: Cell) -> None:
        """End the longest unused ones, as far as memory has to be free for another."""
        room = MEMORY_SHARE * self.resources.machine.memory_bytes
        limits = self.resources.experiment.limits
        while self._running:
            taken = [limits(what.size).memory_bytes for what in self._running]
            taken.append(limits(cell.size).memory_bytes)
            known = [each for each in taken if each is not None]
            if (
                len(known) == len(taken)
                and sum(known) * instances(self.resources.experiment, cell) <= room
            ):
                return
            self._end(next(iter(self._running)))

    def _start(
        self,
        trial: int,
        what: Key,
        cell: Cell,
        application: Application,
        values: Mapping[str, str],
    ) -> Cluster:
        assert self.resources.hosts is not None
        count = self.resources.experiment.network.hosts
        numbers = range(1, count + 1)
        each = tuple(one for one in application.services if one.hosts == "each")
        own = {number: each if number > 1 else application.services for number in numbers}
        used = [number for number in numbers if own[number]]
        residents = self.resources.pool.get_all(
            cell.platform, [what._replace(serves_on=number) for number in used]
        )
        members: list[Member] = []
        try:
            for number, resident in zip(used, residents, strict=True):
                members.append(Member(self.resources.hosts, number, own[number], resident))
            addresses = {member.number: member.address for member in members}
            all_addresses = [
                addresses.get(number)
                or str(self.resources.hosts.emulator.hosts[number - 1].address)
                for number in numbers
            ]
            file = write_hosts(
                self.resources.hosts.folder / f"hosts-of-{residents[0].place.name}", all_addresses
            )
            levels = placeholders.of_hosts(all_addresses, str(file))
            self._start_all(trial, cell.workload, members, {**values, **levels})
        except BaseException:
            self._close(members)
            raise
        return Cluster(members, levels)

    def _start_all(
        self,
        trial: int,
        workload: WorkloadSpec,
        members: list[Member],
        values: Mapping[str, str],
    ) -> None:
        """Start the services of host 1, then those of the others side by side."""
        # Once one has failed, or nobody wants them any more, no other is waited for.
        over = threading.Event()
        limit_bytes = workloads.CAPTURE_LIMIT_BYTES
        capture = record.Capture(limit_bytes=limit_bytes) if workload.keeps_output else None

        def start(member: Member) -> None:
            own = {**values, placeholders.HOST: member.address}
            member.kept_in, member.levels = workload.output, values
            member.start(
                own, str(self.resources.shared), self.resources.user, over.is_set, trial, capture
            )

        def show(ready: int) -> None:
            self.resources.stage(
                text(
                    message(
                        "starting the services of {name}: {ready} of "
                        "{hosts | counted('host')} ready",
                        name=workload.name,
                        ready=ready,
                        hosts=len(members),
                    )
                )
            )

        show(0)
        first, *others = members
        start(first)
        show(1)
        with ThreadPoolExecutor(max_workers=8) as threads:
            started = [threads.submit(start, member) for member in others]
            try:
                for ready, one in enumerate(as_completed(started), 2):
                    one.result()
                    show(ready)
            except BaseException:
                over.set()
                raise

    def _end(self, what: Key) -> None:
        self._close(self._running.pop(what).members)

    def _close(self, members: list[Member]) -> None:
        """End the services of all hosts, those of host 1 last, and their instances."""
        idle: set[int] = set()

        def end(member: Member) -> None:
            if member.close():
                idle.add(member.number)

        with contextlib.ExitStack() as stack:
            # Instances and files are this thread's alone.
            for member in members:
                stack.callback(self._release, member, idle)
            for member in members[:1]:
                stack.callback(end, member)
            # Each may take the whole time that its services have to end.
            with ThreadPoolExecutor(max_workers=max(1, len(members) - 1)) as threads:
                ended = [threads.submit(end, member) for member in members[1:]]
            for one in ended:
                one.result()
        self._note_killed(members)

    def _release(self, member: Member, idle: Collection[int]) -> None:
        """End the instance of services that have ended, and keep what they have written."""
        self.resources.pool.discard([member.resident], lost=member.number not in idle)
        if self.resources.outputs is not None and member.output:
            of = f"host{member.number}"
            self.resources.outputs.keep(member.output, member.kept_in, member.levels, of)

    def _note_killed(self, members: list[Member]) -> None:
        """Name services that did not end in their time, each once for so many hosts."""
        killed = Counter((one.name, one.stop_s) for member in members for one in member.killed)
        for (name, stop_s), hosts in killed.items():
            if (name, stop_s, hosts) not in self._killed:
                self._killed.add((name, stop_s, hosts))
                self.resources.note(
                    message(phrases.KILLED, service=name, hosts=hosts, limit=Duration(stop_s))
                )


def _sample(trial: int, cpu_ns: int) -> record.Sample:
    return record.Sample(
        id=0, trial=trial, worker=None, iteration=None, phase="measured",
        metric="hosts_cpu_ns", source=OF_HOSTS, value=cpu_ns,
    )  # fmt: skip
