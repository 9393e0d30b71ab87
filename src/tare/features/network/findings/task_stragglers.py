"""Which host slows a distributed job, in its tasks: itself, or by what others wait for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tare.experiment.findings.evidence import share_estimate
from tare.experiment.findings.finding import FindingUnit, settled, uncompared
from tare.experiment.results import Results
from tare.features.network.findings.task_cells import (
    BEYOND,
    Straggler,
    TaskCell,
    TasksSeen,
    tasks_seen,
)
from tare.registry import Description
from tare.render.words import shown
from tare.results import phrases
from tare.results.finding import Column, Estimate, Finding, Table
from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.intervals import share_interval
from tare.statistics.stragglers import ERROR

QUESTION = "Which host slows the job, and why?"
_DESCRIPTION = Description(
    name="task_stragglers",
    title="Hosts that slow a distributed job: by their own tasks, or as others wait for them",
    question=QUESTION,
    source="CLOUDNET, Figures 15 and 18; binomial test, Holm 1979",
)
#: A bucket that is empty for less of the time explains nothing.
_LEAST_EMPTY = 0.05
#: Stragglers at the head.
_MOST_SUMMARY = 2


def find(results: Results) -> Finding | None:
    """Name the stragglers of each cell."""
    seen = tasks_seen(results)
    if not seen.cells and not seen.lost:
        return None
    if not seen.cells:
        return uncompared(_DESCRIPTION, _lost(seen))
    named = stragglers(seen)
    with_several = [cell for cell in seen.cells if len(cell.hosts) > 1]
    slow = {one.cell.cell for one in named}
    enough = [cell.n >= seen.fewest(cell) or cell.cell in slow for cell in with_several]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=QUESTION,
        answer=(*_answer(named), *_rest(seen, slow)),
        summary=tuple(map(_named, named[:_MOST_SUMMARY])),
        verdict=settled(enough or [False]),
        settle=None
        if all(enough)
        else message(phrases.SETTLE_TRIALS, trials=max(seen.fewest(cell) for cell in with_several)),
        estimates=tuple(map(_estimate, seen.tested)),
        tables=tuple(_tables(seen)),
        caveats=tuple(_caveats(results, seen)),
        charts=("task_timeline",),
    )


def stragglers(seen: TasksSeen) -> list[Straggler]:
    """Return those that chance does not explain, in order of cells; who is waited for first."""
    named = [one for one in seen.tested if one.p <= ERROR]
    return sorted(named, key=lambda one: (one.cell.cell, not one.sends, -one.times))


def _answer(named: Sequence[Straggler]) -> Iterator[Message]:
    """Name each, and say once for each host of a cell whether its bucket was empty."""
    told = set()
    for one in named:
        yield _named(one)
        if (one.cell.cell, one.host) not in told:
            yield _why(one)
        told.add((one.cell.cell, one.host))


def _named(one: Straggler) -> Message:
    n = one.cell.n
    about = {
        "at": one.cell.levels,
        "host": one.host,
        "times": one.times,
        "trials": n,
        "share": Amount(one.times / n, "share", *share_interval(one.times, n)),
    }
    if one.sends:
        blamed = _median(one, "blamed")
        return message(
            "{% if at %}{at}: {% endif %}host {host} is a straggler in {times} of "
            "{trials | counted('trial')} ({share}): others waited for data, {blamed} of it "
            "while its bucket was empty",
            **about,
            blamed=Amount(blamed, "share"),
        )
    own = one.cell.by_host("own_ns")[one.trials]
    others = np.nanmedian(np.delete(own, one.place, axis=1), axis=1)
    return message(
        "{% if at %}{at}: {% endif %}host {host} is a straggler in {times} of "
        "{trials | counted('trial')} ({share}): without waiting, its tasks take {factor} × "
        "as long as the others'",
        **about,
        factor=float(np.median(own[:, one.place] / others)),
    )


def _why(one: Straggler) -> Message:
    """Say whether its bucket was empty meanwhile, and those of the others were not."""
    if not one.cell.bucket:
        return message(
            "hosts have no bucket there: look at the CPU and the machine of host {host}",
            host=one.host,
        )
    empty = one.cell.by_host("empty")[one.trials]
    mine = float(np.nanmedian(empty[:, one.place]))
    others = np.nan_to_num(np.delete(empty, one.place, axis=1)).max(axis=1)
    if math.isnan(mine) or mine < _LEAST_EMPTY:
        return message(
            "the bucket of host {host} was not empty meanwhile: look at its CPU and its machine",
            host=one.host,
        )
    sent = one.cell.by_host("sent_bytes")[one.trials]
    return message(
        "the bucket of host {host} was empty in {empty} of the time of stages that read, any "
        "other's in at most {others}; it sent {sent} of all bytes",
        host=one.host,
        empty=Amount(mine, "share"),
        others=Amount(float(np.median(others)), "share"),
        sent=Amount(float(np.nanmedian(sent[:, one.place] / np.nansum(sent, axis=1))), "share"),
    )


def _median(one: Straggler, name: str) -> float:
    return float(np.nanmedian(one.cell.by_host(name)[one.trials, one.place]))


def _rest(seen: TasksSeen, slow: set[int]) -> Iterator[Message]:
    """Say where no host is a straggler."""
    single = [cell for cell in seen.cells if len(cell.hosts) < 2]
    rest = [cell for cell in seen.cells if cell.cell not in slow and cell not in single]
    if rest:
        at = [cell.levels for cell in rest if cell.levels is not None]
        yield message(
            "{% if at %}{at | listing}: {% endif %}none of {hosts | counted('host')} is a "
            "straggler in more trials than chance gives",
            at=at,
            hosts=max(len(cell.hosts) for cell in rest),
        )
    if single:
        yield message("where all tasks run on one host, none is a straggler")


def _estimate(one: Straggler) -> Estimate:
    name = (
        "share of trials in which others wait for it"
        if one.sends
        else "share of trials in which its tasks are the slowest"
    )
    levels = {} if one.cell.levels is None else one.cell.levels.levels
    trials = (one_trial.trial for one_trial in one.cell.trials)
    return share_estimate(name, {**levels, "host": str(one.host)}, one.times, one.cell.n, trials)


def _tables(seen: TasksSeen) -> Iterator[Table]:
    if not seen.tested:
        return
    several = any(cell.levels is not None for cell in seen.cells)
    heads: list[str | Column] = [
        *([Column(key="where", title="where")] if several else []),
        Column(key="host", title="host"),
        Column(key="n", title="trials"),
        Column(key="own", title="own time vs. others", unit="1"),
        Column(key="slowest", title="slowest in"),
        Column(key="slowest_p", title="p", unit="1"),
        Column(key="waiting", title="waits", unit="share"),
        Column(key="empty", title="bucket empty", unit="share"),
        Column(key="blamed", title="blamed for", unit="share"),
        Column(key="waited_for", title="waited for in"),
        Column(key="waited_for_p", title="p", unit="1"),
        Column(key="sent", title="sent", unit="bytes"),
    ]
    tested = {(one.cell.cell, one.place, one.sends): one for one in seen.tested}
    rows = [
        (*([shown(cell.levels) if cell.levels is not None else ""] if several else []),
         *_row(cell, place, *(tested.get((cell.cell, place, sends)) for sends in (False, True))))
        for cell in seen.cells if len(cell.hosts) > 1
        for place in range(len(cell.hosts))
    ]  # fmt: skip
    bucket = any(cell.bucket for cell in seen.cells)
    note = message(
        "Medians over trials. Own time: of a task, without waiting. {% if bucket %}Blamed "
        "for: share of other hosts' waiting while its bucket was empty. Slowest, waited for"
        "{% else %}Slowest{% endif %}: trials in which it is the first and {factor} the "
        "others' median. p: binomial test that all hosts lead alike (Holm)",
        factor=Chosen(BEYOND - 1, "growth"),
        bucket=bucket,
    )
    yield Table.of(message("Tasks by host"), heads, rows, note)


def _row(
    cell: TaskCell, place: int, own: Straggler | None, sends: Straggler | None
) -> Sequence[object]:
    times = cell.by_host("own_ns")
    others = _medians(np.delete(times, place, axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = times[:, place] / others
    found = {
        name: _number(_medians(cell.by_host(name)[:, place]))
        for name in ("waiting", "empty", "blamed", "sent_bytes")
    }
    return (
        str(cell.hosts[place]), cell.n, _number(_medians(ratio)),
        *((None, None) if own is None else (own.times, own.p)),
        found["waiting"], found["empty"], found["blamed"],
        *((None, None) if sends is None else (sends.times, sends.p)),
        found["sent_bytes"],
    )  # fmt: skip


def _medians(values: np.ndarray) -> np.ndarray:
    """Return the median of what is known of each row; NaN where nothing is."""
    rows = [row[np.isfinite(row)] for row in np.atleast_2d(values)]
    return np.array([np.median(row) if len(row) else np.nan for row in rows])


def _number(value: np.ndarray) -> float | None:
    return None if math.isnan(float(value[0])) else float(value[0])


def _lost(seen: TasksSeen) -> Message:
    return message(
        "the tasks of {lost} of {trials | counted('trial')} are left out: {why}",
        lost=len(seen.lost),
        trials=len(seen.lost) + sum(cell.n for cell in seen.cells),
        why=next(iter(seen.lost.values())),
    )


def _caveats(results: Results, seen: TasksSeen) -> Iterator[Message]:
    if seen.lost:
        yield _lost(seen)
    if any(not one.waiting for cell in seen.cells for one in cell.trials):
        yield message(
            "the job does not record how long tasks wait for data, so a host that sends "
            "slowly is not found"
        )
    if results.experiment.network.budget == "carry" and any(cell.bucket for cell in seen.cells):
        yield message(
            "trials share their budget: a host that one trial depletes is likely to be a "
            "straggler in the next"
        )


UNIT = FindingUnit(description=_DESCRIPTION, order=4, find=find, of_rates=True)
