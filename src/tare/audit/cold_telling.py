"""How series begin, in words: the same for the terminal and the page."""

from __future__ import annotations

import numpy as np

from tare.audit import Audit
from tare.audit.cold import ColdStart
from tare.units import change


def cold_told(cold: ColdStart, what: str) -> str:
    """Tell how series begin; ``what`` a value is of, such as an item."""
    some = cold.firsts
    ratios = [f.ratio for f in some]
    low, high = np.quantile(ratios, [0.1, 0.9])
    span = (
        f" ({change(float(low))} to {change(float(high))} in four of five)" if len(some) > 4 else ""
    )
    later = ""
    if cold.later is not None:
        later = f"; where the same {what} comes later it takes × {cold.later:.2f} of that"
    return (
        f"The first {what} of a series is a cold start: the longest in {cold.largest:,} of "
        f"{len(some):,} series, {change(cold.ratio)} the median of the rest"
        f"{span}{later}."
    )


def item_name(audit: Audit) -> str:
    """Name what a value is of: a block where blocks are named, as they are items then."""
    return audit.question.columns.block or "value"
