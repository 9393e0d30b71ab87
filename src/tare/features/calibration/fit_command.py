"""``tare calibrate fit``: how the speed in others' sweeps follows the CPU time or the memory."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tare.cli import console
from tare.errors import ExperimentError
from tare.experiment.sweep import messages, numbers
from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.document import Fit
from tare.features.calibration import fit_file, page, sweep_file
from tare.features.calibration.charts.sweep import asked
from tare.features.calibration.picture import picture
from tare.render import files
from tare.render.words import sentence
from tare.results.message import Message, message
from tare.results.report import Entry, Report

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
) -> Report:
    """Find the verdict of a published sweep from its table, or save its published line.

    Parameters
    ----------
    file : Path, optional
        A table with the points.
    json : str, optional
        Where it is written as data, too.
    report : Path, optional
        Where it is written as a page, too.
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
    source = "a publication" if file is None else file.name
    command = shlex.join([*words, *([] if report is None else ["--report", str(report)])])
    made = page.of_fit(found, unit, source, command)
    figures = msgspec.structs.asdict(fit_file.to_file(found, unit))
    # That of the report.
    del figures["version"]
    answer = sentence(messages.of_fit(found, unit))
    drawn = tuple(picture(asked(found, (1.0, unit))))
    return msgspec.structs.replace(
        made,
        command="calibrate fit",
        figures=figures,
        entries=(Entry("Answer", answer, "strong", drawn),),
        next=(_next(found, shlex.join(words), json),),
        sections=made.sections if report is not None else (),
    )


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


def _next(found: Fit, command: str, json: str | None) -> Message:
    """Return the next command worth typing."""
    if json is None:
        return message(
            "{command} --json fit.json   (which tare calibrate compare reads)", command=command
        )
    if (
        found.work == fit_file.UNIT
        and json != "-"
        and found.asked.verdict not in ("inconclusive", "falling")
    ):
        return message(
            "tare calibrate compare OTHER {file}   (a calibration vs. this platform)",
            file=shlex.quote(json),
        )
    return message(
        "tare calibrate   (measure this machine{% if not linear %}, with the cause of each range"
        "{% endif %})",
        linear=found.asked.verdict == "linear",
    )
