"""One line of progress for all hosts of a fleet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tare.cli.console import about
from tare.cli.progress import Live

if TYPE_CHECKING:
    from tare.features.fleet.laboratory import Told


class FleetBar(Live):
    """Shows how many hosts measure, how many blocks they have done, and how long it takes."""

    def __init__(self, first: str = "reaching the fleet") -> None:
        super().__init__(first, bar=False)
        self._blocks = 0
        self._live_hosts: dict[str, bool] = {}
        #: Blocks that hosts have still to measure; None: that depends on what they find.
        self._left: dict[str, int | None] = {}
        self._first_s: float | None = None
        #: Name of what is counted, and the time at which counting began, in seconds.
        self._counted = "", 0.0

    def count(self, what: str, done: int, of: int, lasts_s: float = 0.0) -> None:
        """Show the progress of a step outside the blocks; ``lasts_s``: its expected duration.

        Where the duration is not known, or exceeded, all parts are assumed to take equally long.
        """
        now = time.monotonic()
        if self._counted[0] != what:
            self._counted = what, now
        took_s = now - self._counted[1]
        left_s = lasts_s - took_s
        if left_s <= 0 and done:
            left_s = took_s / done * (of - done)
        if self._is_due():
            left = f" · {about(left_s)} left" if left_s > 0 else ""
            self._show(f"{what}: {done} of {of} done{left}")

    def planned(self, host: str, blocks: int | None) -> None:
        """Take how many blocks a host has still to measure."""
        self._left[host] = blocks

    def told(self, host: str, told: Told) -> None:
        """Count a block."""
        if self._first_s is None:
            self._first_s = time.monotonic()
        self._live_hosts[host] = told.ended is None
        self._blocks += told.blocks
        if (left := self._left.get(host)) is not None:
            self._left[host] = 0 if told.ended else left - told.blocks
        if self._is_due():
            of = max(len(self._left), len(self._live_hosts))
            done = sum(not lives for lives in self._live_hosts.values())
            if not self._blocks:
                begun = len(self._live_hosts)
                self._show(f"sessions begin: {begun} of {of} hosts have begun")
                return
            blocks = f"{self._blocks} block{'s' * (self._blocks != 1)}"
            self._show(f"{blocks} · {done} of {of} hosts done{self._time()}")

    def _time(self) -> str:
        """Return how long the rest takes, where blocks are counted beforehand."""
        left = [n for n in self._left.values() if n is not None]
        if self._first_s is None or not self._blocks or len(left) < len(self._left):
            return ""
        each_s = (time.monotonic() - self._first_s) / self._blocks
        return f" · {about(sum(left) * each_s)} left"
