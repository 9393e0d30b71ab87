"""What rows are ordered by: numbers, or dates as seconds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tare.readers.cells import Cells
from tare.readers.series import FloatArray

#: A date by ISO 8601, with or without a time and a zone.
_DATE = (
    r"^\s*(?P<d>\d{4}-\d\d-\d\d)"
    r"(?:[T ](?P<t>\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?"
    r"\s*(?P<z>Z|[+-]\d\d:?\d\d)?\s*$"
)
#: Nanoseconds since 1970 fit into 64 bits between these days.
_FIRST, _LAST = "1678-01-01", "2262-01-01"


class Times:
    """Turns a column that gives the order of time into numbers, chunk by chunk."""

    def __init__(self) -> None:
        #: Dates count from the first of them, since a double cannot tell nanoseconds since 1970
        #: apart.
        self._first: int | None = None

    def numbers(self, column: pa.Array) -> FloatArray | None:
        """Convert.

        Returns
        -------
        array, shape (n,), or None
            Numbers as they are, dates (ISO 8601, or with slashes) in seconds; NaN where there is
            neither. None where no row has either.
        """
        if pa.types.is_floating(column.type):
            return np.asarray(column.fill_null(np.nan), dtype=np.float64)
        if pa.types.is_string(column.type):
            numbers, _ = Cells(None).numbers(column)
            if np.isfinite(numbers).mean() > 0.5:
                return numbers
        return self._dates(column)

    def _dates(self, column: pa.Array) -> FloatArray | None:
        stamps = _stamps(column)
        if stamps is None:
            return None
        absent = np.isnat(stamps)
        if absent.all():
            return None
        ns = stamps.astype(np.int64)
        if self._first is None:
            self._first = int(ns[~absent][0])
        seconds = (ns - self._first) / 1e9
        seconds[absent] = np.nan
        return np.asarray(seconds)


def _stamps(column: pa.Array) -> NDArray[np.datetime64] | None:
    """Return dates in UTC, to the nanosecond; what is none is not a time. None: of another type."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        exact = column.cast(pa.timestamp("ns"), safe=False)
        return np.asarray(exact.to_numpy(zero_copy_only=False), dtype="datetime64[ns]")
    if not pa.types.is_string(column.type):
        return None
    parts = pc.extract_regex(pc.replace_substring(column, "/", "-"), _DATE)
    days, times, zones = (pc.struct_field(parts, name).to_pylist() for name in ("d", "t", "z"))
    texts = [
        f"{day}T{time or '00:00'}" if day and _FIRST <= day < _LAST else "NaT"
        for day, time in zip(days, times, strict=True)
    ]
    offsets = {zone: _offset(zone) for zone in set(zones)}
    east = np.array([offsets[zone] for zone in zones], dtype="timedelta64[m]")
    stamps: NDArray[np.datetime64] = _parsed(texts) - east
    return stamps


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
