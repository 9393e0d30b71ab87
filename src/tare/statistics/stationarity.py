"""Does a series stay where it is? The two opposite tests, and what both together say.

Source: Dickey and Fuller 1979; MacKinnon 1994; Kwiatkowski and others 1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from tare.results.message import Message, message
from tare.statistics.downsample import Course, block_means, course_of
from tare.statistics.statistic import FloatArray
from tare.units import p_value

_STATIONARITY_TEXTS = {
    "constant": "all values are equal: no level can move",
    "stationary": "the series stays around one level: its beginning and its end agree",
    "not_stationary": (
        "the series wanders: its level depends on the time, and more trials do not make its "
        "median more certain"
    ),
    "contradictory": (
        "the series neither wanders freely nor keeps one level: look for a step or a slow "
        "drift below before pooling its beginning with its end"
    ),
    "not_enough_trials": (
        "with so few trials, neither a steady level nor a wandering one can be shown"
    ),
}

Stay = Literal["stationary", "not stationary", "contradictory", "not enough trials", "constant"]

#: Trials below which neither test is tried.
FEWEST = 12
#: Values that are tested one by one; longer series are averaged over blocks.
MOST = 1024
_ALPHA = 0.05
_CLIPPED = (0.01, 0.1)
#: Critical values of KPSS around a level and their p-values (Kwiatkowski and others, table 1).
_KPSS_LEVELS = (0.347, 0.463, 0.574, 0.739)
_KPSS_P = (0.10, 0.05, 0.025, 0.01)
#: Normal scores of the Dickey-Fuller statistic as polynomials, lowest power first, for one series
#: and a constant (MacKinnon 1994): up to the first bound, and above it.
_ADF_BOUND = -1.61
_ADF_LEFT = (2.1659, 1.4412, 0.038269)
_ADF_RIGHT = (1.7339, 0.93202, -0.12745, -0.010368)
#: Statistics outside of which p is 0 and 1.
_ADF_RANGE = (-18.83, 2.74)


@dataclass(frozen=True)
class Stationarity:
    """What two tests with opposite null hypotheses say together.

    Attributes
    ----------
    adf, adf_p : float or None
        Augmented Dickey–Fuller (null: a random walk), lags by Said and Dickey's (n − 1)^⅓.
    kpss, kpss_p : float or None
        Kwiatkowski and others (null: stationary around a level); p is known between 0.01 and
        0.1 only and clipped to them.
    clipped : bool
        Whether p is one of those ends.
    verdict : str
        ``stationary``: only ADF rejects; ``not stationary``: only KPSS does; ``contradictory``:
        both do; ``not enough trials``: neither does.
    ok : bool or None
        True and False for the first two verdicts, None for the others.
    sentence : Message
        What it means.
    """

    adf: float | None
    adf_p: float | None
    kpss: float | None
    kpss_p: float | None
    clipped: bool
    verdict: Stay
    ok: bool | None
    sentence: Message


def stationarity(series: FloatArray | Course) -> Stationarity:
    """Test for a unit root and for stationarity.

    Parameters
    ----------
    series : array, shape (n,), or Course
        In order of time; above 1024, means of blocks are tested.

    References
    ----------
    Dickey and Fuller 1979; Said and Dickey 1984; Kwiatkowski, Phillips, Schmidt, Shin 1992.
    """
    x = (series if isinstance(series, Course) else course_of(series)).values
    if len(x) > MOST:
        x, _ = block_means(x, MOST)
    n = len(x)
    if n < FEWEST or np.ptp(x) == 0:
        verdict: Stay = "not enough trials" if n < FEWEST else "constant"
        return Stationarity(None, None, None, None, False, verdict, None, _sentence(verdict))
    # Squares of very small and very large values would be none.
    x = (x - x.mean()) / np.ptp(x)
    x /= x.std()
    lags = int((n - 1) ** (1 / 3))
    adf = dickey_fuller(x, lags)
    adf_p = dickey_fuller_p(adf)
    level, level_p = kpss(x, lags)
    verdict = {
        (True, False): "stationary",
        (False, True): "not stationary",
        (True, True): "contradictory",
        (False, False): "not enough trials",
    }[(adf_p < _ALPHA, level_p < _ALPHA)]  # type: ignore[assignment]
    ok = {"stationary": True, "not stationary": False}.get(verdict)
    clipped = level_p in _CLIPPED
    sign = "=" if not clipped else "≤" if level_p == _CLIPPED[0] else "≥"
    sentence = message(
        "{said} (ADF {adf}, KPSS {kpss})",
        said=_sentence(verdict),
        adf=p_value(adf_p),
        kpss=f"p {sign} {level_p:.2g}",
    )
    return Stationarity(adf, adf_p, level, level_p, clipped, verdict, ok, sentence)


def _sentence(verdict: Stay) -> Message:
    name = verdict.replace(" ", "_")
    return message(_STATIONARITY_TEXTS[name])


def dickey_fuller(values: FloatArray, lags: int) -> float:
    """Compute the augmented Dickey–Fuller statistic with a constant and a fixed number of lags.

    The same as statsmodels' ``adfuller``, whose singular value decomposition takes 20 times as
    long for 1000 values where the cores are busy.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time, around 0, not all equal.
    lags : int
        Earlier differences in the regression.
    """
    steps = np.diff(values)
    m = len(steps) - lags
    earlier = [steps[lags - k : lags - k + m] for k in range(1, lags + 1)]
    design = np.column_stack([values[lags : lags + m], np.ones(m), *earlier])
    target = steps[lags:]
    inverse = np.linalg.pinv(design.T @ design, hermitian=True)
    fitted = inverse @ (design.T @ target)
    left = target - design @ fitted
    variance = float(left @ left) / (m - design.shape[1])
    return float(fitted[0] / np.sqrt(max(variance * inverse[0, 0], 1e-300)))


def dickey_fuller_p(statistic: float) -> float:
    """Approximate the p-value of a Dickey–Fuller statistic with a constant.

    References
    ----------
    MacKinnon, Journal of Business and Economic Statistics 12(2), 1994, tables 3 and 4.
    """
    lowest, highest = _ADF_RANGE
    if statistic > highest:
        return 1.0
    if statistic < lowest:
        return 0.0
    powers = _ADF_LEFT if statistic <= _ADF_BOUND else _ADF_RIGHT
    return float(special.ndtr(np.polynomial.polynomial.polyval(statistic, powers)))


def kpss(values: FloatArray, lags: int) -> tuple[float, float]:
    """Compute the KPSS statistic around a level, and its p-value clipped to [0.01, 0.1].

    Parameters
    ----------
    values : array, shape (n,)
        In order of time, not all equal.
    lags : int
        Autocovariances in the variance estimate, with Bartlett's weights; less than n.
    """
    n = len(values)
    left = values - values.mean()
    covariances = [float(left[lag:] @ left[: n - lag]) for lag in range(lags + 1)]
    weights = 2 * (1 - np.arange(lags + 1) / (lags + 1))
    weights[0] = 1
    statistic = float(np.sum(np.cumsum(left) ** 2)) / n / float(weights @ covariances)
    return statistic, float(np.interp(statistic, _KPSS_LEVELS, _KPSS_P))
