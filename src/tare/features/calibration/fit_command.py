"""``tare calibrate fit``: how the speed in others' sweeps follows the CPU time or the memory."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from tare.cli import console
from tare.errors import ExperimentError, Typed
from tare.experiment.sweep import messages, numbers
from tare.experiment.sweep.axis import AxisName
from tare.experiment.sweep.document import Fit
from tare.features.calibration import fit_file, page, sweep_file
from tare.features.calibration.charts.sweep import asked
from tare.features.calibration.picture import picture
from tare.render import files
from tare.render.words import sentence
from tare.results.message import message
from tare.results.report import Entry, NextStep, Report

if TYPE_CHECKING:
    from tare.features.calibration.options import FitOptions

#: Default name of the workload of a published line.
WORKLOAD = "another implementation of LINPACK"
#: Options of a published line.
_LINE = frozenset({"slope", "intercept", "range", "r_squared", "maximum"})
#: First step, in CPUs, from which the axis is doubted: such numbers are rather MB of memory.
_MANY_CPUS = 64
#: Last words of column names that hold sizes of memory.
_MEMORY = ("mb", "mib", "memory")


def fit(given: FitOptions) -> Report:
    """Find the verdict of a published sweep from its table, or save its published line.

    Raises
    ------
    InputError
        If the file is no sweep; names the line.
    ExperimentError
        If the published line is not possible, or there is a file besides.
    """
    file, quota, value, report = given.file, given.quota, given.value, given.report
    console.check_writable(given.json, report)
    if report is not None:
        files.format_of(report)
    is_line = bool(given.given & _LINE)
    if (file is None) != is_line:
        raise ExperimentError(
            "expected a FILE.csv, or a published line" + " alone" * is_line,
            "name a table, or a line such as --slope 0.02 --intercept -2 --range 128,10000",
        )
    unit = fit_file.UNIT if value == sweep_file.VALUE else value
    last_words = quota.lower().replace("_", " ").split()[-1:]
    axis: AxisName = "memory" if last_words and last_words[0] in _MEMORY else "cpu"
    workload = given.workload or WORKLOAD
    if file is None:
        found = _of_line(given, axis, workload, unit)
    else:
        steps = sweep_file.read(file, quota, value).steps
        found = fit_file.fit_of(axis, workload, unit, steps)
    place = found.asked.segments[0].start
    if axis == "cpu" and place >= _MANY_CPUS:
        note = message(
            "the sweep begins at {place}. If these are MB of memory: name the column "
            "memory_mb, and add --quota memory_mb",
            place=numbers.place(place, axis),
        )
        console.err.print(f"Note    {sentence(note)}", soft_wrap=True)
    words = _words(given)
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
        next_steps=(_next(found, shlex.join(words), given.json),),
        sections=made.sections if report is not None else (),
    )


def _of_line(given: FitOptions, axis: AxisName, workload: str, unit: str) -> Fit:
    """Return the fit of a line that others published, with slope and intercept in ``unit``."""
    example = "--slope 0.0197 --intercept -1.995 --range 128,10000 --quota memory_mb"
    if given.slope is None or given.intercept is None or given.range is None:
        raise ExperimentError(
            "a published line needs --slope, --intercept and --range", Typed(example)
        )
    if given.intercept + given.slope * given.range[1] <= 0:
        raise ExperimentError(
            f"the line is below 0 {unit} throughout its range",
            "the slope is per CPU, or per MB with --quota memory_mb",
        )
    try:
        model = fit_file.published(
            given.slope, given.intercept, given.r_squared, given.maximum, given.range, axis
        )
    except ValueError as error:
        raise ExperimentError(
            f"--maximum: {error} {unit}", "leave --maximum out, or correct --range"
        ) from error
    return Fit(axis=axis, workload=workload, work=unit, steps=(), asked=model)


def _words(given: FitOptions) -> list[str]:
    """Return the command that gives the same again."""
    words = ["tare", "calibrate", "fit", *([] if given.file is None else [str(given.file)])]
    options: dict[str, object] = {
        "--slope": given.slope,
        "--intercept": given.intercept,
        "--range": given.range and ",".join(f"{end:.15g}" for end in given.range),
        "--r-squared": given.r_squared,
        "--maximum": given.maximum,
        "--quota": None if given.quota == sweep_file.QUOTA else given.quota,
        "--value": None if given.value == sweep_file.VALUE else given.value,
        "--workload": given.workload,
    }
    for option, value in options.items():
        words += [] if value is None else [option, str(value)]
    return words


def _next(found: Fit, command: str, json: str | None) -> NextStep:
    """Return the next command worth typing."""
    if json is None:
        return NextStep(f"{command} --json fit.json", message("which tare calibrate compare reads"))
    if (
        found.work == fit_file.UNIT
        and json != "-"
        and found.asked.verdict not in ("inconclusive", "falling")
    ):
        return NextStep(
            "tare calibrate --json here.json && "
            + shlex.join(["tare", "calibrate", "compare", "here.json", json]),
            message("this machine vs. this platform"),
        )
    return NextStep(
        "tare calibrate",
        message(
            "measure this machine{% if not linear %}, with the cause of each range{% endif %}",
            linear=found.asked.verdict == "linear",
        ),
    )
