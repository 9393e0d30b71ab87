"""The frames in which Docker's engine carries two streams of a container over one connection.

Each frame is a header of eight bytes (stream, three zeros, length, big-endian) and its payload.
Nothing is held but the payload as it comes, so that a length of 4 GiB costs nothing.
"""

from __future__ import annotations

import struct

from tare.agent.client import LineBuffer
from tare.errors import AgentError

HEADER = struct.Struct(">BxxxI")
STDOUT, STDERR = 1, 2
#: Bytes kept of the end of standard error.
WORDS = 4096


class Frames:
    """Takes what the engine sends apart: lines of standard output, the end of standard error."""

    def __init__(self, lines: LineBuffer) -> None:
        self.lines = lines
        self._words = bytearray()
        self._header = bytearray()
        self._stream = 0
        self._left = 0

    def feed(self, data: bytes) -> None:
        """Append what was received.

        Raises
        ------
        AgentError
            If it is no such stream.
        """
        view = memoryview(data)
        while view:
            if self._left == 0:
                taken = HEADER.size - len(self._header)
                self._header += view[:taken]
                view = view[taken:]
                if len(self._header) == HEADER.size:
                    self._begin()
                continue
            payload, view = view[: self._left], view[self._left :]
            self._left -= len(payload)
            if self._stream == STDOUT:
                self.lines.feed(bytes(payload))
            else:
                self._words += payload
                del self._words[:-WORDS]

    def words(self) -> str:
        """Return the end of what was said on standard error."""
        return self._words.decode(errors="replace").strip()

    def _begin(self) -> None:
        self._stream, self._left = HEADER.unpack(self._header)
        if self._stream not in (STDOUT, STDERR) or any(self._header[1:4]):
            raise AgentError(f"Docker sent what is no frame: {bytes(self._header)!r}")
        self._header.clear()
