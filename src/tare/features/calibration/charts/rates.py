"""The panel of rates: trials, means with intervals, the one line, the pieces, where they change."""

from __future__ import annotations

from typing import Any

from tare.features.calibration.charts.axes import Across, rounded, upwards
from tare.features.calibration.charts.sweep import Piece, Step, Sweep
from tare.render.drawing import MOST_MARKS, SERIES, SHAPES, Chart, colour, field, layer, mark
from tare.units import percent, quantity, significant

HEIGHT = 300
#: Share of the panel above the highest value, for the letters of the pieces.
_HEAD = 0.14
#: Steps above which marks are smaller, and their area then.
_SIZES = ((40, 46), (100, 24), (10_000, 10))


def tint(number: int) -> str:
    """Give a piece its colour."""
    return SERIES[number % len(SERIES)]


def shape(number: int) -> str:
    """Give a piece the shape of its means."""
    return SHAPES[number % len(SHAPES)]


def rates(sweep: Sweep, across: Across) -> Chart:
    """Draw the panel of rates over the axis of CPUs."""
    lettered = len(sweep.pieces) > 1
    head = _HEAD if lettered else 0.04
    y = upwards(sweep.unit, 0, highest(sweep) * (1 + head), nice=not lettered)
    layers = [
        *changes(sweep, across, named=lettered),
        _straight(sweep.line, across, y, dashed=True),
        *(_straight(piece, across, y, number=i) for i, piece in enumerate(sweep.pieces)),
        _singles(sweep, across, y),
        *_means(sweep, across, y),
    ]
    return layer(*layers, height=HEIGHT)


def highest(sweep: Sweep) -> float:
    """Return the largest value that has a mark."""
    values = [v for step in sweep.steps for v in (step.y, step.high, *step.singles)]
    # A published line has no steps.
    known = [v for v in values if v is not None] or [p.at(p.end) for p in sweep.pieces]
    return max(known)


def _singles(sweep: Sweep, across: Across, y: dict[str, Any]) -> Chart:
    """Draw every trial, faintly."""
    every = [(step.x, v) for step in sweep.steps if step.n > 1 for v in step.singles]
    kept = every[:: thinned(sweep)]
    records = [{"x": rounded(x), "y": rounded(v)} for x, v in kept]
    at = {"x": across.channel(), "y": field("y:Q", **y)}
    return mark("circle", at, records, size=16, opacity=0.5, color=colour("quiet"))


def thinned(sweep: Sweep) -> int:
    """Of how many single trials one is drawn."""
    return sum(step.n for step in sweep.steps) // MOST_MARKS + 1


def _straight(
    piece: Piece, across: Across, y: dict[str, Any], *, number: int = 0, dashed: bool = False
) -> Chart:
    """Draw a straight piece, cut off at the panel's edge."""
    records = [{"x": rounded(x), "y": rounded(piece.at(x))} for x in (piece.start, piece.end)]
    look: dict[str, Any] = {"strokeWidth": 2, "color": tint(number), "opacity": 0.85}
    if dashed:
        look = {"strokeWidth": 1.6, "color": colour("soft"), "strokeDash": [6, 4]}
    at = {"x": across.channel(), "y": field("y:Q", **y)}
    return mark("line", at, records, clip=True, **look)


#: Channels of marks that have colour and shape of their piece, from columns of :func:`look_of`.
LOOK = {"color": field("tint:N", scale=None), "shape": field("shape:N", scale=None)}


def look_of(sweep: Sweep, step: Step) -> dict[str, str]:
    """Return colour and shape of the piece that a step lies on."""
    number = sweep.piece_of(step.x) if sweep.pieces else 0
    return {"tint": tint(number), "shape": shape(number)}


