"""The file of ``tare net emulate --log``: the hosts of the network over time."""

from __future__ import annotations

import shlex
import threading
from pathlib import Path
from typing import IO

import msgspec

from tare import files
from tare.agent import record
from tare.errors import StoreError, Typed
from tare.experiment.session.hosts import Course

#: How often the hosts are logged, in seconds.
EVERY_S = 0.1


class Log:
    """Takes what an emulator tells; its methods may be called on different threads.

    Parameters
    ----------
    course : Course
        Of the command.
    file : Path, optional
        Every moment is written to it, one a line.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """

    def __init__(self, course: Course, file: Path | None = None) -> None:
        self._course = course
        self._lock = threading.Lock()
        self._refusal: str | None = None
        self._path = file
        self._file: IO[bytes] | None = None
        if file is not None:
            self._file = files.open_log(file, "choose another --log FILE")

    def take(self, states: record.HostStates) -> None:
        """Take how the hosts are, and write it down."""
        with self._lock:
            self._course.add(states)
            self._write(states)

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
            raise StoreError(
                f"the log is not complete: {self._refusal}",
                Typed(f"df -h {shlex.quote(str(self._path))}"),
            )

    def _write(self, states: record.HostStates) -> None:
        if self._file is None:
            return
        line = msgspec.structs.asdict(self._course.line(states))
        # All is one trial.
        del line["trial"]
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()
        except OSError as error:
            # The network goes on; it is told at the end.
            self._refusal = f"cannot write {self._path}: {error.strerror}"
            self._file.close()
            self._file = None
