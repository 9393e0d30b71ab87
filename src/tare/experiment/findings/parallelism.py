"""The number of workers that may run at a time before they disturb each other."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import UNSET

from tare.experiment.findings.cells import Basis, Cells, basis_of, cells_of
from tare.experiment.findings.comparison_summary import more_said, share
from tare.experiment.findings.evidence import SPREAD_METHOD, level_columns, ratio_estimate
from tare.experiment.findings.finding import FindingUnit, answered, settled, uncompared
from tare.experiment.findings.ladder import Ladder, Step, beyond, ladders
from tare.experiment.findings.level_names import where
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import (
    Answer,
    Column,
    Finding,
    Table,
    Unsettled,
    columns_of,
    interval_columns,
)
from tare.results.message import Change, Chosen, Message, Ratio, Said, Value, message

_DESCRIPTION = Description(
    name="parallelism",
    title="Number of workers before the mean shifts or the spread grows",
    question="How many workers may run at a time?",
    source="STABILITY",
)

#: A group of cells with the number of workers that ends it.
Ended = tuple[Ladder, Step]


def find(results: Results) -> Finding | None:
    """Find, for each workload and platform, the largest undisturbed number of workers."""
    if len(results.levels("workers")) < 2:
        return None
    basis = basis_of(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    found = ladders(cells)
    if not found:
        return uncompared(_DESCRIPTION, message("only one number of workers has good trials"))
    answer = _answer(found, cells.varied, results)
    summary, tables = answer[:1], [_table(found, cells, results)]
    told: list[tuple[list[Ladder], str | None]] = [(found, None)]
    wall = _by_wall(results, basis)
    by_wall = [] if wall is None else ladders(wall)
    if wall is not None:
        tables.append(_table(by_wall, wall, results))
        metric, also = wall.basis.metric, _answer(by_wall, cells.varied, results)
        answer += [_by_metric(metric, said) for said in also]
        if min(x.safe for x in by_wall) < min(x.safe for x in found):
            summary.append(_by_metric(metric, also[0]))
            told.append((by_wall, metric))
    return answered(
        _DESCRIPTION,
        answer=tuple(answer),
        verdict=_verdict(found, by_wall),
        summary=tuple(summary),
        unsettled=tuple(_unsettled(told, cells.varied, results)) or UNSET,
        settle=_settle(found, by_wall),
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
    return None if isinstance(wall, Message) else cells_of(results, wall)


def _verdict(found: list[Ladder], by_wall: list[Ladder]) -> Answer:
    """No if more workers disturb; open where it is not known what ends a group, by either time."""
    answered = settled(
        ladder.ends is None or ladder.ends.state == "disturbed" for ladder in (*found, *by_wall)
    )
    if answered != "none":
        return answered
    return "no" if any(ladder.ends for ladder in found) else "yes"


def _answer(found: list[Ladder], varied: list[str], results: Results) -> list[Message]:
    """Give the number that is safe everywhere; where more is inconclusive besides, how often."""
    safe = _safe(found, varied, results)
    waiting = [x.ends for x in found if x.ends and x.ends.state == "inconclusive"]
    if not waiting or _undecided(found):
        return [safe]
    part = share(len(waiting), len(found))
    return [
        safe,
        message(
            "more workers: inconclusive in {share}{% if trials %} ({trials}){% endif %}",
            share=part,
            trials=_more(waiting),
        ),
    ]


def _first_ends(found: list[Ladder]) -> list[tuple[Ladder, Step]]:
    """Return the steps that end the number of workers that is safe everywhere."""
    safe = min(ladder.safe for ladder in found)
    return [(x, x.ends) for x in found if x.ends and x.safe == safe]


def _undecided(found: list[Ladder]) -> list[Step]:
    """Return the steps that end it where none of them is known to be disturbed; else nothing."""
    steps = [step for _, step in _first_ends(found)]
    return [] if any(step.state == "disturbed" for step in steps) else steps


def _unsettled(
    told: list[tuple[list[Ladder], str | None]], varied: list[str], results: Results
) -> Iterator[Unsettled]:
    """Return the lines of the summary that say how many more trials would settle them.

    ``told``: what each line is about, and the metric that it names.
    """
    for line, (found, metric) in enumerate(told):
        if steps := _undecided(found):
            brief = _safe(found, varied, results, number=False)
            brief = brief if metric is None else _by_metric(metric, brief)
            yield Unsettled(line=line, brief=brief, trials=_more_trials(steps))


def _by_metric(metric: str, said: Said) -> Message:
    return message("by {metric | metric}: {said}", metric=metric, said=said)


def _safe(
    found: list[Ladder], varied: list[str], results: Results, *, number: bool = True
) -> Message:
    """Give the number that is safe everywhere, and what ends it first.

    ``number``: also how many more trials would settle it.
    """
    safe = min(ladder.safe for ladder in found)
    ends = _first_ends(found)
    if not ends:
        return message(
            "run up to {workers | counted('worker')} at a time, the most that was tried (the "
            "mean shifts by {low} to {high})",
            workers=safe,
            **_widest(found),
        )
    disturbed = [(x, e) for x, e in ends if e.state == "disturbed"]
    if disturbed:
        ladder, end = _worst(disturbed, results)
        return message(
            "run at most {workers | counted('worker')} at a time. With {more} workers, "
            "{disturbance | listing} for {where}{% if elsewhere %}. At least "
            "{elsewhere | listing}{% endif %}",
            workers=safe,
            more=end.workers,
            disturbance=_disturbance(end, results),
            where=where(ladder.levels, varied),
            elsewhere=_elsewhere(found, safe),
        )
    return message(
        "whether {more} workers at a time change the times is inconclusive in {share}"
        "{% if trials %} ({trials}){% endif %}. Until it is settled, run {workers} at a time",
        workers=safe,
        more=_slowest(ends)[1].workers,
        share=share(len(ends), len(found)),
        trials=_more([step for _, step in ends]) if number else None,
    )


def _elsewhere(found: list[Ladder], safe: int) -> list[Message]:
    """Name the platforms that allow more than the one that allows least."""
    least: dict[str, int] = {}
    for ladder in found:
        name = ladder.levels.get("platform", "")
        least[name] = min(ladder.safe, least.get(name, ladder.safe))
    return [
        message("{workers} on {platform}", workers=n, platform=name)
        for name, n in least.items()
        if n > safe
    ]


def _settle(*found: list[Ladder]) -> Message | None:
    """Say what settles what is inconclusive by any metric: trials have all of them."""
    waiting = [
        [x.ends for x in some if x.ends and x.ends.state == "inconclusive"] for some in found
    ]
    most = max(waiting, key=lambda steps: max((step.more or 1 for step in steps), default=0))
    return _more(most) if most else None


def _more_trials(steps: list[Step]) -> int:
    return max(step.more or 1 for step in steps)


def _more(steps: list[Step]) -> Message | None:
    """Say how many more trials per cell settle all of these, and how long they take."""
    return more_said([(step.more or 1, step.pair.seconds) for step in steps], few=False)


def _worst(some: list[Ended], results: Results) -> Ended:
    """Give the group whose mean shifts most, or whose spread grows most where no mean shifts."""
    shifted = [x for x in some if beyond(x[1].shift, results.experiment.parallel_shift)]
    if shifted:
        return max(shifted, key=lambda xe: abs(math.log(xe[1].shift.ratio)))
    return max(some, key=lambda xe: xe[1].growth.ratio or 0)


def _slowest(some: list[Ended]) -> Ended:
    """Give the group that needs most trials."""
    return max(some, key=lambda xe: xe[1].more or 0)


def _widest(some: list[Ladder]) -> dict[str, Value]:
    """Give the widest interval of the shift: all others are inside what it allows."""
    shifts = [x.steps[-1].shift for x in some]
    low = min(c.low for c in shifts if c.low is not None)
    high = max(c.high for c in shifts if c.high is not None)
    return {"low": Change(low), "high": Change(high)}


def _disturbance(step: Step, results: Results) -> list[Message]:
    """Say what was exceeded, with its interval."""
    shift, growth = step.shift, step.growth
    most_shift, most_growth = results.experiment.parallel_shift, results.experiment.parallel_growth
    exceeded: list[Message] = []
    if beyond(shift, most_shift):
        exceeded.append(
            message(
                "the mean shifts by {shift} (limit {limit})",
                shift=Ratio(shift.ratio, shift.low, shift.high),
                limit=Chosen(most_shift),
            )
        )
    if growth.low is not None and growth.low > 1 + most_growth:
        exceeded.append(
            message(
                "the spread grows by {growth} (limit {limit})",
                growth=Ratio(growth.ratio or 1, growth.low, growth.high),
                limit=Chosen(most_growth, "growth"),
            )
        )
    return exceeded


def _table(found: list[Ladder], cells: Cells, results: Results) -> Table:
    columns = (
        *level_columns(cells.varied),
        Column(key="n", title="common blocks"),
        *interval_columns("shift", "ratio of means", "1", "shift_"),
        *interval_columns("growth", "ratio of spreads", "1", "growth_"),
        Column(key="detectable", title="smallest detectable growth", unit="1"),
        *columns_of(state="verdict", more="more trials per cell"),
    )
    rows = (
        (
            *map(s.pair.compared_levels.get, cells.varied),
            s.shift.n,
            *(end for c in (s.shift, s.growth) for end in (c.ratio, c.low, c.high)),
            *(s.growth.detectable, s.state, s.more),
        )
        for ladder in found
        for s in ladder.steps
    )
    return Table.of(
        message(
            "Relative to {workers | counted('worker')}, {basis}",
            workers=found[0].smallest,
            basis=str(cells.basis),
        ),
        columns,
        rows,
        note=message(
            "Disturbed: the whole 95 % interval of the shift is beyond {shift}, or that of "
            "the growth of the spread beyond {growth}. Spread of single workers' values: "
            "{method}",
            shift=Chosen(results.experiment.parallel_shift),
            growth=Chosen(results.experiment.parallel_growth, "growth"),
            method=SPREAD_METHOD,
        ),
    )


def _caveats(results: Results) -> tuple[Message, ...]:
    cpus = results.fact("cpus")
    counts = [int(w) for w in results.levels("workers")]
    if cpus is None or math.isnan(float(cpus)) or max(counts) <= int(cpus):
        return ()
    return (
        message(
            "with more workers than the {cpus} logical CPUs, workers wait for each other. Wall "
            "time shows that, CPU time does not",
            cpus=int(cpus),
        ),
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=20, find=find, killed="refused", over_sessions=True
)
