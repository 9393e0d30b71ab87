"""How often a limit misjudges a program, and which limit rarely does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from msgspec import UNSET

from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.finding import FindingUnit, answered, settled
from tare.experiment.findings.level_names import where
from tare.experiment.findings.limit_cells import LimitCell, LimitCells, limit_cells
from tare.experiment.results import Results
from tare.registry import Description
from tare.results import phrases
from tare.results.finding import Column, Estimate, Finding, Table, columns_of, interval_columns
from tare.results.message import Amount, Chosen, Levels, Message, message
from tare.statistics.dependence import dependence_time
from tare.statistics.misjudgement import (
    BEST_OF_2,
    CONFIDENCE,
    MEDIAN_OF_3,
    ONCE,
    RULES,
    Factor,
    Rule,
    least_factor,
)
from tare.statistics.order import MOST_TAU
from tare.units import percent

#: By whether the program truly needs more than the limit.
_SEEN_TEXTS = {
    False: "limit {limit}: {share} of the runs of {where} exceed it, which truly need {value}",
    True: "limit {limit}: {share} of the runs of {where} are within it, which truly need {value}",
}
_DESCRIPTION = Description(
    name="misjudged",
    title="Programs judged wrongly by a limit, because measured values exceed true ones",
    question="How far above the intended time must a limit be?",
    source="STABILITY",
)
#: Shares of judgements that may be wrong, and the one that is advised.
CHANCES, ADVISED = (0.001, 0.01, 0.05), 0.01
#: Further judgements that are predicted.
NEXT = 1000
#: Beyond so many times the limit, or below its inverse, what a program takes more or less may be
#: another part of its time.
FAR = 3.0
_MOST_SETTINGS, _MOST_PROGRAMS = 4, 3


@dataclass(frozen=True)
class Needed:
    """What a limit must be, relative to the true value, that few judgements are wrong.

    Attributes
    ----------
    over : Factor
        A limit of the intended value times this rarely stops a program that keeps to it.
    passed : Factor
        A program of the limit times this rarely passes.
    """

    over: Factor
    passed: Factor


@lru_cache(maxsize=512)
def needed(cell: LimitCell, chance: float, rule: Rule = ONCE) -> Needed:
    """Return what a limit must be in one cell."""
    with np.errstate(divide="ignore"):
        inverse = 1 / cell.ratios
    return Needed(least_factor(cell.ratios, chance, rule), least_factor(inverse, chance, rule))


def find(results: Results) -> Finding | None:
    """Say which limit rarely misjudges, for each limit of the experiment."""
    if not results.experiment.limit:
        return None
    # Trials that were killed at their limit are counted here as what a judge does with them.
    results = results.without_killed
    found = [cells for cells in limit_cells(results) if isinstance(cells, LimitCells)]
    without = tuple(why for why in limit_cells(results) if isinstance(why, Message))
    if not found:
        return answered(
            _DESCRIPTION,
            answer=without,
            verdict="nothing to compare",
        )
    advice = [
        said for cells in found for said in (*_advice(cells, results), *_seen(cells, results))
    ]
    waiting = [
        cell
        for cells in found
        for cell in cells.all
        if _bound(cell, ADVISED) is None and cell.n < needed(cell, ADVISED).over.needs
    ]
    most = max((needed(cell, ADVISED).over.needs for cell in waiting), default=0)
    return answered(
        _DESCRIPTION,
        answer=(*advice, *(more for cells in found for more in _more(cells, results))),
        verdict=settled(_bound(cell, ADVISED) is not None for cells in found for cell in cells.all),
        advice=tuple(advice),
        settle=message(phrases.SETTLE_TRIALS, trials=most) if waiting else None,
        trials_needed=most if waiting else UNSET,
        basis=", ".join(str(cells.basis) for cells in found),
        estimates=tuple(e for cells in found for e in _estimates(cells)),
        tables=tuple(
            table
            for cells in found
            for table in (_factors(cells, results), _at_limit(cells, results))
        ),
        caveats=(*without, *(c for cells in found for c in _caveats(cells, results))),
        charts=("misjudged",),
    )


def _bound(cell: LimitCell, chance: float) -> float | None:
    return needed(cell, chance).over.bound


def _by_setting(cells: LimitCells) -> dict[tuple[tuple[str, str], ...], list[LimitCell]]:
    found: dict[tuple[tuple[str, str], ...], list[LimitCell]] = {}
    for cell in cells.all:
        found.setdefault(tuple(cell.setting.items()), []).append(cell)
    return found


def _advice(cells: LimitCells, results: Results) -> Iterator[Message]:
    """Give the factor of the worst program in each setting; of many settings, the extremes."""
    worst: list[tuple[float, LimitCell, list[LimitCell]]] = []
    few: list[LimitCell] = []
    for own in _by_setting(cells).values():
        bounds = [(_bound(cell, ADVISED), cell) for cell in own]
        known = [(bound, cell) for bound, cell in bounds if bound is not None]
        if len(known) < len(own):
            few += [cell for bound, cell in bounds if bound is None]
        else:
            bound, cell = max(known, key=lambda one: one[0])
            worst.append((bound, cell, own))
    if worst:
        worst.sort(key=lambda one: -one[0])
        shown = worst if len(worst) <= _MOST_SETTINGS else [*worst[: _MOST_SETTINGS - 1], worst[-1]]
        yield message(
            "set {% if of == 'cpu' %}CPU-time {% elif of == 'wall' %}wall-time "
            "{% elif of == 'memory' %}memory {% endif %}limits at {settings | listing}"
            "{% if more %} ({more} more settings between){% endif %}: then at most {chance} "
            "of runs that need the intended {what} are misjudged",
            what=_what(cells),
            of=cells.limit.of,
            chance=Chosen(ADVISED),
            settings=[
                message(
                    "{factor}{% if what %} the intended {what}{% endif %}{% if limit %} ("
                    "{limit}){% endif %} {where}",
                    factor=_times(bound),
                    limit=_limit(bound, own, cells),
                    what=_what(cells) if not i else None,
                    where=_place(cell, results),
                )
                for i, (bound, cell, own) in enumerate(shown)
            ],
            more=len(worst) - len(shown),
        )
    stopped = [cell for cell in few if cell.n >= needed(cell, ADVISED).over.needs]
    if stopped:
        yield message(
            "more than {chance} of the runs of {where}{% if more %}, and "
            "{more | counted('more cell')},{% endif %} may have been stopped: no limit is "
            "wide enough",
            chance=Chosen(ADVISED),
            where=_place(stopped[0], results, whole=True),
            more=len(stopped) - 1,
        )
    few = [cell for cell in few if cell.n < needed(cell, ADVISED).over.needs]
    if few:
        least = min(few, key=lambda cell: cell.n)
        loose = max(CHANCES)
        bounds_of = [_bound(cell, loose) for cell in few]
        known_of = [bound for bound in bounds_of if bound is not None]
        highest = max(known_of) if len(known_of) == len(few) else None
        yield message(
            "{n | counted('trial')} cannot show that at most {chance} are misjudged, which "
            "needs {needs}{% if factor %}; they show at most {loose} for limits at {factor} "
            "the intended {what}{% if limit %} ({limit}){% endif %}{% endif %}",
            what=_what(cells),
            chance=Chosen(ADVISED),
            n=least.n,
            needs=needed(least, ADVISED).over.needs,
            loose=Chosen(loose),
            factor=None if highest is None else _times(highest),
            limit=None if highest is None else _limit(highest, few, cells),
        )
    yield from _dependent(cells, results)


def _limit(factor: float, own: Sequence[LimitCell], cells: LimitCells) -> Amount | None:
    """Return a limit itself, where all programs that it is for need the same."""
    true = {cell.true_value for cell in own}
    return Amount(factor * true.pop(), cells.basis.unit) if len(true) == 1 else None


def _more(cells: LimitCells, results: Results) -> Iterator[Message]:
    """Say where truth comes from, what slips through, what repeating brings."""
    quiet = {str(cell.quietest): cell.quietest for cell in cells.all if cell.quietest is not None}
    if quiet:
        some = list(quiet.values())[:_MOST_PROGRAMS]
        yield message(
            "the true value is the median of the least disturbed cell: {cells | join(', ')}"
            "{% if more %}, and {more} more{% endif %}",
            cells=some,
            more=len(quiet) - len(some),
        )
    else:
        yield message(
            "the true time is the one of the program itself: {metric | metric}",
            metric=results.experiment.true_time,
        )
    known = [cell for cell in cells.all if _bound(cell, ADVISED) is not None]
    if known:
        yield from _of_worst(
            max(known, key=lambda cell: _bound(cell, ADVISED) or 0), cells, results
        )


def _of_worst(cell: LimitCell, cells: LimitCells, results: Results) -> Iterator[Message]:
    """Say what the limit of the worst cell lets through, and what it is for repeated runs."""
    both, place = needed(cell, ADVISED), _place(cell, results)
    once = both.over.bound
    best, middle = (needed(cell, ADVISED, rule).over.bound for rule in (BEST_OF_2, MEDIAN_OF_3))
    if once is None or best is None or middle is None:
        return
    if both.passed.bound is not None:
        yield message(
            "with limits at {factor} the intended {what} {where}, at most {chance} of the "
            "runs are accepted that truly need {caught} or more",
            what=_what(cells),
            factor=_times(once),
            where=place,
            caught=_times(once * both.passed.bound),
            chance=Chosen(ADVISED),
        )
    yield message(
        "{where}, if runs are independent, limits for the best of 2 runs are {best}, for the "
        "median of 3, {middle}, and for one, {once}",
        where=place,
        best=_times(best),
        middle=_times(middle),
        once=_times(once),
    )


def _seen(cells: LimitCells, results: Results) -> Iterator[Message]:
    """Yield sentences on the measured programs that a limit misjudges most often."""
    limit = cells.limit.value
    for is_beyond in (False, True):
        some = [cell for cell in cells.all if (cell.true_value > limit) is is_beyond]
        if not some:
            continue
        # Programs that need more are misjudged by the runs within the limit.
        sign = -1 if is_beyond else 1
        worst = max(some, key=lambda cell: sign * float(cell.over(limit).estimate[0]))
        over = worst.over(limit)
        ends = [float(end[0]) for end in (over.estimate, over.low, over.high)]
        if is_beyond:
            ends = [1 - ends[i] for i in (0, 2, 1)]
        yield message(
            _SEEN_TEXTS[is_beyond],
            share=Amount(ends[0], "share", *ends[1:]),
            where=_place(worst, results, whole=True),
            value=Amount(worst.true_value, cells.basis.unit),
            limit=Chosen(limit, cells.basis.unit),
        )


def _what(cells: LimitCells) -> str:
    return "memory" if cells.basis.unit == "bytes" else "time"


def _times(factor: float) -> str:
    """Write a factor on a limit, rounded up: a smaller one would misjudge more."""
    return f"{np.ceil(factor * 100 - 1e-9) / 100:.2f} ×"


def _place(cell: LimitCell, results: Results, *, whole: bool = False) -> Levels:
    """Name a cell's setting; whole: its workload as well."""
    named = where(cell.levels, results.varied)
    return named if whole else Levels(_setting_of(named.levels, cell))


