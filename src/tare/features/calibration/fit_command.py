"""``tare calibrate fit``: how the speed in others' sweeps follows the CPU time or the memory."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from pathlib import Path

from tare.cli import console
from tare.errors import ExperimentError
from tare.experiment.sweep import messages, numbers
from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.document import Fit
from tare.experiment.sweep.numbers import span
from tare.features.calibration import fit_file, page, sweep_file
from tare.features.calibration.charts.sweep import asked
from tare.features.calibration.findings.tables import part_of
from tare.features.calibration.picture import picture
from tare.features.calibration.screen import p_of, within
from tare.render import files
from tare.render.terminal import aligned
from tare.render.words import sentence, text
from tare.results.message import message
from tare.units import chosen, r_squared, significant

#: Default name of the workload of a published line.
WORKLOAD = "another implementation of LINPACK"
#: Number of a published line from which it is taken for a typing error.
_TOO_LARGE = 1e12
#: First step, in CPUs, from which the axis is doubted: such numbers are rather MB of memory.
_MANY_CPUS = 64
#: Last words of column names that hold sizes of memory.
_MEMORY = ("mb", "mib", "memory")


@dataclass(frozen=True, kw_only=True)
class Published:
    """A line without its points, as typed; None where an option was not given."""

    slope: float | None = None
    intercept: float | None = None
    range: str | None = None
    r_squared: float | None = None
    maximum: float | None = None

    @property
    def given(self) -> bool:
        """Whether any of it was typed."""
        return any(
            value is not None
            for value in (self.slope, self.intercept, self.range, self.r_squared, self.maximum)
        )


def fit(
    file: Path | None,
    json: str | None,
    report: Path | None,
    quota: str,
    value: str,
    workload: str | None = None,
    line: Published | None = None,
) -> None:
    """Find the verdict of a published sweep from its table, or save its published line.

    Parameters
    ----------
    file : Path, optional
        A table with the points.
    json : str, optional
        Where to write it as data, too.
    report : Path, optional
        Where to write it as a page, too.
    quota, value : str
        Columns of the table; of a published line, what it is along and of.
    workload : str, optional
        What they measured with.
    line : Published, optional
        Instead of ``file``.

    Raises
    ------
    InputError
        If the file is no sweep; names the line.
    ExperimentError
        If the published line is not possible, or there is a file besides.
    """
    console.check_writable(json, report)
    if report is not None:
        files.format_of(report)
    line = line or Published()
    if (file is None) == (not line.given):
        raise ExperimentError(
            "expected a FILE.csv, or a published line" + " alone" * line.given,
            "tare calibrate fit sweep.csv, or --slope 0.02 --intercept -2 --range 128,10000",
        )
    unit = fit_file.UNIT if value == sweep_file.VALUE else value
    last_words = quota.lower().replace("_", " ").split()[-1:]
    axis: AxisName = "memory" if last_words and last_words[0] in _MEMORY else "cpu"
    if file is None:
        found = _of_line(line, axis, workload or WORKLOAD, unit)
    else:
        steps = sweep_file.read(file, quota, value).steps
        found = fit_file.fit_of(axis, workload or WORKLOAD, unit, steps)
    place = found.asked.segments[0].start
    if axis == "cpu" and place >= _MANY_CPUS:
        note = message(
            "the sweep begins at {place}. If these are MB of memory: name the column "
            "memory_mb, and add --quota memory_mb",
            place=numbers.place(place, axis),
        )
        console.err.print(f"Note    {sentence(note)}", soft_wrap=True)
    words = _words(file, quota, value, workload, line)
    if report is not None:
        command = shlex.join([*words, "--report", str(report)])
        source = "a publication" if file is None else file.name
        files.write(page.of_fit(found, unit, source, command), report)
        console.err.print(f"Wrote {report}.", soft_wrap=True)
    if json is not None:
        console.write_json(fit_file.to_file(found, unit), json)
    if json != "-":
        _show(found, unit, _next(found, shlex.join(words), json))


def _of_line(line: Published, axis: AxisName, workload: str, unit: str) -> Fit:
    """Return the fit of a line that others published, with slope and intercept in ``unit``."""
    example = "--slope 0.0197 --intercept -1.995 --range 128,10000 --quota memory_mb"
    if line.slope is None or line.intercept is None or line.range is None:
        raise ExperimentError(
            "a published line needs --slope, --intercept and --range", f"such as {example}"
        )
    for name, number in vars(line).items():
        if isinstance(number, float) and not abs(number) < _TOO_LARGE:
            why = "too large" if math.isfinite(number) else "not a finite number"
            option = f"--{name.replace('_', '-')}"
            raise ExperimentError(f"{option}: {number:g} is {why}", f"such as {example}")
    try:
        start, end = (float(word) for word in line.range.split(","))
    except ValueError:
        start = end = 0.0
    if not 0 < start < end < _TOO_LARGE:
        raise ExperimentError(
            f"--range: {line.range!r} is not possible; expected two numbers above 0, the smaller "
            f"first, in {AXES[axis].unit}",
            f"such as {example}",
        )
    if line.slope <= 0:
        raise ExperimentError("a line to compare by has a slope above 0", f"such as {example}")
    if line.intercept + line.slope * end <= 0:
        raise ExperimentError(
            f"the line is below 0 {unit} throughout its range",
            "the slope is per CPU, or per MB with --quota memory_mb",
        )
    if line.r_squared is not None and not 0 <= line.r_squared <= 1:
        raise ExperimentError("--r-squared is between 0 and 1", "--r-squared 0.9973")
    try:
        model = fit_file.published(
            line.slope, line.intercept, line.r_squared, line.maximum, (start, end), axis
        )
    except ValueError as error:
        raise ExperimentError(
            f"--maximum: {error} {unit}", "leave --maximum out, or correct --range"
        ) from error
    return Fit(axis=axis, workload=workload, work=unit, steps=(), asked=model)


def _words(
    file: Path | None, quota: str, value: str, workload: str | None, line: Published
) -> list[str]:
    """Return the command that gives the same again."""
    words = ["tare", "calibrate", "fit", *([] if file is None else [str(file)])]
    options: dict[str, object] = {
        "--slope": line.slope,
        "--intercept": line.intercept,
        "--range": line.range,
        "--r-squared": line.r_squared,
        "--maximum": line.maximum,
        "--quota": None if quota == sweep_file.QUOTA else quota,
        "--value": None if value == sweep_file.VALUE else value,
        "--workload": workload,
    }
    for option, given in options.items():
        words += [] if given is None else [option, str(given)]
    return words


def _show(found: Fit, unit: str, following: str) -> None:
    out = console.out
    out.print(sentence(messages.of_fit(found, unit)), style="bold", soft_wrap=True)
    for line in picture(asked(found, (1.0, unit))):
        out.print(line, soft_wrap=True)
    out.print()
    for line in _lines(found, unit):
        out.print(line, soft_wrap=True)
    out.print()
    out.print(f"Next    {following}", soft_wrap=True)


def _lines(found: Fit, unit: str) -> list[str]:
    """Return each piece, and CALIBRATE's table: one line through all points."""
    line, along = found.asked.line, AXES[found.axis]
    heads = (
        "", f"slope, {unit} per {along.per}", f"intercept, {unit}", "R²", "p",
        f"max, {unit}",
    )  # fmt: skip
    pieces = [
        (
            text(span(s.start, s.end, found.axis)),
            significant(s.slope * along.places_per),
            significant(s.intercept),
            *("", "", ""),
        )
        for s in found.asked.segments
    ]
    r2 = "–" if line.r2 is None else r_squared(line.r2)
    if found.published:
        # As it was typed.
        slope, *others = (
            chosen(value, "1")
            for value in (line.slope * along.places_per, line.intercept, line.maximum)
        )
        return aligned([heads, ("published line", slope, others[0], r2, "–", others[1])], left=1)
    whole = (
        "least squares, unweighted",
        within(part_of(line, "slope"), 1 / along.places_per),
        within(part_of(line, "intercept")),
        r2,
        p_of(line),
        significant(line.maximum),
    )
    return aligned([heads, *pieces, whole], left=1)


def _next(found: Fit, command: str, json: str | None) -> str:
    """Return the next command worth typing."""
    if json is None:
        return f"{command} --json fit.json   (which tare calibrate compare reads)"
    if (
        found.work == fit_file.UNIT
        and json != "-"
        and found.asked.verdict not in ("inconclusive", "falling")
    ):
        return (
            f"tare calibrate compare OTHER {shlex.quote(json)}   (a calibration vs. this platform)"
        )
    if found.asked.verdict == "linear":
        return "tare calibrate   (measure this machine)"
    return "tare calibrate   (measure this machine, with the cause of each range)"
