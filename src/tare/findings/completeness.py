"""Has every cell the good trials that were asked for? Asked where one has not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pandas as pd

from tare.experiment import Cell
from tare.findings.failures import Failure, failures, reasons
from tare.findings.finding import FindingUnit
from tare.findings.phrasing import at_levels
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Column, Estimate, Finding, Table
from tare.units import counted, percent

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
    cell : int
        Its number.
    levels : dict
        Of all factors.
    good, failed : int
        Trials so far, over all sessions.
    asked : int or None
        None: no number was asked for, and the cell was given up because it kept failing.
    failures : tuple of Failure
        Why trials failed, the most frequent reason first.
    given_up : bool
        Whether it was stopped because it kept failing.
    """

    cell: int
    levels: dict[str, str]
    good: int
    failed: int
    asked: int | None
    failures: tuple[Failure, ...]
    given_up: bool

    @property
    def reason(self) -> str | None:
        """Why its trials failed, in words; None: none did."""
        return reasons(self.failures) if self.failures else None


def short_cells(results: Results) -> tuple[ShortCell, ...]:
    """Return the cells that have fewer good trials than were asked for, in the plan's order."""
    asked = results.experiment.stopping.trials
    stopped = set(results.stops.loc[results.stops["reason"] == "failed", "cell"])
    by_cell: dict[Any, pd.DataFrame] = dict(list(results.trial_table.groupby("cell", sort=False)))
    found = []
    for cell in results.planned:
        trials = by_cell.get(cell.cell, results.trial_table.iloc[:0])
        good = int((trials["status"] == "ok").sum())
        if good < asked if asked is not None else cell.cell in stopped:
            failed = int((trials["status"] == "failed").sum())
            why = tuple(failures(results, trials))
            found.append(
                ShortCell(cell.cell, cell.levels(), good, failed, asked, why, cell.cell in stopped)
            )
    return tuple(found)


class Failing(msgspec.Struct, frozen=True, kw_only=True):
    """Cells whose trials failed for one reason."""

    #: What their levels have in common, or each by its levels.
    cells: tuple[str, ...]
    reason: str


def failing(results: Results) -> tuple[Failing, ...]:
    """Return which cells have trials that failed, by the reason."""
    cells = [cell for cell in short_cells(results) if cell.failures]
    parts = _parts(cells, results.planned) if cells else ()
    return tuple(Failing(cells=tuple(names), reason=part[0].reason or "") for names, part in parts)


def over_budget(results: Results) -> str | None:
    """Say what the budget left out, where it ended the session; None: nothing."""
    if results.ended != "budget":
        return None
    stopping = results.experiment.stopping
    if stopping.trials is None:
        return (
            "The budget ended before all medians were known to "
            f"±{percent(stopping.precision).removeprefix('+')}."
        )
    short = tuple(cell for cell in short_cells(results) if not cell.given_up)
    if not short:
        return None
    goods = sorted({cell.good for cell in short})
    has = f"{goods[0]:,}" if len(goods) == 1 else f"{goods[0]:,} to {goods[-1]:,}"
    told = (
        f"The budget ended before all trials: {_few(short, results)} {has} of {stopping.trials:,}."
    )
    none = [cell for cell in short if not cell.good and not cell.failed]
    if none:
        named = [at_levels(cell.levels, _varied(results.planned)) for cell in none]
        told += f" Never measured: {listing(_names(named))}."
    return told


def _few(short: tuple[ShortCell, ...], results: Results) -> str:
    has = "has" if len(short) == 1 else "have"
    return f"{len(short)} of {counted(len(results.planned), 'cell')} {has}"


def given_up(results: Results) -> list[str]:
    """Say which cells were stopped because they kept failing, and why: a sentence each.

    Cells of a level of which none is left are one sentence, and so are those with one reason.
    """
    cells = [cell for cell in short_cells(results) if cell.given_up]
    told = []
    for names, part in _parts(cells, results.planned) if cells else ():
        trials = results.trial_table
        why = failures(results, trials[trials["cell"].isin([c.cell for c in part])])
        failed, good = sum(c.failed for c in part), sum(c.good for c in part)
        asked = [c.asked for c in part if c.asked is not None]
        of = f" of {sum(asked):,}" if asked else ""
        told.append(
            f"{listing(names)} {'was' if len(names) == 1 else 'were'} given up after "
            f"{counted(failed, 'failed trial')} ({good:,}{of} good)"
            + (f": {reasons(why).removesuffix('.')}." if why else ".")
        )
    return told


def _parts(
    cells: list[ShortCell], planned: tuple[Cell, ...]
) -> Iterator[tuple[list[str], list[ShortCell]]]:
    """Divide cells, with their names: those of a level that has no others, then by reason."""
    levels = [cell.levels() for cell in planned]
    for factor in levels[0]:
        of = Counter(some[factor] for some in levels)
        for level, n in of.items():
            part = [cell for cell in cells if cell.levels[factor] == level]
            if len(of) > 1 and len(part) == n:
                yield [level if factor in ("workload", "platform") else f"{factor} {level}"], part
                cells = [cell for cell in cells if cell not in part]
    for reason in dict.fromkeys(cell.reason for cell in cells):
        part = [cell for cell in cells if cell.reason == reason]
        yield _names([at_levels(cell.levels, _varied(planned)) for cell in part]), part


def _names(named: list[str]) -> list[str]:
    more = len(named) - _MOST_NAMED
    return [*named[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]


def find(results: Results) -> Finding | None:
    """Name the cells that are short of trials, with how many they have and what failed."""
    short = short_cells(results)
    if not short:
        return None
    varied = _varied(results.planned)
    named = _names([_named(cell, varied) for cell in short])
    kept = tuple(cell for cell in short if not cell.given_up)
    early = over_budget(results) if kept else None
    answer = early or (
        f"{_few(short, results)} fewer good trials than were asked for: {listing(named)}."
    )
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=answer,
        verdict="no",
        # Of cells that were given up, and of a budget that ended, the headline speaks first.
        summary=answer if kept and not early else None,
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
            Column(key="reason", title="why trials failed"),
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
