"""Do trials remember each other? How many independent ones they are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from tare.registry import Description
from tare.statistics.course import MOST
from tare.statistics.dependence import autocorrelation, lag1
from tare.statistics.order import Order, normal_scores, order_of
from tare.statistics.statistic import FloatArray, Statistic

#: Dependence time from which trials are said to remember each other.
MOST_TAU = 1.5


@dataclass(frozen=True)
class Independence:
    """What neighbouring trials have in common.

    Attributes
    ----------
    lag1 : float or None
        Autocorrelation of neighbours; None below 6 values or where all are equal.
    ljung_box, ljung_box_p : float or None
        Ljung and Box's Q on ranks over ``lags`` lags, and the probability of one as large.
    lags : int
        min(10, n/5), fixed beforehand.
    runs_p : float or None
        Of Wald and Wolfowitz's test of runs above and below the median.
    tau : float or None
        Dependence time: trials that are worth one independent trial, at least 1.
    effective : float or None
        n / tau: independent trials that these are worth.
    ok : bool or None
        False where memory is shown *and* tau exceeds 1.5.
    sentence : str
        What it means.
    """

    lag1: float | None
    ljung_box: float | None
    ljung_box_p: float | None
    lags: int
    runs_p: float | None
    tau: float | None
    effective: float | None
    ok: bool | None
    sentence: str


def independence(values: FloatArray, order: Order | None = None) -> Independence:
    """Look for memory in a series.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    order : Order, optional
        What ``ok`` and ``tau`` are to rest on, where it is known already: of the same values, or
        of what is left of them beside a drift or steps.

    Notes
    -----
    ``ok`` rests on the joint test of :mod:`tare.statistics.order`; Ljung and Box's and the runs
    test are told beside it. Above 8192 values they see the middle stretch of 8192.

    References
    ----------
    Ljung and Box 1978; Wald and Wolfowitz 1940; Geyer 1992.
    """
    n = len(values)
    order = order or order_of(values)
    if order is None:
        why = "All values are equal" if n >= 6 else f"{n} values are too few"
        sentence = f"{why}: whether trials remember each other cannot be seen."
        return Independence(None, None, None, 0, None, None, None, None, sentence)
    start = max(0, (n - MOST) // 2)
    x = np.asarray(values[start : start + MOST], dtype=float)
    lags = max(1, min(10, len(x) // 5))
    q, q_p = ljung_box(stats.rankdata(x), lags)
    ok = not (order.remembers and order.tau > MOST_TAU)
    return Independence(
        lag1=lag1(normal_scores(x)),
        ljung_box=q,
        ljung_box_p=q_p,
        lags=lags,
        runs_p=runs_p(x),
        tau=order.tau,
        effective=n / order.tau,
        ok=ok,
        sentence=_sentence(ok, order, n),
    )


def ljung_box(values: FloatArray, lags: int) -> tuple[float, float]:
    """Ljung and Box's Q over the first ``lags`` lags, and its p from chi-squared."""
    n = len(values)
    k = np.arange(1, lags + 1)
    q = n * (n + 2) * float(np.sum(autocorrelation(values)[k] ** 2 / (n - k)))
    return q, float(stats.chi2.sf(q, lags))


def runs_p(values: FloatArray) -> float | None:
    """P-value of the number of runs above and below the median; None where one side is empty."""
    middle = np.median(values)
    above = values[values != middle] > middle
    up, down = int(above.sum()), int((~above).sum())
    n = up + down
    if up == 0 or down == 0 or n < 4:
        return None
    runs = 1 + int(np.count_nonzero(above[1:] != above[:-1]))
    mean = 2 * up * down / n + 1
    variance = (mean - 1) * (mean - 2) / (n - 1)
    return float(2 * stats.norm.sf(max(0.0, abs(runs - mean) - 0.5) / np.sqrt(variance)))


def _sentence(ok: bool, order: Order, n: int) -> str:
    if not ok:
        return (
            f"Neighbouring trials resemble each other: {n} trials are worth about "
            f"{n / order.tau:.0f} independent ones (dependence time {order.tau:.1f}), so that "
            f"intervals which take them for {n} are {np.sqrt(order.tau):.1f} times too narrow."
        )
    if order.remembers:
        return (
            f"Neighbouring trials resemble each other a little (dependence time {order.tau:.2f}), "
            "too little to matter for an interval."
        )
    few = ", though so few would show only a strong memory" if n < 50 else ""
    return f"No trial is seen to remember those before it{few}: each counts as one of {n}."


UNIT = Statistic(
    description=Description(
        name="independence",
        title="Autocorrelation, Ljung–Box on ranks, runs, dependence time",
        question="Do trials remember each other?",
        source="Ljung and Box 1978; Wald and Wolfowitz 1940; Geyer 1992",
    ),
    methods=(independence, ljung_box, runs_p),
)
