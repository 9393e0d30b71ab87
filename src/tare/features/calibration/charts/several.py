"""Several sweeps over each other."""

from __future__ import annotations

from collections.abc import Mapping

from tare.experiment.sweep.document import Calibration, Fit
from tare.features.calibration.charts.sweep import Sweep, asked, scale_of
from tare.render.charts.lines import Axis, Line, described, lines
from tare.render.drawing import SERIES, Chart
from tare.results.message import Message, message
from tare.units import counted

#: Sweeps that stand in one panel: as many as there are colours.
MOST = len(SERIES)


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
    panels, across, upwards = _panels(sweeps)
    return lines(panels, across, upwards, apart=True)


def _panels(sweeps: Mapping[str, Sweep]) -> tuple[list[tuple[str, list[Line]]], Axis, Axis]:
    """Return the panels, of rates and of rates for each CPU, and their axes."""
    shown = dict(list(sweeps.items())[:MOST])
    first = next(iter(shown.values()))
    whole = [_line(name, sweep) for name, sweep in shown.items()]
    each = [_line(name, sweep, each=True) for name, sweep in shown.items()]
    return (
        [("", whole), (f"For each {first.per}: level is fair", each)],
        Axis(first.x_title, "1", even=True),
        Axis("rate", first.unit, even=True),
    )


def _line(name: str, sweep: Sweep, *, each: bool = False) -> Line:
    """Return the means of a sweep with their intervals; ``each``: for each CPU, or GB."""
    per = [step.y / sweep.each(step) if each else 1.0 for step in sweep.steps]
    ends = [
        [None if end is None else end / by for end, by in zip(some, per, strict=True)]
        for some in ([s.low for s in sweep.steps], [s.high for s in sweep.steps])
    ]
    means = [step.y / by for step, by in zip(sweep.steps, per, strict=True)]
    return Line(name, [step.x for step in sweep.steps], means, *ends)


def tell_overlay(sweeps: Mapping[str, Sweep]) -> tuple[Message, ...]:
    """Describe :func:`overlay`."""
    (_, whole), (title, each) = (panels := _panels(sweeps))[0]
    said = [
        message("means with intervals: {rates}", rates=described(whole, *panels[1:])),
        message("{title}: {rates}", title=title, rates=described(each, *panels[1:])),
    ]
    if missing := list(sweeps)[MOST:]:
        said.append(
            message("not drawn, because there is no room: {names | listing}", names=missing)
        )
    return tuple(said)
