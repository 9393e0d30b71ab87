"""How well a quantile of a metric is known: the one place from which all outputs have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tare import units
from tare.experiment import metrics
from tare.experiment.findings.level_names import unit_of
from tare.experiment.specification import Stopping
from tare.render.words import text
from tare.results.message import Message, message
from tare.statistics.interim_analysis import Target
from tare.statistics.intervals import Interval, p10_and_p90
from tare.statistics.series_intervals import interval_at_stop
from tare.statistics.statistic import FloatArray, median
from tare.statistics.stopping import Why, clock, unsteady
from tare.statistics.watched import watched_interval
from tare.units import percent, quantile_name

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

    def __str__(self) -> str:
        """Return the figure as it stands in the terminal and on the page."""
        return figure(unit_of(self.metric), self.interval)

    @property
    def name(self) -> Message:
        """What it is: "median wall time"."""
        quantile = None if self.quantile == 0.5 else quantile_name(self.quantile)
        return message("known.name", quantile=quantile, metric=self.metric)

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` writes."""
        return {
            "metric": self.metric,
            "source": self.source,
            "quantile": self.quantile,
            "value": self.interval.estimate,
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
    """
    wanted = stopping.quantile if quantile is None else quantile
    tick = metrics.tick(metric, source)
    found = interval(values, wanted, stopping, by_hand=by_hand, tick=tick)
    if few is not None:
        return Known(metric, source, wanted, found.refused(few), "few", few)
    why, refusal = unsteady(values, stopping.precision, wanted)
    if why is None and len(values) >= FEWEST_FOR_QUANTILES:
        why, refusal = clock(values, Target(stopping.precision, wanted, tick=tick))
    return Known(metric, source, wanted, found, why, refusal)


def interval(
    values: FloatArray,
    quantile: float,
    stopping: Stopping,
    *,
    by_hand: bool,
    tick: float | None = None,
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
    """
    # Who compares watches the ratio.
    if by_hand and stopping.compare is None:
        return watched_interval(values, quantile, tick)
    return interval_at_stop(
        values,
        quantile,
        anytime=stopping.anytime,
        family=1 + len(stopping.also),
        fixed=stopping.trials is not None,
        tick=tick,
        early=stopping.precision if stopping.early else None,
    )


def figure(unit: str, i: Interval) -> str:
    """Write an estimate, with its interval where it has one: ``41.2 ms [39.8, 43.0]``."""
    if i.low is None or i.high is None:
        return units.amount(unit, i.estimate)
    return units.interval(unit, i.estimate, i.low, i.high)


def relative_spread(values: FloatArray) -> str:
    """Write the p10–p90 range relative to the median; a dash for too few values."""
    middle = median(values)
    if len(values) < FEWEST_FOR_QUANTILES or not middle:
        return "–"
    low, high = p10_and_p90(values)
    return percent((high - low) / middle)
