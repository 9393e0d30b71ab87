"""How far a task set is: runs, how they ended, and the time that is left."""

from __future__ import annotations

from collections.abc import Mapping

from tare.cli.console import seconds
from tare.cli.progress import Live
from tare.experiment.task_sets.outcomes import RESULTS, Result


class TasksBar(Live):
    """Shows how far a session of a task set is."""

    def __init__(self) -> None:
        super().__init__("looking for tasks")

    def ran(self, done: int, of: int, counts: Mapping[Result, int], seconds_left: float) -> None:
        """Say that a run is over."""
        if not self._is_due():
            return
        self._advance(seconds_left)
        kinds = ", ".join(f"{counts[one]:,} {one}" for one in RESULTS if counts.get(one))
        self._show(f"{done:,} of {of:,} runs, {seconds(seconds_left)} left · {kinds}")
