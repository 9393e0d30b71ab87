"""What a task set says: how runs ended, what differs between configurations, and scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tare import platforms
from tare.features.tasks.outcomes import MIXED, Pair, Scored, pairs
from tare.features.tasks.runs import RESULTS, SOLVED, Runs
from tare.features.tasks.specification import TaskSet
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
    if compared := pairs(some):
        changed = _changed(runs, compared)
        both = [changed, *found] if changed.verdict == "yes" else [*found, changed]
        found = [*both, _faster(compared)]
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
    time = some[0].time
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
            Column(key="median", title=f"median {time}, solved", unit="ns"),
            *interval_columns("par2", f"PAR2, {time}", "ns", "par2_"),
        ),
        rows=tuple(rows),
        note=(message("tasks.note.par2"), message("tasks.note.unseen")),
    )


def caveats(runs: Runs, some: Sequence[Scored]) -> Iterator[Message]:
    """Say what weakens all answers: broken configurations, waiting for a CPU, unlike folders."""
    yield from broken(some)
    yield from unsolved(some)
    waited = {one.label: share for one in some if (share := _waited(one)) > MOST_WAITED}
    if waited:
        yield message(
            "tasks.waited",
            name=next(iter(waited)) if len(waited) == 1 else None,
            n=len(waited),
            of=len(some),
            least=Amount(min(waited.values()), "share"),
            most=Amount(max(waited.values()), "share"),
        )
    if len(runs.folders) > 1:
        yield message("tasks.sessions", n=len(runs.folders))
    for one in runs.folders:
        if one.replaced:
            yield message(
                "tasks.replaced",
                n=len(one.replaced),
                folder=one.name,
                names=one.replaced[:_MOST_SAID],
            )
    counts = {one.label: int((one.outcomes.runs > 0).sum()) for one in some}
    if len(runs.folders) > 1 and len({*counts.values()}) > 1:
        least, most = min(counts.values()), max(counts.values())
        yield message("tasks.other_tasks", least=least, most=most)
    compared = pairs(some)
    alike: dict[tuple[str, ...], list[Pair]] = {}
    for pair in compared:
        if what := _otherwise(runs, pair):
            alike.setdefault(what, []).append(pair)
    for what, own in alike.items():
        yield message(
            "tasks.otherwise",
            first=own[0].first.label,
            second=own[0].second.label,
            more=len(own) - 1,
            what=[message(f"tasks.given.{name}") for name in what],
        )
    used = {one.number for pair in compared for one in (pair.first, pair.second)}
    alone = [one.label for one in some if one.number not in used and one.broken is None]
    if compared and alone:
        yield message("tasks.alone", names=alone)
    if len(runs.machines) > 1:
        yield message("tasks.machines", n=len(runs.machines))


def _waited(one: Scored) -> float:
    """Return the share of their wall time for which runs waited for a CPU; 0 if not known."""
    waited, wall = one.values("wait_ns"), one.values("wall_ns")
    known = ~np.isnan(waited) & ~np.isnan(wall)
    return float(waited[known].sum() / wall[known].sum()) if known.any() else 0.0


def _otherwise(runs: Runs, pair: Pair) -> tuple[str, ...]:
    """Return what two configurations were given that is not the same."""
    first, second = pair.first.configuration, pair.second.configuration
    one, two = (runs.folders[c.folder].asked for c in (first, second))
    differing = {
        "timeout": first.timeout_s != second.timeout_s,
        "enforce": first.enforce != second.enforce,
    }
    if one is not None and two is not None:
        differing |= {
            "parallel": one.parallel != two.parallel,
            "cpus": one.cpus != two.cpus,
            "judged": _judged(one) != _judged(two),
        }
    return tuple(name for name, differs in differing.items() if differs)


def _judged(asked: TaskSet) -> tuple[object, ...]:
    return asked.expected, asked.compare, asked.tolerance, asked.checker


def broken(some: Sequence[Scored]) -> Iterator[Message]:
    """Say which configurations crashed in every run in the same way, why, and what to do."""
    alike: dict[str, list[Scored]] = {}
    for one in some:
        if one.broken is not None:
            alike.setdefault(one.broken, []).append(one)
    for why, own in alike.items():
        yield message(
            "tasks.broken",
            names=[one.label for one in own],
            n=sum(len(one.table) for one in own),
            why=why,
            remedy=remedy(*own),
        )


def unsolved(some: Sequence[Scored]) -> Iterator[Message]:
    """Say which sandboxes solve none of the tasks that the same program solves elsewhere."""
    for one in some:
        others = [
            other
            for other in some
            if other.configuration.workload == one.configuration.workload
            and 2 * other.outcomes.times_solved.sum() > other.outcomes.runs.sum()
        ]
        solves_none = one.outcomes.runs.sum() > 1 and not one.outcomes.times_solved.any()
        if one.broken is None and solves_none and others and (how := remedy(one)):
            yield message("tasks.unsolved", name=one.label, other=others[0].label, remedy=how)


def remedy(*some: Scored) -> Message | None:
    """Return how to show files to programs that may miss them; None: they see this machine's."""
    platforms_of = [one.configuration.levels.get("platform", "bare") for one in some]
    layers = [layer for layer in map(platforms.showing, platforms_of) if layer is not None]
    return message("tasks.show", layers=list(dict.fromkeys(layers))) if layers else None


