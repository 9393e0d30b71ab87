"""``tare calibrate compare``: which CPU on one machine is as fast as which on another."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare import units
from tare.cli import console
from tare.errors import ExperimentError, Typed
from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.document import Calibration, Fit
from tare.render.words import sentence
from tare.results.message import Amount, Chosen, message
from tare.results.report import Entry, NextStep, Report

if TYPE_CHECKING:
    from tare.features.calibration.mapping import Mapping
    from tare.features.calibration.options import CompareOptions

_LONGEST_NAME = 24
_OPTIONS: dict[AxisName, str] = {"cpu": "--cpus", "memory": "--memory"}
_EXAMPLES: dict[AxisName, str] = {"cpu": "0.7", "memory": "1769"}
#: Most caveats that the terminal prints; the page has all of them.
_MOST_NOTES = 4


def compare(given: CompareOptions) -> Report:
    """Report which CPU on the second machine is as fast as which on the first.

    Raises
    ------
    StoreError
        If one of them is no calibration.
    ExperimentError
        If the two cannot be compared.
    """
    from tare.features.calibration import file, page
    from tare.features.calibration.mapping import mapping
    from tare.render import files

    first, second = given.first, given.second
    console.check_writable(given.json, given.report)
    if given.report is not None:
        files.format_of(given.report)
    a, b = pick(file.load(first), file.load(second), alike=first.resolve() != second.resolve())
    asked = _asked(given, a.axis, b.axis)
    found = mapping(a, b, names(first, second), asked)
    if asked and all(one.rate is None for one in found.equals):
        inside = found.a.linear[0][0]
        raise ExperimentError(
            found.sentence,
            Typed(f"{_OPTIONS[a.axis]} {units.chosen(inside, '1').replace(',', '')}"),
        )
    only = [_OPTIONS[a.axis], _typed(asked)] if asked else []
    words = ["tare", "calibrate", "compare", *only, str(first), str(second)]
    words += [] if given.report is None else ["--report", str(given.report)]
    made = page.of_two(found, a, b, shlex.join(words))
    figures = msgspec.structs.asdict(found)
    # Those of the report.
    del figures["caveats"]
    return msgspec.structs.replace(
        made,
        command="calibrate compare",
        figures=figures,
        entries=(*_entries(found),),
        next_steps=(*_next(found, (first, second), asked),),
        sections=made.sections if given.report is not None else (),
    )


def _asked(given: CompareOptions, axis: AxisName, second: AxisName) -> tuple[float, ...]:
    """Return the places on the first machine that were asked for, in its unit."""
    by_axis = {"cpu": given.cpus, "memory": given.memory}
    other: AxisName = "cpu" if axis == "memory" else "memory"
    if (wrong := by_axis[other]) is not None:
        swapped = shlex.join([_OPTIONS[other], _typed(wrong), str(given.second), str(given.first)])
        raise ExperimentError(
            f"the first is measured in {AXES[axis].unit}, and {_OPTIONS[other]} is in "
            f"{AXES[other].unit}",
            Typed(f"{_OPTIONS[axis]} {_EXAMPLES[axis]}")
            if second != other
            else Typed(f"tare calibrate compare {swapped}   (files swapped)"),
        )
    return by_axis[axis] or ()


def _typed(places: Sequence[float]) -> str:
    return ",".join(f"{place:.15g}" for place in places)


def pick(
    first: Sequence[Calibration | Fit], second: Sequence[Calibration | Fit], *, alike: bool
) -> tuple[Calibration | Fit, Calibration | Fit]:
    """Choose of several calibrations two that belong together.

    With ``alike`` the same platform goes first; without, as for two of one folder, another one.
    """

    def fits(pair: tuple[Calibration | Fit, Calibration | Fit]) -> tuple[bool, ...]:
        a, b = pair
        if isinstance(a, Fit) or isinstance(b, Fit):
            return (a.work == b.work,)
        return a.workload == b.workload, (a.platform == b.platform) == alike, a.levels == b.levels

    return max(itertools.product(first, second), key=fits)


def names(first: Path, second: Path) -> tuple[str, str]:
    """Call two files what tells them apart: by their names, their folders' names, or A and B."""
    paths = first.absolute(), second.absolute()
    for told in (
        [path.stem if path.suffix == ".json" else path.name for path in paths],
        [path.parent.name for path in paths],
    ):
        if all(told) and told[0] != told[1]:
            a, b = (name[:_LONGEST_NAME] for name in told)
            return (a, b) if a != b else ("A", "B")
    return "A", "B"


def _entries(found: Mapping) -> Iterator[Entry]:
    """Return what a terminal shows besides the table."""
    from tare.features.calibration import page_tables

    yield Entry("Answer", found.sentence, "strong")
    unit = AXES[found.a.axis].unit
    # The sentence has that of a single place.
    several = found.equals if len(found.equals) > 1 else ()
    for why, some in itertools.groupby(several, key=lambda one: one.why):
        if why is not None:
            first, *_, last = [Chosen(one.at, "1") for one in some] * 2
            yield Entry(
                "Outside",
                message(
                    "{first}{% if first != last %} to {last}{% endif %} {unit}: {why}",
                    first=first,
                    last=last,
                    unit=unit,
                    why=why,
                ),
            )
    for name, said in page_tables.sides(found):
        yield Entry("Machine", message("{name}: {said}", name=name, said=said))
    yield from (Entry("Note", note) for note in found.caveats[:_MOST_NOTES])
    errors = [abs(one.flag_error) for one in found.equals if one.flag_error is not None]
    if errors and max(errors) > 0:
        rounded = message(
            "flags are rounded, which changes the speed by at most {error}",
            error=Amount(max(errors), "share"),
        )
        yield Entry("Note", sentence(rounded))


def _next(found: Mapping, paths: tuple[Path, Path], asked: tuple[float, ...]) -> Iterator[NextStep]:
    """Yield the next command worth typing: one value of several, or all where some were asked."""
    some = [one for one in found.equals if one.on]
    words = ["tare", "calibrate", "compare"]
    if len(found.equals) > 1 and some:
        place = [_OPTIONS[found.a.axis], f"{some[len(some) // 2].at:g}"]
        yield NextStep(shlex.join([*words, *place, *map(str, paths)]), message("one value"))
    elif asked:
        yield NextStep(shlex.join([*words, *map(str, paths)]), message("all of them"))
