"""Whether times spread because single trials waited for a CPU."""

from __future__ import annotations

import numpy as np

from tare.statistics.intervals import p10_and_p90
from tare.statistics.statistic import FloatArray
from tare.statistics.variance import FEWEST, Explained, Share, explained

#: What the time in which a command was ready and had no CPU is called.
WAIT = "run-queue wait"
#: A cell is called unstable where its p10–p90 range exceeds this share of its median.
WIDE = 0.05
#: Level at which a covariate is said to explain something.
ALPHA = 0.05
#: Share of the variance from which on one covariate is the clearest cause.
_HALF = 0.5


def waits(wall: FloatArray, waiting: FloatArray, cpu: FloatArray) -> bool:
    """Whether single trials spread because they wait for a CPU, and their CPU time does not.

    That is, waiting explains half of the variance of wall time or more, and the range of CPU time
    is half of that of wall time or less, relative to its median.
    """
    if not len(wall) == len(waiting) == len(cpu) >= FEWEST or _range(wall) <= WIDE:
        return False
    found = explained(wall, {WAIT: waiting})
    return found is not None and is_clear(found) and is_cured(found.shares[0], wall, cpu)


def is_clear(found: Explained) -> bool:
    """Whether one covariate explains half of the variance or more."""
    return found.p < ALPHA and found.shares[0].p < ALPHA and found.shares[0].share >= _HALF


def is_cured(share: Share, wall: FloatArray, cpu: FloatArray) -> bool:
    """Whether what explains a wall time is a wait that CPU time is free of."""
    return share.name == WAIT and share.rising and _range(cpu) <= _range(wall) / 2


def _range(values: FloatArray) -> float:
    low, high = p10_and_p90(values)
    return (high - low) / abs(float(np.quantile(values, 0.5)) or 1.0)
