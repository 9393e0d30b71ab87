"""How far a fingerprint is: the probe that is at work, and the time left."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from tare.cli.output import err, seconds
from tare.execute.probing import Round

#: A log gets a line at most so often.
LOG_EVERY_S = 10.0


class Bar:
    """A context manager that leaves the terminal clean."""

    def __init__(self) -> None:
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
        self._rounds = 0
        self._left = ""
        self._probe = ""

    def __enter__(self) -> Bar:
        self._bar.start()
        self._task = self._bar.add_task("looking at the machine", total=None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def stage(self, what: str) -> None:
        """Tell what goes on before the first round."""
        self._show(what)

    def begins(self, probe: str) -> None:
        """Tell that a round begins."""
        self._probe = probe
        self._tell()

    def ended(self, round: Round, seconds_left: float) -> None:
        """Tell that a round is over."""
        self._rounds += 1
        self._left = f", {seconds(seconds_left)} left"
        elapsed = time.monotonic() - self._began
        if self._task is not None:
            self._bar.update(self._task, completed=elapsed, total=elapsed + seconds_left)
        self._tell()

    def _tell(self) -> None:
        self._show(f"round {self._rounds}{self._left} · {self._probe}")

    def _show(self, text: str) -> None:
        now = time.monotonic()
        if self._live and self._task is not None:
            self._bar.update(self._task, description=text)
        elif now - self._logged >= LOG_EVERY_S:
            self._logged = now
            err.print(text)
