"""Which CPU on one machine is as fast as which on another."""

from __future__ import annotations

from typing import Any

from tare.experiment.sweep.numbers import step
from tare.features.calibration.charts.axes import GUTTER, Across, rounded, upwards
from tare.features.calibration.charts.rates import shape, tint
from tare.features.calibration.mapping import Equal, Mapping
from tare.render.drawing import GAP, colour, data, panel_width, styled
from tare.results.message import Message, message
from tare.units import significant

_HEIGHT = 320


def mapping_chart(mapping: Mapping) -> Any:
    """Draw the CPUs on B that are as fast as so many on A.

    Parameters
    ----------
    mapping : Mapping
        With its pieces: where both machines are linear.

    Returns
    -------
    altair chart or None
        None where no CPU on B is as fast as any on A.
    """
    import altair as alt

    if not mapping.pieces:
        return None
    across = Across(f"CPUs on {mapping.a.name}", max(p.end for p in mapping.pieces))
    most = max(p.to_end for p in mapping.pieces)
    y = upwards(f"CPUs on {mapping.b.name}", 0, 1.08 * most)
    layers = [_linear(mapping, across), *_same(across, y, min(across.most, most))]
    for number, piece in enumerate(mapping.pieces):
        ends = ((piece.start, piece.to_start), (piece.end, piece.to_end))
        records = [{"x": rounded(a), "y": rounded(b)} for a, b in ends]
        line = alt.Chart(data(records)).mark_line(strokeWidth=2, color=tint(number))
        layers.append(line.encode(x=across.channel("x:Q"), y=alt.Y("y:Q", **y)))
        layers += _equals(mapping, number, across, y)
    chart = alt.layer(*layers).properties(width=panel_width(1, GUTTER + GAP), height=_HEIGHT)
    return styled(chart, gutter=GUTTER + GAP, most=620)


def _linear(mapping: Mapping, across: Across) -> Any:
    """Shade where both machines are linear."""
    import altair as alt

    spans = [{"x": rounded(p.start), "x2": rounded(p.end)} for p in mapping.pieces]
    shade = alt.Chart(data(spans)).mark_rect(color=colour("band"), opacity=0.55)
    return shade.encode(x=across.channel("x:Q"), x2=alt.X2("x2:Q"))


def _same(across: Across, y: dict[str, Any], end: float) -> list[Any]:
    """Draw where both machines would be equally fast."""
    import altair as alt

    ends = [{"x": at, "y": at} for at in (0.0, rounded(end))]
    line = alt.Chart(data(ends)).mark_line(
        strokeWidth=1.4, strokeDash=[6, 4], color=colour("soft"), clip=True
    )
    word = alt.Chart(data([{"x": rounded(end), "y": rounded(end), "told": "as many"}])).mark_text(
        # Inside: a narrow page has no room to the right of the plot.
        align="right",
        dx=-4,
        dy=-8,
        color=colour("soft"),
    )
    x = across.channel("x:Q")
    return [
        line.encode(x=x, y=alt.Y("y:Q", **y)),
        word.encode(x=x, y=alt.Y("y:Q", **y), text=alt.Text("told:N")),
    ]


def _equals(mapping: Mapping, number: int, across: Across, y: dict[str, Any]) -> list[Any]:
    """Draw the equals that lie on a piece, with their intervals as a band."""
    import altair as alt

    piece = mapping.pieces[number]
    records: list[dict[str, Any]] = []
    for equal in mapping.equals:
        if not piece.start - 1e-9 <= equal.cpus <= piece.end + 1e-9:
            continue
        at = piece.intercept + piece.slope * equal.cpus
        found = min(equal.on, key=lambda one: abs(one.value - at), default=None)
        if found is None or abs(found.value - at) > 1e-6 * max(at, 1.0):
            continue
        record: dict[str, Any] = {"x": rounded(equal.cpus), "y": rounded(found.value)}
        record |= {"a": f"{equal.cpus:g} CPUs", "b": _told(equal)}
        if found.low is not None and found.high is not None:
            record |= {"low": rounded(found.low), "high": rounded(found.high)}
        records.append(record)
    if not records:
        return []
    base = alt.Chart(data(records)).encode(x=across.channel("x:Q"))
    layers = []
    if any("low" in record for record in records):
        band = base.transform_filter("isValid(datum.low)").mark_area(
            opacity=0.25, color=tint(number), clip=True
        )
        layers.append(band.encode(y=alt.Y("low:Q", **y), y2=alt.Y2("high:Q")))
    tips = [
        alt.Tooltip("a:N", title=mapping.a.name),
        alt.Tooltip("b:N", title=mapping.b.name),
    ]
    marks = base.mark_point(
        shape=shape(number), filled=True, size=36, opacity=1, color=tint(number)
    )
    return [*layers, marks.encode(y=alt.Y("y:Q", **y), tooltip=tips)]


def _told(equal: Equal) -> str:
    return " or ".join(
        f"{significant(one.value)} CPUs"
        + ("" if one.low is None or one.high is None
           else f" [{significant(one.low)}, {significant(one.high)}]")
        for one in equal.on
    )  # fmt: skip


def tell_mapping(mapping: Mapping) -> Message:
    """Describe :func:`mapping_chart`."""
    first, second = mapping.a.name, mapping.b.name
    pieces = [
        message(
            "calibration.chart.mapped",
            start=step(p.start),
            end=step(p.end),
            first=first,
            to_start=step(p.to_start),
            to_end=step(p.to_end),
            second=second,
        )
        for p in mapping.pieces
    ]
    return message("calibration.chart.mapping", first=first, second=second, pieces=pieces)
