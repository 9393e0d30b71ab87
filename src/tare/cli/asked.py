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
        amount = _amounts(self.metric, i.estimate)[0]
        name = self.metric.removesuffix("_ns").removesuffix("_bytes").replace("_", " ")
        if i.low is None or i.high is None:
            return f"{amount}  {quantile_name(self.quantile)} of {name}, {i.refusal}"
        _, low, high = _amounts(self.metric, i.estimate, i.low, i.high)
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


def know(metric: str, source: str, values: list[float], stopping: Stopping) -> Known:
    """Work out how well the quantile that was asked for is known.

    Parameters
    ----------
    metric, source : str
        What the values are of.
    values : list of float
        Trial values in order of time.
    stopping : Stopping
        What was asked.
    """
    series = np.array(values)
    interval = interval_at_stop(
        series,
        stopping.quantile,
        anytime=stopping.anytime,
        family=1 + len(stopping.also),
        fixed=stopping.trials is not None,
    )
    why, refusal = unsteady(series, stopping.precision, stopping.quantile)
    return Known(metric, source, stopping.quantile, interval, why, refusal)


def _amounts(metric: str, *values: float) -> list[str]:
    if metric.endswith("_ns"):
        return output.nanoseconds(*values)
    if metric.endswith("_bytes"):
        return [output.size(value) for value in values]
    return [f"{value:.4g}" for value in values]
