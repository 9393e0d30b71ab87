"""Cells of applications that serve: the load that was asked of each, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tare import workloads
from tare.errors import StoreError
from tare.experiment import request_quantiles
from tare.experiment.findings.cells import in_order
from tare.experiment.findings.level_names import where
from tare.experiment.metrics import DRIVER
from tare.experiment.request_quantiles import QUANTILES
from tare.experiment.results import Results
from tare.experiment.specification import Experiment
from tare.results.message import Levels
from tare.statistics.statistic import FloatArray
from tare.workloads import serving
from tare.workloads.serving import AskedLoad

#: What the trials of each cell say, by a short name.
METRICS = {
    "mean": "response_mean_ns",
    **request_quantiles.METRICS,
    "longest": "response_max_ns",
    "throughput": "request_throughput",
    "rate": "request_rate",
    "errors": "request_error_share",
    "requests": "requests",
    "late": "request_late_ns",
    "at_once": "requests_at_once",
    "cpus": "driver_cpus",
    "own_cpus": "driver_own_cpus",
}
#: A load generator that uses more of its CPUs may have been what requests waited for.
BUSY = 0.9
#: Share of the users of a closed load that wait at once where queueing makes its response times.
ALL_WAIT = 0.9
#: Share of the rate of an open load that is answered where requests do not pile up.
ALL_ANSWERED = 0.95


@dataclass(frozen=True)
class Driven:
    """What the trials of one cell came to.

    Attributes
    ----------
    levels : mapping
        Of all factors.
    asked : AskedLoad
    trials : tuple of int
        Good ones, in order.
    values : mapping
        Of each trial, by the names of :data:`METRICS`; what is not known of all is left out.
    """

    cell: int
    levels: Mapping[str, str]
    asked: AskedLoad
    trials: tuple[int, ...]
    values: Mapping[str, FloatArray]

    @property
    def n(self) -> int:
        """Good trials."""
        return len(self.trials)

    def median(self, name: str) -> float | None:
        """Return the median over trials; None: not known."""
        return float(np.median(self.values[name])) if name in self.values else None

    @property
    def failed(self) -> float:
        """The share of all requests that failed: a median would hide those of single trials."""
        requests = self.values["requests"]
        return float((self.values["errors"] * requests).sum() / requests.sum())

    @property
    def own_cpus(self) -> float | None:
        """CPUs of the load generator's own; 0: it shared the services'; None: not recorded."""
        return float(self.values["own_cpus"].min()) if "own_cpus" in self.values else None

    @property
    def shared(self) -> bool:
        """Whether the load generator shared CPUs with the services, as far as is known."""
        return self.own_cpus == 0

    @property
    def busy(self) -> bool:
        """Whether the load generator used nearly all of the CPUs that it had for itself."""
        own, used = self.own_cpus, self.median("cpus")
        return bool(own) and used is not None and used > BUSY * (own or 0)

    @property
    def unbusy(self) -> float | None:
        """Most users of a closed load that waited at once in any trial, where not all did in each.

        None where they all did, or it is not known.
        """
        at_once = self.values.get("at_once")
        if self.asked.is_open or not self.asked.amount or at_once is None:
            return None
        return float(at_once.max()) if at_once.min() < ALL_WAIT * self.asked.amount else None

    @property
    def queueing_ns(self) -> float | None:
        """Users by throughput: by Little's law the longest mean response time of a closed load.

        It is the mean where all users wait all the time. None where not all waited even at once.
        """
        throughput = self.median("throughput")
        if self.asked.is_open or not self.asked.amount or not throughput or self.unbusy:
            return None
        return self.asked.amount / throughput * 1e9

    @property
    def backlog(self) -> bool:
        """Whether an open load was more than was answered: requests piled up until it ended."""
        rate, answered = self.median("rate"), self.median("throughput")
        typical = self.median("p50")
        if not (self.asked.is_open and rate and answered and typical) or self.failed:
            return False
        last_s = self.requests / answered - self.requests / rate
        return answered < ALL_ANSWERED * rate and last_s * 1e9 > typical

    @property
    def requests(self) -> int:
        """Requests of a trial, median of trials."""
        return int(np.median(self.values["requests"]))

    @property
    def quantiles(self) -> list[str]:
        """Those for which a trial has enough requests."""
        return request_quantiles.known(self.requests)

    def known(self, name: str) -> float | None:
        """Return the median over trials, of the longest the longest of all trials.

        None also where it is a quantile of too few requests.
        """
        if name in QUANTILES and name not in self.quantiles:
            return None
        if name == "longest" and name in self.values:
            return float(self.values[name].max())
        return self.median(name)


def _check(values: Mapping[str, FloatArray]) -> None:
    """Raise StoreError where the values of a load are none that any load comes to."""
    known = {"requests", "errors"} <= values.keys()
    negative = any((found < 0).any() for found in values.values())
    if not known or negative or (values["requests"] < 1).any() or (values["errors"] > 1).any():
        raise StoreError(
            "the journal is damaged: numbers of requests, errors or times are absent or impossible",
            "restore the folder from a copy",
        )


@lru_cache(maxsize=4)
def driven(results: Results) -> tuple[Driven, ...]:
    """Return the cells of applications that serve, in the usual order; empty: there are none."""
    if not any(workload.serves for workload in results.experiment.workloads):
        return ()
    by_cell: dict[int, dict[str, FloatArray]] = {}
    trials: dict[int, tuple[int, ...]] = {}
    for name, metric in METRICS.items():
        for number, rows in results.values(metric, DRIVER).groups("cell"):
            if name == "mean":
                trials[number] = tuple(rows["trial"].tolist())
            if len(rows) == len(trials.get(number, ())):
                by_cell.setdefault(number, {})[name] = rows["value"]
    levels = {own["cell"]: own for own, _ in results.cells()}
    found = []
    for number in in_order(results):
        if number not in trials:
            continue
        _check(by_cell[number])
        own = {f: str(levels[number][f]) for f in results.factors}
        asked = load_asked(results.experiment, own, results.fact)
        found.append(Driven(number, own, asked, trials[number], by_cell[number]))
    return tuple(found)


def name_of(cell: Driven, results: Results) -> Levels:
    """Name a cell among the others: by its workload only where there are several."""
    levels = where(cell.levels, results.varied).levels
    if "workload" not in results.varied and len(levels) > 1:
        levels = {factor: level for factor, level in levels.items() if factor != "workload"}
    return Levels(levels)


def load_asked(
    experiment: Experiment, levels: Mapping[str, str], fact: Callable[[str], Any]
) -> AskedLoad:
    """Return the load of a cell as it was asked.

    Parameters
    ----------
    experiment : Experiment
    levels : mapping
        Of the cell, whose workload serves.
    fact : callable
        Returns a fact of the machine by its name; None: not known.
    """
    spec = next(w for w in experiment.workloads if w.name == levels["workload"])
    assert spec.application is not None
    assert spec.application.driver is not None
    driver = spec.application.driver
    given = _given(experiment, levels, fact)
    filled = {**given, **levels, **workloads.parameters(spec, levels, given)}
    try:
        return serving.asked(spec.application, filled)
    except ValueError:
        # A number that no run accepts; what it came to is known all the same.
        return AskedLoad(driver.load, None, None, None, driver.reached, None)


def _given(
    experiment: Experiment, levels: Mapping[str, str], fact: Callable[[str], Any]
) -> dict[str, str]:
    """Return what the size of a cell gives, or the machine has, as far as is known."""
    size = experiment.limits(levels.get("size", "all"))
    cores = min((n for n in (size.cores, size.cpuset) if n is not None), default=None)
    cores = fact("cpus") if cores is None else cores
    memory = size.memory_bytes or fact("memory_bytes")
    if cores is None or memory is None or "quota" in levels:
        return {}
    return workloads.given(float(cores), int(memory))
