"""What a session knows of its cells while it runs: counts, durations, values."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tare.experiment.metrics import ranked
from tare.experiment.session.budget import Budget
from tare.experiment.session.outcome import Outcome
from tare.experiment.session.resume_state import Past
from tare.experiment.specification import Cell, Experiment
from tare.experiment.time_limits import COUNTED, is_like
from tare.experiment.trial_times import Trial

#: Failures in a row after which a cell is given up: one in 1,000 sessions of a command that fails
#: half of the time begins with so many.
TRIES_IN_A_ROW = 10
#: The same where no trial of the cell, or of one of its levels, was good and the failure would
#: recur (a program that cannot be started), or the budget is spent.
TRIES = 3


class Tally:
    """Counts by cell; starts from what earlier sessions did."""

    def __init__(self, cells: Sequence[Cell], past: Past, metric: str) -> None:
        self._cells = cells
        self._metric = metric
        #: Trials with a value by cell, of all sessions.
        self.trials: dict[int, int] = {c.cell: past.good.get(c.cell, 0) for c in cells}
        self.done = 0
        self.stopped: set[int] = set()
        self.last_failure: str | None = None
        #: Trials of this session that failed, and how many of the last ones by cell.
        self._failures: dict[int, int] = defaultdict(int)
        self._in_a_row: dict[int, int] = defaultdict(int)
        #: Cells whose last failure may have been by chance.
        self._by_chance: set[int] = set()
        #: How long trials took, of all sessions.
        self._times = past.times
        self._times.begin_session()
        #: Trials of this session, and the seconds of rest before them.
        self._ended: dict[int, int] = defaultdict(int)
        self._rested_s: dict[int, float] = defaultdict(float)
        self._outcomes: dict[int, list[tuple[int, Outcome]]] = defaultdict(
            list,
            {
                cell: [
                    (block, Outcome("killed" if means is None else "ok", None, 0.0, means or {}))
                    for block, means in some
                ]
                for cell, some in past.values.items()
            },
        )

    def add(
        self,
        cell: int,
        block: int,
        outcome: Outcome,
        rested_s: float = 0.0,
        starts_s: float = 0.0,
    ) -> None:
        """Count a trial that ended, before which there was a rest, and which started instances."""
        self._rested_s[cell] += rested_s
        self._ended[cell] += 1
        self.done += 1
        good = outcome.status in COUNTED
        self._times.add(Trial(cell, outcome.seconds - starts_s, starts_s, good))
        if good:
            self.trials[cell] += 1
            self._in_a_row[cell] = 0
            self._outcomes[cell].append((block, outcome))
        else:
            self._failures[cell] += 1
            self._in_a_row[cell] += 1
            self.last_failure = outcome.reason
            self._by_chance -= {cell}
            self._by_chance |= {cell} if outcome.by_chance else set()

    @property
    def good(self) -> int:
        """Trials with a value of all cells and sessions."""
        return sum(self.trials.values())

    def where(self, cell: int) -> str:
        """Return the levels of a cell that are not the same in all cells."""
        given = self._cells[cell].levels()
        varied = {f for c in self._cells for f, v in c.levels().items() if given.get(f) != v}
        return ", ".join(f"{f} {v}" for f, v in given.items() if f in varied) or given["workload"]

    def wanting(self, cells: list[int], fixed: int | None) -> list[int]:
        """Return the cells that are to go on."""
        return [c for c in cells if c not in self.stopped and self.missing(c, fixed)]

    def missing(self, cell: int, fixed: int | None) -> float:
        """Return how many good trials a cell is short of, where so many are fixed for all."""
        own = self._cells[cell].workload.trials
        if fixed is None:
            return math.inf
        return max(0, min(fixed, fixed if own is None else own) - self.trials[cell])

    def hopeless(self, cells: list[int], *, is_over: bool = False) -> list[int]:
        """Return the cells to give up: those that keep failing, and levels that always fail.

        ``is_over``: the budget is spent, so failures that may be by chance get no more tries.
        """
        by_chance = TRIES if is_over else TRIES_IN_A_ROW
        given_up = {
            c
            for c in cells
            if self._in_a_row[c] >= (by_chance if self.trials[c] or c in self._by_chance else TRIES)
        }
        for factor, level in self._hopeless_levels(by_chance):
            given_up |= {c for c in cells if self._cells[c].levels()[factor] == level}
        return sorted(given_up)

    def _hopeless_levels(self, by_chance: int) -> list[tuple[str, str]]:
        tried: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, TRIES])
        for cell in self._cells:
            for key in cell.levels().items():
                tried[key][0] += self._failures[cell.cell]
                tried[key][1] += self.trials[cell.cell]
                if cell.cell in self._by_chance:
                    tried[key][2] = by_chance
        good_factors = {factor for (factor, _), (_, successes, _) in tried.items() if successes}
        return [
            (factor, level)
            for (factor, level), (failures, successes, tries) in tried.items()
            if failures >= tries and not successes and factor in good_factors
        ]

    def trials_s(self, missing: Mapping[int, float], experiment: Experiment) -> dict[int, float]:
        """Return how long so many more trials of cells take, with the rests before them."""
        fresh = experiment.fresh == "trial"
        found = self._times.left_s(self._cells, missing, fresh=fresh)
        return {c: s + missing[c] * self._rest_s(c, experiment) for c, s in found.items()}

    def _rest_s(self, cell: int, experiment: Experiment) -> float:
        """Return how long the rests before a cell's trials were in this session; at least asked."""
        count = self._ended[cell]
        return max(experiment.rest_s, self._rested_s[cell] / count if count else 0.0)

    def values(
        self, cells: list[int], metric: str | None = None
    ) -> dict[int, list[tuple[int, float]]]:
        """Return block and value of the trials with a value by cell, on the best common source.

        ``metric`` is one of the further metrics; without it, it is the experiment's own. Those of
        killed trials are infinite where the time limit bounds the metric, otherwise absent.
        """
        all_values: dict[int, list[tuple[int, dict[str, float] | None]]] = {
            c: [
                (
                    b,
                    None
                    if o.status == "killed"
                    else o.values
                    if metric is None
                    else o.also[metric],
                )
                for b, o in self._outcomes[c]
            ]
            for c in cells
        }
        sources = [set(v) for pairs in all_values.values() for _, v in pairs if v is not None]
        common = set.intersection(*sources) if sources else set()
        best = next(iter(ranked(metric or self._metric, common)), None)
        if best is None and (sources or not any(all_values.values())):
            return {}
        is_bounded = metric is None or is_like(metric, self._metric)
        return {
            c: [
                (block, math.inf if v is None else v[best or ""])
                for block, v in pairs
                if v is not None or is_bounded
            ]
            for c, pairs in all_values.items()
        }

    def seconds_left(self, experiment: Experiment, budget: Budget) -> float | None:
        """Return how long the session may still take; None where nothing bounds it."""
        bounds = [budget.left_s] if math.isfinite(budget.left_s) else []
        fixed = experiment.stopping.trials
        if fixed is not None:
            cells = self.wanting([cell.cell for cell in self._cells], fixed)
            missing = {cell: self.missing(cell, fixed) for cell in cells}
            bounds.append(sum(self.trials_s(missing, experiment).values()))
        return min(bounds) if bounds else None
