"""Columns that grow chunk by chunk, group by group, and go to disk once memory would not do."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tare.errors import InputError

#: Bytes of all growing columns together from which on they are kept on disk; None: half of what
#: the machine has left.
MOST_RESIDENT_BYTES: int | None = None
_COPY_ROWS = 1 << 20


class Budget:
    """What the columns of one file may take of the memory."""

    def __init__(self) -> None:
        self.left = MOST_RESIDENT_BYTES if MOST_RESIDENT_BYTES is not None else available() // 2

    def take(self, size: int) -> bool:
        """Ask for so many bytes more."""
        self.left -= size
        return self.left >= 0


def available() -> int:
    """Return the bytes of memory that can be had without swapping."""
    text = Path("/proc/meminfo").read_text()
    found = next(line for line in text.splitlines() if line.startswith("MemAvailable:"))
    return int(found.split()[1]) << 10


class Growing:
    """One column, parted by group.

    In memory each group is an array that is enlarged in place: the system moves its pages, so
    that the whole never takes more than its size and a chunk. On disk it is a file that has no
    name, so that nothing is left however the process ends.
    """

    def __init__(self, dtype: type, budget: Budget) -> None:
        self._dtype = np.dtype(dtype)
        self._budget = budget
        self._groups: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None
        #: Group by group, where its parts stand in the file: first and length.
        self._extents: list[list[tuple[int, int]]] = []
        self._written = 0

    @property
    def groups(self) -> int:
        """How many there are so far."""
        return len(self._extents)

    def append(self, group: int, part: NDArray[Any]) -> None:
        """Put values behind those that a group has; a new group has the next number."""
        if group == len(self._extents):
            self._extents.append([])
            self._groups.append(np.empty(0, self._dtype))
        if self._file is None and not self._budget.take(part.nbytes):
            self._spill()
        if self._file is not None:
            self._write(group, part)
            return
        whole = self._groups[group]
        n = len(whole)
        # Nobody else has seen the array.
        whole.resize(n + len(part), refcheck=False)
        whole[n:] = part

    def finish(self) -> list[NDArray[Any]]:
        """Return the values of each group: arrays, or views of one memory map."""
        if self._file is None:
            return self._groups
        self._file.flush()
        if all(len(parts) <= 1 for parts in self._extents):
            return _views(self._file, self._dtype, self._extents)
        return self._together()

    def _spill(self) -> None:
        self._file = _nameless()
        for group, values in enumerate(self._groups):
            if len(values):
                self._write(group, values)
            self._groups[group] = np.empty(0, self._dtype)

    def _write(self, group: int, part: NDArray[Any]) -> None:
        assert self._file is not None
        _put(self._file, np.ascontiguousarray(part, self._dtype))
        parts = self._extents[group]
        if parts and sum(parts[-1]) == self._written:
            parts[-1] = (parts[-1][0], parts[-1][1] + len(part))
        else:
            parts.append((self._written, len(part)))
        self._written += len(part)

    def _together(self) -> list[NDArray[Any]]:
        """Copy the parts of each group one behind the other."""
        assert self._file is not None
        scattered = np.memmap(self._file, self._dtype, "r")
        target = _nameless()
        extents: list[list[tuple[int, int]]] = []
        written = 0
        for parts in self._extents:
            n = sum(length for _, length in parts)
            for first, length in parts:
                for at in range(first, first + length, _COPY_ROWS):
                    _put(target, scattered[at : min(at + _COPY_ROWS, first + length)])
            extents.append([(written, n)] if n else [])
            written += n
        target.flush()
        self._file.close()
        return _views(target, self._dtype, extents)


def _views(
    file: IO[bytes], dtype: np.dtype[Any], extents: list[list[tuple[int, int]]]
) -> list[NDArray[Any]]:
    empty = np.empty(0, dtype)
    if not any(extents):
        return [empty for _ in extents]
    # Copy on write: what sorts a series does not change the file.
    whole = np.memmap(file, dtype, "c")
    return [whole[parts[0][0] : parts[0][0] + parts[0][1]] if parts else empty for parts in extents]


def _nameless() -> IO[bytes]:
    """Open a temporary file where disk is meant: /tmp may be memory."""
    folder = os.environ.get("TMPDIR") or ("/var/tmp" if Path("/var/tmp").is_dir() else None)
    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError as error:
        raise _no_room(error) from error


def _put(file: IO[bytes], part: NDArray[Any]) -> None:
    try:
        file.write(part.data)
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> InputError:
    folder = os.environ.get("TMPDIR") or "/var/tmp"
    free = shutil.disk_usage(folder).free >> 20 if Path(folder).is_dir() else 0
    return InputError(
        f"the values do not fit into memory, nor into {folder} ({error.strerror}, {free} MiB left)",
        "TMPDIR names a folder with more room",
    )
