"""Values over sizes on every platform, unpinned and pinned: PINNING's figures 3 to 6."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.cells import Cell, cells_of
from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.findings.charts.medians import labelled
from tare.experiment.findings.charts.rows import tables_of
from tare.experiment.findings.level_names import at_levels
from tare.experiment.findings.platform_cells import SIZES, cost_basis, given_cores
from tare.experiment.findings.platform_size import UNIT as FINDING
from tare.experiment.results import Results
from tare.render.charts.by_size import by_size_apart
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Message, message
from tare.units import scale_for

#: Panels: ways of pinning at the levels of other factors.
_MOST_PANELS = 12


def _panels(results: Results) -> dict[str, list[tuple[float, Cell]]]:
    """Return cells with the CPUs that they are given, by pinning and the other levels."""
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return {}
    others = [f for f in results.varied if f not in ("platform", "pinning", *SIZES)]
    found: dict[str, list[tuple[float, Cell]]] = {}
    for cell in cells_of(results, basis).all:
        cores = given_cores(results, cell.levels)
        if cores is not None:
            found.setdefault(_title(cell, others), []).append((cores, cell))
    return found


def _title(cell: Cell, others: Sequence[str]) -> str:
    pinning = {"none": "unpinned", "pinned": "pinned"}.get(
        cell.levels["pinning"], f"on {cell.levels['pinning']}"
    )
    return f"{at_levels(cell.levels, others)}, {pinning}" if others else pinning


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel for each way of pinning, a line a platform, logarithmic both ways.

    What differs in other levels, as workloads do, has scales of its own.
    """
    panels = dict([*_panels(results).items()][:_MOST_PANELS])
    cells = [one for panel in panels.values() for one in panel]
    basis = cost_basis(results)
    if isinstance(basis, Message) or not tables_of(findings, "platform_size"):
        return None
    if len({cores for cores, _ in cells}) < 2:
        return None
    others = [f for f in results.varied if f not in ("platform", "pinning", *SIZES)]
    groups: dict[str, list[tuple[str, float, Cell]]] = {}
    for title, panel in panels.items():
        for cores, cell in panel:
            groups.setdefault(at_levels(cell.levels, others), []).append((title, cores, cell))
    # One application takes seconds, and another one milliseconds.
    parts = []
    for some in groups.values():
        scale, unit = scale_for([cell.median.estimate for *_, cell in some], basis.unit)
        parts.append((unit, [_row(*one, scale, results) for one in some]))
    return by_size_apart(parts)


def _row(
    panel: str, cores: float, cell: Cell, scale: float, results: Results
) -> dict[str, float | str | None]:
    median = cell.median
    return {
        "panel": panel,
        "series": labelled(cell.levels["platform"], results),
        "x": cores,
        "at": median.estimate / scale,
        "low": None if median.low is None else median.low / scale,
        "high": None if median.high is None else median.high / scale,
    }


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what is drawn."""
    panels = _panels(results)
    return (
        message(
            "marks are medians with 95 % intervals over the cores given, on logarithmic "
            "axes, in panels: {panels | join('; ')}",
            panels=[*panels][:_MOST_PANELS],
        ),
        *left_out([*panels][_MOST_PANELS:]),
    )


UNIT = chart_of(
    FINDING.description,
    "Values over sizes, on every platform",
    draw,
    alternative,
    name="platform_values",
    of_levels=True,
)
