"""Executions of each cell relative to their true values, which a limit is to be judged by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from tare.experiment import plan
from tare.experiment.findings import phrases
from tare.experiment.findings.cells import Basis, basis_of, in_order
from tare.experiment.findings.level_names import where
from tare.experiment.results import Results
from tare.experiment.specification import KNOWN_FACTORS, Limit
from tare.results.columns import Columns, is_in
from tare.results.message import Levels, Message, message
from tare.statistics.misjudgement import Shares, shares_above
from tare.statistics.statistic import FloatArray

#: With which power of the true value what disturbs may grow, the likeliest first: in proportion, as
#: where a CPU is shared all the time; not at all, as what a start takes; with its square, as a
#: longer program meets more of others, and each for longer. [2,000 runs of five programs beside
#: others, each predicted from each other: 318 of 336 shares; without the last, 283. The square was
#: chosen on these runs, of powers from 1.5 to 3. In 2,000 new ones: 479 of 480, without it 467.]
GROWTH = (1, 0, 2)


class Executions(NamedTuple):
    """A cell's executions: of each trial, in order of time, those of all workers and iterations."""

    trials: tuple[int, ...]
    #: Shape (n, k).
    values: FloatArray

    def of(self, trials: Iterable[int]) -> FloatArray:
        """Return the values of some of the trials, in their order."""
        places = {trial: place for place, trial in enumerate(self.trials)}
        return self.values[[places[trial] for trial in trials]]


@dataclass(frozen=True, eq=False)
class LimitCell:
    """One cell.

    Attributes
    ----------
    levels : mapping
        Of all factors, ``workload`` first.
    values : array, shape (n, k)
        In the metric's unit: a row a trial in order of time, a column a worker and iteration;
        infinite: stopped, for it took more than it was given.
    true : array, shape (n, k)
        What each would be where nothing disturbs.
    quietest : Levels or None
        The cell whose median is taken for true; None: the program tells it.
    trials : tuple of int
    """

    levels: Mapping[str, str]
    values: FloatArray
    true: FloatArray
    quietest: Levels | None
    trials: tuple[int, ...]

    @cached_property
    def ratios(self) -> FloatArray:
        """Values relative to the true ones, shape (n, k)."""
        return np.asarray(self.values / self.true)

    @property
    def n(self) -> int:
        """Trials."""
        return len(self.values)

    @property
    def true_value(self) -> float:
        """The true value; the median where each execution has its own."""
        return float(np.median(self.true))

    def over(self, limit: float) -> Shares:
        """Return the share of executions over a limit, one element."""
        return shares_above(self.values, np.array([limit]))

    def over_at(self, true: FloatArray, limit: float) -> tuple[Shares, ...]:
        """Return the shares of runs over a limit, for programs of some true values.

        One for each of GROWTH; all are the same at this cell's own true value.
        """
        added = self.values - self.true
        return tuple(
            shares_above(added / self.true**power, (limit - true) / true**power) for power in GROWTH
        )

    @property
    def setting(self) -> dict[str, str]:
        """What surrounds the program: the levels of factors that tare sets."""
        return {f: level for f, level in self.levels.items() if f in KNOWN_FACTORS}


@dataclass(frozen=True, eq=False)
class LimitCells:
    """All cells that have good trials, as the experiment has their levels, for one limit."""

    limit: Limit
    basis: Basis
    all: tuple[LimitCell, ...]


def metric_of(limit: Limit, results: Results) -> str:
    """Return the metric that a limit is of."""
    kernels = all(workload.kernel for workload in results.experiment.workloads)
    match limit.of:
        case "cpu":
            return "kernel_cpu_ns" if kernels else "cpu_ns"
        case "wall":
            return "kernel_wall_ns" if kernels else "wall_ns"
        case "memory":
            return "memory_bytes"
        case None:
            return plan.metric(results.experiment)


@lru_cache(maxsize=4)
def limit_cells(results: Results) -> tuple[LimitCells | Message, ...]:
    """Return the cells for each limit of the experiment, or why there are none."""
    return tuple(_of_limit(limit, results) for limit in results.experiment.limit)


