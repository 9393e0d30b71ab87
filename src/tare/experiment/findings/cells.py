"""The values that findings compare: one source for all cells, common blocks for each pair."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tare.experiment import metrics, plan, request_quantiles
from tare.experiment.findings import known, phrases
from tare.experiment.findings.level_names import unit_of
from tare.experiment.metrics import RATES
from tare.experiment.results import REFERENCES, STATUSES, Results, mean_by
from tare.experiment.specification import Stopping
from tare.render import vocabulary
from tare.render.vocabulary import Words
from tare.results.columns import Columns
from tare.results.message import Message, message
from tare.statistics.censored import at_least
from tare.statistics.intervals import Interval
from tare.statistics.shift import has_ratio, pair_dependence
from tare.statistics.sides import Sides
from tare.statistics.spread import SpreadComparison, adjust_spreads, compare_spreads
from tare.statistics.statistic import FloatArray

IntArray = NDArray[np.int_]

#: Common blocks below which imported trials are compared as unpaired ones.
FEWEST_COMMON = 6
#: Words for verdicts on imported values, by whether lower ones are better; None: not known.
IMPORTED_WORDS = {True: vocabulary.TIMES, False: vocabulary.RATES, None: vocabulary.VALUES}


@dataclass(frozen=True)
class Basis:
    """The metric and the source that values are taken from."""

    metric: str
    source: str
    #: Of times and sizes, less is.
    more_is_better: bool = False
    #: Unit of values that another tool measured, and what verdicts on them are called.
    imported_unit: str | None = None
    imported_words: Words | None = None

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return unit_of(self.metric) if self.imported_unit is None else self.imported_unit

    @property
    def tick(self) -> float | None:
        """What is known of the clock's tick."""
        return metrics.tick(self.metric, self.source)

    def __str__(self) -> str:
        return f"{self.metric} ({self.source})"


@dataclass(frozen=True)
class Pair:
    """Two cells that differ in one factor only, with the values of their common blocks.

    Attributes
    ----------
    factor, reference, level : str
        What is compared with what.
    levels : mapping
        Levels of all other factors.
    first, second : array, shape (n, workers)
        Values of each worker (mean over its iterations); the first is the reference's.
    trials : tuple of int
        Trials behind both.
    seconds : float
        What one more block of the two would take.
    sessions : array of int, shape (n,)
        Session of each common block.
    row_trials : (array of int, array of int), each of shape (n,)
        The trial of each in these blocks.
    above : (array, array), each of shape (n,)
        What the trial's value is known to exceed where it is infinite: the trial was killed at a
        time limit; NaN elsewhere.
    levels_of : int or None
        Session that levels are taken from; None: all.
    """

    factor: str
    reference: str
    level: str
    levels: Mapping[str, str]
    first: FloatArray
    second: FloatArray
    trials: tuple[int, ...]
    seconds: float
    sessions: IntArray
    row_trials: tuple[IntArray, IntArray]
    above: tuple[FloatArray, FloatArray]
    levels_of: int | None = None
    #: Known ticks of the clock of both.
    ticks: tuple[float | None, float | None] = (None, None)
    #: Whether another tool measured both.
    imported: bool = False
    #: Dependence time of the trials, where each row is a trial as there are no common blocks;
    #: None: each row is a common block.
    dependence: float | None = None

    @property
    def compared_levels(self) -> dict[str, str]:
        """Levels of the second cell, of all factors."""
        return {**self.levels, self.factor: self.level}

    @property
    def sides(self) -> Sides:
        """The trial values as they are compared."""
        return Sides(
            *self.trial_values,
            limits=self.above,
            paired=self.dependence is None,
            dependence=self._block_dependence if self.dependence is None else self.dependence,
            tick=self.ticks,
        )

    @property
    def _block_dependence(self) -> float | None:
        """Blocks that are worth one independent block; None where their order was randomised.

        Where the two had the blocks in another order, either order may be what makes neighbouring
        differences alike.
        """
        if not self.imported:
            return None
        first, second = map(at_least, self.trial_values, self.above)
        orders = (np.argsort(trials) for trials in self.row_trials)
        return max(pair_dependence(first[order], second[order]) for order in orders)

    @property
    def n(self) -> int:
        """Common blocks."""
        return len(self.first)

    @property
    def within_sessions(self) -> tuple[FloatArray, FloatArray]:
        """Values from which a change of the machine between sessions is taken out.

        Where levels are those of one session, each session of each cell is scaled to the median of
        that one: what differs between sessions is the machine's, not the cell's spread.
        """
        if self.levels_of is None:
            return self.first, self.second
        return self._scaled(self.first), self._scaled(self.second)

    @property
    def level_rows(self) -> NDArray[np.bool_]:
        """Common blocks that levels are taken from; all where these two have none in that one."""
        rows = self.sessions == self.levels_of
        return rows if rows.any() else np.ones(self.n, dtype=bool)

    def _scaled(self, values: FloatArray) -> FloatArray:
        level, scaled = np.median(values[self.level_rows]), values.copy()
        for session in np.unique(self.sessions):
            rows = self.sessions == session
            own = np.median(values[rows])
            if own > 0 and level > 0:
                scaled[rows] *= level / own
        return scaled

    @property
    def trial_values(self) -> tuple[FloatArray, FloatArray]:
        """Value of each trial: the mean over its workers."""
        return self.first.mean(axis=1), self.second.mean(axis=1)

    @property
    def has_ratio(self) -> bool:
        """Whether all values of both are above zero."""
        sides = zip((self.first, self.second), self.above, strict=True)
        return has_ratio(*(np.where(np.isposinf(x), above[:, None], x) for x, above in sides))

    @property
    def killed(self) -> tuple[int, int]:
        """Trials of both that were killed at a time limit."""
        first, second = (int(np.isfinite(above).sum()) for above in self.above)
        return first, second


