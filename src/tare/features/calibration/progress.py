"""How far a sweep is: which window, at which step, and the time left."""

from __future__ import annotations

from tare.cli.console import about, seconds
from tare.cli.progress import Live
from tare.experiment.session import Outcome
from tare.experiment.specification import Cell


class SweepBar(Live):
    """Shows how far a sweep is.

    Parameters
    ----------
    steps : int
        Windows in a block.
    blocks : int
        Blocks that are asked for, those of earlier sessions included.
    block_s : float
        About how long one takes; once each step was seen, what was measured says it better.
    """

    def __init__(self, steps: int, blocks: int, block_s: float) -> None:
        super().__init__(f"starting, {about(blocks * block_s)} at most")
        self._steps = steps
        self._trials = steps * blocks
        self._left_s = blocks * block_s

    def begins(self, *, serves: bool, application: bool) -> None:
        """Say nothing: the windows are counted from the first on."""

    def planned(self, trials: int | None, seconds_left: float | None) -> None:
        """Tell how many trials there will be; a sweep knows it beforehand."""

    def running(self, estimate: str) -> None:
        """Tell what a comparison says so far; a sweep compares nothing."""

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Tell that a window is over."""
        self._left_s = max(0.0, self._left_s - outcome.seconds)
        if seconds_left is not None and done >= self._steps:
            self._left_s = seconds_left
        self._advance(self._left_s)
        failed = f" failed: {outcome.reason}" if outcome.status != "ok" else ""
        where = f"{cell.quota:g} CPUs" if cell.quota is not None else cell.size
        self._show(
            f"window {done} of {self._trials}, {seconds(self._left_s)} left · {where}{failed}"
        )
