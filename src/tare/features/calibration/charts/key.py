"""The key above a chart: what each line is, in words, so that nobody needs colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.numbers import step
from tare.features.calibration.charts.rates import shape, tint
from tare.features.calibration.charts.sweep import Piece, Sweep
from tare.render.drawing import Chart, colour, field, layer, mark
from tare.render.words import text
from tare.results.message import Amount, message

_LINE = 17


@dataclass(frozen=True)
class Entry:
    """One line of a key; without a number it is a dashed line without marks."""

    words: str
    number: int | None


def key_of(sweep: Sweep) -> Chart:
    """Draw the key of one sweep: its pieces, and the one line through everything."""
    entries = [Entry(_words(piece, sweep), i) for i, piece in enumerate(sweep.pieces)]
    one = text(
        message(
            "one line through all{% if r2 is not none %}, R² = {r2 | r_squared}{% endif %}",
            r2=sweep.r2,
        )
    )
    return key([*entries, Entry(one, None)])


def key(entries: Sequence[Entry]) -> Chart:
    """Draw a key, a row for each entry."""
    layers = []
    for i, entry in enumerate(entries):
        look: dict[str, Any] = {"strokeWidth": 1.6, "color": colour("soft"), "strokeDash": [6, 4]}
        if entry.number is not None:
            look = {"strokeWidth": 2, "color": tint(entry.number)}
        parts = [mark("rule", {"x": {"value": 0}, "x2": {"value": 26}}, **look)]
        if entry.number is not None:
            parts.append(
                mark(
                    "point",
                    {"x": {"value": 13}},
                    shape=shape(entry.number),
                    filled=True,
                    size=46,
                    opacity=1,
                    color=tint(entry.number),
                )
            )
        parts.append(mark("text", {"x": {"value": 33}, "text": field("told:N")}, align="left"))
        y = {"value": i * _LINE + _LINE / 2}
        layers.append(layer(*parts, rows=[{"told": entry.words}], channels={"y": y}))
    return layer(*layers, height=_LINE * len(entries), view={"stroke": None})


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
