"""Parts of a trial: what it has in addition to its command, each with the same steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tare.agent import record
from tare.experiment.journal import MOST_VALUE, HostTokens, HostUse, Line

if TYPE_CHECKING:
    from pathlib import Path

    from tare.applications.output import Reading
    from tare.experiment.placement import Machine
    from tare.experiment.session.failing import Why
    from tare.experiment.session.hosts import Hosts
    from tare.experiment.session.observer import Observer
    from tare.experiment.session.output import Outputs
    from tare.experiment.session.pool import Pool
    from tare.experiment.session.resident import Cpus, Resident
    from tare.experiment.session.roots import Roots
    from tare.experiment.specification import Cell, Experiment
    from tare.results.message import Message


@dataclass(frozen=True, kw_only=True)
class SessionResources:
    """What a session gives to all of its trials.

    Attributes
    ----------
    name : str
        Of the session; names everything that it makes on the machine.
    nonce : int
        Marks the processes of the session for the observer.
    folder : Path
        Of the results.
    shared : Path
        Folder of this machine that instances see.
    reading : callable
        Reads the formats of other tools.
    environment : mapping
        Environment variables of this process when the session began.
    write : callable
        Appends a line to the journal.
    stage : callable
        Takes what the session does at the moment, as text.
    note : callable
        Takes what is to be reported with the results.
    user : User or None
        As whom commands run; None: as this process.
    outputs : Outputs or None
        Keeps what commands write; None: no workload asks for it.
    hosts : Hosts or None
        The emulated network; None: trials use the machine's own.
    """

    name: str
    nonce: int
    experiment: Experiment
    machine: Machine
    folder: Path
    shared: Path
    pool: Pool
    observer: Observer
    roots: Roots
    reading: Reading
    environment: Mapping[str, str]
    write: Callable[..., None]
    stage: Callable[[str], None]
    note: Callable[[Message], None]
    user: record.User | None = None
    outputs: Outputs | None = None
    hosts: Hosts | None = None


class TrialPart:
    """One thing that trials of some cells have in addition to their command.

    A session makes a part for the first cell that has it, and closes it at its end. Trials take
    place one at a time, so a part may keep what belongs to the current trial. Every step does
    nothing here; a part overrides those that it needs.

    Parameters
    ----------
    resources : SessionResources
    """

    def __init__(self, resources: SessionResources) -> None:
        self.resources = resources

    def prepare(self, trial: RunningTrial) -> None:
        """Do what takes place before the trial begins; its time is not the trial's."""

    def placeholders(
        self, trial: RunningTrial, resident: Resident | None, inner: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return the placeholders of hosts; ``inner`` are those of the parts inside of this one.

        ``resident`` is the instance of the command; None: the first host of the network.
        """
        return inner

    def workload(
        self, trial: RunningTrial, workload: record.Workload, resident: Resident
    ) -> record.Workload:
        """Return what an instance executes, given what the parts inside of this one made of it."""
        return workload

    @contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Do something before and after the parts inside of this one, and what they measure."""
        yield

    def check(self) -> None:
        """Raise TareError where there is nothing to wait for any more; called while it runs."""

    def take(self, got: record.Sample | record.Output, resident: Resident) -> None:
        """Look at a record that the agent of an instance sent."""

    def is_kept(self, got: record.Sample | record.Fault) -> bool:
        """Return whether a record is to be written to the journal."""
        return True

    def judge(self, trial: RunningTrial, failure: Why | None) -> Why | None:
        """Add values to a trial after its execution; return why the trial failed, or None.

        Called inside of :meth:`around`, after the parts inside of this one were left.
        """
        return failure

    def close(self) -> None:
        """End what this part keeps from trial to trial."""


@contextmanager
def judged(part: TrialPart, trial: RunningTrial) -> Iterator[None]:
    """Enter a part, and have it judge the trial before it is left."""
    with part.around(trial):
        yield
        trial.failure = part.judge(trial, trial.failure)


@dataclass(kw_only=True)
class RunningTrial:
    """One trial from its beginning to its end."""

    resources: SessionResources
    number: int
    block: int
    cell: Cell
    #: CPUs of each worker; None: any.
    cpus: tuple[Cpus, ...]
    #: Of the generated input.
    seed: int
    #: Executions of a kernel in one timed region; None: one.
    repetitions: int | None
    #: It finds the repetitions, and gives no value.
    rehearsal: bool
    #: What placeholders stand for, except those of hosts.
    levels: Mapping[str, str]
    #: The outermost first.
    parts: Sequence[TrialPart]
    #: The end of standard error is read, which shows why a command failed.
    error_captured: bool = False
    #: Duration of the longest good trial of its cell; None: there is none yet.
    longest_s: float | None = None
    #: By CLOCK_MONOTONIC.
    began_ns: int = 0
    #: What the trial's command is, without what parts make of it.
    job: record.Trial = field(init=False)
    #: Where the trial takes place; known to parts inside of the instances.
    residents: list[Resident] = field(default_factory=list)
    #: Why it failed; None: it did not until now.
    failure: Why | None = None
    #: A computation gave a wrong result.
    wrong: bool = False
    #: The kernel ended a process for want of memory, even if the trial did not fail.
    out_of_memory: bool = False
    #: A load that ran to its end was refused, which the next one need not be.
    refused_by_chance: bool = False
    #: The first fault that made the trial fail.
    fault: record.Fault | None = None
    #: Kind and iteration of all faults except warnings.
    faults: list[tuple[str, int | None]] = field(default_factory=list)

    def hosts(self, resident: Resident | None = None) -> Mapping[str, str]:
        """Return the values of host placeholders in an instance; empty without a network.

        ``resident`` None: on the first host of the network.
        """
        found: Mapping[str, str] = {}
        for part in reversed(self.parts):
            found = part.placeholders(self, resident, found)
        return found

    @property
    def may_do_better(self) -> bool:
        """Whether the next trial may succeed: a program that ran may, a missing one cannot."""
        ended = self.fault is not None and self.fault.kind in (
            "exit", "signal", "timeout", "cpu_time",
        )  # fmt: skip
        return self.refused_by_chance or (ended and not self.cell.workload.serves)

    def keep(self, records: Iterable[record.Record | Line]) -> str | None:
        """Write records down; return the first reason for the trial to have failed."""
        failure: str | None = None
        for got in records:
            if isinstance(got, HostUse | HostTokens):
                self.resources.write(got)
            elif isinstance(got, record.Sample) and not abs(got.value) <= MOST_VALUE:
                # A program may print any number; in the journal it would read as damage.
                failure = failure or f"{got.metric} is {got.value:g}, which no program measures"
            elif isinstance(got, record.Sample):
                if self._is_kept(got):
                    self.resources.write(got)
                    self.out_of_memory |= got.metric == "oom_killed" and got.value > 0
            elif isinstance(got, record.Fault):
                if self._is_kept(got):
                    self.resources.write(got)
                self.wrong |= got.kind == "check"
                if got.kind != "warning":
                    failure = failure or got.message
                    self.fault = self.fault or got
                    self.faults.append((got.kind, got.iteration))
        return failure

    def _is_kept(self, got: record.Sample | record.Fault) -> bool:
        return all(part.is_kept(got) for part in self.parts)
