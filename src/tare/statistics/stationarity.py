"""Does a series stay where it is? The two opposite tests, and what both together say.

Source: Dickey and Fuller 1979; Kwiatkowski and others 1992.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from statsmodels.tsa.adfvalues import mackinnonp
from statsmodels.tsa.stattools import kpss

from tare.results.message import Message, message
from tare.statistics.downsample import Course, course_of
from tare.statistics.statistic import FloatArray
from tare.units import p_value

Stay = Literal["stationary", "not stationary", "contradictory", "not enough trials", "constant"]

#: Trials below which neither test is tried.
FEWEST = 12
#: Values that are tested one by one; longer series are averaged over blocks.
MOST = 1024
_ALPHA = 0.05
_CLIPPED = (0.01, 0.1)


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
    block = -(-len(x) // MOST)
    x = x[: len(x) // block * block].reshape(-1, block).mean(axis=1) if block > 1 else x
    n = len(x)
    if n < FEWEST or np.ptp(x) == 0:
        verdict: Stay = "not enough trials" if n < FEWEST else "constant"
        return Stationarity(None, None, None, None, False, verdict, None, _sentence(verdict))
    # Squares of very small and very large values would be none.
    x = (x - x.mean()) / np.ptp(x)
    x /= x.std()
    lags = int((n - 1) ** (1 / 3))
    adf = dickey_fuller(x, lags)
    adf_p = float(mackinnonp(adf, regression="c", N=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that KPSS' p is clipped is told
        level, level_p = (float(v) for v in kpss(x, regression="c", nlags=lags)[:2])
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
        "series.stationarity.tested",
        said=_sentence(verdict),
        adf=p_value(adf_p),
        kpss=f"p {sign} {level_p:.2g}",
    )
    return Stationarity(adf, adf_p, level, level_p, clipped, verdict, ok, sentence)


def _sentence(verdict: Stay) -> Message:
    return message(f"series.stationarity.{verdict.replace(' ', '_')}")


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
