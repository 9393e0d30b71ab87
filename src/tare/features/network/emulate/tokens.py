"""How the hosts of an emulated network were, over time: written down, and kept in short."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import IO

import msgspec

from tare import files
from tare.agent import record
from tare.errors import StoreError

#: Moments that are kept in memory; of more, every other one is dropped, and so on.
MOST_MOMENTS = 2048
#: How often it is written down.
EVERY_S = 0.1


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts at one moment, each at its place; a line of the log."""

    #: Since the command was started.
    at_ns: int
    #: None: no bucket.
    tokens_bits: tuple[int | None, ...]
    #: None: not shaped.
    rate_bps: tuple[int | None, ...]
    #: Since the command was started.
    sent_bytes: tuple[int, ...]


class Log:
    """Takes what an emulator tells; its methods may be called on different threads.

    Parameters
    ----------
    began_ns : int
        CLOCK_MONOTONIC when the command was started.
    file : Path, optional
        Every moment is written to it, one a line.
    before : HostStates, optional
        When the command was started: bytes sent count from here.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """

    def __init__(
        self, began_ns: int, file: Path | None = None, before: record.HostStates | None = None
    ) -> None:
        self._began_ns = began_ns
        self._sent = {host.host: host.sent_bytes for host in before.hosts} if before else {}
        self._lock = threading.Lock()
        self._moments: list[Moment] = []
        self._stride, self._count = 1, 0
        self._refusal: str | None = None
        self._file: IO[bytes] | None = None
        self._path = file
        if file is not None:
            self._file = files.open_log(file, "choose another --log FILE")

    def take(self, states: record.HostStates) -> None:
        """Write down how the hosts are."""
        moment = Moment(
            # What it begins with is looked at just before.
            at_ns=max(0, states.at_ns - self._began_ns),
            tokens_bits=tuple(host.tokens_bits for host in states.hosts),
            rate_bps=tuple(host.rate_bps for host in states.hosts),
            sent_bytes=tuple(h.sent_bytes - self._sent.get(h.host, 0) for h in states.hosts),
        )
        with self._lock:
            self._write(moment)
            if self._count % self._stride == 0:
                self._moments.append(moment)
            self._count += 1
            if len(self._moments) > MOST_MOMENTS:
                self._moments = self._moments[::2]
                self._stride *= 2

    def moments(self) -> list[Moment]:
        """Return what is kept, in order of time."""
        with self._lock:
            return list(self._moments)

    def close(self) -> None:
        """End the file; may be called twice.

        Raises
        ------
        StoreError
            If a moment could not be written.
        """
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
        if self._refusal is not None:
            raise StoreError(f"the log is not complete: {self._refusal}", f"df -h {self._path}")

    def _write(self, moment: Moment) -> None:
        if self._file is None:
            return
        try:
            self._file.write(msgspec.json.encode(moment) + b"\n")
            self._file.flush()
        except OSError as error:
            # The network goes on; it is told at the end.
            self._refusal = f"cannot write {self._path}: {error.strerror}"
            self._file.close()
            self._file = None
