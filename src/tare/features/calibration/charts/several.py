"""Several sweeps over each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare.experiment.sweep.document import Calibration, Fit
from tare.features.calibration.charts.axes import GUTTER, Across, rounded, upwards
from tare.features.calibration.charts.key import Entry, key
from tare.features.calibration.charts.messages import tell_point
from tare.features.calibration.charts.rates import highest, shape, tint, told
from tare.features.calibration.charts.sweep import Step, Sweep, asked, scale_of
from tare.render.drawing import SERIES, Chart, field, layer, mark, panel_width, styled
from tare.results.message import Message, message
from tare.units import counted

#: Sweeps that stand in one panel: as many as there are colours.
MOST = len(SERIES)
_HEIGHT, _PER_CPU = 300, 150


def sweeps_of(calibrations: Mapping[str, Calibration | Fit]) -> dict[str, Sweep]:
    """Bring several calibrations to one unit, by name; what does not do the same has its own."""
    alike = len({found.work for found in calibrations.values()}) == 1
    scale = scale_of(list(calibrations.values())) if alike else None
    return {name: asked(found, scale) for name, found in calibrations.items()}


def names_of(calibrations: list[Calibration] | tuple[Calibration, ...]) -> list[str]:
    """Name each of several calibrations of one experiment by what it does not share."""
    parts = [
        {
            "workload": found.workload,
            "on": f"on {found.platform}",
            "workers": counted(found.workers, "worker"),
            "period": f"period {1000 * found.period_s:g} ms",
            **{name: f"{name} {level}" for name, level in found.levels.items()},
        }
        for found in calibrations
    ]
    every = list(dict.fromkeys(name for some in parts for name in some))
    varied = [name for name in every if len({some.get(name) for some in parts}) > 1]
    return [
        ", ".join(some[name] for name in varied if name in some) or str(i + 1)
        for i, some in enumerate(parts)
    ]


def overlay(sweeps: Mapping[str, Sweep]) -> Chart:
    """Draw several sweeps over each other: rates, and rates for each CPU beneath.

    Parameters
    ----------
    sweeps : mapping of str to Sweep
        In one unit; the first :data:`MOST` are drawn.

    Returns
    -------
    Chart
        A level line beneath is a machine on which half of the CPU is half of the speed.
    """
    shown = dict(list(sweeps.items())[:MOST])
    first = next(iter(shown.values()))
    across = Across(first.x_title, max(s.end for s in shown.values()))
    top = max(highest(s) for s in shown.values())
    highest_each = max(s.each(step) for s in shown.values() for step in s.steps)
    names = list(shown)
    width = panel_width(1, GUTTER)
    panels = [
        key([Entry(name, i) for i, name in enumerate(names)]),
        _panel(shown, across, upwards(first.unit, 0, 1.04 * top)) | {"height": _HEIGHT},
        _panel(shown, across, upwards(first.unit, 0, 1.08 * highest_each, ticks=4), each=True)
        | {"height": _PER_CPU, "title": f"For each {first.per}: level is fair"},
    ]
    chart = {"vconcat": [panel | {"width": width} for panel in panels], "spacing": 12}
    return styled(chart, gutter=GUTTER)


def _panel(
    sweeps: Mapping[str, Sweep], across: Across, y: dict[str, Any], *, each: bool = False
) -> Chart:
    """Draw a line through the means of each sweep, with intervals."""
    layers = []
    for number, (name, sweep) in enumerate(sweeps.items()):
        records = [
            _record(name, sweep, step, per=step.y / sweep.each(step) if each else 1.0)
            for step in sweep.steps
        ]
        at, color = {"y": field("y:Q", **y)}, tint(number)
        tips = [field(f"{key}:N") for key in ("sweep", "asked", "rate")]
        parts = [
            mark("line", at, strokeWidth=1.4, color=color, opacity=0.75),
            mark("point", {**at, "tooltip": tips}, shape=shape(number), filled=True, size=30,
                 opacity=1, color=color),
        ]  # fmt: skip
        if any("low" in record for record in records):
            ends = {"y": field("low:Q", **y), "y2": field("high")}
            parts.insert(0, mark("rule", ends, strokeWidth=1.6, color=color, opacity=0.8))
        layers.append(layer(*parts, rows=records, channels={"x": across.channel()}))
    return layer(*layers)


def _record(name: str, sweep: Sweep, step: Step, per: float) -> dict[str, Any]:
    record: dict[str, Any] = {"sweep": name, "x": rounded(step.x), "y": rounded(step.y / per)}
    if step.low is not None and step.high is not None:
        record |= {"low": rounded(step.low / per), "high": rounded(step.high / per)}
    return record | told(sweep, step)


def tell_overlay(sweeps: Mapping[str, Sweep]) -> tuple[Message, ...]:
    """Describe :func:`overlay`."""
    told = []
    for name, sweep in list(sweeps.items())[:MOST]:
        each = [sweep.each(step) for step in sweep.steps]
        told.append(
            message(
                "{name}: {fastest}, {least} to {most} {unit} per {per}",
                name=name,
                fastest=tell_point(sweep.steps[-1], sweep),
                least=min(each),
                most=max(each),
                unit=sweep.unit,
                per=sweep.per,
            )
        )
    missing = list(sweeps)[MOST:]
    left_out = (
        [message("not drawn, because there is no room: {names | listing}", names=missing)]
        if missing
        else []
    )
    per = next(iter(sweeps.values())).per
    return message(
        "means with intervals, below for each {per}: {sweeps | join('; ')}", sweeps=told, per=per
    ), *left_out
