"""The number of workers that may run side by side before they disturb each other."""

from __future__ import annotations

import math

from tare.findings.cells import Basis, Cells, basis_of, cells_of
from tare.findings.evidence import (
    SPREAD_METHOD,
    level_columns,
    ratio_estimate,
)
from tare.findings.finding import Answer, Column, Finding, FindingUnit, Table, settled, uncompared
from tare.findings.ladder import Ladder, Step, beyond, ladders
from tare.findings.phrasing import at_levels, metric_name
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.units import change_interval, chosen, counted, duration, factor, percent

_DESCRIPTION = Description(
    name="parallelism",
    title="Number of workers before the mean shifts or the spread grows",
    question="How many workers may run side by side?",
    source="STABILITY",
)

#: A group of cells with the number of workers that ends it.
Ended = tuple[Ladder, Step]


def find(results: Results) -> Finding | None:
    """Find, for each workload and platform, the largest undisturbed number of workers."""
    if results.trial_table["workers"].nunique() < 2:
        return None
    basis = basis_of(results)
    if isinstance(basis, str):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    found = ladders(cells)
    if not found:
        return uncompared(_DESCRIPTION, "Only one number of workers has good trials.")
    answer, summary = _answer(found, cells.varied, results), _summary(found, cells.varied, results)
    tables = [_table(found, cells, results)]
    wall = _by_wall(results, basis)
    by_wall = [] if wall is None else ladders(wall)
    if wall is not None:
        tables.append(_table(by_wall, wall, results))
        answer += f" By {metric_name(wall.basis.metric)}: {_answer(by_wall, cells.varied, results)}"
        if _says_more(by_wall, found, results):
            more = _summary(by_wall, cells.varied, results)
            summary += f" By {metric_name(wall.basis.metric)}, {more[0].lower()}{more[1:]}"
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=answer,
        verdict=_verdict(found, by_wall),
        summary=summary,
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
        tables=tuple(tables),
        caveats=_caveats(results),
        charts=("parallelism",),
    )


def _by_wall(results: Results, basis: Basis) -> Cells | None:
    """Give the wall times of kernels that are judged by CPU time: waiting shows there only."""
    if basis.metric != "kernel_cpu_ns":
        return None
    wall = basis_of(results, "kernel_wall_ns")
    return None if isinstance(wall, str) else cells_of(results, wall)


def _says_more(wall: list[Ladder], cpu: list[Ladder], results: Results) -> bool:
    """Whether wall time allows fewer workers, or its worst shift lies beyond that of CPU time."""
    if min(x.safe for x in wall) < min(x.safe for x in cpu):
        return True
    of_wall, of_cpu = (
        [(x, x.ends) for x in found if x.ends and x.ends.state == "disturbed"]
        for found in (wall, cpu)
    )
    if not of_wall or not of_cpu:
        return bool(of_wall)
    most, least = (_worst(some, results)[1].shift for some in (of_wall, of_cpu))
    return (most.low or 0) > (least.high or math.inf)


def _verdict(found: list[Ladder], by_wall: list[Ladder]) -> Answer:
    """No if more workers disturb; open where it is not known what ends a group, by either time."""
    answered = settled(
        ladder.ends is None or ladder.ends.state == "disturbed" for ladder in (*found, *by_wall)
    )
    if answered != "none":
        return answered
    return "no" if any(ladder.ends for ladder in found) else "yes"


def _summary(found: list[Ladder], varied: list[str], results: Results) -> str:
    """Tell the number that is safe everywhere, and what ends it first."""
    safe = min(ladder.safe for ladder in found)
    ends = [(x, x.ends) for x in found if x.ends and x.safe == safe]
    if not ends:
        return f"At least {counted(safe, 'worker')}, the most that was tried, may run side by side."
    disturbed = [(x, e) for x, e in ends if e.state == "disturbed"]
    if disturbed:
        ladder, end = _worst(disturbed, results)
        where = at_levels(ladder.levels, varied)
        return (
            f"Run at most {counted(safe, 'worker')} side by side: with {end.workers}, "
            f"{_disturbance(end, results)} for {where}.{_elsewhere(found, safe)}"
        )
    ladder, end = _slowest(ends)
    return (
        f"{counted(safe, 'worker').capitalize()} side by side, for certain; with {end.workers}, "
        f"{_open(results)}, for {at_levels(ladder.levels, varied)}"
        f"{_others(len(ends) - 1)} ({_further([step for _, step in ends])})."
    )


def _elsewhere(found: list[Ladder], safe: int) -> str:
    """Name the platforms that allow more than the one that allows least."""
    least: dict[str, int] = {}
    for ladder in found:
        name = ladder.levels.get("platform", "")
        least[name] = min(ladder.safe, least.get(name, ladder.safe))
    more = [f"{n} on {name}" for name, n in least.items() if n > safe]
    return f" At least {listing(more)}." if more else ""


def _others(n: int) -> str:
    return f" and {counted(n, 'other group')}" if n else ""


