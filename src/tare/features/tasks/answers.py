"""What a task set says: how runs ended, what differs between configurations, and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tare.features.tasks.outcomes import Scored
from tare.features.tasks.runs import RESULTS, SOLVED, Runs
from tare.render.words import text
from tare.results.finding import Column, Finding, Table, interval_columns
from tare.results.message import Amount, Message, Ratio, Said, message
from tare.statistics.intervals import Interval
from tare.statistics.scores import (
    BoolArray,
    IntArray,
    changed_tasks,
    geometric_mean_ratio,
    penalised_mean,
    share_solved,
    solved_difference,
)
from tare.units import p_value

#: Configurations that have sentences of their own; the table has all.
_MOST_SAID = 4
#: Tasks that a table of a section names; the large table has all.
_MOST_TASKS = 50
#: Share of their wall time for which runs may wait for a CPU before it is said.
MOST_WAITED = 0.05
#: A score counts an unsolved task as so many times its limit (PAR2).
PENALTY = 2.0


def findings(runs: Runs, some: Sequence[Scored]) -> list[Finding]:
    """Return the answers, in reading order; what differs stands first."""
    found = [_solved(some)]
    if len(some) > 1:
        changed = _changed(runs, some)
        both = [changed, *found] if changed.verdict == "yes" else [*found, changed]
        found = [*both, _faster(some)]
    if several(some):
        found.append(_unsteady(runs, some))
    return found


def _solved(some: Sequence[Scored]) -> Finding:
    """Say how many tasks each configuration solves, and how the others end."""
    said = [_says(one, named=len(some) > 1) for one in some[:_MOST_SAID]]
    more = len(some) - len(said)
    answer = (*said, *([message("tasks.more", n=more)] if more > 0 else []))
    return Finding(
        name="solved",
        question=message("tasks.question.solved"),
        closed=False,
        verdict="none",
        answer=answer,
        summary=answer,
    )


def configurations(some: Sequence[Scored]) -> Table:
    """Return a row a configuration: its results, and its scores."""
    rows = [_row(one) for one in some]
    present = [r for r in RESULTS if any(row.get(r) for row in rows)]
    metric = some[0].metric
    return Table(
        id="configurations",
        title=message("tasks.table.configurations", several=several(some)),
        columns=(
            Column(key="name", title="configuration"),
            *interval_columns("solved", "solved", "share", "solved_"),
            *(
                Column(key=one, title=text(message(f"tasks.result.{one}")), unit="1")
                for one in present
            ),
            Column(key="median", title=f"median {metric} time", unit="ns"),
            *interval_columns("par2", f"PAR2, {metric} time", "ns", "par2_"),
        ),
        rows=tuple(rows),
        note=message("tasks.note.par2"),
    )


def caveats(runs: Runs, some: Sequence[Scored]) -> Iterator[Message]:
    """Say what weakens all answers: runs that waited for a CPU, machines that are not the same."""
    for one in some:
        waited, wall = one.values("wait_ns"), one.values("wall_ns")
        known = ~np.isnan(waited) & ~np.isnan(wall)
        if not known.any():
            continue
        share = float(waited[known].sum() / wall[known].sum())
        if share > MOST_WAITED:
            yield message("tasks.waited", name=one.label, share=Amount(share, "share"))
    folders = {one.folder for one in runs.configurations}
    if len(folders) > 1:
        yield message("tasks.sessions", n=len(folders))
    machines = {(f.get("cpu"), f.get("cpus"), f.get("kernel")) for f in runs.facts}
    if len(machines) > 1:
        yield message("tasks.machines", n=len(machines))


def several(some: Sequence[Scored]) -> bool:
    """Tell whether a configuration has run a task more than once."""
    return any(one.trials > 1 for one in some)


def _says(one: Scored, *, named: bool) -> Message:
    outcomes = one.outcomes
    solved, tasks = float(outcomes.times_solved.sum()), int(outcomes.runs.sum())
    others = [
        message("tasks.count", n=int(one.counts[i]), result=message(f"tasks.result.{name}"))
        for i, name in enumerate(RESULTS)
        if one.counts[i] and name not in SOLVED
    ]
    return message(
        "tasks.solved",
        name=one.label if named else None,
        solved=int(solved),
        of=tasks,
        runs=one.trials > 1,
        share=_amount(share_solved(outcomes).like_these, "share") if tasks else None,
        others=others,
    )


def _row(one: Scored) -> dict[str, object]:
    outcomes = one.outcomes
    share = share_solved(outcomes).like_these
    times = outcomes.time[outcomes.solved & outcomes.counted]
    known = times[~np.isnan(times)]
    row: dict[str, object] = {
        "name": one.label,
        "solved": share.estimate,
        "solved_low": share.low,
        "solved_high": share.high,
        **{name: int(one.counts[i]) for i, name in enumerate(RESULTS)},
        "median": float(np.median(known)) if len(known) else None,
    }
    if one.limit_ns is not None:
        score = penalised_mean(outcomes, one.limit_ns, PENALTY).like_these
        row |= {"par2": score.estimate, "par2_low": score.low, "par2_high": score.high}
    return row


def _amount(interval: Interval, unit: str) -> Amount:
    return Amount(interval.estimate, unit, interval.low, interval.high)


def _changed(runs: Runs, some: Sequence[Scored]) -> Finding:
    """Say which tasks end differently than with the first configuration."""
    reference, *others = some
    answer = [_differs(reference, one) for one in others[:_MOST_SAID]]
    differing = np.flatnonzero(_different(some))
    count = len(differing)
    head = message("tasks.changed.all", n=count, of=int(_ran(some).sum()))
    told: tuple[Said, ...] = tuple(answer) if len(others) == 1 else (head,)
    if len(others) > 1 and count:
        told = (head, *answer)
    return Finding(
        name="changed",
        question=message("tasks.question.changed"),
        closed=True,
        verdict="yes" if count else "no",
        answer=told,
        summary=told,
        tables=(_different_tasks(runs, some, differing),) if count else (),
    )


def _differs(first: Scored, second: Scored) -> Message:
    difference = solved_difference(first.outcomes, second.outcomes)
    both = (first.judged >= 0) & (second.judged >= 0)
    other = int((both & (first.judged != second.judged)).sum())
    chance = difference.these or difference.like_these
    sure = changed_tasks(first.outcomes, second.outcomes).beyond_chance
    return message(
        "tasks.changed.pair",
        first=first.label,
        second=second.label,
        n=other,
        of=int(both.sum()),
        only_first=_whole(difference.only_first),
        only_second=_whole(difference.only_second),
        p=p_value(chance.p) if difference.only_first or difference.only_second else None,
        sure=None if sure is None else int(sure.sum()),
    )


def _whole(tasks: float) -> int | float:
    return int(tasks) if tasks == int(tasks) else tasks


def _ran(some: Sequence[Scored]) -> BoolArray:
    return np.asarray(np.sum([one.judged >= 0 for one in some], axis=0) > 1)


def _different(some: Sequence[Scored]) -> BoolArray:
    """Tell of each task whether configurations that ran it differ in how it ended."""
    found = np.zeros(some[0].tasks, dtype=bool)
    last = np.full(some[0].tasks, -1, dtype=np.int16)
    for one in some:
        found |= (one.judged >= 0) & (last >= 0) & (one.judged != last)
        last = np.where(one.judged >= 0, one.judged, last)
    return found


def _different_tasks(runs: Runs, some: Sequence[Scored], differing: IntArray) -> Table:
    return Table(
        id="changed",
        title=message("tasks.table.changed"),
        columns=(
            Column(key="task", title="task"),
            *(Column(key=f"c{one.number}", title=one.label) for one in some),
        ),
        rows=tuple(
            {"task": runs.tasks[task], **{f"c{one.number}": _told(one, task) for one in some}}
            for task in differing[:_MOST_TASKS]
        ),
        note=message("tasks.note.changed", shown=_MOST_TASKS)
        if len(differing) > _MOST_TASKS
        else None,
    )


def _told(one: Scored, task: int) -> Message | None:
    """Return how a task's runs ended, the most frequent first."""
    own = one.result[task]
    own = own[own >= 0]
    if not len(own):
        return None
    names, counts = np.unique(own, return_counts=True)
    order = np.argsort(-counts)
    results = [message(f"tasks.result.{RESULTS[names[i]]}") for i in order]
    return message(
        "tasks.told",
        results=results,
        counts=[int(counts[i]) for i in order] if len(own) > 1 else [],
    )


