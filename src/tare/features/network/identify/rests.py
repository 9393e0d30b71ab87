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
#: Lasting periods without data are longer than so many intervals; fewer than two may be an outage.
_SEVERAL, _FEWEST = 2, 2
#: Least ratio of the rates after and before an idle period, and the least share of idle periods
#: with it, where a bucket was empty.
_RESTORED, _MOSTLY = 1.5, 0.8
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
    return resting(trace, quiet[rests])


def declared(trace: Trace, source: Path) -> Trace:
    """Take every period without data for an idle period.

    Raises
    ------
    InputError
        If there is none.
    """
    quiet = _quiet(trace)
    if len(quiet) == 0:
        raise InputError(
            f"{source} has no periods without data, as --pattern idle says",
            "leave --pattern out where data was sent all the time",
        )
    return resting(trace, quiet)


def restoring(trace: Trace) -> Floats:
    """Return from and to when nothing was carried, where that restored the rate; one row each.

    Nothing is sent in idle periods of unequal length, and buckets refill. In an outage they do so
    as well. None are returned unless most periods without data begin at a lower rate than they end.
    """
    quiet = _lasting(trace)
    if len(quiet) < _FEWEST or (trace.on_s == 0).any():
        return np.empty((0, 2))
    rate = trace.rate_bps
    before = rate[np.searchsorted(trace.end_s, quiet[:, 0] - 1e-9)]
    after = rate[np.searchsorted(trace.start_s, quiet[:, 1] - 1e-9)]
    is_restored = after > _RESTORED * before
    return quiet if is_restored.mean() >= _MOSTLY else np.empty((0, 2))


def unexplained(trace: Trace) -> Floats:
    """Return the lasting periods without data that nothing says are idle periods."""
    return np.empty((0, 2)) if (trace.on_s == 0).any() else _lasting(trace)


def _lasting(trace: Trace) -> Floats:
    """Return periods without data of several intervals, but one that reaches the end."""
    quiet = _quiet(trace)
    usual = float(np.median(trace.end_s - trace.start_s))
    lasts = quiet[:, 1] - quiet[:, 0]
    lasting: Floats = quiet[(lasts > _SEVERAL * usual) & (quiet[:, 1] < trace.end_s[-1])]
    return lasting


def resting(trace: Trace, periods: Floats) -> Trace:
    """Return a trace in which nothing was to be sent in some periods, be they zeros or gaps."""
    on = trace.on_s.copy()
    for first, last in periods:
        on[(trace.start_s >= first - 1e-9) & (trace.end_s <= last + 1e-9)] = 0.0
    usual = float(np.median(trace.on_s))
    gaps = np.flatnonzero(trace.start_s[1:] - trace.end_s[:-1] > usual / 2)
    trace = replace(trace, on_s=on)
    within = [
        k for k in gaps if _inside(float(trace.end_s[k]), float(trace.start_s[k + 1]), periods)
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
