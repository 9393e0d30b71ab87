"""A sweep as text: the rate over CPU, with the one line through it and where it breaks."""

from __future__ import annotations

from tare.features.calibration.charts.sweep import Sweep
from tare.render.text_plot import Axis, TextPlot
from tare.units import significant

#: Fewer steps are no curve.
_FEWEST = 3
_MEAN, _LINE, _BREAK, _TOP = "●", "·", "┊", "│"


def picture(sweep: Sweep) -> list[str]:
    """Draw the means of a sweep as text.

    Parameters
    ----------
    sweep : Sweep
        As :func:`tare.features.calibration.charts.sweep.asked` or ``fitted`` make it.

    Returns
    -------
    list of str
        At most 10 lines of at most 72 columns, readable without colour; none where there are too
        few steps.
    """
    steps = [step for step in sweep.steps if step.y > 0]
    if len(steps) < _FEWEST:
        return []
    plot = TextPlot(Axis(0, steps[-1].x), Axis(0, max(step.y for step in steps)))
    for x in sweep.scaling.breaks:
        plot.upright(x, _BREAK)
    if sweep.scaling.saturates_at is not None:
        plot.upright(sweep.scaling.saturates_at, _TOP)
    plot.curve(sweep.line.at, _LINE)
    for step in steps:
        plot.mark(step.x, step.y, _MEAN)
    title = f"{sweep.unit} over {sweep.x_title}"
    drawn = plot.lines(
        lambda x: f"{x:,.4g}" if x < 1000 else f"{x:,.0f}",
        lambda y: significant(y) if y else "0",
        title,
    )
    return [*drawn, _meaning(sweep)]


def _place(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def _meaning(sweep: Sweep) -> str:
    """Say what the signs mean."""
    scaling = sweep.scaling
    meaning = [f"{_MEAN} mean", f"{_LINE} one line"]
    if scaling.breaks:
        meaning.append(f"{_BREAK} breaks at {', '.join(map(_place, scaling.breaks))}")
    if scaling.saturates_at is not None:
        meaning.append(f"{_TOP} saturates at {_place(scaling.saturates_at)}")
    return " " * 8 + "  ".join(meaning)
