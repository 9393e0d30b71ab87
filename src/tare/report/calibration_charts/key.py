"""The key above a chart: what each line is, in words, so that nobody needs colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tare.drawing import colour, data
from tare.report.calibration_charts.rates import shape, tint
from tare.report.calibration_charts.sweep import Piece, Sweep
from tare.units import significant

_LINE = 17


@dataclass(frozen=True)
class Entry:
    """One line of a key; without a number it is a dashed line without marks."""

    words: str
    number: int | None


def key_of(sweep: Sweep) -> Any:
    """Draw the key of one sweep: its pieces, and the one line through everything."""
    entries = [Entry(_words(piece, sweep), i) for i, piece in enumerate(sweep.pieces)]
    r2 = sweep.scaling.line.r2
    told = "one line through all" + ("" if r2 is None else f", R² {r_squared(r2)}")
    return key([*entries, Entry(told, None)])


def key(entries: Sequence[Entry]) -> Any:
    """Draw a key, a row for each entry."""
    import altair as alt

    layers = []
    for i, entry in enumerate(entries):
        y = alt.value(i * _LINE + _LINE / 2)
        base = alt.Chart(data([{"told": entry.words}])).encode(y=y)
        look: dict[str, Any] = {"strokeWidth": 1.6, "color": colour("soft"), "strokeDash": [6, 4]}
        if entry.number is not None:
            look = {"strokeWidth": 2, "color": tint(entry.number)}
        layers.append(base.mark_rule(**look).encode(x=alt.value(0), x2=alt.value(26)))
        if entry.number is not None:
            mark = base.mark_point(
                shape=shape(entry.number), filled=True, size=46, opacity=1,
                color=tint(entry.number),
            )  # fmt: skip
            layers.append(mark.encode(x=alt.value(13)))
        layers.append(base.mark_text(align="left").encode(x=alt.value(33), text="told:N"))
    height = _LINE * len(entries)
    return alt.layer(*layers).properties(height=height, view=alt.ViewConfig(stroke=None))


def r_squared(r2: float) -> str:
    """Write R² with as many digits as tell it from 1."""
    places = next((n for n in (3, 4, 5) if round(r2, n) < 1), 5)
    return f"{r2:.{places}f}"


def _words(piece: Piece, sweep: Sweep) -> str:
    name = f"{piece.letter}: " if len(sweep.pieces) > 1 else ""
    if piece.flat:
        return f"{name}from {piece.start:.3g}: more CPU gives nothing"
    slope = f"{significant(piece.slope)} {sweep.unit} a CPU"
    return f"{name}{piece.start:.3g} to {piece.end:.3g}: {slope}"
