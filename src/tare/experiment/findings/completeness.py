"""Has every cell the good trials that were requested? Asked where one has not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from tare.experiment.findings.failures import Failure, failures, reasons
from tare.experiment.findings.finding import FindingUnit, answered
from tare.experiment.findings.judgement import is_inconclusive
from tare.experiment.findings.level_names import where
from tare.experiment.results import Results
from tare.experiment.specification import Cell
from tare.experiment.time_limits import COUNTED
from tare.registry import Description
from tare.render.words import shown, text
from tare.results.finding import Column, Estimate, Finding, Table, columns_of
from tare.results.message import Atom, Chosen, Message, message

#: By which others find it.
NAME = "completeness"
_DESCRIPTION = Description(
    name=NAME,
    title="Cells with fewer good trials than requested",
    question="Has every cell the trials that were requested?",
    source="tare",
)
#: Cells that are named in a sentence; the table has all.
_MOST_NAMED = 3


@dataclass(frozen=True)
class ShortCell:
    """A cell with fewer good trials than requested.

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
        found = reasons(self.failures)
        return None if found is None else text(found)


def short_cells(results: Results) -> tuple[ShortCell, ...]:
    """Return the cells that have fewer good trials than requested, in the plan's order."""
    stopped = set(results.stops.where(reason="failed")["cell"].tolist())
    by_cell = dict(results.trial_table.groups("cell"))
    found = []
    for cell in results.planned:
        trials = by_cell.get(cell.cell, results.trial_table.rows([]))
        good = len(trials.where(status=COUNTED))
        asked = results.experiment.trials(cell.workload)
        if good < asked if asked is not None else cell.cell in stopped:
            failed = len(trials.where(status="failed"))
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
    return tuple(Failing(cells=part.plain, reason=part.cells[0].reason or "") for part in parts)


def over_budget(results: Results) -> Message | None:
    """Say what the budget left out, where it ended the session; None: nothing."""
    if results.ended != "budget":
        return None
    stopping = results.experiment.stopping
    if stopping.trials is None and stopping.compare is not None:
        if not is_inconclusive(results):
            return None
        return message(
            "the budget ended before {% if gate %}the gate was conclusive{% else %}all comparisons "
            "had a verdict{% endif %}",
            gate=stopping.gate is not None,
        )
    if stopping.trials is None:
        return message(
            "the budget ended before all medians were known to ± {precision}",
            precision=Chosen(stopping.precision),
        )
    short = tuple(cell for cell in short_cells(results) if not cell.given_up)
    if not short:
        return None
    varied = _varied(results.planned)
    never = [where(c.levels, varied) for c in short if not c.good and not c.failed]
    return message(
        "the budget ended before all trials: {short} of {cells | counted('cell')} "
        "{% if short == 1 %}has{% else %}have{% endif %} {least}{% if most > least %} to "
        "{most}{% endif %} of {asked}{% if never %}. Never measured: {never | listing}"
        "{% endif %}",
        short=len(short),
        cells=len(results.planned),
        least=min(cell.good for cell in short),
        most=max(cell.good for cell in short),
        asked=stopping.trials,
        never=_first(never),
    )


def given_up(results: Results) -> list[Message]:
    """Say which cells were stopped because they kept failing, and why.

    Cells of a level of which none is left are one message, and so are those with one reason.
    """
    cells = [cell for cell in short_cells(results) if cell.given_up]
    found = []
    for part in _parts(cells, results.planned) if cells else ():
        why = failures(results, results.trial_table.where(cell={c.cell for c in part.cells}))
        asked = [c.asked for c in part.cells if c.asked is not None]
        found.append(
            message(
                "{names | listing} {% if names | length == 1 %}was{% else %}were{% endif %} "
                "given up after {failed | counted('failed trial')} ({good}{% if asked %} of "
                "{asked}{% endif %} good){% if why %}: {why}{% endif %}",
                names=part.names,
                failed=sum(c.failed for c in part.cells),
                good=sum(c.good for c in part.cells),
                asked=sum(asked) if asked else None,
                why=reasons(why),
            )
        )
    return found


class _Part(NamedTuple):
    """Cells that are named together: in sentences, and as data name them."""

    names: list[Atom]
    plain: tuple[str, ...]
    cells: list[ShortCell]


def _parts(cells: list[ShortCell], planned: tuple[Cell, ...]) -> Iterator[_Part]:
    """Divide cells, with their names: those of a level that has no others, then by reason."""
    levels = [cell.levels() for cell in planned]
    for factor in levels[0]:
        of = Counter(some[factor] for some in levels)
        for level, n in of.items():
            part = [cell for cell in cells if cell.levels[factor] == level]
            if len(of) > 1 and len(part) == n:
                plain = level if factor in ("platform", "workload") else f"{factor} {level}"
                yield _Part([_level(factor, level)], (plain,), part)
                cells = [cell for cell in cells if cell not in part]
    for reason in dict.fromkeys(cell.reason for cell in cells):
        part = [cell for cell in cells if cell.reason == reason]
        names = _first([where(cell.levels, _varied(planned)) for cell in part])
        yield _Part(names, tuple(map(shown, names)), part)


def _level(factor: str, level: str) -> Message:
    if factor == "platform":
        return message("platform “{level}”", level=level)
    if factor == "workload":
        return message("workload “{level}”", level=level)
    return message("{factor} “{level}”", factor=factor, level=level)


def _first(named: Sequence[Atom]) -> list[Atom]:
    """Keep the first of many cells, and say how many others there are."""
    others = len(named[_MOST_NAMED:])
    more = [message("{cells} more", cells=others)] if others else []
    return [*named[:_MOST_NAMED], *more]


def find(results: Results) -> Finding | None:
    """Name the cells that are short of trials, with how many they have and what failed."""
    short = short_cells(results)
    if not short:
        return None
    varied = _varied(results.planned)
    kept = tuple(cell for cell in short if not cell.given_up)
    early = over_budget(results) if kept else None
    answer = early or message(
        "{short} of {cells | counted('cell')} {% if short == 1 %}has{% else %}have"
        "{% endif %} fewer good trials than requested: {named | listing}",
        short=len(short),
        cells=len(results.planned),
        named=_first([_named(cell, varied) for cell in short]),
    )
    return answered(
        _DESCRIPTION,
        closed=True,
        answer=answer,
        verdict="no",
        # Cells that were given up and a budget that ended are in the head already.
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


def _named(cell: ShortCell, varied: list[str]) -> Message:
    at = where(cell.levels, varied)
    if cell.asked is None:
        return message(
            "{where} given up ({good} good, {failed} failed)",
            where=at,
            good=cell.good,
            failed=cell.failed,
        )
    return message(
        "{where} {good} of {asked}{% if failed %} ({failed} failed){% endif %}",
        where=at,
        good=cell.good,
        asked=cell.asked,
        failed=cell.failed,
    )


def _table(short: tuple[ShortCell, ...], varied: list[str]) -> Table:
    return Table.of(
        _DESCRIPTION.title,
        (
            *varied,
            *columns_of(good="good trials", asked="requested"),
            "failed",
            Column(key="reason", title="why trials failed"),
        ),
        (
            (*(cell.levels[f] for f in varied), cell.good, cell.asked, cell.failed, cell.reason)
            for cell in short
        ),
        note=message(
            "Trials that failed are repeated within their block. A cell that keeps failing, or a "
            "level with which every trial fails, is given up for the session; the next one "
            "(--resume) "
            "tries again."
        ),
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=-20, find=find, of_sweeps=True, of_rates=True, killed="used"
)
