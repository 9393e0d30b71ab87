"""Tables of findings as text: one unit a column, as many digits as the interval supports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tare import units
from tare.render.words import paragraph, shown, text
from tare.results.finding import Column, Table
from tare.results.message import Amount, Change, Ratio
from tare.units import (
    change,
    change_interval,
    fixed,
    percent,
    places_of,
    places_of_width,
    quantity,
    r_squared,
    scale_for,
    significant,
)

#: Rows that a page or a document shows; all of them are in the exported findings.
MOST_ROWS = 200
#: Absent: never zero.
ABSENT = "–"
#: Decimal places of shares and ratios that have no interval to say how many there are.
_RATIO_PLACES = 4


@dataclass(frozen=True)
class Head:
    """Head of a column: its title, its unit (empty: none), whether numbers stand in it."""

    title: str
    unit: str
    numeric: bool


@dataclass(frozen=True)
class Laid:
    """A table ready to be written, row by row.

    Attributes
    ----------
    left_out : int
        Rows beyond what is shown.
    """

    title: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str | None = None
    left_out: int = 0


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written: in one unit, with as many decimal places.

    Attributes
    ----------
    scale : float
        What to divide values as stored by.
    unit : str
        The unit then; empty for none.
    places : int
    """

    scale: float
    unit: str
    places: int

    @classmethod
    def of(cls, known: Sequence[float], unit: str) -> NumberFormat:
        """Choose them for values as stored, ``unit`` being theirs."""
        scale, shown = scale_for(known, unit)
        places = places_of(value / scale for value in known)
        return cls(scale, shown, places if shown else min(places, _RATIO_PLACES))

    def text(self, value: float | None) -> str:
        """Write a value; ``templates/large_table.js`` does the same in a page."""
        if value is None:
            return ABSENT
        shown, least = value / self.scale, 10.0**-self.places
        # What would read as zero, and is not, says so.
        if not 0 < abs(shown) < least / 2:
            return fixed(shown, self.places)
        if self.unit:
            return significant(shown, 2)
        return f"{'<' if shown > 0 else '>'} {fixed(math.copysign(least, shown), self.places)}"


def lay(table: Table, *, each_unit: bool = False) -> Laid:
    """Write the numbers of a table; an estimate and its bounds become one column.

    ``each_unit``: single numbers have each its own unit and digits, instead of one a column.

    A column in which nothing could be had is left out.
    """
    rows = table.rows[:MOST_ROWS]
    heads: list[Head] = []
    columns: list[list[str]] = []
    for group in groups(table.columns):
        if len(group) == 3:
            head, texts = _interval(group, rows, table.confidence)
        else:
            head, texts = _limited(group[0], rows) or _single(group[0], rows, each_unit=each_unit)
        if texts and all(text == ABSENT for text in texts):
            continue
        heads.append(head)
        columns.append(texts)
    return Laid(
        title=text(table.title),
        heads=tuple(heads),
        rows=tuple(zip(*columns, strict=True)),
        note=paragraph(table.note) or None,
        left_out=len(table.rows) - len(rows),
    )


def groups(columns: Sequence[Column]) -> list[Sequence[Column]]:
    """Put an estimate together with the low and high end that follow it."""
    found: list[Sequence[Column]] = []
    i = 0
    while i < len(columns):
        three = columns[i : i + 3]
        ends = len(three) == 3 and three[1].key.endswith("low") and three[2].key.endswith("high")
        size = 3 if ends and columns[i].unit is not None else 1
        found.append(columns[i : i + size])
        i += size
    return found


def _numbers(column: Column, rows: Sequence[dict[str, Any]]) -> list[float | None]:
    values = (row.get(column.key) for row in rows)
    return [float(v) if isinstance(v, int | float) and math.isfinite(v) else None for v in values]


def _known(values: Sequence[float | None]) -> list[float]:
    return [v for v in values if v is not None]


