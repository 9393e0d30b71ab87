"""The empty stack: a process of this machine, with nothing around it."""

from __future__ import annotations

from collections.abc import Sequence

from tare.agent import Channel, ProcessChannel
from tare.platforms import groups, scope
from tare.platforms.layer import Figure, Ground, Layer, Place
from tare.registry import Description


class Bare(Ground):
    """Starts processes on the host; everything that is not a container stands on it."""

    description = Description(
        name="bare",
        title="this machine itself",
        question="What does the workload take with nothing around it?",
    )
    is_host = True

    def start(self, argv: list[str], place: Place, inner: Sequence[Layer]) -> Channel:
        """Start a command as a child, in a control group of its own where it can have one."""
        if scope.works():
            return ProcessChannel(scope.wrap(argv, place))
        return ProcessChannel(groups.entering(groups.limited(place), argv))

    def mend(self, said: str) -> str | None:
        """Explain what systemd lacks."""
        if "systemd hands no" in said:
            return "run it as root, on docker, or without a quota or size"
        return None

    def ended(self, place: Place) -> list[Figure]:
        """Remove the groups that limited it."""
        if not scope.works() and (place.cores is not None or place.memory_bytes is not None):
            groups.release(place.name)
        return []


UNIT = Bare()
