"""The panel of rates: trials, means with intervals, the one line, the pieces, where they change."""

from __future__ import annotations

from typing import Any

from tare.features.calibration.charts.axes import Across, rounded, upwards
from tare.features.calibration.charts.sweep import Piece, Step, Sweep
from tare.render.drawing import MOST_MARKS, SERIES, SHAPES, colour, data
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


def rates(sweep: Sweep, across: Across) -> Any:
    """Draw the panel of rates over the axis of CPUs."""
    import altair as alt

    lettered = len(sweep.pieces) > 1
    head = _HEAD if lettered else 0.04
    y = upwards(sweep.unit, 0, highest(sweep) * (1 + head), nice=not lettered)
    layers = [
        *changes(sweep, across, named=lettered),
        _straight(sweep.line, across, y, dashed=True),
        *(_straight(piece, across, y, number=i) for i, piece in enumerate(sweep.pieces)),
        *_intervals(sweep, across, y),
        _singles(sweep, across, y),
        *_means(sweep, across, y),
    ]
    return alt.layer(*layers).properties(height=HEIGHT)


def highest(sweep: Sweep) -> float:
    """Return the largest value that has a mark."""
    values = [v for step in sweep.steps for v in (step.y, step.high, *step.singles)]
    return max(v for v in values if v is not None)


def _singles(sweep: Sweep, across: Across, y: dict[str, Any]) -> Any:
    """Draw every trial, faintly."""
    import altair as alt

    every = [(step.x, v) for step in sweep.steps if step.n > 1 for v in step.singles]
    kept = every[:: thinned(sweep)]
    records = [{"x": rounded(x), "y": rounded(v)} for x, v in kept]
    marks = alt.Chart(data(records)).mark_circle(size=16, opacity=0.5, color=colour("quiet"))
    return marks.encode(x=across.channel("x:Q"), y=alt.Y("y:Q", **y))


def thinned(sweep: Sweep) -> int:
    """Of how many single trials one is drawn."""
    return sum(step.n for step in sweep.steps) // MOST_MARKS + 1


def _straight(
    piece: Piece, across: Across, y: dict[str, Any], *, number: int = 0, dashed: bool = False
) -> Any:
    """Draw a straight piece, cut off at the panel's edge."""
    import altair as alt

    records = [{"x": rounded(x), "y": rounded(piece.at(x))} for x in (piece.start, piece.end)]
    look: dict[str, Any] = {"strokeWidth": 2, "color": tint(number), "opacity": 0.85}
    if dashed:
        look = {"strokeWidth": 1.6, "color": colour("soft"), "strokeDash": [6, 4]}
    return alt.Chart(data(records)).mark_line(clip=True, **look).encode(
        x=across.channel("x:Q"), y=alt.Y("y:Q", **y)
    )  # fmt: skip


def _by_piece(sweep: Sweep) -> list[tuple[int, list[Step]]]:
    """Divide the steps into those of each piece."""
    if not sweep.pieces:
        return [(0, list(sweep.steps))]
    numbers = {step: sweep.piece_of(step.x) for step in sweep.steps}
    some = [(i, [s for s in sweep.steps if numbers[s] == i]) for i in range(len(sweep.pieces))]
    return [(number, steps) for number, steps in some if steps]


def _intervals(sweep: Sweep, across: Across, y: dict[str, Any]) -> list[Any]:
    """Draw the interval of each mean that has one."""
    import altair as alt

    drawn = []
    for number, steps in _by_piece(sweep):
        known = [_record(sweep, step) for step in steps if step.low is not None]
        if known:
            base = alt.Chart(data(known)).encode(x=across.channel("x:Q"))
            rule = base.mark_rule(strokeWidth=1.6, color=tint(number), opacity=0.75, clip=True)
            drawn.append(rule.encode(y=alt.Y("low:Q", **y), y2=alt.Y2("high:Q")))
    return drawn


def _means(sweep: Sweep, across: Across, y: dict[str, Any]) -> list[Any]:
    """Draw the mean of each step, in colour and shape of its piece."""
    import altair as alt

    area = next(size for steps, size in _SIZES if len(sweep.steps) <= steps)
    drawn = []
    for number, steps in _by_piece(sweep):
        base = alt.Chart(data([_record(sweep, step) for step in steps]))
        marks = base.mark_point(
            shape=shape(number), filled=True, size=area, opacity=1, color=tint(number),
            stroke=colour("page"), strokeWidth=0.6,
        )  # fmt: skip
        tips = [alt.Tooltip(f"{key}:N") for key in told(sweep, steps[0])]
        drawn.append(marks.encode(x=across.channel("x:Q"), y=alt.Y("y:Q", **y), tooltip=tips))
    return drawn


def _record(sweep: Sweep, step: Step) -> dict[str, Any]:
    record: dict[str, Any] = {"x": rounded(step.x), "y": rounded(step.y)}
    if step.low is not None and step.high is not None:
        record |= {"low": rounded(step.low), "high": rounded(step.high)}
    return record | told(sweep, step)


def told(sweep: Sweep, step: Step) -> dict[str, str]:
    """Tell what was measured at a step: what the pointer shows."""
    point = step.point
    asked = step.x if point is None else point.cpus
    rate = f"{significant(step.y)} {sweep.unit}"
    if step.low is not None and step.high is not None:
        rate += f" [{significant(step.low)}, {significant(step.high)}]"
    shown = {"asked": f"{asked:g} CPUs", "rate": rate, "trials": str(step.n)}
    if point is None:
        return shown
    if point.delivered is not None:
        shown["delivered"] = f"{significant(point.delivered.value)} CPUs"
    if point.memory_bytes is not None:
        shown["memory"] = quantity(point.memory_bytes, "bytes")
    if point.clock_hz is not None:
        shown["clock"] = quantity(point.clock_hz, "Hz")
    if point.frequency_hz is not None:
        shown["cpufreq"] = quantity(point.frequency_hz, "Hz")
    if point.throttled_share is not None:
        shown["stopped by the quota"] = f"in {percent(point.throttled_share)} of periods"
    if point.steal_cpus:
        shown["stolen"] = f"{significant(point.steal_cpus)} CPUs"
    return shown


def changes(sweep: Sweep, across: Across, *, named: bool, labels: bool = True) -> list[Any]:
    """Draw where a piece ends, and where more gives nothing; with names in the panel of rates."""
    import altair as alt

    scaling = sweep.scaling
    layers: list[Any] = []
    x = across.channel("x:Q", labels=labels)
    if scaling.saturates_low is not None and scaling.saturates_high is not None:
        span = [{"x": rounded(scaling.saturates_low), "x2": rounded(scaling.saturates_high)}]
        layers.append(
            alt.Chart(data(span)).mark_rect(color=colour("band"), opacity=0.5, clip=True)
            .encode(x=x, x2=alt.X2("x2:Q"))
        )  # fmt: skip
    if scaling.breaks:
        base = alt.Chart(data([{"x": rounded(b), "told": f"{b:.3g}"} for b in scaling.breaks]))
        layers.append(
            base.mark_rule(strokeDash=[4, 3], color=colour("mark"), opacity=0.9).encode(x=x)
        )
        if named:
            words = base.mark_text(align="left", dx=4, color=colour("mark"))
            layers.append(words.encode(x=x, y=alt.YValue(26), text=alt.Text("told:N")))
    if scaling.saturates_at is not None:
        place = scaling.saturates_at
        base = alt.Chart(data([{"x": rounded(place), "told": f"saturates at {place:.3g}"}]))
        layers.append(base.mark_rule(color=colour("mark"), opacity=0.9).encode(x=x))
        if named:
            words = base.mark_text(
                align="right" if place > across.most / 3 else "left",
                dx=-4 if place > across.most / 3 else 4,
                dy=-9,
                color=colour("mark"),
            )
            layers.append(words.encode(x=x, y=alt.YValue("height"), text=alt.Text("told:N")))
    return layers + ([_letters(sweep, across)] if named else [])


def _letters(sweep: Sweep, across: Across) -> Any:
    """Name the pieces above their ranges."""
    import altair as alt

    letters = [
        alt.Chart(data([{"x": rounded((piece.start + piece.end) / 2), "told": piece.letter}]))
        .mark_text(fontSize=13, fontWeight=700, color=tint(i))
        .encode(x=across.channel("x:Q"), y=alt.YValue(11), text=alt.Text("told:N"))
        for i, piece in enumerate(sweep.pieces)
    ]
    return alt.layer(*letters)
