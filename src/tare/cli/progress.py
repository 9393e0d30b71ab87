"""Progress with time left, for terminals and for logs."""

from __future__ import annotations

import math
import sys
import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from tare.cli.output import err, nanoseconds, seconds
from tare.execute import Outcome
from tare.experiment import Cell

#: A log gets a line at most so often.
LOG_EVERY_S = 10.0
#: Work shorter than this needs no bar.
SILENT_S = 1.0


class Live:
    """One line that says how far it is; a context manager that leaves the terminal clean."""

    def __init__(self, first: str) -> None:
        self._first = first
        self._live = sys.stderr.isatty()
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            console=err,
            transient=True,
            disable=not self._live,
        )
        self._task: TaskID | None = None
        self._began = self._logged = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        self._task = self._bar.add_task(self._first, total=None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def stage(self, what: str) -> None:
        """Tell what goes on before the first of what is counted."""
        self._show(what)

    def _advance(self, seconds_left: float) -> None:
        elapsed = time.monotonic() - self._began
        if self._task is not None:
            self._bar.update(self._task, completed=elapsed, total=elapsed + seconds_left)

    def _show(self, text: str) -> None:
        now = time.monotonic()
        if self._live and self._task is not None:
            self._bar.update(self._task, description=text)
        elif now - self._logged >= LOG_EVERY_S:
            self._logged = now
            err.print(text)


class Bar(Live):
    """Shows how far a session is."""

    def __init__(self, least: int | None = None) -> None:
        super().__init__("starting")
        #: Trials of the one command before which nothing stops; None: of many, nothing is told.
        self._least = least
        self._trial_s = 0.0
        self._trials: int | None = None
        self._estimate = ""

    def note(self, message: str) -> None:
        """Tell something once, above the bar."""
        err.print(f"Note: {message}")

    def planned(self, trials: int | None, seconds_left: float | None) -> None:
        """Tell how many trials there will be."""
        self._trials = trials
        if self._least is not None and seconds_left is not None and math.isfinite(seconds_left):
            err.print(self._projection(self._least, trials, seconds_left))
        if seconds_left is not None and self._live:
            self._show(f"about {seconds(seconds_left)}")

    def _projection(self, least: int, trials: int | None, seconds_left: float) -> str:
        """Tell, after the first trial, how long it will take."""
        one = self._trial_s
        if trials is not None:
            return (
                f"One trial takes {nanoseconds(1e9 * one)[0]}: {trials} fit the budget, decided "
                f"now; {seconds(trials * one)}"
            )
        return (
            f"One trial takes {nanoseconds(1e9 * one)[0]}: {least} trials at least, "
            f"{seconds(least * one)}; {seconds(seconds_left)} at most"
        )

    def running(self, estimate: str) -> None:
        """Tell what a comparison says so far."""
        self._estimate = f" · {estimate}"

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Tell that a trial is over."""
        self._trial_s = outcome.seconds
        left = "" if seconds_left is None else f", {seconds(seconds_left)} left"
        of = f" of {self._trials}" if self._trials else ""
        where = " ".join([cell.workload.name, cell.platform, f"×{cell.workers}"])
        failed = f" failed: {outcome.reason}" if outcome.status != "ok" else ""
        if seconds_left is not None:
            self._advance(seconds_left)
        self._show(f"trial {done}{of}{left} · {where}{failed}{self._estimate}")
