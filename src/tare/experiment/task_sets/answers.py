"""What a set of tasks answers: which configuration is best, how runs ended, and scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tare.experiment.task_sets import phrases
from tare.experiment.task_sets.outcomes import (
    MIXED,
    RESULTS,
    SOLVED,
    Measure,
    Pair,
    Result,
    Scored,
    several,
)
from tare.experiment.task_sets.ranking import ALPHA, Ranking, Versus
from tare.results.finding import Answer, Column, Finding, Table, interval_columns
from tare.results.message import Amount, Message, Ratio, Said, message
from tare.statistics.intervals import Interval
from tare.statistics.scores import IntArray, penalised_mean, share_solved
from tare.units import p_value

_BEST_TEXTS = {
    "ahead": "{name} {leads}; {measured}",
    "faster": (
        "{name} is {% if is_time %}faster{% else %}better{% endif %} than {other}: {measured}"
        "; it {leads}"
    ),
    "alike": "{name} and {other} cannot be distinguished: {name} {leads}; {measured}",
}

#: Configurations and pairs that have sentences of their own; the tables have all.
_MOST_SAID = 4
#: Ways to end that a row of the table of configurations names.
_MOST_KINDS = 2
#: Tasks that a table of a section names; the large table has all.
_MOST_TASKS = 50
#: PAR2 counts the time of an unsolved task as its limit times this factor.
PENALTY = 2.0
#: Answers by expected answer, in the order of columns.
KINDS = ("correct true", "correct false", "wrong true", "wrong false")


def findings(
    some: Sequence[Scored],
    tasks: Sequence[str],
    ranking: Ranking | None,
    compared: Sequence[Pair],
) -> list[Finding]:
    """Return the answers, in reading order; the best configuration stands first.

    Parameters
    ----------
    some : sequence of Scored
    tasks : sequence of str
        Names of all tasks.
    ranking : Ranking or None
        None where nothing is compared.
    compared : sequence of Pair
        Pairs of the ranking that tables and pictures show.
    """
    if ranking is None:
        found = [solved(some)]
    else:
        versus = [ranking.of(pair) for pair in compared]
        found = [best(ranking), _changed(versus, tasks), solved(some), _faster(versus)]
    if several(some):
        found.append(_unsteady(some, tasks))
    return found


def best(ranking: Ranking) -> Finding:
    """Answer which configuration is best, and by how much."""
    clear = bool(ranking.tiers) and len(ranking.tiers[0]) == 1
    answer = headline(ranking)
    return Finding(
        name="best",
        question=message("Which is best?"),
        closed=False,
        verdict="yes" if clear else "inconclusive",
        answer=answer,
        summary=answer,
        settle=None if clear else message("more tasks of the same kind"),
        caveats=(
            message(
                "Best: {% if scores %}scores more{% else %}solves more{% endif %}, else is "
                "faster on tasks that both solve and does not {% if scores %}score{% else %}solve"
                "{% endif %} less. At 5 %{% if n > 1 %} of all {n} pairs together (Holm)"
                "{% endif %}",
                n=len(ranking.versus),
                scores=ranking.by_score,
            ),
        ),
    )


def headline(ranking: Ranking) -> tuple[Message, ...]:
    """Say which of two is better, or rank several; by pairs where not all are compared."""
    if len(ranking.versus) == 1:
        return (between(ranking.versus[0]),)
    count = len(ranking.order)
    if len(ranking.versus) < count * (count - 1) // 2:
        order = sorted(ranking.versus, key=lambda one: (one.better is None, one.p_solved))
        more = len(order) - _MOST_SAID
        further = (
            [
                message(
                    "{n | counted('more pair')} {% if n == 1 %}is{% else %}are{% endif %} in the "
                    "table of pairs",
                    n=more,
                )
            ]
            if more > 0
            else []
        )
        return (*map(between, order[:_MOST_SAID]), *further)
    first, *others = ranking.tiers
    if len(first) > 1:
        leading = [_with_number(one, by_score=ranking.by_score) for one in first[:_MOST_SAID]]
        said = message(
            "which is best is inconclusive over {of | counted('task')}{% if runs > of %} ({runs} "
            "runs){% endif %}: "
            "{% for one in leading %}{one}{% if not loop.last %}, {% endif %}{% endfor %}"
            "{% if more %} and {more} others{% endif %}{% if n > leading | length + more %}; "
            "the others are worse{% endif %}",
            leading=leading,
            more=len(first) - len(leading),
            of=int(np.count_nonzero(first[0].outcomes.runs)),
            runs=_runs(first[0]),
            n=count,
        )
    else:
        said = message(
            "{name} is the best of {n}: {versus}",
            name=first[0].label,
            n=count,
            versus=between(_next(ranking), "it"),
        )
    tiers = [
        message(
            "{% if names | length + more > 1 %}{names | listing}{% if more %} and {more} more"
            "{% endif %} (not distinguished){% else %}{names[0]}{% endif %}",
            names=[_with_number(one, by_score=ranking.by_score) for one in tier[:_MOST_SAID]],
            more=max(0, len(tier) - _MOST_SAID),
        )
        for tier in others[:_MOST_SAID]
    ]
    left = sum(map(len, others[_MOST_SAID:]))
    return (
        said,
        *(
            [
                message(
                    "then {% for tier in tiers %}{tier}{% if not loop.last %}; {% endif %}"
                    "{% endfor %}"
                    "{% if more %}; {more | counted('more configuration')}{% endif %}",
                    tiers=tiers,
                    more=left,
                )
            ]
            if tiers
            else []
        ),
    )


def _next(ranking: Ranking) -> Versus:
    return ranking.of(Pair(*ranking.order[:2]))


def _with_number(one: Scored, *, by_score: bool) -> Message:
    points = score(one.score) if by_score and one.score is not None else None
    return message(
        "{name} ({solved} solved{% if score %}, score {score}{% endif %})",
        name=one.label,
        solved=_solved(one),
        score=points,
    )


def _solved(one: Scored) -> int:
    return int(one.outcomes.times_solved.sum())


def _runs(one: Scored) -> int:
    return int(one.outcomes.runs.sum())


def between(one: Versus, subject: str | None = None) -> Message:
    """Say by how much the better of two is ahead, the second where none is better.

    ``subject``: what stands for its name, where the name was said.
    """
    first, second = one.pair.first, one.pair.second
    if not one.tasks:
        return message(
            "{name} and {other} have no task in common: nothing can be compared",
            name=first.label,
            other=second.label,
        )
    ratio = one.ratio.ratio.like_these
    ahead = one.better or (first if one.lead < 0 else second)
    turned = ahead is first
    other = (second if turned else first).label
    tasks = one.tasks
    by_time = one.better is not None and one.p_solved >= ALPHA
    p = None if one.p is None else p_value(one.p)
    if one.scores is not None:
        scores = [score(points) for points in (one.scores if turned else one.scores[::-1])]
        leads = message(
            "scores {scores[0]}, {other} {scores[1]}{% if p %} ({p}){% endif %}",
            scores=scores,
            other=other,
            p=p,
        )
    else:
        net = one.gained - one.lost
        leads = message(
            "solves {% if more > 0 %}{more} more{% elif more < 0 %}{-more} fewer{% else %}as "
            "many{% endif %}{% if often %} more often{% endif %}{% if tasks %} of "
            "{tasks | counted('task')}{% endif %}{% if other %} {% if more %}than{% else %}as"
            "{% endif %} {other}{% endif %}{% if p %} ({p}){% endif %}",
            more=-net if turned else net,
            often=max(first.trials, second.trials) > 1,
            tasks=None if by_time else tasks,
            other=other if one.better is not None and not by_time else None,
            p=p,
        )
    measured = message("no task is solved by both")
    if not np.isnan(ratio.estimate):
        measured = message(
            "{time} {ratio} on the {n}{% if tasks %} of {tasks | counted('task')}{% endif %} "
            "that both solve",
            time=first.time.title,
            ratio=_turned(ratio) if turned else Ratio(ratio.estimate, ratio.low, ratio.high),
            n=ratio.n,
            tasks=tasks if by_time else None,
        )
    return message(
        _BEST_TEXTS["alike" if one.better is None else "faster" if by_time else "ahead"],
        name=subject or ahead.label,
        other=other,
        leads=leads,
        measured=measured,
        is_time=first.time.is_time,
    )


def score(points: float) -> str:
    """Write a score, with a fraction only where it has one."""
    return f"{points:,.0f}".replace("-", "−") if points == round(points) else f"{points:,.1f}"


def _turned(i: Interval) -> Ratio:
    low, high = (None if bound is None else 1 / bound for bound in (i.high, i.low))
    return Ratio(1 / i.estimate, low, high)


def solved(some: Sequence[Scored]) -> Finding:
    """Say how many tasks each configuration solves, and how the others end."""
    said = [_says(one, named=len(some) > 1) for one in some[:_MOST_SAID]]
    more = len(some) - len(said)
    answer = (
        *said,
        *(
            [
                message(
                    "{n | counted('more configuration')} {% if n == 1 %}is{% else %}are"
                    "{% endif %} in "
                    "the table",
                    n=more,
                )
            ]
            if more > 0
            else []
        ),
    )
    kinds = any(one.kinds for one in some)
    return Finding(
        name="solved",
        question=message("How many tasks are solved?"),
        closed=False,
        verdict="none",
        answer=answer,
        # Of several, the table has them.
        summary=answer if len(some) == 1 else None,
        tables=(_kinds(some),) if kinds else (),
    )


def configurations(some: Sequence[Scored]) -> Table:
    """Return a row for each configuration: its results, and its scores."""
    rows = [_row(one) for one in some]
    known = any(row.get("par2") is not None for row in rows)
    runs = {_runs(one) for one in some}
    time = some[0].time
    measured = [
        (place, one)
        for place, one in enumerate(some[0].measures)
        if place and any(row.get(f"median_{place}") is not None for row in rows)
    ]
    return Table(
        id="configurations",
        title=message(
            "Configurations{% if several %}, runs of all trials{% endif %}", several=several(some)
        ),
        columns=(
            Column(key="name", title="configuration"),
            *(
                [Column(key="tasks", title="runs" if several(some) else "tasks", unit="1")]
                if len(runs) > 1
                else []
            ),
            Column(key="count", title="solved", unit="1"),
            *interval_columns("solved", "share", "share", "solved_"),
            Column(key="others", title="others"),
            *([Column(key="score", title="score", unit="1")] if _has(rows, "score") else []),
            Column(key="median_0", title=f"median {time.title}", unit=time.unit),
            *(interval_columns("par2", f"PAR2, {time.title}", time.unit, "par2_") if known else ()),
            *(
                Column(key=f"median_{place}", title=f"median {one.title}", unit=one.unit)
                for place, one in measured
            ),
        ),
        rows=tuple(rows),
        note=(
            message(
                "{% if known %}PAR2: mean time, where a task that is not solved counts as twice "
                "its limit{% else %}No PAR2: no time limit is known{% endif %}",
                known=known,
            ),
            message(
                "Intervals are for inputs like these: also where all of these are solved, others "
                "may not be"
            ),
        ),
    )


def _has(rows: Iterable[dict[str, object]], key: str) -> bool:
    return any(row.get(key) is not None for row in rows)


def _says(one: Scored, *, named: bool) -> Message:
    outcomes = one.outcomes
    runs = _runs(one)
    return message(
        "{% if name %}{name}: {% endif %}{solved} of {of} {% if runs %}runs are solved"
        "{% else %}tasks are solved{% endif %}{% if share %} ({share}){% endif %}"
        "{% if others %}; {others | listing}{% endif %}",
        name=one.label if named else None,
        solved=_solved(one),
        of=runs,
        runs=one.trials > 1,
        share=_amount(share_solved(outcomes).like_these, "share") if runs else None,
        others=_counted(_others(one)),
    )


def _others(one: Scored) -> dict[Result, int]:
    """Count the runs that do not solve their task, by how they end."""
    return {
        name: int(one.counts[i])
        for i, name in enumerate(RESULTS)
        if one.counts[i] and name not in SOLVED
    }


def _counted(ends: Mapping[Result, int]) -> list[Message]:
    return [
        message("{n} {result}", n=n, result=message(phrases.RESULT_TEXTS[name]))
        for name, n in ends.items()
    ]


def _in_short(ends: Mapping[Result, int]) -> Message | None:
    """Name the most frequent ways to end, and count the other runs."""
    most = dict(sorted(ends.items(), key=lambda one: -one[1])[:_MOST_KINDS])
    left = sum(ends.values()) - sum(most.values())
    return (
        message(
            "{counts | join(', ')}{% if more %}, {more} otherwise{% endif %}",
            counts=_counted(most),
            more=left,
        )
        if most
        else None
    )


def _row(one: Scored) -> dict[str, object]:
    outcomes = one.outcomes
    share = share_solved(outcomes).like_these
    row: dict[str, object] = {
        "name": one.label,
        "tasks": _runs(one),
        "count": _solved(one),
        "solved": share.estimate,
        "solved_low": share.low,
        "solved_high": share.high,
        "others": _in_short(_others(one)),
        **{name: int(one.counts[i]) for i, name in enumerate(RESULTS)},
        "score": one.score,
        "median": _median(one, one.time),
        **{f"median_{i}": _median(one, m) for i, m in enumerate(one.measures)},
        # Of many rows, a terminal shows those that differ most and least from all solved.
        "ratio": (1 + _runs(one)) / (1 + _solved(one)),
    }
    if one.time.limit is not None:
        score = penalised_mean(outcomes, one.time.limit, PENALTY).like_these
        row |= {"par2": score.estimate, "par2_low": score.low, "par2_high": score.high}
    return row


def _median(one: Scored, measure: Measure) -> float | None:
    """Return the median of a measure over all runs that solve their task."""
    values = one.outcomes_by(measure)
    known = values.time[values.solved & values.counted & ~np.isnan(values.time)]
    return float(np.median(known)) if len(known) else None


def _kinds(some: Sequence[Scored]) -> Table:
    """Return a row for each configuration: answers by what was expected."""
    return Table(
        id="answers",
        title=message("Answers by what is right"),
        columns=(
            Column(key="name", title="configuration"),
            *(Column(key=kind, title=kind, unit="1") for kind in KINDS),
        ),
        rows=tuple(
            {"name": one.label, **{kind: one.kinds.get(kind, 0) for kind in KINDS}} for one in some
        ),
        note=message(
            "Wrong true: the property does not hold. Score, by SV-COMP's rules: 2, 1, −32 "
            "and −16 points, 0 for others"
        ),
    )


def _amount(interval: Interval, unit: str) -> Amount:
    return Amount(interval.estimate, unit, interval.low, interval.high)


def _changed(versus: Sequence[Versus], tasks: Sequence[str]) -> Finding:
    """Say which tasks end differently than with what each configuration is compared with."""
    shown = _said_of([one.differ for one in versus])
    answer: list[Said] = [_differs(versus[i]) for i in shown]
    differing = np.flatnonzero(np.any([one.pair.different for one in versus], axis=0))
    if len(versus) > len(answer):
        answer.append(
            message(
                "{n | counted('more pair')} that differ{% if n == 1 %}s{% endif %} no more than "
                "these in the table of pairs",
                n=len(versus) - len(answer),
            )
        )
    return Finding(
        name="changed",
        question=message("Which tasks end differently?"),
        closed=False,
        verdict="yes" if len(differing) else "no",
        answer=tuple(answer),
        summary=tuple(answer),
        tables=(
            *((_pairs(versus),) if len(versus) > 1 else ()),
            *((_different_tasks(versus, tasks, differing),) if len(differing) else ()),
        ),
    )


def _said_of(sizes: Sequence[float]) -> list[int]:
    """Return which of many pairs have sentences: those that differ most, in their order."""
    return sorted(sorted(range(len(sizes)), key=lambda i: -sizes[i])[:_MOST_SAID])


def _differs(one: Versus) -> Message:
    first, second = one.pair.first, one.pair.second
    return message(
        "{n or 'none'} of {of | counted('task')} end{% if n <= 1 %}s{% endif %} differently "
        "with {second} than with {first}{% if n %}: {% if gained or lost %}{second} solves "
        "{gained or 'none'} {% if often %}more often{% else %}more{% endif %} and "
        "{lost or 'none'} less{% if often %} often{% endif %} ({p}){% else %}none is solved "
        "{% if often %}more often {% endif %}by one of them{% if not often %} alone"
        "{% endif %}{% endif %}{% if believed is not none %}; {% if believed %}{believed} of "
        "them can be believed to differ{% else %}of none of them alone can it be believed"
        "{% endif %}{% endif %}{% endif %}{% if missing %}; {missing} ran with one of them "
        "only{% endif %}",
        first=first.label,
        second=second.label,
        n=one.differ,
        of=one.tasks,
        gained=one.gained,
        lost=one.lost,
        often=max(first.trials, second.trials) > 1,
        p=None if one.p_of_solved is None else p_value(one.p_of_solved),
        believed=one.believed,
        missing=one.alone,
    )


def _pairs(versus: Sequence[Versus]) -> Table:
    """Return a row for each pair: what is compared with what."""
    apart = any(one.pair.apart for one in versus)
    return Table(
        id="pairs",
        title=message("What is compared with what"),
        columns=(
            Column(key="name", title="configuration"),
            Column(key="to", title="relative to"),
            Column(key="tasks", title="tasks", unit="1"),
            Column(key="differ", title="end differently", unit="1"),
            Column(key="gained", title="solved more often", unit="1"),
            Column(key="lost", title="less often", unit="1"),
            Column(key="p", title="p"),
            Column(key="better", title="better"),
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
                "better": None if one.better is None else one.better.label,
            }
            for one in versus
        ),
        note=message(
            "p: how often chance alone makes such a difference in {% if scores %}scores"
            "{% else %}what is solved{% endif %}. {% if apart %}Tasks are a sample: the "
            "exact test in which either may be ahead in each, weighted by how much{% else %}"
            "With several trials, on these inputs; with one, on inputs like these{% endif %}",
            apart=apart,
            scores=versus[0].scores is not None,
        ),
    )


def _different_tasks(versus: Sequence[Versus], tasks: Sequence[str], differing: IntArray) -> Table:
    compared = [one.pair for one in versus]
    shown = {one.number: one for pair in compared for one in (pair.first, pair.second)}
    believed = any(not p.apart and min(p.first.trials, p.second.trials) > 1 for p in compared)
    notes = (
        [
            message(
                "Can be believed: the runs of all tasks together say so; of tasks that are "
                "believed "
                "to differ, 5 % do not"
            )
        ]
        if believed
        else []
    )
    if len(differing) > _MOST_TASKS:
        notes.insert(
            0, message("{shown} tasks are shown here, all of them below", shown=_MOST_TASKS)
        )
    # Where more pairs differ, more is to be seen.
    pairs_that_differ = np.sum([pair.different for pair in compared], axis=0)[differing]
    order = differing[np.argsort(-pairs_that_differ, kind="stable")]
    return Table(
        id="changed",
        title=message("Tasks that end differently"),
        columns=(
            Column(key="task", title="task"),
            *(Column(key=f"c{i}", title=shown[i].label) for i in sorted(shown)),
        ),
        rows=tuple(
            {
                "task": tasks[task],
                **{f"c{i}": _told(shown[i], task) for i in sorted(shown)},
            }
            for task in order[:_MOST_TASKS]
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
    results = [message(phrases.RESULT_TEXTS[RESULTS[names[i]]]) for i in order]
    return message(
        "{% for result in results %}{% if counts %}{counts[loop.index0]} × {% endif %}"
        "{result}{% if not loop.last %}, {% endif %}{% endfor %}",
        results=results,
        counts=[int(counts[i]) for i in order] if len(own) > 1 else [],
    )


def _faster(versus: Sequence[Versus]) -> Finding:
    """Compare what tasks take that both of each pair solve, a measure at a time."""
    answer: list[Said] = []
    sizes: list[float] = []
    rows: list[dict[str, object]] = []
    for one in versus:
        first, second = one.pair.first, one.pair.second
        ratio = one.ratio.ratio.like_these
        known = not np.isnan(ratio.estimate)
        sizes.append(abs(math.log(ratio.estimate)) if known else -1.0)
        answer.append(
            message(
                "{% if ratio %}{second}: {time} {ratio} relative to {first}, geometric mean "
                "over {n | counted('task')} that both solve, of {of}{% else %}none of "
                "{of | counted('task')} is solved by both {first} and {second}{% endif %}",
                first=first.label,
                second=second.label,
                time=second.time.title,
                ratio=Ratio(ratio.estimate, ratio.low, ratio.high) if known else None,
                n=ratio.n,
                of=ratio.n + one.ratio.left_out,
            )
        )
        rows += _ratio_rows(one)
    chosen = _said_of(sizes)
    killed = [said for i in chosen if (said := _with_killed(versus[i])) is not None]
    told = (*(answer[i] for i in chosen), *killed)
    table = Table(
        id="ratios",
        title=message("Tasks that both solve, geometric mean of ratios"),
        columns=(
            Column(key="name", title="configuration"),
            Column(key="to", title="relative to"),
            Column(key="measure", title="of"),
            *interval_columns("ratio", "on inputs like these", "ratio", "ratio_"),
            Column(key="p", title="p after Holm", unit="1"),
            *interval_columns("these", "on these inputs", "ratio", "these_"),
            Column(key="n", title="tasks", unit="1"),
            Column(key="left_out", title="left out", unit="1"),
            *(
                [Column(key="with_killed", title="with those out of time")]
                if any(row["with_killed"] is not None for row in rows)
                else []
            ),
        ),
        rows=tuple(rows),
        note=message(
            "On inputs like these: tasks are a sample. On these inputs: only trials vary, of "
            "which two a task are needed"
        ),
    )
    return Finding(
        name="faster",
        question=message("Which configuration is faster?"),
        closed=False,
        verdict="none",
        answer=told,
        # Of a single pair, the first sentence of all has it.
        summary=(told if len(versus) > 1 else tuple(killed)) or None,
        tables=(table,),
    )


def _with_killed(one: Versus) -> Message | None:
    """Compare the scored time over tasks that one of two solves, the other out of time or not."""
    found = one.ratios[0].with_killed
    if found is None:
        return None
    return message(
        "{second} relative to {first}, the {killed} that {% if killed == 1 %}is{% else %}are"
        "{% endif %} out of time counted as longer: {time} {ratio}, Hodges–Lehmann median of "
        "{n | counted('task')}",
        first=one.pair.first.label,
        second=one.pair.second.label,
        time=one.pair.second.time.title,
        ratio=Ratio.of(found.ratio, found.low, found.high),
        killed=sum(found.killed),
        n=found.n,
    )


def _ratio_rows(one: Versus) -> Iterator[dict[str, object]]:
    for of in one.ratios:
        ratio, killed = of.found, of.with_killed
        like, these = ratio.ratio.like_these, ratio.ratio.these
        known = not np.isnan(like.estimate)
        if known or of is one.ratios[0]:
            yield {
                "name": one.pair.second.label,
                "to": one.pair.first.label,
                "measure": of.measure.title,
                "ratio": like.estimate if known else None,
                "ratio_low": like.low,
                "ratio_high": like.high,
                "p": None if ratio.p is None else of.p,
                "these": these.estimate if these.low is not None else None,
                "these_low": these.low,
                "these_high": these.high,
                "n": like.n,
                "left_out": ratio.left_out,
                "with_killed": None
                if killed is None
                else Ratio.of(killed.ratio, killed.low, killed.high),
            }


def _unsteady(some: Sequence[Scored], tasks: Sequence[str]) -> Finding:
    """Say which tasks end now so, now otherwise, with one configuration."""
    rows = list(_flaky(some, tasks))
    count = len({row["task"] for row in rows})
    ran = np.any([one.judged >= 0 for one in some], axis=0)
    said = message(
        "{% if n %}{n} of {of} tasks end{% if n == 1 %}s{% endif %} differently from trial "
        "to trial{% else %}each task ends alike in all of its trials{% endif %}",
        n=count,
        of=int(np.sum(ran)),
    )
    verdict: Answer = "yes" if rows else "no"
    return Finding(
        name="unsteady",
        question=message("Do tasks end differently from trial to trial?"),
        closed=True,
        verdict=verdict,
        answer=said,
        summary=said if rows else None,
        tables=(
            Table(
                id="unsteady",
                title=message("Tasks with several results"),
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


def _flaky(some: Sequence[Scored], tasks: Sequence[str]) -> Iterator[dict[str, object]]:
    for one in some:
        for task in np.flatnonzero(one.judged == MIXED).tolist():
            yield {"task": tasks[task], "name": one.label, "results": _told(one, task)}
