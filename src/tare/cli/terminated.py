"""What ends a command from outside, and the exit code that tells a shell which signal it was."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tare.errors import InterruptError, TerminatedError

#: What ends us as Ctrl-C does: a CI that cancels, a terminal that goes, Ctrl-\\.
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: What shells add to a signal's number.
_SHELL = 128

#: The first one that came; none: only Ctrl-C, if anything, ended us.
_came: list[int] = []


def listen() -> None:
    """Have these signals end us with nothing left behind; what nohup had ignored stays so."""
    for one in SIGNALS:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, _end)


def exit_code() -> int:
    """Return the exit code of who was interrupted: 143 after SIGTERM, 130 after Ctrl-C."""
    return _SHELL + _came[0] if _came else InterruptError.exit_code


@contextmanager
def held_off() -> Iterator[None]:
    """Hold signals that end a command off, and drop those that came meanwhile."""
    every = {signal.SIGINT, *SIGNALS}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, every)
    try:
        yield
    finally:
        while signal.sigtimedwait(every, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def reader_gone() -> None:
    """Go on without a reader: files are still to be written, and the exit code is the answer."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def _end(signum: int, frame: FrameType | None) -> None:
    _came.append(signum)
    raise TerminatedError
