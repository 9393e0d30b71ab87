"""The rows of a finding's tables, as what charts draw."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tare.experiment.findings.level_names import at_levels
from tare.experiment.results import Results
from tare.results.finding import Finding, Table
from tare.results.message import Message, message


def tables_of(findings: Sequence[Finding], name: str) -> tuple[Table, ...]:
    """Return the tables of a finding; none where the question did not apply."""
    return next((f.tables for f in findings if f.name == name), ())


def where(
    row: Mapping[str, Any], table: Table, results: Results, without: Collection[str] = ()
) -> str:
    """Name a row by its levels, those of some factors left out; by the workload where none is."""
    keys = [c.key for c in table.columns if c.key in results.factors and c.key not in without]
    named = at_levels({key: str(row[key]) for key in keys}, keys)
    return named or results.experiment.workloads[0].name


def first_of(drawn: int, total: int) -> tuple[Message, ...]:
    """Say how many cells are drawn, where that is not all of them."""
    if total <= drawn:
        return ()
    return (
        message(
            "the first {drawn} of {total} cells are drawn; the table has all",
            drawn=drawn,
            total=total,
        ),
    )
