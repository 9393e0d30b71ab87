"""The values of one host as Parquet: made from its journal, and made anew where that has grown.

A folder of results may come from elsewhere, so a file is hostile until checked.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tare import files
from tare.errors import StoreError
from tare.experiment import plan_file, store
from tare.experiment.findings.cells import Basis, Cell, Cells, basis_of
from tare.experiment.findings.overview import compared_factor
from tare.experiment.results import Results
from tare.results.message import Message

FILE = "values.parquet"
_VERSION = 3
#: By which the summary is found in the file.
_KEY = b"tare"
#: A row a good trial and cell: the value that is judged, and whether each worker's is above zero.
SCHEMA = pa.schema([
    pa.field("cell", pa.int32(), nullable=False),
    pa.field("session", pa.int32(), nullable=False),
    pa.field("block", pa.int64(), nullable=False),
    pa.field("value", pa.float64(), nullable=False),
    pa.field("positive", pa.bool_(), nullable=False),
])  # fmt: skip
#: Rows of one source, which is a group of rows in the file; and of those that are read at once.
_MOST_ROWS, _BATCH = 1 << 26, 1 << 17
#: Of what a file says of itself.
_MOST_METADATA = 1 << 24


#: A cell's levels in the order of the factors.
CellLevels = tuple[tuple[str, str], ...]


class MeasuredCell(msgspec.Struct, frozen=True, array_like=True):
    """A cell that has good trials."""

    number: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
    levels: CellLevels


class FailedCell(msgspec.Struct, frozen=True, array_like=True):
    """A cell of the plan that has no good trial, and how many others it has."""

    levels: CellLevels
    trials: Annotated[int, msgspec.Meta(ge=0)]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a host without its values."""

    version: int = _VERSION
    #: Files that it was made from.
    origins: list[tuple[str, int, int]]
    #: Those that have good trials.
    sessions: int
    #: Whether its journal says how the last one ended.
    ended: bool = True
    #: Good ones, and others.
    trials: int
    failures: Annotated[int, msgspec.Meta(ge=0)]
    #: The factor whose levels are compared.
    factor: str | None
    #: Platforms that are none to compare.
    emulated: tuple[str, ...]
    metric: str = ""
    more_is_better: bool = False
    #: Those that all good trials have, best first: each a group of rows.
    sources: tuple[str, ...] = ()
    #: References first.
    cells: tuple[MeasuredCell, ...] = ()
    failed: tuple[FailedCell, ...] = ()


@dataclass(frozen=True)
class HostValues:
    """A host's values, and where they are read from.

    Attributes
    ----------
    summary : Summary
    basis : Basis or Message
        What is judged on this host alone, or why nothing is.
    kept : Path or bytes
        The file; or what it would hold, where it cannot be written.
    """

    summary: Summary
    basis: Basis | Message
    kept: Path | bytes

    def batches(self, source: str) -> Iterator[pa.RecordBatch]:
        """Read the values of one of the sources, as :data:`SCHEMA` has them.

        Raises
        ------
        StoreError
            If the file cannot be read any more.
        """
        group = self.summary.sources.index(source)
        try:
            with _opened(self.kept) as file:
                yield from _checked(file).iter_batches(_BATCH, row_groups=[group])
        except (OSError, pa.ArrowException) as error:
            raise StoreError(
                f"{self.kept_as} is damaged: {error}", "remove it: it is made anew from the journal"
            ) from error

    @property
    def kept_as(self) -> str:
        """What the file is called in messages."""
        return FILE if isinstance(self.kept, bytes) else str(self.kept)


def of(folder: Path) -> HostValues:
    """Return the values of a host, from their file where that is made from this journal.

    Raises
    ------
    StoreError
        If the folder holds no experiment, or its journal cannot be read.
    """
    files.check_owner(folder)
    plan_file.read(folder)
    origins, path = store.origins(folder), folder / FILE
    with contextlib.suppress(OSError, pa.ArrowException, StoreError):
        summary = _summary(path)
        if summary.origins == origins:
            basis = Basis(summary.metric, summary.sources[0], summary.more_is_better)
            return HostValues(summary, basis, path)
    # Of very many hosts, a store of each takes longer than all answers.
    return _made(store.load(folder, keep=False), origins, path)