def _of_limit(limit: Limit, results: Results) -> LimitCells | Message:
    basis = basis_of(results, metric_of(limit, results))
    if isinstance(basis, Message):
        return basis
    if (basis.unit == "bytes") != (limit.of == "memory") or basis.unit not in ("ns", "bytes"):
        return message(
            "the limit is a time, and the answers are about {metric | metric}: ask with "
            "cpu=, wall= or memory=",
            metric=basis.metric,
        )
    tables = _executions(results, basis)
    levels = {cell: _levels(results, cell) for cell in tables}
    true: dict[int, FloatArray]
    quietest: dict[tuple[str, ...], int] = {}
    if results.experiment.true_time is not None and basis.unit == "ns":
        own = basis_of(results, results.experiment.true_time)
        if isinstance(own, Message):
            return own
        told = _executions(results, own)
        # Only executions of which the program has told its own time.
        tables = {cell: _only(table, told[cell].trials) for cell, table in tables.items()}
        true = {cell: told[cell].of(table.trials) for cell, table in tables.items()}
    else:
        middles = {cell: float(np.median(table.values)) for cell, table in tables.items()}
        # By the mean: what disturbs now and then moves no median.
        means = {cell: float(np.mean(table.values)) for cell, table in tables.items()}
        for cell, mean in means.items():
            program = _program(levels[cell])
            if program not in quietest or mean < means[quietest[program]]:
                quietest[program] = cell
        true = {
            cell: np.full(table.values.shape, middles[quietest[_program(levels[cell])]])
            for cell, table in tables.items()
        }
    if any((of_cell <= 0).any() for of_cell in true.values()):
        return message(
            "{metric | metric} is zero in some executions: no ratio to the true value exists",
            metric=basis.metric,
        )
    stopped = _stopped(results, basis.metric)
    found = []
    for cell, table in tables.items():
        if not table.trials:
            continue
        quiet = quietest.get(_program(levels[cell]))
        # What was stopped took more than it was given.
        gone = stopped.get(cell, [])
        order = np.argsort([*table.trials, *gone], kind="stable")
        more = np.full((len(gone), table.values.shape[1]), np.inf)
        middle = np.full(more.shape, float(np.median(true[cell])))
        found.append(
            LimitCell(
                levels=levels[cell],
                values=np.concatenate([table.values, more])[order],
                true=np.concatenate([true[cell], middle])[order],
                quietest=None if quiet is None else where(levels[quiet], results.varied),
                trials=tuple(np.array([*table.trials, *gone])[order].tolist()),
            )
        )
    return LimitCells(limit, basis, tuple(found)) if found else message(phrases.NONE_GOOD)


def _executions(results: Results, basis: Basis) -> dict[int, Executions]:
    """Return each cell's executions in good trials; emulated platforms are no measure."""
    kept = results.good.rows(~is_in(results.good["platform"], results.emulated))
    rows = results.sample_table.of(basis.metric, basis.source).joined(
        kept.only("trial", "cell"), "trial"
    )
    rows = rows.with_columns(
        worker=np.nan_to_num(rows["worker"]), iteration=np.nan_to_num(rows["iteration"])
    )
    tables = {cell: _executions_of(own) for cell, own in rows.groups("cell")}
    return {cell: tables[cell] for cell in in_order(results) if cell in tables}


def _executions_of(rows: Columns) -> Executions:
    """Lay out one cell; a trial that lacks an execution of others is left out."""
    trial, execution = rows.group_numbers("trial"), rows.group_numbers("worker", "iteration")
    table = np.full((trial.max() + 1, execution.max() + 1), np.nan)
    table[trial, execution] = rows["value"]
    whole = ~np.isnan(table).any(axis=1)
    trials = np.unique(rows["trial"])[whole]
    return Executions(tuple(trials.tolist()), table[whole])


def _only(table: Executions, trials: Collection[int]) -> Executions:
    kept = tuple(trial for trial in table.trials if trial in set(trials))
    return Executions(kept, table.of(kept))


def _stopped(results: Results, metric: str) -> dict[int, list[int]]:
    """Return each cell's trials that were stopped because they took more than they were given."""
    kinds = ("memory", "out_of_memory"), ("cpu", "cpu_time"), ("wall", "timeout")
    kind = next((kind for part, kind in kinds if part in metric), None)
    stopped = set() if kind is None else set(results.faults.where(kind=kind)["trial"].tolist())
    gone = results.trial_table.where(status="failed", trial=stopped)
    return {cell: own["trial"].tolist() for cell, own in gone.groups("cell")}


def _levels(results: Results, cell: int) -> dict[str, str]:
    row = results.trial_table.where(cell=cell)
    return {factor: str(row[factor][0]) for factor in results.factors}


def _program(levels: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is measured in all settings: the workload, and the user's own factors."""
    return tuple(level for factor, level in levels.items() if factor not in KNOWN_FACTORS)
