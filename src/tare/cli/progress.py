"""Progress with time left, for terminals and for logs."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from tare.cli import console
from tare.cli.console import about, err, seconds
from tare.experiment import session
from tare.experiment.session import Outcome
from tare.experiment.specification import Cell
from tare.render.words import text
from tare.results.message import Duration, message

#: A log gets a line at most so often.
LOG_EVERY_S = 10.0
#: A first trial that takes so long is announced while it runs.
LONG_S = 2.0
#: The same of an application, which often takes so long.
APPLICATION_S = 60.0
#: A terminal is drawn so often.
REFRESH_S = 0.1


class SessionProgress(session.Progress, Protocol):
    """Display of a session's progress, entered before and left after it.

    Attributes
    ----------
    has_begun : bool
        Whether a trial has ended.
    """

    has_begun: bool

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Live:
    """One line that says how far it is; a context manager that leaves the terminal clean."""

    def __init__(self, first: str, *, bar: bool = True) -> None:
        self._first = first
        self._live = sys.stderr.isatty() and not console.is_quiet
        self._bar = Progress(
            SpinnerColumn(),
            *([BarColumn(bar_width=24)] if bar else []),
            TextColumn("{task.description}", markup=False),
            console=err,
            transient=True,
            disable=not self._live,
        )
        self._task: TaskID | None = None
        self._began = self._logged = time.monotonic()
        self._shown = 0.0

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

    def note(self, message: str) -> None:
        """Print a note above the bar."""
        console.note(message)

    def stage(self, what: str) -> None:
        """Tell what goes on before the first of what is counted."""
        self._show(what)

    def _advance(self, seconds_left: float) -> None:
        elapsed = time.monotonic() - self._began
        if self._task is not None:
            self._bar.update(self._task, completed=elapsed, total=elapsed + seconds_left)

    def _is_due(self) -> bool:
        """Tell whether anybody would see a new text; working one out may take a while."""
        now = time.monotonic()
        if not self._live:
            return now - self._logged >= LOG_EVERY_S
        due = now - self._shown >= REFRESH_S
        if due:
            self._shown = now
        return due

    def _show(self, text: str) -> None:
        now = time.monotonic()
        if self._live and self._task is not None:
            self._bar.update(self._task, description=text)
        elif now - self._logged >= LOG_EVERY_S and not console.is_quiet:
            self._logged = now
            # A log has lines, however long.
            err.print(text, soft_wrap=True)


class Bar(Live):
    """Shows how far a session is.

    Parameters
    ----------
    bar : bool
        Draw one.
    budget_s : float or None
        Of the session, where the command line sets it.
    file : Path or None
        Of the experiment, where it has the time limit of a trial, not the command line.
    """

    def __init__(
        self, *, bar: bool = True, budget_s: float | None = None, file: Path | None = None
    ) -> None:
        super().__init__("starting", bar=bar)
        self._trials: int | None = None
        self._estimate = ""
        self._budget_s = budget_s
        self._file = file
        #: Whether a trial has ended; who interrupts before that may leave modules half loaded.
        self.has_begun = False
        self._announcement: threading.Timer | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._silence()
        super().__exit__(kind, error, trace)

    def begins(self, *, serves: bool, application: bool) -> None:
        """Tell that the first trial begins; announce it where it takes long.

        Until it ends nothing else is known. That services take long is no news: their load lasts
        as long as somebody asked.
        """
        ending = " · Ctrl-C ends it" if self._live else ""
        self._show(f"the first trial{ending}")
        if serves and self._budget_s is None:
            return
        limit_s = max(APPLICATION_S if application else LONG_S, self._budget_s or 0.0)
        said = message(
            "the first trial still runs after {after}{% if over_budget %}, longer than the "
            "budget{% endif %}: wait, press Ctrl-C, or limit each trial with {% if file %}"
            'timeout = "TIME" in the [[workload]] of {file}{% else %}--timeout TIME'
            "{% endif %}",
            after=Duration(limit_s),
            over_budget=self._budget_s is not None,
            file=None if self._file is None else str(self._file),
        )
        self._announcement = threading.Timer(limit_s, self.note, [f"{text(said)}."])
        self._announcement.daemon = True
        self._announcement.start()

    def _silence(self) -> None:
        if self._announcement is not None:
            self._announcement.cancel()
            self._announcement = None

    def planned(self, trials: int | None, seconds_left: float | None) -> None:
        """Tell how many trials there will be."""
        self._trials = trials
        if seconds_left is not None and self._live:
            self._show(about(seconds_left))

    def running(self, estimate: str) -> None:
        """Tell what a comparison says so far."""
        self._estimate = f" · {estimate}"

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Tell that a trial is over."""
        self._silence()
        self.has_begun = True
        left = "" if seconds_left is None else f", {seconds(seconds_left)} left"
        of = f" of {self._trials}" if self._trials else ""
        where = " ".join([cell.workload.name, cell.platform, f"×{cell.workers}"])
        failed = f" {outcome.status}: {outcome.reason}" if outcome.status != "ok" else ""
        if seconds_left is not None:
            self._advance(seconds_left)
        self._show(f"trial {done}{of}{left} · {where}{failed}{self._estimate}")
