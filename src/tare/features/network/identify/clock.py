"""Times of rows as intervals: in order, without overlap."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers.series import FloatArray, IntArray
from tare.results.message import Message, message

#: Share of an interval by which rows must at least be apart, and by which the next may be late
#: without a gap.
_APART, _LATE = 0.2, 0.5
#: Times since 1970 are at least so many where they count smaller units than seconds.
_SMALLER = ((1e17, 1e-9, "nanoseconds"), (1e14, 1e-6, "microseconds"), (1e11, 1e-3, "milliseconds"))


@dataclass(frozen=True, eq=False)
class Timed:
    """Rows in order of time.

    Attributes
    ----------
    order : int array
        Their places in what was given.
    start_s, end_s : array
        Seconds since the first.
    notes : tuple of Message
    """

    order: IntArray
    start_s: FloatArray
    end_s: FloatArray
    notes: tuple[Message, ...]


def in_time(file: Path, place: str, times: FloatArray, lines: IntArray) -> Timed:
    """Make intervals of the times at which rows begin.

    Parameters
    ----------
    file : Path
    place : str
        What a row is called: ``line``.
    times : array, shape (n,)
        In the order of the file.
    lines : int array, shape (n,)
        Where each row is.

    Raises
    ------
    InputError
        If a time stands twice, or there is one row alone; names the line.
    """
    if len(times) < 2:
        raise InputError(
            f"{file}, {place} {int(lines[0]):,}: a series of one row is no trace",
            "name the columns that distinguish series with --group, and no others",
        )
    written = times
    times, notes = _in_seconds(times)
    order = np.arange(len(times))
    back = np.flatnonzero(np.diff(times) < 0)
    if len(back):
        times, order, note = _sorted(file, times, back, lines, place)
        notes.append(note)
    usual = float(np.median(np.diff(times)))
    near = np.flatnonzero(np.diff(times) <= _APART * usual)
    if len(near) or usual <= 0:
        at = int(near[0]) + 1 if len(near) else 1
        when = written[order[at]]
        raise InputError(
            f"{file}, {place} {int(lines[order[at]]):,}: the time {when:.12g} is that of "
            f"{place} {int(lines[order[at - 1]]):,}, too, or all but the same",
            "name the columns that distinguish series with --group",
        )
    start = times - times[0]
    end = start + usual
    late = np.diff(start) > (1 + _LATE) * usual
    end[:-1] = np.where(late, end[:-1], start[1:])
    return Timed(order, start, end, tuple(notes))


def _in_seconds(times: FloatArray) -> tuple[FloatArray, list[Message]]:
    """Bring times since 1970 to seconds, which most of them are too large to be."""
    middle = float(np.median(np.abs(times)))
    for least, unit, name in _SMALLER:
        if middle >= least:
            return (times - times[0]) * unit, [
                message("times are taken for {unit} since 1970", unit=name)
            ]
    return times - times[0], []


def _sorted(
    file: Path, times: FloatArray, back: IntArray, lines: IntArray, place: str
) -> tuple[FloatArray, IntArray, Message]:
    """Sort rows, unless that would mix series."""
    by_time = np.argsort(times, kind="stable")
    line = int(lines[back[0] + 1])
    between = np.diff(times[by_time])
    by = times[back[0]] - times[back[0] + 1]
    if (between <= _APART * float(np.median(between))).any():
        raise InputError(
            f"{file}, {place} {line:,}: time goes back by {by:g} s, as where another series begins",
            "name the columns that distinguish series with --group",
        )
    return (
        times[by_time],
        by_time,
        message("rows were not in order of time (from {place} {line})", place=place, line=line),
    )
