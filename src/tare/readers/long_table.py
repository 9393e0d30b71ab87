"""From the rows of a long table to series, chunk by chunk, with all that is wrong in them."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tare.errors import InputError
from tare.experiment.time_limits import BOUNDED
from tare.readers import phrases, units
from tare.readers import roles as column_roles
from tare.readers.cells import ABSENT, Cells, is_absent
from tare.readers.dates import Times
from tare.readers.gathering import Edges, Fault, Faults, Gathering, Parting, in_order
from tare.readers.readings import immeasurable, left_out
from tare.readers.roles import SUCCESS, Roles
from tare.readers.rows import Chunk, Column, Levels, Rows, Want
from tare.readers.series import Defect, FailedRuns, FloatArray, IntArray, Series
from tare.readers.text_file import label, shown
from tare.results.message import Message, message

#: More trials or blocks with a name than a table of them may have.
_MOST_NAMES = 1 << 22


class LongTable:
    """One pass over a table, and what was found on it."""

    def __init__(
        self,
        file: Path,
        rows: Rows,
        roles: Roles,
        unit: units.Unit | None = None,
        noun: str = "row",
    ) -> None:
        self._noun = noun
        self._file, self._rows, self._roles = file, rows, roles
        self._metric, named = units.of_column(rows.names[roles.value])
        self._unit = unit or named
        self._cells = Cells(self._unit)
        self._parting = Parting(file, roles.keys)
        self._faults = {"not_finite": Faults(), "immeasurable": Faults(), "negative": Faults()}
        # What says of itself whether it failed is one tool's log, and damaged without a time.
        is_log = roles.status is not None and not roles.codes
        if is_log:
            self._faults["no_timestamp"] = Faults()
        self._without = Faults()
        self._failed = Faults()
        self._why = []
        if roles.status is not None and roles.codes:
            column = message("by column {name}", name=label(rows.names[roles.status]))
            codes = message(phrases.EXIT_CODE, code=None)
            self._why = [codes if roles.success is SUCCESS else column]
        self._rows_read = 0
        #: Cells without a value, where these are no defect.
        self._missing = Faults()
        #: Cells without a value outside of a series; None: no row may lack one, be it of a trial
        #: or of a log.
        rows_count = roles.rows_are_trials or roles.trial is not None or is_log
        self._edges = None if rows_count else Edges()
        #: Values with each unit, by series and code.
        self._with_unit: dict[tuple[int, int], int] = {}
        #: Names of trials and of blocks, by column.
        self._names: dict[int, dict[str, int]] = {}
        self._times = Times()
        self._limits = _Limits.of(rows, roles)
        #: Whether every row has the number of its iteration.
        self._is_numbered_inside = True

    def series(self) -> tuple[Series, ...]:
        """Read everything."""
        roles = self._roles
        some = (roles.order, roles.trial, roles.inside, roles.block)
        extra = [i for i in some if i is not None]
        types = [np.float64 if i == roles.order else np.int64 for i in extra]
        above = [] if self._limits is None else [np.float64]
        gathering = Gathering([np.float64, *types, *above])
        wanted = roles.wanted()
        if self._limits is not None:
            wanted |= self._limits.wanted
        for chunk in self._rows.chunks(wanted):
            self._add(chunk, extra, gathering)
        gathered = gathering.finish()
        if self._edges is not None:
            self._edges.finish()
        keys = self._parting.keys
        if not gathered[0]:
            raise InputError(f"{self._file} has no rows", "let it be written again")
        made = tuple(
            self._made(one, key, [column[one] for column in gathered])
            for one, key in enumerate(keys)
        )
        if not any(len(one.values) for one in made) and not self._failed.count:
            self._no_numbers()
        return made

    def notes(self) -> list[Message]:
        """Say what was left out of the whole table."""
        notes = []
        if count := self._without.count:
            fault = next(iter(self._without.of.values()))
            place, first = self._rows.place, fault.places[0]
            notes.append(
                message(
                    "{n | counted('row')} without order, trial or block {% if n == 1 %}is"
                    "{% else %}are{% endif %} left out, the first is {place} {first}",
                    n=count,
                    place=place,
                    first=first,
                )
            )
        if self._roles.order is not None:
            name = label(self._rows.names[self._roles.order])
            if self._times.is_without_zone:
                notes.append(
                    message(
                        "dates of {name} without a time zone are taken as UTC (a zone is written "
                        "behind them: 2026-05-01T12:00+02:00)",
                        name=name,
                    )
                )
        return notes

    def failed(self) -> FailedRuns | None:
        """Return the failed rows of the whole table; None: there are none."""
        if not (count := self._failed.count):
            return None
        return FailedRuns(count, self._rows_read, self._noun, because=tuple(self._why))

    def epoch_note(self) -> list[Message]:
        """Say which unit numbers since 1970 were recognised as; empty: the order has none."""
        unit = self._times.epoch_unit
        if self._roles.order is None or unit is None:
            return []
        name = label(self._rows.names[self._roles.order])
        return [
            message("numbers of {name} are taken as {unit} since 1970 (UTC)", name=name, unit=unit)
        ]

    def _add(self, chunk: Chunk, extra: Sequence[int], gathering: Gathering) -> None:
        column = chunk.columns[self._roles.value]
        values, codes = self._cells.numbers(column)
        earlier = len(self._parting.keys) if self._rows_read else 0
        series = self._parting.series(chunk)
        self._rows_read += chunk.rows
        good = self._succeeded(chunk)
        above = None if self._limits is None else self._limits.of_rows(chunk)
        if above is not None:
            killed = np.isfinite(above)
            values = np.where(killed, above, values)
            good = good | killed
        self._tally(self._failed, ~good, series, chunk)
        kept = np.isfinite(values) & good
        unfit = good & ~kept
        if self._roles.drop_missing and unfit.any():
            missing = is_absent(column)
            self._tally(self._missing, missing, series, chunk)
            unfit &= ~missing
        elif self._edges is not None:
            missing = is_absent(column) & good
            inside = self._faults["not_finite"]
            unfit &= ~self._edges.part(missing, series, earlier, chunk.lines, inside)
        self._tally(self._faults["not_finite"], unfit, series, chunk)
        beyond = immeasurable(values) & kept
        self._tally(self._faults["immeasurable"], beyond, series, chunk)
        kept &= ~beyond
        if not units.may_be_negative(self._metric, self._unit or self._cells.units[-1]):
            negative = values < 0
            negative &= kept
            self._tally(self._faults["negative"], negative, series, chunk)
            kept &= ~negative
        columns: list[NDArray[Any]] = [values]
        for i in extra:
            numbers, absent = self._numbered(i, chunk)
            if absent is not None:
                stamped = i == self._roles.order and self._faults.get("no_timestamp")
                self._tally(stamped or self._without, absent & kept, series, chunk)
                kept &= ~absent
            columns.append(numbers)
        if above is not None:
            columns.append(above)
        if not kept.all():
            columns = [column[kept] for column in columns]
            codes = None if codes is None else codes[kept]
            series = None if series is None else series[kept]
        self._count_units(series, codes, len(columns[0]))
        gathering.add(series, len(self._parting.keys), columns)

    def _succeeded(self, chunk: Chunk) -> NDArray[np.bool_]:
        """Return which rows did not fail; what does not say so did not."""
        if self._roles.status is None:
            return np.ones(chunk.rows, dtype=bool)
        column = chunk.columns[self._roles.status]
        assert isinstance(column, Levels)
        levels = [level.strip().lower() for level in column.texts]
        if self._roles.codes:
            good = [self._roles.success.fullmatch(level) is not None for level in levels]
        else:
            good = [level != "false" for level in levels]
        return np.asarray(np.array(good)[column.codes])

    @staticmethod
    def _tally(
        faults: Faults, those: NDArray[np.bool_], series: IntArray | None, chunk: Chunk
    ) -> None:
        rows = np.flatnonzero(those)
        if len(rows):
            of = np.zeros(len(rows), np.int64) if series is None else series[rows]
            faults.add(of, chunk.lines, rows)

    def _count_units(self, series: IntArray | None, codes: IntArray | None, n: int) -> None:
        if series is None and codes is None:
            self._with_unit[0, 0] = self._with_unit.get((0, 0), 0) + n
            return
        of = np.zeros(n, np.int64) if series is None else series
        codes = np.zeros(n, np.int64) if codes is None else codes
        width = len(self._cells.units)
        counts = np.bincount(of * width + codes)
        for at in np.flatnonzero(counts).tolist():
            place = divmod(at, width)
            self._with_unit[place] = self._with_unit.get(place, 0) + int(counts[at])

    def _numbered(self, i: int, chunk: Chunk) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return a column of order, trials or blocks as numbers, and which rows have none."""
        column = chunk.columns[i]
        if i == self._roles.inside:
            # Rows stay in their order where a part of the file has no numbers of iterations.
            if isinstance(column, np.ndarray):
                return column, None
            self._is_numbered_inside = False
            return np.zeros(chunk.rows, np.int64), None
        if i == self._roles.order:
            values = self._in_time(column, chunk)
            untimed = np.isnan(values)
            return values, untimed if untimed.any() else None
        if isinstance(column, np.ndarray):
            return column, None
        assert isinstance(column, Levels)
        known = self._names.setdefault(i, {})
        names = [name.strip() for name in column.texts]
        for name in names:
            if name not in known:
                known[name] = _code(name)
        codes = np.array([known[name] for name in names], dtype=np.int64)
        if len(known) > _MOST_NAMES:
            raise InputError(
                f"{self._file}: column {self._rows.names[i]!r} has more than {_MOST_NAMES:,} names",
                "number them, or leave the column out",
            )
        nameless = np.array([name in ABSENT for name in names])[column.codes]
        return codes[column.codes], nameless if nameless.any() else None

    def _in_time(self, column: Column, chunk: Chunk) -> FloatArray:
        numbers = self._times.numbers(column)
        if numbers is None:
            line = int(chunk.lines(np.array([0]))[0])
            first = column[0] if isinstance(column, list) else ""
            name = label(self._rows.names[self._roles.order or 0])
            raise InputError(
                f"{self._file}, {self._rows.place} {line}: {name!r} holds neither numbers nor"
                f" dates ({shown(first)})",
                "name a column of numbers with --order, or of dates such as 2026-05-01T12:00:00",
            )
        return numbers

    def _made(self, one: int, key: tuple[str, ...], columns: list[NDArray[Any]]) -> Series:
        roles = self._roles
        if roles.order is not None:
            columns = in_order(self._file, columns[1], columns)
        above = None if self._limits is None else columns.pop()
        if above is not None and np.isfinite(above).any():
            columns[0] = np.where(np.isfinite(above), np.inf, columns[0])
        else:
            above = None
        if roles.inside is not None:
            columns = (
                _by_iteration(columns) if self._is_numbered_inside else columns[:2] + columns[3:]
            )
        rest = columns[1 + (roles.order is not None) :]
        measured, defects = self._unit_of(one)
        name = self._rows.names
        return Series(
            key={label(name[i]): label(level) for i, level in zip(roles.keys, key, strict=True)},
            values=columns[0],
            metric=label(self._metric),
            unit=measured,
            lower_is_better=units.lower_is_better(self._metric, self._unit_for_sign(one)),
            trial=self._trials(rest, len(columns[0])),
            block=rest[-1] if roles.block is not None else None,
            position=columns[1] if roles.order is not None else None,
            at_s=self._times.since_1970(columns[1]) if roles.order is not None else None,
            defects=(*self._corrupt(one, len(columns[0])), *defects),
            grouped=self._grouped(rest),
            failed=self._failed_of(one, len(columns[0])),
            noun=self._noun,
            notes=self._left_out(one),
            above=above,
        )

    def _trials(self, rest: list[NDArray[Any]], n: int) -> IntArray | None:
        return np.arange(n) if self._roles.rows_are_trials else self._numbered_trials(rest)

    def _numbered_trials(self, rest: list[NDArray[Any]]) -> IntArray | None:
        """Return the execution of each row by the column that numbers them, if one does."""
        if self._roles.trial is None:
            return None
        trial = rest[0]
        if self._roles.restarts and (executions := _number_between_restarts(trial)) is not None:
            return executions
        return None if self._roles.recognised and _recurs(trial) else trial

    def _grouped(self, rest: list[NDArray[Any]]) -> Message | None:
        """Say that rows, which count as trials, belong to executions of several rows each."""
        roles = self._roles
        if not roles.rows_are_trials or roles.trial is None or roles.block is not None:
            return None
        trial = self._numbered_trials(rest)
        if trial is not None and _recurs(trial):
            return None
        groups = 0 if trial is None else len(np.unique(trial))
        if trial is None or groups == len(trial):
            return None
        column = label(self._rows.names[roles.trial])
        return message(
            "{rows} rows come in {n} groups by {column}: they are not executions of their "
            "own (--trial {option})",
            column=column,
            n=groups,
            rows=len(trial),
            option=shlex.quote(column),
        )

    def _codes_of(self, one: int) -> list[int]:
        return [code for series, code in sorted(self._with_unit) if series == one]

    def _unit_for_sign(self, one: int) -> units.Unit | None:
        codes = self._codes_of(one)
        return self._cells.units[codes[0]] if codes else self._unit

    def _unit_of(self, one: int) -> tuple[str | None, tuple[Defect, ...]]:
        """Return the unit of a series' values as they are now, and whether there were several."""
        codes = self._codes_of(one)
        if not codes:
            return (None if self._unit is None else _shown(self._unit)), ()
        found = [self._cells.units[code] for code in codes]
        if len(codes) == 1:
            only = found[0]
            if only is None:
                return None, ()
            return (_shown(only) if codes == [0] else only.base), ()
        parts = [
            message(
                "{n} in {% if unit %}{unit}{% else %}no unit{% endif %}",
                n=self._with_unit[one, code],
                unit=unit.name if unit else None,
            )
            for code, unit in zip(codes, found, strict=True)
        ]
        bases = {None if unit is None else unit.base for unit in found}
        mixed = Defect(
            "mixed units",
            message("the values have different units: {parts | join(', ')}", parts=parts),
        )
        return (bases.pop() if len(bases) == 1 else None), (mixed,)

    def _left_out(self, one: int) -> tuple[Message, ...]:
        notes = []
        if fault := self._missing.of.get(one):
            at = fault.where(self._rows.place)
            notes.append(
                message(
                    "{n | counted('cell')} without a value left out ({at})", n=fault.count, at=at
                )
            )
        if self._edges is not None and (fault := self._edges.outside.of.get(one)):
            at = fault.where(self._rows.place)
            notes.append(
                message(
                    "{n | counted('cell')} without a value, before the first or after the last "
                    "one, left out ({at})",
                    n=fault.count,
                    at=at,
                )
            )
        return tuple(notes)

    def _failed_of(self, one: int, good: int) -> FailedRuns | None:
        fault = self._failed.of.get(one)
        if fault is None:
            return None
        total = good + fault.count + sum(each.count for each in self._corrupted(one).values())
        at, why = fault.where(self._rows.place), tuple(self._why)
        return FailedRuns(fault.count, total, self._noun, because=why, at=at)

    def _corrupted(self, one: int) -> dict[str, Fault]:
        return {why: faults.of[one] for why, faults in self._faults.items() if one in faults.of}

    def _corrupt(self, one: int, good: int) -> list[Defect]:
        faults = self._corrupted(one)
        total = good + sum(fault.count for fault in faults.values())
        return [
            left_out(fault.count, total, why, fault.where(self._rows.place))
            for why, fault in faults.items()
        ]

    def _no_numbers(self) -> None:
        name = label(self._rows.names[self._roles.value])
        fault = next((f for faults in self._faults.values() for f in faults.of.values()), None)
        place = f", {self._rows.place} {fault.places[0]}" if fault else ""
        raise InputError(
            f"{self._file}{place}: column {name!r} holds no number that can be a value",
            "name the column of values with --value; there are: "
            f"{column_roles.listed(self._rows.names)}",
        )


