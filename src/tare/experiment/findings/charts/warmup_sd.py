"""Do times settle? The SD of a sliding window relative to that of the whole series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tare.experiment.findings.charts import phrases
from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.findings.charts.warmup import named_series
from tare.experiment.findings.warmup import UNIT as FINDING
from tare.experiment.results import Results
from tare.render.charts.course import most_points, order_axis, thin
from tare.render.charts.panels import arrange, number
from tare.render.drawing import IN_LINE, Chart, axis, colour, field, layer, mark
from tare.results.finding import Finding
from tare.results.message import Message, message
from tare.statistics.statistic import FloatArray
from tare.statistics.warmup import WINDOW, sliding_sd


def _ratios(results: Results) -> dict[str, FloatArray]:
    """Divide each window's SD by that of the series; equal values have no ratio, and no entry."""
    found = named_series(results)
    series = {} if found is None else found[1]
    return {
        name: sliding_sd(values) / np.std(values, ddof=1)
        for name, values in series.items()
        if np.ptp(values) > 0
    }


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel for each cell: the ratio of each window at its last value, and a line at 1."""
    ratios = _ratios(results)
    if not ratios:
        return None
    most = most_points(len(ratios))
    return arrange([(name, _panel(values, most)) for name, values in ratios.items()])


def _panel(ratios: FloatArray, most: int) -> Chart:
    windows = [
        {"i": int(i) + WINDOW, "from": int(i) + 1, "ratio": number(ratios[i])}
        for i in thin(ratios, most)
    ]
    y = axis("SD ÷ SD of all", {"zero": True, "nice": True}, tickCount=4, **IN_LINE)
    tip = [field("from:Q", title="from value"), field("i:Q", title="to value"), field("ratio:Q")]
    x = order_axis(len(ratios) + WINDOW - 1)
    running = {"x": x, "y": field("ratio:Q", **y), "tooltip": tip}
    whole = {"y": field("ratio:Q", **y)}
    return layer(
        mark("rule", whole, [{"ratio": 1}], strokeWidth=1.4, color=colour("s0")),
        mark("line", running, windows, strokeWidth=1.6, color=colour("ink")),
    )


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the lines mean, and where and when the SD is largest."""
    found, ratios = named_series(results), _ratios(results)
    if found is None or not ratios:
        return (message(phrases.NOTHING),)
    name = max(ratios, key=lambda one: float(ratios[one].max()))
    first = int(ratios[name].argmax())
    return (
        message(
            "lines are the SD of each {window} consecutive values, at the last of them, "
            "divided by the SD of the whole series, which is 1; where times warm up, the "
            "line begins above 1 and falls below it",
            window=WINDOW,
        ),
        message(
            "the largest is {ratio}, for {name} in values {first} to {last}",
            ratio=f"{ratios[name][first]:.3g}",
            name=name,
            first=first + 1,
            last=first + WINDOW,
        ),
        *(
            message("all values of {name} are equal: there is no ratio", name=one)
            for one in found[1]
            if one not in ratios
        ),
        *left_out(found[0].left_out),
    )


UNIT = chart_of(
    FINDING.description,
    "SD of a sliding window relative to that of the whole series",
    draw,
    alternative,
    name="warmup_sd",
    source="STABILITY",
)