def _setting_of(named: Mapping[str, str], cell: LimitCell) -> dict[str, str]:
    kept = {f: level for f, level in named.items() if f in cell.setting}
    return kept or {"platform": cell.levels["platform"]}


def _estimates(cells: LimitCells) -> Iterator[Estimate]:
    for cell in cells.all:
        found = needed(cell, ADVISED).over
        yield Estimate(
            name=f"limit / true value that at most {percent(ADVISED)} of executions exceed",
            levels=dict(cell.levels),
            value=found.estimate,
            unit="1",
            high=found.bound,
            confidence=CONFIDENCE,
            method="Clopper–Pearson bound of the share above, trials as replicates",
            n=cell.n,
            trials=cell.trials,
        )


def _factors(cells: LimitCells, results: Results) -> Table:
    """Lay out the least factors, a row a cell and rule."""
    factors = results.varied or ["workload"]
    columns = (
        *level_columns(factors),
        *columns_of(n="trials", rule="judged by"),
        *(
            Column(key=f"over_{chance:g}", title=f"limit for {chance:.1%}", unit="1")
            for chance in CHANCES
        ),
        Column(key="passed", title="caught from", unit="1"),
    )
    rows = []
    for cell in cells.all:
        for rule in RULES:
            over = {chance: needed(cell, chance, rule).over.bound for chance in CHANCES}
            passed = needed(cell, ADVISED, rule).passed.bound
            limit = over[ADVISED]
            caught = None if limit is None or passed is None else limit * passed
            levels = [cell.levels[f] for f in factors]
            rows.append((*levels, cell.n, rule.name, *over.values(), caught))
    return Table.of(
        message("Limit relative to the true value, {basis}", basis=str(cells.basis)),
        columns,
        rows,
        id="factors",
        note=message(
            "Upper bounds with 95 % confidence, by the largest share of runs that may be "
            "misjudged; blank: too few trials. Caught from: of runs that really need so many "
            "times the intended value, at most {chance} are accepted",
            chance=Chosen(ADVISED),
        ),
    )


