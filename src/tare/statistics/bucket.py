"""A token bucket from what was sent between moments at which it was empty.

Source: CLOUDNET, section 3.3; conservation of tokens between moments of emptiness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.statistics.dependence import short_dependence
from tare.statistics.statistic import FloatArray

#: Stretches from which on their scatter says how well they are known.
_SCATTER = 8
#: Relative difference, and standard errors, by which a long rest must bring less than short ones.
_LESS, _CLEAR = 0.05, 4.0
#: Rests within this factor are of one length.
_ALIKE = 1.05


@dataclass(frozen=True)
class Stretch:
    """What was sent from one moment at which the bucket was empty to the next.

    Attributes
    ----------
    sent : float
        Out of the bucket: without what passed at the low rate while it was empty.
    error : float
        Standard error of ``sent``.
    seconds : float
        Between the two moments, without the time at the low rate.
    rest_s : float or None
        Of it, resting, where that was in one piece; None where there were several rests.
    """

    sent: float
    error: float
    seconds: float
    rest_s: float | None

    def beyond(self, rate: float) -> float:
        """Return the bits that were sent beyond what came in at a rate, bit/s."""
        return self.sent - rate * self.seconds

    @property
    def rate(self) -> float:
        """What came back a second, if the bucket was never full in between."""
        return self.sent / self.seconds


@dataclass(frozen=True)
class Refilling:
    """How a bucket fills.

    Attributes
    ----------
    rate, rate_error : float
        What comes back a second, and its standard error.
    capacity, capacity_error : float or None
        What the bucket holds, where rests were long enough to fill it; None where none was.
    spread : float
        Largest relative difference of what a stretch brought from what it should have.
    """

    rate: float
    rate_error: float
    capacity: float | None
    capacity_error: float | None
    spread: float


def refilling(stretches: Sequence[Stretch]) -> Refilling | None:
    """Estimate how fast a bucket fills, and how much it holds where that can be seen.

    A rest brings ``min(capacity, rate × rest)``. Stretches are parted by the length of their rests
    into those that did not fill the bucket and those that did, as describes them best; without a
    clear difference none did.

    Parameters
    ----------
    stretches : sequence of Stretch
        Each after a rest that began with an empty bucket.

    Returns
    -------
    Refilling or None
        None where there is no stretch, or nothing came back.
    """
    usable = [s for s in stretches if s.seconds > 0 and s.sent > 0]
    if not usable:
        return None
    best = _filled(usable)
    return best if best is not None else _never_full(usable)


def _never_full(some: Sequence[Stretch]) -> Refilling:
    sent, error, seconds = _columns(some)
    rate = float(sent.sum() / seconds.sum())
    variance = float((error**2).sum())
    if len(some) >= _SCATTER:
        beside = sent - rate * seconds
        scatter = float((beside**2).sum()) * short_dependence(beside) * len(some) / (len(some) - 1)
        variance = max(variance, scatter)
    spread = float(np.max(np.abs(sent / seconds / rate - 1)))
    return Refilling(rate, math.sqrt(variance) / float(seconds.sum()), None, None, spread)


def _filled(some: Sequence[Stretch]) -> Refilling | None:
    """Fit with the longest rests as those that filled it; None where they clearly did not."""
    rested = sorted((s for s in some if s.rest_s), key=lambda s: s.rest_s or 0.0)
    rests = [s.rest_s or 0.0 for s in rested]
    best: tuple[float, Refilling] | None = None
    for at in range(1, len(rested)):
        if rests[at] < _ALIKE * rests[at - 1]:
            continue
        found = _parted(rested[:at], rested[at:])
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    return None if best is None else best[1]


def _parted(short: Sequence[Stretch], long: Sequence[Stretch]) -> tuple[float, Refilling] | None:
    below = _never_full(short)
    sent, error, seconds = _columns(long)
    rest = np.array([s.rest_s or 0.0 for s in long])
    missing = below.rate * seconds - sent
    doubt = math.sqrt(float((error**2).sum()) + (float(seconds.sum()) * below.rate_error) ** 2)
    total = float(missing.sum())
    if total < max(_CLEAR * doubt, _LESS * below.rate * float(seconds.sum())):
        return None
    held = sent - below.rate * (seconds - rest)
    capacity = float(held.mean())
    reached = below.rate * np.array([s.rest_s or 0.0 for s in short])
    if capacity <= 0 or np.any(reached > capacity * (1 + _LESS)):
        return None
    spread_error = float(held.std(ddof=1)) / math.sqrt(len(held)) if len(held) > 2 else 0.0
    from_rate = float((seconds - rest).mean()) * below.rate_error
    own = max(math.sqrt(float((error**2).sum())) / len(long), spread_error)
    off = [abs(float(h) / capacity - 1) for h in held]
    fitted = Refilling(
        rate=below.rate,
        rate_error=below.rate_error,
        capacity=capacity,
        capacity_error=math.hypot(own, from_rate),
        spread=max(below.spread, *off),
    )
    misfit = float(((held - capacity) ** 2).sum())
    before, _, lengths = _columns(short)
    return misfit + float(((before - below.rate * lengths) ** 2).sum()), fitted


def _columns(some: Sequence[Stretch]) -> tuple[FloatArray, FloatArray, FloatArray]:
    sent = np.array([s.sent for s in some])
    error = np.array([s.error for s in some])
    return sent, error, np.array([s.seconds for s in some])
