"""Traces from a table of time and bandwidth: CSV, TSV, Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tare.errors import InputError, Typed
from tare.features.network.identify.clock import in_time
from tare.networks.shaping.trace import Trace, Traced
from tare.readers import roles as column_roles
from tare.readers import units
from tare.readers.cells import Cells, split
from tare.readers.dates import Times
from tare.readers.gathering import Parting
from tare.readers.roles import Roles
from tare.readers.rows import Chunk, Rows
from tare.readers.series import ColumnOptions, FloatArray, IntArray
from tare.readers.table import open_rows
from tare.readers.text_file import label
from tare.readers.units import Unit
from tare.results.message import Said, message
from tare.units import chosen

#: Rows that are read; a week of intervals of 10 ms is 60 million.
MOST_ROWS = 80_000_000
#: No network carries more, bits a second; and what is absurd beside the other values of a series.
_MOST, _ABSURD, _TIMES = 1e13, 1e12, 900.0
#: Below so many bits a second, bandwidths are in another unit than was said.
_LEAST = 1e3


def table(
    file: Path, time: str | None, value: str | None, series: Sequence[str], unit: Unit | None
) -> list[Traced]:
    """Read traces from the rows of a table.

    Raises
    ------
    InputError
        If a column is missing, a bandwidth is none, or time does not go on; names the line.
    """
    rows = open_rows(file, (time, value, *series))
    time = time or units.time_column(rows.names) or _ascending(rows)
    if time is None:
        raise InputError(
            f"{file} has no column of time that is known by its name",
            f"name it with --time; there are: {column_roles.listed(rows.names)}",
        )
    roles = column_roles.find(file, rows, ColumnOptions(value, tuple(series), order=time))
    whole = _Table(file, rows, roles, unit)
    return whole.traces()


def _ascending(rows: Rows) -> str | None:
    """Return the first column if it holds ascending numbers, as flent's is called like the test."""
    sampled = [split(cell) for cell in rows.sample()[0]]
    numbers = [number for number, rest in sampled if not rest]
    is_time = len(numbers) == len(sampled) > 1 and bool((np.diff(numbers) > 0).all())
    return rows.names[0] if is_time else None


