"""Any long table, one value a row: CSV, TSV and the like, or Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tare.errors import InputError
from tare.readers import roles as column_roles
from tare.readers import screen_text, units
from tare.readers.csv_rows import CsvRows
from tare.readers.format import TABLE_OPTIONS, Format
from tare.readers.long_table import LongTable
from tare.readers.parquet_rows import MAGIC, ParquetRows
from tare.readers.readings import each_of
from tare.readers.rows import Rows
from tare.readers.series import ColumnOptions, Imported
from tare.readers.text_file import label
from tare.registry import Description, units_of
from tare.results.message import message

_TABLE_TEXTS = {
    "restarts": "an execution begins where {column} begins anew",
    "executions": "executions are numbered by {column} (--trial names another column, or row)",
    "recurs": (
        "the numbers of {column} recur within a series, so they are not those of executions: "
        "--group names what else differs, --trial what numbers executions"
    ),
}


def recognises(head: bytes, file: Path) -> bool:
    """Whether no other format wants it, and it is no JSON, XML or text for people."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start or start[:1] in b"{[<" or screen_text.printed_by(head):
        return False
    others = (unit for name, unit in units_of("format").items() if name != UNIT.description.name)
    return not any(unit.recognises(head, file) for unit in others)


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the column of values, parted by the levels of others."""
    named = (columns.value, *columns.group, *columns.compare, columns.order, columns.trial)
    rows = open_rows(file, (*named, columns.block))
    if rows.names[0] == "tool" and rows.sample()[0][0].strip() == "run set":
        raise InputError(
            f"{file} is a table of BenchExec's table-generator, with a header of three lines",
            "audit the results that it was made from, RESULTS.xml.bz2",
        )
    roles = column_roles.find(file, rows, columns)
    table = LongTable(file, rows, roles)
    series = table.series()
    notes = list(rows.notes)
    if roles.guessed:
        (column,) = _quoted(rows, [roles.value])
        notes.insert(
            0,
            message(
                "the values are those of {column}, the only column of numbers that was not named "
                "otherwise",
                column=column,
            ),
        )
    if (
        (roles.recognised or roles.restarts)
        and roles.trial is not None
        and not roles.rows_are_trials
    ):
        (column,) = _quoted(rows, [roles.trial])
        used = all(one.trial is not None for one in series)
        said = "restarts" if roles.restarts else "executions" if used else "recurs"
        notes.append(message(_TABLE_TEXTS[said], column=column))
    if roles.apart and len(series) > 1:
        notes.append(
            message(
                "series are separated by {columns | join(', ')}, which no option names",
                columns=_quoted(rows, roles.apart),
            )
        )
    unnamed = sorted((*roles.pooled, *roles.parameters))
    if unnamed:
        notes.append(
            message(
                "the levels of {columns | join(', ')} are pooled (--group separates them)",
                columns=_quoted(rows, unnamed),
            )
        )
    timed = columns.order or units.time_column(rows.names)
    rate = next((one.unit for one in series if one.unit is not None), "")
    found = units.unit(rate)
    return Imported(
        file=file,
        levels=_names(rows, sorted((*unnamed, *roles.apart)) if unnamed else []),
        rounds=None if roles.rounds is None else rows.names[roles.rounds],
        dates=column_roles.dates(rows, roles),
        labels=tuple(rows.names[i] for i in roles.labels),
        is_trace=bool(timed and found and found.base == "bits/s" and columns.trial is None),
        # JMeter's reader reads tables as well.
        format=UNIT.description.name,
        series=series,
        specification=each_of((len(one.values) for one in series), "value", "series"),
        failed=table.failed(),
        notes=(*table.notes(), *table.epoch_note(), *notes),
    )


def open_rows(file: Path, named: Iterable[str | None]) -> Rows:
    """Open a table, of whatever kind; ``named``: columns that it is to have."""
    try:
        with file.open("rb") as source:
            magic = source.read(len(MAGIC))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", "name a table") from error
    if magic == MAGIC:
        return ParquetRows(file)
    return CsvRows(file, [name for name in named if name is not None])


def _quoted(rows: Rows, columns: Sequence[int]) -> list[str]:
    return [*map(repr, _names(rows, columns))]


def _names(rows: Rows, columns: Iterable[int]) -> tuple[str, ...]:
    return tuple(label(rows.names[i]) for i in columns)


UNIT = Format(
    description=Description(
        name="table",
        title="Any long table, one value a row: CSV, TSV or Parquet",
        question="What are the values in one column, by the levels of others?",
        source="RFC 4180; Apache Parquet",
    ),
    recognises=recognises,
    read=read,
    options=TABLE_OPTIONS,
)
