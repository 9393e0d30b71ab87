"""A trace of bandwidth as lines of characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tare.experiment.fingerprints.network.identified import Identification
from tare.networks.shaping.trace import Floats, Trace
from tare.render.text_plot import sparkline
from tare.units import duration, quantity, significant

#: Characters of the line that shows a trace.
_WIDTH = 60


def drawn(trace: Trace, one: Identification) -> list[str]:
    """Draw a trace as one line of bars, with a mark where the rate fell first, and its axis."""
    if len(trace) == 0:
        return []
    end = float(trace.end_s[-1] - trace.start_s[0])
    rate, on, filled = _cells(trace, end)
    top = float(rate.max()) or 1.0
    # What was to be sent and was not is the lowest block, not idle.
    least = np.where(on > 0, np.maximum(rate, 1e-9 * top), 0.0)
    line = sparkline([r if f else None for r, f in zip(least.tolist(), filled, strict=True)], top)
    label = quantity(top, "bits/s") if rate.any() else "nothing"
    axis = f"0{duration(end).rjust(_WIDTH - 1)}"
    lines = [f"{label:>14} {line}", f"{'':>14} {axis}"]
    if one.time_to_empty_s is not None:
        place = min(int(one.time_to_empty_s.value / end * _WIDTH), _WIDTH - 1)
        words = f"depleted after {significant(one.time_to_empty_s.value, 4)} s"
        mark = f"{'^'.rjust(place + 1)} {words}"
        if place + len(words) + 2 > _WIDTH:
            mark = f"{words} ^".rjust(place + 1)
        lines.insert(1, f"{'':>14} {mark}")
    if "·" in line:
        lines.append(f"{'':>14} · idle")
    if " " in line:
        lines.append(f"{'':>14} blank: not known")
    return lines


def _cells(trace: Trace, end: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the rate of each character, how long data was to be sent, and what is known at all."""
    start = trace.start_s - trace.start_s[0]
    known = np.isfinite(trace.bits)
    cell = np.minimum((start[known] / max(end, 1e-9) * _WIDTH).astype(int), _WIDTH - 1)
    bits = np.bincount(cell, trace.wire * trace.bits[known], _WIDTH)
    on = np.bincount(cell, trace.on_s[known], _WIDTH)
    filled = np.bincount(cell, minlength=_WIDTH) > 0
    # Where none begins, one may last; what is in none is a gap.
    middle = (np.arange(_WIDTH) + 0.5) / _WIDTH * end
    last = np.maximum(np.searchsorted(start, middle, side="right") - 1, 0)
    lasts = ~filled & known[last] & (middle < (trace.end_s - trace.start_s[0])[last])
    bits[lasts], on[lasts] = trace.wire * trace.bits[last[lasts]], trace.on_s[last[lasts]]
    rate: Floats = np.divide(bits, on, out=np.zeros(_WIDTH), where=on > 0)
    return rate, on.astype(float), np.asarray(filled | lasts)
