"""What probes may take of this machine: memory, and a directory on a disk."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tare.errors import ExperimentError, PlatformError, Typed
from tare.experiment import machine_facts
from tare.host import hardware, state
from tare.platforms import groups
from tare.render.words import text
from tare.results.message import Amount, Message, message

#: Most memory of a session, where nobody said.
MEMORY_BYTES = 1 << 30
#: Of what is available, what a session takes.
_PART = 4
#: This part of a file system the agent leaves free.
_SPARED = 10
#: Files of fewer bytes say nothing of a disk.
LEAST_FILE_BYTES = 16 << 20


def memory_bytes(asked: int | None) -> int:
    """Return how much memory a round may take: what was asked, within the control group's limit.

    By default 1 GiB, at most a quarter of what is available.
    """
    available = machine_facts.available_bytes()
    limits = [MEMORY_BYTES if asked is None else asked]
    if asked is None and available is not None:
        limits.append(available // _PART)
    limits += [limit // 2 for limit in groups.memory_limits()]
    return max(1 << 20, min(limits))


def disk(asked: Path | None, file_bytes: int) -> tuple[Path | None, int, Message | None]:
    """Choose where files are made.

    Parameters
    ----------
    asked : Path or None
        By the user; None: one on a real disk, since memory answers for no disk.
    file_bytes : int
        Most that is to be written to a file.

    Returns
    -------
    Path or None
        An existing directory; None: there is none.
    int
        Bytes that may be written: at most a quarter of what is free.
    Message or None
        Why there is none.

    Raises
    ------
    ExperimentError
        If what the user named is no directory.
    """
    if asked is not None and not asked.is_dir():
        raise ExperimentError(
            f"there is no directory {asked}", Typed(f"mkdir -p {shlex.quote(str(asked))}")
        )
    why = None
    for folder in [asked] if asked is not None else _candidates():
        refusal = _refusal(folder, memory_too=asked is not None)
        if refusal is None:
            room = min(file_bytes, _free(folder) // _PART)
            if room >= min(file_bytes, LEAST_FILE_BYTES):
                return folder, room, None
            free = Amount(_free(folder), "bytes")
            refusal = message("{folder} has only {free} free", folder=str(folder), free=free)
        why = why or refusal
    return None, file_bytes, why


def _candidates() -> Iterable[Path]:
    yield Path("/var/tmp")
    yield from (folder for folder in (state.folder(), Path("/tmp"), Path.cwd()) if folder.is_dir())


def for_instances() -> tuple[Path, str]:
    """Return a folder on a disk where instances make theirs, and its file system.

    Raises
    ------
    PlatformError
        If neither of the folders in which ``tare cleanup`` looks is on a disk of this machine.
    """
    whys = []
    for folder in (Path("/var/tmp"), Path("/tmp")):
        refusal = _refusal(folder, memory_too=False)
        if refusal is None:
            found = hardware.read(folder).disk
            return folder, "unknown" if found is None else found.file_system
        whys.append(text(refusal))
    raise PlatformError(
        f"the application needs a folder on a disk of this machine, and there is none: "
        f"{'; '.join(whys)}",
        "mount a folder on a disk there: sudo mount --bind FOLDER /var/tmp",
    )


def _refusal(folder: Path, *, memory_too: bool) -> Message | None:
    if not os.access(folder, os.W_OK | os.X_OK):
        return message("{folder} is not writable", folder=str(folder))
    found = hardware.read(folder).disk
    if not memory_too and found is not None and found.kind in ("memory", "remote"):
        return message(
            "{folder} is on {file_system}, not on a disk of this machine",
            folder=str(folder),
            file_system=found.file_system,
        )
    return None


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def spare_bytes(folder: Path) -> int:
    """Return how much may be written at most: the agent leaves a tenth of a file system free."""
    found = os.statvfs(folder)
    return max(0, (found.f_bavail - found.f_blocks // _SPARED) * found.f_frsize)


@contextlib.contextmanager
def made(folder: Path | None, name: str) -> Iterator[Path | None]:
    """Make a directory in a folder, whose name begins with that of a session, and remove it.

    Others know the session's name and could make one of it first.

    Yields
    ------
    Path or None
        None: no folder was given, or none can be made in it.
    """
    own = None
    with contextlib.suppress(OSError):
        if folder is not None:
            own = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder.absolute()))
    try:
        yield own
    finally:
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)
