"""Do times settle? Values in order of time, with the points at which their level shifts."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.cells import basis_of, cells_of
from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.charts.grid import Grid, grid, left_out
from tare.experiment.findings.warmup import UNIT as FINDING
from tare.experiment.findings.warmup import series
from tare.experiment.results import Results
from tare.render.charts.course import course
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Message, message
from tare.statistics.statistic import FloatArray
from tare.statistics.warmup import FEWEST
from tare.units import scale_for


def named_series(results: Results) -> tuple[Grid, dict[str, FloatArray], str] | None:
    """Arrange the series that are long enough by the names of their cells, and choose the unit."""
    basis = basis_of(results)
    if isinstance(basis, Message):
        return None
    cells = cells_of(results, basis)
    arranged = grid(cells)
    scale, unit = scale_for([c.median.estimate for c in arranged.cells], basis.unit)
    long = {
        f"{name} on {platform}": values / scale
        for name, by_platform in arranged.rows
        for platform, cell in by_platform.items()
        if len(values := series(cells, cell)) >= FEWEST
    }
    return (arranged, long, unit) if long else None


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel a cell: every value, the median of each level, dashes where it shifts."""
    found = named_series(results)
    return None if found is None else course(found[1], unit=found[2])


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the marks mean."""
    found = named_series(results)
    return (
        message(
            "dots are values in order of time, lines the median of each level, dashes level shifts"
        ),
        *(() if found is None else left_out(found[0].left_out)),
    )


UNIT = chart_of(
    FINDING.description,
    "Values in order of time, and level shifts",
    draw,
    alternative,
    source="Barrett 2017",
)
