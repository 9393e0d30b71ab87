"""Whether the clocks inside an instance agree with the host's."""

from __future__ import annotations

import time

from tare import agent, record
from tare.errors import AgentError
from tare.journal import ClockCheck

#: Exchanges, of which the fastest one counts.
EXCHANGES = 9
#: An agent that is idle answers at once; more than this means that it hangs.
ANSWER_S = 10.0


def check(speaking: agent.Agent, instance: str) -> ClockCheck:
    """Read the clocks inside an instance between two readings of the host's.

    Raises
    ------
    AgentError
        If the agent does not answer.
    """
    return min(
        (_exchange(speaking, instance) for _ in range(EXCHANGES)), key=lambda one: one.within_ns
    )


def _exchange(speaking: agent.Agent, instance: str) -> ClockCheck:
    job = record.ReadClocks(id=speaking.next_id())
    ahead_ns = time.time_ns() - time.monotonic_ns()
    sent_ns = time.monotonic_ns()
    answers = speaking.ask(job, ANSWER_S)
    came_ns = time.monotonic_ns()
    inside = next((one for one in answers if isinstance(one, record.Clocks)), None)
    if inside is None:
        raise AgentError("the agent was asked for its clocks and did not tell them")
    middle_ns = (sent_ns + came_ns) // 2
    return ClockCheck(
        instance=instance,
        monotonic_ns=middle_ns,
        monotonic_offset_ns=inside.monotonic_ns - middle_ns,
        realtime_offset_ns=inside.realtime_ns - (middle_ns + ahead_ns),
        # Half of the way there and back, rounded up.
        within_ns=(came_ns - sent_ns + 1) // 2,
    )
