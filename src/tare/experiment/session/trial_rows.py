"""What a program left of a trial in a file, taken from its instance."""

from __future__ import annotations

from collections.abc import Iterable

from tare.agent import record
from tare.experiment.session.printed import decoded

#: Largest piece of an output.
PIECE = 1 << 20


class LargeError(Exception):
    """There is more than was asked for."""


def output(records: Iterable[record.Record], limit_bytes: int) -> bytes | None:
    """Return what a command of ours printed; None: it failed.

    Raises
    ------
    LargeError
        If it was cut off at the limit.
    """
    found = bytearray()
    for got in records:
        if isinstance(got, record.Output) and got.stream == "out":
            found += decoded(got)
        if isinstance(got, record.Fault) and got.kind != "warning":
            return None
    # Where it is cut off is a matter of pieces.
    if len(found) > limit_bytes - PIECE:
        raise LargeError
    return bytes(found)
