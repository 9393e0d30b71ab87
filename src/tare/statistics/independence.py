"""Are trials independent of each other? How many independent ones they are worth.

Source: Ljung and Box 1978; Wald and Wolfowitz 1940; Geyer 1992.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import Amount, Chosen, Message, message
from tare.statistics import checked, phrases
from tare.statistics.copies import Copy, copied
from tare.statistics.dependence import autocorrelation, lag1
from tare.statistics.distributions import chi2_survival, normal_cdf
from tare.statistics.downsample import MOST
from tare.statistics.exact import ranks
from tare.statistics.order import Kind, Order, normal_scores, order_of
from tare.statistics.statistic import median


@dataclass(frozen=True)
class Independence:
    """What trials have in common with earlier ones.

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
    kind : {"autocorrelation", "alternation", "period"} or None
        The dependence that is both shown and large enough to matter.
    period : float or None
        Trials from one recurrence to the next, where ``kind`` is "period".
    copy : Copy or None
        A stretch of values that occurs twice, where ties do not explain it.
    ok : bool or None
        False where there is such a dependence or a copy; None where nothing can be said.
    sentence : Message
        What it means.
    """

    lag1: float | None
    ljung_box: float | None
    ljung_box_p: float | None
    lags: int
    runs_p: float | None
    tau: float | None
    effective: float | None
    kind: Kind | None
    period: float | None
    copy: Copy | None
    ok: bool | None
    sentence: Message


def independence(values: ArrayLike, order: Order | None = None) -> Independence:
    """Look for dependence in a series: autocorrelation of either sign, periods, copies.

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
    values = checked.series(values, least=0)
    n = len(values)
    order = order or order_of(values)
    if order is None:
        why = message(phrases.SERIES_FEW, n=n) if n < 6 else message(phrases.EQUAL)
        sentence = message("{why}: whether trials are independent cannot be tested", why=why)
        nothing = (None,) * 6
        return Independence(None, None, None, 0, None, *nothing, sentence)
    start = max(0, (n - MOST) // 2)
    x = np.asarray(values[start : start + MOST], dtype=float)
    lags = max(1, min(10, len(x) // 5))
    q, q_p = ljung_box(ranks(x[None])[0], lags)
    kind = order.kind if order.kind != "spread" else None
    copy = copied(values)
    return Independence(
        lag1=lag1(normal_scores(x)),
        ljung_box=q,
        ljung_box_p=q_p,
        lags=lags,
        runs_p=runs_p(x),
        tau=order.tau,
        effective=n / order.tau,
        kind=kind,
        period=order.period.period if kind == "period" else None,
        copy=copy,
        ok=kind is None and copy is None,
        sentence=_sentence(kind, copy, order, n),
    )


def ljung_box(values: ArrayLike, lags: int) -> tuple[float, float]:
    """Ljung and Box's Q over the first ``lags`` lags, and its p from chi-squared."""
    values = checked.series(values, least=lags + 1)
    n = len(values)
    k = np.arange(1, lags + 1)
    q = n * (n + 2) * float(np.sum(autocorrelation(values)[k] ** 2 / (n - k)))
    return q, chi2_survival(lags, q)


def runs_p(values: ArrayLike) -> float | None:
    """P-value of the number of runs above and below the median; None where one side is empty."""
    values = checked.series(values)
    middle = median(values)
    above = values[values != middle] > middle
    up, down = int(above.sum()), int((~above).sum())
    n = up + down
    if up == 0 or down == 0 or n < 4:
        return None
    runs = 1 + int(np.count_nonzero(above[1:] != above[:-1]))
    mean = 2 * up * down / n + 1
    variance = (mean - 1) * (mean - 2) / (n - 1)
    return 2 * normal_cdf(-max(0.0, abs(runs - mean) - 0.5) / math.sqrt(variance))


def _sentence(kind: Kind | None, copy: Copy | None, order: Order, n: int) -> Message:
    if copy is not None:
        return message(
            "{copy}: these are fewer than {n} independent trials", copy=copy_message(copy), n=n
        )
    if kind == "autocorrelation":
        return message(
            "trials are autocorrelated: {n} count as about {effective} independent ones "
            "(dependence time {tau}). Intervals that ignore it are {times} × too narrow",
            n=n,
            effective=round(n / order.tau),
            tau=order.tau,
            times=float(np.sqrt(order.tau)),
        )
    if kind is not None:
        return message("{said}: trials are not independent", said=period_message(order))
    if order.remembers or order.alternates or order.recurs:
        return message(
            "trials depend on earlier ones a little (dependence time {tau}), too little to "
            "matter for an interval",
            tau=order.tau,
        )
    return message(
        "no autocorrelation, period or copied stretch is shown{% if few %}, though so few "
        "would show only a strong one{% endif %}: each trial counts as one of {n}",
        few=n < 50,
        n=n,
    )


def copy_message(copy: Copy) -> Message:
    """Report a copied stretch: "trials 16 to 30 are a copy of trials 1 to 15"."""
    first, second = copy.first + 1, copy.second + 1
    return message(
        "trials {second} to {second_end} have exactly the values of trials {first} to {first_end}",
        first=first,
        first_end=first + copy.length - 1,
        second=second,
        second_end=second + copy.length - 1,
    )


def period_message(order: Order) -> Message:
    """Report an alternation or a period."""
    if order.kind == "alternation":
        return message(
            "high and low trials alternate (correlation of neighbours {correlation})",
            correlation=float(order.neighbours),
        )
    period = order.period
    share = Amount(float(period.share), "share")
    return message(
        "values recur every {period} trials, which explains {share} of their variance",
        period=Chosen(float(f"{period.period:.3g}"), "1"),
        share=share,
    )
