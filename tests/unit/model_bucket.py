"""What a network that is shaped by a bucket would carry: a trace as the model has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from tare.networks.shaping.specification import Bucket
from tare.networks.shaping.trace import Trace

#: A phase: whether data is to be sent, and for how many seconds.
Phase = tuple[bool, float]


def pattern(on_s: float, off_s: float, duration_s: float) -> list[Phase]:
    """Send for so long, rest for so long, and again, for a duration."""
    if off_s <= 0:
        return [(True, duration_s)]
    times = int(np.ceil(duration_s / (on_s + off_s) - 1e-9))
    return [(True, on_s), (False, off_s)] * times


def carried(bucket: Bucket, phases: Sequence[Phase], interval_s: float) -> Trace:
    """Compute what a bucket lets through where as much is sent as goes.

    Parameters
    ----------
    bucket : Bucket
        Where it refills faster than its low rate, what comes back is sent at once: empty, it
        carries the larger of the two.
    phases : sequence of (bool, float)
        Sending or resting, one after another.
    interval_s : float
        Length of the intervals of the trace; the last may be shorter.
    """
    ends = np.array(list(accumulate(seconds for _, seconds in phases)))
    edges = np.append(np.arange(0, ends[-1] - 1e-9, interval_s), ends[-1])
    cuts = np.union1d(edges, ends)
    # What differs by rounding alone is one cut.
    cuts = cuts[np.append(True, np.diff(cuts) > 1e-9)]
    middles = (cuts[1:] + cuts[:-1]) / 2
    of_phase = np.searchsorted(ends, middles)
    sending = np.array([on for on, _ in phases])[of_phase]
    lengths = np.diff(cuts)
    sent = np.array(list(_let_through(bucket, zip(sending, lengths, strict=True))))
    of_interval = np.searchsorted(edges, middles, side="right") - 1
    return Trace(
        start_s=edges[:-1],
        end_s=edges[1:],
        bits=np.bincount(of_interval, sent, len(edges) - 1).astype(float),
        on_s=np.bincount(of_interval, np.where(sending, lengths, 0.0), len(edges) - 1).astype(
            float
        ),
    )


def _let_through(bucket: Bucket, pieces: Iterable[tuple[bool, float]]) -> Iterable[float]:
    """Yield the bits that pass in each piece of time."""
    capacity = float(bucket.capacity_bits)
    tokens = capacity if bucket.initial_bits is None else float(bucket.initial_bits)
    drain = bucket.high_bps - bucket.refill_bps
    low = max(bucket.low_bps, bucket.refill_bps)
    for sending, seconds in pieces:
        if not sending:
            tokens = min(capacity, tokens + bucket.refill_bps * seconds)
            yield 0.0
            continue
        fast = seconds if drain <= 0 else min(seconds, tokens / drain)
        tokens = min(capacity, max(0.0, tokens - drain * fast))
        yield bucket.high_bps * fast + low * (seconds - fast)
