"""The key above a chart: what each line is, in words, so that nobody needs colours."""

from __future__ import annotations

from typing import Any

from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.numbers import step
from tare.features.calibration.charts.rates import shape, tint
from tare.features.calibration.charts.sweep import Piece, Sweep
from tare.render.drawing import Chart, colour, field, layer, mark
from tare.render.words import text
from tare.results.message import Amount, Message, message

_LINE = 17


def key_of(sweep: Sweep) -> Chart:
    """Draw the key of a sweep, a row for each piece, and one for the line through everything."""
    said = [*(tell_piece(piece, sweep) for piece in sweep.pieces), tell_line(sweep)]
    layers = []
    for i, words in enumerate(map(text, said)):
        is_piece = i < len(sweep.pieces)
        look: dict[str, Any] = {"strokeWidth": 1.6, "color": colour("soft"), "strokeDash": [6, 4]}
        if is_piece:
            look = {"strokeWidth": 2, "color": tint(i)}
        parts = [
            mark("rule", {"x": {"value": 0}, "x2": {"value": 26}}, **look),
            mark("text", {"x": {"value": 33}, "text": field("told:N")}, align="left"),
        ]
        if is_piece:
            point: dict[str, Any] = {
                "shape": shape(i),
                "filled": True,
                "size": 46,
                "opacity": 1,
                "color": tint(i),
            }
            parts.append(mark("point", {"x": {"value": 13}}, **point))
        y = {"value": i * _LINE + _LINE / 2}
        layers.append(layer(*parts, rows=[{"told": words}], channels={"y": y}))
    return layer(*layers, height=_LINE * len(layers), view={"stroke": None})


def tell_piece(piece: Piece, sweep: Sweep) -> Message:
    """Say where a piece begins and ends, and how steep it is."""
    return message(
        "{% if letter %}{letter}: {% endif %}{start} to {end}: {% if slope is none %}more "
        "{resource} gives no more speed{% else %}{slope} per {per}{% endif %}",
        letter=piece.letter if len(sweep.pieces) > 1 else None,
        start=step(piece.start),
        end=step(piece.end),
        resource=AXES[sweep.axis].resource,
        slope=None if piece.flat else Amount(sweep.slope(piece), sweep.unit),
        per=sweep.per,
    )


def tell_line(sweep: Sweep) -> Message:
    """Say how steep the one line through all is."""
    return message(
        "dashed: one line through all, {slope} per {per}{% if r2 is not none %}, R² = "
        "{r2 | r_squared}{% endif %}",
        slope=Amount(sweep.slope(sweep.line), sweep.unit),
        per=sweep.per,
        r2=sweep.r2,
    )
