"""What ``tare calibrate`` prints: the verdict, a picture, CALIBRATE's table, causes, what next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from tare.calibration import sweep, telling
from tare.calibration.document import Calibration
from tare.calibration.rates import unit_for
from tare.cli import output
from tare.experiment import Experiment, WorkloadSpec
from tare.findings.calibration_comparison import compared
from tare.render.terminal import aligned
from tare.render.words import sentences
from tare.statistics.regression import Line
from tare.units import counted, significant

if TYPE_CHECKING:
    from tare.cli.calibrate_sweep import Told

#: So many steps tell a line from a bend where their windows are steady.
_ENOUGH_STEPS = 10
#: As many as a sweep of two CPUs has.
_MANY_STEPS = 20


def plan_line(found: Experiment, each_s: float, right: str, *, resume: bool) -> str:
    """Return one line on what is to come: what, how many windows, how long, by which right."""
    cpus = sweep.given_cpus(found)
    by = sweep.by(found)
    steps = f"{counted(len(cpus), 'step')} from {min(cpus):.3g} to {max(cpus):.3g} whole CPUs"
    if by == "quota":
        steps = f"{counted(len(cpus), 'quota')} from {min(cpus):.3g} to {max(cpus):.3g} CPUs"
    if by == "memory":
        sizes = [str(name) for name in found.factors["size"]]
        steps = f"{len(sizes)} memory sizes from {sizes[0]} to {sizes[-1]}"
    if len(periods_s := found.factors.get("period", ())) > 1:
        steps += f" × {len(periods_s)} periods"
    windows = found.stopping.trials or sweep.WINDOWS
    threads = sweep.threads(found)
    takes = "at most " if resume else "about "
    where = f" on {found.factors['platform'][0]}" if found.factors["platform"][0] != "bare" else ""
    return (
        f"Sweep   {workload_name(found.workloads[0])}{where}, {counted(threads, 'thread')}: "
        f"{steps} × {counted(windows, 'window')}, {takes}{output.seconds(windows * each_s)}; "
        f"{right}"
    )


def workload_name(spec: WorkloadSpec) -> str:
    """Name a workload with its size."""
    size = spec.parameters.get("size") if spec.kernel else None
    return f"{spec.name} (size {size})" if size is not None else spec.name


def show(answered: Told, json: str | None) -> None:
    """Print a calibration for a person."""
    found, out = answered.calibration, output.out
    out.print(_verdict(found), style="bold", soft_wrap=True)
    if fair := telling.comparability(found):
        out.print(fair, soft_wrap=True)
    for line in _picture(found):
        out.print(line, soft_wrap=True)
    out.print()
    for number, line in enumerate(_table(found)):
        out.print(Text(line, style="dim" if number == 0 else ""), soft_wrap=True)
    if parted := telling.parted(found):
        out.print(parted, soft_wrap=True)
    out.print()
    for regime in found.regimes:
        if regime.cause == "none" and len(found.regimes) == 1:
            continue
        out.print(
            f"Range   {regime.start:.3g} to {regime.end:.3g} CPUs: {regime.evidence}",
            soft_wrap=True,
        )
    for line in _periods(answered):
        out.print(line, soft_wrap=True)
    for caveat in found.caveats:
        out.print(f"Note    {caveat}", style="yellow", soft_wrap=True)
    if answered.ended == "budget":
        out.print("Note    the budget ended before all windows were measured", style="yellow")
    out.print(f"Page    {answered.page}", soft_wrap=True)
    kept = [str(answered.folder / "calibration.json"), *([json] if json else [])]
    out.print(f"Kept    {', '.join(kept)}", soft_wrap=True)
    out.print(f"Next    {_next(found, answered.folder)}", soft_wrap=True)


def _verdict(found: Calibration) -> str:
    """Return the verdict in a word, and its sentence; none but this where nothing is concluded."""
    told, word = telling.verdict(found), found.asked.verdict
    return told if word == "inconclusive" else f"{word.capitalize()}. {told}"


def _periods(answered: Told) -> list[str]:
    """Return what other periods of the quota did."""
    first, *others = answered.calibrations
    if not others:
        return []
    told = [f"Period  {1000 * one.period_s:g} ms: {_verdict(one)}" for one in others]
    picture = f"Period  {1000 * first.period_s:g} ms: what is shown above"
    return [
        picture,
        *told,
        *(f"        {line}" for line in sentences(compared(answered.calibrations))),
    ]


def _picture(found: Calibration) -> list[str]:
    from tare.cli.calibrate_picture import picture
    from tare.report.calibration_charts import asked

    lines = picture(asked(found))
    return ["", *lines] if lines else []


def _table(found: Calibration) -> list[str]:
    """Return CALIBRATE's table: the line against what was asked, and against what was had."""
    lines = [found.asked.line, *([found.delivered.line] if found.delivered else [])]
    heads = ["", "by CPU asked for", *(["by CPU delivered"] if found.delivered else [])]
    scale, unit = unit_for(found.work, [point.rate.value for point in found.points])

    def row(name: str, cell: list[str]) -> tuple[str, ...]:
        return (name, *cell)

    best = max(found.points, key=lambda point: point.rate.value)
    most = _within(best.rate.value, best.rate.low, best.rate.high, scale)
    return aligned(
        [
            tuple(heads),
            row(f"slope, {unit} a CPU", [_slope(line, scale) for line in lines]),
            row(f"intercept, {unit}", [_intercept(line, scale) for line in lines]),
            row("R²", ["–" if line.r2 is None else f"{line.r2:.4f}" for line in lines]),
            row("p", [_p(line.p) for line in lines]),
            row(f"max, {unit}", [f"{most} at {best.cpus:.3g}", *([""] * (len(lines) - 1))]),
        ],
        left=1,
    )


def _slope(line: Line, scale: float) -> str:
    return _within(line.slope, line.slope_low, line.slope_high, scale)


def _intercept(line: Line, scale: float) -> str:
    return _within(line.intercept, line.intercept_low, line.intercept_high, scale)


def _within(value: float, low: float | None, high: float | None, scale: float) -> str:
    told = significant(value / scale)
    if low is None or high is None:
        return f"{told} (no interval)"
    return f"{told} [{significant(low / scale)}, {significant(high / scale)}]"


def _p(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 2.2e-16" if p < 2.2e-16 else f"{p:.2g}"


def _more_steps(found: Calibration) -> str:
    most = max(point.cpus for point in found.points)
    why = {"quota": "", "cpuset": "by quota, with parts of a CPU: ", "memory": "by quota: "}
    step = most / max(_MANY_STEPS, 2 * len(found.points))
    return (
        f"tare calibrate --step {step:.2g} --to {most:.6g}   "
        f"({why[found.by]}more steps tell a line from a bend)"
    )


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
