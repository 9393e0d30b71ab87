"""Cells of a table as numbers, with the units that are written behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tare.readers import units
from tare.readers.series import FloatArray, IntArray
from tare.readers.units import Unit

DType = TypeVar("DType", bound=np.generic)
_CELL = (
    r"^\s*(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    r"\s*(?P<unit>[^0-9\s].*?)?\s*$"
)
#: A duration in minutes and seconds, as the shell's ``time`` prints it.
_DURATION = (
    r"^\s*(?:(?P<hours>[0-9]{1,6})\s*h\s*)?(?P<minutes>[0-9]{1,6})\s*m(?:in)?\s*"
    r"(?P<seconds>[0-9]{1,6}(?:[.,][0-9]{0,9})?)\s*s\s*$"
)
#: What stands for no value at all.
ABSENT = ["", "NA", "N/A", "n/a", "na", "null", "NULL", "None", "none", "-", "--", "?"]
_PATTERN = re.compile(_CELL)
#: No number is longer with its unit; a longer cell is not looked at, since that may take long.
MOST_CHARACTERS = 64


def parsed(text: str) -> tuple[float, str | None] | None:
    """Take a cell apart into its number and the unit behind it; None if it has no number."""
    if duration := re.match(_DURATION, text):
        hours, minutes = (int(duration[name] or 0) for name in ("hours", "minutes"))
        return 3600 * hours + 60 * minutes + float(duration["seconds"].replace(",", ".")), "s"
    found = _PATTERN.match(text) if len(text) <= MOST_CHARACTERS else None
    return (float(found["number"]), found["unit"]) if found else None


def is_number(text: str) -> bool:
    """Whether a cell is a number, with a unit that is known or without."""
    found = parsed(text)
    return found is not None and (found[1] is None or units.unit(found[1]) is not None)


@dataclass
class Cells:
    """Turns cells into numbers in base units, and remembers which units there were.

    Attributes
    ----------
    column : Unit or None
        The unit of cells that have none; their numbers are scaled only if it is a time.
    units : list of Unit or None
        The units so far; a cell's code is an index of it. Code 0 is no unit of its own.
    """

    column: Unit | None
    units: list[Unit | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.units = [self.column]

    def numbers(self, cells: pa.Array) -> tuple[FloatArray, IntArray | None]:
        """Convert.

        Returns
        -------
        values : array, shape (n,)
            NaN where there is no number.
        codes : int array, shape (n,), or None
            The unit of each cell; None where none has a unit of its own.
        """
        if not pa.types.is_string(cells.type):
            return self._scaled(_floats(cells)), None
        if pc.any(pc.match_substring_regex(cells, _DURATION)).as_py():
            cells = pa.array([_in_seconds(cell) for cell in cells.to_pylist()], pa.string())
        parts = pc.extract_regex(cells, _CELL)
        numbers = _floats(pc.cast(pc.struct_field(parts, "number"), pa.float64()))
        written = pc.struct_field(parts, "unit").dictionary_encode()
        codes, factors = self._codes(written.dictionary.to_pylist())
        which = np.asarray(pc.fill_null(written.indices, len(codes) - 1))
        own = codes[which]
        with np.errstate(over="ignore"):
            values = numbers * factors[which]
        return values, own if own.any() else None

    def _codes(self, spellings: list[str]) -> tuple[IntArray, FloatArray]:
        """Give each spelling its code and factor; the last of each is that of no unit."""
        codes, factors = [], []
        for spelling in spellings:
            found = units.unit(spelling) if spelling else self.column
            if spelling and found is None:
                codes.append(0)
                factors.append(np.nan)
                continue
            if found not in self.units:
                self.units.append(found)
            codes.append(self.units.index(found))
            factors.append(found.factor if found and spelling else self._factor())
        return np.array([*codes, 0]), np.array([*factors, self._factor()])

    def _scaled(self, values: FloatArray) -> FloatArray:
        factor = self._factor()
        if factor == 1.0:
            return values
        with np.errstate(over="ignore", invalid="ignore"):
            return values * factor

    def _factor(self) -> float:
        return self.column.factor if self.column and self.column.base == "s" else 1.0


def _in_seconds(cell: str | None) -> str | None:
    """Write a duration in seconds; other cells stay as they are."""
    if cell is None or re.match(_DURATION, cell) is None:
        return cell
    number, unit = parsed(cell) or (np.nan, "s")
    return f"{number!r} {unit}"


def is_absent(cells: pa.Array) -> NDArray[np.bool_]:
    """Tell which cells hold nothing, or what stands for it."""
    if not pa.types.is_string(cells.type):
        return np.asarray(cells.is_null()) if cells.null_count else np.zeros(len(cells), bool)
    written = pc.is_in(pc.utf8_trim_whitespace(cells), value_set=pa.array(ABSENT))
    return np.asarray(pc.fill_null(written, True))


def texts(cells: Sequence[str]) -> pa.StringArray:
    """Return cells as a column; ``pa.array`` would import pandas where it is installed."""
    encoded = [cell.encode("utf-8", "replace") for cell in cells]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(
        len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))
    )


def _floats(column: pa.Array) -> FloatArray:
    """Return numbers with NaN for what is absent; a view of them where nothing is."""
    if column.null_count:
        column = pc.fill_null(column, np.nan)
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64())
    return view(column, np.float64)


def view(column: pa.Array, dtype: type[DType]) -> NDArray[DType]:
    """Return numbers without nulls as NumPy sees them; Arrow's own conversion imports pandas."""
    buffer = column.buffers()[1]
    if buffer is None:
        return np.empty(0, dtype)
    return np.frombuffer(buffer, dtype)[column.offset : column.offset + len(column)]