@dataclass(frozen=True)
class Cell:
    """One cell's values.

    Attributes
    ----------
    workers : array, shape (n, workers)
        Of each trial and worker (mean over its iterations), by session and block.
        Infinite: it was killed at a time limit.
    above : array, shape (n,)
        What the value of a killed trial is known to exceed; NaN elsewhere.
    sessions, blocks, row_trials : array of int, shape (n,)
        Session, block and trial of each row.
    trials : tuple of int
        Trials with a value.
    """

    cell: int
    levels: Mapping[str, str]
    workers: FloatArray
    above: FloatArray
    sessions: IntArray
    blocks: IntArray
    row_trials: IntArray
    trials: tuple[int, ...]
    #: What one more trial would take.
    seconds: float
    #: SD between the iterations of one worker in one trial; None where there is one only.
    within: float | None
    stopping: Stopping
    #: Whether somebody who watched ended it.
    by_hand: bool
    #: What is known of the clock's tick.
    tick: float | None

    @property
    def median(self) -> Interval:
        """Median of the trial values, with the interval that holds in spite of the looks."""
        return known.interval(
            self.trial_values, 0.5, self.stopping, by_hand=self.by_hand, tick=self.tick,
            above=self.above,
        )  # fmt: skip

    @property
    def killed(self) -> int:
        """Trials that were killed at a time limit."""
        return int(np.isfinite(self.above).sum())

    @property
    def n(self) -> int:
        """Trials with a value, if only one above a limit."""
        return len(self.workers)

    def common(self, other: Cell) -> tuple[IntArray, IntArray]:
        """Return the rows of this cell and of another one that are of the same blocks."""
        places = {key: row for row, key in enumerate(other.keys)}
        both = [(own, places[key]) for own, key in enumerate(self.keys) if key in places]
        first, second = np.array(both, dtype=np.int_).reshape(-1, 2).T
        return first, second

    @property
    def keys(self) -> list[tuple[int, int]]:
        """Session and block of each row."""
        return [*zip(self.sessions.tolist(), self.blocks.tolist(), strict=True)]

    @property
    def trial_values(self) -> FloatArray:
        """Value of each trial, shape (n,); infinite above a time limit."""
        return np.asarray(self.workers.mean(axis=1))

    @property
    def least_values(self) -> FloatArray:
        """The same with the limit in place of what is above it: never larger than the true ones."""
        return np.where(np.isposinf(self.trial_values), self.above, self.trial_values)


