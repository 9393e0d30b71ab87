"""What ``tare run`` was asked to know: a quantile of each metric, and what is in the way of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tare.cli import output
from tare.experiment import Stopping
from tare.experiment_file.kinds import quantile_name
from tare.statistics.intervals import Interval
from tare.statistics.repetitions import Why, interval_at_stop, unsteady
from tare.statistics.statistic import FloatArray
from tare.statistics.watched import watched_interval


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
        What speaks against relying on it, as a word and in words; None: nothing.
    """

    metric: str
    source: str
    quantile: float
    interval: Interval
    why: Why | None
    refusal: str | None

    def sentence(self) -> str:
        """Return the line of the first screen that tells it."""
        i = self.interval
        amount = output.amounts(self.metric, i.estimate)[0]
        name = self.metric.removesuffix("_ns").removesuffix("_bytes").replace("_", " ")
        if i.low is None or i.high is None:
            return f"{amount}  {quantile_name(self.quantile)} of {name}, {i.refusal}"
        _, low, high = output.amounts(self.metric, i.estimate, i.low, i.high)
        return f"{amount}  {quantile_name(self.quantile)} of {name}, 95 % [{low}, {high}]"

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
            "method": self.interval.method,
            "why": self.why,
            "refusal": self.refusal,
        }


def know(
    metric: str, source: str, values: list[float], stopping: Stopping, *, by_hand: bool = False
) -> Known:
    """Work out how well the quantile that was asked for is known.

    Parameters
    ----------
    metric, source : str
        What the values are of.
    values : list of float
        Trial values in order of time.
    stopping : Stopping
        What was asked.
    by_hand : bool
        Whether somebody who watched it ended it.
    """
    series = np.array(values)
    found = interval(
        series, stopping.quantile, stopping, family=1 + len(stopping.also), by_hand=by_hand
    )
    why, refusal = unsteady(series, stopping.precision, stopping.quantile)
    return Known(metric, source, stopping.quantile, found, why, refusal)


def interval(
    series: FloatArray, quantile: float, stopping: Stopping, *, family: int = 1, by_hand: bool
) -> Interval:
    """Return the interval of a quantile that holds however the series ended."""
    if by_hand:
        return watched_interval(series, quantile)
    return interval_at_stop(
        series,
        quantile,
        anytime=stopping.anytime,
        family=family,
        fixed=stopping.trials is not None,
    )
