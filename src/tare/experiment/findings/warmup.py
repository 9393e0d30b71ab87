"""Do times settle? Series of iterations, or of trials, in order of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from tare.experiment.findings import trusted
from tare.experiment.findings.cells import Cell, Cells, basis_of, cells_of
from tare.experiment.findings.comparison_summary import share
from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.finding import FindingUnit, uncompared
from tare.experiment.findings.level_names import where
from tare.experiment.results import Results
from tare.registry import Description
from tare.results import phrases
from tare.results.finding import Answer, Column, Finding, Table
from tare.results.message import Amount, Change, Chosen, Message, message
from tare.statistics.statistic import FloatArray
from tare.statistics.trust import BY_CHANCE, most_by_chance
from tare.statistics.warmup import FEWEST, WINDOW, settle, sliding_sd

_DESCRIPTION = Description(
    name="warmup",
    title="Sliding-window SD vs. that of the whole series, and change points",
    question="Do times need to warm up?",
    source="STABILITY; Barrett 2017",
)


def find(results: Results) -> Finding | None:
    """Classify the series of each cell: flat, warm-up, slowdown, no steady state."""
    basis = basis_of(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    iterations = results.experiment.iterations
    by_iteration = iterations >= FEWEST
    what = message("iterations of a worker" if by_iteration else "trials")
    rows = [_row(c, series(cells, c), cells) for c in cells.all]
    known = [r for r in rows if r["shape"] != "too short"]
    if not known:
        return uncompared(
            _DESCRIPTION,
            message(
                "nothing to compare: {least | counted('value')} are needed, a series of "
                "{what} has at most {most}",
                what=what,
                least=FEWEST,
                most=max((r["values"] for r in rows), default=0),
            ),
        )
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=tuple(_answer(known, what, cells, by_iteration=by_iteration)),
        verdict=_verdict(known),
        settle=message(phrases.SETTLE_MORE) if _verdict(known) == "inconclusive" else None,
        basis=str(basis),
        tables=(_table(rows, what, cells),),
        caveats=(
            *_shifted(known, results),
            *(
                ()
                if by_iteration
                else (
                    message(
                        "with {iterations | counted('iteration')} per trial, a warm-up inside a "
                        "trial cannot be seen. The series are those of trials",
                        iterations=iterations,
                    ),
                )
            ),
        ),
        charts=("warmup", "warmup_sd"),
    )


def series(cells: Cells, cell: Cell) -> FloatArray:
    """Values in order of time: the median worker's iterations, or the trials where those are few.

    With 20 or more iterations a trial, the i-th value is the median over trials and workers
    of the i-th iteration, relative to its worker's median.
    """
    if cells.results.experiment.iterations < FEWEST:
        return cell.trial_values
    s = cells.results.sample_table.of(cells.basis.metric, cells.basis.source)
    by_place: dict[float, list[float]] = {}
    for _, own in s.where(trial=set(cell.trials)).groups("trial", "worker"):
        relative = own["value"] / np.median(own["value"])
        for place, value in zip(own["iteration"] - own["iteration"].min(), relative, strict=True):
            by_place.setdefault(place, []).append(value)
    medians = [float(np.median(some)) for _, some in sorted(by_place.items())]
    return np.array(medians) * float(np.median(cell.trial_values))


def _row(cell: Cell, values: FloatArray, cells: Cells) -> dict[str, Any]:
    found = settle(values)
    windows = sliding_sd(values)
    steady = found.levels[-1] if found.levels else None
    begins = found.levels[0] / steady if steady and found.changes else None
    return {
        **{f: cell.levels[f] for f in cells.factors},
        "n": cell.n,
        "values": len(values),
        "shape": found.shape,
        "changes": ", ".join(str(i + 1) for i in found.changes) or None,
        "steady_from": None if found.steady_from is None else found.steady_from + 1,
        "begins": begins,
        "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "first_window": float(windows[0]) if len(windows) else None,
        "largest_window": float(windows.max()) if len(windows) else None,
    }


def _answer(
    rows: list[dict[str, Any]], what: Message, cells: Cells, *, by_iteration: bool
) -> Iterator[Message]:
    counts = Counter(r["shape"] for r in rows)
    yield message(
        "series of {what}: {shapes | listing}",
        what=what,
        shapes=[
            message(
                "{% if shape == 'flat' %}no level shift{% else %}{shape}{% endif %} in {share}",
                shape=shape,
                share=share(n, len(rows)),
            )
            for shape, n in counts.most_common()
        ],
    )
    shifted = len(rows) - counts["flat"]
    if shifted:
        yield message(
            "level shifts in {shifted}: {% if more %}more{% else %}no more{% endif %} than "
            "chance explains. Up to {chance} of steady series show one",
            shifted=share(shifted, len(rows)),
            more=shifted > most_by_chance(len(rows)),
            chance=Chosen(BY_CHANCE),
        )
    if not by_iteration and (cold := _cold(rows)) is not None:
        yield cold
        return
    moved = [r for r in rows if r["begins"] is not None and r["steady_from"] is not None]
    if moved:
        largest = max(moved, key=lambda r: abs(r["begins"] - 1))
        yield message(
            "the largest shift is for {where}: the first level is {change} {% if above %}"
            "above{% else %}below{% endif %} the last, which holds from value {steady_from} "
            "on",
            where=where({f: largest[f] for f in cells.factors}, cells.varied),
            change=Amount(abs(largest["begins"] - 1), "share"),
            above=largest["begins"] > 1,
            steady_from=largest["steady_from"],
        )


def _cold(rows: list[dict[str, Any]]) -> Message | None:
    """Say that the first trial alone took longer, of the cell where it took longest."""
    first = [r["begins"] for r in rows if r["steady_from"] == 2 and (r["begins"] or 0) > 1]
    return message(phrases.SERIES_WARMUP_COLD, times=Change(max(first))) if first else None


def _shifted(rows: list[dict[str, Any]], results: Results) -> Iterator[Message]:
    """Say that the answer is no although levels shift: that is another matter, and which."""
    if _verdict(rows) != "no":
        return
    shifted = sum(r["shape"] != "flat" for r in rows)
    if shifted:
        yield message(
            "level shifts in {shifted} are no warm-up: values do not settle at their lowest "
            "level{% if doubted %}. They make medians doubtful: see “Trust” at the top"
            "{% endif %}",
            shifted=share(shifted, len(rows)),
            doubted=trusted.line(results) is not None,
        )


def _verdict(rows: list[dict[str, Any]]) -> Answer:
    """Yes where more series warm up than chance explains, no where none does and all are steady."""
    warming = sum(r["shape"] == "warm-up" for r in rows)
    if warming > most_by_chance(len(rows)):
        return "yes"
    unsteady = sum(r["shape"] == "no steady state" for r in rows)
    return "inconclusive" if warming or unsteady > most_by_chance(len(rows)) else "no"


def _table(rows: list[dict[str, Any]], what: Message, cells: Cells) -> Table:
    u = cells.basis.unit
    columns = (
        *level_columns(cells.varied or ["workload"]),
        Column(key="n", title="trials"),
        Column(key="values", title="values in the series"),
        Column(key="shape", title="shape"),
        Column(key="changes", title="level shifts at"),
        Column(key="steady_from", title="steady from"),
        Column(key="begins", title="first level / last", unit="1"),
        Column(key="sd", title="SD of the whole", unit=u),
        Column(key="first_window", title=f"SD of the first {WINDOW}", unit=u),
        Column(key="largest_window", title=f"largest SD of {WINDOW}", unit=u),
    )
    return Table(
        title=message("Series of {what}, {basis}", what=what, basis=str(cells.basis)),
        columns=columns,
        rows=tuple({c.key: r[c.key] for c in columns} for r in rows),
        note=message(
            "Change points by penalised least squares, the penalty scaled by the "
            "autocorrelation time. Levels closer than 1 % count as one. Up to {chance} of "
            "steady series show a level shift by chance",
            chance=Chosen(BY_CHANCE),
        ),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=60, find=find)
