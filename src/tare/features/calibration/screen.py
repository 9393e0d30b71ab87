"""What ``tare calibrate`` prints: the verdict, a picture, CALIBRATE's table, causes, what next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from tare.cli import console
from tare.experiment.specification import Experiment
from tare.experiment.sweep import messages
from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.document import Calibration, Interval
from tare.experiment.sweep.numbers import place, step
from tare.experiment.sweep.rates import unit_for
from tare.features.calibration import sweep
from tare.features.calibration.findings.comparison import compared
from tare.features.calibration.findings.tables import part_of
from tare.render.terminal import aligned
from tare.render.words import sentences, text
from tare.results.message import Message, Said, Value, message
from tare.statistics.regression import Line
from tare.units import r_squared, significant
from tare.workloads.specification import WorkloadSpec

if TYPE_CHECKING:
    from tare.features.calibration.session import Told

_SCREEN_TEXTS = {
    "quotas": (
        "{% if steps == 1 %}1 quota{% else %}{steps} quotas{% endif %} from {first} to "
        "{last} CPUs{% if periods %} × {periods} periods{% endif %}"
    ),
    "whole": (
        "{steps | counted('step')} from {first} to {last} whole CPUs{% if periods %} × "
        "{periods} periods{% endif %}"
    ),
    "sizes": (
        "{steps} memory sizes from {first} to {last}{% if periods %} × {periods} periods{% endif %}"
    ),
}

#: Fewest steps that distinguish a line from a bend where windows vary little.
_ENOUGH_STEPS = 10
#: Fewest steps of a suggested sweep: as many as a sweep of two CPUs has.
_MANY_STEPS = 20


def plan_line(found: Experiment, each_s: float, right: Message, *, resume: bool) -> str:
    """Return one line on what is to come: what, how many windows, how long, by which right."""
    cpus = sweep.given_cpus(found)
    periods = len(found.factors.get("period", ()))
    ends: tuple[Value, Value] = step(min(cpus)), step(max(cpus))
    kind = {"quota": "quotas", "cpuset": "whole", "memory": "sizes"}[sweep.by(found)]
    if kind == "sizes":
        sizes = [str(name) for name in found.factors["size"]]
        ends = sizes[0], sizes[-1]
    steps = message(
        _SCREEN_TEXTS[kind],
        steps=len(cpus),
        first=ends[0],
        last=ends[1],
        periods=periods if periods > 1 else None,
    )
    windows = found.stopping.trials or sweep.WINDOWS
    platform = str(found.factors["platform"][0])
    time = console.seconds(windows * each_s)
    planned = message(
        "{workload}{% if platform %} on {platform}{% endif %}, {threads | counted('thread')}"
        ": {steps} × {windows | counted('window')}, {time}; {right}",
        workload=", ".join(map(workload_name, found.workloads)),
        platform=None if platform == "bare" else platform,
        threads=sweep.threads(found),
        steps=steps,
        windows=windows,
        time=message("at most {time}" if resume else "about {time}", time=time),
        right=right,
    )
    return f"Sweep   {text(planned)}"


def workload_name(spec: WorkloadSpec) -> str:
    """Name a workload with its size."""
    size = spec.parameters.get("size") if spec.kernel else None
    if size is None:
        return spec.name
    leading = spec.parameters.get("leading_dimension")
    return f"{spec.kernel} (size {size}{f', LDA {leading}' if leading else ''})"


def show(answered: Told, json: str | None) -> None:
    """Print a calibration for a person."""
    found, out = answered.calibration, console.out
    slowest = messages.slowest(found) or messages.ceiling(found)
    why = messages.because(slowest, found.axis) if slowest else messages.parted(found)
    said = (messages.comparability(found), messages.verdict(found), why)
    first, *others = sentences(filter(None, said))
    out.print(first, style="bold", soft_wrap=True)
    for line in others:
        out.print(line, soft_wrap=True)
    for line in _picture(found):
        out.print(line, soft_wrap=True)
    out.print()
    for number, line in enumerate(_table(found)):
        out.print(Text(line, style="dim" if number == 0 else ""), soft_wrap=True)
    out.print()
    for line in _sizes(answered):
        out.print(line, soft_wrap=True)
    for line in _periods(answered):
        out.print(line, soft_wrap=True)
    for note in _notes(answered):
        out.print(f"Note    {note}", style="yellow", soft_wrap=True)
    out.print(f"Page    {answered.page}", soft_wrap=True)
    kept = [str(answered.folder / "calibration.json"), *([json] if json else [])]
    out.print(f"Kept    {', '.join(kept)}", soft_wrap=True)
    out.print(f"Next    {_next(found, answered.folder)}", soft_wrap=True)


def _notes(answered: Told) -> list[str]:
    """Return the gravest of what weakens it; the page has all of it."""
    notes: list[Said] = [*answered.calibration.caveats]
    if answered.ended == "budget":
        notes.insert(0, message("the budget ended before all windows were measured"))
    rest = len(notes) - 1
    more = [message("{notes} more on the page", notes=rest)] if rest > 0 else []
    return sentences([*notes[:1], *more])


def _sizes(answered: Told) -> list[str]:
    """Return mean and maximum of each workload at its fastest step, as LINPACK's summary."""
    first = answered.calibration
    several = {one.workload: one for one in answered.calibrations if one.work == first.work}
    if len(several) < 2:
        return []
    best = {name: messages.fastest(one) for name, one in several.items()}
    scale, unit = unit_for(first.work, [point.rate.value for point in best.values()])
    rows = [
        (
            name,
            text(place(several[name].place(point), several[name].axis)),
            within(point.rate, scale),
            significant(max(point.rates or (point.rate.value,)) / scale),
        )
        for name, point in best.items()
    ]
    heads = ("", "at", f"mean, {unit}", f"max, {unit}")
    return [
        *aligned([heads, *rows], left=1),
        f"All else on this screen is about {first.workload}.",
        "",
    ]