def _at_limit(cells: LimitCells, results: Results) -> Table:
    """Lay out how often each program was over the limit."""
    factors = results.varied or ["workload"]
    unit = cells.basis.unit
    columns = (
        *level_columns(factors),
        Column(key="true", title="true value", unit=unit),
        *columns_of(executions="executions", over="over the limit"),
        *interval_columns("share", "share", "share", "share_"),
        Column(key="next_low", title=f"of the next {NEXT:,}: from"),
        Column(key="next_high", title="to"),
    )
    rows = []
    for cell in cells.all:
        over = cell.over(cells.limit.value)
        low, high = over.next(NEXT, cell.values.size)
        counted = cell.values.size, int((cell.values > cells.limit.value).sum())
        share = (float(end[0]) for end in (over.estimate, over.low, over.high))
        following = int(np.floor(NEXT * low[0])), int(np.ceil(NEXT * high[0]))
        levels = [cell.levels[f] for f in factors]
        rows.append((*levels, cell.true_value, *counted, *share, *following))
    return Table.of(
        message("Runs judged by the limit of {limit}", limit=Chosen(cells.limit.value, unit)),
        columns,
        rows,
        id="at_limit",
        note=message("Intervals count trials as replicates, whatever runs in them"),
    )


def _caveats(cells: LimitCells, results: Results) -> Iterator[Message]:
    """Say what the answer supposes, where it may not hold."""
    far = [cell for cell in cells.all if not 1 / FAR <= cell.true_value / cells.limit.value <= FAR]
    if far:
        furthest = max(far, key=lambda c: abs(np.log(c.true_value / cells.limit.value)))
        yield message(
            "{where} needs {value}, far from the limit of {limit}: starting weighs "
            "differently near the limit. Measure programs that need about as much",
            value=Amount(furthest.true_value, cells.basis.unit),
            where=_place(furthest, results, whole=True),
            limit=Chosen(cells.limit.value, cells.basis.unit),
        )


def _dependent(cells: LimitCells, results: Results) -> Iterator[Message]:
    """Say where trials are worth less than they are many, by which bounds count them."""
    times = [
        (dependence_time(cell.values.mean(axis=1)), cell)
        for cell in cells.all
        if np.isfinite(cell.values).all()
    ]
    dependent = [one for one in times if one[0] > MOST_TAU]
    if dependent:
        tau, cell = max(dependent, key=lambda one: one[0])
        yield message(
            "trials of {where} are autocorrelated, {n} count as about {worth}: limits that "
            "so many show may be too low, and a repetition at once brings less",
            n=cell.n,
            worth=max(1, round(cell.n / tau)),
            where=_place(cell, results, whole=True),
        )


UNIT = FindingUnit(description=_DESCRIPTION, order=8, find=find, killed="used")
