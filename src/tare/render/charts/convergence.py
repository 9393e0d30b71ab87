"""CONFIRM's curve: how the interval of the median narrows with the number of trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tare.errors import InputError
from tare.render.charts.panels import arrange, by_name, number
from tare.render.drawing import IN_LINE, Chart, axis, colour, field, layer, mark
from tare.statistics.confirm import Repetitions, repetitions
from tare.statistics.intervals import trials_needed
from tare.statistics.statistic import FloatArray

_MOST_POINTS = 120


def convergence(
    series: FloatArray | Repetitions | Mapping[str, FloatArray | Repetitions],
    precision: float = 0.01,
    confidence: float = 0.95,
    q: float = 0.5,
) -> Chart:
    """Draw the expected bounds of a quantile's interval against the number of trials.

    Parameters
    ----------
    series : array, shape (n,), or Repetitions, or mapping of str to either
        Trial values, or what :func:`tare.statistics.confirm.repetitions` said of them.
    precision : float
        Half-width that is wanted, relative to the quantile: the band.
    confidence, q : float
        As for :func:`tare.statistics.confirm.repetitions`, for arrays.

    Returns
    -------
    Chart
        Bounds relative to the quantile of all values; a rule where they stay in the band. Series
        that are too short for an interval are left out.

    Raises
    ------
    InputError
        If all are too short.

    References
    ----------
    Maricq and others, Taming performance variability, OSDI 2018; CLOUDNET, figures 13 and 19.
    """
    panels = []
    for name, given in by_name(series).items():
        found = (
            given
            if isinstance(given, Repetitions)
            else repetitions(given, precision, confidence, q)
        )
        if len(found.curve.s):
            panels.append((name, _panel(found)))
    if not panels:
        raise InputError(
            "too few values for a curve", f"a median needs {trials_needed(q, confidence)} at least"
        )
    return arrange(panels)


def _panel(found: Repetitions) -> Chart:
    records, s = _records(found), found.curve.s
    sizes = {"type": "log", "domain": [int(s[0]), max(int(s[-1]), int(s[0]) + 1)]}
    x = axis(None, sizes, tickCount=4, grid=False, format=",d", labelFlush=True, labelOverlap=True)
    y = axis(None, {"nice": True}, tickCount=4, format="+.2~%", **IN_LINE)
    target = [{"low": -found.precision, "high": found.precision}]
    ends = {"y": field("low:Q", **y), "y2": field("high")}
    tip = [field("s:Q", title="trials"),
           *(field(f"{key}:Q", format="+.2%") for key in ("low", "middle", "high"))]  # fmt: skip
    layers = [
        mark("rect", ends, target, color=colour("band"), opacity=0.9),
        layer(
            mark("area", {**ends, "tooltip": tip}, color=colour("s0"), opacity=0.28),
            mark("line", {"y": field("middle:Q", **y)}, color=colour("s0"), strokeWidth=1.5),
            rows=records,
            channels={"x": field("s:Q", **x)},
        ),
    ]
    if found.n is not None:
        at = {"x": field("n:Q", **x), "tooltip": [field("n:Q", title="trials needed")]}
        layers.append(mark("rule", at, [{"n": found.n}], strokeDash=[4, 3], color=colour("mark")))
    return layer(*layers)


def _records(found: Repetitions) -> list[dict[str, Any]]:
    """Bounds relative to the quantile of all values, at sizes evenly apart on the scale."""
    curve = found.curve
    middle = float(np.asarray(curve.median)[-1]) or 1.0
    s = np.asarray(curve.s)
    kept = np.unique(np.geomspace(1, len(s), min(len(s), _MOST_POINTS)).astype(int)) - 1
    return [
        {
            "s": int(s[i]),
            "low": number(float(curve.low[i]) / middle - 1),
            "high": number(float(curve.high[i]) / middle - 1),
            "middle": number(float(curve.median[i]) / middle - 1),
        }
        for i in kept
    ]