def missing(runs: Runs, some: Sequence[Scored]) -> Iterator[Message]:
    """Say how many runs of each folder there are not."""
    for place, folder in enumerate(runs.folders):
        there = sum(len(one.table) for one in some if one.configuration.folder == place)
        if folder.planned is not None and there < folder.planned:
            yield message(
                "tasks.not_run",
                n=folder.planned - there,
                of=folder.planned,
                folder=folder.name if len(runs.folders) > 1 else None,
            )


def failed(runs: Runs) -> Iterator[Message]:
    """Say how many runs say nothing of their program, and why the last does not."""
    for result in ("lost", "unchecked"):
        rows = runs.table.where(result=result)
        if len(rows):
            yield message(f"tasks.{result}_runs", n=len(rows), why=rows["why"][-1])


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


def _changed(runs: Runs, compared: Sequence[Pair]) -> Finding:
    """Say which tasks end differently than with what each configuration is compared with."""
    found = [_counts(pair) for pair in compared]
    answer = [_differs(found[i]) for i in _said_of([one.differ for one in found])]
    differing = np.flatnonzero(np.any([_different(pair) for pair in compared], axis=0))
    count = len(differing)
    told: tuple[Said, ...] = tuple(answer)
    if len(compared) > 1:
        both = np.any([_both(pair) for pair in compared], axis=0)
        head = message("tasks.changed.all", n=count, of=int(both.sum()), pairs=len(compared))
        more = len(compared) - len(answer)
        left_out = [message("tasks.changed.more", n=more)] if more else []
        told = (head, *answer, *left_out) if count else (head,)
    return Finding(
        name="changed",
        question=message("tasks.question.changed"),
        closed=False,
        verdict="yes" if count else "no",
        answer=told,
        summary=told,
        tables=(
            *((_pairs(found),) if len(found) > 1 else ()),
            *((_different_tasks(runs, compared, differing),) if count else ()),
        ),
    )


def _said_of(sizes: Sequence[float]) -> list[int]:
    """Return which of many pairs have sentences: those that differ most, in their order."""
    return sorted(sorted(range(len(sizes)), key=lambda i: -sizes[i])[:_MOST_SAID])


class _Counts(NamedTuple):
    """How a pair differs, in tasks that ran in both."""

    pair: Pair
    tasks: int
    differ: int
    #: Tasks that the second solves more often, and the first.
    gained: int
    lost: int
    #: That both solve alike; None: no task is solved more often by one of them.
    p: float | None
    #: Tasks that may be believed to differ; None: single runs cannot tell.
    believed: int | None
    missing: int


def _counts(pair: Pair) -> _Counts:
    first, second = pair.first.outcomes, pair.second.outcomes
    one, two = (np.divide(o.times_solved, np.maximum(1, o.runs)) for o in (first, second))
    both = _both(pair)
    lost, gained = (int((both & (a > b)).sum()) for a, b in ((one, two), (two, one)))
    difference = solved_difference(first, second)
    # What a session has in common is in all of its trials: between folders, tasks are what counts.
    within = None if pair.apart else difference.these
    sure = None if pair.apart else changed_tasks(first, second).beyond_chance
    return _Counts(
        pair,
        int(both.sum()),
        int(_different(pair).sum()),
        gained,
        lost,
        (within or difference.like_these).p if lost or gained else None,
        None if sure is None else int(sure.sum()),
        int(((first.runs > 0) != (second.runs > 0)).sum()),
    )


