"""CSV in which a tool wrote statistics instead of the values: which tool, and what it states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import phrases
from tare.readers.cells import ABSENT, is_number
from tare.readers.csv_rows import CsvRows
from tare.readers.format import Format
from tare.readers.readings import per_operation, stated, told_apart
from tare.readers.series import ColumnOptions, Defect, Imported, Series, Specification
from tare.readers.text_file import head_text, label
from tare.registry import Description
from tare.results.message import message


@dataclass(frozen=True)
class _Tool:
    """One tool's table of statistics.

    Attributes
    ----------
    name : str
        The tool and its option or report.
    row : str
        What a row is of.
    keys : tuple of str
        Columns that name what was measured; the first is in every file.
    states : mapping of str to str
        The tool's columns of statistics, and our names of them: all are in every file.
    unit : str
        Of the statistics; where a column states it, the name of that column.
    instead : str
        What has the single values.
    often : tuple of str
        Further statistics, which not every file has.
    """

    name: str
    row: str
    keys: tuple[str, ...]
    states: Mapping[str, str]
    unit: str
    instead: str
    often: tuple[str, ...] = ()


_TOOLS = (
    # Before hyperfine 1.9 without the median.
    _Tool(
        "hyperfine --export-csv", "command", ("command",),
        {"mean": "mean", "stddev": "sd", "min": "min", "max": "max"},
        "s", "hyperfine --export-json FILE", ("median",),
    ),
    _Tool(
        "pytest-benchmark compare --csv", "benchmark", ("name",),
        {"mean": "mean", "stddev": "sd", "median": "median", "min": "min", "max": "max",
         "rounds": "n"},
        "s", "pytest --benchmark-json=FILE",
    ),
    _Tool(
        "JMH -rf csv", "benchmark", ("Benchmark", "Mode", "Threads"),
        {"Score": "mean", "Samples": "n"}, "Unit", "-rf json",
    ),
    _Tool(
        "JMeter's report", "label", ("Label",),
        {"Average": "mean", "Min": "min", "Max": "max", "# Samples": "n"},
        "ms", "jmeter -l FILE.jtl",
    ),
    _Tool(
        "CodSpeed", "benchmark", ("name", "uri"),
        {"mean_ns": "mean", "stdev_ns": "sd", "median_ns": "median", "min_ns": "min",
         "max_ns": "max", "rounds": "n"},
        "ns", "pytest --benchmark-json=FILE",
    ),
)  # fmt: skip
#: Columns that add to a key where a file has them: parameters of hyperfine and of JMH.
_PARAMETERS = ("parameter_", "Param: ")


def recognises(head: bytes, file: Path) -> bool:
    """Whether its first line has the columns of a tool's statistics."""
    first = head_text(head).lstrip("\ufeff").partition("\n")[0]
    separated = ([one.strip().strip('"') for one in first.split(mark)] for mark in ",;\t")
    return any(_tool(names) for names in separated)


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read what is stated of each row; there are no values in it."""
    rows = CsvRows(file, [key for tool in _TOOLS for key in tool.keys])
    tool = _tool(rows.names)
    if tool is None:
        raise InputError(
            f"{file} has the columns of no tool's statistics that is known here",
            "read it as any table: --format table",
        )
    cells = zip(*rows.sample(), strict=True)
    texts = [dict(zip(rows.names, row, strict=True)) for row in cells]
    series = told_apart(_series(tool, row) for row in texts)
    return Imported(
        file=file,
        series=series,
        specification=Specification(
            statistic=message(phrases.STATISTIC_MEAN),
            spread=message(phrases.SPREAD_SD, what="runs")
            if "sd" in tool.states.values()
            else None,
        ),
        notes=tuple(rows.notes),
    )


def _tool(names: Sequence[str]) -> _Tool | None:
    found = set(names)
    return next((t for t in _TOOLS if {t.keys[0], *t.states} <= found), None)


def _series(tool: _Tool, row: Mapping[str, str]) -> Series:
    unit, scale, lower = per_operation(row.get(tool.unit, tool.unit).strip())
    key = {
        label(name): label(text.strip())
        for name, text in row.items()
        if (name in tool.keys or name.startswith(_PARAMETERS)) and text.strip() not in ABSENT
    }
    numbers = {
        ours: float(row[theirs]) if is_number(row[theirs]) else math.nan
        for theirs, ours in (*tool.states.items(), *((one, one) for one in tool.often))
        if theirs in row
    }
    count = stated({name: value for name, value in numbers.items() if name == "n"})
    values = stated({name: value for name, value in numbers.items() if name != "n"}, scale)
    summary = message(
        "{tool} writes one row of statistics per {row}, no single values: {instead} has them",
        tool=tool.name,
        row=tool.row,
        instead=tool.instead,
    )
    return Series(
        key=key,
        values=np.empty(0),
        metric="throughput" if unit == "1/s" else "time" if unit == "s" else "value",
        unit=unit,
        lower_is_better=lower,
        reported={**values, **count},
        defects=(Defect("summary only", summary),),
    )


UNIT = Format(
    description=Description(
        name="summary-csv",
        title="CSV of statistics: hyperfine, JMH, JMeter's report, pytest-benchmark, CodSpeed",
        question="What does each row state, and what has the values themselves?",
        source="hyperfine, src/export/csv.rs; JMH, CSVResultFormat; JMeter, SummaryReport",
    ),
    recognises=recognises,
    read=read,
    is_of_commands=False,
)
