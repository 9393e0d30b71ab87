"""Overhead over CHR: what shrinks as a platform gets more cores."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings import phrases
from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.charts.rows import tables_of
from tare.experiment.findings.level_names import at_levels
from tare.experiment.findings.platform_cells import Beside, cost_basis, named, over_sizes
from tare.experiment.findings.platform_size import UNIT as FINDING
from tare.experiment.results import Results
from tare.render.charts.by_size import by_size
from tare.render.drawing import Chart
from tare.render.words import text
from tare.results.finding import Finding
from tare.results.message import Message, message

#: Lines that are drawn in each panel, and panels: what differs in other levels, as workloads do.
_MOST, _MOST_PANELS = 8, 12


def _panels(results: Results) -> dict[str, list[Beside]]:
    """Return what has several sizes, in each panel first where PTO and PSO are identifiable."""
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return {}
    several = [b for b in over_sizes(results, basis) if len(b.found.sizes) > 1]
    found: dict[str, list[Beside]] = {}
    for one in sorted(several, key=lambda b: b.found.refusal is not None):
        panel = at_levels(one.levels, one.varied) if one.varied else ""
        found.setdefault(panel, []).append(one)
    return dict([*found.items()][:_MOST_PANELS])


def _series(one: Beside) -> str:
    name = named(one.platform, one.pinning)
    if one.reference_pinning == one.pinning:
        return text(name)
    return text(message(phrases.VERSUS, name=name, reference=one.beside))


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw ratios with intervals over CHR, a line a platform."""
    panels = _panels(results) if tables_of(findings, "platform_size") else {}
    if not panels:
        return None
    rows = [
        {
            "panel": panel,
            "series": _series(one),
            "x": size.chr,
            "at": size.ratio.value,
            "low": size.ratio.low,
            "high": size.ratio.high,
        }
        for panel, some in panels.items()
        for one in some[:_MOST]
        for size in one.found.sizes
    ]
    sizes = "CHR: assigned cores / host cores"
    return by_size(rows, "overhead ratio", sizes=sizes, logarithmic=True, line_at=1.0)


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the marks mean."""
    return (
        message(
            "overhead ratio over CHR on logarithmic axes, with 95 % intervals; dashes are a "
            "ratio of 1"
        ),
    )


UNIT = chart_of(FINDING.description, "Overhead over CHR", draw, alternative, name="platform_chr")
