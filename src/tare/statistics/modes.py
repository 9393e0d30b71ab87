"""Do the values have several modes? Hartigan's dip test, applied again to each side.

Source: Hartigan and Hartigan 1985.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import Amount, Chosen, Message, message
from tare.statistics import checked, phrases
from tare.statistics.downsample import sample
from tare.statistics.statistic import FloatArray

#: Values looked at; longer series are sampled evenly.
MOST = 2048
#: Trials below which modes cannot be told from chance.
FEWEST = 12
_MOST_MODES = 4
#: Sizes, and √n × the dip that 5 % of uniform samples exceed: 30,000 to 100,000 samples each.
#: The uniform is the worst of all unimodal distributions, so that the test errs on the side of
#: one mode.
_SIZES = (6, 8, 12, 20, 30, 50, 100, 200, 500, 1000, 2048)
_DIP = (0.404, 0.436, 0.451, 0.47, 0.483, 0.496, 0.511, 0.522, 0.53, 0.534, 0.54)


@dataclass(frozen=True)
class Mode:
    """One mode.

    Attributes
    ----------
    at : float
        Median of its values.
    share : float
        Of all values.
    """

    at: float
    share: float


@dataclass(frozen=True)
class Modes:
    """How many modes, where, with what share.

    Attributes
    ----------
    modes : tuple of Mode
        In order of place; one where no second is shown, none where nothing can be said.
    dip : float or None
        Of the whole: largest distance to the nearest unimodal distribution function.
    used : int
        Values looked at.
    ok : bool or None
        Whether no second mode is shown at 5 %.
    sentence : Message
        What it means.
    """

    modes: tuple[Mode, ...]
    dip: float | None
    used: int
    ok: bool | None
    sentence: Message


def modes(values: ArrayLike) -> Modes:
    """Look for several modes.

    Parameters
    ----------
    values : array, shape (n,)
        Finite; order does not matter. Ties are spread over the smallest step between values,
        so that rounding makes no modes.

    References
    ----------
    Hartigan and Hartigan, The dip test of unimodality, Annals of Statistics 13(1), 1985.
    """
    values = checked.series(values, least=0)
    x = sample(values, MOST)
    n = len(x)
    if n < FEWEST or np.ptp(x) == 0:
        why = message(phrases.SERIES_FEW, n=n) if n < FEWEST else message(phrases.EQUAL)
        return Modes((), None, n, None, message("{why}: modes cannot be distinguished", why=why))
    ordered = spread_ties(np.sort(x))
    depth = dip(ordered)
    parts = _split(ordered, depth, _MOST_MODES)
    found = tuple(Mode(float(np.median(part)), len(part) / n) for part in parts)
    return Modes(found, depth, n, len(found) == 1, _sentence(found, n))


def dip(ordered: FloatArray) -> float:
    """Compute Hartigan's dip: the distance to the nearest unimodal distribution function.

    Parameters
    ----------
    ordered : array, shape (n,)
        Sorted values.

    Notes
    -----
    The modal interval shrinks until the convex minorant left of it, the concave majorant right of
    it and the gap between both inside it agree on the largest distance.
    """
    n = len(ordered)
    low, high, depth = 0, n - 1, 1.0
    while high > low:
        place = np.arange(low, high + 1)
        minorant, majorant = _hull(ordered, low, high, 1), _hull(ordered, low, high, -1)
        below = np.interp(ordered[place], ordered[minorant], minorant.astype(float))
        above = np.interp(ordered[place], ordered[majorant], majorant.astype(float) + 1)
        gaps = above - below
        at_minorant, at_majorant = gaps[minorant - low], gaps[majorant - low]
        gap = float(max(at_minorant.max(), at_majorant.max()))
        if gap <= depth:
            break
        if at_minorant.max() >= at_majorant.max():
            left = int(minorant[at_minorant.argmax()])
            right = int(majorant[majorant >= left][0])
        else:
            right = int(majorant[len(majorant) - 1 - at_majorant[::-1].argmax()])
            left = int(minorant[minorant <= right][-1])
        beside = np.append((place + 1 - below)[: left - low + 1], (above - place)[right - low :])
        depth = max(depth, float(np.abs(beside).max()))
        if (left, right) == (low, high):
            break
        low, high = left, right
    return depth / (2 * n)


def _hull(ordered: FloatArray, low: int, high: int, sign: int) -> np.ndarray:
    """Find the indices of the greatest convex minorant (sign 1) or least concave majorant (−1)."""
    x = ordered.tolist()
    kept: list[int] = []
    for i in range(low, high + 1):
        while len(kept) >= 2:
            a, b = kept[-2], kept[-1]
            if sign * ((b - a) * (x[i] - x[a]) - (i - a) * (x[b] - x[a])) < 0:
                break
            kept.pop()
        kept.append(i)
    return np.array(kept)


def spread_ties(ordered: FloatArray) -> FloatArray:
    """Spread equal values evenly over the smallest step between values.

    A clock that ticks coarsely makes atoms, and each would be a mode.
    """
    distinct, counts = np.unique(ordered, return_counts=True)
    if len(distinct) == len(ordered) or len(distinct) == 1:
        return ordered
    steps = np.diff(distinct)
    tick = float(steps[steps > 1e-9 * (distinct[-1] - distinct[0])].min())
    first = np.repeat(np.cumsum(counts) - counts, counts)
    within = (np.arange(len(ordered)) - first + 0.5) / np.repeat(counts, counts)
    return np.asarray(np.repeat(distinct, counts) + tick * (within - 0.5))


def _split(ordered: FloatArray, depth: float, most: int) -> list[FloatArray]:
    """Split at the deepest valley, again and again, while the dip exceeds what chance makes."""
    n = len(ordered)
    cut = None
    if most > 1 and depth * np.sqrt(n) > np.interp(np.log(n), np.log(_SIZES), _DIP):
        cut = _valley(ordered)
    if cut is None:
        return [ordered]
    lower, upper = ordered[:cut], ordered[cut:]
    left = _split(lower, dip(lower), most - 1)
    return left + _split(upper, dip(upper), most - len(left))


def _valley(ordered: FloatArray) -> int | None:
    """Index that separates two modes best: the largest relative drop between two peaks."""
    n = len(ordered)
    window = max(2, n // 20)
    spacing = ordered[window:] - ordered[:-window]
    rising = np.minimum.accumulate(spacing)
    falling = np.minimum.accumulate(spacing[::-1])[::-1]
    # Between equal values; relative to the largest spacing, so that no ratio overflows.
    least = max(1e-300 * float(spacing.max()), 1e-300)
    prominence = spacing / np.maximum(np.maximum(rising, falling), least)
    best = int(prominence.argmax())
    if prominence[best] <= 1:
        return None
    inside = np.diff(ordered[best : best + window + 1])
    return best + int(inside.argmax()) + 1


def _sentence(found: tuple[Mode, ...], n: int) -> Message:
    if len(found) == 1:
        return message(
            "one mode: no second one is shown{% if few %} (so few values would show only "
            "clearly separate ones){% endif %}",
            few=n < 50,
        )
    modes = [
        message(
            "{at} ({share})",
            at=Chosen(float(f"{mode.at:.4g}"), "1"),
            share=Amount(mode.share, "share"),
        )
        for mode in found
    ]
    return message(
        "{modes | length} modes, at {modes | join(', ')}: the program or the machine behaves "
        "in several ways. Separate them (input, placement, frequency) before one number "
        "stands for all",
        modes=modes,
    )
