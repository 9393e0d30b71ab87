"""The clocks inside an instance beside those of this machine, by exchanges with its agent."""

from __future__ import annotations

import time
from typing import NamedTuple

from tare.agent import record
from tare.agent.client import Agent
from tare.errors import AgentError

#: Of so many exchanges the quickest says most.
EXCHANGES = 8
ANSWER_S = 30.0


class Offset(NamedTuple):
    """Inside minus here; the true offset is within ``within_ns`` of it."""

    #: When, by CLOCK_MONOTONIC here.
    monotonic_ns: int
    monotonic_offset_ns: int
    realtime_offset_ns: int
    within_ns: int


def compare(agent: Agent, answer_s: float = ANSWER_S) -> Offset:
    """Compare clocks, by the exchange that took the least time; each may take ``answer_s``.

    Raises
    ------
    AgentError
        If the agent is gone, or does not tell.
    """
    return min(
        (_exchange(agent, answer_s) for _ in range(EXCHANGES)), key=lambda one: one.within_ns
    )


def _exchange(agent: Agent, answer_s: float) -> Offset:
    job = record.ReadClocks(id=agent.next_id())
    # Realtime is read between two of monotonic, so that what comes between is within the bounds.
    before = time.monotonic_ns()
    ahead = time.time_ns() - before
    answers = agent.ask(job, answer_s)
    after = time.monotonic_ns()
    told = next((one for one in answers if isinstance(one, record.Clocks)), None)
    if told is None:
        raise AgentError("the agent does not tell its clocks")
    middle = (before + after) // 2
    return Offset(
        monotonic_ns=middle,
        monotonic_offset_ns=told.monotonic_ns - middle,
        realtime_offset_ns=told.realtime_ns - (middle + ahead),
        within_ns=(after - before + 1) // 2,
    )