def _means(sweep: Sweep, across: Across, y: dict[str, Any]) -> list[Chart]:
    """Draw the mean of each step with its interval, in colour and shape of its piece."""
    if not sweep.steps:
        return []
    area = next(size for steps, size in _SIZES if len(sweep.steps) <= steps)
    ends = {"y": field("low:Q", **y), "y2": field("high"), "color": LOOK["color"]}
    tips = [field(f"{key}:N") for key in told(sweep, sweep.steps[0])]
    parts = [
        mark("point", {"y": field("y:Q", **y), "tooltip": tips, **LOOK}, filled=True, size=area,
             opacity=1, stroke=colour("page"), strokeWidth=0.6)
    ]  # fmt: skip
    if any(step.low is not None for step in sweep.steps):
        parts.insert(0, mark("rule", ends, where="isValid(datum.low)", strokeWidth=1.6,
                             opacity=0.75, clip=True))  # fmt: skip
    records = [_record(sweep, step) for step in sweep.steps]
    return [layer(*parts, rows=records, channels={"x": across.channel()})]


def _record(sweep: Sweep, step: Step) -> dict[str, Any]:
    record: dict[str, Any] = {"x": rounded(step.x), "y": rounded(step.y)}
    if step.low is not None and step.high is not None:
        record |= {"low": rounded(step.low), "high": rounded(step.high)}
    return record | look_of(sweep, step) | told(sweep, step)


def told(sweep: Sweep, step: Step) -> dict[str, str]:
    """Tell what was measured at a step: what the pointer shows."""
    point = step.point
    rate = f"{significant(step.y)} {sweep.unit}"
    if step.low is not None and step.high is not None:
        rate += f" [{significant(step.low)}, {significant(step.high)}]"
    shown = {"asked": sweep.place(step.x), "rate": rate, "trials": str(step.n)}
    if point is None:
        return shown
    if point.delivered is not None:
        shown["delivered"] = f"{significant(point.delivered.value)} CPUs"
    if point.memory_bytes is not None:
        shown["CPU"] = f"{point.cpus:.3g} CPUs"
    if point.clock_hz is not None:
        shown["clock"] = quantity(point.clock_hz, "Hz")
    if point.frequency_hz is not None:
        shown["cpufreq"] = quantity(point.frequency_hz, "Hz")
    if point.throttled_share is not None:
        shown["stopped by the quota"] = f"in {percent(point.throttled_share)} of periods"
    if point.steal_cpus:
        shown["stolen"] = f"{significant(point.steal_cpus)} CPUs"
    return shown


def changes(sweep: Sweep, across: Across, *, named: bool, labels: bool = True) -> list[Chart]:
    """Draw where a piece ends, and where more gives nothing; with names in the panel of rates."""
    scaling = sweep.scaling
    layers: list[Chart] = []
    x = across.channel(labels=labels)
    if scaling.saturates_low is not None and scaling.saturates_high is not None:
        span = [{"x": rounded(scaling.saturates_low), "x2": rounded(scaling.saturates_high)}]
        ends = {"x": x, "x2": field("x2")}
        layers.append(mark("rect", ends, span, color=colour("band"), opacity=0.5, clip=True))
    look: dict[str, Any] = {"color": colour("mark"), "opacity": 0.9}
    if scaling.breaks:
        places = [{"x": rounded(b), "told": f"{b:.3g}"} for b in scaling.breaks]
        layers.append(mark("rule", {"x": x}, places, strokeDash=[4, 3], **look))
        if named:
            name = {"x": x, "y": {"value": 26}, "text": field("told:N")}
            layers.append(mark("text", name, places, align="left", dx=4, color=colour("mark")))
    if scaling.saturates_at is not None:
        place = scaling.saturates_at
        places = [{"x": rounded(place), "told": f"saturates at {place:.3g}"}]
        layers.append(mark("rule", {"x": x}, places, **look))
        if named:
            align, dx = ("right", -4) if place > across.most / 3 else ("left", 4)
            name = {"x": x, "y": {"value": "height"}, "text": field("told:N")}
            layers.append(
                mark("text", name, places, align=align, dx=dx, dy=-9, color=colour("mark"))
            )
    return layers + ([_letters(sweep, across)] if named else [])


def _letters(sweep: Sweep, across: Across) -> Chart:
    """Name the pieces above their ranges."""
    at = {"x": across.channel(), "y": {"value": 11}, "text": field("told:N")}
    letters = [
        mark("text", at, [{"x": rounded((piece.start + piece.end) / 2), "told": piece.letter}],
             fontSize=13, fontWeight=700, color=tint(i))
        for i, piece in enumerate(sweep.pieces)
    ]  # fmt: skip
    return layer(*letters)
