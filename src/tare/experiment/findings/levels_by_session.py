"""What each session measured, where levels of several sessions must not be pooled."""

from __future__ import annotations

from typing import Any

from tare.experiment.findings.cells import basis_of, cells_of
from tare.experiment.findings.finding import FindingUnit, answered, uncompared
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import Column, Estimate, Finding, Table, interval_columns
from tare.results.message import Message, message

_DESCRIPTION = Description(
    name="levels_by_session",
    title="Every cell, session by session",
    question="What did each session measure?",
    source="CLOUDNET, F5.2: compare only what was measured under the same baseline",
)


def find(results: Results) -> Finding | None:
    """Give the median of every cell in each session; None where levels are of all sessions."""
    if results.levels_of is None:
        return None
    basis = basis_of(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    rows: list[tuple[Any, ...]] = []
    estimates = []
    for number in sorted(results.trial_table.distinct("session")):
        for cell in cells_of(results.of_sessions([number]), basis).all:
            median, levels = cell.median, {f: cell.levels[f] for f in results.varied}
            ends = median.estimate, median.low, median.high
            rows.append((str(number), *levels.values(), cell.n, *ends))
            estimates.append(Estimate(
                name="median", levels={"session": str(number), **levels}, value=median.estimate,
                unit=basis.unit, low=median.low, high=median.high, confidence=median.confidence,
                method="median, order statistics, of one session", n=cell.n, trials=cell.trials,
            ))  # fmt: skip
    return answered(
        _DESCRIPTION,
        answer=(
            message(
                "levels elsewhere in this report are those of session {session}",
                session=results.levels_of,
            ),
            message(
                "levels are not compared across sessions, because the machine may differ "
                "between them"
            ),
        ),
        verdict="none",
        basis=str(basis),
        estimates=tuple(estimates),
        tables=(
            Table.of(
                message("Every cell by session, {basis}", basis=str(basis)),
                (
                    *("session", *results.varied),
                    Column(key="n", title="trials"),
                    *interval_columns("median", "median", basis.unit),
                ),
                rows,
                note=message("95 % intervals by order statistics."),
            ),
        ),
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=105, find=find, of_sweeps=True, of_rates=True,
    over_sessions=True,
)  # fmt: skip
