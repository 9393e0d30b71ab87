"""The file that keeps the rows of one trial: columns in MessagePack, compressed with Zstandard.

A folder of results may come from elsewhere, so a file is hostile until checked.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
import numpy as np

from tare import files
from tare.applications.rows import LONGEST, Kind
from tare.decoding import DecodeError, Decoder
from tare.errors import StoreError
from tare.results.columns import Column, Columns, codes, objects

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SUFFIX = ".msgpack.zst"
VERSION = 1
#: Bytes of a decompressed file: all requests that an output of 64 MiB can hold need half of it.
MOST_UNPACKED = 1 << 29
#: Types in the file, little-endian. Texts are numbers of the texts that the file has once.
_STORED = {"integer": "<i8", "text": "<i4", "flag": "|b1"}
#: What is stored for an absent whole number and an absent text.
_NO_NUMBER, _NO_TEXT = -(1 << 63), -1


#: A column has as many distinct texts as rows if each task has its own name.
_MOST_TEXTS, _MOST_COLUMNS = 1 << 20, 32
_Texts = Annotated[
    list[Annotated[str, msgspec.Meta(max_length=LONGEST)]], msgspec.Meta(max_length=_MOST_TEXTS)
]


class RefusedError(Exception):
    """A file that is not what was kept; says why."""


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """Content of a file.

    Attributes
    ----------
    version, trial, rows : int
    columns : dict of str to bytes
    texts : dict of str to list of str
        The different values of each column of texts.
    """

    version: int
    trial: int
    rows: int
    columns: Annotated[dict[str, bytes], msgspec.Meta(max_length=_MOST_COLUMNS)]
    texts: Annotated[dict[str, _Texts], msgspec.Meta(max_length=_MOST_COLUMNS)]


_decoder = Decoder[_Stored](_Stored, packed=True)


def write(kind: Kind, rows: Columns, folder: Path, trial: int) -> None:
    """Write the rows of a trial.

    Raises
    ------
    StoreError
        If they cannot be written.
    """
    made = folder / kind.name
    try:
        made.mkdir(exist_ok=True)
        if made.is_symlink():
            raise NotADirectoryError(20, "it is a link")
    except OSError as error:
        raise StoreError(f"cannot write to {made}: {error.strerror}") from error
    stored = _Stored(VERSION, trial, len(rows), {}, {})
    for name, type_ in kind.columns.items():
        values = rows[name]
        if type_ == "text":
            values, different = codes(values)
            stored.texts[name] = [text for text in different if text is not None]
            values[values == len(stored.texts[name])] = _NO_TEXT
        elif type_ == "integer" and values.dtype != np.int64:
            absent = np.isnan(values)
            values = np.where(absent, 0, values).astype(np.int64)
            values[absent] = _NO_NUMBER
        stored.columns[name] = values.astype(_STORED[type_]).tobytes()
    with_checksum = {int(zstd.CompressionParameter.checksum_flag): 1}
    data = zstd.compress(msgspec.msgpack.encode(stored), options=with_checksum)
    files.write(made / f"{trial}{SUFFIX}", data, "free some room, or another --out")


def read(file: BinaryIO, kind: Kind, trial: int) -> Columns:
    """Read the rows of a trial, with a column ``trial`` in front.

    Raises
    ------
    RefusedError
        If the file is damaged, too large, or of another trial or kind.
    """
    try:
        unpacking = zstd.ZstdDecompressor()
        data = unpacking.decompress(file.read(), MOST_UNPACKED + 1)
        if len(data) > MOST_UNPACKED:
            raise RefusedError("unpacked, it is too large")
        if not unpacking.eof or unpacking.unused_data:
            raise RefusedError("it is cut off" if not unpacking.eof else "something follows it")
        stored = _decoder.decode(data)
    except (zstd.ZstdError, DecodeError) as error:
        raise RefusedError(" ".join(str(error).split())[:LONGEST]) from None
    if stored.version != VERSION:
        raise RefusedError(f"it is of version {stored.version}, this tare reads {VERSION}")
    if stored.trial != trial:
        raise RefusedError(f"it has {kind.name} of another trial")
    if stored.columns.keys() | kind.added != kind.columns.keys():
        raise RefusedError(f"its columns are not {', '.join(kind.columns)}")
    if stored.rows <= 0:
        raise RefusedError(f"it has {stored.rows:,} rows")
    columns = {name: _column(kind, name, stored) for name in kind.columns}
    return Columns({"trial": np.full(stored.rows, trial, dtype=np.int64), **columns})


def _column(kind: Kind, name: str, stored: _Stored) -> Column:
    """Return a column with the type that it has in memory; its values are checked by its kind."""
    if name not in stored.columns:
        return np.full(stored.rows, np.nan)
    type_, data = kind.columns[name], stored.columns[name]
    dtype = np.dtype(_STORED[type_])
    if len(data) != stored.rows * dtype.itemsize:
        raise RefusedError(f"its column {name} has not {stored.rows:,} values")
    if type_ == "flag":
        values = np.frombuffer(data, np.uint8)
        if values.max() > 1:
            raise RefusedError(f"its column {name} has values other than true and false")
        return values.astype(bool)
    values = np.frombuffer(data, dtype)
    absent = values == (_NO_TEXT if type_ == "text" else _NO_NUMBER)
    if absent.any() and name not in kind.optional:
        raise RefusedError(f"it has a row without {name}")
    if type_ == "text":
        texts = stored.texts.get(name, [])
        if values.min() < _NO_TEXT or values.max() >= len(texts):
            raise RefusedError(f"its column {name} has a text that is not in the file")
        return objects([*texts, None])[values]
    values = values.astype(dtype.newbyteorder("="))
    return np.where(absent, np.nan, values) if type_ == "integer" and absent.any() else values
