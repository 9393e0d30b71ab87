"""How a session is measured, and where its results stay."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tare import files
from tare.cli.command_line import folder_in_memory, interrupted
from tare.errors import InterruptError
from tare.experiment.supplies import Supplies
from tare.options.measuring import SessionOptions


@dataclass(frozen=True)
class Execution:
    """How trials are executed, and what is asked of their results besides figures.

    Attributes
    ----------
    supplies : Supplies
    given : SessionOptions
        Where the results stay, how commands are run, and whether a machine that changed is an
        error.
    command : str
        That was typed, for what to type next.
    is_command : bool
        Whether this process is the command: its age counts towards the budget, its standard input
        is checked, and Ctrl-C ends the measurement with the trials so far.
    gate : float or None
        Largest relative difference that passes.
    """

    supplies: Supplies
    given: SessionOptions = field(default_factory=SessionOptions)
    command: str = "compare"
    is_command: bool = True
    gate: float | None = None

    @property
    def page(self) -> bool:
        """Whether a page is drawn: where one was asked for, or the folder stays."""
        return self.given.report is not None or self.given.out is not None

    @contextlib.contextmanager
    def folder(self) -> Iterator[Path]:
        """Give the folder of the results: a temporary one where --out was not given.

        Raises
        ------
        InterruptError
            If the session is interrupted and the folder is kept.
        """
        if (out := self.given.out) is not None:
            try:
                yield out
            except KeyboardInterrupt as error:
                raise kept(out) from error
            return
        with folder_in_memory() as folder:
            yield folder


def kept(folder: Path) -> InterruptError:
    """Return the error of an interrupt: how to go on with the folder, and how to report on it."""
    shows = shlex.join(["tare", "experiment", "report", files.argument(folder)])
    return interrupted(folder, "--resume", shows)
