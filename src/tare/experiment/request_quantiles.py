"""How many requests a trial must have for a quantile of its response times: the one rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tare.experiment.metrics import DRIVER
from tare.results.message import Message, message

if TYPE_CHECKING:
    from tare.experiment.results import Results

#: Quantiles of response times, the furthest last, and their metrics.
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
METRICS = {name: f"response_{name.replace('.', '')}_ns" for name in QUANTILES}
#: Quantiles that every report has; the others are shown where a cell has enough requests.
USUAL = ("p50", "p95", "p99")
#: Requests of a trial that must be expected beyond a quantile: below, it rests on a few of them.
BEYOND = 10


def requests_needed(name: str) -> int:
    """Return how many requests a trial must have for a quantile of their response times."""
    return math.ceil(round(BEYOND / (1 - QUANTILES[name]), 6))


def known(requests: int) -> list[str]:
    """Return the quantiles for which a trial has enough requests."""
    return [name for name in QUANTILES if requests >= requests_needed(name)]


def few(metric: str, requests: int) -> Message | None:
    """Say that a metric is a quantile of too few requests; None: it is not.

    Parameters
    ----------
    metric : str
    requests : int
        Of a trial, median of trials.
    """
    name = next((name for name, own in METRICS.items() if own == metric), None)
    enough = known(requests)
    if name is None or name in enough:
        return None
    return message(
        "{name} needs {needs | counted('request')} a trial, and there were {requests}: make "
        "the load longer, or choose the metric {instead}",
        name=name,
        needs=requests_needed(name),
        requests=requests,
        instead=METRICS[enough[-1]] if enough else "response_mean_ns",
    )


def few_in(results: Results, metric: str) -> Message | None:
    """Say that a metric is a quantile of too few requests in any cell of an experiment."""
    if metric not in METRICS.values():
        return None
    by_cell = results.values("requests", DRIVER).groups("cell")
    counts = [float(np.median(rows["value"])) for _, rows in by_cell]
    return few(metric, int(min(counts))) if counts else None


def few_of(metric: str, requests: np.ndarray) -> Message | None:
    """Say that a metric is a quantile of too few requests in the trials that have so many."""
    return few(metric, int(np.median(requests))) if len(requests) else None