def _faster(some: Sequence[Scored]) -> Finding:
    """Compare the times of tasks that both solve, with the first configuration."""
    reference, *others = some
    answer: list[Said] = []
    rows = []
    for one in others:
        found = geometric_mean_ratio(reference.outcomes, one.outcomes)
        best = found.ratio.like_these
        these = found.ratio.these
        answer.append(
            message(
                "tasks.faster",
                first=reference.label,
                second=one.label,
                metric=one.metric,
                ratio=None
                if np.isnan(best.estimate)
                else Ratio(best.estimate, best.low, best.high),
                n=best.n,
                left_out=found.left_out,
            )
        )
        rows.append(
            {
                "name": one.label,
                "ratio": None if np.isnan(best.estimate) else best.estimate,
                "ratio_low": best.low,
                "ratio_high": best.high,
                "these": these.estimate if these.low is not None else None,
                "these_low": these.low,
                "these_high": these.high,
                "n": best.n,
                "left_out": found.left_out,
            }
        )
    table = Table(
        id="ratios",
        title=message("tasks.table.ratios", first=reference.label, metric=reference.metric),
        columns=(
            Column(key="name", title="configuration"),
            *interval_columns("ratio", "on inputs like these", "ratio", "ratio_"),
            *interval_columns("these", "on these inputs", "ratio", "these_"),
            Column(key="n", title="tasks", unit="1"),
            Column(key="left_out", title="left out", unit="1"),
        ),
        rows=tuple(rows),
        note=message("tasks.note.ratios"),
    )
    return Finding(
        name="faster",
        question=message("tasks.question.faster"),
        closed=False,
        verdict="none",
        answer=tuple(answer[:_MOST_SAID]),
        summary=tuple(answer[:_MOST_SAID]),
        tables=(table,),
    )


