"""Pictures of task sets: tasks solved within a time, and times of two configurations by task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.task_sets.outcomes import Pair, Scored, medians
from tare.render.charts.lines import Axis, Line, lines
from tare.render.drawing import (
    MOST_MARKS,
    SHAPES,
    category,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.words import sentence, text
from tare.results.message import message
from tare.results.report import Figure
from tare.statistics.scores import solved_within
from tare.units import scale_for

#: Configurations in one picture of solved tasks, and pairs with a picture of their own.
_MOST_LINES, _MOST_PAIRS = 8, 3
_GUTTER, _HEIGHT = 70, 340


def quantiles(some: Sequence[Scored], compared: Sequence[Pair]) -> Figure | None:
    """Draw the number of tasks solved within each time: to the right, more; below, faster."""
    drawn = []
    paired = {one.number: one for pair in compared for one in (pair.first, pair.second)}
    order = {**paired, **{one.number: one for one in some}}
    shown = [*order.values()][:_MOST_LINES]
    for one in sorted(shown, key=lambda one: one.number):
        curve = solved_within(one.outcomes)
        rising = curve.number > 0
        if not rising.any():
            continue
        number = curve.number[rising]
        drawn.append(Line(one.label, number.tolist(), curve.limits[rising].tolist()))
    if not drawn:
        return None
    time = some[0].time
    chart = lines(
        [("", drawn)],
        Axis("tasks solved", "1", even=True),
        Axis(time.title, time.unit),
        marks=False,
    )
    alternative = message(
        "Number of tasks solved within a {time}, of {names | listing}. Further right is "
        "more, lower is faster",
        time=time.title,
        names=[line.name for line in drawn],
    )
    title = message(
        "Tasks solved within a time{% if of %}: the first {n} of {of} configurations{% endif %}",
        n=_MOST_LINES,
        of=len(some) if len(some) > _MOST_LINES else None,
    )
    return Figure("quantile", text(title), chart, sentence(alternative))


def scatters(compared: Sequence[Pair]) -> tuple[Figure, ...]:
    """Draw the times of each task, of the first pairs that are compared."""
    of = len(compared) if len(compared) > _MOST_PAIRS else None
    found = [_scatter(pair, i, of) for i, pair in enumerate(compared[:_MOST_PAIRS], 1)]
    return tuple(one for one in found if one is not None)


def _scatter(pair: Pair, number: int, of: int | None) -> Figure | None:
    first, second = pair.first, pair.second
    x, y = (medians(_timed(one)) for one in (first, second))
    known = ~np.isnan(x) & ~np.isnan(y) & (x > 0) & (y > 0)
    if not known.any():
        return None
    tasks = np.flatnonzero(known)
    # Tasks that end differently are drawn first; others are thinned to the remaining marks.
    differing = first.judged[tasks] != second.judged[tasks]
    kept = np.flatnonzero(differing)[:MOST_MARKS]
    others = np.flatnonzero(~differing)
    room = max(0, MOST_MARKS - len(kept))
    others = others[:: max(1, -(-len(others) // room))] if room else others[:0]
    chosen = tasks[np.sort(np.concatenate([kept, others]))]
    scale, unit = scale_for([*x[chosen], *y[chosen]], first.time.unit)
    colours = [colour(name) for name in ("s0", "mark", "quiet")]
    kinds = ("both solve it", "one solves it", "none solves it")
    records = []
    for task in chosen.tolist():
        both = [one.outcomes.always_solved[task] for one in (first, second)]
        kind = kinds[0] if all(both) else kinds[1] if any(both) else kinds[2]
        records.append(
            {"x": float(f"{x[task] / scale:.5g}"), "y": float(f"{y[task] / scale:.5g}"), "k": kind}
        )
    there = [kind for kind in kinds if any(r["k"] == kind for r in records)]
    both_axes = np.concatenate([x[chosen], y[chosen]]) / scale
    ends = [float(both_axes.min()), float(both_axes.max())]
    axis = {"type": "log" if ends[1] > 20 * ends[0] else "linear", "domain": ends, "nice": True,
            "zero": False}  # fmt: skip
    tint, shape = (
        category("k", there, [values[kinds.index(one)] for one in there], sort=there, title=None)
        for values in (colours, SHAPES)
    )
    at = {
        "x": field("x:Q", scale=axis, title=f"{first.label}, {unit}"),
        "y": field("y:Q", scale=axis, title=f"{second.label}, {unit}"),
        "color": tint,
        "shape": shape,
    }
    chart = layer(
        mark("line", {"x": field("x:Q"), "y": field("y:Q")}, [{"x": e, "y": e} for e in ends],
             color=colour("soft"), strokeWidth=1, strokeDash=[4, 3]),
        mark("point", at, records, size=26, opacity=0.75, filled=True),
        width=min(_HEIGHT, panel_width(1, _GUTTER)),
        height=_HEIGHT,
    )  # fmt: skip
    solved = known & first.outcomes.always_solved & second.outcomes.always_solved
    alternative = message(
        "{time} of each task with {second}, over that with {first}: of {n | counted('task')} "
        "that both solve, {below} {% if below == 1 %}is{% else %}are{% endif %} faster with "
        "{second}",
        time=first.time.title, first=first.label, second=second.label, n=int(solved.sum()),
        below=int((y[solved] < x[solved]).sum()),
    )  # fmt: skip
    title = message(
        "{first} and {second}, task by task{% if of %}: {number} of {of} pairs{% endif %}",
        first=first.label,
        second=second.label,
        number=number,
        of=of,
    )
    spec = styled(chart, gutter=_GUTTER, most=_HEIGHT)
    return Figure(f"scatter-{number}", text(title), spec, sentence(alternative))


def _timed(one: Scored) -> Any:
    """Return times of runs that say something, with a row without any as one of NaN."""
    return np.where(one.outcomes.counted, one.outcomes.time, np.nan)
