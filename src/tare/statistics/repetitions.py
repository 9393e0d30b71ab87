"""When is it enough? The stopping rule, and what a number of trials reached."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from tare.registry import Description, Parameter
from tare.statistics.dependence import dependence_time, lag1
from tare.statistics.intervals import quantile_ranks, range_interval, trials_needed
from tare.statistics.statistic import FloatArray, Statistic

#: First look at a median; below it n is fixed beforehand. It is also the least number of
#: independent trials that a stop may rest on [without it AR(.9) at 1 % covered 88.2 %, with it
#: 95.4 %].
FIRST_LOOK = 50
#: Independent trials that must be expected beyond a quantile.
BEYOND = 10
#: Of the ranks at each look: what peeking costs is paid by asking for more than 95 %.
LOOK_CONFIDENCE = 0.975
#: Trials after which a series that still is not tight is given up.
CAP = 5000
_SPREAD_RESAMPLES = 499

#: Why a cell stops: it has what was asked; or at the cap it is still too wide, remembers too much,
#: drifts or jumps by more than the target; or, under ``anytime``, its trials are not exchangeable.
Reason = Literal["target", "cap", "remembers", "drifts", "ordered"]


@dataclass(frozen=True)
class Target:
    """What is asked of one series.

    Attributes
    ----------
    precision : float
        Relative half-width of the quantile's interval.
    quantile : float
        Between 0 and 1; the median by default.
    spread : float or None
        Half-width of the p10–p90 range's interval, in log units.
    cap : int
        Trials after which the series is given up.
    anytime : bool
        By the confidence sequence, for exchangeable trials only.
    family : int
        Intervals that have to hold together (Bonferroni): one for each metric.
    """

    precision: float
    quantile: float = 0.5
    spread: float | None = None
    cap: int = CAP
    anytime: bool = False
    family: int = 1


@dataclass(frozen=True)
class Decision:
    """What the rule says of one cell.

    Attributes
    ----------
    stop : bool
        Whether the cell has what it needs, or never will.
    reason : {"target", "cap", "remembers", "drifts", "ordered"} or None
        Why it stops.
    reached : float or None
        Relative half-width of the quantile's interval over all trials; None where there are
        too few.
    more_trials : int or None
        About how many trials the target still takes; None where it is met or cannot be said.
    refusal : str or None
        Why no target is called reached on this series, in words, where more than width is
        missing; also told while the cell goes on.
    """

    stop: bool
    reason: Reason | None = None
    reached: float | None = None
    more_trials: int | None = None
    refusal: str | None = None


@dataclass(frozen=True)
class Look:
    """What the rule sees at one size: whether it is enough, or how many trials it will take."""

    tight: bool
    projected: int


def first_look(quantile: float = 0.5) -> int:
    """Trials at the rule's first look at a quantile; where fewer fit, n is fixed beforehand."""
    return max(FIRST_LOOK, math.ceil(round(BEYOND / min(quantile, 1 - quantile), 6)))


def reached_precision(
    values: FloatArray, confidence: float = 0.95, quantile: float = 0.5
) -> float | None:
    """Relative half-width of a quantile's interval, widened for dependence from 50 trials on.

    Fewer trials are too few to estimate a dependence from: their ranks are the exact ones.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    confidence : float
        Of the order-statistic interval.
    quantile : float
        The median by default.

    Returns
    -------
    float or None
        None if there are too few trials for an interval.
    """
    n = len(values)
    if n < trials_needed(quantile, confidence):
        return None
    ranks = _ranks(values, confidence, quantile)
    middle = float(np.quantile(values, quantile))
    if ranks is None or middle == 0:
        return None
    ordered = np.sort(values)
    low, high = ordered[ranks[0] - 1], ordered[ranks[1] - 1]
    return float(max(high - middle, middle - low) / abs(middle))


