"""How a session is measured, and where its results stay."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tare.cli.command_line import folder_in_memory, interrupted
from tare.errors import InterruptError
from tare.experiment.supplies import Supplies


@dataclass(frozen=True)
class Execution:
    """How trials are executed, and what is asked of their results besides figures.

    Attributes
    ----------
    supplies : Supplies
    resume, as_root, capture : bool
        Whether a folder is gone on with; whether commands run as root; whether output is kept.
    out, report : Path or None
        Folder of the results, where it stays; file of the page.
    network : Path or None
        Fingerprint of the network that it is about.
    is_command : bool
        Whether this process is the command: its age counts towards the budget, its standard input
        is checked, and Ctrl-C ends the measurement with the trials so far.
    gate : float or None
        Largest relative difference that passes.
    strict : bool
        Whether a machine that changed is an error.
    command : str
        That was typed, for what to type next.
    """

    supplies: Supplies
    resume: bool = False
    as_root: bool = False
    capture: bool = False
    out: Path | None = None
    report: Path | None = None
    network: Path | None = None
    is_command: bool = True
    gate: float | None = None
    strict: bool = False
    command: str = "compare"

    @property
    def page(self) -> bool:
        """Whether a page is drawn: where one was asked for, or the folder stays."""
        return self.report is not None or self.out is not None

    @contextlib.contextmanager
    def folder(self) -> Iterator[Path]:
        """Give the folder of the results: a temporary one where --out was not given.

        Raises
        ------
        InterruptError
            If somebody interrupts what is done with it, and it is kept.
        """
        if self.out is not None:
            try:
                yield self.out
            except KeyboardInterrupt as error:
                raise kept(self.out) from error
            return
        with folder_in_memory() as folder:
            yield folder


def kept(folder: Path) -> InterruptError:
    """Return the error of an interrupt: how to go on with the folder, and how to report on it."""
    shows = shlex.join(["tare", "experiment", "report", str(folder)])
    return interrupted(folder, "the same line with --resume", shows)
