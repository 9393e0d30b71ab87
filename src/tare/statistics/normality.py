"""Are values normally distributed? What it changes if they are not.

Source: Shapiro and Wilk 1965; Anderson and Darling 1952.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.stats.diagnostic import normal_ad

from tare.results.message import Message, message
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


def normality(values: FloatArray) -> Normality:
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
    x = sample(values, MOST)
    n = len(x)
    if n < FEWEST or np.ptp(x) == 0:
        few = n < FEWEST
        why = message("series.normality.few", n=n) if few else message("series.normality.equal")
        return Normality(None, None, None, None, None, n, None, why)
    standard = (x - x.mean()) / x.std()
    w, w_p = (float(v) for v in stats.shapiro(standard))
    a, a_p = (float(v) for v in normal_ad(standard))
    skew = float(stats.skew(standard))
    ok = w_p >= _ALPHA
    return Normality(w, w_p, a, a_p, skew, n, ok, _sentence(ok, w_p, skew, n))


def _sentence(ok: bool, p: float, skew: float, n: int) -> Message:
    if ok:
        return message("series.normality.normal", p=p_value(p), few=n < 30)
    tail = "high" if skew > 0.5 else "low" if skew < -0.5 else None
    return message("series.normality.skewed", p=p_value(p), skew=skew, tail=tail)
