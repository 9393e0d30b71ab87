"""The instances of platforms that a session keeps: started when first needed, then resident."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tare import platforms
from tare.agent import record
from tare.errors import AgentError
from tare.experiment.journal import ClockCheck, InstanceEnd, InstanceStart, MachineFact
from tare.experiment.session import instance_facts, verify_limits
from tare.experiment.session.resident import Cpus, Key, Resident
from tare.experiment.specification import Cell, Experiment
from tare.host import processes
from tare.platforms import Root, groups

if TYPE_CHECKING:
    from tare.experiment.session.hosts import Hosts
    from tare.experiment.session.joining import Joining

#: Time limit of an agent that measures itself, in seconds: a virtual machine takes some.
MEASURE_S = 120.0
#: Largest number of instances that are kept: a machine of 64 CPUs has 640 quotas in steps of 0.1.
MOST_RESIDENT = 64
#: Share of the machine's memory that virtual machines may take together while they are kept.
MEMORY_SHARE = 0.8
#: Assumed memory of a virtual machine whose size is not given, and that does not report it.
MACHINE_BYTES = 1 << 30

#: What is written down of an instance.
InstanceLine = InstanceStart | InstanceEnd | ClockCheck | MachineFact


def keys_of(
    experiment: Experiment, cell: Cell, cpus: tuple[Cpus, ...], root: Root | None = None
) -> list[Key]:
    """Return what the instances of a cell are given, its workers on those CPUs."""
    workers = tuple(range(cell.workers))
    e = experiment
    given = (cell.platform, cell.size, cell.pinning, e.cores(cell), e.period_s(cell))
    also = (root, e.joins(cell.workload))
    if e.instances == "shared":
        return [Key(*given, workers, cpus, *also)]
    return [Key(*given, (worker,), (cpus[worker],), *also) for worker in workers]


class Pool:
    """Gives each trial its instances; of more than it keeps, the longest unused one is ended.

    Parameters
    ----------
    name : str
        Name of the session; every instance is called ``NAME-NUMBER``.
    shared : str
        Host directory that every instance sees.
    experiment : Experiment
        Says whether workers share an instance and which options platforms have.
    memory_bytes : int
        Of this machine.
    files : tuple of str
        Files of this machine that commands need.
    keep : callable
        Takes what is written down of every instance that is started or ended.
    hosts : Hosts or None
        The network that all instances are to be in; None: the machine's own.
    user : User or None
        As whom commands run; None: as who runs this.
    hidden : str or None
        Lists files that commands are not to read.
    sandbox_bytes : int or None
        Memory of a sandbox whose size says nothing of it; None: as much as there is.
    """

    def __init__(
        self,
        name: str,
        shared: str,
        experiment: Experiment,
        memory_bytes: int,
        files: tuple[str, ...],
        keep: Callable[[Sequence[InstanceLine]], None],
        hosts: Hosts | None = None,
        user: record.User | None = None,
        hidden: str | None = None,
        sandbox_bytes: int | None = None,
    ) -> None:
        self._name = name
        self._shared = shared
        self._experiment = experiment
        self._memory_bytes = memory_bytes
        self._files = files
        self._keep = keep
        self._hosts = hosts
        self._user = user
        self._hidden = hidden
        self._sandbox_bytes = sandbox_bytes
        #: The longest unused one first.
        self._residents: dict[Key, Resident] = {}
        self._started = 0
        #: Stacks whose facts are written down.
        self._known: set[str] = set()
        #: Instances whose visible resources are written down.
        self._seen: set[Key] = set()
        #: Memory of virtual machines whose size is not given, by stack.
        self._machines: dict[str, int] = {}

    def get(self, cell: Cell, cpus: tuple[Cpus, ...], root: Root | None = None) -> list[Resident]:
        """Return the instances for a cell's workers, starting those that are not there yet.

        ``root`` is what they show in the place of this machine's files.

        Raises
        ------
        PlatformError, AgentError
            If one cannot be started, or is not what was asked; those that were stay for the next
            trial.
        """
        return self.get_all(cell.platform, keys_of(self._experiment, cell, cpus, root))

    def get_all(self, platform: str, keys: list[Key], busy: Sequence[Key] = ()) -> list[Resident]:
        """Return instances of a platform as :meth:`get` does; ``busy`` ones stay."""
        missing = [key for key in keys if key not in self._residents]
        if missing:
            self._add(platform, keys, missing, busy)
        for key in keys:
            self._residents[key] = self._residents.pop(key)
        return [self._residents[key] for key in keys]

    def _add(self, platform: str, keys: list[Key], missing: list[Key], busy: Sequence[Key]) -> None:
        self._make_room([*keys, *busy], missing)
        numbers = range(self._started, self._started + len(missing))
        self._started += len(missing)
        # Virtual machines boot one at a time: concurrent ones would wait for each other.
        one_at_a_time = len(missing) == 1 or not platforms.shares_memory(platform)
        try:
            if one_at_a_time:
                for key, number in zip(missing, numbers, strict=True):
                    self._residents[key] = self._start(key, number)
            else:
                self._start_all(missing, numbers)
        finally:
            self._check_all([self._residents[key] for key in missing if key in self._residents])

    def _start_all(self, missing: list[Key], numbers: range) -> None:
        with ThreadPoolExecutor(max_workers=8) as threads:
            futures = [
                threads.submit(self._start, key, number)
                for key, number in zip(missing, numbers, strict=True)
            ]
        for key, future in zip(missing, futures, strict=True):
            if future.exception() is None:
                self._residents[key] = future.result()
        for future in futures:
            future.result()

    def _make_room(self, keys: list[Key], missing: list[Key]) -> None:
        """End the longest unused instances but those of a trial, so that the missing ones fit."""
        # Services in an instance are ended by whoever started them.
        unused = [k for k in self._residents if k not in keys and k.serves_on is None]
        excess = len(self._residents) + len(missing) - MOST_RESIDENT
        taken = sum(map(self._machine_bytes, [*self._residents, *missing]))
        for key in unused:
            own = self._machine_bytes(key)
            over = taken > MEMORY_SHARE * self._memory_bytes
            if excess > 0 or (over and own):
                self.discard([self._residents[key]])
                excess -= 1
                taken -= own

    def _machine_bytes(self, key: Key) -> int:
        """Return the memory that an instance takes as a machine of its own."""
        if key.platform not in self._machines:
            return 0
        return self._experiment.limits(key.size).memory_bytes or self._machines[key.platform]

    def has(self, resident: Resident) -> bool:
        """Return whether an instance is still there."""
        return self._residents.get(resident.key) is resident

    def discard(self, residents: list[Resident], *, lost: bool = False) -> list[platforms.Figure]:
        """End instances, and return the figures that the platforms themselves have of them.

        ``lost``: their agents may hang, or still run what nobody waits for.
        """
        figures: list[platforms.Figure] = []
        lines: list[InstanceLine] = []
        for resident in residents:
            if not lost:
                with contextlib.suppress(AgentError):
                    lines.append(instance_facts.clock_check(resident))
            weight = processes.weight(resident.place.name)
            # What the platform itself uses, besides the agent and its programs.
            around = weight.around if weight is not None and weight.around.memory_bytes else None
            began = time.monotonic_ns()
            try:
                figures += resident.instance.close()
                if lost:
                    # An agent that was killed ends nothing that it had launched.
                    groups.clear(resident.place.name)
            finally:
                if resident.joining is not None:
                    resident.joining.close()
                self._residents.pop(resident.key, None)
            lines.append(
                InstanceEnd(
                    instance=resident.place.name,
                    stop_ns=time.monotonic_ns() - began,
                    host_cpu_ns=around and around.cpu_ns,
                    host_memory_bytes=around and around.memory_bytes,
                )
            )
        # A journal that cannot be written keeps none of them alive.
        self._keep(lines)
        return figures

    def close(self) -> None:
        """End all instances."""
        self.discard(list(self._residents.values()))

    def _start(self, key: Key, number: int) -> Resident:
        if self._hosts is None or not key.joins:
            return self._start_joined(key, number, None)
        joining = self._hosts.join(key.platform, key.serves_on)
        try:
            return self._start_joined(key, number, joining)
        except BaseException:
            joining.close()
            raise

    def _memory_bytes_of(self, key: Key) -> int | None:
        given = self._experiment.limits(key.size).memory_bytes
        is_sandbox = platforms.own_files(key.platform) and platforms.shares_memory(key.platform)
        return self._sandbox_bytes if given is None and is_sandbox else given

    def _start_joined(self, key: Key, number: int, joining: Joining | None) -> Resident:
        cpus = key.cpus
        given = None if None in cpus else tuple(sorted({c for some in cpus for c in some or ()}))
        place = platforms.Place(
            name=f"{self._name}-{number}",
            cpus=given,
            cores=key.cores,
            period_us=round(key.period_s * 1e6),
            memory_bytes=self._memory_bytes_of(key),
            shared=self._shared,
            options=self._experiment.platforms,
            runs_commands=self._experiment.runs_commands,
            files=self._files,
            hidden=self._hidden,
            starts_programs=self._experiment.fresh == "run",
            network=None if joining is None else joining.network,
            port=None if joining is None else joining.port,
            user=self._user,
            root=key.root,
        )
        instance = platforms.start(key.platform, place)
        try:
            if joining is not None:
                joining.begun(instance)
        except BaseException:
            instance.close()
            raise
        return Resident(key, place, instance, joining)

    def _check_all(self, residents: list[Resident]) -> None:
        """Check those that were started; where one fails, none stays that was not checked."""
        for number, resident in enumerate(residents):
            try:
                self._check(resident)
            except BaseException:
                self.discard(residents[number + 1 :], lost=True)
                raise

    def _check(self, resident: Resident) -> None:
        """Write down what an instance is, and see that it was given what was asked."""
        key = resident.key
        first = key.platform not in self._known
        self._keep([instance_facts.begun(resident, cold=first)])
        try:
            self._keep([instance_facts.clock_check(resident)])
            if resident.joining is not None:
                resident.joining.check(resident.agent)
            if first or key not in self._seen:
                self._measure(resident, is_first=first)
        except BaseException:
            self.discard([resident], lost=True)
            raise

    def _measure(self, resident: Resident, *, is_first: bool) -> None:
        """Write down what its agent measures in an instance, and compare it with what was asked."""
        key, place = resident.key, resident.place
        job = record.MeasureSelf(id=resident.agent.next_id())
        own = [got for got in resident.agent.ask(job, MEASURE_S) if isinstance(got, record.Fact)]
        if is_first:
            self._keep(instance_facts.of_platform(resident, own))
            self._known.add(key.platform)
        self._keep(instance_facts.of_instance(resident, own))
        if resident.instance.own_machine and is_first:
            facts = {
                name: int(v) for name, v, unit, _ in resident.instance.facts if unit == "bytes"
            }
            self._machines[key.platform] = int(facts.get("vm_memory_bytes", MACHINE_BYTES))
        verify_limits.check(key.platform, place, resident.instance, {f.name: f.value for f in own})
        self._seen.add(key)
