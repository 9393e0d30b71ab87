"""A fleet's folder: what was asked, what became of each host, and a folder of results of each."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tare import files
from tare.errors import StoreError, Typed
from tare.experiment import plan_file

#: Name of the file with the state of all hosts, and of the folder with one folder per host.
FILE, HOSTS = plan_file.FLEET, plan_file.HOSTS
VERSION = 1
_HINT = "free some room, or choose another --out"

#: State of a host: ``finished`` now or ``complete`` before; ``budget`` spent; ``interrupted`` by
#: the user; all trials ``failed``; ``refused``, since it could not be reached; ``lost`` contact.
Ended = Literal["finished", "complete", "budget", "interrupted", "failed", "refused", "lost"]


#: Bounds of what any session takes: files come from elsewhere.
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1e6)]


class HostRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one host."""

    name: str
    ended: Ended
    why: str | None = None
    #: The machine's boot, by which hosts that are one machine are known.
    machine: str = ""
    system: str = ""
    cpus: int = 0
    #: When it came, since the fleet was reached; those that were there before: 0.
    joined_s: Seconds = 0.0
    #: Blocks of this session, and how long they took with its end.
    blocks: Count = 0
    measured_s: Seconds = 0.0
    #: Seconds per block, and CPU time of the worker itself per second of a block; None: not known.
    block_s: Seconds | None = None
    own_cpu_share: Share | None = None
    #: Seconds to begin and end a session, the start of the fleet included; None: not known.
    session_s: Seconds | None = None


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What became of all hosts in the last session."""

    version: int = VERSION
    name: str
    question: str
    hosts: tuple[HostRecord, ...]


def has_begun(folder: Path) -> bool:
    """Tell whether a folder holds a fleet's results."""
    return (folder / HOSTS).is_dir() or (folder / FILE).exists()


def make(host: Path) -> None:
    """Make the folder of a host, or look that it is one to write to.

    Raises
    ------
    StoreError
        If it leads elsewhere, or belongs to somebody else.
    """
    for path in (host.parent, host, host / "journal"):
        if path.is_symlink():
            raise StoreError(f"{path} is a link, so nothing is written to what it leads to")
        files.check_owner(path)
    try:
        host.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make {host}: {error.strerror}", _HINT) from error


def write(record: Record, folder: Path) -> None:
    """Write down what became of the hosts; raises StoreError."""
    files.write(folder / FILE, msgspec.json.encode(record), _HINT)


def before(folder: Path) -> Record | None:
    """Return what became of the hosts in the session before; None: that is not known."""
    try:
        return read(folder)
    except StoreError:
        return None


def read(folder: Path) -> Record:
    """Return what became of the hosts; raises StoreError where there is no such file."""
    path = folder / FILE
    try:
        data = plan_file.content(path)
    except OSError as error:
        if (folder / HOSTS).is_dir():
            why = f"{path} cannot be read ({error.strerror})"
            raise StoreError(why, "restore it from a copy") from error
        is_host = folder.absolute().parent.name == HOSTS
        fleet = folder.absolute().parent.parent
        raise StoreError(
            f"{folder} holds no fleet's results: {FILE} cannot be read ({error.strerror})",
            Typed(f"tare fleet report {shlex.quote(str(fleet))}   (this is one host of it)")
            if is_host
            else "name the folder that tare experiment run --fleet has made",
        ) from error
    return plan_file.decoded(data, Record, VERSION, path)
