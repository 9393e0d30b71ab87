"""Where more CPU gives nothing more: whether that is where it must be."""

from __future__ import annotations

from dataclasses import dataclass

from tare.calibration.numbers import cpus
from tare.statistics.scaling import Scaling

#: A ceiling within this of what can be used is where it must be, however sure its place is.
_NEAR = 0.05


@dataclass(frozen=True)
class Usable:
    """What there is to be used.

    Attributes
    ----------
    threads : int or None
        Threads that worked side by side; None: a command, which may have any number.
    cpus : int or None
        CPUs that tare may use on the machine.
    """

    threads: int | None
    cpus: int | None

    @property
    def most(self) -> int | None:
        """CPUs that could be busy at once; None: not known."""
        known = [n for n in (self.threads, self.cpus) if n is not None]
        return min(known, default=None)


def told(asked: Scaling, usable: Usable) -> tuple[bool | None, str]:
    """Say where the line ends, and whether that is where it must."""
    place = asked.saturates_at or 0.0
    interval = ""
    if asked.saturates_low is not None and asked.saturates_high is not None:
        interval = f" [{asked.saturates_low:.2f}, {asked.saturates_high:.2f}]"
    text = f"More CPU gives nothing from {place:.2f}{interval} CPUs on"
    most = usable.most
    if most is None:
        return None, f"{text}; how many could be used is not known."
    low = min(asked.saturates_low or place, (1 - _NEAR) * place)
    high = max(asked.saturates_high or place, (1 + _NEAR) * place)
    who = (
        f"{most} thread{'s' * (most != 1)} can use {cpus(most)}"
        if most == usable.threads
        else f"tare may use {cpus(most)} here"
    )
    if low <= most <= high:
        return True, f"{text}: {who}, so that it must end there."
    if place < most:
        return False, (
            f"{text}, although {who}: something else ends it, such as waiting for each other, "
            "memory, or CPUs that were promised to others too."
        )
    return False, f"{text}, although {who} and no more: look whether the quota held."
