"""The charts of a study of platforms: PINNING's figures, for any table of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.features.audit import overhead_messages as words
from tare.features.audit.overhead import Line, OverheadAudit, Place
from tare.render import charts
from tare.render.words import sentence
from tare.results.message import Amount, Message, message
from tare.results.report import Figure
from tare.statistics.intervals import Interval
from tare.units import scale_for

#: Beyond this factor between the largest and the smallest value the scale is logarithmic.
_WIDE = 5


def overhead_figures(found: OverheadAudit) -> tuple[Figure, ...]:
    """Draw values by size, then costs by size; nothing where there are no sizes."""
    if found.design.size is None or not any(p.cores is not None for p in found.places):
        return ()
    drawn = [_values(found, "mean"), _values(found, "median"), _ratios(found, found.lines)]
    steady = [line for line in found.lines if not words.collapses(line)]
    if len(steady) < len(found.lines):
        drawn.append(_ratios(found, steady, rest=True))
    return tuple(figure for figure in drawn if figure is not None)


def _values(found: OverheadAudit, of: str) -> Figure | None:
    """Draw a statistic of every platform over sizes, a panel for each way of pinning."""
    places = [p for p in found.places if p.cores is not None]
    estimates: list[Interval] = [getattr(p.series, of) for p in places]
    metric, unit = places[0].series.series.metric, places[0].series.series.unit
    scale, shown_unit = scale_for([e.estimate for e in estimates], unit or "1")
    rows = [
        _row(_panel(p), p.platform, p.cores or 0.0, e.estimate / scale,
             None if e.low is None else e.low / scale, None if e.high is None else e.high / scale)
        for p, e in zip(places, estimates, strict=True)
    ]  # fmt: skip
    least, most = (
        pick(zip(places, estimates, strict=True), key=lambda one: one[1].estimate)
        for pick in (min, max)
    )
    ends = [
        message(
            "audit.chart.of_size",
            name=words.line_name(p),
            size=words.size_name(p),
            value=Amount(e.estimate, unit or "1"),
        )
        for p, e in (least, most)
    ]
    return Figure(
        f"{of}s-by-size",
        f"{of.capitalize()} of {metric} by size",
        charts.by_size(
            rows, f"{of}, {shown_unit}" if shown_unit else of, **_axes(found, rows)
        ).to_dict(),
        sentence(message("audit.chart.by_size", statistic=of, ends=ends)),
    )


def _ratios(found: OverheadAudit, lines: Sequence[Line], *, rest: bool = False) -> Figure | None:
    """Draw costs over sizes; the rest are those that do not collapse, on a scale of their own."""
    rows = [
        _row(_panel(c.place), c.place.platform, c.place.cores or 0.0,
             c.location.ratio, c.location.low, c.location.high)
        for line in lines for c in line.costs
        if c.location is not None and c.place.cores is not None
    ]  # fmt: skip
    if not rows:
        return None
    reference = found.design.reference
    title = f"Overhead vs. {reference} by size"
    said = message("audit.chart.overhead", reference=reference, lines=[_ends(x) for x in lines])
    return Figure(
        "overhead-by-size-rest" if rest else "overhead-by-size",
        f"{title}, without the largest" if rest else title,
        charts.by_size(rows, f"ratio to {reference}", line_at=1.0, **_axes(found, rows)).to_dict(),
        sentence(said),
    )


def _ends(line: Line) -> Message:
    known = [c for c in line.costs if c.location is not None]
    ends = [words.ratio(c) for c in (*known[:1], *known[1:][-1:])]
    return message("audit.chart.line", name=words.line_name(line), ends=ends)


def _panel(place: Place) -> str:
    return " · ".join(filter(None, (place.pinning, *place.rest.values())))


def _row(
    panel: str, series: str, cores: float, at: float, low: float | None, high: float | None
) -> dict[str, Any]:
    return {"panel": panel, "series": series, "x": cores, "at": at, "low": low, "high": high}


def _axes(found: OverheadAudit, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    values = [row["at"] for row in rows]
    others = dict.fromkeys(p.platform for p in found.places)
    return {
        "order": [found.design.reference, *(o for o in others if o != found.design.reference)],
        "logarithmic": min(values) > 0 and max(values) > _WIDE * min(values),
    }
