"""The folder of ``tare net measure``: bandwidth or round trips of each interval, with its time."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

from tare.errors import InputError, Typed
from tare.networks.recording import folder, writer
from tare.networks.recording.lines import pattern
from tare.readers import phrases
from tare.readers.format import Format
from tare.readers.readings import counted
from tare.readers.series import ColumnOptions, Imported, Series, Specification
from tare.readers.text_file import label
from tare.registry import Description
from tare.results.message import message

#: Name of each metric that ``--value`` selects, its unit, and whether less is better.
_METRICS = {"bandwidth": ("bits/s", False), "round trip": ("s", True)}


def recognises(head: bytes, file: Path) -> bool:
    """Whether it is a folder with a measurement in it."""
    return file.is_dir() and (file / writer.ASKED).is_file()


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read a series per direction, pattern and size of writes.

    ``columns.value`` is ``bandwidth``, unless given, or ``round trip``: the median of an interval.
    """
    metric = columns.value or "bandwidth"
    if metric not in _METRICS:
        names = ", ".join(_METRICS)
        raise InputError(f"{file} has no {metric!r}", f"name one with --value: {names}")
    unit, lower_is_better = _METRICS[metric]
    measured = folder.read(file)
    begun_s = None if measured.begun_ns is None else measured.begun_ns / 1e9
    series = []
    for course, phases, carried in folder.rates(measured):
        values = course.rate_bps if metric == "bandwidth" else course.round_trip_ns[:, 0] / 1e9
        used = carried & np.isfinite(values)
        if not used.any():
            continue
        first = phases[0]
        key = {
            "direction": course.direction,
            "pattern": pattern(first.on_ns, first.off_ns),
            "write": f"{first.write_bytes}",
        }
        start_s = course.start_s[used]
        series.append(
            Series(
                key={name: label(level) for name, level in key.items()},
                values=values[used],
                metric=metric,
                unit=unit,
                lower_is_better=lower_is_better,
                position=start_s,
                at_s=None if begun_s is None else begun_s + start_s,
            )
        )
    if not series:
        raise InputError(
            f"nothing was measured in {file}", Typed(f"tare net report {shlex.quote(str(file))}")
        )
    count = counted((len(one.values) for one in series), "interval")
    return Imported(
        file=file,
        series=tuple(series),
        specification=Specification(
            repetitions=message(phrases.REPETITIONS_PER, count=count, unit="direction"),
            statistic=message("the value of every interval"),
            spread=message(phrases.STATISTIC_EACH, what="interval"),
            environment=message("kernel, congestion control and settings of both ends")
            if measured.connected
            else None,
        ),
        notes=measured.notes,
    )


UNIT = Format(
    description=Description(
        name="tare-network",
        title="tare: the folder of tare net measure --out",
        question="What did a network carry in each interval?",
    ),
    recognises=recognises,
    read=read,
    options=frozenset({"value"}),
    executions=message(
        "intervals of one measurement follow each other, and share what the network did. Of "
        "several days, the medians of hours are judged as well"
    ),
    is_of_commands=False,
)
