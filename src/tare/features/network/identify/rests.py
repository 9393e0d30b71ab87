"""Rests of a trace whose file does not tell them: what was a pattern's rest, and what an outage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.networks.shaping.trace import Floats, Trace, with_rests

#: Share of the usual rate up to which nothing was sent.
_NOTHING = 0.01
#: A rest is between these times as long as the pattern's: scripts do not keep time.
_SHORTEST, _LONGEST = 0.5, 1.5
#: Rests from which on they are a pattern, and how far most of them may be from the middle one.
_REGULAR, _NEAR = 4, 0.1


def by_pattern(trace: Trace, on_s: float, off_s: float, source: Path) -> Trace:
    """Take for rests what carries nothing for about as long as the pattern rests.

    Raises
    ------
    InputError
        If there is no such rest.
    """
    if off_s <= 0:
        return trace
    usual = float(np.median(trace.end_s - trace.start_s))
    if on_s < usual <= _LONGEST * (on_s + off_s):
        trace = _one_a_burst(trace, on_s)
    quiet = _quiet(trace)
    lasts = quiet[:, 1] - quiet[:, 0]
    usual = float(np.median(trace.on_s))
    rests = lasts >= _SHORTEST * off_s - usual
    # The trace may end within one.
    rests |= quiet[:, 1] >= trace.end_s[-1] - 1e-9
    rests &= lasts <= _LONGEST * off_s + 2 * usual
    if not rests.any():
        raise InputError(
            f"{source} has no rests of about {off_s:g} s, as --pattern {on_s:g}-{off_s:g} says",
            "leave --pattern out where data was sent all the time",
        )
    on = trace.on_s.copy()
    for first, last in quiet[rests]:
        on[(trace.start_s >= first - 1e-9) & (trace.end_s <= last + 1e-9)] = 0.0
    trace = replace(trace, on_s=on)
    gaps = np.flatnonzero(trace.start_s[1:] - trace.end_s[:-1] > usual / 2)
    within = [
        k for k in gaps if _inside(float(trace.end_s[k]), float(trace.start_s[k + 1]), quiet[rests])
    ]
    return with_rests(trace, np.array(within, dtype=np.int64)) if within else trace


def guess(trace: Trace) -> tuple[float, float] | None:
    """Return the pattern that a trace seems to have been sent in; None where there is none."""
    if (trace.on_s == 0).any():
        return None
    quiet = _quiet(trace)
    # One at the end may be cut off.
    quiet = quiet[quiet[:, 1] < trace.end_s[-1]]
    if len(quiet) < _REGULAR:
        return None
    lasts = quiet[:, 1] - quiet[:, 0]
    sends = quiet[1:, 0] - quiet[:-1, 1]
    if not (_alike(lasts) and _alike(sends)):
        return None
    return round(float(np.median(sends)), 1), round(float(np.median(lasts)), 1)


def _alike(values: Floats) -> bool:
    middle = float(np.median(values))
    return bool((np.abs(values - middle) <= _NEAR * middle).mean() > 0.8)


def _one_a_burst(trace: Trace, on_s: float) -> Trace:
    """Shorten intervals that reach from one burst to the next: their rate is the burst's."""
    long = trace.end_s - trace.start_s
    rate = trace.bits / long
    on = np.minimum(long, on_s)
    return replace(trace, end_s=trace.start_s + on, on_s=on, bits=rate * on)


def _quiet(trace: Trace) -> Floats:
    """Return from and to when nothing was carried, or nothing is told; one row each."""
    rate = trace.rate_bps
    known = rate[np.isfinite(rate)]
    limit = _NOTHING * float(np.quantile(known, 0.9)) if len(known) else 0.0
    busy = np.flatnonzero(~(rate <= limit) & np.isfinite(rate))
    if len(busy) < 2:
        return np.empty((0, 2))
    ends = trace.end_s[busy]
    starts = np.append(trace.start_s[busy[1:]], trace.end_s[-1])
    usual = float(np.median(trace.end_s - trace.start_s))
    apart = starts - ends > usual / 2
    return np.column_stack([ends[apart], starts[apart]])


def _inside(start: float, end: float, rests: Floats) -> bool:
    at = int(np.searchsorted(rests[:, 0], start + 1e-9, side="right")) - 1
    return at >= 0 and start >= rests[at, 0] - 1e-9 and end <= rests[at, 1] + 1e-9
