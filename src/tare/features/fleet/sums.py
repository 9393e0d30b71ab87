"""One host's values, summed up by session: of each cell, and of the ratio of two within blocks.

DuckDB sees what it is given and nothing else, one host after the other: whatever the number of
hosts, memory holds one of them, and of a large one a part.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from tare.errors import StoreError
from tare.features.fleet.values import SCHEMA, HostValues
from tare.statistics.hosts import IntArray
from tare.statistics.statistic import FloatArray

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "enable_external_access": False,
    "memory_limit": "2GB",
    "preserve_insertion_order": False,
}
#: Logarithms; none of what has none.
_OWN = """
    CREATE OR REPLACE TEMP TABLE own AS SELECT
        cell, session, block, CASE WHEN positive THEN 1 END AS positive,
        CASE WHEN value > 0 AND isfinite(value) THEN ln(value) END AS x
    FROM given
"""
#: Of a quantity that lacks a single logarithm, nothing is concluded on this host.
_QUANTITIES = """
    CREATE OR REPLACE TEMP TABLE quantities AS
    SELECT quantity, session, x FROM own JOIN asked ON cell = second AND first IS NULL
    UNION ALL
    SELECT quantity, a.session, (b.x - a.x) * a.positive * b.positive
    FROM asked JOIN own a ON a.cell = first
    JOIN own b ON b.cell = second AND b.session = a.session AND b.block = a.block
"""
#: Powers of differences from the mean, which is known before: they would cancel otherwise.
_SUMS = """
    WITH means AS (
        SELECT quantity, session, count(*) AS n, avg(x) AS mean
        FROM quantities GROUP BY quantity, session
    )
    SELECT
        quantity, any_value(n) AS n, any_value(mean) AS mean,
        sum((x - mean) * (x - mean)) AS square,
        sum((x - mean) * (x - mean) * (x - mean) * (x - mean)) AS fourth
    FROM quantities JOIN means USING (quantity, session)
    GROUP BY quantity, session ORDER BY quantity, session
"""
_WHOLE = """
    SELECT quantity FROM quantities GROUP BY quantity HAVING count(*) = count(x) ORDER BY quantity
"""


class Summed(NamedTuple):
    """A quantity of one host, of logarithms: arrays of shape (sessions,)."""

    n: IntArray
    mean: FloatArray
    square: FloatArray
    fourth: FloatArray


class Sums:
    """What sums up; the same for all hosts, with a folder for what memory cannot hold."""

    def __init__(self) -> None:
        self._closing = contextlib.ExitStack()
        # Otherwise it would be a folder in the one where this is typed.
        place = self._closing.enter_context(tempfile.TemporaryDirectory(prefix="tare-sums-"))
        self._base = self._closing.enter_context(
            duckdb.connect(config={**_CONFIG, "temp_directory": place})
        )

    def __enter__(self) -> Sums:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def of(
        self, values: HostValues, source: str, asked: Sequence[tuple[int | None, int]]
    ) -> Iterator[tuple[int, Summed]]:
        """Sum up what one host has of some quantities.

        Parameters
        ----------
        values : HostValues
        source : str
            Whose values are taken.
        asked : sequence of (int or None, int)
            Each a cell, or that relative to the one that is named first.

        Yields
        ------
        place : int
            In ``asked``; those that have no trials, or a value that has no logarithm, are left out.
        summed : Summed
        """
        first, second = zip(*asked, strict=True) if asked else ((), ())
        numbers = pa.table({
            "quantity": pa.array(range(len(asked)), pa.int32()),
            "first": pa.array(first, pa.int32()),
            "second": pa.array(second, pa.int32()),
        })  # fmt: skip
        given = pa.RecordBatchReader.from_batches(SCHEMA, values.batches(source))
        try:
            self._base.register("given", given)
            self._base.register("asked", numbers)
            self._base.execute(_OWN)
            self._base.execute(_QUANTITIES)
            whole = [place for (place,) in self._base.execute(_WHOLE).fetchall()]
            sums = self._base.execute(_SUMS).fetchnumpy()
        except duckdb.Error as error:
            # Of a damaged file, DuckDB says it in its own way.
            for _ in values.batches(source):
                pass
            why = str(error).partition("\n")[0]
            raise StoreError(
                f"the values of {values.kept_as} cannot be summed up: {why}",
                f"free some room in {tempfile.gettempdir()}, or have TMPDIR name another folder",
            ) from error
        for place in whole:
            own = sums["quantity"] == place
            yield place, Summed(*(np.asarray(sums[name][own]) for name in Summed._fields))
