"""Platforms that emulate a CPU: what is timed in them is no measure of a virtual machine."""

from __future__ import annotations

from typing import Any

from tare.experiment.findings.cells import Cells
from tare.experiment.findings.evidence import level_columns
from tare.experiment.results import Results
from tare.results.finding import Column, Table
from tare.results.message import Message, message


def note(results: Results) -> Message | None:
    """Name the platforms that are emulated; None where none is."""
    some = sorted(results.emulated & set(results.trial_table["platform"]))
    return message("emulation.note", platforms=some) if some else None


def table(cells: Cells) -> Table | None:
    """List the cells of emulated platforms by themselves; None where there are none."""
    gone = cells.results.emulated
    some = [c for c in cells.all if c.levels["platform"] in gone]
    if not some:
        return None
    rows: list[dict[str, Any]] = []
    for cell in some:
        median = cell.median
        rows.append(
            {
                **{f: cell.levels[f] for f in cells.varied},
                "n": cell.n,
                "median": median.estimate,
                "median_low": median.low,
                "median_high": median.high,
            }
        )
    unit = cells.basis.unit
    return Table(
        title=message("emulation.table.title", basis=str(cells.basis)),
        columns=(
            *level_columns(cells.varied),
            Column(key="n", title="trials"),
            Column(key="median", title="median", unit=unit),
            Column(key="median_low", title="median from", unit=unit),
            Column(key="median_high", title="to", unit=unit),
        ),
        rows=tuple(rows),
        note=message("emulation.table.note"),
    )
