"""Values over sizes on every platform, unpinned and pinned: PINNING's figures 3 to 6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.cells import Cell, cells_of
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.platform_lines import labelled, logarithmic, marks, sizes_axis
from tare.experiment.findings.charts.rows import tables_of
from tare.experiment.findings.level_names import at_levels
from tare.experiment.findings.platform_cells import SIZES, cost_basis, given_cores
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.drawing import data, panel_width, styled
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message
from tare.units import scale_for

_GUTTER, _HEIGHT = 62, 190
#: Rows of panels: groups of the levels of other factors.
_MOST_ROWS = 6

#: Cells of one panel with the CPUs that they are given.
Panel = list[tuple[float, Cell]]


def _panels(results: Results) -> dict[str, dict[str, Panel]]:
    """Return cells by the levels of other factors in words, then by pinning."""
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return {}
    cells = cells_of(results, basis)
    others = [f for f in results.varied if f not in ("platform", "pinning", *SIZES)]
    found: dict[str, dict[str, Panel]] = {}
    for cell in cells.all:
        cores = given_cores(results, cell.levels)
        if cores is not None:
            name = at_levels(cell.levels, others) if others else ""
            row = found.setdefault(name, {})
            row.setdefault(cell.levels["pinning"], []).append((cores, cell))
    return found


def _drawn(results: Results) -> dict[str, dict[str, Panel]]:
    return dict(list(_panels(results).items())[:_MOST_ROWS])


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw a panel for each way of pinning, a line a platform, logarithmic both ways."""
    import altair as alt

    if not tables_of(findings, "platform_size"):
        return None
    rows = _drawn(results)
    cells = [one for row in rows.values() for panel in row.values() for one in panel]
    if len({cores for cores, _ in cells}) < 2:
        return None
    basis = cost_basis(results)
    assert not isinstance(basis, Message)
    gone = results.emulated
    tried = dict.fromkeys(cell.levels["platform"] for _, cell in cells)
    platforms = [labelled(p, p in gone) for p in tried]
    pinnings = list(dict.fromkeys(p for row in rows.values() for p in row))
    x = sizes_axis([cores for cores, _ in cells], "cores given")
    made = []
    for name, row in rows.items():
        medians = [cell.median.estimate for panel in row.values() for _, cell in panel]
        scale, unit = scale_for(medians, basis.unit)
        bounds = [x for panel in row.values() for _, cell in panel for x in _ends(cell)]
        y = logarithmic([None if x is None else x / scale for x in bounds], unit)
        side = [
            alt.layer(
                *marks(platforms, alt.X("cores:Q", **x), y),
                data=data([_record(one, scale, results) for one in row.get(pinning, [])]),
            ).properties(
                width=panel_width(len(pinnings), _GUTTER * len(pinnings)),
                height=_HEIGHT,
                title=_title(name, pinning),
            )
            for pinning in pinnings
        ]
        made.append(alt.hconcat(*side, spacing=14).resolve_scale(y="shared"))
    chart = alt.vconcat(*made, spacing=12)
    return styled(chart, columns=len(pinnings), gutter=_GUTTER * len(pinnings))


def _title(name: str, pinning: str) -> str:
    free = "unpinned" if pinning == "none" else "pinned" if pinning == "pinned" else f"on {pinning}"
    return f"{name}, {free}" if name else free


def _ends(cell: Cell) -> tuple[float, float | None, float | None]:
    median = cell.median
    return median.estimate, median.low, median.high


def _record(one: tuple[float, Cell], scale: float, results: Results) -> dict[str, Any]:
    cores, cell = one
    known = {
        key: None if value is None else float(f"{value / scale:.6g}")
        for key, value in zip(("middle", "low", "high"), _ends(cell), strict=True)
    }
    platform = cell.levels["platform"]
    return {
        **known,
        "cores": cores,
        "platform": labelled(platform, platform in results.emulated),
        "emulated": platform in results.emulated,
        "told": f"{known['middle']} [{known['low']}, {known['high']}], n = {cell.n}",
    }


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give each platform's value at the smallest and the largest size."""
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return (basis,)
    panels = [
        message(
            "chart.platform_values.panel",
            panel=_title(name, pinning),
            platforms=_ranges(panel, basis.unit),
        )
        for name, row in _drawn(results).items()
        for pinning, panel in row.items()
    ]
    platforms = set(results.trial_table["platform"])
    emulated = [p for p in sorted(results.emulated) if p in platforms]
    return (
        message("chart.platform_values.medians", metric=basis.metric, panels=panels),
        message("chart.platform_values.marks"),
        *((message("chart.emulated", platforms=emulated),) if emulated else ()),
    )


def _ranges(panel: Panel, unit: str) -> list[Message]:
    by_platform: dict[str, Panel] = {}
    for one in sorted(panel, key=lambda x: x[0]):
        by_platform.setdefault(one[1].levels["platform"], []).append(one)
    return [
        message(
            "chart.platform_values.platform",
            platform=platform,
            smallest=_median(some[0], unit),
            largest=_median(some[-1], unit) if len(some) > 1 else None,
        )
        for platform, some in by_platform.items()
    ]


def _median(one: tuple[float, Cell], unit: str) -> Message:
    cores, cell = one
    return message(
        "chart.platform_values.median", median=Amount(cell.median.estimate, unit), cores=cores
    )


UNIT = ChartUnit(
    description=Description(
        name="platform_values",
        title="Values over sizes, on every platform",
        question="What of a platform's cost is its type's, and what its size's?",
        source="PINNING",
    ),
    draw=draw,
    alternative=alternative,
    of_levels=True,
)
