"""The report of ``tare calibrate``: that of its folder, and what a terminal shows of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare.cli.again import FILES, again
from tare.experiment.sweep import messages
from tare.experiment.sweep.document import Calibration
from tare.experiment.sweep.numbers import place
from tare.experiment.sweep.rates import unit_of
from tare.features.calibration.charts.sweep import asked
from tare.features.calibration.findings.comparison import compared
from tare.features.calibration.findings.tables import models_tables
from tare.features.calibration.picture import picture
from tare.render.words import sentences
from tare.results.message import Amount, Said, message
from tare.results.report import Entry, NextStep, Report

if TYPE_CHECKING:
    from tare.features.calibration.session import Conclusion

#: How to use a calibration on another machine.
OTHER_MACHINE = NextStep(
    "tare calibrate compare --help", message("what is a CPU here worth on another machine?")
)
#: Fewest steps that distinguish a line from a bend where windows vary little.
_ENOUGH_STEPS = 10
#: Fewest steps of a suggested sweep: as many as a sweep of two CPUs has.
_MANY_STEPS = 20


def report(concluded: Conclusion, json: str | None) -> Report:
    """Return the report of a sweep: its page, with what a terminal shows.

    Parameters
    ----------
    concluded : Conclusion
    json : str or None
        File that is to have the calibration, besides the folder.
    """
    found = concluded.calibration
    several = len(concluded.calibrations) > 1
    return msgspec.structs.replace(
        concluded.report,
        command="calibrate",
        figures={"calibrations": concluded.calibrations},
        entries=(*_entries(concluded, json),),
        shows_cells=False,
        # The slope against CPU time has another unit than that against memory.
        further=(next(models_tables(found, several=several)),),
        next_steps=(_next(found, concluded.folder),),
    )


def _entries(concluded: Conclusion, json: str | None) -> Iterator[Entry]:
    found = concluded.calibration
    first, *others = sentences(messages.summary(found, complete=True))
    answers = [Entry("Answer", first, "strong"), *(Entry("", line, "strong") for line in others)]
    answers[-1] = msgspec.structs.replace(answers[-1], picture=tuple(picture(asked(found))))
    yield from answers
    yield from _maxima(concluded.calibrations)
    if len(concluded.calibrations) > 1:
        yield from (Entry("Period", line) for line in sentences(compared(concluded.calibrations)))
    yield from (Entry("Note", note) for note in sentences(_notes(concluded)))
    kept = [str(concluded.folder / "calibration.json"), *([json] if json else [])]
    yield Entry("Kept", message("{files | join(', ')}", files=kept))


def _notes(concluded: Conclusion) -> list[Said]:
    """Return the gravest of what weakens it; the page has all of it."""
    notes: list[Said] = [*concluded.calibration.caveats]
    if concluded.ended == "budget":
        notes.insert(0, message("the budget ended before all windows were measured"))
    rest = len(notes) - 1
    return notes[:1] + ([message("{notes} more on the page", notes=rest)] if rest > 0 else [])


def _maxima(calibrations: tuple[Calibration, ...]) -> Iterator[Entry]:
    """State mean and maximum of each workload at its fastest step, as LINPACK's summary."""
    first = calibrations[0]
    several = {one.workload: one for one in calibrations if one.work == first.work}
    if len(several) < 2:
        return
    unit = unit_of(first.work)
    for i, (name, one) in enumerate(several.items()):
        point = messages.fastest(one)
        mean = point.rate
        said = message(
            "{workload}: mean {mean}, max {most}, at {place}",
            workload=name,
            mean=Amount(mean.value, unit, mean.low, mean.high),
            most=Amount(max(point.rates or (mean.value,)), unit),
            place=place(one.place(point), one.axis),
        )
        yield Entry("" if i else "Maximum", said)
    yield Entry("", message("All other entries are about {workload}.", workload=first.workload))


def _more_steps(found: Calibration) -> NextStep:
    most = max(point.cpus for point in found.points)
    step = most / max(_MANY_STEPS, 2 * len(found.points))
    without = (*FILES, "--out", "--resume", "--quotas")
    return NextStep(
        again("calibrate", {"--step": f"{step:.2g}"}, without),
        message(
            "{% if by != 'quota' %}by quota{% if by == 'cpuset' %}, with parts of a CPU"
            "{% endif %}: {% endif %}more steps distinguish a line from a bend",
            by=found.by,
        ),
    )


def _next(found: Calibration, folder: Path) -> NextStep:
    """Return the next command worth typing, for what was found."""
    if found.asked.reason == "disturbed":
        return NextStep(
            again("calibrate", {"--budget": "5 min"}, (*FILES, "--out", "--resume")),
            message("when the machine is quiet; tare doctor says whether it is"),
        )
    if found.asked.reason == "steps apart" or (
        found.asked.verdict == "inconclusive" and len(found.points) < _ENOUGH_STEPS
    ):
        return _more_steps(found)
    if found.asked.verdict == "inconclusive":
        command = ["tare", "calibrate", "--resume", "--windows", "21", "--out", str(folder)]
        return NextStep(shlex.join(command), message("more windows, less noise"))
    if found.asked.verdict == "piecewise":
        if found.machine.governor:
            return NextStep(
                "tare calibrate --settings governor=powersave,performance --settings turbo=on,off",
                message("which settings are fair?"),
            )
        return NextStep("tare doctor", message("what disturbs this machine?"))
    return OTHER_MACHINE
