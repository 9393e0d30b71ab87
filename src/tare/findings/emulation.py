"""Platforms that emulate a CPU: what is timed in them is no measure of a virtual machine."""

from __future__ import annotations

from typing import Any

from tare.findings.cells import Cells
from tare.findings.evidence import level_columns
from tare.frames import Results
from tare.render.words import listing
from tare.results.finding import Column, Table


def note(results: Results) -> str | None:
    """Tell which platforms are emulated; None where none is."""
    some = sorted(results.emulated & set(results.trial_table["platform"]))
    if not some:
        return None
    one = len(some) == 1
    return (
        f"{listing(some)} {'is' if one else 'are'} emulated: {'its' if one else 'their'} times are "
        f"no measure of a VM, and no cost is told of {'it' if one else 'them'}."
    )


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
        title=f"Emulated: its times are no measure of a VM, {cells.basis}",
        columns=(
            *level_columns(cells.varied),
            Column(key="n", title="trials"),
            Column(key="median", title="median", unit=unit),
            Column(key="median_low", title="median from", unit=unit),
            Column(key="median_high", title="to", unit=unit),
        ),
        rows=tuple(rows),
        note="Every instruction is translated; that takes several times as long as executing it.",
    )
