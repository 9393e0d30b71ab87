"""What agents send while they do their jobs, as it comes."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from tare.agent import record
from tare.agent.client import Answer, SilenceError
from tare.errors import AgentError
from tare.experiment.session.resident import Resident
from tare.host import processes
from tare.platforms import groups

#: Interval between checks of agents that send nothing, in seconds.
LOOK_S = 1.0
#: Interval between checks of a silent agent's programs, if they have no time-out.
STOPPED_S = 5.0
#: Consecutive checks at which a program is stopped until its trial fails: it may be continued.
STOPPED_LOOKS = 3
#: Largest value that an instrument of tare can read; in nanoseconds, 31 years since the machine
#: booted.
MAX_ABS_VALUE = 10**18
#: Times and amounts, which are never below 0.
AMOUNTS = frozenset((
    "cpu_ns", "memory_bytes", "on_cpu_ns", "system_ns", "teardown_ns", "tree_wall_ns", "user_ns",
    "wait_ns", "wall_ns",
))  # fmt: skip


@dataclass
class PendingAnswer:
    """The answer of an agent to a job that it was given, as far as it has come."""

    resident: Resident
    answer: Answer
    #: How long it may send nothing, in seconds; None: for ever.
    limit_s: float | None
    #: When it last sent something, and what is known of it since.
    last_record_at: float = field(default_factory=time.monotonic)
    context: str = ""
    #: Whether it is to be checked, as it has sent nothing for ``LOOK_S``.
    silent: bool = False
    #: When its programs were last checked, and at how many checks in a row one was stopped.
    checked: float = 0.0
    stopped: int = 0


def ask(
    resident: Resident, job: record.Trial, limit_s: float | None, max_records: int | None = None
) -> PendingAnswer:
    """Give a job to the agent of an instance.

    Parameters
    ----------
    resident : Resident
    job : Trial
    limit_s : float or None
        How long the agent may send nothing; None: for ever.
    max_records : int, optional
        Largest number of records that an answer may have.

    Raises
    ------
    AgentError
        If the agent is gone.
    """
    resident.agent.submit(job)
    return PendingAnswer(resident, Answer(resident.agent, job.id, max_records), limit_s)


def no_check() -> None:
    """Check nothing: of a command, all there is comes from its agents."""


class Listener:
    """Waits for the agents of several jobs at once.

    An agent whose worker waits at a barrier for one that is gone sends nothing, so none of them is
    waited for alone.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        #: Added since the last wait: no selector reports what has been read already.
        self._added: list[PendingAnswer] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *about: object) -> None:
        self._selector.close()

    @property
    def pending(self) -> list[PendingAnswer]:
        """Agents whose answers are waited for."""
        return [key.data for key in self._selector.get_map().values()]

    def add(self, one: PendingAnswer) -> None:
        """Wait for an agent as well."""
        self._selector.register(one.resident.agent.channel, selectors.EVENT_READ, one)
        self._added.append(one)

    def remove(self, one: PendingAnswer) -> None:
        """Wait for an agent no longer."""
        self._selector.unregister(one.resident.agent.channel)

    def wait(self) -> list[PendingAnswer]:
        """Return the agents that may have sent something; where none has for ``LOOK_S``, all."""
        added, self._added = self._added, []
        ready = added or [key.data for key, _ in self._selector.select(LOOK_S)]
        if ready:
            return ready
        for one in self.pending:
            one.silent = True
        return self.pending


def answers(
    asked: Sequence[PendingAnswer], look: Callable[[], None] = no_check
) -> Iterator[tuple[Resident, record.Record]]:
    """Yield what all agents of a trial send, until the last answer is whole.

    Parameters
    ----------
    asked : sequence of PendingAnswer
    look : callable
        Called again and again meanwhile; raises where there is nothing to wait for any more.

    Raises
    ------
    AgentError
        If one of them is gone, stopped, silent for too long,
        or sends records that do not answer the job.
    """
    with Listener() as listener:
        for one in asked:
            listener.add(one)
        while True:
            for one in listener.wait():
                for got in received(one):
                    yield one.resident, got
                if one.answer.whole:
                    listener.remove(one)
            if not listener.pending:
                return
            look()


def received(one: PendingAnswer) -> Iterator[record.Record]:
    """Yield what an agent has sent by now; of one that was silent, check whether it still can.

    Raises
    ------
    AgentError
        If it is gone, stopped, silent for too long, or sends records that do not answer the job.
    """
    silent, one.silent = one.silent, False
    try:
        while (got := one.answer.next(0.0)) is not None:
            silent = False
            one.last_record_at = time.monotonic()
            yield got
    except SilenceError as silence:
        one.context = silence.context
    if silent and not one.answer.whole:
        check(one)


def check_record(got: record.Record, trial: int, workers: Sequence[int]) -> None:
    """See that a record is of one's own trial and workers, and that its value is possible.

    Raises
    ------
    AgentError
        If it is not.
    """
    if not isinstance(got, record.Sample | record.Fault | record.Output):
        return
    if got.trial not in (trial, None) or got.worker not in (None, *workers):
        raise AgentError("the agent sent a record of another trial or worker")
    if isinstance(got, record.Sample) and (
        abs(got.value) > MAX_ABS_VALUE or (got.value < 0 and got.metric in AMOUNTS)
    ):
        raise AgentError(f"the agent sent a {got.metric} of {got.value}, which nothing reads")


def check(one: PendingAnswer) -> None:
    """Raise AgentError where an agent that sends nothing cannot any more."""
    pid = one.resident.instance.host_pid
    if pid is not None and processes.is_stopped(pid):
        raise AgentError("the agent was stopped by a signal")
    if pid is not None and groups.is_frozen(pid):
        raise AgentError("the agent was frozen with its control group")
    quiet_since = max(one.last_record_at, one.checked)
    if pid is not None and one.limit_s is None and time.monotonic() - quiet_since > STOPPED_S:
        one.checked = time.monotonic()
        # A sandbox that starts programs waits for their end, and reports no stop. What a program
        # itself has started it may stop deliberately.
        changes = 1 if one.resident.instance.starter is None else 2
        stopped = any(map(processes.is_stopped, processes.launched(pid, changes)))
        one.stopped = one.stopped + 1 if stopped else 0
        if one.stopped >= STOPPED_LOOKS:
            raise AgentError("the program was stopped by a signal, and not continued")
    if one.limit_s is not None and time.monotonic() - one.last_record_at > one.limit_s:
        raise SilenceError(one.limit_s, one.context)
