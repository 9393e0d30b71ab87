"""A measurement written down: what was asked, and everything that was told, line by line.

``measurement.json`` is written once; ``trace.ndjson`` only grows, and is flushed line by line, so
that it survives whatever ends the measurement.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import msgspec

from tare import files
from tare.agent.record import Direction, Sending
from tare.decoding import DecodeError, decode
from tare.errors import StoreError, Typed
from tare.networks.recording import lines
from tare.networks.recording.lines import READ, VERSION, Line, Stretch
from tare.version import __version__

ASKED = "measurement.json"
TRACE = "trace.ndjson"
REPORT = "report.html"
#: A file larger than this says nothing that was asked.
_ASKED_LIMIT = 1 << 20
#: The disk is waited for at most so often; what a crash of the machine can cost.
_SYNC_S = 1.0
_MEASURES = "make one with tare net measure --out"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a measurement was asked to do; its secret is not in it."""

    version: int = VERSION
    #: As it was typed.
    host: str
    direction: Direction
    streams: Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
    congestion: str | None = None
    pings: Annotated[int, msgspec.Meta(ge=0)] | None = None
    interval_ns: Annotated[int, msgspec.Meta(ge=1)]
    #: One after another, numbered from 0; empty: decided while it is measured.
    phases: tuple[Sending, ...]
    #: To begin with, ns since 1970.
    begun_ns: int
    #: Words with which it was started, to start it again.
    argv: tuple[str, ...] = ()
    #: Where the key was.
    key_file: str | None = None


class _Versioned(msgspec.Struct):
    version: int


def read_asked(folder: Path) -> Asked:
    """Read what a folder's measurement was asked to do.

    Raises
    ------
    StoreError
        If the folder holds no measurement, or one that another tare has written in another way.
    """
    path = folder / ASKED
    try:
        with files.open_plain(path, links=True) as file:
            data = file.read(_ASKED_LIMIT + 1)
    except OSError as error:
        raise StoreError(
            f"{folder} holds no measurement of a network: cannot read {path}: {error.strerror}",
            _MEASURES,
        ) from error
    try:
        if len(data) > _ASKED_LIMIT:
            raise DecodeError(f"it is larger than {_ASKED_LIMIT} bytes")
        version = decode(data, _Versioned).version
        if version not in READ:
            raise StoreError(
                f"{path} is of version {version}; this tare ({__version__}) reads {VERSION}",
                "read it with the tare that measured it",
            )
        return decode(data, Asked)
    except DecodeError as error:
        raise StoreError(f"{path} is no measurement of a network: {error}", _MEASURES) from error


class Writer:
    """Writes a measurement down while it is made; a context manager.

    Parameters
    ----------
    folder : Path
        With what was asked in it, as :func:`create` makes it.

    Raises
    ------
    StoreError
        If it cannot be written, another session writes to it, or it was removed: here, and
        wherever a line is written.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / TRACE
        self._synced = 0.0
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                files.lock(self._file, folder)
                self._end_line()
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise self._error(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def stretch(self) -> None:
        """Write that an agent is started now."""
        self.write(
            Stretch(
                version=VERSION,
                tare=__version__,
                realtime_ns=time.time_ns(),
                boottime_ns=time.clock_gettime_ns(time.CLOCK_BOOTTIME),
                boot_id=_boot_id(),
            )
        )

    def phase(self, order: Sending) -> None:
        """Write that a phase is asked for now."""
        self.write(
            lines.Phase(
                id=order.id, duration_ns=order.duration_ns, on_ns=order.on_ns,
                off_ns=order.off_ns, write_bytes=order.write_bytes,
            )
        )  # fmt: skip

    def write(self, line: Line) -> None:
        """Write a line, and see to it that it stays."""
        try:
            data = memoryview(lines.encode(line))
            while data:
                data = data[os.write(self._file, data) :]
            now = time.monotonic()
            if now - self._synced >= _SYNC_S:
                self._synced = now
                os.fdatasync(self._file)
                files.check_there(self._file, self.path)
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        """End it; may be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _end_line(self) -> None:
        """End a line that a crash has cut off, so that the next stands by itself."""
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")

    def _error(self, error: OSError) -> StoreError:
        folder = self.path.parent
        return StoreError(
            f"cannot write {self.path}: {error.strerror}; what it holds until now is kept",
            Typed(
                f"df -h {shlex.quote(str(folder))}   "
                f"(then: tare net measure --out {shlex.quote(str(folder))} --resume)"
            ),
        )


def create(folder: Path, asked: Asked) -> Writer:
    """Make a measurement's folder.

    Raises
    ------
    StoreError
        If it holds a measurement already, or cannot be written.
    """
    path = folder / ASKED
    if path.exists() or (folder / TRACE).exists():
        raise StoreError(
            f"{folder} holds a measurement already",
            Typed(
                f"tare net measure --out {shlex.quote(str(folder))} --resume   (goes on with it)"
            ),
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot make {folder}: {error.strerror}", "choose another --out DIR"
        ) from error
    data = msgspec.json.format(msgspec.json.encode(asked), indent=2) + b"\n"
    files.write(path, data, "choose another --out DIR")
    return Writer(folder)


def discard(folder: Path) -> None:
    """Remove a measurement that has measured nothing; other files of the folder stay."""
    with contextlib.suppress(OSError):
        for name in (TRACE, ASKED):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
