"""The empty stack: a process of this machine, with nothing around it."""

from __future__ import annotations

from tare.agent import Channel, ProcessChannel
from tare.platforms.layer import Ground, Place
from tare.registry import Description


class Bare(Ground):
    """Starts processes on the host; everything that is not a container stands on it."""

    description = Description(
        name="bare",
        title="this machine itself",
        question="What does the workload take with nothing around it?",
    )

    is_host = True

    def start(self, argv: list[str], place: Place, *, privileged: bool) -> Channel:
        """Start a command as a child."""
        return ProcessChannel(argv)


UNIT = Bare()