class Cells:
    """All cells of an experiment on one basis.

    Parameters
    ----------
    results : Results
        The experiment.
    basis : Basis
        What is compared; see :func:`basis_of`.
    """

    def __init__(self, results: Results, basis: Basis) -> None:
        self.results = results
        self.basis = basis
        self.factors = results.factors
        self.varied = results.varied
        paired = results.imported is None or results.imported.paired
        #: What two cells are compared by.
        self.rows = "common blocks" if paired else "trials"

    @cached_property
    def all(self) -> list[Cell]:
        """Every cell that has a trial with a value, in the order of :func:`in_order`."""
        values = dict(self._workers().groups("cell"))
        return [
            self._cell(number, values[number])
            for number in in_order(self.results)
            if number in values
        ]

    def _cell(self, number: int, rows: Columns) -> Cell:
        block, worker = rows.group_numbers("session", "block"), rows.group_numbers("worker")
        table = np.full((block.max() + 1, worker.max() + 1), np.nan)
        table[block, worker] = rows["value"]
        of_trial = rows.rows(np.unique(block, return_index=True)[1])
        whole = ~np.isnan(table).any(axis=1)
        imported = self.results.imported
        variances = rows["variance"][~np.isnan(rows["variance"])]
        return Cell(
            cell=number,
            levels={f: str(rows[f][0]) for f in self.factors},
            workers=table[whole],
            above=of_trial["above"][whole],
            sessions=of_trial["session"][whole],
            blocks=of_trial["block"][whole],
            row_trials=of_trial["trial"][whole],
            trials=tuple(sorted(set(rows["trial"].tolist()))),
            seconds=self._seconds(rows),
            within=float(np.sqrt(variances.mean())) if len(variances) else None,
            stopping=self.results.experiment.stopping,
            by_hand=self.results.by_hand,
            tick=self.basis.tick if imported is None else imported.ticks[number],
        )

    def _workers(self) -> Columns:
        """One row a trial and worker: mean and variance over its measured iterations."""
        s = self.results.sample_table.of(self.basis.metric, self.basis.source)
        s = s.with_columns(worker=np.nan_to_num(s["worker"]))
        numbers, rows = s.group_numbers("trial", "worker"), mean_by(s, "trial", "worker")
        squares = np.bincount(numbers, (s["value"] - rows["value"][numbers]) ** 2)
        counts = np.bincount(numbers)
        variance = np.full(len(rows), np.nan)
        np.divide(squares, counts - 1, out=variance, where=counts > 1)
        ended = rows.with_columns(variance=variance, above=np.full(len(rows), np.nan))
        ended = ended.joined(self.results.good, "trial")
        killed = self.results.killed(self.basis.metric)
        if not killed:
            return ended
        # One row a worker.
        counts = np.ones(len(killed), dtype=np.int_)
        if "workers" in killed:
            counts = killed["workers"].astype(np.int_)
        worker = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        killed = killed.rows(np.repeat(np.arange(len(killed)), counts))
        killed = killed.with_columns(
            worker=worker.astype(float),
            value=np.full(len(killed), np.inf),
            variance=np.full(len(killed), np.nan),
        )
        return Columns.concatenated([ended, killed.only(*ended.names)])

    def _seconds(self, rows: Columns) -> float:
        took = self._took_ns
        known = np.array([took[n] for n in np.unique(rows["trial"]).tolist() if n in took])
        if known.size:
            return float(known.mean() / 1e9)
        ended = rows["value"][np.isfinite(rows["value"])]
        per_iteration = float(ended.mean() / 1e9) if self.basis.unit == "ns" and len(ended) else 0.0
        return per_iteration * self.results.experiment.iterations

    @cached_property
    def _took_ns(self) -> dict[int, float]:
        """Nanoseconds from each trial's start to the next trial's start, by the trial's number.

        The last trial of a session has its own duration. A cell's first trial of a session, during
        which instances start, is left out unless the cell has no other.
        """
        t = self.results.trial_table
        if "started" not in t or "duration_ns" not in t:
            return {}
        t = t.rows(np.lexsort((t["started"], t["session"])))
        took = t["duration_ns"].astype(float)
        follows = np.flatnonzero(np.diff(t["session"]) == 0)
        took[follows] = np.diff(t["started"])[follows]
        _, first = np.unique(np.stack([t["session"], t["cell"]]), axis=1, return_index=True)
        is_first = np.isin(np.arange(len(t)), first)
        counts = ~is_first | ~np.isin(t["cell"], t["cell"][~is_first])
        counts &= ~np.isnan(took)
        return dict(zip(t["trial"][counts].tolist(), took[counts].tolist(), strict=True))

    def groups(self, factor: str) -> Iterator[tuple[dict[str, str], dict[str, Cell]]]:
        """Cells that differ in one factor only: the other levels, and the cells by level."""
        for others, by_level in _groups([cell.levels for cell in self.all], factor):
            yield others, {level: self.all[place] for level, place in by_level.items()}

    def pairs(self, factor: str, reference: str | None = None) -> list[Pair]:
        """Every cell beside the one that has the factor's reference level.

        Emulated platforms are no level to compare: their times say nothing of a real one.

        Parameters
        ----------
        factor : str
            The one in which both differ.
        reference : str, optional
            The usual one by default: bare, 1 worker, no pinning, no load; where the
            experiment lacks it, the factor's first level.
        """
        if factor not in self.factors:
            return []
        levels = [cell.levels for cell in self.all]
        reference = reference or self.results.reference(factor)
        made = [
            self.pair(factor, self.all[first], self.all[second])
            for first, second in compared(levels, factor, self.results.emulated, reference)
        ]
        # Cells that never met in a block, as after an interruption, cannot be compared.
        return [pair for pair in made if len(pair.first)]

    def ratios(self, factor: str, reference: str | None = None) -> list[Pair]:
        """Those of :meth:`pairs` whose values have ratios: all of them are above zero."""
        return [pair for pair in self.pairs(factor, reference) if pair.has_ratio]

    def unpinned_references(self) -> list[Pair]:
        """Return each pinned cell with the reference platform's unpinned one, if none is pinned.

        Bare metal has no layer that pinning could improve.
        """
        reference = self.results.reference("platform") or ""
        own = [cell for cell in self.all if cell.levels["platform"] == reference]
        free = REFERENCES["pinning"]
        if any(cell.levels.get("pinning", free) != free for cell in own):
            return []
        like = {tuple(cell.levels.items()): cell for cell in own}
        found = []
        for cell in self.all:
            levels = {**cell.levels, "platform": reference, "pinning": free}
            known = like.get(tuple(levels.items()))
            is_other = cell.levels["platform"] not in {reference, *self.results.emulated}
            if known is not None and is_other and cell.levels.get("pinning", free) != free:
                found.append(self.pair("platform", known, cell))
        return [pair for pair in found if len(pair.first) and pair.has_ratio]

    def pair(self, factor: str, first: Cell, second: Cell) -> Pair:
        """Put the common blocks of two cells next to each other.

        Of imported trials without blocks that belong together, all trials of both.
        """
        imported = self.results.imported
        own, other = first.common(second)
        dependence = None
        if imported is not None and (not imported.paired or len(own) < FEWEST_COMMON):
            own, other = np.arange(first.n), np.arange(second.n)
            dependence = max(imported.dependence[cell.cell] for cell in (first, second))
        return Pair(
            factor=factor,
            reference=first.levels[factor],
            level=second.levels[factor],
            levels={f: level for f, level in second.levels.items() if f != factor},
            first=first.workers[own],
            second=second.workers[other],
            trials=first.trials + second.trials,
            seconds=first.seconds + second.seconds,
            sessions=first.sessions[own],
            row_trials=(first.row_trials[own], second.row_trials[other]),
            above=(first.above[own], second.above[other]),
            levels_of=self.results.levels_of,
            ticks=(first.tick, second.tick),
            imported=imported is not None,
            dependence=dependence,
        )