def decide_cell(
    values: FloatArray,
    precision: float,
    spread: float | None = None,
    cap: int = CAP,
    *,
    quantile: float = 0.5,
    anytime: bool = False,
    family: int = 1,
) -> Decision:
    """Decide whether one cell has enough trials.

    The rule looks at the data at few sizes only: first at 50 trials, then where the last look
    projected the target, at least 1.1 and at most 2 times further. The sizes follow from the
    data alone, so that asking after every trial is the same as asking at the looks.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    precision : float
        Target: relative half-width of the quantile's interval.
    spread : float, optional
        Target for the interval of the p10–p90 range: its half-width in log units.
    cap : int
        Trials after which the cell is given up.
    quantile : float
        Which quantile the target is about; the median by default.
    anytime : bool
        Stop by a confidence sequence; refused where trials remember each other.
    family : int
        Metrics whose intervals have to hold together.

    Returns
    -------
    Decision

    Notes
    -----
    Simulated coverage of the median's interval at the stop, nominal 95 %: 94 to 99 % over
    normal, lognormal, bimodal, heavy-tailed and autocorrelated (up to .9) series.
    """
    target = Target(precision, quantile, spread, cap, anytime, family)
    n = len(values)
    reached = reached_precision(values, quantile=quantile)
    projected = _few_projection(values, reached, target)
    for size, look in looks(values, target):
        projected = max(look.projected, n + 1)
        if look.tight or size >= cap:
            return Decision(True, "target" if look.tight else "cap", reached)
    return Decision(False, None, reached, projected - n if projected > n else None)


def looks(values: FloatArray, target: Target) -> Iterator[tuple[int, Look]]:
    """Go over the sizes at which the rule looks at a series, up to its length or its stop."""
    size = first_look(target.quantile)
    while size <= len(values):
        look = _look(np.ascontiguousarray(values[:size], dtype=float).tobytes(), target)
        yield size, look
        if look.tight or size >= target.cap:
            return
        size = min(target.cap, int(np.clip(look.projected, math.ceil(1.1 * size), 2 * size)))


def decide(
    values: Mapping[int, Sequence[tuple[int, float]]],
    precision: float,
    spread: float | None = None,
    cap: int = CAP,
    *,
    quantile: float = 0.5,
    anytime: bool = False,
    family: int = 1,
) -> dict[int, Decision]:
    """Decide for every cell; blocks go on until all of them say stop.

    Parameters
    ----------
    values : mapping
        Cell to its trial values, each with the block that it belongs to, in order of time.
    precision, spread, cap, quantile, anytime, family
        As for :func:`decide_cell`.

    Returns
    -------
    dict
        Cell to decision.
    """
    return {
        cell: decide_cell(
            np.array([v for _, v in pairs], dtype=float), precision, spread, cap,
            quantile=quantile, anytime=anytime, family=family,
        )
        for cell, pairs in values.items()
    }  # fmt: skip


def together(decisions: Mapping[str, Decision]) -> Decision:
    """Put the decisions on several metrics of one cell together.

    Parameters
    ----------
    decisions : mapping
        Metric to decision, made with ``family`` the number of metrics.

    Returns
    -------
    Decision
        Stops where all stop, with the first reason that is not ``target``; what it reached is
        the widest of all, and what is missing the most that is missing.
    """
    if len(decisions) == 1:
        return next(iter(decisions.values()))
    all_of = list(decisions.values())
    reached = [d.reached for d in all_of]
    more = [d.more_trials for d in all_of if d.more_trials is not None]
    refusals = [f"{metric}: {d.refusal}" for metric, d in decisions.items() if d.refusal]
    refused: list[Reason] = [d.reason for d in all_of if d.reason not in (None, "target")]
    stop = all(d.stop for d in all_of)
    return Decision(
        stop=stop,
        reason=(refused[0] if refused else "target") if stop else None,
        reached=None if None in reached else max(r for r in reached if r is not None),
        more_trials=max(more) if more else None,
        refusal="; ".join(refusals) or None,
    )


