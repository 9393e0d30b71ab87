"""A sweep as text: the rate over CPU, with the one line through it and where it breaks."""

from __future__ import annotations

from tare.report.calibration_charts.sweep import Sweep
from tare.units import significant

#: Columns and rows of the field in which marks stand.
_WIDTH, _HEIGHT = 60, 7
#: Fewer steps are no curve.
_FEWEST = 3
_MEAN, _LINE, _BREAK, _TOP = "●", "·", "┊", "│"


def picture(sweep: Sweep) -> list[str]:
    """Draw the means of a sweep as text.

    Parameters
    ----------
    sweep : Sweep
        As :func:`tare.report.calibration_charts.asked` or ``fitted`` make it.

    Returns
    -------
    list of str
        At most 10 lines of at most 72 columns, readable without colour; none where there are too
        few steps.
    """
    steps = [step for step in sweep.steps if step.y > 0]
    if len(steps) < _FEWEST:
        return []
    last, most = steps[-1].x, max(step.y for step in steps)
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]

    def column(x: float) -> int:
        return min(_WIDTH - 1, max(0, round(x / last * (_WIDTH - 1))))

    def row(y: float) -> int:
        return round(y / most * (_HEIGHT - 1))

    places = [*((b, _BREAK) for b in sweep.scaling.breaks)]
    if sweep.scaling.saturates_at is not None:
        places.append((sweep.scaling.saturates_at, _TOP))
    for x, sign in places:
        for line in grid:
            line[column(x)] = sign
    for at in range(_WIDTH):
        on_line = row(sweep.line.at(at / (_WIDTH - 1) * last))
        if 0 <= on_line < _HEIGHT and grid[on_line][at] == " ":
            grid[on_line][at] = _LINE
    for step in steps:
        grid[row(step.y)][column(step.x)] = _MEAN
    return [*_field(grid, most), *_below(sweep, last)]


def _field(grid: list[list[str]], most: float) -> list[str]:
    labels = {_HEIGHT - 1: significant(most), (_HEIGHT - 1) // 2: significant(most / 2), 0: "0"}
    return [
        f"{labels.get(number, ''):>7} │{''.join(grid[number])}".rstrip()
        for number in range(_HEIGHT - 1, -1, -1)
    ]


def _below(sweep: Sweep, last: float) -> list[str]:
    """Draw the axis, its ends, and what the signs mean."""
    scaling = sweep.scaling
    end = f"{last:g}"
    title = f"{sweep.unit} over {sweep.x_title}"
    ends = f"0{title.center(_WIDTH - 1 - len(end))}{end}"
    meaning = [f"{_MEAN} mean", f"{_LINE} one line"]
    if scaling.breaks:
        meaning.append(f"{_BREAK} breaks at {', '.join(f'{b:.3g}' for b in scaling.breaks)}")
    if scaling.saturates_at is not None:
        meaning.append(f"{_TOP} saturates at {scaling.saturates_at:.3g}")
    return [" " * 8 + "└" + "─" * _WIDTH, " " * 9 + ends, " " * 9 + "  ".join(meaning)]
