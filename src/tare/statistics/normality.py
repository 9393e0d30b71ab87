"""Are values normally distributed? What it changes if they are not.

Source: Shapiro and Wilk 1965; Royston 1995; Anderson and Darling 1952; D'Agostino and Stephens
1986.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tare.results.message import Message, message
from tare.statistics import checked
from tare.statistics.downsample import sample
from tare.statistics.statistic import FloatArray
from tare.units import p_value

#: Shapiro's p-values are not accurate beyond; longer series are sampled evenly.
MOST = 5000
#: Trials below which no test has the power to tell.
FEWEST = 8
_ALPHA = 0.05


@dataclass(frozen=True)
class Normality:
    """Whether a normal distribution would give such values.

    Attributes
    ----------
    shapiro, shapiro_p : float or None
        Shapiro and Wilk's W, and the probability of one as small; None below 8 values or where
        all are equal.
    anderson, anderson_p : float or None
        Anderson and Darling's A², and the probability of one as large.
    skew : float or None
        Sample skewness; 0 for symmetric values.
    used : int
        Values looked at: all, or an even sample of 5000.
    ok : bool or None
        Whether Shapiro's test finds nothing at 5 %; None where nothing can be said.
    sentence : Message
        What it means.
    """

    shapiro: float | None
    shapiro_p: float | None
    anderson: float | None
    anderson_p: float | None
    skew: float | None
    used: int
    ok: bool | None
    sentence: Message


def normality(values: ArrayLike) -> Normality:
    """Test for a normal distribution.

    Parameters
    ----------
    values : array, shape (n,)
        Finite; order does not matter.

    Notes
    -----
    Large n finds every deviation and small n none, so that the skew and the sentence matter more
    than p. Neither test decides a verdict.

    References
    ----------
    Shapiro and Wilk 1965; Anderson and Darling 1952; Razali and Wah 2011.
    """
    values = checked.series(values, least=0)
    x = sample(values, MOST)
    n = len(x)
    if n < FEWEST or np.ptp(x) == 0:
        few = n < FEWEST
        why = (
            message(
                "{n | counted('value')} {% if n == 1 %}is{% else %}are{% endif %} too few for a "
                "test of normality: rely on the median",
                n=n,
            )
            if few
            else message(
                "all values are equal: the clock may be coarser than the spread. Rely on the median"
            )
        )
        return Normality(None, None, None, None, None, n, None, why)
    # Squares of very large or very small values would not be finite.
    x = x / np.abs(x).max()
    standard = (x - x.mean()) / x.std()
    w, w_p = shapiro_wilk(standard)
    a, a_p = anderson_darling(standard)
    skew = float(np.mean(standard**3))
    ok = w_p >= _ALPHA
    return Normality(w, w_p, a, a_p, skew, n, ok, _sentence(ok, w_p, skew, n))


def shapiro_wilk(values: FloatArray) -> tuple[float, float]:
    """Compute Shapiro and Wilk's W for a normal distribution, and its p-value.

    Parameters
    ----------
    values : array, shape (n,)
        From 6 to 5,000, not all equal.

    References
    ----------
    Royston, Remark AS R94, Applied Statistics 44, 1995: all coefficients.
    """
    # scipy.stats has this test; loading it takes 0.3 s, which every report would pay.
    n = len(values)
    expected = special.ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    total, u = float(expected @ expected), 1 / np.sqrt(n)
    largest, second = expected[:-3:-1] / np.sqrt(total)
    largest = np.polyval([-2.706056, 4.434685, -2.071190, -0.147981, 0.221157, largest], u)
    second = np.polyval([-3.582633, 5.682633, -1.752461, -0.293762, 0.042981, second], u)
    inner = (total - 2 * (expected[-1] ** 2 + expected[-2] ** 2)) / (
        1 - 2 * (largest**2 + second**2)
    )
    weights = expected / np.sqrt(inner)
    weights[[0, 1, -2, -1]] = -largest, -second, second, largest
    apart = np.sort(values) - values.mean()
    w = min(1.0, float((weights @ apart) ** 2 / (apart @ apart)))
    with np.errstate(divide="ignore"):
        distance = float(np.log1p(-w))
    if n <= 11:
        limit = 0.459 * n - 2.273
        if distance >= limit:
            return w, 0.0
        distance = -np.log(limit - distance)
        mean = np.polyval([-0.0006714, 0.025054, -0.39978, 0.5440], n)
        spread = np.exp(np.polyval([-0.0020322, 0.062767, -0.77857, 1.3822], n))
    else:
        mean = np.polyval([0.0038915, -0.083751, -0.31082, -1.5861], np.log(n))
        spread = np.exp(np.polyval([0.0030302, -0.082676, -0.4803], np.log(n)))
    return w, float(special.ndtr((mean - distance) / spread))


def anderson_darling(values: FloatArray) -> tuple[float, float]:
    """Compute Anderson and Darling's A² for a normal distribution, and its p-value.

    Parameters
    ----------
    values : array, shape (n,)
        Not all equal; mean and variance are estimated from them.

    References
    ----------
    D'Agostino and Stephens, Goodness-of-fit techniques, 1986, table 4.9.
    """
    n = len(values)
    standard = (np.sort(values) - values.mean()) / values.std(ddof=1)
    z = special.ndtr(standard)
    weights = (2 * np.arange(1, n + 1) - 1) / n
    with np.errstate(divide="ignore"):  # A² is infinite where a value is too far off for a float
        statistic = -n - float(np.sum(weights * (np.log(z) + np.log1p(-z[::-1]))))
    adjusted = statistic * (1 + 0.75 / n + 2.25 / n**2)
    if adjusted < 0.2:
        p = 1 - np.exp(-13.436 + 101.14 * adjusted - 223.73 * adjusted**2)
    elif adjusted < 0.34:
        p = 1 - np.exp(-8.318 + 42.796 * adjusted - 59.938 * adjusted**2)
    elif adjusted < 0.6:
        p = np.exp(0.9177 - 4.279 * adjusted - 1.38 * adjusted**2)
    elif adjusted <= 13:
        p = np.exp(1.2937 - 5.709 * adjusted + 0.0186 * adjusted**2)
    else:
        p = 0.0
    return statistic, float(p)


def _sentence(ok: bool, p: float, skew: float, n: int) -> Message:
    if ok:
        return message(
            "a normal distribution would give such values (Shapiro {p}){% if few %}, though "
            "few values would hardly show another{% endif %}: mean ± SD describes them as "
            "well as the median's interval",
            p=p_value(p),
            few=n < 30,
        )
    tail = "high" if skew > 0.5 else "low" if skew < -0.5 else None
    return message(
        "the values are not normally distributed (Shapiro {p}, skew {skew}): {% if tail %}a "
        "long tail of {% if tail == 'high' %}large values pulls the mean up{% else %}small "
        "values pulls the mean down{% endif %}{% else %}they are symmetric, but not normal"
        "{% endif %}. Use the median's interval, not mean ± SD",
        p=p_value(p),
        skew=skew,
        tail=tail,
    )
