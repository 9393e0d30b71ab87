"""Has every cell the good trials that were asked for? Asked where one has not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tare.experiment import Cell
from tare.findings.finding import Column, Estimate, Finding, FindingUnit, Table
from tare.findings.phrasing import at_levels, counted, listing
from tare.registry import Description
from tare.results import Results

#: By which others find it.
NAME = "completeness"
_DESCRIPTION = Description(
    name=NAME,
    title="Cells with fewer good trials than were asked for",
    question="Has every cell the trials that were asked for?",
    source="tare",
)
#: Cells that are named in a sentence; the table has all.
_MOST_NAMED = 3


@dataclass(frozen=True)
class ShortCell:
    """A cell with fewer good trials than were asked for.

    Attributes
    ----------
    levels : dict
        Of all factors.
    good, failed : int
        Trials so far, over all sessions.
    asked : int or None
        None: no number was asked for, and the cell was given up because it kept failing.
    reason : str or None
        Why its last trial failed, where one did.
    """

    levels: dict[str, str]
    good: int
    failed: int
    asked: int | None
    reason: str | None


def short_cells(results: Results) -> tuple[ShortCell, ...]:
    """Return the cells that have fewer good trials than were asked for, in the plan's order."""
    asked = results.experiment.stopping.trials
    given_up = set(results.stops.loc[results.stops["reason"] == "failed", "cell"])
    by_cell: dict[Any, pd.DataFrame] = dict(list(results.trial_table.groupby("cell", sort=False)))
    found = []
    for cell in results.planned:
        trials = by_cell.get(cell.cell, results.trial_table.iloc[:0])
        good = int((trials["status"] == "ok").sum())
        if good < asked if asked is not None else cell.cell in given_up:
            failed = trials[trials["status"] == "failed"]
            reason = None if failed.empty else str(failed["reason"].iloc[-1])
            found.append(ShortCell(cell.levels(), good, len(failed), asked, reason))
    return tuple(found)


def find(results: Results) -> Finding | None:
    """Name the cells that are short of trials, with how many they have and what failed."""
    short = short_cells(results)
    if not short:
        return None
    varied = _varied(results.planned)
    named = [_named(cell, varied) for cell in short[:_MOST_NAMED]]
    if len(short) > _MOST_NAMED:
        named.append(f"{len(short) - _MOST_NAMED} more")
    answer = (
        f"{len(short)} of {counted(len(results.planned), 'cell')} "
        f"{'has' if len(short) == 1 else 'have'} fewer good trials than were asked for: "
        f"{listing(named)}.{_last_failure(short)}"
    )
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=answer,
        verdict="no",
        summary=answer,
        estimates=tuple(
            Estimate(
                name="good trials",
                levels=cell.levels,
                value=cell.good,
                unit="1",
                method="count",
                n=cell.good + cell.failed,
            )
            for cell in short
        ),
        tables=(_table(short, varied),),
    )


def _last_failure(short: tuple[ShortCell, ...]) -> str:
    reason = next((cell.reason for cell in short if cell.reason), None)
    return "" if reason is None else f" Last failure: {reason.removesuffix('.')}."


def _varied(cells: tuple[Cell, ...]) -> list[str]:
    levels = [cell.levels() for cell in cells]
    return [f for f in levels[0] if len({some.get(f) for some in levels}) > 1] or ["workload"]


def _named(cell: ShortCell, varied: list[str]) -> str:
    where = at_levels(cell.levels, varied)
    if cell.asked is None:
        return f"{where} was given up with {cell.good} good and {cell.failed} failed"
    failed = f", {cell.failed} failed" if cell.failed else ""
    return f"{where} {cell.good} of {cell.asked}{failed}"


def _table(short: tuple[ShortCell, ...], varied: list[str]) -> Table:
    return Table(
        title=_DESCRIPTION.title,
        columns=(
            *(Column(key=f, title=f) for f in varied),
            Column(key="good", title="good trials"),
            Column(key="asked", title="asked"),
            Column(key="failed", title="failed"),
            Column(key="reason", title="last failure"),
        ),
        rows=tuple(
            {
                **{f: cell.levels[f] for f in varied},
                "good": cell.good,
                "asked": cell.asked,
                "failed": cell.failed,
                "reason": cell.reason,
            }
            for cell in short
        ),
        note="Trials that failed are repeated within their block. A cell that keeps failing, or a "
        "level with which every trial fails, is given up for the session; the next one (--resume) "
        "tries again.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=-20, find=find, of_sweeps=True, of_rates=True)
