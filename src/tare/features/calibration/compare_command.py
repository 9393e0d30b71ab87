"""``tare calibrate compare``: which CPU on one machine is as fast as which on another."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare import units
from tare.cli import console
from tare.errors import ExperimentError
from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.document import Calibration, Fit
from tare.features.calibration import phrases
from tare.features.calibration.page_tables import equals
from tare.render.screen import MOST_ROWS, table
from tare.render.words import sentence, text
from tare.results.message import Amount, Message, message

if TYPE_CHECKING:
    from tare.features.calibration.mapping import Mapping, Side

_LONGEST_NAME = 24
_OPTIONS: dict[AxisName, str] = {"cpu": "--cpus", "memory": "--memory"}
_EXAMPLES: dict[AxisName, str] = {"cpu": "0.7", "memory": "1769"}
#: Most caveats that the terminal prints; the page has all of them.
_MOST_NOTES = 4


def compare(
    first: Path,
    second: Path,
    cpus: str | None,
    json: str | None,
    report: Path | None = None,
    memory: str | None = None,
) -> None:
    """Say which CPU on the second machine is as fast as which on the first.

    Parameters
    ----------
    first, second : Path
        What ``tare calibrate --json`` wrote, or the folder of a calibration.
    cpus : str, optional
        CPUs on the first that are asked for, by commas.
    json : str, optional
        Where to write it as data, too.
    report : Path, optional
        Where to write it as a page, too.
    memory : str, optional
        MB on the first instead of CPUs, by commas.

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

    console.check_writable(json, report)
    if report is not None:
        files.format_of(report)
    a, b = pick(file.load(first), file.load(second), alike=first.resolve() != second.resolve())
    asked = _asked(a.axis, cpus, memory, shlex.join([str(second), str(first)]), b.axis)
    found = mapping(a, b, names(first, second), asked)
    if asked and all(one.rate is None for one in found.equals):
        inside = found.a.linear[0][0]
        raise ExperimentError(
            found.sentence,
            shlex.join(
                [
                    "tare",
                    "calibrate",
                    "compare",
                    _OPTIONS[a.axis],
                    units.chosen(inside, "1").replace(",", ""),
                    str(first),
                    str(second),
                ]
            ),
        )
    if report is not None:
        only = [] if cpus is None else ["--cpus", cpus]
        only += [] if memory is None else ["--memory", memory]
        words = ["tare", "calibrate", "compare", *only, str(first), str(second)]
        words += ["--report", str(report)]
        files.write(page.of_two(found, a, b, shlex.join(words)), report)
        console.err.print(f"Wrote {report}.", soft_wrap=True)
    if json is not None:
        console.write_json(found, json)
    if json != "-":
        show(found, (first, second))


def _asked(
    axis: AxisName, cpus: str | None, memory: str | None, swapped: str, second: AxisName
) -> list[float]:
    """Read the places on the first machine that were asked for, in its unit."""
    by_axis: dict[AxisName, str | None] = {"cpu": cpus, "memory": memory}
    other: AxisName = "cpu" if axis == "memory" else "memory"
    option, text, wrong = _OPTIONS[axis], by_axis[axis], by_axis[other]
    if wrong is not None:
        raise ExperimentError(
            f"the first is measured in {AXES[axis].unit}, and {_OPTIONS[other]} is in "
            f"{AXES[other].unit}",
            f"{option} {_EXAMPLES[axis]}"
            if second != other
            else f"tare calibrate compare {_OPTIONS[other]} {wrong} {swapped}   (files swapped)",
        )
    if text is None:
        return []
    try:
        values = [float(word) for word in text.split(",")]
        if not all(0 < value < 1e6 for value in values):
            raise ValueError
    except ValueError:
        raise ExperimentError(
            f"{option}: {text!r} is not possible; expected {AXES[axis].unit} on the first machine",
            f"{option} {_EXAMPLES[axis]}",
        ) from None
    return values


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


def show(found: Mapping, paths: tuple[Path, Path]) -> None:
    """Print a mapping for a person."""
    out = console.out
    out.print(found.sentence, style="bold", soft_wrap=True)
    out.print()
    there = [one for one in found.equals if one.on]
    # From where one CPU stays in: the numbers that are read are whole.
    stride = -(-len(there) // MOST_ROWS) or 1
    shown = msgspec.structs.replace(found, equals=tuple(there[stride - 1 :: stride]))
    for line in table(equals(shown), out.width, of="row") if there else ():
        out.print(line, soft_wrap=True)
    unit = AXES[found.a.axis].unit
    # The sentence has that of a single place.
    several = found.equals if len(found.equals) > 1 else ()
    for why, some in itertools.groupby(several, key=lambda one: one.why):
        if why is not None:
            first, *_, last = [units.chosen(one.at, "1") for one in some] * 2
            places = f"{first} to {last}" if first != last else first
            out.print(f"{places} {unit}: {why}", soft_wrap=True)
    out.print()
    for side in (found.a, found.b):
        out.print(text(_side(side)), soft_wrap=True)
    errors = [abs(one.flag_error) for one in found.equals if one.flag_error is not None]
    notes = [*found.caveats[:_MOST_NOTES]]
    if errors and max(errors) > 0:
        worst = Amount(max(errors), "share")
        notes.append(
            sentence(
                message(
                    "flags are rounded, which changes the speed by at most {error}", error=worst
                )
            )
        )
    for note in notes:
        out.print(f"Note    {note}", style="yellow", soft_wrap=True)
    out.print(f"Next    {_next(found, paths)}", soft_wrap=True)


def _side(side: Side) -> Message:
    from tare.features.calibration.mapping import linear

    return message(
        "{name}: {cpu}, {platform}, {date}; linear from {spans | listing}",
        name=side.name,
        cpu=side.cpu or message(phrases.PAGE_NO_CPU),
        platform=side.platform,
        date=(side.measured or "")[:10] or message("unknown date"),
        spans=linear(side),
    )


def _next(found: Mapping, paths: tuple[Path, Path]) -> str:
    """Return the next command worth typing."""
    some = [one for one in found.equals if one.on]
    flag = some[0].flag if some else None
    a, b = (shlex.quote(str(path)) for path in paths)
    if len(found.equals) > 1 and some:
        option = _OPTIONS[found.a.axis]
        return f"tare calibrate compare {option} {some[len(some) // 2].at:g} {a} {b}   (one value)"
    if flag is not None:
        return f"docker run {flag} IMAGE   (on {found.b.name})"
    return f"tare calibrate compare {a} {b}   (all of them)"
