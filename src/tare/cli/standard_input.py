"""What comes to tare's own standard input: kept for every execution, or refused."""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import os
import shutil
import stat
import termios
from collections.abc import Iterator

from tare.cli.command_line import folder_in_memory
from tare.errors import ExperimentError, Typed


@contextlib.contextmanager
def standard_input(asked: str | None) -> Iterator[str | None]:
    """Give the file that every execution reads as its standard input; None: nothing.

    Parameters
    ----------
    asked : str or None
        A file; ``-``: what comes to our own standard input, kept for every execution.

    Raises
    ------
    ExperimentError
        If something waits on our own standard input, and nobody said what is to become of it.
    """
    from tare.platforms import users

    if asked == "-":
        with folder_in_memory() as folder:
            kept = folder / "input"
            try:
                with open(0, "rb", closefd=False) as given, kept.open("xb") as file:
                    shutil.copyfileobj(given, file)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise
                raise ExperimentError(
                    f"standard input cannot be read: {error.strerror}", "name a file with --input"
                ) from error
            # Under sudo, the command is the caller's, and so is what it reads.
            user = users.calling_user()
            if user is not None:
                os.chown(folder, user.uid, user.gid)
                os.chown(kept, user.uid, user.gid)
            yield str(kept)
        return
    if asked is None:
        refuse_piped()
    yield asked


def refuse_piped() -> None:
    """Refuse what is piped into tare and is read by no command: who pipes it means something.

    Asked again after the trials, it sees what a slow writer has written meanwhile.

    Raises
    ------
    ExperimentError
        If something waits on our own standard input.
    """
    if _waits(0):
        raise ExperimentError(
            "something is piped into tare, and no command would read it",
            Typed(
                "--input -   (gives it to every execution; </dev/null says that nothing is meant)"
            ),
        )


def _waits(descriptor: int) -> bool:
    """Tell whether there is something to read that somebody redirected from its beginning."""
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            # In a loop that reads lines of a file, the place in it is after a line.
            here = os.lseek(descriptor, 0, os.SEEK_CUR)
            return here == 0 and os.fstat(descriptor).st_size > 0
        if not stat.S_ISFIFO(mode):
            return False
        waiting = array.array("i", [0])
        fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
        return waiting[0] > 0
    except OSError:
        return False
