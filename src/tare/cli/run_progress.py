"""What ``tare run`` shows while it measures: the figure that is to be known, as far as it is."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from types import TracebackType

import numpy as np

from tare import units
from tare.cli.output import err, seconds
from tare.cli.progress import Bar
from tare.execute import Outcome
from tare.experiment import Cell, Stopping
from tare.experiment_file.kinds import quantile_name
from tare.findings.phrasing import unit_of
from tare.metrics import ranked
from tare.statistics.statistic import FloatArray

#: A trial that takes so long is announced while it runs.
LONG_S = 2.0


class RunBar(Bar):
    """Shows estimate and interval after every trial; a context manager.

    Parameters
    ----------
    metric : str
        What is to be known.
    stopping : Stopping
        Which quantile of it, how well, in which time.
    """

    def __init__(self, metric: str, stopping: Stopping) -> None:
        super().__init__(bar=False)
        self._metric = metric
        self._unit = unit_of(metric)
        self._stopping = stopping
        #: Values of the good trials by source.
        self._values: dict[str, list[float]] = defaultdict(list)
        self._good = 0
        self._announcement: threading.Timer | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._silence()
        super().__exit__(kind, error, trace)

    def begins(self) -> None:
        """Announce the first trial where it takes long: until it ends nothing else is known."""
        super().begins()
        budget_s = self._stopping.budget_s
        limit_s = LONG_S if budget_s is None else max(LONG_S, budget_s)
        longer = "" if budget_s is None else ", longer than the budget"
        self._announcement = threading.Timer(
            limit_s,
            err.print,
            [
                f"Note: the first trial still runs after {seconds(limit_s)}{longer}. It is not cut "
                "short: Ctrl-C ends it, or --timeout."
            ],
        )
        self._announcement.daemon = True
        self._announcement.start()

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Show what is known after one more trial."""
        self._silence()
        if outcome.status != "ok":
            super().ended(cell, outcome, done, seconds_left)
            return
        self._good += 1
        for source, value in outcome.values.items():
            self._values[source].append(value)
        if not self._is_due():
            return
        left = ""
        if seconds_left is not None:
            self._advance(seconds_left)
            ending = " · Enter ends it" if sys.stdin.isatty() else ""
            left = f" · {seconds(seconds_left)} left{ending}"
        self._show(f"{self._estimated()}{left}")

    def _estimated(self) -> str:
        """Return estimate and interval; before there is one, estimate and range."""
        from tare.statistics.watched import watched_interval

        values = self._series()
        if not len(values):
            return f"n = {self._good}"
        q = self._stopping.quantile
        name = "" if q == 0.5 else f"{quantile_name(q)} "
        found = watched_interval(values, q)
        if found.low is None or found.high is None:
            ends = (found.estimate, float(values.min()), float(values.max()))
            value, low, high = units.amounts(self._unit, ends)
            extent = f", {low} – {high}" if len(values) > 1 else ""
            return f"{name}{value}{extent} · n = {len(values)}, no interval yet"
        value = units.interval(self._unit, found.estimate, found.low, found.high)
        reached, target = found.half_width, self._stopping.precision
        known = "" if reached is None else f" ±{100 * reached:.2g} % (of {100 * target:.2g} %)"
        return f"{name}{value}{known} · n = {len(values)}"

    def _series(self) -> FloatArray:
        """Return the values on the best source that all trials have, as they are told at last."""
        common = [s for s, values in self._values.items() if len(values) == self._good]
        source = next(iter(ranked(self._metric, common)), None)
        return np.array([] if source is None else self._values[source])

    def _silence(self) -> None:
        if self._announcement is not None:
            self._announcement.cancel()
            self._announcement = None
