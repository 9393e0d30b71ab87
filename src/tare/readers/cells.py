"""Cells of a table as numbers, with the units that are written behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tare.readers import units
from tare.readers.rows import Column, Levels, Quantities
from tare.readers.series import FloatArray, IntArray
from tare.readers.units import Unit

#: The number that a cell begins with, as the agent divides cells of delimited text.
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
#: What follows the number in a duration as the shell's ``time`` prints it, ``1m2.5s`` and
#: ``1h2m3s``, or GNU's: ``1:02.50``. Without a fraction it may be a time of day.
_DURATION = re.compile(
    r"(?:h\s*(?P<minutes>[0-9]{1,6})\s*)?m(?:in)?\s*(?P<seconds>[0-9]{1,6}(?:[.,][0-9]{0,9})?)\s*s"
    r"|:(?P<clock>[0-5][0-9][.,][0-9]{1,9})"
)
#: Cells without a value.
ABSENT = ["", "NA", "N/A", "n/a", "na", "null", "NULL", "None", "none", "-", "--", "?"]
#: No number is longer with its unit.
MOST_CHARACTERS = 64


class _Scale(NamedTuple):
    """How a cell's number is converted to its base unit: times ``factor``, plus ``seconds``.

    Attributes
    ----------
    unit : Unit or None
    factor : float
        NaN if the cell is not a number with a known unit.
    seconds : float or None
        The rest of a duration whose number counts minutes or hours: 5 of ``2 min 5 s``.
    """

    unit: Unit | None
    factor: float
    seconds: float | None = None


#: Of a text that follows no number.
_NONE = _Scale(None, np.nan)


def split(text: str) -> tuple[float, str]:
    """Divide a cell into its number and the text behind it; NaN and the whole cell without one."""
    text = text.strip()
    found = _NUMBER.match(text)
    return (float(found[0]), text[found.end() :].lstrip()) if found else (np.nan, text)


def is_number(text: str) -> bool:
    """Whether a cell is a number, with a unit that is known or without."""
    number, rest = split(text)
    return not np.isnan(number) and (not rest or not np.isnan(_scale(rest).factor))


def quantities(texts: Iterable[str]) -> Quantities:
    """Divide each cell of a column into its number and the text behind it."""
    parts = [split(text) for text in texts]
    numbers = np.array([number for number, _ in parts], dtype=np.float64)
    rests = Levels.of(rest for _, rest in parts)
    return Quantities(numbers, None if rests.texts == [""] else rests)


def _scale(rest: str) -> _Scale:
    """Return how numbers with a text behind them convert to base units."""
    if found := _DURATION.fullmatch(rest):
        seconds = float((found["seconds"] or found["clock"]).replace(",", "."))
        factor, minutes = (60, 0) if found["minutes"] is None else (3600, int(found["minutes"]))
        return _Scale(units.unit("s"), factor, 60 * minutes + seconds)
    unit = units.unit(rest) if len(rest) <= MOST_CHARACTERS else None
    return _Scale(unit, np.nan if unit is None else unit.factor)


@dataclass
class Cells:
    """Converts cells to numbers in base units, and collects the units of a column.

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

    def numbers(self, cells: Column) -> tuple[FloatArray, IntArray | None]:
        """Convert to numbers in base units.

        Returns
        -------
        values : array, shape (n,)
            NaN where there is no number.
        codes : int array, shape (n,), or None
            The unit of each cell; None where none has a unit of its own.
        """
        if isinstance(cells, list):
            cells = quantities(cells)
        assert isinstance(cells, Quantities)
        factor = self.column.factor if self.column and self.column.base == "s" else 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            if cells.rests is None:
                return cells.numbers if factor == 1.0 else cells.numbers * factor, None
            which = cells.rests.codes
            follows = np.zeros(len(cells.rests.texts), dtype=bool)
            follows[which[~np.isnan(cells.numbers)]] = True
            scales = [
                (_scale(rest) if rest else _Scale(self.column, factor)) if some else _NONE
                for rest, some in zip(cells.rests.texts, follows.tolist(), strict=True)
            ]
            values = cells.numbers * np.array([scale.factor for scale in scales])[which]
            if any(scale.seconds is not None for scale in scales):
                added = [np.nan if one.seconds is None else one.seconds for one in scales]
                seconds = np.array(added)[which]
                is_duration = ~np.isnan(seconds)
                is_count = (cells.numbers >= 0) & (cells.numbers % 1 == 0)
                values[is_duration] += np.where(is_count, seconds, np.nan)[is_duration]
        codes = np.array([self._code(scale) for scale in scales])[which]
        return values, codes if codes.any() else None

    def _code(self, scale: _Scale) -> int:
        if np.isnan(scale.factor):
            return 0
        if scale.unit not in self.units:
            self.units.append(scale.unit)
        return self.units.index(scale.unit)


def is_absent(cells: Column) -> NDArray[np.bool_]:
    """Return which cells hold nothing, or what stands for it."""
    if isinstance(cells, list):
        cells = quantities(cells)
    assert isinstance(cells, Quantities)
    absent = np.isnan(cells.numbers)
    if cells.rests is not None:
        absent &= np.array([rest in ABSENT for rest in cells.rests.texts])[cells.rests.codes]
    return absent
