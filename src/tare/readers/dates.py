"""Times of rows: numbers, or dates as seconds."""

from __future__ import annotations

import contextlib
import re

import numpy as np
from numpy.typing import NDArray

from tare.readers.cells import ABSENT, Cells
from tare.readers.rows import Column
from tare.readers.series import FloatArray

#: A date by ISO 8601, with or without a time and a zone.
_DATE = re.compile(
    r"\s*(?P<d>\d{4}-\d\d-\d\d)"
    r"(?:[T ](?P<t>\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?"
    r"\s*(?P<z>Z|[+-]\d\d:?\d\d)?\s*",
    re.ASCII,
)
#: Of many lines, those that are dates in UTC or without a zone.
_DATES = re.compile(
    r"^(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?)Z?$", re.ASCII | re.MULTILINE
)
#: Seconds since 1970 of the years 2000 and 2100. Numbers between them are times since 1970; milli-,
#: micro- and nanoseconds are recognised by their size, as the ranges do not overlap.
_EPOCH_S = (946_684_800, 4_102_444_800)
#: Units of numbers since 1970, and how many of each are a second.
_EPOCH_UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
#: Nanoseconds since 1970 fit into 64 bits between these days.
_FIRST, _LAST = "1678-01-01", "2262-01-01"


class Times:
    """Converts a column of times or dates to numbers, chunk by chunk."""

    def __init__(self) -> None:
        #: Dates count from the first of them, since a double cannot tell nanoseconds since 1970
        #: apart.
        self._first: int | None = None
        #: Range of the numbers that are no dates.
        self._least, self._most = np.inf, -np.inf
        #: Whether a date has no zone; such dates are taken for UTC.
        self.is_without_zone = False

    @property
    def epoch_unit(self) -> str | None:
        """Unit of numbers since 1970, by their size; None: dates, or numbers of another kind."""
        if self._first is not None:
            return None
        begin, end = _EPOCH_S
        return next(
            (
                unit
                for unit, per_second in _EPOCH_UNITS.items()
                if begin * per_second <= self._least <= self._most < end * per_second
            ),
            None,
        )

    def since_1970(self, numbers: FloatArray) -> FloatArray | None:
        """Convert what :meth:`numbers` returned to seconds since 1970; None: they are no times.

        All chunks have to be read before, since their range is what times are recognised by.
        """
        if self._first is not None:
            return numbers + self._first / 1e9
        unit = self.epoch_unit
        return None if unit is None else numbers / _EPOCH_UNITS[unit]

    def numbers(self, column: Column) -> FloatArray | None:
        """Convert numbers or dates.

        Returns
        -------
        array, shape (n,), or None
            Numbers as they are, dates (ISO 8601, or with slashes) in seconds; NaN where there is
            neither. None where no row has either.
        """
        if isinstance(column, list):
            stamps = _all_stamps(column)
            if stamps is None:
                numbers, _ = Cells(None).numbers(column)
                written = sum(cell.strip() not in ABSENT for cell in column)
                if 2 * np.count_nonzero(np.isfinite(numbers)) > written or not written:
                    return self._ranged(numbers)
                stamps, without_zone = _stamps(column)
            else:
                without_zone = sum(text.endswith("Z") for text in column) < len(column)
            self.is_without_zone |= without_zone
            return self._dates(stamps)
        assert isinstance(column, np.ndarray)
        if column.dtype.kind == "M":
            return self._dates(column)
        return self._ranged(column.astype(np.float64, copy=False))

    def _ranged(self, numbers: FloatArray) -> FloatArray:
        """Extend the range of numbers by a chunk, and return the chunk."""
        finite = numbers[np.isfinite(numbers)]
        if len(finite):
            self._least = min(self._least, float(finite.min()))
            self._most = max(self._most, float(finite.max()))
        return numbers

    def _dates(self, stamps: NDArray[np.datetime64]) -> FloatArray | None:
        absent = np.isnat(stamps)
        if absent.all():
            return None
        ns = stamps.astype(np.int64)
        if self._first is None:
            self._first = int(ns[~absent][0])
        seconds = (ns - self._first) / 1e9
        seconds[absent] = np.nan
        return np.asarray(seconds)


def _all_stamps(texts: list[str]) -> NDArray[np.datetime64] | None:
    """Return dates that all have the most frequent form, many times faster; None if one has not."""
    lines = "\n".join(texts).replace("/", "-")
    dates = _DATES.findall(lines)
    if not len(dates) == len(texts) == lines.count("\n") + 1:
        return None
    if min(dates) < _FIRST or max(dates) >= _LAST:
        return None
    with contextlib.suppress(ValueError):
        return np.array(dates, dtype="datetime64[ns]")
    return None


def _stamps(texts: list[str]) -> tuple[NDArray[np.datetime64], bool]:
    """Return dates in UTC, to the nanosecond, and whether one has no zone; others are NaT."""
    dates = []
    zones = []
    for text in texts:
        found = _DATE.fullmatch(text.replace("/", "-"))
        day, time, zone = found.groups() if found else ("", None, None)
        dates.append(f"{day}T{time or '00:00'}" if _FIRST <= day < _LAST else "NaT")
        zones.append(zone)
    offsets = {zone: _offset(zone) for zone in set(zones)}
    east = np.array([offsets[zone] for zone in zones], dtype="timedelta64[m]")
    stamps: NDArray[np.datetime64] = _parsed(dates) - east
    without_zone = np.array([zone is None for zone in zones])
    return stamps, bool((without_zone & ~np.isnat(stamps)).any())


def _parsed(texts: list[str]) -> NDArray[np.datetime64]:
    try:
        return np.array(texts, dtype="datetime64[ns]")
    except ValueError:
        # Some have no such day, or hour.
        return np.array([_one(text) for text in texts], dtype="datetime64[ns]")


def _one(text: str) -> np.datetime64:
    try:
        return np.datetime64(text, "ns")
    except ValueError:
        return np.datetime64("NaT")


def _offset(zone: str | None) -> int:
    """Return how many minutes a zone is ahead of UTC."""
    if not zone or zone == "Z":
        return 0
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return -minutes if zone[0] == "-" else minutes
