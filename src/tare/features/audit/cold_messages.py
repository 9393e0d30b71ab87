"""How series begin, as a message: the same for the terminal and the page."""

from __future__ import annotations

import numpy as np

from tare.features.audit.audit import Audit
from tare.features.audit.cold import ColdStart
from tare.results.message import Message, message
from tare.units import change


def cold_start(cold: ColdStart, what: str) -> Message:
    """Say how series begin; ``what`` a value is of, such as an item."""
    ratios = [f.ratio for f in cold.firsts]
    low, high = np.quantile(ratios, [0.1, 0.9])
    several = len(ratios) > 4
    return message(
        "audit.cold.start",
        what=what,
        ratio=change(cold.ratio),
        low=change(float(low)) if several else None,
        high=change(float(high)) if several else None,
        largest=cold.largest,
        series=len(cold.firsts),
        later=None if cold.later is None else change(cold.later),
    )


def item_name(audit: Audit) -> str:
    """Name what a value is of: a block where blocks are named, as they are items then."""
    return audit.question.columns.block or "value"