def _interval(
    columns: Sequence[Column], rows: Sequence[dict[str, Any]], confidence: float
) -> tuple[Head, list[str]]:
    """Write "203.1 [202.8, 203.6]" all the way down."""
    column = columns[0]
    if column.unit == "ratio":
        return Head(column.title, "", numeric=True), [_ratio(columns, row) for row in rows]
    middle, low, high = (_numbers(c, rows) for c in columns)
    scale, unit = scale_for(_known(middle), column.unit or "1")
    widths = [
        (h - b) / scale for b, h in zip(low, high, strict=True) if b is not None and h is not None
    ]
    places = places_of_width(widths) if widths else places_of(v / scale for v in _known(middle))

    above = _numbers(Column(key=f"{columns[1].key.removesuffix('low')}above", title=""), rows)

    def text(
        m: float | None, b: float | None, h: float | None, limit: float | None, row: dict[str, Any]
    ) -> str:
        if limit is not None:
            value, high = (math.inf if x is None else x / scale for x in (m, h))
            return units.known("1", value, b and b / scale, high, limit / scale)
        if "open" in row and column.key == "ratio":
            ends = ("open" if x is None else fixed(x, places_of([x])) for x in (b, h))
            return f"{'not known' if m is None else fixed(m, places_of([m]))} [{', '.join(ends)}]"
        if m is None:
            return ABSENT
        own = places
        if 0 < m / scale < 10.0**-places / 2 and b is not None and b > 0:
            # What would read as zero, and is not.
            own = places_of_width([m / scale])
        if b is None or h is None:
            return f"{fixed(m / scale, own)} [{ABSENT}]"
        return f"{fixed(m / scale, own)} [{fixed(b / scale, own)}, {fixed(h / scale, own)}]"

    texts = [text(*of) for of in zip(middle, low, high, above, rows, strict=True)]
    level = f"{100 * confidence:.4g} %"
    return Head(f"{column.title} [{level}]", unit, numeric=True), texts


def _ratio(columns: Sequence[Column], row: dict[str, Any]) -> str:
    """Write a ratio as a change, each with its own digits: they differ by powers of ten."""
    ratio, low, high = (row.get(column.key) for column in columns)
    if "open" in row and columns[0].key == "ratio":
        return change_interval(*Ratio(ratio, low, high, row["open"]).parts)
    return ABSENT if ratio is None else change_interval(ratio, low, high)


def _limited(column: Column, rows: Sequence[dict[str, Any]]) -> tuple[Head, list[str]] | None:
    """Write numbers of which some are above a time limit; None: none is."""
    some = [(row.get(column.key), row.get(f"{column.key}_above")) for row in rows]
    if column.unit is None or all(limit is None for _, limit in some):
        return None
    texts = [
        ABSENT
        if value is limit is None
        else units.known(column.unit, math.inf if value is None else value, None, None, limit)
        for value, limit in some
    ]
    return Head(column.title, "", numeric=True), texts


def _single(
    column: Column, rows: Sequence[dict[str, Any]], *, each_unit: bool
) -> tuple[Head, list[str]]:
    raw = [row.get(column.key) for row in rows]
    present = [v for v in raw if v is not None]
    if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        numeric = column.unit is not None or (bool(present) and all(map(_is_measured, present)))
        return Head(column.title, "", numeric=numeric), [_word(v) for v in raw]
    if column.unit == "ratio":
        texts = [ABSENT if v is None else change(v) for v in raw]
        return Head(column.title, "", numeric=True), texts
    if each_unit and column.unit not in (None, "1"):
        texts = [ABSENT if v is None else _measured(v, column.unit) for v in raw]
        return Head(column.title, "", numeric=True), texts
    numbers = _numbers(column, rows)
    known = _known(numbers)
    if all(isinstance(v, int) for v in present) and column.unit in (None, "1"):
        texts = [ABSENT if v is None else f"{int(v):,}" for v in numbers]
        return Head(column.title, "", numeric=bool(present)), texts
    if column.key in ("p", "r2") or column.key.startswith("p_"):
        unit = scale_for(known, column.unit or "1")[1]
        write = r_squared if column.key == "r2" else _probability
        texts = [ABSENT if v is None else write(v) for v in numbers]
        return Head(column.title, unit, numeric=True), texts
    form = NumberFormat.of(known, column.unit or "1")
    return Head(column.title, form.unit, numeric=True), [form.text(v) for v in numbers]


def _measured(value: float, unit: str) -> str:
    return percent(value) if unit == "share" else quantity(value, unit)


def _is_measured(value: Any) -> bool:
    return isinstance(value, Amount | Ratio | Change)


def _word(value: Any) -> str:
    if value is None or value == "":
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else shown(value)


def _probability(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
