"""How long an experiment takes here: from a few of its trials, all of them.

One cell of each level of each factor is executed twice, since the first trial of a cell finds cold
caches; then the one cell of the longest levels, which says whether levels add to the time of a
trial or multiply it. Where that says that all cells fit into seconds, or into a small part of what
the experiment takes, all of them are executed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from tare.experiment import journal
from tare.experiment.placement import Machine, placement
from tare.experiment.session.budget import for_measuring
from tare.experiment.session.pool import MOST_RESIDENT, keys_of
from tare.experiment.specification import Cell, Experiment, Stopping
from tare.experiment.trial_times import Reader, Trial, of_all_cells

if TYPE_CHECKING:
    from tare.experiment.findings.completeness import Failing

#: One trial of each cell is executed where that takes no longer, or no larger part of the
#: experiment, but two minutes at most.
ALL_S, ALL_SHARE, MOST_ALL_S = 15.0, 0.1, 120.0
#: Of cells that have every level, and of all.
FIRST = Stopping(trials=2, budget_s=180.0)
#: One block of all begins where it has some room to spare.
_ALL_ROOM = 1.5
#: So long it takes at most, but for one trial: the first cells, the longest one, then all.
MOST_S = 2 * 180.0 + _ALL_ROOM * MOST_ALL_S


K = TypeVar("K")


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """How long an experiment takes here, in seconds, as far as a few trials tell."""

    #: One trial of each cell, with the rests before them.
    block_s: float
    #: Instances that stay from the first block on: their starts and ends.
    starts_s: float
    #: What comes once: finding the repetitions, probing the machine, opening and closing.
    once_s: float
    #: Of that, the probes, which count towards a budget.
    probes_s: float = 0.0
    #: One trial of a cell, in the order of the cells.
    trials_s: tuple[float, ...] = ()
    #: Cells of which a trial was executed, and all.
    executed: int
    cells: int
    #: Levels of which no cell was, by factor: that they take as long as others is a guess.
    unknown: dict[str, tuple[str, ...]] = {}
    #: Good trials that there are, in the order of the cells; empty: of none there are any.
    done: tuple[int, ...] = ()
    #: Blocks that a cell takes no part in, in their order: its workload has fewer trials.
    skipped: tuple[int, ...] = ()
    #: Why trials failed, and what their commands wrote.
    failures: tuple[Failing, ...] = ()

    def measuring_s(self, blocks: int) -> float:
        """Return how long so many blocks take, less the trials of them that there are."""
        if not self.done and not any(self.skipped):
            return self.starts_s + blocks * self.block_s
        rest_s = (self.block_s - sum(self.trials_s)) / max(1, self.cells)
        left = self._left(blocks)
        trials_s = sum(n * (one + rest_s) for n, one in zip(left, self.trials_s, strict=True))
        return self.starts_s + trials_s if any(left) else 0.0

    def left(self, blocks: int) -> int:
        """Return how many trials are missing to so many blocks."""
        return sum(self._left(blocks))

    def _left(self, blocks: int) -> list[int]:
        none = (0,) * self.cells
        pairs = zip(self.done or none, self.skipped or none, strict=True)
        return [max(0, blocks - skipped - done) for done, skipped in pairs]

    def blocks(self, budget_s: float) -> int:
        """Return how many whole blocks there are, and a budget has room for.

        The first may be cut short.
        """
        left_s = for_measuring(budget_s, self.probes_s) - self.starts_s
        room = max(0, int(left_s / self.block_s)) if self.block_s else 0
        return room + min(self.done, default=0)

    def total_s(self, blocks: int | None, budget_s: float | None) -> float | None:
        """Return how long a session takes; None: neither blocks nor a budget bound it."""
        bounds = [] if blocks is None else [self.measuring_s(blocks)]
        if budget_s is not None:
            fitting = self.measuring_s(max(1, self.blocks(budget_s)))
            most_s = for_measuring(budget_s, self.probes_s)
            # Without a number of blocks, the precision that is reached decides when it is enough.
            bounds.append(most_s if blocks is None else min(most_s, fitting))
        return self.once_s + min(bounds) if bounds else None


def stopping_of_all(told: Forecast, stopping: Stopping) -> Stopping | None:
    """Return how all cells are to be executed for a better estimate; None: it takes too long."""
    total_s = told.total_s(stopping.trials, stopping.budget_s) or 0.0
    most_s = max(ALL_S, min(ALL_SHARE * total_s, MOST_ALL_S))
    if told.block_s > most_s:
        return None
    return Stopping(trials=4, budget_s=max(ALL_S, _ALL_ROOM * told.block_s))


class Took(NamedTuple):
    """What a session took, as its journal says."""

    trials: list[Trial]
    #: From the asking to the agent's hello, and from its end to its last trace, by platform.
    starts_s: dict[str, float]
    stops_s: dict[str, float]
    #: Which trials failed, and why.
    failures: tuple[Failing, ...] = ()


def first_cells(experiment: Experiment, cells: Sequence[Cell]) -> list[Cell]:
    """Choose cells that have every level of every factor, each beside levels of one base.

    Parameters
    ----------
    experiment : Experiment
        Says what is given to a cell: the base is given most, so that little time is spent.
    cells : sequence of Cell
        All that are to be executed.

    Returns
    -------
    list of Cell
        In their order.
    """
    base = max(cells, key=lambda c: (experiment.given_cores(c) or math.inf, -c.cell))
    levels = base.levels()

    def alike(cell: Cell) -> int:
        return sum(levels.get(name) == level for name, level in cell.levels().items())

    nearest: dict[tuple[str, str], Cell] = {}
    for cell in sorted(cells, key=alike):
        nearest |= dict.fromkeys(cell.levels().items(), cell)
    chosen = {cell.cell: cell for cell in (base, *nearest.values())}
    return [chosen[number] for number in sorted(chosen)]


def longest_cell(cells: Sequence[Cell], took: Took) -> Cell | None:
    """Choose the cell whose levels took longest where each stood alone; None: it was executed."""
    executed = {one.cell: one.seconds + one.starts_s for one in took.trials}
    alone: dict[tuple[str, str], float] = {}
    for cell in cells:
        if cell.cell in executed:
            for level in cell.levels().items():
                alone[level] = min(alone.get(level, math.inf), executed[cell.cell])

    def together(cell: Cell) -> float:
        return sum(alone.get(level, 0.0) for level in cell.levels().items())

    found = max(cells, key=together)
    return None if found.cell in executed else found


def read(lines: Iterable[journal.Line]) -> Took:
    """Return what the trials of a session took."""
    trials: list[Trial] = []
    reader = Reader()
    starts: defaultdict[str, list[float]] = defaultdict(list)
    stops: defaultdict[str, list[float]] = defaultdict(list)
    platforms: dict[str, str] = {}
    for line in lines:
        if (trial := reader.trial(line)) is not None:
            trials.append(trial)
        match line:
            case journal.InstanceStart():
                platforms[line.instance] = line.platform
                starts[line.platform].append(line.start_ns / 1e9)
            case journal.InstanceEnd() if line.instance in platforms:
                stops[platforms[line.instance]].append(line.stop_ns / 1e9)
    return Took(trials, _means(starts), _means(stops))


def spent_s(took: Took) -> float:
    """Return what trials and the starts and ends of instances took in all."""
    return sum(one.seconds + one.starts_s for one in took.trials) + sum(took.stops_s.values())


def forecast(
    experiment: Experiment,
    cells: Sequence[Cell],
    machine: Machine,
    sessions: Sequence[tuple[Took, float]],
    probes_s: float,
    done: tuple[int, ...] = (),
) -> Forecast:
    """Tell from some trials how long all take.

    Parameters
    ----------
    experiment : Experiment
        What is asked.
    cells : sequence of Cell
        All that are to be executed; the trials name them by their numbers.
    machine : Machine
        Where they are placed.
    sessions : sequence of (Took, float)
        What was executed, and how long each session took in all.
    probes_s : float
        Of the machine, before and after.
    done : tuple of int
        Good trials that there are, in the order of the cells.
    """
    fresh = experiment.fresh == "trial"
    executed: dict[int, float] = {}
    for took, _ in sessions:
        by_cell: defaultdict[int, list[float]] = defaultdict(list)
        good = {one.cell for one in took.trials if one.good}
        for one in took.trials:
            # What failed takes another time than what did not.
            if not one.good and one.cell in good:
                continue
            by_cell[one.cell].append(one.seconds + (one.starts_s if fresh else 0.0))
        # Of caches that are warm, as they are for most.
        executed |= _means({cell: some[1:] or some for cell, some in by_cell.items()})
    first, took_s = sessions[0]
    seconds = of_all_cells(cells, executed, {one.cell for one in first.trials})
    of_network_s = experiment.network.rest if experiment.networked else 0.0
    rest_s = experiment.rest_s + (0.0 if isinstance(of_network_s, str) else of_network_s)
    each_s = _together([took.starts_s for took, _ in sessions])
    for platform, stop_s in _together([took.stops_s for took, _ in sessions]).items():
        each_s[platform] = each_s.get(platform, 0.0) + stop_s
    placed = ((c, placement(experiment, c, machine)) for c in cells)
    keys = {key for cell, cpus in placed for key in keys_of(experiment, cell, cpus)}
    starts_s = 0.0 if fresh else sum(each_s.get(key.platform, 0.0) for key in keys)
    block_s = sum(seconds.values()) + rest_s * len(cells)
    if not fresh and len(keys) > MOST_RESIDENT:
        # They do not stay: nearly each trial starts its own.
        block_s, starts_s = block_s + starts_s, 0.0
    besides_s = took_s - rest_s * len(first.trials)
    besides_s -= spent_s(first) - (sum(first.stops_s.values()) if fresh else 0.0)
    return Forecast(
        block_s=block_s,
        starts_s=starts_s,
        once_s=max(0.0, besides_s) + probes_s,
        probes_s=probes_s,
        trials_s=tuple(seconds[cell.cell] for cell in cells),
        executed=len(executed),
        cells=len(cells),
        unknown=_unknown(cells, executed),
        done=done,
        skipped=tuple(
            (experiment.stopping.trials or 0) - (experiment.trials(cell.workload) or 0)
            for cell in cells
        ),
        failures=_by_reason(one for took, _ in sessions for one in took.failures),
    )


def _unknown(cells: Sequence[Cell], executed: Iterable[int]) -> dict[str, tuple[str, ...]]:
    """Return the levels of which no cell was executed, by factor."""
    known = set(executed)
    asked = dict.fromkeys(level for cell in cells for level in cell.levels().items())
    seen = {of for cell in cells if cell.cell in known for of in cell.levels().items()}
    missing: dict[str, tuple[str, ...]] = {}
    for factor, level in asked:
        if (factor, level) not in seen:
            missing[factor] = (*missing.get(factor, ()), level)
    return missing


def _by_reason(some: Iterable[Failing]) -> tuple[Failing, ...]:
    together: dict[str, Failing] = {}
    for one in some:
        cells = (*together.get(one.reason, one).cells, *one.cells)
        together[one.reason] = msgspec.structs.replace(one, cells=tuple(dict.fromkeys(cells)))
    return tuple(together.values())


def _means(values: Mapping[K, list[float]]) -> dict[K, float]:
    return {name: sum(some) / len(some) for name, some in values.items()}


def _together(some: Sequence[Mapping[str, float]]) -> dict[str, float]:
    merged: defaultdict[str, list[float]] = defaultdict(list)
    for one in some:
        for name, value in one.items():
            merged[name].append(value)
    return _means(merged)
