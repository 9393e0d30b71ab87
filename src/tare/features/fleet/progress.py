"""One line of progress for all hosts of a fleet."""

from __future__ import annotations

from tare.cli.console import err
from tare.cli.progress import Live
from tare.features.fleet.laboratory import Told


class FleetBar(Live):
    """Shows how many hosts measure, and how many blocks they have done."""

    def __init__(self) -> None:
        super().__init__("reaching the fleet", bar=False)
        self._blocks = 0
        self._live_hosts: dict[str, bool] = {}

    def note(self, said: str) -> None:
        """Tell what became of a host, above the line."""
        err.print(f"Note: {said}")

    def told(self, host: str, told: Told) -> None:
        """Count a block."""
        self._live_hosts[host] = told.ended is None
        self._blocks += told.blocks
        if self._is_due():
            at_work = sum(self._live_hosts.values())
            of = len(self._live_hosts)
            self._show(f"{self._blocks} blocks · {at_work} of {of} hosts at work")
