"""Perform probes, round by round, over a resident agent.

What decides, which probe is next and when it is enough, is handed in as a :class:`Schedule`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from tare.agent import record
from tare.agent.client import Agent, ProcessChannel, binary
from tare.errors import TrialError

#: So long after a round's own limit nothing more is to be expected of the agent.
GRACE_S = 15.0


@dataclass(frozen=True, kw_only=True)
class Given:
    """What every round of a session is given.

    Attributes
    ----------
    directory, remote : str or None
        Where it may make files, as the agent sees it: here, and on another machine's file system.
    memory_bytes, file_bytes : int
        Most memory that a round may take, and most that it may write to a file.
    file_cache : FileCache or None
        Memory that files may fill.
    """

    effort: record.Effort = "quick"
    cpus: tuple[int, ...] | None = None
    directory: str | None = None
    remote: str | None = None
    peer: record.Peer | None = None
    memory_bytes: int = 1 << 30
    file_bytes: int = 256 << 20
    file_cache: record.FileCache | None = None
    seed: int = 1


@dataclass(frozen=True)
class Turn:
    """A round that is to be performed."""

    probe: str
    #: From 0; decides its seed.
    number: int
    timeout_s: float


@dataclass(frozen=True, kw_only=True)
class Round:
    """What one round of one probe brought."""

    probe: str
    number: int
    seconds: float
    readings: tuple[record.Reading, ...]
    faults: tuple[record.Fault, ...]


class Schedule(Protocol):
    """Who decides."""

    def next(self, elapsed_s: float) -> Turn | None:
        """Return the next round; None: it is over."""

    def ended(self, round: Round) -> None:
        """Take note of what a round brought."""


def rounds(
    agent: Agent,
    schedule: Schedule,
    given: Given,
    begins: Callable[[str], None] = lambda probe: None,
    began: float | None = None,
) -> Iterator[Round]:
    """Perform rounds until the schedule says that it is enough.

    Parameters
    ----------
    agent : Agent
        Where they are performed.
    schedule : Schedule
        What decides.
    given : Given
        What every round is given.
    begins : callable
        Is told the probe whose round begins.
    began : float, optional
        When the session began, by the monotonic clock; by default now.

    Yields
    ------
    Round
        As it ends; one that failed has no readings but faults.

    Raises
    ------
    AgentError
        If the agent itself ended; a round that crashes does not end it.
    """
    began = time.monotonic() if began is None else began
    while (turn := schedule.next(time.monotonic() - began)) is not None:
        begins(turn.probe)
        done = perform_round(agent, turn, given)
        schedule.ended(done)
        yield done


def perform_round(agent: Agent, turn: Turn, given: Given) -> Round:
    """Perform one round of one probe."""
    job = record.Probe(
        id=agent.next_id(),
        name=turn.probe,
        effort=given.effort,
        seed=random.Random(f"{given.seed}/{turn.probe}/{turn.number}").getrandbits(63),
        cpus=given.cpus,
        directory=given.directory,
        remote=given.remote,
        memory_bytes=given.memory_bytes,
        file_bytes=given.file_bytes,
        file_cache=given.file_cache,
        peer=given.peer,
        timeout_ns=round(turn.timeout_s * 1e9),
    )
    began = time.monotonic()
    answers = agent.ask(job, turn.timeout_s + GRACE_S)
    return Round(
        probe=turn.probe,
        number=turn.number,
        seconds=time.monotonic() - began,
        readings=tuple(one for one in answers if isinstance(one, record.Reading)),
        faults=tuple(one for one in answers if isinstance(one, record.Fault)),
    )


def perform(
    name: str, count: int = 1, given: Given | None = None, timeout_s: float = 300.0
) -> list[Round]:
    """Perform some rounds of one probe on the bare machine, one after the other.

    Raises
    ------
    TrialError
        If a round brought no reading; says why.
    """
    done = []
    with closing(Agent(ProcessChannel([str(binary()), "serve"]))) as agent:
        for number in range(count):
            one = perform_round(agent, Turn(name, number, timeout_s), given or Given())
            if not one.readings:
                why = "; ".join(fault.message for fault in one.faults) or "it read nothing"
                raise TrialError(f"the probe {name} failed: {why}", "tare describe probes")
            done.append(one)
    return done