def _periods(answered: Told) -> list[str]:
    """Return what other periods of the quota did."""
    if len(answered.calibrations) < 2:
        return []
    return [f"Period  {line}" for line in sentences(compared(answered.calibrations))]


def _picture(found: Calibration) -> list[str]:
    from tare.features.calibration.charts.sweep import asked
    from tare.features.calibration.picture import picture

    lines = picture(asked(found))
    return ["", *lines] if lines else []


def _table(found: Calibration) -> list[str]:
    """Return CALIBRATE's table: the line against what was asked, and against what was had."""
    along = AXES[found.axis]
    lines = [found.asked.line]
    heads = [f"by {along.resource}{' requested' * (found.axis == 'cpu')}"]
    # The slope against CPU time has another unit than that against memory; the page has both.
    if found.delivered is not None and found.axis == "cpu":
        lines.append(found.delivered.line)
        heads.append("by CPU delivered")
    scale, unit = unit_for(found.work, [point.rate.value for point in found.points])
    best = max(found.points, key=lambda point: point.rate.value)
    most = f"{within(best.rate, scale)} at {text(place(found.place(best), found.axis))}"
    names = {
        "slope": (f"slope, {unit} per {along.per}", scale / along.places_per),
        "intercept": (f"intercept, {unit}", scale),
    }
    return aligned(
        [
            ("", *heads),
            *(
                (title, *(within(part_of(line, name), size) for line in lines))
                for name, (title, size) in names.items()
            ),
            ("R²", *("–" if line.r2 is None else r_squared(line.r2) for line in lines)),
            ("p", *map(p_of, lines)),
            (f"max, {unit}", most, *[""] * (len(lines) - 1)),
        ],
        left=1,
    )


def within(found: Interval, scale: float = 1.0) -> str:
    """Write a value with its interval."""
    told = significant(found.value / scale)
    if found.low is None or found.high is None:
        return f"{told} (no interval)"
    return f"{told} [{significant(found.low / scale)}, {significant(found.high / scale)}]"


def p_of(line: Line) -> str:
    """Format the p-value of a slope as R prints it; "–" where there is none."""
    if line.p is None:
        return "–"
    return "< 2.2e-16" if line.p < 2.2e-16 else f"{line.p:.2g}"


def _more_steps(found: Calibration) -> str:
    most = max(point.cpus for point in found.points)
    why = {"quota": "", "cpuset": "by quota, with parts of a CPU: ", "memory": "by quota: "}
    step = most / max(_MANY_STEPS, 2 * len(found.points))
    return f"tare calibrate --step {step:.2g}   ({why[found.by]}more steps tell a line from a bend)"


def _next(found: Calibration, folder: Path) -> str:
    """Return the next command worth typing, for what was found."""
    where = shlex.quote(str(folder))
    if found.asked.reason == "disturbed":
        return (
            "tare calibrate --budget '5 min'   (again, when the machine is quiet; tare doctor: is "
            "it?)"
        )
    if found.asked.reason == "steps apart" or (
        found.asked.verdict == "inconclusive" and len(found.points) < _ENOUGH_STEPS
    ):
        return _more_steps(found)
    if found.asked.verdict == "inconclusive":
        return f"tare calibrate --resume --windows 21 --out {where}   (more windows, less noise)"
    if found.asked.verdict == "piecewise":
        if found.machine.governor:
            return (
                "tare calibrate --settings governor=powersave,performance turbo=on,off   "
                "(which settings are fair?)"
            )
        return "tare doctor   (what disturbs this machine?)"
    return f"tare calibrate compare {where} OTHER   (what is a CPU here worth on another machine?)"
