"""The key above a chart: what each line is, in words, so that nobody needs colours."""

from __future__ import annotations

from typing import Any

from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.numbers import step
from tare.features.calibration.charts.rates import shape, tint
from tare.features.calibration.charts.sweep import Piece, Sweep
from tare.render.drawing import Chart, colour, field, layer, mark
from tare.render.words import text
from tare.results.message import Amount, message

_LINE = 17


def key_of(sweep: Sweep) -> Chart:
    """Draw the key of a sweep, a row for each piece, and one for the line through everything."""
    one = text(
        message(
            "one line through all{% if r2 is not none %}, R² = {r2 | r_squared}{% endif %}",
            r2=sweep.r2,
        )
    )
    layers = []
    for i, words in enumerate([*(_words(piece, sweep) for piece in sweep.pieces), one]):
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


def _words(piece: Piece, sweep: Sweep) -> str:
    letter = piece.letter if len(sweep.pieces) > 1 else None
    if piece.flat:
        return text(
            message(
                "{% if letter %}{letter}: {% endif %}from {start}: more {resource} gives no "
                "more speed",
                letter=letter,
                resource=AXES[sweep.axis].resource,
                start=step(piece.start),
            )
        )
    return text(
        message(
            "{% if letter %}{letter}: {% endif %}{start} to {end}: {slope} per {per}",
            letter=letter,
            start=step(piece.start),
            end=step(piece.end),
            slope=Amount(sweep.slope(piece), sweep.unit),
            per=sweep.per,
        )
    )
