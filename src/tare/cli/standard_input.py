"""What comes to tare's own standard input: kept for every execution, or refused."""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import os
import select
import shutil
import stat
import termios
from collections.abc import Iterator
from pathlib import Path

from tare.cli.command_line import folder_in_memory
from tare.errors import ExperimentError


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
    from tare.experiment import pipeline

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
                    f"standard input cannot be read: {error.strerror}", "--input FILE"
                ) from error
            # Under sudo, the command is the caller's, and so is what it reads.
            user = pipeline.calling_user()
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

    Raises
    ------
    ExperimentError
        If something waits on our own standard input, or somebody is about to write to it.
    """
    if _waits(0) or _is_written_to(0):
        raise ExperimentError(
            "something is piped into tare, and no command would read it",
            "--input - gives it to every execution; </dev/null says that nothing is meant",
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


def _is_written_to(descriptor: int) -> bool:
    """Tell whether another process of a pipeline holds the other end of a pipe.

    What started us may hold one that it never writes to, as many do that start programs.
    """
    from tare.platforms import processes

    try:
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode) or _has_ended(descriptor):
            return False
        pipe = Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        return False
    return any(_may_write(pid, pipe) for pid in processes.strangers())


def _has_ended(descriptor: int) -> bool:
    """Tell whether nobody can write to a pipe any more."""
    end = select.poll()
    end.register(descriptor, 0)
    return bool(end.poll(0))


def _may_write(pid: int, pipe: Path) -> bool:
    """Tell whether a process holds the end of a pipe that is written to, as far as we may look."""
    with contextlib.suppress(OSError):
        for held in Path(f"/proc/{pid}/fd").iterdir():
            # It may be closed meanwhile.
            with contextlib.suppress(OSError):
                if held.readlink() == pipe and held.lstat().st_mode & stat.S_IWUSR:
                    return True
    return False