def _further(open_ones: list[Step]) -> str:
    """Tell how many further trials of a cell decide all that is open, and how long they take."""
    time = sum(step.pair.seconds * (step.more or 1) for step in open_ones)
    most = max(step.more or 1 for step in open_ones)
    return f"about {counted(most, 'further trial')} of a cell would decide" + (
        f", {duration(time)} in all" if time else ""
    )


def _answer(found: list[Ladder], varied: list[str], results: Results) -> str:
    """Tell how many groups may have how many workers, with the clearest case of each."""
    undisturbed = [x for x in found if x.ends is None]
    told = []
    if undisturbed:
        tried = min(x.safe for x in undisturbed)
        told.append(
            f"{_groups(undisturbed, found, varied)}: at least {counted(tried, 'worker')}, the "
            f"most that was tried (shift of the mean {_widest(undisturbed)})."
        )
    ended = [(x, x.ends) for x in found if x.ends]
    for safe in sorted({x.safe for x, _ in ended}):
        for state in ("disturbed", "inconclusive"):
            some = [(x, e) for x, e in ended if x.safe == safe and e.state == state]
            if not some:
                continue
            where = _groups([x for x, _ in some], found, varied)
            if state == "disturbed":
                ladder, end = _worst(some, results)
                text = f"at most {counted(safe, 'worker')}; with {end.workers}, "
                text += f"{_disturbance(end, results)}{_where(ladder, end, some, results, varied)}."
            else:
                ladder, end = _slowest(some)
                most = f", most for {at_levels(ladder.levels, varied)}" if some[1:] else ""
                text = (
                    f"{counted(safe, 'worker')} for certain; with {end.workers}, "
                    f"{_open(results)} ({_further([step for _, step in some])}{most})."
                )
            told.append(f"{where}: {text}")
    return " ".join(told)


def _open(results: Results) -> str:
    """Say what is inconclusive, with the thresholds that decide."""
    asked = results.experiment
    return (
        f"it is inconclusive whether the mean shifts by more than {chosen(asked.parallel_shift)} "
        f"or the spread grows to more than {factor(asked.parallel_growth)}"
    )


def _worst(some: list[Ended], results: Results) -> Ended:
    """Give the group whose mean shifts most, or whose spread grows most where no mean shifts."""
    shifted = [x for x in some if beyond(x[1].shift, results.experiment.parallel_shift)]
    if shifted:
        return max(shifted, key=lambda xe: abs(math.log(xe[1].shift.ratio)))
    return max(some, key=lambda xe: xe[1].growth.ratio or 0)


def _slowest(some: list[Ended]) -> Ended:
    """Give the group that needs most further trials."""
    return max(some, key=lambda xe: xe[1].more or 0)


def _where(told: Ladder, end: Step, some: list[Ended], results: Results, varied: list[str]) -> str:
    """Name the one of several groups whose numbers are told, and how many blocks it has."""
    n = f" (n = {end.shift.n})"
    if len(some) == 1:
        return n
    by_mean = beyond(end.shift, results.experiment.parallel_shift)
    most = "the mean shifts" if by_mean else "the spread grows"
    return f" for {at_levels(told.levels, varied)}, where {most} most{n}"


def _groups(some: list[Ladder], found: list[Ladder], varied: list[str]) -> str:
    """Name groups of cells: each where they are few, otherwise how many."""
    if len(some) == len(found) and len(found) > 1:
        return f"All {len(found)} groups"
    if len(some) <= 3:
        return listing(at_levels(x.levels, varied) for x in some)
    return f"{len(some)} of {len(found)} groups"


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
    if beyond(shift, most_shift):
        ratio = change_interval(shift.ratio, shift.low, shift.high)
        words.append(f"the mean shifts by {ratio} (limit {percent(most_shift)})")
    most_growth = results.experiment.parallel_growth
    if growth.low is not None and growth.low > 1 + most_growth:
        ratio = change_interval(growth.ratio or 1, growth.low, growth.high)
        words.append(f"the spread grows by {ratio} (limit {factor(most_growth)})")
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
        f"Disturbed: the mean shifts by more than {chosen(experiment.parallel_shift)} or the "
        f"p10–p90 range of single workers' values grows by more than "
        f"{percent(experiment.parallel_growth)}, the whole 95 % interval being beyond that. "
        f"Spread: {SPREAD_METHOD}."
    )
    title = f"Workers side by side, beside {found[0].smallest}, {cells.basis}"
    return Table(title=title, columns=columns, rows=rows, note=note)


def _caveats(results: Results) -> tuple[str, ...]:
    cpus = results.fact("cpus")
    counts = [int(w) for w in results.trial_table["workers"].unique()]
    told = []
    if cpus is not None and not math.isnan(float(cpus)) and max(counts) > int(cpus):
        told.append(
            f"With more workers than the machine's {int(cpus)} logical CPUs, workers wait for "
            "each other; CPU time does not show that, wall time does."
        )
    return tuple(told)


UNIT = FindingUnit(description=_DESCRIPTION, order=20, find=find, over_sessions=True)