class _Limits:
    """The columns of an export of tare's that say which rows exceed a limit.

    Parameters
    ----------
    status, metric, kind, above : int
        Columns of how a trial ended, of the metric of the row, of the kind of limit that ended the
        trial, and of what its time exceeds.
    """

    def __init__(self, status: int, metric: int, kind: int, above: int) -> None:
        self._status, self._metric, self._kind, self._above = status, metric, kind, above
        levels = dict.fromkeys((status, metric, kind), "level")
        self.wanted: dict[int, Want] = {**levels, above: "number"}  # type: ignore[dict-item]

    @classmethod
    def of(cls, rows: Rows, roles: Roles) -> _Limits | None:
        """Find the columns; None where the table has them not."""
        names = ("status", "metric", "limit_kind", "above_ns")
        if not {*names} <= {*rows.names} or roles.value == rows.names.index("above_ns"):
            return None
        return cls(*map(rows.names.index, names))

    def of_rows(self, chunk: Chunk) -> FloatArray:
        """Return what the value of each row exceeds; NaN where it is known, or absent."""
        status, metric, kind = (
            self._texts(chunk, i) for i in (self._status, self._metric, self._kind)
        )
        above = chunk.columns[self._above]
        numbers, _ = Cells(None).numbers(above)
        bounded = np.array(
            [
                one == "killed" and of in BOUNDED.get(why, ())
                for one, of, why in zip(status, metric, kind, strict=True)
            ],
            dtype=bool,
        )
        return np.where(bounded, numbers, np.nan)

    @staticmethod
    def _texts(chunk: Chunk, i: int) -> list[str]:
        column = chunk.columns[i]
        assert isinstance(column, Levels)
        return [column.texts[code] for code in column.codes.tolist()]


