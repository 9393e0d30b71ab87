"""Which CPU on one machine is as fast as which on another."""

from __future__ import annotations

from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.numbers import span
from tare.features.calibration.mapping import Mapping, Piece
from tare.render.charts.lines import Axis, Line, lines
from tare.render.drawing import Chart
from tare.render.words import text
from tare.results.message import Message, message

#: Difference, in CPUs or MB, up to which a place is on a piece; and as a share, a value.
_ON = 1e-9, 1e-6


def mapping_chart(mapping: Mapping) -> Chart | None:
    """Draw the number of CPUs on B as fast as a number on A, a line for each linear piece.

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
    drawn = [_line(mapping, piece) for piece in mapping.pieces]
    if mapping.a.axis == mapping.b.axis:
        start = max(min(p.start for p in mapping.pieces), min(p.to_start for p in mapping.pieces))
        end = min(max(p.end for p in mapping.pieces), max(p.to_end for p in mapping.pieces))
        if start < end:
            drawn.append(Line("as many on both", (start, end), (start, end)))
    across, upwards = (
        Axis(f"{AXES[side.axis].unit} on {side.name}", "1", even=True)
        for side in (mapping.a, mapping.b)
    )
    return lines([("", drawn)], across, upwards)


def _line(mapping: Mapping, piece: Piece) -> Line:
    """Return the ends of a piece, and the equals that lie on it with their intervals."""
    points: list[tuple[float, float, float | None, float | None]] = [
        (piece.start, piece.to_start, None, None), (piece.end, piece.to_end, None, None)
    ]  # fmt: skip
    for equal in mapping.equals:
        if not piece.start - _ON[0] <= equal.at <= piece.end + _ON[0]:
            continue
        at = piece.intercept + piece.slope * equal.at
        found = min(equal.on, key=lambda one: abs(one.value - at), default=None)
        if found is not None and abs(found.value - at) <= _ON[1] * max(at, 1.0):
            points.append((equal.at, found.value, found.low, found.high))
    x, y, low, high = zip(*points, strict=True)
    return Line(text(span(piece.start, piece.end, mapping.a.axis)), x, y, low, high)


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
        "are as fast, with 95 % intervals as a band. A line for each range in which both machines "
        "are linear: {pieces | listing}{% if same %}. One more line: as many on both{% endif %}",
        first=first,
        first_unit=AXES[mapping.a.axis].unit,
        second=second,
        second_unit=AXES[mapping.b.axis].unit,
        pieces=pieces,
        same=mapping.a.axis == mapping.b.axis,
    )
