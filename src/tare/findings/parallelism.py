"""The number of workers that may run side by side before they disturb each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tare.findings.cells import Cells, Pair, basis_of
from tare.findings.evidence import (
    SPREAD_METHOD,
    level_columns,
    ratio_estimate,
)
from tare.findings.finding import Column, Finding, FindingUnit, Table, Verdict, uncompared
from tare.findings.phrasing import (
    at_levels,
    change_interval,
    counted,
    duration,
    listing,
    percent,
)
from tare.registry import Description
from tare.results import Results
from tare.statistics.comparison import Comparison, compare
from tare.statistics.spread import SpreadComparison, compare_spread

_DESCRIPTION = Description(
    name="parallelism",
    title="Number of workers before the mean shifts or the spread grows",
    question="How many workers may run side by side?",
    source="STABILITY",
)

State = Literal["undisturbed", "disturbed", "not decided"]


@dataclass(frozen=True)
class Step:
    """One number of workers beside the smallest one."""

    workers: int
    pair: Pair
    shift: Comparison
    growth: SpreadComparison
    state: State
    more: int | None


@dataclass(frozen=True)
class Ladder:
    """All numbers of workers of one workload on one platform, in increasing order.

    Attributes
    ----------
    safe : int
        Largest number up to which every one was shown to be undisturbed.
    ends : Step or None
        The first number that was not shown to be undisturbed; None if all were.
    """

    levels: dict[str, str]
    smallest: int
    steps: tuple[Step, ...]

    @property
    def ends(self) -> Step | None:
        """The first number that was not shown to be undisturbed."""
        return next((s for s in self.steps if s.state != "undisturbed"), None)

    @property
    def safe(self) -> int:
        """Largest number up to which every one was shown to be undisturbed."""
        before = [s.workers for s in self.steps if not self.ends or s.workers < self.ends.workers]
        return max(before, default=self.smallest)


def ladders(cells: Cells) -> list[Ladder]:
    """Compare every number of workers with the smallest one, for each group of other levels.

    The mean is that of trial values; the spread is that of single workers' values, since the
    next job may go to any worker. Averages over workers would shrink as workers are added.
    """
    counts = sorted({int(c.levels["workers"]) for c in cells.all})
    if len(counts) < 2:
        return []
    found: dict[tuple[tuple[str, str], ...], list[Step]] = {}
    for i, pair in enumerate(cells.pairs("workers", str(counts[0]))):
        step = _step(pair, cells.results, i)
        found.setdefault(tuple(pair.levels.items()), []).append(step)
    return [
        Ladder(dict(levels), counts[0], tuple(sorted(steps, key=lambda s: s.workers)))
        for levels, steps in found.items()
    ]


def _step(pair: Pair, results: Results, number: int) -> Step:
    experiment = results.experiment
    shift = compare(*pair.trial_values, experiment.parallel_shift)
    growth = compare_spread(
        pair.first, pair.second, experiment.parallel_growth, seed=experiment.seed + number
    )
    state = _state(shift, growth, experiment.parallel_shift, experiment.parallel_growth)
    more = [m for m in (shift.more_pairs, growth.more_pairs) if m is not None]
    return Step(
        workers=int(pair.level),
        pair=pair,
        shift=shift,
        growth=growth,
        state=state,
        more=max(more, default=1) if state == "not decided" else None,
    )


def _state(
    shift: Comparison, growth: SpreadComparison, most_shift: float, most_growth: float
) -> State:
    if shift.low is None or shift.high is None or growth.low is None or growth.high is None:
        return "not decided"
    if _beyond(shift, most_shift) or growth.low > 1 + most_growth:
        return "disturbed"
    steady = shift.low > 1 / (1 + most_shift) and shift.high < 1 + most_shift
    return "undisturbed" if steady and growth.high < 1 + most_growth else "not decided"


def _beyond(shift: Comparison, most: float) -> bool:
    if shift.low is None or shift.high is None:
        return False
    return shift.low > 1 + most or shift.high < 1 / (1 + most)


def find(results: Results) -> Finding | None:
    """Find, for each workload and platform, the largest undisturbed number of workers."""
    if results.trial_table["workers"].nunique() < 2:
        return None
    basis = basis_of(results)
    if isinstance(basis, str):
        return uncompared(_DESCRIPTION, basis)
    cells = Cells(results, basis)
    found = ladders(cells)
    if not found:
        return uncompared(_DESCRIPTION, "Only one number of workers has good trials.")
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=_answer(found, cells.varied, results),
        verdict=_verdict(found),
        summary=_summary(found, cells.varied, results),
        basis=str(basis),
        estimates=tuple(
            e
            for ladder in found
            for s in ladder.steps
            for e in (
                ratio_estimate(s.pair, s.shift, "shift of the mean"),
                ratio_estimate(s.pair, s.growth, "growth of the spread"),
            )
        ),
        tables=(_table(found, cells, results),),
        caveats=_caveats(results),
        charts=("parallelism",),
    )


def _verdict(found: list[Ladder]) -> Verdict:
    states = {s.state for ladder in found for s in ladder.steps}
    if "disturbed" in states:
        return "no"
    return "undecided" if "not decided" in states else "yes"


def _summary(found: list[Ladder], varied: list[str], results: Results) -> str:
    """Tell the number that is safe everywhere, and what ends it first."""
    safe = min(ladder.safe for ladder in found)
    ends = [(x, x.ends) for x in found if x.ends and x.safe == safe]
    if not ends:
        return f"At least {counted(safe, 'worker')}, the most that was tried, may run side by side."
    disturbed = [(x, e) for x, e in ends if e.state == "disturbed"]
    if disturbed:
        ladder, end = max(disturbed, key=lambda xe: abs(math.log(xe[1].shift.ratio)))
        where = at_levels(ladder.levels, varied)
        return (
            f"Run at most {counted(safe, 'worker')} side by side: with {end.workers}, "
            f"{_disturbance(end, results)} for {where}."
        )
    ladder, end = max(ends, key=lambda xe: xe[1].more or 0)
    return (
        f"{counted(safe, 'worker').capitalize()} side by side, for certain; with {end.workers} it "
        f"is not decided for {at_levels(ladder.levels, varied)}"
        f"{f' and {len(ends) - 1} more' if len(ends) > 1 else ''} ({_further(end)})."
    )


def _further(step: Step) -> str:
    time = step.pair.seconds * (step.more or 1)
    return f"up to {counted(step.more or 1, 'further trial')} a cell would decide" + (
        f", {duration(time)}" if time else ""
    )


def _answer(found: list[Ladder], varied: list[str], results: Results) -> str:
    """Tell how many groups may have how many workers, with the clearest case of each."""
    undisturbed = [x for x in found if x.ends is None]
    told = []
    if undisturbed:
        tried = max(x.safe for x in undisturbed)
        told.append(
            f"{_groups(undisturbed, found, varied)}: at least {counted(tried, 'worker')}, the "
            f"most that was tried (mean {_widest(undisturbed)})."
        )
    ended = [(x, x.ends) for x in found if x.ends]
    for safe in sorted({x.safe for x, _ in ended}):
        for state in ("disturbed", "not decided"):
            some = [(x, e) for x, e in ended if x.safe == safe and e.state == state]
            if not some:
                continue
            where = _groups([x for x, _ in some], found, varied)
            _, end = max(some, key=lambda xe: abs(math.log(xe[1].shift.ratio)))
            told.append(
                f"{where}: at most {counted(safe, 'worker')}; with {end.workers}, "
                f"{_disturbance(end, results)} (n = {end.shift.n})."
                if state == "disturbed"
                else f"{where}: {counted(safe, 'worker')} for certain; with {end.workers} it is "
                f"not decided ({_further(end)})."
            )
    return " ".join(told)


def _groups(some: list[Ladder], found: list[Ladder], varied: list[str]) -> str:
    """Name groups of cells: each where they are few, otherwise how many."""
    if len(some) == len(found) and len(found) > 1:
        return f"All {len(found)} groups"
    if len(some) <= 3:
        return listing(at_levels(x.levels, varied) for x in some)
    return f"{len(some)} of {len(found)} groups, such as {at_levels(some[0].levels, varied)}"


def _widest(some: list[Ladder]) -> str:
    """Give the widest interval of the shift: all others are inside what it allows."""
    shifts = [x.steps[-1].shift for x in some]
    low = min(c.low for c in shifts if c.low is not None)
    high = max(c.high for c in shifts if c.high is not None)
    return f"between {percent(low - 1, sign=True)} and {percent(high - 1, sign=True)}"


def _disturbance(step: Step, results: Results) -> str:
    """Say what was exceeded, with its interval."""
    shift, growth = step.shift, step.growth
    most_shift = results.experiment.parallel_shift
    words = []
    if _beyond(shift, most_shift):
        ratio = change_interval(shift.ratio, shift.low, shift.high)
        words.append(f"the mean shifts by {ratio}")
    if growth.low is not None and growth.low > 1 + results.experiment.parallel_growth:
        ratio = change_interval(growth.ratio or 1, growth.low, growth.high)
        words.append(f"the spread grows by {ratio}")
    return listing(words)


def _table(found: list[Ladder], cells: Cells, results: Results) -> Table:
    columns = (
        *level_columns(cells.varied),
        Column(key="n", title="common blocks"),
        Column(key="shift", title="ratio of means", unit="1"),
        Column(key="shift_low", title="from", unit="1"),
        Column(key="shift_high", title="to", unit="1"),
        Column(key="growth", title="ratio of spreads", unit="1"),
        Column(key="growth_low", title="from", unit="1"),
        Column(key="growth_high", title="to", unit="1"),
        Column(key="detectable", title="smallest detectable growth", unit="1"),
        Column(key="state", title="verdict"),
        Column(key="more", title="further trials each"),
    )
    rows = tuple(
        {
            **{f: {**s.pair.levels, "workers": s.pair.level}[f] for f in cells.varied},
            "n": s.shift.n,
            "shift": s.shift.ratio,
            "shift_low": s.shift.low,
            "shift_high": s.shift.high,
            "growth": s.growth.ratio,
            "growth_low": s.growth.low,
            "growth_high": s.growth.high,
            "detectable": s.growth.detectable,
            "state": s.state,
            "more": s.more,
        }
        for ladder in found
        for s in ladder.steps
    )
    experiment = results.experiment
    note = (
        f"Disturbed: the mean shifts by more than {percent(experiment.parallel_shift)} or the "
        f"p10–p90 range of single workers' values grows by more than "
        f"{percent(experiment.parallel_growth)}, the whole 95 % interval being beyond that. "
        f"Spread: {SPREAD_METHOD}."
    )
    title = f"Workers side by side, beside {found[0].smallest}, {cells.basis}"
    return Table(title=title, columns=columns, rows=rows, note=note)


def _caveats(results: Results) -> tuple[str, ...]:
    cpus = results.fact("logical_cpus")
    counts = [int(w) for w in results.trial_table["workers"].unique()]
    told = []
    if cpus is not None and not math.isnan(float(cpus)) and max(counts) > int(cpus):
        told.append(
            f"With more workers than the machine's {int(cpus)} logical CPUs, workers wait for "
            "each other; CPU time does not show that, wall time does."
        )
    return tuple(told)


UNIT = FindingUnit(description=_DESCRIPTION, order=2, find=find)