def _recurs(trial: IntArray) -> bool:
    """Whether a number comes again after others, so that it stands for several executions."""
    runs = 1 + int(np.count_nonzero(np.diff(trial)))
    return len(trial) > 0 and runs > len(np.unique(trial))


def _by_iteration(columns: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return values, trials and more, with the rows of each trial in the order of its iterations.

    Columns are values, trials, iterations, which are left out of the result, and others.
    """
    trial, iteration, kept = columns[1], columns[2], [*columns[:2], *columns[3:]]
    _, first, inverse = np.unique(trial, return_index=True, return_inverse=True)
    begins = first[inverse]
    together = np.argsort(begins, kind="stable")
    falls = (np.diff(iteration[together]) < 0) & (np.diff(begins[together]) == 0)
    if not falls.any():
        return kept
    ordered = np.lexsort((iteration, begins))
    return [column[ordered] for column in kept]


def _number_between_restarts(iteration: IntArray) -> IntArray | None:
    """Return the number of each row's execution, which begins where iterations begin anew.

    None: there is only one, or its iterations are not numbered one by one.
    """
    if len(iteration) == 0:
        return None
    begins = iteration == iteration.min()
    is_next = np.diff(iteration) == 1
    if not 1 < begins.sum() < len(begins) or not begins[0] or not (begins[1:] | is_next).all():
        return None
    return np.cumsum(begins) - 1


def _shown(unit: units.Unit) -> str:
    """Name the unit that a whole column is in: times are seconds by now, others as they were."""
    return unit.base if unit.base == "s" else unit.name


def _code(name: str) -> int:
    """Return a whole number as it is, and a number below 0 that is that name's own in every file.

    ``01`` is 1, as in a column, or a part of one, that has nothing but numbers.
    """
    if name.removeprefix("-").isdecimal() and len(name) < 18:
        return int(name)
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -1 - (int.from_bytes(digest, "little") >> 1)
