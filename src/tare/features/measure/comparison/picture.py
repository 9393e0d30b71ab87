"""The interval of a ratio as a picture of characters."""

from __future__ import annotations

import math

from tare.experiment.findings.judgement import Difference
from tare.units import chosen

#: Characters of the picture.
_WIDTH = 61


def picture(d: Difference, width: int = _WIDTH) -> tuple[str, ...]:
    """Draw the interval on an axis with zero change and the margin; empty without an interval.

    An open bound is an arrow at the end; with two open bounds the result is empty.

    Returns
    -------
    tuple of str
        Labels, the axis with the margin, the interval.
    """
    c = d.comparison
    if c.low is None or c.high is None:
        return ()
    edge = math.log1p(d.margin)
    ends = (math.log(c.low) if c.low else -math.inf), math.log(c.high)
    known = [abs(end) for end in ends if math.isfinite(end)]
    if not known:
        return ()
    reach = 1.15 * max(*known, 1.5 * edge)

    def at(log: float) -> int:
        return round((width - 1) * (min(max(log, -reach), reach) + reach) / (2 * reach))

    left, none, right = at(-edge), at(0), at(edge)
    axis = ["┈"] * width
    axis[left : right + 1] = ["─"] * (right + 1 - left)
    for place, mark in ((left, "├"), (right, "┤"), (none, "┼")):
        axis[place] = mark
    labels = [" "] * (width + 8)
    x = chosen(d.margin)
    texts = [(none, "0")]
    if right - none > len(x) + 2:
        texts += [(left, f"−{x}"), (right, f"+{x}")]
    for place, label in texts:
        begin = max(0, place - len(label) // 2)
        labels[begin : begin + len(label)] = label
    bar = [" "] * width
    low, high = map(at, ends)
    bar[low : high + 1] = ["━"] * (high + 1 - low)
    bar[low], bar[high] = "┣" if c.low else "◀", "┫" if math.isfinite(c.high) else "▶"
    if abs(math.log(c.ratio)) <= reach:
        bar[at(math.log(c.ratio))] = "●"
    return tuple("".join(row).rstrip() for row in (labels, axis, bar))
