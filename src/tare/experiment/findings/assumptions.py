"""Are the trials of each cell independent, stationary and normal? As in audits."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.cells import basis_of, cells_of
from tare.experiment.findings.finding import FindingUnit
from tare.experiment.findings.level_names import at_levels
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import Column, Finding, Table
from tare.results.message import Message, Said, message
from tare.statistics.assumptions import Assumptions, assumptions

#: Parts of the assumptions, and the titles of their columns.
PARTS = (
    ("independence", "independent"),
    ("stationarity", "stationary"),
    ("changes", "level steady"),
    ("warmup", "no warm-up"),
    ("normality", "normal"),
    ("modes", "one mode"),
    ("outliers", "no heavy outliers"),
)
#: Cells that are tested: all tests of one take some milliseconds.
_MOST_CELLS = 100
#: Fewest trials of a cell: below, no test finds a departure of any size.
_FEWEST = 6

_DESCRIPTION = Description(
    name="assumptions",
    title="Tests of independence, stationarity, normality, level shifts, modes and outliers",
    question="Are the values independent, stationary and normal?",
    source="CLOUDNET, F5.4",
)


def find(results: Results) -> Finding | None:
    """Test the trial values of each cell; None where every cell has fewer than 6."""
    basis = basis_of(results)
    if isinstance(basis, Message):
        return None
    cells = [one for one in cells_of(results, basis).all if len(one.trial_values) >= _FEWEST]
    if not cells:
        return None
    precision = results.experiment.stopping.precision
    tested = [
        (at_levels(one.levels, results.varied), assumptions(one.trial_values, precision))
        for one in cells[:_MOST_CELLS]
    ]
    left_out = len(cells) - len(tested)
    return finding(
        tested,
        "cell",
        "cell" if len(tested) == 1 else "cells",
        caveats=(message("{n | counted('more cell')} not tested", n=left_out),) if left_out else (),
        basis=str(basis),
    )


def finding(
    tested: Sequence[tuple[str, Assumptions]],
    noun: str,
    nouns: str,
    *,
    answer: Message | None = None,
    caveats: tuple[Said, ...] = (),
    basis: str | None = None,
) -> Finding:
    """Report which assumptions hold of named series, or cells; by default how many hold each."""
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=answer or _counts([one for _, one in tested], nouns),
        verdict="none",
        basis=basis,
        tables=(_table(tested, noun),),
        caveats=caveats,
    )


def _counts(some: Sequence[Assumptions], noun: str) -> Message:
    """Count for each assumption the series, or cells, in which it holds."""
    said = []
    for part, title in PARTS:
        oks = [ok for one in some if (ok := getattr(one, part).ok) is not None]
        if oks:
            known = len(oks) if len(oks) < len(some) else None
            said.append(
                message(
                    "{n}{% if known %} of {known}{% endif %} {what}",
                    n=sum(oks),
                    known=known,
                    what=title,
                )
            )
    if not said:
        return message("too few values")
    return message("{counts | listing} of {total} {noun}", counts=said, total=len(some), noun=noun)


def _table(some: Sequence[tuple[str, Assumptions]], noun: str) -> Table:
    """Return a row per series, or cell, with whether each assumption holds."""
    return Table(
        title=message("Assumptions"),
        columns=(
            Column(key="series", title=noun),
            *(Column(key=part, title=title) for part, title in PARTS),
        ),
        rows=tuple(
            {"series": name, **{part: getattr(one, part).ok for part, _ in PARTS}}
            for name, one in some
        ),
        note=message(
            "Each test errs in about 5 % of series in which the assumption holds. Shape, "
            "modes and outliers never lower a verdict. –: too few values"
        ),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=84, find=find, of_rates=True)