def _groups(
    levels: Sequence[Mapping[str, str]], factor: str
) -> Iterator[tuple[dict[str, str], dict[str, int]]]:
    """Cells that differ in one factor only: the other levels, and places of cells by level."""
    found: dict[tuple[tuple[str, str], ...], dict[str, int]] = {}
    for place, own in enumerate(levels):
        others = tuple((f, v) for f, v in own.items() if f != factor)
        found.setdefault(others, {})[own[factor]] = place
    for others, by_level in found.items():
        yield dict(others), by_level


def compared(
    levels: Sequence[Mapping[str, str]],
    factor: str,
    emulated: Collection[str] = (),
    reference: str | None = None,
) -> Iterator[tuple[int, int]]:
    """Choose the cells that are compared with each other.

    Parameters
    ----------
    levels : sequence of mapping
        Of each cell, in the order of :attr:`Cells.all`.
    factor : str
        The one in which both differ.
    emulated : collection of str
        Platforms that are none to compare.
    reference : str, optional
        As of :meth:`Cells.pairs`.

    Yields
    ------
    first, second : int
        Places of two cells, of which the first has the reference level.
    """
    usual = reference or REFERENCES.get(factor)
    gone = emulated if factor == "platform" else ()
    present = [own[factor] for own in levels if own[factor] not in gone]
    first = usual if usual in present else next(iter(present), None)
    for _, by_level in _groups(levels, factor):
        if first in by_level:
            for level, place in by_level.items():
                if level != first and level not in gone:
                    yield by_level[first], place


