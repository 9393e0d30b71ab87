"""Lines for the shell around what is measured: before and after a trial, and all trials."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from tare.agent import record
from tare.errors import CutShortError, TerminatedError, TrialError
from tare.experiment.session.parts import RunningTrial, TrialPart
from tare.experiment.specification import Cell
from tare.host import processes
from tare.workloads import placeholders

#: Kept of what a line that fails said.
_LAST_BYTES = 2048


class Hooks:
    """Runs the lines of workloads on this machine, whatever the platform of the trials.

    Parameters
    ----------
    cells : sequence of Cell
        Whose workloads may have lines.
    user : record.User or None
        As whom; None: as this process.
    surroundings : mapping
        Environment of who calls tare.
    """

    def __init__(
        self, cells: Sequence[Cell], user: record.User | None, surroundings: Mapping[str, str]
    ) -> None:
        self._cells = cells
        self._surroundings = surroundings
        self._user: dict[str, Any] = {}
        if user is not None:
            self._user = {"user": user.uid, "group": user.gid, "extra_groups": user.groups}

    @contextlib.contextmanager
    def around_all(self, seed: int) -> Iterator[None]:
        """Run what stands before the first and after the last trial, once for each workload.

        Raises
        ------
        TrialError
            If a line fails, or somebody interrupts what stands after the last trial.
        CutShortError
            If that is so after somebody has ended the trials by hand.
        """
        try:
            self._once("setup", seed)
            yield
        except BaseException as cut:
            try:
                self._clean_up(seed)
            except TrialError as error:
                # Who ends it by hand takes it for done; of others, what cut it short is told.
                if isinstance(cut, KeyboardInterrupt) and not isinstance(cut, TerminatedError):
                    raise CutShortError(error.message) from cut
            raise
        self._clean_up(seed)

    @contextlib.contextmanager
    def around(self, cell: Cell, seed: int) -> Iterator[None]:
        """Run what stands before and after a trial of a cell; raises TrialError."""
        with _afterwards(lambda: self._line("conclude", cell, seed)):
            self._line("prepare", cell, seed)
            yield

    def _clean_up(self, seed: int) -> None:
        try:
            self._once("cleanup", seed)
        except TerminatedError:
            raise
        except KeyboardInterrupt as cut:
            raise TrialError(
                "cleanup was interrupted, so that what it removes may be left"
            ) from cut

    def _once(self, name: str, seed: int) -> None:
        done, failure = set(), None
        for cell in self._cells:
            key = cell.workload.name, self._text(name, cell, seed)
            if key in done:
                continue
            done.add(key)
            try:
                self._line(name, cell, seed)
            except TrialError as error:
                # What was set up for the others is to be cleaned up as well.
                failure = failure or error
        if failure is not None:
            raise failure

    def _text(self, name: str, cell: Cell, seed: int) -> str | None:
        line: str | None = getattr(cell.workload, name)
        return None if line is None else placeholders.fill(line, _levels(cell, seed))

    def _line(self, name: str, cell: Cell, seed: int) -> None:
        line = self._text(name, cell, seed)
        if line is None or not line.strip():
            return
        levels = {f"TARE_{key.upper()}": level for key, level in _levels(cell, seed).items()}
        # A file rather than a pipe: what the line leaves running may hold it for ever.
        with os.fdopen(os.memfd_create("tare-hook", os.MFD_CLOEXEC), "r+b") as said:
            try:
                code = _code(
                    [*cell.workload.shell, "-c", line],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    env={**self._surroundings, **levels},
                    **self._user,
                )
            except OSError as error:
                raise TrialError(f"{name} cannot run: {error.strerror}") from error
            if code == 0:
                return
            end = said.seek(0, os.SEEK_END)
            said.seek(max(0, end - _LAST_BYTES))
            last = said.read(_LAST_BYTES).decode(errors="replace").strip()
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        raise TrialError(
            f"{name} of {cell.workload.name} failed with {how}" + (f": {last}" if last else "")
        )


class TrialHooks(TrialPart):
    """Runs the lines before and after each trial of a cell."""

    @contextlib.contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Run them; raises TrialError."""
        hooks = Hooks((), self.resources.user, self.resources.environment)
        with hooks.around(trial.cell, trial.seed):
            yield


@contextlib.contextmanager
def _afterwards(do: Callable[[], None]) -> Iterator[None]:
    """Do something however it ends; what cut it short is told rather than what that leads to."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(TrialError):
            do()
        raise
    do()


def _code(argv: Sequence[str], **how: Any) -> int:
    """Wait for a line; who does not wait for its end kills it, with all that it is waiting for."""
    process = None
    try:
        # Otherwise a signal may find a line that has begun, and nobody who knows its number.
        with _signals_wait():
            process = subprocess.Popen(argv, **how)
        return process.wait()
    except BaseException:
        if process is not None:
            processes.kill_family(process.pid)
            process.wait()
        raise


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Raise what a signal raises only afterwards."""
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    handlers = {}
    if threading.current_thread() is threading.main_thread():
        ours = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
        handlers = {one: signal.getsignal(one) for one in ours if callable(signal.getsignal(one))}
    try:
        for one in handlers:
            signal.signal(one, note)
        yield
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
        for number in came:
            signal.raise_signal(number)


def _levels(cell: Cell, seed: int) -> dict[str, str]:
    return {**cell.levels(), placeholders.SEED: str(seed)}