class _Table:
    """One pass over the rows, and what was wrong with them."""

    def __init__(self, file: Path, rows: Rows, roles: Roles, unit: Unit | None) -> None:
        self._file, self._rows, self._roles = file, rows, roles
        self._column = units.of_column(rows.names[roles.value])[1]
        self._given = unit
        self._cells = Cells(None)
        self._times = Times()
        self._parting = Parting(file, roles.keys)
        self._missing: dict[int, list[int]] = {}

    def traces(self) -> list[Traced]:
        """Read everything."""
        parts: list[tuple[IntArray, FloatArray, FloatArray, IntArray]] = []
        total = 0
        for chunk in self._rows.chunks(self._roles.wanted()):
            parts.append(self._of_chunk(chunk))
            total += chunk.rows
            if total > MOST_ROWS:
                raise InputError(
                    f"{self._file} has more than {MOST_ROWS:,} rows", "split it, or average it"
                )
        if not total:
            raise InputError(f"{self._file} has no rows", "let it be written again")
        which, times, bps, lines = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(which, kind="stable")
        edges = np.searchsorted(which[order], np.arange(len(self._parting.keys) + 1))
        found = []
        for k, levels in enumerate(self._parting.keys):
            those = order[edges[k] : edges[k + 1]]
            if len(those):
                found.append(self._trace(levels, times[those], bps[those], lines[those], k))
        return found

    def _of_chunk(self, chunk: Chunk) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
        lines = chunk.lines(np.arange(chunk.rows))
        values, codes = self._cells.numbers(chunk.columns[self._roles.value])
        bps = values * self._factors(codes, lines)
        series = self._parting.series(chunk)
        which = np.zeros(chunk.rows, dtype=np.int64) if series is None else series
        self._refuse(values, bps, lines)
        absent = np.isnan(bps)
        if absent.any():
            for one in np.unique(which[absent]).tolist():
                places = lines[absent & (which == one)].tolist()
                self._missing.setdefault(one, []).extend(places)
        return which, self._in_seconds(chunk, lines), bps, lines

    def _factors(self, codes: IntArray | None, lines: IntArray) -> FloatArray | float:
        """Return the bits a second that each number is; cells may have units of their own."""
        if codes is None:
            return _bits(self._unit(lines), self._file)
        known = self._cells.units
        factors = np.array(
            [
                # Cells with units of their own are in the base unit by now.
                _bits(Unit(one.base, one.base), self._file)
                if one is not None
                else (_bits(self._unit(lines), self._file) if (codes == 0).any() else 1.0)
                for one in known
            ]
        )
        return np.asarray(factors[codes])

    def _unit(self, lines: IntArray) -> Unit:
        found = self._given or self._column
        if found is None:
            name = label(self._rows.names[self._roles.value])
            raise InputError(
                f"{self._file}: nothing says in which unit {name!r} is",
                Typed(
                    "--unit Gbit/s   (or Mbit/s, bit/s, MB/s; or call the column bandwidth_gbps)"
                ),
            )
        return found

    def _in_seconds(self, chunk: Chunk, lines: IntArray) -> FloatArray:
        at = self._roles.order or 0
        numbers = self._times.numbers(chunk.columns[at])
        name = label(self._rows.names[at])
        bad = np.arange(chunk.rows) if numbers is None else np.flatnonzero(~np.isfinite(numbers))
        if numbers is None or len(bad):
            raise InputError(
                f"{self._file}, {self._rows.place} {lines[bad[0]]:,}: {name!r} holds neither a "
                "number nor a date",
                "name a column of seconds with --time, or of dates such as 2026-05-01T12:00:00",
            )
        unit = units.of_column(self._rows.names[at])[1]
        return numbers * (unit.factor if unit is not None and unit.base == "s" else 1.0)

    def _refuse(self, values: FloatArray, bps: FloatArray, lines: IntArray) -> None:
        """Raise where a bandwidth is none that can be."""
        with np.errstate(invalid="ignore"):
            for those, why, hint in (
                (
                    bps < 0,
                    "is negative, which no bandwidth can be",
                    "leave out what was not measured",
                ),
                (np.isinf(bps), "is infinite", "leave out what was not measured"),
                (bps > _MOST, "would be {}, which no network carries", _OTHER_UNIT),
            ):
                if those.any():
                    at = int(np.flatnonzero(those)[0])
                    where = f"{self._file}, {self._rows.place} {lines[at]:,}"
                    told = why.format(chosen(bps[at], "bits/s"))
                    raise InputError(f"{where}: a bandwidth of {values[at]:g} {told}", hint)

    def _trace(
        self, levels: tuple[str, ...], times: FloatArray, bps: FloatArray, lines: IntArray, k: int
    ) -> Traced:
        names = self._rows.names
        key = {
            label(names[i]): label(level) for i, level in zip(self._roles.keys, levels, strict=True)
        }
        self._one_unit(bps, lines)
        timed = in_time(self._file, self._rows.place, times, lines)
        bps = bps[timed.order]
        long = timed.end_s - timed.start_s
        notes: list[Said] = [*timed.notes]
        missing = self._missing.get(k, [])
        if missing:
            notes.append(
                message(
                    "{n | counted('row')} without a bandwidth, from {place} {line}",
                    n=len(missing),
                    place=self._rows.place,
                    line=missing[0],
                )
            )
        trace = Trace(timed.start_s, timed.end_s, bps * long, long)
        return Traced(key, trace, (*self._rows.notes, *notes))

    def _one_unit(self, bps: FloatArray, lines: IntArray) -> None:
        """Raise where values seem to be in another unit than was said, all of them or some."""
        some = bps[np.isfinite(bps) & (bps > 0)]
        if len(some) == 0:
            return
        middle = float(np.median(some))
        if middle < _LEAST:
            raise InputError(
                f"{self._file}: half of the bandwidths are below {chosen(middle, 'bits/s')}: "
                "are they "
                "in another unit than the column says?",
                Typed("--unit Gbit/s"),
            )
        absurd = np.flatnonzero((bps > _ABSURD) & (bps > _TIMES * middle))
        if len(absurd):
            at = int(absurd[0])
            raise InputError(
                f"{self._file}, {self._rows.place} {lines[at]:,}: {chosen(bps[at], 'bits/s')} "
                f"among bandwidths of {chosen(middle, 'bits/s')}: is it in another unit?",
                "write all of them in one unit",
            )


_OTHER_UNIT = Typed("--unit bit/s   (if they are in bits a second)")


def _bits(unit: Unit, file: Path) -> float:
    if unit.base == "bits/s":
        return unit.factor
    if unit.base == "bytes/s":
        return 8 * unit.factor
    raise InputError(f"{file}: {unit.name} is no unit of bandwidth", Typed("--unit Gbit/s"))