def _made(results: Results, origins: list[tuple[str, int, int]], path: Path) -> HostValues:
    basis = basis_of(results)
    good = results.trial_table[results.trial_table["status"] == "ok"]
    summary = Summary(
        origins=origins,
        sessions=good["session"].nunique(),
        ended=not results.sessions["ended"].tail(1).isna().any(),
        trials=len(good),
        failures=len(results.trial_table) - len(good),
        factor=compared_factor(results),
        emulated=tuple(sorted(results.emulated)),
    )
    if isinstance(basis, Message):
        return HostValues(summary, basis, b"")
    sources = tuple(results.sources(basis.metric))
    by_source = [Cells(results, dataclasses.replace(basis, source=one)).all for one in sources]
    summary = msgspec.structs.replace(
        summary,
        metric=basis.metric,
        more_is_better=basis.more_is_better,
        sources=sources,
        cells=tuple(MeasuredCell(one.cell, (*one.levels.items(),)) for one in by_source[0]),
        failed=tuple(_failed(results)),
    )
    data = encode(summary, [_rows(cells) for cells in by_source])
    # What is no plain file is none of tare's, and is not written to.
    if not path.is_symlink() and (path.is_file() or not path.exists()):
        with contextlib.suppress(StoreError):
            files.write(path, data, "free some room")
            return HostValues(summary, basis, path)
    return HostValues(summary, basis, data)


def _failed(results: Results) -> Iterator[FailedCell]:
    trials = results.trial_table
    good = {*trials.loc[trials["status"] == "ok", "cell"]}
    for one in results.planned:
        if one.cell not in good:
            levels = one.levels()
            own = tuple((factor, levels[factor]) for factor in results.factors)
            yield FailedCell(own, int((trials["cell"] == one.cell).sum()))


def _rows(cells: Sequence[Cell]) -> pa.Table:
    tables = [SCHEMA.empty_table()]
    for one in cells:
        index, workers = one.table.index, one.workers
        columns = (
            np.full(one.n, one.cell),
            index.get_level_values("session").to_numpy(),
            index.get_level_values("block").to_numpy(),
            one.trial_values,
            ((workers > 0) & np.isfinite(workers)).all(axis=1),
        )
        arrays = [pa.array(c).cast(f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        tables.append(pa.Table.from_arrays(arrays, schema=SCHEMA))
    return pa.concat_tables(tables)


def encode(summary: Summary, by_source: Sequence[pa.Table]) -> bytes:
    """Return the file; a source of more rows than are read again is refused by whoever reads it."""
    target = io.BytesIO()
    schema = SCHEMA.with_metadata({_KEY: msgspec.json.encode(summary)})
    with pq.ParquetWriter(target, schema) as writer:
        for table in by_source:
            writer.write_table(table.cast(schema), row_group_size=_MOST_ROWS)
    return target.getvalue()


def _summary(path: Path) -> Summary:
    """Read what a file says of the host; raises OSError, ArrowException or StoreError."""
    with files.open_plain(path) as file:
        found = _checked(file)
        metadata = found.schema_arrow.metadata or {}
        summary = plan_file.decoded(metadata.get(_KEY, b""), Summary, _VERSION, path)
        if not summary.sources or found.metadata.num_row_groups != len(summary.sources):
            raise StoreError(f"{path} has other groups of rows than sources")
    return summary


@contextlib.contextmanager
def _opened(kept: Path | bytes) -> Iterator[IO[bytes]]:
    with io.BytesIO(kept) if isinstance(kept, bytes) else files.open_plain(kept) as file:
        yield file


def _checked(file: IO[bytes]) -> pq.ParquetFile:
    """Open a file that has such columns; raises OSError or ArrowException."""
    found = pq.ParquetFile(
        file, thrift_string_size_limit=_MOST_METADATA, thrift_container_size_limit=_MOST_METADATA
    )
    if not found.schema_arrow.equals(SCHEMA, check_metadata=False):
        raise pa.ArrowInvalid(f"its columns are not {', '.join(SCHEMA.names)}")
    groups = (found.metadata.row_group(i) for i in range(found.metadata.num_row_groups))
    if any(group.num_rows > _MOST_ROWS for group in groups):
        raise pa.ArrowInvalid("it has too many rows")
    return found