def in_order(results: Results) -> list[int]:
    """Return the numbers of all cells as the experiment has their levels, references first."""
    rows = [levels for levels, _ in results.cells(STATUSES)]
    places = {}
    for factor in ("workload", *results.experiment.factors):
        if factor in results.trial_table:
            usual = results.reference(factor)
            levels = dict.fromkeys(str(row[factor]) for row in rows)
            first = [level for level in levels if level == usual]
            others = [level for level in levels if level != usual]
            places[factor] = {level: place for place, level in enumerate([*first, *others])}
    rows.sort(key=lambda row: [place[str(row[factor])] for factor, place in places.items()])
    return [row["cell"] for row in rows]


@lru_cache(maxsize=4)
def cells_of(results: Results, basis: Basis) -> Cells:
    """Give the cells of an experiment, the same ones to every finding."""
    return Cells(results, basis)


def pooled(results: Results, basis: Basis) -> dict[int, FloatArray]:
    """Pool all measured iterations of all workers, by cell: as STABILITY did, not replicates."""
    s = results.sample_table.of(basis.metric, basis.source)
    good = s.joined(results.good.only("trial", "cell"), "trial")
    return {cell: rows["value"] for cell, rows in good.groups("cell")}


def compared_spreads(
    pairs: Sequence[Pair], margin: float, seed: int
) -> list[tuple[Pair, SpreadComparison]]:
    """Compare the p10–p90 ranges of pairs, adjusted by Holm; pairs that have no range are left out.

    Of imported values, which have no workers and no sessions, with what their order shows.
    """
    if not any(pair.imported for pair in pairs):
        judged, _ = compare_spreads([pair.within_sessions for pair in pairs], margin, seed=seed)
        return list(zip(pairs, judged, strict=True))
    found = [(p, p.sides.compare_spread(margin, seed=seed, family=len(pairs))) for p in pairs]
    known = [(pair, one) for pair, one in found if one is not None]
    judged = adjust_spreads([one for _, one in known], margin)
    return [(pair, one) for (pair, _), one in zip(known, judged, strict=True)]


def answer_metric(results: Results) -> str:
    """Metric that the answers are about: the experiment's own, or what follows from it."""
    return plan.metric(results.experiment)


def more_is_better(results: Results, metric: str) -> bool:
    """Tell which way of a metric is the better one."""
    printed = results.experiment.printed.get(metric)
    if results.imported is not None:
        return results.imported.lower_is_better is False
    return metric in RATES if printed is None else printed.better == "higher"


def verdict_words(basis: Basis) -> Words:
    """Return what verdicts on a metric are called: a longer time is slower."""
    if basis.imported_words is not None:
        return basis.imported_words
    if basis.metric in RATES:
        return vocabulary.RATES
    if basis.more_is_better:
        return vocabulary.VALUES
    return vocabulary.TIMES if basis.unit == "ns" else vocabulary.VALUES


def basis_of(results: Results, metric: str | None = None) -> Basis | Message:
    """Return what findings judge; or say why they cannot.

    A quantile of too few requests has values, but none to judge by.
    """
    found = values_of(results, metric)
    if isinstance(found, Message):
        return found
    return request_quantiles.few_in(results, found.metric) or found


def values_of(results: Results, metric: str | None = None) -> Basis | Message:
    """Choose the best source that every trial with a value has; or say why there is none."""
    metric = metric or answer_metric(results)
    common = results.sources(metric)
    if common:
        imported, more = results.imported, more_is_better(results, metric)
        if imported is None:
            return Basis(metric, common[0], more)
        words = IMPORTED_WORDS[imported.lower_is_better]
        return Basis(metric, common[0], more, imported.unit, words)
    if not results.good and not results.killed(metric):
        return message(phrases.NONE_GOOD)
    some = results.sample_table.sources(metric)
    if not some:
        return message("nothing to compare: no trial has {metric}", metric=metric)
    by_platform: dict[str, list[str]] = {}
    for source in some:
        rows = results.sample_table.of(metric, source).joined(results.trial_table, "trial")
        for platform in rows.distinct("platform"):
            by_platform.setdefault(str(platform), []).append(source)
    return message(
        "nothing to compare: no source of {metric} is common to all trials. "
        "{sources | join('; ')}{% for platform in missing %}; {platform} has none{% endfor %}",
        metric=metric,
        sources=[
            message("{platform} has {sources | listing}", platform=platform, sources=sources)
            for platform, sources in sorted(by_platform.items())
        ],
        missing=sorted(set(results.levels("platform")) - set(by_platform)),
    )
