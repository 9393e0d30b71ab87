"""The answers of all agents of a trial, as they come."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tare.agent import record
from tare.agent.client import Answer, SilenceError
from tare.errors import AgentError
from tare.experiment.session.resident import Resident
from tare.platforms import groups, processes

#: How often it is looked whether those who say nothing still can.
LOOK_S = 1.0
#: Interval between checks of a silent agent's programs, if they have no time-out.
STOPPED_S = 5.0
#: Consecutive checks at which a program is stopped until its trial fails: it may be continued.
STOPPED_LOOKS = 3


@dataclass
class Asked:
    """An agent that does its part of a trial."""

    resident: Resident
    answer: Answer
    #: How long it may say nothing; None: for ever.
    limit_s: float | None
    #: When it last said something, and what is known of it since.
    heard: float = field(default_factory=time.monotonic)
    context: str = ""
    #: When its programs were last checked, and at how many checks in a row one was stopped.
    checked: float = 0.0
    stopped: int = 0


def nothing() -> None:
    """Look at nothing: of a command, all there is comes from its agents."""


def answers(
    asked: Sequence[Asked], look: Callable[[], None] = nothing
) -> Iterator[tuple[Resident, record.Record]]:
    """Yield what all agents of a trial say, until the last answer is whole.

    Who waits at a barrier for somebody who is gone says nothing, so all are listened to at once.

    Parameters
    ----------
    asked : sequence of Asked
    look : callable
        Called again and again meanwhile; raises where there is nothing to wait for any more.

    Raises
    ------
    AgentError
        If one of them is gone, stopped, silent for too long, or says what is no answer.
    """
    with selectors.DefaultSelector() as selector:
        for one in asked:
            selector.register(one.resident.agent.channel, selectors.EVENT_READ, one)
        # What has been read already is not told by the selector.
        ready = list(asked)
        while True:
            for one in ready:
                yield from heard(one)
                if one.answer.whole:
                    selector.unregister(one.resident.agent.channel)
            if not selector.get_map():
                return
            look()
            ready = [key.data for key, _ in selector.select(LOOK_S)]
            if not ready:
                for key in list(selector.get_map().values()):
                    check(key.data)


def heard(one: Asked) -> Iterator[tuple[Resident, record.Record]]:
    """Yield what an agent has said by now."""
    try:
        while (got := one.answer.next(0.0)) is not None:
            one.heard = time.monotonic()
            yield one.resident, got
    except SilenceError as silence:
        one.context = silence.context


def check(one: Asked) -> None:
    """Look whether an agent that says nothing still can; raises AgentError."""
    pid = one.resident.instance.host_pid
    if pid is not None and processes.is_stopped(pid):
        raise AgentError("the agent was stopped by a signal")
    if pid is not None and groups.is_frozen(pid):
        raise AgentError("the agent was frozen with its control group")
    quiet_since = max(one.heard, one.checked)
    if pid is not None and one.limit_s is None and time.monotonic() - quiet_since > STOPPED_S:
        one.checked = time.monotonic()
        # A sandbox that starts programs waits for their end, and reports no stop. What a program
        # itself has started it may stop deliberately.
        changes = 1 if one.resident.instance.starter is None else 2
        stopped = any(map(processes.is_stopped, processes.launched(pid, changes)))
        one.stopped = one.stopped + 1 if stopped else 0
        if one.stopped >= STOPPED_LOOKS:
            raise AgentError("the program was stopped by a signal, and not continued")
    if one.limit_s is not None and time.monotonic() - one.heard > one.limit_s:
        raise SilenceError(one.limit_s, one.context)
