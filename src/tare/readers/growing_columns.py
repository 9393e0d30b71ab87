"""Columns that grow chunk by chunk, group by group, and go to disk once memory would not do."""

from __future__ import annotations

import os
import shutil
import tempfile
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tare.errors import InputError

#: Bytes of all growing columns together from which on they are kept on disk; None: a quarter of
#: what the machine has left, since groups that are interleaved are copied once.
MOST_RESIDENT_BYTES: int | None = None


def budget() -> int:
    """Return the bytes that the columns of one file may take of the memory."""
    return available() // 4 if MOST_RESIDENT_BYTES is None else MOST_RESIDENT_BYTES


def available() -> int:
    """Return the bytes of memory that can be had without swapping."""
    text = Path("/proc/meminfo").read_text()
    found = next(line for line in text.splitlines() if line.startswith("MemAvailable:"))
    return int(found.split()[1]) << 10


class Growing:
    """One column, parted by group: the parts as they come, and which group has which of them."""

    def __init__(self, dtype: type, resident: int) -> None:
        self._dtype = np.dtype(dtype)
        #: Bytes of it that may be in memory.
        self._resident = resident
        self._parts: IO[bytes] = BytesIO()
        self._written = 0
        #: Group by group, where its parts stand: first and length.
        self._extents: list[list[tuple[int, int]]] = []

    @property
    def groups(self) -> int:
        """How many there are so far."""
        return len(self._extents)

    def append(self, group: int, part: NDArray[Any]) -> None:
        """Put values behind those that a group has; a new group has the next number."""
        if group == len(self._extents):
            self._extents.append([])
        size = (self._written + len(part)) * self._dtype.itemsize
        if isinstance(self._parts, BytesIO) and size > self._resident:
            held, self._parts = self._parts, _nameless()
            _put(self._parts, held.getbuffer())
        _put(self._parts, np.ascontiguousarray(part, self._dtype).data)
        extents = self._extents[group]
        if extents and sum(extents[-1]) == self._written:
            extents[-1] = (extents[-1][0], extents[-1][1] + len(part))
        elif len(part):
            extents.append((self._written, len(part)))
        self._written += len(part)

    def finish(self) -> list[NDArray[Any]]:
        """Return the values of each group: views of one array, or of one memory map."""
        whole = self._array(self._parts)
        parts = [part for extents in self._extents for part in extents]
        if parts != sorted(parts):
            together = BytesIO() if isinstance(self._parts, BytesIO) else _nameless()
            for first, length in parts:
                _put(together, whole[first : first + length].data)
            whole = self._array(together)
        sizes = [sum(length for _, length in extents) for extents in self._extents]
        ends = np.cumsum(sizes, dtype=np.int64).tolist()
        return [whole[end - size : end] for end, size in zip(ends, sizes, strict=True)]

    def _array(self, file: IO[bytes]) -> NDArray[Any]:
        if not self._written:
            return np.empty(0, self._dtype)
        if isinstance(file, BytesIO):
            return np.frombuffer(file.getbuffer(), self._dtype)
        file.flush()
        return np.memmap(file, self._dtype, "c")


def _nameless() -> IO[bytes]:
    """Open a temporary file where disk is meant: /tmp may be memory. No name of it is left."""
    folder = os.environ.get("TMPDIR") or ("/var/tmp" if Path("/var/tmp").is_dir() else None)
    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError as error:
        raise _no_room(error) from error


def _put(file: IO[bytes], data: memoryview) -> None:
    try:
        file.write(data)
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> InputError:
    folder = os.environ.get("TMPDIR") or "/var/tmp"
    free = shutil.disk_usage(folder).free >> 20 if Path(folder).is_dir() else 0
    return InputError(
        f"the values do not fit into memory, nor into {folder} ({error.strerror}, {free} MiB left)",
        "TMPDIR names a folder with more room",
    )
