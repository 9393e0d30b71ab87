"""Which CPU on one machine is as fast as which on another."""

from __future__ import annotations

from typing import Any

from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.numbers import span
from tare.features.calibration.charts.axes import GUTTER, Across, rounded, upwards
from tare.features.calibration.charts.rates import shape, tint
from tare.features.calibration.mapping import Equal, Mapping
from tare.render.drawing import GAP, Chart, colour, field, layer, mark, panel_width, styled
from tare.results.message import Message, message
from tare.units import significant

_HEIGHT = 320


def mapping_chart(mapping: Mapping) -> Chart | None:
    """Draw the CPUs on B that are as fast as so many on A.

    Parameters
    ----------
    mapping : Mapping
        With its pieces: where both machines are linear.

    Returns
    -------
    Chart or None
        None where no CPU on B is as fast as any on A.
    """
    if not mapping.pieces:
        return None
    units = [AXES[side.axis].unit for side in (mapping.a, mapping.b)]
    across = Across(f"{units[0]} on {mapping.a.name}", max(p.end for p in mapping.pieces))
    most = max(p.to_end for p in mapping.pieces)
    y = upwards(f"{units[1]} on {mapping.b.name}", 0, 1.08 * most)
    layers = [_linear(mapping, across)]
    if mapping.a.axis == mapping.b.axis:
        layers += _same(across, y, min(across.most, most))
    for number, piece in enumerate(mapping.pieces):
        ends = ((piece.start, piece.to_start), (piece.end, piece.to_end))
        records = [{"x": rounded(a), "y": rounded(b)} for a, b in ends]
        line = {"x": across.channel(), "y": field("y:Q", **y)}
        layers.append(mark("line", line, records, strokeWidth=2, color=tint(number)))
        layers += _equals(mapping, number, across, y)
    chart = layer(*layers, width=panel_width(1, GUTTER + GAP), height=_HEIGHT)
    return styled(chart, gutter=GUTTER + GAP, most=620)


def _linear(mapping: Mapping, across: Across) -> Chart:
    """Shade where both machines are linear."""
    spans = [{"x": rounded(p.start), "x2": rounded(p.end)} for p in mapping.pieces]
    channels = {"x": across.channel(), "x2": field("x2")}
    return mark("rect", channels, spans, color=colour("band"), opacity=0.55)


def _same(across: Across, y: dict[str, Any], end: float) -> list[Chart]:
    """Draw where both machines would be equally fast."""
    ends = [{"x": at, "y": at} for at in (0.0, rounded(end))]
    word = [{"x": rounded(end), "y": rounded(end), "told": "as many"}]
    at = {"x": across.channel(), "y": field("y:Q", **y)}
    return [
        mark("line", at, ends, strokeWidth=1.4, strokeDash=[6, 4], color=colour("soft"), clip=True),
        # Inside: a narrow page has no room to the right of the plot.
        mark("text", {**at, "text": field("told:N")}, word, align="right", dx=-4, dy=-8,
             color=colour("soft")),
    ]  # fmt: skip


def _equals(mapping: Mapping, number: int, across: Across, y: dict[str, Any]) -> list[Chart]:
    """Draw the equals that lie on a piece, with their intervals as a band."""
    piece = mapping.pieces[number]
    records: list[dict[str, Any]] = []
    for equal in mapping.equals:
        if not piece.start - 1e-9 <= equal.at <= piece.end + 1e-9:
            continue
        at = piece.intercept + piece.slope * equal.at
        found = min(equal.on, key=lambda one: abs(one.value - at), default=None)
        if found is None or abs(found.value - at) > 1e-6 * max(at, 1.0):
            continue
        record: dict[str, Any] = {"x": rounded(equal.at), "y": rounded(found.value)}
        record |= {"a": f"{equal.at:g} {AXES[mapping.a.axis].unit}", "b": _told(equal, mapping)}
        if found.low is not None and found.high is not None:
            record |= {"low": rounded(found.low), "high": rounded(found.high)}
        records.append(record)
    if not records:
        return []
    layers = []
    if any("low" in record for record in records):
        band = {"y": field("low:Q", **y), "y2": field("high")}
        layers.append(mark("area", band, where="isValid(datum.low)", opacity=0.25,
                           color=tint(number), clip=True))  # fmt: skip
    tips = [field("a:N", title=mapping.a.name), field("b:N", title=mapping.b.name)]
    layers.append(mark("point", {"y": field("y:Q", **y), "tooltip": tips}, shape=shape(number),
                       filled=True, size=36, opacity=1, color=tint(number)))  # fmt: skip
    return [layer(*layers, rows=records, channels={"x": across.channel()})]


def _told(equal: Equal, mapping: Mapping) -> str:
    unit = AXES[mapping.b.axis].unit
    return " or ".join(
        f"{significant(one.value)} {unit}"
        + ("" if one.low is None or one.high is None
           else f" [{significant(one.low)}, {significant(one.high)}]")
        for one in equal.on
    )  # fmt: skip


def tell_mapping(mapping: Mapping) -> Message:
    """Describe :func:`mapping_chart`."""
    first, second = mapping.a.name, mapping.b.name
    pieces = [
        message(
            "{span} on {first} are {to} on {second}",
            span=span(p.start, p.end, mapping.a.axis),
            first=first,
            to=span(p.to_start, p.to_end, mapping.b.axis),
            second=second,
        )
        for p in mapping.pieces
    ]
    return message(
        "across, the {first_unit} on {first}; upwards, the {second_unit} on {second} that "
        "are as fast, with 95 % intervals as a band. Shaded where both machines are linear: "
        "{pieces | listing}{% if same %}. Dashed: as many on both{% endif %}",
        first=first,
        first_unit=AXES[mapping.a.axis].unit,
        second=second,
        second_unit=AXES[mapping.b.axis].unit,
        pieces=pieces,
        same=mapping.a.axis == mapping.b.axis,
    )
