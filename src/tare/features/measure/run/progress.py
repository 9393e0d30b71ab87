"""What ``tare run`` shows while it measures: the figure that is to be known, as far as it is."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from tare import units
from tare.cli.console import err, seconds
from tare.cli.progress import Bar
from tare.experiment.findings.level_names import unit_of
from tare.experiment.metrics import ranked, tick
from tare.experiment.session import Outcome
from tare.experiment.specification import Cell, Stopping
from tare.statistics.interim_analysis import EARLY, FIRST_LOOK
from tare.statistics.statistic import FloatArray
from tare.units import chosen, percent, quantile_name

#: Columns below which the line leaves out what can be done without.
WIDE, NARROW = 90, 60


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
        super().__init__(bar=False, budget_s=stopping.budget_s)
        self._metric = metric
        self._unit = unit_of(metric)
        self._stopping = stopping
        #: Values of the good trials by source.
        self._values: dict[str, list[float]] = defaultdict(list)
        self._good = 0

    def planned(self, trials: int | None, seconds_left: float | None) -> None:
        """Take note of how many trials there will be; what is known stays in sight."""
        self._trials = trials

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Show what is known after one more trial."""
        self._silence()
        self.has_begun = True
        if outcome.status != "ok":
            super().ended(cell, outcome, done, seconds_left)
            return
        self._good += 1
        for source, value in outcome.values.items():
            self._values[source].append(value)
        if not self._is_due():
            return
        parts = [self._estimated()]
        if seconds_left is not None:
            self._advance(seconds_left)
            parts.append(f"{seconds(seconds_left)} left")
            if self._live:
                parts.append("Ctrl-C ends it")
        self._show(" · ".join(parts))

    def _estimated(self) -> str:
        """Return estimate and interval; before there is one, estimate and range."""
        from tare.statistics.watched import watched_interval

        source, values = self._series()
        if not len(values):
            return f"n = {self._good}"
        q = self._stopping.quantile
        name = "" if q == 0.5 else f"{quantile_name(q)} "
        found = watched_interval(values, q, tick(self._metric, source))
        reached = found.half_width
        if found.low is None or found.high is None or reached is None:
            ends = (found.estimate, float(values.min()), float(values.max()))
            value, low, high = units.amounts(self._unit, ends)
            extent = f", {low} – {high}" if len(values) > 1 and err.width >= NARROW else ""
            return f"{name}{value}{extent} · n = {self._count(len(values))}, no interval yet"
        value = units.interval(self._unit, found.estimate, found.low, found.high)
        if err.width < WIDE:
            value = value.partition(" [")[0]
        asked = self._stopping.trials is None and err.width >= NARROW
        of = f" (of {chosen(self._stopping.precision)})" if asked else ""
        return f"{name}{value} ±{percent(reached)}{of} · n = {self._count(len(values))}"

    def _count(self, n: int) -> str:
        """Return how many trials there are, and of how many where that is known."""
        wanted = self._stopping.trials or self._trials
        least = EARLY[0][0] if self._stopping.early else FIRST_LOOK
        if wanted is None and n < least:
            return f"{n} of at least {least}" if err.width >= WIDE else f"{n}"
        return f"{n}" if wanted is None else f"{n} of {wanted}"

    def _series(self) -> tuple[str | None, FloatArray]:
        """Return the best source that all trials have, and its values, as they are told at last."""
        common = [s for s, values in self._values.items() if len(values) == self._good]
        source = next(iter(ranked(self._metric, common)), None)
        return source, np.array([] if source is None else self._values[source])