def _unsteady(runs: Runs, some: Sequence[Scored]) -> Finding:
    """Say which tasks end now so, now otherwise, with one configuration."""
    rows = list(_flaky(runs, some))
    count = len({row["task"] for row in rows})
    said = message("tasks.unsteady", n=count, of=int(sum(_any_ran(some))))
    return Finding(
        name="unsteady",
        question=message("tasks.question.unsteady"),
        closed=True,
        verdict="yes" if rows else "no",
        answer=said,
        summary=said if rows else None,
        tables=(
            Table(
                id="unsteady",
                title=message("tasks.table.unsteady"),
                columns=(
                    Column(key="task", title="task"),
                    Column(key="name", title="configuration"),
                    Column(key="results", title="results"),
                ),
                rows=tuple(rows[:_MOST_TASKS]),
            ),
        )
        if rows
        else (),
    )


def _any_ran(some: Sequence[Scored]) -> BoolArray:
    return np.asarray(np.any([one.worst >= 0 for one in some], axis=0))


def _flaky(runs: Runs, some: Sequence[Scored]) -> Iterator[dict[str, object]]:
    for one in some:
        least = np.where(one.result >= 0, one.result, len(RESULTS)).min(axis=1)
        for task in np.flatnonzero((one.worst >= 0) & (least != one.worst)).tolist():
            yield {"task": runs.tasks[task], "name": one.label, "results": _told(one, task)}
