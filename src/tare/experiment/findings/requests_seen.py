"""What the requests of all trials say that the trials' values do not: labels, tails, courses.

Millions of them are read once, one trial after another; what is kept of them has a bounded size.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from tare.applications.requests import failures, quantiles
from tare.experiment.findings.service_cells import Driven, driven
from tare.experiment.request_quantiles import QUANTILES
from tare.experiment.results import Results
from tare.render.escaping import on_one_line
from tare.results.columns import Columns, codes
from tare.statistics.statistic import FloatArray

#: Labels of a trial that are told apart; the most frequent ones.
MOST_LABELS = 30
#: Different errors that are kept, of all trials.
_MOST_ERRORS = 10_000
#: Buckets of a histogram are so much apart: quantiles are off by half of it at most.
_STEP = math.log(1.002)
#: Moments of a trial at most, requests that each should have of all trials, and how many buckets
#: are one there.
_MOST_MOMENTS, _FEWEST_MOMENTS, _EACH, _COARSE = 60, 10, 50, 10


@dataclass
class Histogram:
    """Response times of all trials of a cell, in buckets of equal ratio."""

    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    least_ns: float = math.inf
    most_ns: float = 0.0

    @property
    def n(self) -> int:
        """Requests."""
        return int(self.counts.sum())

    def add(self, response_ns: FloatArray) -> None:
        """Count some more."""
        found = np.bincount(_buckets(response_ns), minlength=len(self.counts))
        found[: len(self.counts)] += self.counts
        self.counts = found
        self.least_ns = min(self.least_ns, float(response_ns.min()))
        self.most_ns = max(self.most_ns, float(response_ns.max()))

    def quantiles(self, wanted: FloatArray) -> FloatArray:
        """Return the least response time that so large a share of the requests does not exceed."""
        ranks = np.clip(np.ceil(wanted * self.n), 1, self.n)
        found = np.exp((np.searchsorted(np.cumsum(self.counts), ranks) + 0.5) * _STEP)
        found[ranks == self.n] = self.most_ns
        clipped: FloatArray = np.clip(found, self.least_ns, self.most_ns)
        return clipped


def _buckets(response_ns: FloatArray) -> np.ndarray:
    found: np.ndarray = (np.log(np.maximum(response_ns, 1.0)) / _STEP).astype(np.int64)
    return found


@dataclass
class Course:
    """Response times by the moment of a trial at which requests were to start."""

    width_ns: float
    counts: np.ndarray
    most_ns: np.ndarray

    @classmethod
    def of(cls, moments: int, whole_ns: float) -> Course:
        """Return an empty one of so many moments."""
        width_ns = max(1.0, whole_ns / moments * (1 + 1e-9))
        return cls(width_ns, np.zeros((moments, 0), dtype=np.int64), np.zeros(moments))

    @property
    def moments(self) -> int:
        """How many there are."""
        return len(self.most_ns)

    def add(self, after_ns: FloatArray, response_ns: FloatArray) -> None:
        """Count some more; what starts later than all of the first trial is of its last moment."""
        at = np.minimum((after_ns / self.width_ns).astype(np.int64), self.moments - 1)
        which = _buckets(response_ns) // _COARSE
        columns = max(int(which.max()) + 1, self.counts.shape[1])
        found = np.bincount(at * columns + which, minlength=self.moments * columns)
        found = found.reshape(self.moments, columns)
        found[:, : self.counts.shape[1]] += self.counts
        self.counts = found
        np.maximum.at(self.most_ns, at, response_ns)

    def quantile(self, wanted: float, fewest: int = 1) -> FloatArray:
        """Return a quantile at each moment; NaN where too few requests were to start."""
        total = self.counts.sum(axis=1)
        rank = np.maximum(1, np.ceil(wanted * total))
        which = (np.cumsum(self.counts, axis=1) < rank[:, None]).sum(axis=1)
        found: FloatArray = np.minimum(np.exp((which + 0.5) * _COARSE * _STEP), self.most_ns)
        found[total < fewest] = np.nan
        return found


@dataclass
class Label:
    """The requests of one kind, of one cell: a value a trial."""

    requests: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    mean_ns: list[float] = field(default_factory=list)
    #: Of each trial, those of :data:`~tare.experiment.request_quantiles.QUANTILES`.
    quantiles_ns: list[FloatArray] = field(default_factory=list)
    least_ns: list[float] = field(default_factory=list)
    most_ns: list[float] = field(default_factory=list)
    #: Standard deviation over the requests of a trial, as of a population.
    sd_ns: list[float] = field(default_factory=list)
    #: From the first start to the last end of a trial.
    span_s: list[float] = field(default_factory=list)
    #: Received bytes; NaN where they are not known of all requests.
    bytes: list[float] = field(default_factory=list)

    def add(self, rows: Columns, response_ns: FloatArray) -> None:
        """Add the requests of one trial, of which there is at least one."""
        end_ns = rows["start_ns"] + rows["duration_ns"]
        self.requests.append(len(rows))
        self.failed.append(int(failures(rows).sum()))
        self.mean_ns.append(float(response_ns.mean()))
        self.quantiles_ns.append(quantiles(response_ns, [*QUANTILES.values()]))
        self.least_ns.append(float(response_ns.min()))
        self.most_ns.append(float(response_ns.max()))
        self.sd_ns.append(float(response_ns.std()))
        self.span_s.append((int(end_ns.max()) - int(rows["start_ns"].min())) / 1e9)
        self.bytes.append(float(rows["bytes"].sum()))


@dataclass
class Seen:
    """What was read.

    Attributes
    ----------
    labels : dict
        By cell and label, the most frequent ones of each trial.
    totals : dict
        By cell, all labels together.
    histograms, courses : dict
        By cell.
    errors : Counter
        Why requests failed.
    lost : dict
        Trials whose requests cannot be read, and why.
    """

    labels: dict[int, dict[str, Label]] = field(default_factory=dict)
    totals: dict[int, Label] = field(default_factory=dict)
    histograms: dict[int, Histogram] = field(default_factory=dict)
    courses: dict[int, Course] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    lost: dict[int, str] = field(default_factory=dict)
    more_labels: bool = False


@lru_cache(maxsize=2)
def seen(results: Results) -> Seen:
    """Read the requests of all good trials; nothing where results have none of their own."""
    found = Seen()
    if results.request_files is None:
        return found
    cells = {trial: cell for cell in driven(results) for trial in cell.trials}
    counts = {trial: n for trial, n in results.request_counts().items() if trial in cells}
    for rows in results.request_files.each(counts, found.lost):
        _add(found, cells[int(rows["trial"][0])], rows)
    return found


def _add(found: Seen, cell: Driven, rows: Columns) -> None:
    response = rows["response_ns"].astype(float)
    after = (rows["intended_ns"] - rows["intended_ns"][0]).astype(float)
    found.histograms.setdefault(cell.cell, Histogram()).add(response)
    if cell.cell not in found.courses:
        many = int(np.clip(cell.values["requests"].sum() / _EACH, _FEWEST_MOMENTS, _MOST_MOMENTS))
        found.courses[cell.cell] = Course.of(many, float(after.max()))
    found.courses[cell.cell].add(after, response)
    for error, times in Counter(rows["error"].tolist()).items():
        if error is not None:
            found.errors[on_one_line(error)] += times
    if len(found.errors) > 2 * _MOST_ERRORS:
        found.errors = Counter(dict(found.errors.most_common(_MOST_ERRORS)))
    found.totals.setdefault(cell.cell, Label()).add(rows, response)
    of_rows, labels = codes(rows["label"])
    by_size = np.argsort(-np.bincount(of_rows, minlength=len(labels)), kind="stable")
    found.more_labels |= len(labels) > MOST_LABELS
    of_cell = found.labels.setdefault(cell.cell, {})
    for kind in by_size[:MOST_LABELS]:
        mine = of_rows == kind
        label = of_cell.setdefault(on_one_line(labels[kind]), Label())
        label.add(rows.rows(mine), response[mine])


def names(found: Mapping[int, Mapping[str, Label]]) -> list[str]:
    """Return all labels, the most frequent first."""
    total: Counter[str] = Counter()
    for labels in found.values():
        for name, label in labels.items():
            total[name] += sum(label.requests)
    return [name for name, _ in total.most_common()]
