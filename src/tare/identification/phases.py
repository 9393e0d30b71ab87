"""What to measure next, so that a bucket is known, or known not to be there, as soon as can be."""

from __future__ import annotations

from typing import Literal

import msgspec

from tare.shaping.trace import Trace


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """What to do next; ask again with the trace when it is done.

    Attributes
    ----------
    action : {"send", "rest", "done"}
        Send at full speed, send nothing, or end.
    seconds : float
        For how long; 0 where it is done.
    why : str
        One sentence.
    """

    action: Literal["send", "rest", "done"]
    seconds: float
    why: str


def next_phase(trace: Trace, most_s: float = 3600.0, precision: float = 0.02) -> Next:
    """Say what to do next to learn what shapes a network.

    Full speed until the rate falls or ``most_s`` have been sent; then rests, each followed by full
    speed until the bucket is empty once more, until the intervals are narrower than the precision.

    Parameters
    ----------
    trace : Trace
        So far; may be empty.
    most_s : float
        How long to send at most before it is said that no bucket was seen.
    precision : float
        Half the width of the intervals that are aimed at, relative.
    """
    raise NotImplementedError  # until the estimator lands
