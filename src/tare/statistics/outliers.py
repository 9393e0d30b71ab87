"""Which values lie far from the others? What they do to the mean.

Source: Hubert and Vandervieren 2008; Brys, Hubert and Struyf 2004; Tukey 1977.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import Deviation, Message, message
from tare.statistics import checked
from tare.statistics.downsample import sample
from tare.statistics.statistic import FloatArray

#: Trials below which the quartiles themselves are too uncertain.
FEWEST = 10
#: Quantiles that the skew of the middle is taken from: the medcouple takes n² steps.
_QUANTILES = 101
_SAMPLE = 100_000
_EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Outliers:
    """Values beyond the fences, and their effect.

    Attributes
    ----------
    low, high : float or None
        Fences: three interquartile ranges beyond the quartiles, further where skewed; None below
        10 values or where the quartiles are equal.
    below, above : int
        Values beyond each fence; of long series, estimated from an even sample.
    effect : float or None
        Mean with them minus mean without, relative to the mean without.
    ok : bool or None
        Whether they move the mean by no more than the precision.
    sentence : Message
        What it means.
    """

    low: float | None
    high: float | None
    below: int
    above: int
    effect: float | None
    ok: bool | None
    sentence: Message


def outliers(values: ArrayLike, precision: float = 0.01) -> Outliers:
    """Count outliers by the boxplot adjusted for skew, with far fences.

    Parameters
    ----------
    values : array, shape (n,)
        Finite; order does not matter.
    precision : float
        Relative change of the mean that matters.

    References
    ----------
    Hubert and Vandervieren, An adjusted boxplot for skewed distributions, 2008; Tukey 1977.
    """
    checked.parameters(precision=precision)
    values = checked.series(values, least=0)
    x = sample(values, _SAMPLE)
    n, total = len(x), len(values)
    if n < FEWEST:
        sentence = message(
            "{n | counted('value')} {% if n == 1 %}is{% else %}are{% endif %} too few to "
            "call one of them an outlier",
            n=n,
        )
        return Outliers(None, None, 0, 0, None, None, sentence)
    found = _fences(x)
    if found is None:
        sentence = message(
            "at least half of the values are equal: there is no spread to measure others by"
        )
        return Outliers(None, None, 0, 0, None, None, sentence)
    low, high = found
    below, above = int(np.sum(x < low)), int(np.sum(x > high))
    inside = float(x[(x >= low) & (x <= high)].mean())
    effect = (float(x.mean()) - inside) / abs(inside) if inside else None
    ok = effect is None or abs(effect) <= precision
    below, above = (round(count * total / n) for count in (below, above))
    return Outliers(low, high, below, above, effect, ok, _sentence(below, above, effect, ok, total))


def _fences(x: FloatArray) -> tuple[float, float] | None:
    lower, upper = (float(q) for q in np.quantile(x, [0.25, 0.75]))
    if upper <= lower:
        return None
    middle = np.quantile(x, np.linspace(0, 1, _QUANTILES)) if len(x) > _QUANTILES else x
    skew = medcouple(middle)
    small, large = (-4.0, 3.5) if skew >= 0 else (-3.5, 4.0)
    # Only ever wider than Tukey's: two modes look like skew, and would cut each other off.
    below, above = (max(1.0, float(np.exp(side * skew))) for side in (small, large))
    reach = 3 * (upper - lower)
    return lower - reach * below, upper + reach * above


def medcouple(values: FloatArray) -> float:
    """Compute the medcouple, a robust measure of skew between −1 and 1.

    The median of (above + below) / (above − below) over all pairs of a deviation from the median
    that is at least 0 with one that is at most 0.

    Parameters
    ----------
    values : array, shape (n,)
        At least 3, finite. All pairs are held in memory.

    References
    ----------
    Brys, Hubert and Struyf, A robust measure of skewness, 2004.
    """
    deviations = np.sort(values)[::-1] - np.median(values)
    # Deviations that are 0 but for rounding.
    middle = abs(float(np.median(values)))
    if deviations[0] < _EPSILON * (_EPSILON + middle):
        return -1.0
    if -deviations[-1] < _EPSILON * (_EPSILON + middle):
        return 1.0
    scale = 2 * max(deviations[0], -deviations[-1])
    deviations /= scale
    rounding = _EPSILON * (_EPSILON + middle / scale)
    above = deviations[deviations >= -rounding]
    below = deviations[deviations <= rounding]
    widths = above[:, None] - below
    # Of values equal to the median, as many pairs count as −1 as count as 1.
    ranks = np.add.outer(np.arange(len(above)), np.arange(len(below)))
    ties = np.sign(len(above) - 1 - ranks)
    equal = widths == 0
    kernel = np.where(equal, ties, (above[:, None] + below) / np.where(equal, 1, widths))
    return float(np.median(kernel))


def _sentence(below: int, above: int, effect: float | None, ok: bool, n: int) -> Message:
    if below + above == 0:
        return message("no outliers: all values lie within reach of the middle half")
    return message(
        "{count} of {n | counted('value')} {% if count == 1 %}lies{% else %}lie{% endif %} "
        "far from the others ({% if above and below %}{above} above and {below} below"
        "{% elif above %}above{% else %}below{% endif %}){% if not effect %}; the median is "
        "not affected{% else %} and {% if count == 1 %}moves{% else %}move{% endif %} the "
        "mean by {effect}: {% if small %}too little to matter{% else %}report the median, "
        "and look for what happened in those trials{% endif %}{% endif %}",
        count=below + above,
        n=n,
        above=above,
        below=below,
        effect=None if effect is None else Deviation(effect, "share"),
        small=ok,
    )
