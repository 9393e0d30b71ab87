"""What commands wrote, from the records of their agents."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from tare.agent import record


def written(records: Iterable[record.Record], stream: str = "out") -> str:
    """Return a stream of the first worker's first iteration."""
    pieces = [
        base64.b64decode(one.data)
        for one in records
        if isinstance(one, record.Output)
        and (one.worker, one.iteration, one.stream) == (0, 0, stream)
    ]
    return b"".join(pieces).decode()
