"""What the kernel refuses a process: seen beforehand where libraries would not survive it."""

from __future__ import annotations

import errno
import resource

from tare.errors import ResourceError, StoreError, TareError, Typed

#: Address space of a session and its report; a page with charts takes 1.9 GiB of it, little of
#: which is ever memory. With less, numpy's linear algebra hangs, or ends the process with code 1.
ADDRESS_SPACE_BYTES = 2 << 30
#: Open files of a small session; Python's own libraries panic with less than a dozen.
OPEN_FILES = 64
#: Characters of a name that is too long.
_SHOWN = 40


def check() -> None:
    """Refuse a command that could not load what it concludes with.

    Raises
    ------
    ResourceError
        If address space or open files are limited to less than it takes.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files != resource.RLIM_INFINITY and files < OPEN_FILES:
        raise ResourceError(
            f"only {files} files may be open, and tare needs {OPEN_FILES}; nothing was measured",
            Typed("ulimit -n 1024   (in this shell)"),
        )
    limit = _address_space()
    if limit is not None and limit < ADDRESS_SPACE_BYTES:
        raise ResourceError(
            f"the address space is limited to {limit >> 20} MiB, and tare needs "
            f"{ADDRESS_SPACE_BYTES >> 20} MiB; nothing was measured",
            Typed(
                "ulimit -v unlimited   (in this shell; memory.max of a control group limits memory)"
            ),
        )


def foreseen(error: BaseException) -> TareError | None:
    """Return what the kernel refused in words; None: that is a fault of tare's own."""
    if isinstance(error, OSError):
        return _refused(error)
    # A library that cannot be mapped is an ImportError.
    if isinstance(error, MemoryError) or (
        isinstance(error, ImportError) and _address_space() is not None
    ):
        return ResourceError(
            "memory ran out",
            Typed(
                "ulimit -v unlimited   "
                "(or free some; tare experiment report concludes from what --out holds)"
            ),
        )
    return None


def _refused(error: OSError) -> TareError | None:
    where = f" for {error.filename}" if error.filename else ""
    told: TareError | None = None
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            told = StoreError(f"no room is left{where}", "free some room, then the same line again")
        case errno.EROFS:
            told = StoreError(f"nothing can be written{where}: read-only", "choose another place")
        case errno.EMFILE | errno.ENFILE:
            files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            told = ResourceError(
                f"too many files are open: {files} may be{where}", Typed("ulimit -n 1024")
            )
        case errno.ENOMEM:
            told = ResourceError(
                f"memory ran out{where}", Typed("ulimit -v unlimited   (or free some)")
            )
        case errno.EAGAIN:
            processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
            told = ResourceError(
                f"no more processes can be started{where}: the limit is {processes}",
                Typed(
                    "ulimit -u   "
                    "(processes that this user may have; pids.max limits a control group)"
                ),
            )
        case errno.ENAMETOOLONG if error.filename:
            told = StoreError(
                f"{str(error.filename)[:_SHOWN]}… is too long for the name of a file",
                "a shorter name",
            )
        case errno.EACCES if error.filename:
            told = StoreError(
                f"{error.filename} cannot be reached: permission denied",
                Typed("sudo   (or change the rights of it and of the folders above it)"),
            )
    return told


def _address_space() -> int | None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit
