"""How far the means of a sweep are from one line."""

from __future__ import annotations

from typing import Any

from tare.features.calibration.charts.axes import Across, rounded, upwards
from tare.features.calibration.charts.rates import changes, shape, tint
from tare.features.calibration.charts.sweep import Step, Sweep
from tare.render.drawing import colour, data
from tare.statistics.scaling import MATTERS

_HEIGHT = 96
#: What lies beyond, in per cent, is drawn at the edge.
_MOST = 100.0


def residuals(sweep: Sweep, across: Across, *, labels: bool) -> Any:
    """Draw how far the means are from the one line, as shares of the means."""
    import altair as alt

    off = residual(sweep)
    limit = min(_MOST, max([160 * MATTERS, *(1.1 * abs(v) for v in off.values())]))
    y = upwards(None, -limit, limit, ticks=4, nice=False)
    x = across.channel("x:Q", labels=labels)
    band = alt.Chart(data([{"low": -100 * MATTERS, "high": 100 * MATTERS, "none": 0}]))
    layers = [
        *changes(sweep, across, named=False, labels=labels),
        band.mark_rect(color=colour("band"), opacity=0.9).encode(
            y=alt.Y("low:Q", **y), y2="high:Q"
        ),
        band.mark_rule(color=colour("soft"), strokeDash=[6, 4]).encode(y=alt.Y("none:Q", **y)),
    ]
    for number in range(max(1, len(sweep.pieces))):
        records = [
            _residual_record(step, value, limit)
            for step, value in off.items()
            if sweep.piece_of(step.x) == number
        ]
        for beyond in ("", "triangle-up", "triangle-down"):
            some = [r for r in records if r["beyond"] == beyond]
            if some:
                marks = alt.Chart(data(some)).mark_point(
                    shape=beyond or shape(number), filled=True, size=34, opacity=1,
                    color=tint(number),
                )  # fmt: skip
                tips = [alt.Tooltip("asked:N"), alt.Tooltip("off:N", title="off the one line")]
                layers.append(marks.encode(x=x, y=alt.Y("y:Q", **y), tooltip=tips))
    share = f"{100 * MATTERS:g}"
    return alt.layer(*layers).properties(
        height=_HEIGHT, title=f"Off one line, relatively [%]; band: ±{share} %"
    )


def residual(sweep: Sweep) -> dict[Step, float]:
    """Tell how far each mean is from one line, in per cent of the mean.

    The line is the one by which the verdict is found (:mod:`tare.statistics.scaling`): what errs
    least in absolute terms says nothing at small quotas. Empty where there is none.
    """
    line = sweep.scaling.straight
    if line is None:
        return {}
    good = [step for step in sweep.steps if step.y > 0]
    return {
        step: 100 * (1 - (line.intercept + line.slope * step.x) / sweep.scale / step.y)
        for step in good
    }


def _residual_record(step: Step, value: float, limit: float) -> dict[str, Any]:
    edge = 0.94 * limit
    beyond = "triangle-up" if value > limit else "triangle-down" if value < -limit else ""
    return {
        "x": rounded(step.x),
        "y": rounded(min(max(value, -edge), edge) if beyond else value),
        "beyond": beyond,
        "asked": f"{step.x:g} CPUs",
        "off": f"{value:+.3g} %".replace("-", "−"),
    }