def _differs(found: _Counts) -> Message:
    pair = found.pair
    return message(
        "tasks.changed.pair",
        first=pair.first.label,
        second=pair.second.label,
        n=found.differ,
        of=found.tasks,
        gained=found.gained,
        lost=found.lost,
        often=max(pair.first.trials, pair.second.trials) > 1,
        p=None if found.p is None else p_value(found.p),
        believed=found.believed,
        missing=found.missing,
    )


def _pairs(found: Sequence[_Counts]) -> Table:
    """Return a row a pair: what is compared with what."""
    apart = any(one.pair.apart for one in found)
    return Table(
        id="pairs",
        title=message("tasks.table.pairs"),
        columns=(
            Column(key="name", title="configuration"),
            Column(key="to", title="relative to"),
            Column(key="tasks", title="tasks", unit="1"),
            Column(key="differ", title="end differently", unit="1"),
            Column(key="gained", title="solved more often", unit="1"),
            Column(key="lost", title="less often", unit="1"),
            Column(key="p", title="p"),
        ),
        rows=tuple(
            {
                "name": one.pair.second.label,
                "to": one.pair.first.label,
                "tasks": one.tasks,
                "differ": one.differ,
                "gained": one.gained,
                "lost": one.lost,
                "p": one.p,
            }
            for one in found
        ),
        note=message("tasks.note.p", apart=apart),
    )


def _both(pair: Pair) -> BoolArray:
    """Tell which tasks ran in both."""
    return np.asarray((pair.first.judged >= 0) & (pair.second.judged >= 0))


def _different(pair: Pair) -> BoolArray:
    """Tell which tasks end differently in both."""
    return np.asarray(_both(pair) & (pair.first.judged != pair.second.judged))


def _different_tasks(runs: Runs, compared: Sequence[Pair], differing: IntArray) -> Table:
    shown = {one.number: one for pair in compared for one in (pair.first, pair.second)}
    believed = any(not p.apart and min(p.first.trials, p.second.trials) > 1 for p in compared)
    notes = [message("tasks.note.chance")] if believed else []
    if len(differing) > _MOST_TASKS:
        notes.insert(0, message("tasks.note.changed", shown=_MOST_TASKS))
    return Table(
        id="changed",
        title=message("tasks.table.changed"),
        columns=(
            Column(key="task", title="task"),
            *(Column(key=f"c{i}", title=shown[i].label) for i in sorted(shown)),
        ),
        rows=tuple(
            {
                "task": runs.tasks[task],
                **{f"c{i}": _told(shown[i], task) for i in sorted(shown)},
            }
            for task in differing[:_MOST_TASKS]
        ),
        note=tuple(notes) or None,
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


def _faster(compared: Sequence[Pair]) -> Finding:
    """Compare the times of tasks that both of each pair solve."""
    answer: list[Said] = []
    ratios: list[float | None] = []
    rows = []
    for pair in compared:
        found = geometric_mean_ratio(pair.first.outcomes, pair.second.outcomes)
        best, these = found.ratio.like_these, found.ratio.these
        known = not np.isnan(best.estimate)
        ratios.append(best.estimate if known else None)
        answer.append(
            message(
                "tasks.faster",
                first=pair.first.label,
                second=pair.second.label,
                time=pair.second.time,
                ratio=Ratio(best.estimate, best.low, best.high) if known else None,
                n=best.n,
                of=best.n + found.left_out,
            )
        )
        rows.append(
            {
                "name": pair.second.label,
                "to": pair.first.label,
                "ratio": best.estimate if known else None,
                "ratio_low": best.low,
                "ratio_high": best.high,
                "these": these.estimate if these.low is not None else None,
                "these_low": these.low,
                "these_high": these.high,
                "n": best.n,
                "left_out": found.left_out,
            }
        )
    sizes = [abs(math.log(ratio)) if ratio else -1.0 for ratio in ratios]
    told = tuple(answer[i] for i in _said_of(sizes))
    table = Table(
        id="ratios",
        title=message("tasks.table.ratios", time=compared[0].second.time),
        columns=(
            Column(key="name", title="configuration"),
            Column(key="to", title="relative to"),
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
        answer=told,
        summary=told,
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
    return np.asarray(np.any([one.judged >= 0 for one in some], axis=0))


def _flaky(runs: Runs, some: Sequence[Scored]) -> Iterator[dict[str, object]]:
    for one in some:
        for task in np.flatnonzero(one.judged == MIXED).tolist():
            yield {"task": runs.tasks[task], "name": one.label, "results": _told(one, task)}
