"""How far a sweep is: which window, at which step, and the time left."""

from __future__ import annotations

from tare.cli.output import err, seconds
from tare.cli.progress import Live
from tare.execute import Outcome
from tare.experiment import Cell


class SweepBar(Live):
    """Shows how far a sweep is.

    Parameters
    ----------
    trials : int
        All windows of this session.
    seconds_left : float
        About how long they take; what was measured says it better.
    """

    def __init__(self, trials: int, seconds_left: float) -> None:
        super().__init__(f"starting, about {seconds(seconds_left)} left")
        self._trials = trials
        self._guess_s = seconds_left

    def note(self, message: str) -> None:
        """Tell something once, above the bar."""
        err.print(f"Note    {message}", soft_wrap=True)

    def planned(self, trials: int | None, seconds_left: float | None) -> None:
        """Tell how many trials there will be; a sweep knows it beforehand."""

    def running(self, estimate: str) -> None:
        """Tell what a comparison says so far; a sweep compares nothing."""

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Tell that a window is over."""
        self._guess_s = max(0.0, self._guess_s - outcome.seconds)
        # Before every step was seen, the first ones say little of the others.
        early = seconds_left is None or done < min(self._trials, len(str(done)) + 20)
        left_s = self._guess_s if early or seconds_left is None else seconds_left
        self._advance(left_s)
        failed = f" failed: {outcome.reason}" if outcome.status != "ok" else ""
        where = f"{cell.quota:g} CPUs" if cell.quota is not None else cell.size
        self._show(f"window {done} of {self._trials}, {seconds(left_s)} left · {where}{failed}")
