"""What a command's output goes to, besides a file."""

from __future__ import annotations

#: ``/dev/null``, or a pipe that is read.
NULL, PIPE = "null", "pipe"
