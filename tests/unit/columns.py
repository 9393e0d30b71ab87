"""Tables of results for tests: from records, and from data frames, which are easily changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tare.experiment.results import Results, typed
from tare.experiment.samples import COLUMNS, Key, Samples
from tare.experiment.tables import TABLES
from tare.results.columns import Columns, objects


def of_records(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Make a table of rows that have the names of the first."""
    return Columns({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})


def facts(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Make a table of facts, whose values have several types."""
    return of_records(rows).with_columns(value=objects(row["value"] for row in rows))


def of_table(name: str, rows: Sequence[Sequence[Any]]) -> Columns:
    """Make a table that ``tables.toml`` has of its rows; what is absent in them is None."""
    return Columns(
        {
            column.name: typed(column.type, [row[i] for row in rows])
            for i, column in enumerate(TABLES[name].columns)
        }
    )


def stacked(*tables: Columns) -> Columns:
    """Put tables with the same columns below one another."""
    return Columns(
        {name: np.concatenate([one[name] for one in tables]) for name in tables[0].names}
    )


def samples_of(table: Columns) -> Samples:
    """Make samples of a table that has the columns of :meth:`Samples.table`."""
    numbered = table.with_columns(
        row=np.arange(len(table)),
        worker=np.array(table["worker"], dtype=float),
        iteration=np.array(table["iteration"], dtype=float),
        value=np.array(table["value"], dtype=float),
    )
    grouped = numbered.groups("metric", "source", "phase")
    return Samples({Key(*key): rows.only(*COLUMNS) for key, rows in grouped})


def more_samples(samples: Samples, rows: Sequence[Sequence[Any]]) -> Samples:
    """Add rows of ``trial, worker, iteration, phase, metric, source, value``."""
    table = samples.table()
    new = Columns(
        {
            name: np.array(values, dtype=table[name].dtype)
            for name, values in zip(table.names, zip(*rows, strict=True), strict=True)
        }
    )
    return samples_of(stacked(table, new))


def with_values(results: Results, values: Callable[[Columns], Any]) -> Results:
    """Replace the value of each sample by what a function makes of their table."""
    table = results.sample_table.table()
    changed = samples_of(table.with_columns(value=values(table)))
    return dataclasses.replace(results, sample_table=changed)


def of_frame(frame: pd.DataFrame) -> Columns:
    """Make a table of a data frame; what is absent in it is NaN among numbers, and else None."""
    return Columns({str(name): _column(frame[name]) for name in frame})


def samples(frame: pd.DataFrame) -> Samples:
    """Make samples of a data frame."""
    return samples_of(of_frame(frame))


def _column(values: pd.Series) -> np.ndarray:
    if isinstance(values.dtype, np.dtype) and values.dtype != object:
        return values.to_numpy()
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=float, na_value=np.nan)
    absent = values.map(
        lambda value: value is pd.NA or (isinstance(value, float) and np.isnan(value))
    )
    return objects(None if gone else value for value, gone in zip(values, absent, strict=True))


def frame(table: Columns | Samples) -> pd.DataFrame:
    """Return a table as a data frame."""
    return (table.table() if isinstance(table, Samples) else table).frame()


def replaced(results: Results, **frames: pd.DataFrame) -> Results:
    """Return results some of whose tables are of data frames."""
    made = {
        name: samples(table) if name == "sample_table" else of_frame(table)
        for name, table in frames.items()
    }
    return dataclasses.replace(results, **made)
