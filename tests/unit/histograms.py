"""Histograms of times, counted as the agent does."""

from __future__ import annotations

from collections.abc import Sequence

from tare.agent.record import Histogram
from tare.networks.recording.histogram import BINS

_PER_OCTAVE = 64


def bin_of(time_ns: int) -> int:
    """Return the number of the bin that a time falls into."""
    if time_ns < _PER_OCTAVE:
        return max(0, time_ns)
    exponent = time_ns.bit_length() - 6
    return min(BINS - 1, _PER_OCTAVE * exponent + (time_ns >> (exponent - 1)) - _PER_OCTAVE)


def of_times(times_ns: Sequence[int]) -> Histogram:
    """Count times into a histogram, as the agent does."""
    counts: dict[int, int] = {}
    for time_ns in times_ns:
        number = bin_of(time_ns)
        counts[number] = counts.get(number, 0) + 1
    return Histogram(
        bins=tuple(sorted(counts.items())),
        min_ns=min(times_ns, default=None),
        max_ns=max(times_ns, default=None),
        sum_ns=sum(times_ns),
    )
