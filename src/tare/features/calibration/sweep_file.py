"""Sweeps that others measured: a table with a column of quotas and one of rates."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers.text_file import label, read_text, shown
from tare.statistics.scaling import MOST
from tare.statistics.statistic import FloatArray

#: Columns as CALIBRATE has them.
QUOTA, VALUE = "quota", "gflops"
#: More text is no sweep.
_MOST_BYTES = 64 << 20
#: Numbers outside are a mistake, and their squares may be none.
_LEAST, _GREATEST = 1e-30, 1e30
#: Fewest quotas that a line can err at.
_FEWEST = 3
_SEPARATORS = ",;\t"
_HINT = "name the columns with --quota and --value"


@dataclass(frozen=True)
class SweepFile:
    """What was read: points in the order of the file."""

    quotas: FloatArray
    values: FloatArray

    @property
    def steps(self) -> tuple[tuple[float, tuple[float, ...]], ...]:
        """Each quota with its values, in order of the quotas."""
        by_place: dict[float, list[float]] = {}
        for quota, value in zip(self.quotas.tolist(), self.values.tolist(), strict=True):
            by_place.setdefault(quota, []).append(value)
        return tuple((place, tuple(by_place[place])) for place in sorted(by_place))


def read(file: Path, quota: str = QUOTA, value: str = VALUE) -> SweepFile:
    """Read a sweep; columns other than the two are left out.

    Parameters
    ----------
    file : Path
        Text with a header, separated by comma, semicolon or tab; packed or not.
    quota, value : str
        Names of the columns, in capital letters or small ones.

    Raises
    ------
    InputError
        If a column is not there or there twice, a cell is no number above 0, or there are too few
        or too many quotas; names the line.
    """
    rows = _rows(file, read_text(file, _MOST_BYTES))
    line, header = next(rows, (1, []))
    if not any(header):
        raise InputError(f"{file} is empty", f"write a table with columns {quota} and {value}")
    if header[0][:1] in ("{", "["):
        raise InputError(
            f"{file} is JSON, not a table",
            "compare it with another one by tare calibrate compare, or name a table",
        )
    places = _place(file, line, header, quota), _place(file, line, header, value)
    if places[0] == places[1]:
        raise InputError(f"{quota!r} cannot be both quota and value", _HINT)
    points = []
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError(
                f"{file}, line {line} has {_values(len(cells))}, but there are {len(header)} "
                "columns",
                "separate columns by one of , ; or tab, numbers with a decimal point; a last line "
                "may be cut off",
            )
        names = (quota, value)
        points.append(
            [_number(file, line, n, cells[at]) for n, at in zip(names, places, strict=True)]
        )
    different = len({point[0] for point in points})
    if different < _FEWEST:
        raise InputError(
            f"{file} has {different} different quota{'s' * (different != 1)}: a line goes through "
            f"any two, so there is nothing to judge",
            "measure at 10 or more quotas: tare calibrate",
        )
    if different > MOST:
        raise InputError(
            f"{file} has {different:,} different quotas, more than the {MOST:,} that are fitted",
            "round them to the quotas that were asked for",
        )
    found = np.array(points)
    return SweepFile(quotas=found[:, 0], values=found[:, 1])


def _rows(file: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Go through rows that hold anything, with the line that each begins at."""
    at = text.find("\0")
    if at >= 0:
        raise InputError(
            f"{file}, line {text.count(chr(10), 0, at) + 1} holds a zero byte: it is no text",
            "export it as CSV",
        )
    first = next((row for row in text.splitlines() if row.strip()), "")
    separator = max(_SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    before = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(f"{file}, line {before + 1}: {error}", "is it a table?") from error
        if cells is None:
            return
        if any(cell.strip() for cell in cells) and not cells[0].startswith("#"):
            yield before + 1, [cell.strip() for cell in cells]
        before = reader.line_num


def _place(file: Path, line: int, header: list[str], name: str) -> int:
    """Find a column by its name as it is written, or else whatever its capital letters."""
    places = [i for i, cell in enumerate(header) if cell == name] or [
        i for i, cell in enumerate(header) if cell.lower() == name.lower()
    ]
    if len(places) == 1:
        return places[0]
    some = ", ".join(shown(cell, 40) for cell in header[:12]) + ", …" * (len(header) > 12)
    how = "two columns" if places else "no column"
    raise InputError(f"{file}, line {line} has {how} {name!r}; its columns are {some}", _HINT)


def _values(count: int) -> str:
    return f"{count} value{'s' * (count != 1)}"


def _number(file: Path, line: int, name: str, cell: str) -> float:
    try:
        # Python alone would read an underscore, and digits of any script.
        number = float(cell) if cell.isascii() and "_" not in cell else None
    except ValueError:
        number = None
    if number is not None and _LEAST <= number <= _GREATEST:
        return number
    if not cell:
        raise InputError(f"{file}, line {line} has no {label(name)}", "leave the line out")
    what = "no number"
    if number is not None:
        finite = "too large or too small" if math.isfinite(number) else "not finite"
        what = "not above 0" if number <= 0 else finite
    hint = "leave the line out"
    if number is None and "," in cell:
        hint = "write numbers with a decimal point"
    raise InputError(f"{file}, line {line}: {label(name)} is {shown(cell, 40)}, {what}", hint)
