"""Perform rounds of probes over a resident agent."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from tare.agent import record
from tare.agent.client import Agent

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