def spread_target(margin: float) -> float:
    """Target for the spread's interval of one cell, in log units, given the margin of a ratio.

    Half the margin: two such cells give a ratio known to about 0.7 margins, so that equal cells
    are usually told to be.
    """
    return math.log1p(margin) / 2


def _few_projection(values: FloatArray, reached: float | None, target: Target) -> int:
    """Trials that both targets will take, before the first look: for an n fixed beforehand."""
    n = len(values)
    projected = _projection(n, reached, target.precision, first_look(target.quantile))
    if target.spread is not None:
        width = _spread_half_width(values, 1.0) if n else None
        wide = FIRST_LOOK if width is None else _projection(n, width, target.spread)
        projected = max(projected, wide)
    return projected


def _projection(n: int, half_width: float | None, target: float, least: int = FIRST_LOOK) -> int:
    if half_width is None or n == 0:
        return max(least, n + 1)
    return math.ceil(n * (half_width / target) ** 2)


@lru_cache(maxsize=4096)
def _look(data: bytes, target: Target) -> Look:
    """Evaluate the rule at one size; cached, since every later call passes here again."""
    values = np.frombuffer(data, dtype=float)
    n = len(values)
    tau = quantile_dependence_time(values, target.quantile)
    half = reached_precision(values, 1 - (1 - LOOK_CONFIDENCE) / target.family, target.quantile)
    floor = first_look(target.quantile)
    tight = half is not None and half <= target.precision and n / tau >= floor
    projected = max(_projection(n, half, target.precision), math.ceil(floor * tau))
    if half is None:
        projected = 2 * n
    if target.spread is not None:
        width = _spread_half_width(values, tau)
        tight = tight and width is not None and width <= target.spread
        more = 2 * n if width is None else _projection(n, width, target.spread)
        projected = max(projected, more)
    return Look(tight, projected)


def quantile_dependence_time(values: FloatArray, quantile: float = 0.5) -> float:
    """Dependence time for intervals of a quantile, padded for what a short series hides.

    The indicator of "at most the quantile" is looked at, since that is what ranks count. Where its
    neighbours correlate no more than by chance (1/√n), the time is 1; either way it is then
    multiplied by 1 + 8 time/n.
    """
    n = len(values)
    indicator = (values <= np.quantile(values, quantile)).astype(float)
    tau = dependence_time(indicator) if lag1(indicator) > 1 / np.sqrt(n) else 1.0
    return tau * (1 + 8 * tau / n)


def _spread_half_width(values: FloatArray, tau: float) -> float | None:
    interval = range_interval(values, resamples=_SPREAD_RESAMPLES)
    if interval.low is None or interval.high is None or interval.low <= 0:
        return 0.0 if interval.high == 0 else None
    return math.log(interval.high / interval.low) / 2 * math.sqrt(tau)


def _ranks(values: FloatArray, confidence: float, quantile: float) -> tuple[int, int] | None:
    few = len(values) < FIRST_LOOK
    widening = 1.0 if few else math.sqrt(quantile_dependence_time(values, quantile))
    return quantile_ranks(len(values), quantile, confidence, widening)


UNIT = Statistic(
    description=Description(
        name="repetitions",
        title="Stopping rule for quantiles, with dependence and few looks",
        question="How many trials are enough?",
        parameters=(
            Parameter(
                name="precision",
                meaning="relative half-width of the quantile's interval that is asked for",
                unit="1",
                default=0.02,
                minimum=0.0,
            ),
            Parameter(
                name="cap",
                meaning="trials after which a series is said to remember too much",
                default=CAP,
                minimum=FIRST_LOOK,
            ),
        ),
        source="chosen by simulation among seven rules; Geyer 1992 for the dependence",
    ),
    methods=(decide, decide_cell, reached_precision, spread_target),
)
