"""How well a quantile of a metric is known: the one place from which all outputs have it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from tare import units
from tare.experiment import metrics
from tare.experiment.findings.level_names import unit_of
from tare.experiment.specification import Stopping
from tare.render.words import text
from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.censored import interval_above
from tare.statistics.interim_analysis import Target
from tare.statistics.intervals import Interval, extremes_interval, p10_and_p90
from tare.statistics.series_intervals import interval_at_stop
from tare.statistics.statistic import FloatArray, median
from tare.statistics.stopping import Why, clock, unsteady
from tare.statistics.watched import watched_interval
from tare.units import quantile_name

#: Trials from which on a range of quantiles says something.
FEWEST_FOR_QUANTILES = 6


@dataclass(frozen=True)
class Known:
    """How well one quantile of one metric is known.

    Attributes
    ----------
    metric, source : str
        What, and where its values come from.
    quantile : float
        Which one.
    interval : Interval
        In the metric's unit.
    why, refusal
        What speaks against relying on it, as a word and as a sentence; None: nothing. ``few``:
        it is a quantile of too few requests.
    """

    metric: str
    source: str
    quantile: float
    interval: Interval
    why: Why | Literal["few"] | None
    refusal: Message | None
    #: Values that are only known to exceed a time limit.
    killed: int = 0

    @property
    def is_open(self) -> bool:
        """Whether values above a time limit leave it open how large the quantile is at most."""
        i = self.interval
        return math.isinf(i.estimate) or (i.high is not None and math.isinf(i.high))

    def __str__(self) -> str:
        """Return the figure as it stands in the terminal and on the page."""
        return figure(unit_of(self.metric), self.interval)

    @property
    def name(self) -> Message:
        """What it is: "median wall time"."""
        quantile = None if self.quantile == 0.5 else quantile_name(self.quantile)
        return message(
            "{% if quantile %}{quantile}{% else %}median{% endif %}"
            "{% if metric.startswith('response_') %} of the{% endif %} {metric | metric}",
            quantile=quantile,
            metric=self.metric,
        )

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` writes."""
        return {
            "metric": self.metric,
            "source": self.source,
            "quantile": self.quantile,
            "value": self.interval.estimate,
            "above": self.interval.above,
            "killed": self.killed,
            "low": self.interval.low,
            "high": self.interval.high,
            "reached": self.interval.half_width,
            "n": self.interval.n,
            "tick": self.interval.tick,
            "method": self.interval.method,
            "early": self.interval.early,
            "why": self.why,
            "refusal": self.refusal and text(self.refusal),
        }


def know(
    metric: str,
    source: str,
    values: FloatArray,
    stopping: Stopping,
    *,
    by_hand: bool,
    quantile: float | None = None,
    few: Message | None = None,
    above: FloatArray | None = None,
) -> Known:
    """Work out how well a quantile is known; by default the one that was asked for.

    Parameters
    ----------
    metric, source : str
        What the values are of.
    values : array, shape (n,)
        Trial values in order of time.
    stopping : Stopping
        What was asked.
    by_hand : bool
        Whether somebody who watched it ended it.
    quantile : float, optional
        Another than was asked for.
    few : Message, optional
        That the values are quantiles of too few requests.
    above : array, shape (n,), optional
        What infinite values are known to exceed.
    """
    wanted = stopping.quantile if quantile is None else quantile
    tick = metrics.tick(metric, source)
    found = interval(values, wanted, stopping, by_hand=by_hand, tick=tick, above=above)
    if few is not None:
        return Known(metric, source, wanted, found.refused(few), "few", few)
    # Values above a limit are at least the limit, which is enough to see a series change.
    least = values if above is None else np.where(np.isposinf(values), above, values)
    why, refusal = unsteady(least, stopping.precision, wanted)
    if why is None and len(values) >= FEWEST_FOR_QUANTILES:
        why, refusal = clock(least, Target(stopping.precision, wanted, tick=tick))
    killed = int(np.isposinf(values).sum())
    return Known(metric, source, wanted, found, why, refusal, killed)


def interval(
    values: FloatArray,
    quantile: float,
    stopping: Stopping,
    *,
    by_hand: bool,
    tick: float | None = None,
    above: FloatArray | None = None,
) -> Interval:
    """Return the interval of a quantile that holds however the series ended.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    quantile : float
    stopping : Stopping
        What was asked: all metrics of it have to hold together.
    by_hand : bool
        Whether somebody who watched it ended it.
    tick : float, optional
        What is known of the clock's tick; see :func:`tare.experiment.metrics.tick`.
    above : array, shape (n,), optional
        What infinite values are known to exceed.
    """
    how = partial(_interval, quantile=quantile, stopping=stopping, by_hand=by_hand)
    return how(values, tick) if above is None else interval_above(how, values, above, tick)


def _interval(
    values: FloatArray,
    tick: float | None,
    *,
    quantile: float,
    stopping: Stopping,
    by_hand: bool,
) -> Interval:
    # Who compares watches the ratio.
    if by_hand and stopping.compare is None:
        return watched_interval(values, quantile, tick)
    return interval_at_stop(
        values,
        quantile,
        anytime=stopping.anytime,
        # Of a comparison's metrics, nothing has to hold for all of them together.
        family=1 + len(stopping.also) if stopping.compare is None else 1,
        fixed=stopping.trials is not None,
        tick=tick,
        early=stopping.precision if stopping.early else None,
    )


def figure(unit: str, i: Interval) -> str:
    """Write an estimate, with its interval where it has one: ``41.2 ms [39.8, 43.0]``.

    Above a time limit it is ``> 98 ms``, and so may the upper bound be: ``60 ms [55, > 98]``.
    """
    return units.known(unit, i.estimate, i.low, i.high, i.above)


def amount(unit: str, i: Interval) -> Amount:
    """Give an estimate with its interval as part of a message."""
    return Amount.of(i.estimate, unit, i.low, i.high, i.above)


def median_cells(median: Interval) -> dict[str, Any]:
    """Lay out a median with its interval; what exceeds a time limit is None, next to the limit."""
    high = median.high
    is_open = high is not None and math.isinf(high)
    return {
        "median": None if math.isinf(median.estimate) else median.estimate,
        "median_low": median.low,
        "median_high": None if is_open else high,
        **({"median_above": median.above} if is_open else {}),
    }


def exceeded(known: Known) -> Message:
    """Count the runs that exceeded the time limit: "26 of 48 runs exceeded 60 ms"."""
    above = known.interval.above
    return message(
        "{killed} of {trials | counted('run')} exceeded {limit}",
        killed=known.killed,
        trials=known.interval.n,
        limit=None if above is None else Chosen(above, "ns"),
    )


def figure_of(unit: str, i: Interval, values: FloatArray) -> str:
    """Write a median with its interval; of 3 to 5 values with their extremes and the level."""
    extremes = extremes_interval(values) if i.low is None else None
    if extremes is None:
        return figure(unit, i)
    shown = figure(unit, replace(extremes, above=i.above))
    return f"{shown} ({units.chosen(extremes.confidence)})"


def relative_spread(values: FloatArray) -> float | None:
    """Divide the p10–p90 range by the median; None: too few values, or not known."""
    middle = median(values)
    if len(values) < FEWEST_FOR_QUANTILES or not middle:
        return None
    low, high = p10_and_p90(values)
    return (high - low) / middle if math.isfinite(high) else None
