"""How far an audit is: nothing for two seconds, then what is done and the time left."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.status import Status

from tare.cli.console import err, seconds

#: Work shorter than this needs no word.
SILENT_S = 2.0
#: A log gets a line at most so often.
LOG_EVERY_S = 10.0


class Progress:
    """A context manager that leaves the terminal clean; call it with what is done."""

    def __init__(self) -> None:
        self._status: Status | None = None
        self._live = sys.stderr.isatty()
        self._began = self._logged = time.monotonic()
        self._stage, self._stage_began = "", self._began

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, what: str, done: int, of: int) -> None:
        """Tell that so many of so many are done."""
        now = time.monotonic()
        if what != self._stage:
            self._stage, self._stage_began = what, now
        if now - self._began < SILENT_S:
            return
        text = f"{what}: {done:,} of {of:,}" if of > 1 else what
        spent = now - self._stage_began
        if done and of > done and spent > 0.5:
            text += f", {seconds(spent / done * (of - done))} left"
        if self._live:
            if self._status is None:
                self._status = err.status(text)
                self._status.start()
            self._status.update(text)
        elif now - self._logged >= LOG_EVERY_S:
            self._logged = now
            err.print(text)
