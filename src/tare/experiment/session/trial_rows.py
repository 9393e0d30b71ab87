"""What a program left of a trial in a file: taken from its instance, kept next to the journal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tare import files
from tare.agent import record
from tare.errors import StoreError
from tare.experiment.session.printed import decoded

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.applications.rows import Kind

#: Largest piece of an output.
PIECE = 1 << 20


class LargeError(Exception):
    """There is more than was asked for."""


def output(records: Iterable[record.Record], limit_bytes: int) -> bytes | None:
    """Return what a command of ours printed; None: it failed.

    Raises
    ------
    LargeError
        If it was cut off at the limit.
    """
    found = bytearray()
    for got in records:
        if isinstance(got, record.Output) and got.stream == "out":
            found += decoded(got)
        if isinstance(got, record.Fault) and got.kind != "warning":
            return None
    # Where it is cut off is a matter of pieces.
    if len(found) > limit_bytes - PIECE:
        raise LargeError
    return bytes(found)


def write(kind: Kind, table: pa.Table, folder: Path, trial: int) -> None:
    """Keep rows of a trial as Parquet; the trial is no good trial without.

    Raises
    ------
    StoreError
        If they cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet

    made = folder / kind.name
    try:
        made.mkdir(exist_ok=True)
        if made.is_symlink():
            raise NotADirectoryError(20, "it is a link")
    except OSError as error:
        raise StoreError(f"cannot write to {made}: {error.strerror}") from error
    numbered = table.add_column(0, "trial", pa.array([trial] * table.num_rows, pa.int64()))
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(numbered, sink, compression="zstd")
    files.write(
        made / f"{trial}.parquet", sink.getvalue().to_pybytes(), "free some room, or another --out"
    )
